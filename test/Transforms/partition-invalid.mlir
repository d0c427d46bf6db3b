// RUN: %cp-opt %s --cp-partition --split-input-file --verify-diagnostics
// RUN: not %cp-opt %s --cp-partition --split-input-file >/dev/null 2>&1

#mesh = #cp.mesh<"cp" = 2>
#whole2 = #cp.layout<#mesh, [{}, {}]>
#rows = #cp.layout<#mesh, [{}, {"cp" striped}, {}]>

func.func @partition_c1_window(%x: tensor<1x16x24xf32, #rows>,
    %w: tensor<24x4xf32, #whole2>) -> tensor<1x16x24xf32, #rows>
    attributes {cp.view = "global"} {
  // expected-error @below {{'cp.conv1d' op partition_c1: the sequence is cut over "cp" (striped); this op runs on contiguous cuts, or on one zigzag cut alone: reshard the sequence to contiguous or zigzag order, and cut heads or channels over further axes}}
  %0 = cp.conv1d %x weight(%w)
      : (tensor<1x16x24xf32, #rows>, tensor<24x4xf32, #whole2>)
      -> tensor<1x16x24xf32, #rows>
  return %0 : tensor<1x16x24xf32, #rows>
}

// -----

#mesh = #cp.mesh<"u" = 2, "ring" = 2>
#whole1 = #cp.layout<#mesh, [{}]>
#whole4 = #cp.layout<#mesh, [{}, {}, {}, {}]>
#rows3 = #cp.layout<#mesh, [{}, {"ring" zigzag, "u"}, {}]>
#rows4 = #cp.layout<#mesh, [{}, {"ring" zigzag, "u"}, {}, {}]>

func.func @partition_c1_scan(%x: tensor<1x16x2x8xf32, #rows4>,
    %dt: tensor<1x16x2xf32, #rows3>, %a: tensor<2xf32, #whole1>,
    %b: tensor<1x16x1x4xf32, #rows4>)
    -> tensor<1x16x2x8xf32, #rows4> attributes {cp.view = "global"} {
  // expected-error @below {{'cp.ssd' op partition_c1: the sequence is cut over "ring" (zigzag) and "u" (contiguous); this op runs on}}
  %y, %state = cp.ssd %x dt(%dt) A_log(%a) B(%b) C(%b)
      : (tensor<1x16x2x8xf32, #rows4>, tensor<1x16x2xf32, #rows3>,
         tensor<2xf32, #whole1>, tensor<1x16x1x4xf32, #rows4>,
         tensor<1x16x1x4xf32, #rows4>)
      -> (tensor<1x16x2x8xf32, #rows4>, tensor<1x2x8x4xf32, #whole4>)
  return %y : tensor<1x16x2x8xf32, #rows4>
}

// -----

#mesh = #cp.mesh<"u" = 2, "ring" = 2>
#whole2 = #cp.layout<#mesh, [{}, {}]>
#rows = #cp.layout<#mesh, [{}, {"u", "ring" zigzag}, {}]>

func.func @partition_c1_zigzag_inside(%x: tensor<1x16x24xf32, #rows>,
    %w: tensor<24x4xf32, #whole2>) -> tensor<1x16x24xf32, #rows>
    attributes {cp.view = "global"} {
  // expected-error @below {{'cp.conv1d' op partition_c1: the sequence is cut over "u" (contiguous) and "ring" (zigzag); this op runs on}}
  %0 = cp.conv1d %x weight(%w)
      : (tensor<1x16x24xf32, #rows>, tensor<24x4xf32, #whole2>)
      -> tensor<1x16x24xf32, #rows>
  return %0 : tensor<1x16x24xf32, #rows>
}

// -----

#mesh = #cp.mesh<"cp" = 2>
#whole2 = #cp.layout<#mesh, [{}, {}]>
#rows = #cp.layout<#mesh, [{}, {"cp" zigzag}, {}]>

func.func @partition_c2(%x: tensor<1x16x24xf32, #rows>,
    %w: tensor<24x9223372036854775807xf32, #whole2>) -> tensor<1x16x24xf32, #rows>
    attributes {cp.view = "global"} {
  // expected-error @below {{'cp.conv1d' op partition_c2: a window of 9223372036854775806 rows, for each of the 2 parts of a rank, is beyond 64 bits; make it smaller}}
  %0 = cp.conv1d %x weight(%w)
      : (tensor<1x16x24xf32, #rows>, tensor<24x9223372036854775807xf32, #whole2>)
      -> tensor<1x16x24xf32, #rows>
  return %0 : tensor<1x16x24xf32, #rows>
}

// -----

// Layouts are checked first, so no program with wrong ones is cut up.

#mesh = #cp.mesh<"cp" = 2>
#rows = #cp.layout<#mesh, [{}, {"cp"}]>

func.func @checks(%x: tensor<1x16xf32, #rows>) -> tensor<1x16xf32, #rows>
    attributes {cp.view = "global"} {
  // expected-error @below {{'tensor.cast' op verify_c1: result 0 has no layout}}
  %0 = tensor.cast %x : tensor<1x16xf32, #rows> to tensor<1x16xf32>
  return %x : tensor<1x16xf32, #rows>
}

// -----

#mesh = #cp.mesh<"cp" = 3>
#given = #cp.layout<#mesh, [{}, {"cp" sizes [4, 0, 7]}, {}]>
#whole = #cp.layout<#mesh, [{}, {}]>
func.func @partition_c1_sizes(%x: tensor<1x11x8xf32, #given>,
                              %w: tensor<8x4xf32, #whole>)
    attributes {cp.view = "global"} {
  // expected-error @below {{partition_c1: the sequence is cut over "cp" (sizes); this op runs on contiguous cuts, or on one zigzag cut alone: reshard the sequence to contiguous or zigzag order}}
  %0 = cp.conv1d %x weight(%w) {silu = true}
      : (tensor<1x11x8xf32, #given>, tensor<8x4xf32, #whole>)
        -> tensor<1x11x8xf32, #given>
  return
}
