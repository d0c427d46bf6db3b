// RUN: cp-opt %s --verify-roundtrip | %cp-opt | FileCheck %s
// RUN: %cp-opt %s --emit-bytecode | %cp-opt | FileCheck %s

// CHECK-LABEL: @least
// CHECK: %{{.*}}, %{{.*}} = cp.ssd %{{.*}} dt(%{{.*}}) A_log(%{{.*}}) B(%{{.*}}) C(%{{.*}}) : (tensor<1x16x2x8xf32>, tensor<1x16x2xf32>, tensor<2xf32>, tensor<1x16x1x4xf32>, tensor<1x16x1x4xf32>) -> (tensor<1x16x2x8xf32>, tensor<1x2x8x4xf32>)
func.func @least(%x: tensor<1x16x2x8xf32>, %dt: tensor<1x16x2xf32>,
                 %a: tensor<2xf32>, %b: tensor<1x16x1x4xf32>) {
  // Defaults are not printed.
  %y, %state = cp.ssd %x dt(%dt) A_log(%a) B(%b) C(%b)
      {chunk_size = 64, dt_min = 0.0, dt_max = 0x7FF0000000000000 : f64}
      : (tensor<1x16x2x8xf32>, tensor<1x16x2xf32>, tensor<2xf32>,
         tensor<1x16x1x4xf32>, tensor<1x16x1x4xf32>)
      -> (tensor<1x16x2x8xf32>, tensor<1x2x8x4xf32>)
  return
}

// CHECK-LABEL: @all
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<1x16x2x8xf64>, %[[DT:[a-z0-9]+]]: tensor<1x16x2xf64>, %[[A:[a-z0-9]+]]: tensor<2xf64>, %[[B:[a-z0-9]+]]: tensor<1x16x1x4xf64>, %[[C:[a-z0-9]+]]: tensor<1x16x1x4xf64>, %[[D:[a-z0-9]+]]: tensor<2x8xf64>, %[[BIAS:[a-z0-9]+]]: tensor<2xf64>, %[[S:[a-z0-9]+]]: tensor<1x2x8x4xf64>
// CHECK: %[[Y:.*]], %[[FINAL:.*]] = cp.ssd %[[X]] dt(%[[DT]]) A_log(%[[A]]) B(%[[B]]) C(%[[C]]) D(%[[D]]) dt_bias(%[[BIAS]]) initial(%[[S]])
// CHECK-SAME: {algorithm = #cp.scan_algorithm<gather>, chunk_size = 8 : i64, dt_max = 1.000000e-01 : f64, dt_min = 1.000000e-03 : f64, strategy = "sequence"}
// CHECK: return %[[Y]], %[[FINAL]]
func.func @all(%x: tensor<1x16x2x8xf64>, %dt: tensor<1x16x2xf64>,
               %a: tensor<2xf64>, %b: tensor<1x16x1x4xf64>,
               %c: tensor<1x16x1x4xf64>, %d: tensor<2x8xf64>,
               %bias: tensor<2xf64>, %s: tensor<1x2x8x4xf64>)
    -> (tensor<1x16x2x8xf64>, tensor<1x2x8x4xf64>) {
  %y, %state = cp.ssd %x dt(%dt) A_log(%a) B(%b) C(%c) D(%d) dt_bias(%bias)
      initial(%s)
      {chunk_size = 8, dt_min = 0.001, dt_max = 0.1, strategy = "sequence",
       algorithm = #cp.scan_algorithm<gather>}
      : (tensor<1x16x2x8xf64>, tensor<1x16x2xf64>, tensor<2xf64>,
         tensor<1x16x1x4xf64>, tensor<1x16x1x4xf64>, tensor<2x8xf64>,
         tensor<2xf64>, tensor<1x2x8x4xf64>)
      -> (tensor<1x16x2x8xf64>, tensor<1x2x8x4xf64>)
  return %y, %state : tensor<1x16x2x8xf64>, tensor<1x2x8x4xf64>
}

// CHECK-LABEL: @d_of_heads
// CHECK: cp.ssd {{.*}} D(%{{[a-z0-9]+}}) {algorithm = #cp.scan_algorithm<chain>} :
func.func @d_of_heads(%x: tensor<1x16x2x8xf32>, %dt: tensor<1x16x2xf32>,
                      %a: tensor<2xf32>, %b: tensor<1x16x1x4xf32>) {
  %y, %state = cp.ssd %x dt(%dt) A_log(%a) B(%b) C(%b) D(%a)
      {algorithm = #cp.scan_algorithm<chain>}
      : (tensor<1x16x2x8xf32>, tensor<1x16x2xf32>, tensor<2xf32>,
         tensor<1x16x1x4xf32>, tensor<1x16x1x4xf32>, tensor<2xf32>)
      -> (tensor<1x16x2x8xf32>, tensor<1x2x8x4xf32>)
  return
}

// CHECK-LABEL: @dynamic
// CHECK: cp.ssd
func.func @dynamic(%x: tensor<?x?x?x?xf32>, %dt: tensor<?x?x?xf32>,
                   %a: tensor<?xf32>, %b: tensor<?x?x3x?xf32>,
                   %c: tensor<?x?x?x?xf32>) {
  %y, %state = cp.ssd %x dt(%dt) A_log(%a) B(%b) C(%b)
      : (tensor<?x?x?x?xf32>, tensor<?x?x?xf32>, tensor<?xf32>,
         tensor<?x?x3x?xf32>, tensor<?x?x3x?xf32>)
      -> (tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>)
  %z, %last = cp.ssd %x dt(%dt) A_log(%a) B(%c) C(%c)
      : (tensor<?x?x?x?xf32>, tensor<?x?x?xf32>, tensor<?xf32>,
         tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>)
      -> (tensor<?x?x?x?xf32>, tensor<?x?x?x?xf32>)
  return
}

// CHECK-LABEL: @places
// CHECK: cp.ssd %{{.*}} dt(%{{.*}}) A_log(%{{.*}}) B(%{{.*}}) C(%{{.*}}) places(%{{.*}}) :
func.func @places(%x: tensor<1x16x2x8xf32>, %dt: tensor<1x16x2xf32>,
    %a: tensor<2xf32>, %b: tensor<1x16x1x4xf32>, %p: tensor<1x16xi64>) {
  %y, %state = cp.ssd %x dt(%dt) A_log(%a) B(%b) C(%b) places(%p)
      : (tensor<1x16x2x8xf32>, tensor<1x16x2xf32>, tensor<2xf32>,
         tensor<1x16x1x4xf32>, tensor<1x16x1x4xf32>, tensor<1x16xi64>)
      -> (tensor<1x16x2x8xf32>, tensor<1x2x8x4xf32>)
  return
}
