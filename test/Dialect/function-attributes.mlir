// RUN: cp-opt %s --verify-roundtrip | %cp-opt | FileCheck %s
// RUN: %cp-opt %s --emit-bytecode | %cp-opt | FileCheck %s

#mesh = #cp.mesh<"cp" = 4>
#sequence = #cp.layout<#mesh, [{}, {"cp"}]>

// CHECK-DAG: #[[LAYOUT:layout.*]] = #cp.layout<#{{.*}}, [{}, {"cp"}]>
// CHECK: func.func @local(%{{.*}}: tensor<2x8xi32> {cp.init = {below = 5 : i64, kind = "ids"}, cp.layout = #[[LAYOUT]], cp.name = "ids", cp.sequence = 1 : i64},
// CHECK-SAME: %{{.*}}: tensor<4xf32> {cp.param = "norm.weight"})
// CHECK-SAME: -> (tensor<2x8xi32> {cp.layout = #[[LAYOUT]], cp.name = "logits"})
// CHECK-SAME: attributes {cp.arena = 64 : i64, cp.view = "local"}
func.func @local(
    %ids: tensor<2x8xi32> {cp.name = "ids", cp.sequence = 1 : i64,
                           cp.init = {kind = "ids", below = 5 : i64},
                           cp.layout = #sequence},
    %weight: tensor<4xf32> {cp.param = "norm.weight"})
    -> (tensor<2x8xi32> {cp.name = "logits", cp.layout = #sequence})
    attributes {cp.view = "local", cp.arena = 64 : i64} {
  return %ids : tensor<2x8xi32>
}

// CHECK: @global() attributes {cp.view = "global"}
func.func private @global() attributes {cp.view = "global"}
