// RUN: %cp-opt %s --cp-expand-elementwise | FileCheck %s

// CHECK-LABEL: func.func @sincos(
// CHECK-NEXT:    %[[S:.*]] = math.sin %{{.*}} : f32
// CHECK-NEXT:    %[[C:.*]] = math.cos %{{.*}} : f32
// CHECK-NEXT:    return %[[S]], %[[C]]
func.func @sincos(%x: f32) -> (f32, f32) {
  %s, %c = math.sincos %x : f32
  return %s, %c : f32, f32
}

// CHECK-LABEL: func.func @classes(
// CHECK-DAG:     %[[INF:.*]] = arith.constant 0x7F800000 : f32
// CHECK-DAG:     %[[LEAST:.*]] = arith.constant 1.17549435E-38 : f32
// CHECK:         arith.cmpf oeq, %{{.*}}, %[[INF]]
// CHECK:         %[[BELOW:.*]] = arith.cmpf olt, %{{.*}}, %[[INF]]
// CHECK:         %[[ABOVE:.*]] = arith.cmpf oge, %{{.*}}, %[[LEAST]]
// CHECK:         arith.andi %[[BELOW]], %[[ABOVE]]
func.func @classes(%x: f32) -> (i1, i1) {
  %0 = math.isinf %x : f32
  %1 = math.isnormal %x : f32
  return %0, %1 : i1, i1
}

// CHECK-LABEL: func.func @divisions(
// CHECK-NOT:     arith.{{ceil|floor}}div
func.func @divisions(%x: i32, %y: i32) -> (i32, i32, i32) {
  %0 = arith.ceildivsi %x, %y : i32
  %1 = arith.floordivsi %x, %y : i32
  %2 = arith.ceildivui %x, %y : i32
  return %0, %1, %2 : i32, i32, i32
}

// CHECK-LABEL: func.func @bf16(
// CHECK-NOT:     arith.{{extf|truncf}}
// CHECK:         math.fma %{{.*}} : f32
// CHECK-NOT:     arith.{{extf|truncf}}
// CHECK:         return
func.func @bf16(%x: bf16, %y: bf16) -> bf16 {
  %0 = math.fma %x, %y, %x : bf16
  return %0 : bf16
}

// What is small stays, and so does what is far off.

// CHECK-LABEL: func.func @near_zero(
// CHECK-SAME:    %[[X:.*]]: f32
// CHECK-NOT:     math.expm1
// CHECK:         %[[E:.*]] = math.exp %[[X]] : f32
// CHECK:         %[[D:.*]] = arith.subf %[[E]], %{{.*}} : f32
// CHECK:         %[[L:.*]] = math.log %[[E]] : f32
// CHECK:         %[[R:.*]] = arith.divf %[[X]], %[[L]] : f32
// CHECK:         arith.mulf %[[D]], %[[R]] : f32
// CHECK-NOT:     math.expm1
// CHECK:         return
func.func @near_zero(%x: f32) -> f32 {
  %0 = math.expm1 %x : f32
  return %0 : f32
}

// Others have an instruction or a function of a library.

// CHECK-LABEL: func.func @others(
// CHECK-NEXT:    math.erf %{{.*}} : f64
// CHECK-NEXT:    arith.truncf %{{.*}} : f64 to f32
func.func @others(%x: f64) -> (f64, f32) {
  %0 = math.erf %x : f64
  %1 = arith.truncf %x : f64 to f32
  return %0, %1 : f64, f32
}
