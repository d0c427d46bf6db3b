// RUN: %cp-opt %s --cp-verify-layouts --split-input-file --verify-diagnostics
// RUN: not %cp-opt %s --cp-verify-layouts --split-input-file >/dev/null 2>&1

// Every op below passes its own verifier: upstream ops do not look at layouts.

#mesh = #cp.mesh<"cp" = 4>
#rows = #cp.layout<#mesh, [{}, {"cp"}, {}]>

func.func @cast_drops_layout(%x: tensor<1x16x8xf32, #rows>)
    -> tensor<1x16x8xf32, #rows> attributes {cp.view = "global"} {
  // expected-error @below {{'tensor.cast' op verify_c1: result 0 has no layout, in a function with layouts; run cp-assign-layouts, or give it one by a cp.reshard}}
  %0 = tensor.cast %x : tensor<1x16x8xf32, #rows> to tensor<1x16x8xf32>
  return %x : tensor<1x16x8xf32, #rows>
}

// -----

#mesh = #cp.mesh<"cp" = 4>
#rows = #cp.layout<#mesh, [{}, {"cp"}, {}]>

func.func @operand_without(%x: tensor<1x16x8xf32, #rows>,
                           %y: tensor<1x16x8xf32>)
    -> tensor<1x16x8xf32, #rows> attributes {cp.view = "global"} {
  // expected-error @below {{'linalg.add' op verify_c1: operand 1 has no layout}}
  %0 = linalg.add
      ins(%x, %y : tensor<1x16x8xf32, #rows>, tensor<1x16x8xf32>)
      outs(%x : tensor<1x16x8xf32, #rows>) -> tensor<1x16x8xf32, #rows>
  return %0 : tensor<1x16x8xf32, #rows>
}

// -----

// The values of terminators have layouts too.

func.func @result_without(%x: tensor<1x16x8xf32>) -> tensor<1x16x8xf32>
    attributes {cp.view = "global"} {
  // expected-error @below {{'func.return' op verify_c1: operand 0 has no layout}}
  return %x : tensor<1x16x8xf32>
}

// -----

// A cast between layouts moves nothing, so it may not stand for a reshard.

#mesh = #cp.mesh<"cp" = 4>
#rows = #cp.layout<#mesh, [{}, {"cp"}, {}]>
#columns = #cp.layout<#mesh, [{}, {}, {"cp"}]>

func.func @cast(%x: tensor<1x16x8xf32, #rows>)
    -> tensor<1x16x8xf32, #columns> attributes {cp.view = "global"} {
  // expected-error @below {{'tensor.cast' op verify_c2: has no sharding rule, but operand 0 is not replicated (#cp.layout<#cp.mesh<"cp" = 4>, [{}, {"cp"}, {}]>); give the program known sizes; then it goes by itself, or gather the value by a cp.reshard}}
  %0 = tensor.cast %x
      : tensor<1x16x8xf32, #rows> to tensor<1x16x8xf32, #columns>
  return %0 : tensor<1x16x8xf32, #columns>
}

// -----

// Channels are normed together, so they may not be cut apart.

#mesh = #cp.mesh<"cp" = 4>
#columns = #cp.layout<#mesh, [{}, {}, {"cp"}]>

func.func @norm(%x: tensor<1x16x8xf32, #columns>)
    -> tensor<1x16x8xf32, #columns> attributes {cp.view = "global"} {
  // expected-error @below {{'cp.rms_norm' op verify_c3: dimension 2 of operand 0 cannot be cut for this op, but its layout is #cp.layout<#cp.mesh<"cp" = 4>, [{}, {}, {"cp"}]>}}
  %0 = cp.rms_norm %x
      : (tensor<1x16x8xf32, #columns>) -> tensor<1x16x8xf32, #columns>
  return %0 : tensor<1x16x8xf32, #columns>
}

// -----

// A slice of a cut dimension is spread over the ranks in another way.

#mesh = #cp.mesh<"cp" = 4>
#rows = #cp.layout<#mesh, [{}, {"cp"}, {}]>

func.func @slice(%x: tensor<1x16x8xf32, #rows>)
    -> tensor<1x8x8xf32, #rows> attributes {cp.view = "global"} {
  // expected-error @below {{'tensor.extract_slice' op verify_c3: dimension 1 of operand 0 cannot be cut for this op}}
  %0 = tensor.extract_slice %x[0, 0, 0] [1, 8, 8] [1, 1, 1]
      : tensor<1x16x8xf32, #rows> to tensor<1x8x8xf32, #rows>
  return %0 : tensor<1x8x8xf32, #rows>
}

// -----

// The table of an embedding is read at any row.

#mesh = #cp.mesh<"cp" = 4>
#whole = #cp.layout<#mesh, [{}, {}]>
#table = #cp.layout<#mesh, [{"cp"}, {}]>
#out = #cp.layout<#mesh, [{}, {}, {}]>

func.func @embedding(%ids: tensor<1x16xi32, #whole>,
                     %table: tensor<96x8xf32, #table>)
    -> tensor<1x16x8xf32, #out> attributes {cp.view = "global"} {
  // expected-error @below {{'cp.embedding' op verify_c3: dimension 0 of operand 1 cannot be cut for this op}}
  %0 = cp.embedding %ids in %table
      : (tensor<1x16xi32, #whole>, tensor<96x8xf32, #table>)
      -> tensor<1x16x8xf32, #out>
  return %0 : tensor<1x16x8xf32, #out>
}

// -----

// Mixed layouts that the verifier of a structured op lets pass.

#mesh = #cp.mesh<"cp" = 4>
#rows = #cp.layout<#mesh, [{}, {"cp"}, {}]>
#whole = #cp.layout<#mesh, [{}, {}, {}]>
#id = affine_map<(b, l, d) -> (b, l, d)>

func.func @generic(%x: tensor<1x16x8xf32, #rows>,
                   %y: tensor<1x16x8xf32, #whole>)
    -> tensor<1x16x8xf32, #rows> attributes {cp.view = "global"} {
  // expected-error @below {{'linalg.generic' op verify_c4: dimension 1 of operand 1 must be cut as in #cp.layout<#cp.mesh<"cp" = 4>, [{}, {"cp"}, {}]>, but its layout is #cp.layout<#cp.mesh<"cp" = 4>, [{}, {}, {}]>}}
  %0 = linalg.generic {indexing_maps = [#id, #id, #id],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %y : tensor<1x16x8xf32, #rows>, tensor<1x16x8xf32, #whole>)
      outs(%x : tensor<1x16x8xf32, #rows>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %1 = arith.mulf %a, %b : f32
    linalg.yield %1 : f32
  } -> tensor<1x16x8xf32, #rows>
  return %0 : tensor<1x16x8xf32, #rows>
}

// -----

#mesh = #cp.mesh<"cp" = 4>
#rows = #cp.layout<#mesh, [{}, {"cp"}, {}]>
#zigzag = #cp.layout<#mesh, [{}, {"cp" zigzag}, {}]>

func.func @orders(%x: tensor<1x16x8xf32, #rows>,
                  %y: tensor<1x16x8xf32, #zigzag>)
    -> tensor<1x16x8xf32, #rows> attributes {cp.view = "global"} {
  // expected-error @below {{'linalg.add' op verify_c4: dimension 1 of operand 1 is cut unlike the others, or through a group of elements that belong together: #cp.layout<#cp.mesh<"cp" = 4>, [{}, {"cp" zigzag}, {}]>}}
  %0 = linalg.add
      ins(%x, %y : tensor<1x16x8xf32, #rows>, tensor<1x16x8xf32, #zigzag>)
      outs(%x : tensor<1x16x8xf32, #rows>) -> tensor<1x16x8xf32, #rows>
  return %0 : tensor<1x16x8xf32, #rows>
}

// -----

#mesh = #cp.mesh<"cp" = 4>
#other = #cp.mesh<"cp" = 2>
#rows = #cp.layout<#mesh, [{}, {"cp"}, {}]>
#half = #cp.layout<#other, [{}, {"cp"}, {}]>

func.func @meshes(%x: tensor<1x16x8xf32, #rows>, %y: tensor<1x16x8xf32, #half>)
    -> tensor<1x16x8xf32, #rows> attributes {cp.view = "global"} {
  // expected-error @below {{'linalg.add' op verify_c4: operand 1 is on another mesh (#cp.layout<#cp.mesh<"cp" = 2>, [{}, {"cp"}, {}]>) than operand 0}}
  %0 = linalg.add
      ins(%x, %y : tensor<1x16x8xf32, #rows>, tensor<1x16x8xf32, #half>)
      outs(%x : tensor<1x16x8xf32, #rows>) -> tensor<1x16x8xf32, #rows>
  return %0 : tensor<1x16x8xf32, #rows>
}

// -----

// Two heads of four channels cannot be cut over four ranks, though eight
// channels can.

#mesh = #cp.mesh<"cp" = 4>
#columns = #cp.layout<#mesh, [{}, {}, {"cp"}]>
#heads = #cp.layout<#mesh, [{}, {}, {}, {}]>

func.func @heads(%x: tensor<1x16x8xf32, #columns>)
    -> tensor<1x16x2x4xf32, #heads> attributes {cp.view = "global"} {
  // expected-error @below {{'tensor.expand_shape' op verify_c4: dimension 2 of operand 0 is cut unlike the others, or through a group of elements that belong together}}
  %0 = tensor.expand_shape %x [[0], [1], [2, 3]] output_shape [1, 16, 2, 4]
      : tensor<1x16x8xf32, #columns> into tensor<1x16x2x4xf32, #heads>
  return %0 : tensor<1x16x2x4xf32, #heads>
}

// -----

// The cut of a result must be that of the operands.

#mesh = #cp.mesh<"cp" = 4>
#columns = #cp.layout<#mesh, [{}, {}, {"cp"}]>
#rows4 = #cp.layout<#mesh, [{}, {"cp"}, {}, {}]>

func.func @result(%x: tensor<1x16x8xf32, #columns>)
    -> tensor<1x16x4x2xf32, #rows4> attributes {cp.view = "global"} {
  // expected-error @below {{'tensor.expand_shape' op verify_c5: axis "cp" cuts two dimensions that do not correspond}}
  %0 = tensor.expand_shape %x [[0], [1], [2, 3]] output_shape [1, 16, 4, 2]
      : tensor<1x16x8xf32, #columns> into tensor<1x16x4x2xf32, #rows4>
  return %0 : tensor<1x16x4x2xf32, #rows4>
}

// -----

// One axis cannot cut both sides of a product.

#mesh = #cp.mesh<"cp" = 4>
#rows = #cp.layout<#mesh, [{}, {"cp"}, {}]>
#weight = #cp.layout<#mesh, [{"cp"}, {}]>
#xmap = affine_map<(b, l, o, i) -> (b, l, i)>
#wmap = affine_map<(b, l, o, i) -> (o, i)>
#ymap = affine_map<(b, l, o, i) -> (b, l, o)>

func.func @verify_c5(%x: tensor<1x16x8xf32, #rows>,
                     %w: tensor<8x8xf32, #weight>)
    -> tensor<1x16x8xf32, #rows> attributes {cp.view = "global"} {
  // expected-error @below {{'linalg.contract' op verify_c5: axis "cp" cuts two dimensions that do not correspond}}
  %0 = linalg.contract indexing_maps = [#xmap, #wmap, #ymap]
      ins(%x, %w : tensor<1x16x8xf32, #rows>, tensor<8x8xf32, #weight>)
      outs(%x : tensor<1x16x8xf32, #rows>) -> tensor<1x16x8xf32, #rows>
  return %0 : tensor<1x16x8xf32, #rows>
}

// -----

// A full value would be added once per rank.

#mesh = #cp.mesh<"tp" = 4>
#full = #cp.layout<#mesh, [{}, {}]>
#sum = #cp.layout<#mesh, [{}, {}], partial = {"tp"}>

func.func @full_plus_partial(%x: tensor<16x8xf32, #full>,
                             %y: tensor<16x8xf32, #sum>)
    -> tensor<16x8xf32, #sum> attributes {cp.view = "global"} {
  %e = tensor.empty() : tensor<16x8xf32, #sum>
  // expected-error @below {{'linalg.add' op verify_c6: over axis "tp" operand 1 is a partial sum where the op needs the full value, or full where other terms are partial; add it up by a cp.reshard}}
  %0 = linalg.add
      ins(%x, %y : tensor<16x8xf32, #full>, tensor<16x8xf32, #sum>)
      outs(%e : tensor<16x8xf32, #sum>) -> tensor<16x8xf32, #sum>
  return %0 : tensor<16x8xf32, #sum>
}

// -----

#mesh = #cp.mesh<"tp" = 4>
#sum = #cp.layout<#mesh, [{}, {}], partial = {"tp"}>

func.func @exp(%x: tensor<16x8xf32, #sum>) -> tensor<16x8xf32, #sum>
    attributes {cp.view = "global"} {
  // expected-error @below {{'math.exp' op verify_c6: over axis "tp" operand 0 is a partial sum where the op needs the full value}}
  %0 = math.exp %x : tensor<16x8xf32, #sum>
  return %0 : tensor<16x8xf32, #sum>
}

// -----

// A product of two sums is not the sum of the products.

#mesh = #cp.mesh<"tp" = 4>
#sum = #cp.layout<#mesh, [{}, {}], partial = {"tp"}>

func.func @product(%x: tensor<16x8xf32, #sum>) -> tensor<16x8xf32, #sum>
    attributes {cp.view = "global"} {
  // expected-error @below {{'arith.mulf' op verify_c6: over axis "tp" operand 1 is a partial sum}}
  %0 = arith.mulf %x, %x : tensor<16x8xf32, #sum>
  return %0 : tensor<16x8xf32, #sum>
}

// -----

// Nor is the rounded sum the sum of rounded terms.

#mesh = #cp.mesh<"tp" = 4>
#sum = #cp.layout<#mesh, [{}, {}], partial = {"tp"}>

func.func @rounded(%x: tensor<16x8xf32, #sum>) -> tensor<16x8xbf16, #sum>
    attributes {cp.view = "global"} {
  // expected-error @below {{'arith.truncf' op verify_c6: over axis "tp" operand 0 is a partial sum}}
  %0 = arith.truncf %x : tensor<16x8xf32, #sum> to tensor<16x8xbf16, #sum>
  return %0 : tensor<16x8xbf16, #sum>
}

// -----

// A contraction whose summed dimension is cut gives a partial result, so what it
// starts from must be partial too.

#mesh = #cp.mesh<"tp" = 4>
#columns = #cp.layout<#mesh, [{}, {"tp"}]>
#weight = #cp.layout<#mesh, [{"tp"}, {}]>
#full = #cp.layout<#mesh, [{}, {}]>

func.func @not_partial(%x: tensor<16x8xf32, #columns>,
                       %w: tensor<8x8xf32, #weight>)
    -> tensor<16x8xf32, #full> attributes {cp.view = "global"} {
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<16x8xf32, #full>
  %init = linalg.fill ins(%c : f32) outs(%e : tensor<16x8xf32, #full>)
      -> tensor<16x8xf32, #full>
  // expected-error @below {{'linalg.matmul' op verify_c6: over axis "tp" adds a partial sum to a full value, or a full one to a sum; what it starts from (a linalg.fill of zero, say) must be partial as its result is}}
  %0 = linalg.matmul
      ins(%x, %w : tensor<16x8xf32, #columns>, tensor<8x8xf32, #weight>)
      outs(%init : tensor<16x8xf32, #full>) -> tensor<16x8xf32, #full>
  return %0 : tensor<16x8xf32, #full>
}

// -----

#mesh = #cp.mesh<"tp" = 4>
#full = #cp.layout<#mesh, [{}, {}]>
#sum = #cp.layout<#mesh, [{}, {}], partial = {"tp"}>

func.func @partial_of_full(%x: tensor<16x8xf32, #full>)
    -> tensor<16x4xf32, #sum> attributes {cp.view = "global"} {
  // expected-error @below {{'tensor.extract_slice' op verify_c6: over axis "tp" result 0 must not be partial, but its layout is}}
  %0 = tensor.extract_slice %x[0, 0] [16, 4] [1, 1]
      : tensor<16x8xf32, #full> to tensor<16x4xf32, #sum>
  return %0 : tensor<16x4xf32, #sum>
}

// -----

// Only zero is its own sum over ranks.

#mesh = #cp.mesh<"tp" = 4>
#sum = #cp.layout<#mesh, [{}, {}], partial = {"tp"}>

func.func @start_from_one() -> tensor<16x8xf32, #sum>
    attributes {cp.view = "global"} {
  %c = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<16x8xf32, #sum>
  // expected-error @below {{'linalg.fill' op verify_c6: over axis "tp" result 0 must not be partial, but its layout is}}
  %0 = linalg.fill ins(%c : f32) outs(%e : tensor<16x8xf32, #sum>)
      -> tensor<16x8xf32, #sum>
  return %0 : tensor<16x8xf32, #sum>
}

// -----

// A part of a partial sum is one.

#mesh = #cp.mesh<"tp" = 4>
#sum = #cp.layout<#mesh, [{}, {}], partial = {"tp"}>
#full = #cp.layout<#mesh, [{}, {}]>

func.func @must_be_partial(%x: tensor<16x8xf32, #sum>)
    -> tensor<16x4xf32, #full> attributes {cp.view = "global"} {
  // expected-error @below {{'tensor.extract_slice' op verify_c6: over axis "tp" result 0 must be partial, but its layout is #cp.layout<#cp.mesh<"tp" = 4>, [{}, {}]>}}
  %0 = tensor.extract_slice %x[0, 0] [16, 4] [1, 1]
      : tensor<16x8xf32, #sum> to tensor<16x4xf32, #full>
  return %0 : tensor<16x4xf32, #full>
}

// -----

// A value that the payload reads from outside is a term of every rank.

#mesh = #cp.mesh<"tp" = 4>
#sum = #cp.layout<#mesh, [{}], partial = {"tp"}>
#id = affine_map<(i) -> (i)>

func.func @plus_constant(%x: tensor<16xf32, #sum>) -> tensor<16xf32, #sum>
    attributes {cp.view = "global"} {
  %c = arith.constant 1.0 : f32
  %e = tensor.empty() : tensor<16xf32, #sum>
  // expected-error @below {{'linalg.generic' op verify_c6: over axis "tp" operand 0 is a partial sum}}
  %0 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%x : tensor<16xf32, #sum>) outs(%e : tensor<16xf32, #sum>) {
  ^bb0(%a: f32, %b: f32):
    %1 = arith.addf %a, %c : f32
    linalg.yield %1 : f32
  } -> tensor<16xf32, #sum>
  return %0 : tensor<16xf32, #sum>
}

// -----

// The ranks' maxima cannot be added up.

#mesh = #cp.mesh<"tp" = 4>
#columns = #cp.layout<#mesh, [{}, {"tp"}]>
#sum = #cp.layout<#mesh, [{}], partial = {"tp"}>

func.func @maximum(%x: tensor<16x8xf32, #columns>, %init: tensor<16xf32, #sum>)
    -> tensor<16xf32, #sum> attributes {cp.view = "global"} {
  // expected-error @below {{'linalg.generic' op verify_c3: dimension 1 of operand 0 cannot be cut for this op}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>,
                                        affine_map<(i, j) -> (i)>],
                       iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<16x8xf32, #columns>) outs(%init : tensor<16xf32, #sum>) {
  ^bb0(%a: f32, %b: f32):
    %1 = arith.maximumf %a, %b : f32
    linalg.yield %1 : f32
  } -> tensor<16xf32, #sum>
  return %0 : tensor<16xf32, #sum>
}

// -----

// Every rank would count its rows from zero.

#mesh = #cp.mesh<"cp" = 4>
#cut = #cp.layout<#mesh, [{"cp"}]>

func.func @index(%x: tensor<16xindex, #cut>) -> tensor<16xindex, #cut>
    attributes {cp.view = "global"} {
  // expected-error @below {{'linalg.generic' op verify_c3: dimension 0 of operand 0 cannot be cut for this op}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>],
                       iterator_types = ["parallel"]}
      outs(%x : tensor<16xindex, #cut>) {
  ^bb0(%a: index):
    %1 = linalg.index 0 : index
    linalg.yield %1 : index
  } -> tensor<16xindex, #cut>
  return %0 : tensor<16xindex, #cut>
}

// -----

// So would a window that is written as a sum of loops.

#mesh = #cp.mesh<"cp" = 4>
#cut = #cp.layout<#mesh, [{"cp"}]>
#whole = #cp.layout<#mesh, [{}]>

func.func @window(%x: tensor<19xf32, #whole>, %w: tensor<4xf32, #whole>,
                  %y: tensor<16xf32, #cut>) -> tensor<16xf32, #cut>
    attributes {cp.view = "global"} {
  // expected-error @below {{'linalg.generic' op verify_c3: dimension 0 of operand 2 cannot be cut for this op}}
  %0 = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i + j)>,
                                        affine_map<(i, j) -> (j)>,
                                        affine_map<(i, j) -> (i)>],
                       iterator_types = ["parallel", "reduction"]}
      ins(%x, %w : tensor<19xf32, #whole>, tensor<4xf32, #whole>)
      outs(%y : tensor<16xf32, #cut>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %1 = arith.mulf %a, %b : f32
    %2 = arith.addf %1, %c : f32
    linalg.yield %2 : f32
  } -> tensor<16xf32, #cut>
  return %0 : tensor<16xf32, #cut>
}

// -----

// The minor part of a merged dimension cannot be cut: no layout of the merged
// one says so.

#mesh = #cp.mesh<"cp" = 4>
#rows = #cp.layout<#mesh, [{}, {"cp"}]>
#whole = #cp.layout<#mesh, [{}]>

func.func @minor(%x: tensor<2x16xf32, #rows>) -> tensor<32xf32, #whole>
    attributes {cp.view = "global"} {
  // expected-error @below {{'tensor.collapse_shape' op verify_c3: dimension 1 of operand 0 cannot be cut for this op}}
  %0 = tensor.collapse_shape %x [[0, 1]]
      : tensor<2x16xf32, #rows> into tensor<32xf32, #whole>
  return %0 : tensor<32xf32, #whole>
}

// -----

// A stripe that ends within a head.

#mesh = #cp.mesh<"cp" = 4>
#in = #cp.layout<#mesh, [{}, {}, {"cp" striped}]>
#out = #cp.layout<#mesh, [{}, {}, {"cp" striped}, {}]>
func.func @verify_c4_stripe_in_head(%x: tensor<1x16x16xf32, #in>)
    attributes {cp.view = "global"} {
  // expected-error @below {{'tensor.expand_shape' op verify_c4: dimension 2 of operand 0 is cut unlike the others, or through a group of elements that belong together}}
  %0 = tensor.expand_shape %x [[0], [1], [2, 3]] output_shape [1, 16, 8, 2]
      : tensor<1x16x16xf32, #in> into tensor<1x16x8x2xf32, #out>
  return
}

// -----

// Stripes of two sizes are two cuts.

#mesh = #cp.mesh<"cp" = 4>
#one = #cp.layout<#mesh, [{"cp" striped}]>
#two = #cp.layout<#mesh, [{"cp" striped : 2}]>
func.func @verify_c4_other_stripes(%x: tensor<16xf32, #one>,
                                   %y: tensor<16xf32, #two>)
    attributes {cp.view = "global"} {
  // expected-error @below {{'linalg.add' op verify_c4: dimension 0 of operand 1 is cut unlike the others}}
  %0 = linalg.add ins(%x, %y : tensor<16xf32, #one>, tensor<16xf32, #two>)
      outs(%x : tensor<16xf32, #one>) -> tensor<16xf32, #one>
  return
}

// -----

#mesh = #cp.mesh<"cp" = 4>
#in = #cp.layout<#mesh, [{"cp" striped}, {}]>
#out = #cp.layout<#mesh, [{"cp" striped}]>
func.func @verify_c4_merged_stripes(%x: tensor<8x2xf32, #in>)
    attributes {cp.view = "global"} {
  // expected-error @below {{'tensor.collapse_shape' op verify_c4: dimension 0 of result 0 is cut unlike the others}}
  %0 = tensor.collapse_shape %x [[0, 1]]
      : tensor<8x2xf32, #in> into tensor<16xf32, #out>
  return
}

// -----

// What parts have room for would be added up with what they hold.

#mesh = #cp.mesh<"cp" = 3>
#given = #cp.layout<#mesh, [{"cp" sizes [4, 0, 7]}]>
#sum = #cp.layout<#mesh, [], partial = {"cp"}>
func.func @verify_c7(%x: tensor<11xf32, #given>, %zero: tensor<f32, #sum>)
    attributes {cp.view = "global"} {
  // expected-error @below {{'linalg.reduce' op verify_c7: adds up over a dimension that axis "cp" cuts by sizes, where parts have room for more than they hold; reshard the operands to another order first}}
  %0 = linalg.reduce { arith.addf } ins(%x : tensor<11xf32, #given>)
      outs(%zero : tensor<f32, #sum>) dimensions = [0]
  return
}

// -----

// Rows of two elements of the batch, each of which has documents of its own.

#mesh = #cp.mesh<"cp" = 2>
#rows = #cp.layout<#mesh, [{}, {"cp" zigzag_per_document}]>
#sums = #cp.layout<#mesh, [{"cp" zigzag_per_document}]>
func.func @verify_c8(%x: tensor<2x8xf32, #rows>, %zero: tensor<8xf32, #sums>)
    attributes {cp.view = "global"} {
  // expected-error @below {{'linalg.reduce' op verify_c8: axis "cp" cuts by documents, which each element of the batch has of its own, what the op does not take element by element; reshard the operands to another order first}}
  %0 = linalg.reduce { arith.addf } ins(%x : tensor<2x8xf32, #rows>)
      outs(%zero : tensor<8xf32, #sums>) dimensions = [0]
  return
}

// -----

#mesh = #cp.mesh<"cp" = 3>
#given = #cp.layout<#mesh, [{"cp" sizes [4, 0, 7]}]>
func.func @verify_c9(%n: tensor<11xi32, #given>, %d: tensor<11xi32, #given>)
    attributes {cp.view = "global"} {
  // expected-error @below {{'arith.remui' op verify_c9: divides integers, by what may be 0 where parts by sizes have room for more than they hold; reshard the operands to another order first}}
  %0 = arith.remui %n, %d : tensor<11xi32, #given>
  return
}
