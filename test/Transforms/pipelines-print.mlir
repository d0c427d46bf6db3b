// Pipelines are printed as what can be read again, with and without gradients, and what
// comes out of them is read too.

// DEFINE: %{again} = %python %S/Inputs/dumped_pipeline.py %s
// RUN: %{again} --cp-shard-pipeline=mesh=cp=2 | FileCheck %s
// RUN: %{again} --cp-shard-pipeline="mesh=cp=2 gradients=cotangents" | FileCheck %s
// RUN: %{again} --cp-shard-pipeline="mesh=cp=2 gradients=cotangents differentiate=local memory=1000000" | FileCheck %s
// RUN: %cp-opt %s --cp-pipeline="mesh=cp=2 device" | %cp-opt | FileCheck %s --check-prefix=DEVICE

// CHECK-LABEL: func.func @main(
// CHECK-SAME: tensor<1x4x3xf32
// DEVICE: nvvm.read.ptx
func.func @main(%x: tensor<1x8x3xf32> {cp.sequence = 1 : i64, cp.param = "x"}) -> tensor<1x8x3xf32> {
  %0 = math.exp %x : tensor<1x8x3xf32>
  return %0 : tensor<1x8x3xf32>
}
