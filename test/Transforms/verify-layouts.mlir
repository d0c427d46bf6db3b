// RUN: %cp-opt %s --cp-verify-layouts | FileCheck %s

// Layouts that agree with every op's rule pass, and the check changes nothing.

#mesh = #cp.mesh<"cp" = 2, "tp" = 2>
#whole2 = #cp.layout<#mesh, [{}, {}]>
#whole4 = #cp.layout<#mesh, [{}, {}, {}, {}]>
#rows = #cp.layout<#mesh, [{}, {"cp"}, {}]>
#both = #cp.layout<#mesh, [{}, {"cp"}, {"tp"}]>
#zigzag = #cp.layout<#mesh, [{}, {"cp" zigzag}, {}]>
#heads4 = #cp.layout<#mesh, [{}, {"cp"}, {"tp"}, {}]>
#weight = #cp.layout<#mesh, [{"tp"}, {}]>
#vector = #cp.layout<#mesh, [{"tp"}]>
#sum = #cp.layout<#mesh, [{}, {"cp"}, {}], partial = {"tp"}>
#xmap = affine_map<(b, l, o, i) -> (b, l, i)>
#wmap = affine_map<(b, l, o, i) -> (o, i)>
#ymap = affine_map<(b, l, o, i) -> (b, l, o)>

// CHECK-LABEL: func.func @columns(
// CHECK:         linalg.contract
// CHECK-NEXT:    cp.conv1d
// CHECK-NEXT:    tensor.expand_shape
// CHECK-NEXT:    tensor.collapse_shape
// CHECK-NEXT:    return
func.func @columns(%x: tensor<1x16x8xf32, #rows>, %w: tensor<8x8xf32, #weight>,
                   %k: tensor<8x4xf32, #weight>, %b: tensor<8xf32, #vector>,
                   %init: tensor<1x16x8xf32, #both>)
    -> tensor<1x16x8xf32, #both> attributes {cp.view = "global"} {
  %0 = linalg.contract indexing_maps = [#xmap, #wmap, #ymap]
      ins(%x, %w : tensor<1x16x8xf32, #rows>, tensor<8x8xf32, #weight>)
      outs(%init : tensor<1x16x8xf32, #both>) -> tensor<1x16x8xf32, #both>
  %1 = cp.conv1d %0 weight(%k) bias(%b)
      : (tensor<1x16x8xf32, #both>, tensor<8x4xf32, #weight>,
         tensor<8xf32, #vector>) -> tensor<1x16x8xf32, #both>
  %2 = tensor.expand_shape %1 [[0], [1], [2, 3]] output_shape [1, 16, 2, 4]
      : tensor<1x16x8xf32, #both> into tensor<1x16x2x4xf32, #heads4>
  %3 = tensor.collapse_shape %2 [[0], [1], [2, 3]]
      : tensor<1x16x2x4xf32, #heads4> into tensor<1x16x8xf32, #both>
  return %3 : tensor<1x16x8xf32, #both>
}

// The order of a cut flows like its axis.

// CHECK-LABEL: func.func @zigzag(
func.func @zigzag(%x: tensor<1x16x8xf32, #zigzag>)
    -> tensor<1x16x8xf32, #zigzag> attributes {cp.view = "global"} {
  %0 = math.exp %x : tensor<1x16x8xf32, #zigzag>
  return %0 : tensor<1x16x8xf32, #zigzag>
}

// A partial sum may be added to another, scaled, negated, moved and resharded.

// CHECK-LABEL: func.func @linear(
func.func @linear(%x: tensor<1x16x8xf32, #sum>, %f: tensor<1x16x8xf32, #rows>)
    -> tensor<1x16x8xf32, #rows> attributes {cp.view = "global"} {
  %0 = arith.addf %x, %x : tensor<1x16x8xf32, #sum>
  %1 = arith.subf %0, %x : tensor<1x16x8xf32, #sum>
  %2 = arith.negf %1 : tensor<1x16x8xf32, #sum>
  %3 = tensor.extract_slice %2[0, 0, 0] [1, 16, 4] [1, 1, 1]
      : tensor<1x16x8xf32, #sum> to tensor<1x16x4xf32, #sum>
  %4 = cp.repeat %3 {dim = 2, unit = 1, times = 2}
      : tensor<1x16x4xf32, #sum> -> tensor<1x16x8xf32, #sum>
  %5 = cp.reshard %4
      : tensor<1x16x8xf32, #sum> to tensor<1x16x8xf32, #rows>
  return %5 : tensor<1x16x8xf32, #rows>
}

// Without the view there is nothing to check.

// CHECK-LABEL: func.func @no_view(
func.func @no_view(%x: tensor<1x16x8xf32, #rows>) -> tensor<1x16x8xf32> {
  %0 = tensor.cast %x : tensor<1x16x8xf32, #rows> to tensor<1x16x8xf32>
  return %0 : tensor<1x16x8xf32>
}

// A stripe of a merged dimension is so many elements of its major factor, and
// where elements are depends on it.

// CHECK-LABEL: func.func @striped_heads(
// CHECK-NEXT:    tensor.expand_shape
func.func @striped_heads(
    %x: tensor<1x16x16xf32, #cp.layout<#mesh, [{}, {}, {"cp" striped : 2}]>>)
    -> tensor<1x16x8x2xf32, #cp.layout<#mesh, [{}, {}, {"cp" striped}, {}]>>
    attributes {cp.view = "global"} {
  %0 = tensor.expand_shape %x [[0], [1], [2, 3]] output_shape [1, 16, 8, 2]
      : tensor<1x16x16xf32, #cp.layout<#mesh, [{}, {}, {"cp" striped : 2}]>>
      into tensor<1x16x8x2xf32, #cp.layout<#mesh, [{}, {}, {"cp" striped}, {}]>>
  return %0 : tensor<1x16x8x2xf32, #cp.layout<#mesh, [{}, {}, {"cp" striped}, {}]>>
}

// CHECK-LABEL: func.func @striped_heads_merged(
// CHECK-NEXT:    tensor.collapse_shape
func.func @striped_heads_merged(
    %x: tensor<1x16x8x2xf32, #cp.layout<#mesh, [{}, {}, {"cp" striped}, {}]>>)
    -> tensor<1x16x16xf32, #cp.layout<#mesh, [{}, {}, {"cp" striped : 2}]>>
    attributes {cp.view = "global"} {
  %0 = tensor.collapse_shape %x [[0], [1], [2, 3]]
      : tensor<1x16x8x2xf32, #cp.layout<#mesh, [{}, {}, {"cp" striped}, {}]>>
      into tensor<1x16x16xf32, #cp.layout<#mesh, [{}, {}, {"cp" striped : 2}]>>
  return %0 : tensor<1x16x16xf32, #cp.layout<#mesh, [{}, {}, {"cp" striped : 2}]>>
}
