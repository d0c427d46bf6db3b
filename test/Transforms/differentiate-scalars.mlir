// RUN: %cp-opt %s --cp-differentiate=cotangents | FileCheck %s

// What rules make of a cotangent: factors that take ops come first, so that a
// program is the same whoever compiled cp-opt.

// CHECK-LABEL: func.func @main(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<4xf64> {cp.param = "x"}, %[[P:[a-z0-9]+]]: tensor<4xf64> {cp.param = "p"}, %[[D:[a-z0-9]+]]: tensor<4xf64>
// CHECK:         %[[ROOT:.*]] = math.rsqrt %[[X]]
// CHECK:         %[[SIZE:.*]] = math.absf %[[ROOT]]
// CHECK:         %[[POWER:.*]] = math.powf %[[SIZE]], %[[P]]
// CHECK:         %[[LESS:.*]] = arith.addf %[[P]], %{{.*}}
// CHECK:         %[[BASE:.*]] = math.powf %[[SIZE]], %[[LESS]]
// CHECK:         %[[OFP:.*]] = arith.mulf %[[D]], %[[P]]
// CHECK:         %[[DSIZE:.*]] = arith.mulf %[[OFP]], %[[BASE]]
// CHECK:         %[[LOG:.*]] = math.log %[[SIZE]]
// CHECK:         %[[OFPOWER:.*]] = arith.mulf %[[D]], %[[POWER]]
// CHECK:         %[[DP:.*]] = arith.mulf %[[OFPOWER]], %[[LOG]]
// CHECK:         %[[BELOW:.*]] = arith.cmpf ogt, %{{.*}}, %[[ROOT]]
// CHECK:         %[[MINUS:.*]] = arith.select %[[BELOW]], %[[DSIZE]]
// CHECK:         %[[ABOVE:.*]] = arith.cmpf ogt, %[[ROOT]], %{{.*}}
// CHECK:         %[[PLUS:.*]] = arith.select %[[ABOVE]], %[[DSIZE]]
// CHECK:         %[[DROOT:.*]] = arith.subf %[[PLUS]], %[[MINUS]]
// CHECK:         %[[TWICE:.*]] = arith.mulf %[[X]], %{{.*}}
// CHECK:         %[[OFROOT:.*]] = arith.mulf %[[DROOT]], %[[ROOT]]
// CHECK:         %[[RATIO:.*]] = arith.divf %[[OFROOT]], %[[TWICE]]
// CHECK:         %[[DX:.*]] = arith.negf %[[RATIO]]
// CHECK:         return %[[POWER]], %[[DX]], %[[DP]]
func.func @main(%x: tensor<4xf64> {cp.param = "x"}, %p: tensor<4xf64> {cp.param = "p"}) -> tensor<4xf64> {
  %0 = math.rsqrt %x : tensor<4xf64>
  %1 = math.absf %0 : tensor<4xf64>
  %2 = math.powf %1, %p : tensor<4xf64>
  return %2 : tensor<4xf64>
}

// Of equal numbers each gets half; beside a constant, as in a relu, nothing.

// CHECK-LABEL: func.func @larger(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<4xf64> {cp.param = "x"}, %[[Y:[a-z0-9]+]]: tensor<4xf64>, %[[D:[a-z0-9]+]]: tensor<4xf64>
// CHECK:         %[[LARGER:.*]] = arith.maximumf %[[X]], %[[Y]]
// CHECK:         %[[POSITIVE:.*]] = arith.cmpf ogt, %[[LARGER]], %{{.*}}
// CHECK:         %[[DLARGER:.*]] = arith.select %[[POSITIVE]], %[[D]], %[[ZERO:.*]] :
// CHECK:         %[[HALF:.*]] = arith.mulf %[[DLARGER]], %{{.*}}
// CHECK:         %[[EQUAL:.*]] = arith.cmpf oeq, %[[X]], %[[Y]]
// CHECK:         %[[OFEQUAL:.*]] = arith.select %[[EQUAL]], %[[HALF]], %{{.*}}
// CHECK:         %[[ABOVE:.*]] = arith.cmpf ogt, %[[X]], %[[Y]]
// CHECK:         %[[DX:.*]] = arith.select %[[ABOVE]], %[[DLARGER]], %[[OFEQUAL]]
// CHECK:         return %{{.*}}, %[[DX]]
func.func @larger(%x: tensor<4xf64> {cp.param = "x"}, %y: tensor<4xf64>) -> tensor<4xf64> {
  %zero = arith.constant dense<0.0> : tensor<4xf64>
  %0 = arith.maximumf %x, %y : tensor<4xf64>
  %1 = arith.maximumf %0, %zero : tensor<4xf64>
  return %1 : tensor<4xf64>
}

// A fill is a constant too, and the sign of a number has no slope.

// CHECK-LABEL: func.func @constants(
// CHECK:         arith.maximumf
// CHECK-NOT:     arith.cmpf oeq
// CHECK:         return
func.func @constants(%x: tensor<4xf32> {cp.param = "x"}) -> tensor<4xf32> {
  %zero = arith.constant 0.0 : f32
  %0 = tensor.empty() : tensor<4xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%0 : tensor<4xf32>) -> tensor<4xf32>
  %1 = arith.maximumf %x, %zeros : tensor<4xf32>
  %bits = arith.bitcast %x : tensor<4xf32> to tensor<4xi32>
  %last = arith.constant dense<31> : tensor<4xi32>
  %sign = arith.shrui %bits, %last : tensor<4xi32>
  %number = arith.sitofp %sign : tensor<4xi32> to tensor<4xf32>
  %2 = arith.mulf %1, %number : tensor<4xf32>
  return %2 : tensor<4xf32>
}
