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
