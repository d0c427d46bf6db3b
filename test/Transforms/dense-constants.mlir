// RUN: %cp-opt %s --cp-dense-constants | FileCheck %s
// RUN: cp-run %s --entry=main --ranks=2 --check --tolerance=0 --quiet
// RUN: cp-run %s --entry=main --ranks=1 --check --tolerance=0 --quiet

// Constants as other compilers write weights: ranks cut what they see.

// CHECK-LABEL: func.func @main(
// CHECK-DAG:     arith.constant dense<[0.000000e+00, 1.000000e+00, 2.000000e+00, -1.000000e+00]> : tensor<4xf32>
// CHECK-DAG:     arith.constant dense<[0.000000e+00, 5.000000e+00, 0.000000e+00, 7.000000e+00]> : tensor<4xf32>
func.func @main(%x: tensor<4xf32> {cp.name = "x", cp.sequence = 0 : i64})
    -> (tensor<4xf32> {cp.name = "y"}) {
  %blob = arith.constant dense_resource<blob> : tensor<4xf32>
  %sparse = arith.constant sparse<[[1], [3]], [5.0, 7.0]> : tensor<4xf32>
  %0 = arith.addf %blob, %x : tensor<4xf32>
  %1 = arith.mulf %sparse, %0 : tensor<4xf32>
  return %1 : tensor<4xf32>
}

{-#
  dialect_resources: {
    builtin: {
      blob: "0x04000000000000000000803f00000040000080bf"
    }
  }
#-}
