// RUN: %cp-opt %s --cp-partition --split-input-file | FileCheck %s

// The state behind the whole sequence is made of the summary of all ranks, where
// somebody uses it.

#mesh = #cp.mesh<"cp" = 2>
#whole1 = #cp.layout<#mesh, [{}]>
#whole4 = #cp.layout<#mesh, [{}, {}, {}, {}]>
#rows3 = #cp.layout<#mesh, [{}, {"cp"}, {}]>
#rows4 = #cp.layout<#mesh, [{}, {"cp"}, {}, {}]>

// CHECK-LABEL: func.func @final_state(
// CHECK:         %{{.*}}, %{{.*}}, %[[T:.*]]:2 = cp.scan_state {{.*}} : tensor<1x2xf32>, tensor<1x2x8x4xf32> total tensor<1x2xf32>, tensor<1x2x8x4xf32>
// CHECK:         return %[[T]]#1
func.func @final_state(%x: tensor<1x16x2x8xf32, #rows4>,
    %dt: tensor<1x16x2xf32, #rows3>, %a: tensor<2xf32, #whole1>,
    %b: tensor<1x16x1x4xf32, #rows4>)
    -> tensor<1x2x8x4xf32, #whole4> attributes {cp.view = "global"} {
  %y, %state = cp.ssd %x dt(%dt) A_log(%a) B(%b) C(%b)
      : (tensor<1x16x2x8xf32, #rows4>, tensor<1x16x2xf32, #rows3>,
         tensor<2xf32, #whole1>, tensor<1x16x1x4xf32, #rows4>,
         tensor<1x16x1x4xf32, #rows4>)
      -> (tensor<1x16x2x8xf32, #rows4>, tensor<1x2x8x4xf32, #whole4>)
  return %state : tensor<1x2x8x4xf32, #whole4>
}

// -----

// In zigzag order, on a state to start from, in bf16.

#mesh = #cp.mesh<"cp" = 2>
#whole1 = #cp.layout<#mesh, [{}]>
#whole4 = #cp.layout<#mesh, [{}, {}, {}, {}]>
#rows3 = #cp.layout<#mesh, [{}, {"cp" zigzag}, {}]>
#rows4 = #cp.layout<#mesh, [{}, {"cp" zigzag}, {}, {}]>

// CHECK-LABEL: func.func @zigzag(
// CHECK-SAME:    %[[INIT:[a-z0-9]+]]: tensor<3x2x8x4xbf16>
// CHECK:         %{{.*}}, %{{.*}}, %[[T:.*]]:2 = cp.scan_state {{.*}} : tensor<6x2xf32>, tensor<6x2x8x4xf32> total tensor<3x2xf32>, tensor<3x2x8x4xf32>
// CHECK:         %[[WIDE:.*]] = arith.extf %[[INIT]] : tensor<3x2x8x4xbf16> to tensor<3x2x8x4xf32>
// CHECK:         %[[D:.*]] = linalg.broadcast ins(%[[T]]#0 : tensor<3x2xf32>) outs({{.*}}) dimensions = [2, 3]
// CHECK:         %[[DECAYED:.*]] = arith.mulf %[[D]], %[[WIDE]]
// CHECK:         %[[SUM:.*]] = arith.addf %[[DECAYED]], %[[T]]#1
// CHECK:         %[[LAST:.*]] = arith.truncf %[[SUM]] : tensor<3x2x8x4xf32> to tensor<3x2x8x4xbf16>
// CHECK:         return %[[LAST]]
func.func @zigzag(%x: tensor<3x16x2x8xbf16, #rows4>,
    %dt: tensor<3x16x2xbf16, #rows3>, %a: tensor<2xbf16, #whole1>,
    %b: tensor<3x16x1x4xbf16, #rows4>, %init: tensor<3x2x8x4xbf16, #whole4>)
    -> tensor<3x2x8x4xbf16, #whole4> attributes {cp.view = "global"} {
  %y, %state = cp.ssd %x dt(%dt) A_log(%a) B(%b) C(%b) initial(%init)
      : (tensor<3x16x2x8xbf16, #rows4>, tensor<3x16x2xbf16, #rows3>,
         tensor<2xbf16, #whole1>, tensor<3x16x1x4xbf16, #rows4>,
         tensor<3x16x1x4xbf16, #rows4>, tensor<3x2x8x4xbf16, #whole4>)
      -> (tensor<3x16x2x8xbf16, #rows4>, tensor<3x2x8x4xbf16, #whole4>)
  return %state : tensor<3x2x8x4xbf16, #whole4>
}

// -----

// A sequence may start among the tokens: then nothing of the initial state is
// left, not even what is infinite or NaN.

#mesh = #cp.mesh<"cp" = 4>
#whole1 = #cp.layout<#mesh, [{}]>
#whole4 = #cp.layout<#mesh, [{}, {}, {}, {}]>
#rows2 = #cp.layout<#mesh, [{}, {"cp"}]>
#rows3 = #cp.layout<#mesh, [{}, {"cp"}, {}]>
#rows4 = #cp.layout<#mesh, [{}, {"cp"}, {}, {}]>

// CHECK-LABEL: func.func @places(
// CHECK-SAME:    %[[INIT:[a-z0-9]+]]: tensor<1x2x8x4xf32>
// CHECK:         %{{.*}}, %{{.*}}, %[[T:.*]]:2 = cp.scan_state
// CHECK:         %[[D:.*]] = linalg.broadcast ins(%[[T]]#0 : tensor<1x2xf32>)
// CHECK:         %[[LAST:.*]] = linalg.map ins(%[[D]], %[[INIT]], %[[T]]#1 :
// CHECK-NEXT:      (%[[DECAY:[a-z0-9]+]]: f32, %[[BEFORE:[a-z0-9_]+]]: f32, %[[STATE:[a-z0-9_]+]]: f32{{.*}}) {
// CHECK:             %[[BITS:.*]] = arith.bitcast %[[DECAY]] : f32 to i32
// CHECK:             %[[STARTS:.*]] = arith.cmpi eq, %[[BITS]], %{{.*}} : i32
// CHECK:             arith.select %[[STARTS]], %[[STATE]], %{{.*}} : f32
// CHECK:         return %[[LAST]]
func.func @places(%x: tensor<1x16x2x8xf32, #rows4>,
    %dt: tensor<1x16x2xf32, #rows3>, %a: tensor<2xf32, #whole1>,
    %b: tensor<1x16x1x4xf32, #rows4>, %init: tensor<1x2x8x4xf32, #whole4>,
    %p: tensor<1x16xi64, #rows2>)
    -> tensor<1x2x8x4xf32, #whole4> attributes {cp.view = "global"} {
  %y, %state = cp.ssd %x dt(%dt) A_log(%a) B(%b) C(%b) initial(%init)
      places(%p)
      : (tensor<1x16x2x8xf32, #rows4>, tensor<1x16x2xf32, #rows3>,
         tensor<2xf32, #whole1>, tensor<1x16x1x4xf32, #rows4>,
         tensor<1x16x1x4xf32, #rows4>, tensor<1x2x8x4xf32, #whole4>,
         tensor<1x16xi64, #rows2>)
      -> (tensor<1x16x2x8xf32, #rows4>, tensor<1x2x8x4xf32, #whole4>)
  return %state : tensor<1x2x8x4xf32, #whole4>
}
