// RUN: %cp-opt %s --cp-assign-layouts="mesh=cp=4 mixer=hidden order=zigzag" \
// RUN:   | FileCheck %s --check-prefix=GLOBAL
// RUN: %cp-opt %s --cp-shard-pipeline="mesh=cp=4 mixer=hidden order=zigzag" \
// RUN:   | FileCheck %s --check-prefix=LOCAL
// RUN: %cp-opt %s --cp-shard-pipeline="mesh=cp=2,u=2 axis=cp,u mixer=hidden order=striped:2" \
// RUN:   | FileCheck %s --check-prefix=STRIPED
// RUN: %cp-opt %s --convert-cp-to-calls | FileCheck %s --check-prefix=ONE
// RUN: %cp-opt %s --cp-shard-pipeline="mesh=cp=4 mixer=hidden order=zigzag" \
// RUN:   --convert-cp-to-calls | FileCheck %s --check-prefix=CALL

// Positions take the layout that their user needs, each user's own: the first is
// cut as x is, the returned ones are whole on every rank.

// GLOBAL-DAG:   #[[WHOLE:.*]] = #cp.layout<#mesh, [{}]>
// GLOBAL-DAG:   #[[ZIGZAG:.*]] = #cp.layout<#mesh, [{"cp" zigzag}]>
// GLOBAL:       func.func @rows
// GLOBAL-DAG:   %[[CUT:.*]] = cp.positions : tensor<64xi64, #[[ZIGZAG]]>
// GLOBAL-DAG:   %[[ALL:.*]] = cp.positions : tensor<64xi64, #[[WHOLE]]>
// GLOBAL:       cp.rotary %{{.*}} positions(%[[CUT]])
// GLOBAL:       return %{{.*}}, %[[ALL]]

// LOCAL-LABEL: func.func @rows
// LOCAL-DAG:   %[[CUT:[0-9]+]] = cp.cut_positions over ["cp" zigzag] of #mesh : tensor<16xi64>
// LOCAL-DAG:   %[[ALL:[0-9]+]] = cp.positions : tensor<64xi64>
// LOCAL:       cp.rotary %{{.*}} positions(%[[CUT]])
// LOCAL:       return %{{.*}}, %[[ALL]]

// STRIPED: cp.cut_positions over ["cp" striped : 2, "u"] of #mesh : tensor<16xi64>

// ONE: cp.call "positions" outs(%{{.*}} : tensor<64xi64>) {axes = array<i64>, orders = array<i64>}
// ONE: cp.call "rotary" ins({{.*}}) outs({{.*}}) {dims = 8 : i64, theta = 1.000000e+04 : f64}

// CALL-DAG: cp.call "positions" outs(%{{.*}} : tensor<16xi64>) {axes = array<i64: 0>, orders = array<i64: 1>}
// CALL-DAG: cp.call "positions" outs(%{{.*}} : tensor<64xi64>) {axes = array<i64>, orders = array<i64>}
func.func @rows(%x: tensor<1x64x2x8xf32> {cp.sequence = 1})
    -> (tensor<1x64x2x8xf32>, tensor<64xi64>) {
  %places = cp.positions : tensor<64xi64>
  %0 = cp.rotary %x positions(%places)
      : (tensor<1x64x2x8xf32>, tensor<64xi64>) -> tensor<1x64x2x8xf32>
  return %0, %places : tensor<1x64x2x8xf32>, tensor<64xi64>
}
