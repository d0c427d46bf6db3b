// A layout of the function's own uses an axis too: of an argument, of a reshard.

// RUN: %cp-opt %s --cp-assign-layouts="mesh=dp=2,cp=2" | FileCheck %s
// RUN: %cp-opt %s --cp-shard-pipeline="mesh=dp=2,cp=2" | FileCheck %s

#mesh = #cp.mesh<"dp" = 2, "cp" = 2>
#rows = #cp.layout<#mesh, [{"dp"}, {"cp"}]>

// CHECK: func.func @argument(
func.func @argument(%x: tensor<2x16xf32, #rows>, %y: tensor<2x16xf32> {cp.sequence = 1 : i64})
    -> tensor<2x16xf32, #rows> {
  return %x : tensor<2x16xf32, #rows>
}

// CHECK: func.func @pinned(
func.func @pinned(%x: tensor<2x16xf32> {cp.sequence = 1 : i64}) -> tensor<2x16xf32, #rows> {
  %0 = math.exp %x : tensor<2x16xf32>
  %1 = cp.reshard %0 : tensor<2x16xf32> to tensor<2x16xf32, #rows>
  return %1 : tensor<2x16xf32, #rows>
}
