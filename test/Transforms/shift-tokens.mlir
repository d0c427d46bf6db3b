// RUN: cp-opt %s --cp-shard-pipeline="mesh=cp=4" | FileCheck %s
// RUN: cp-opt %s --cp-shard-pipeline="mesh=cp=4 order=zigzag" | FileCheck %s --check-prefix=ZIGZAG
// RUN: cp-opt %s --cp-shard-pipeline="mesh=dp=2,cp=4 batch=dp mixer=hidden" | FileCheck %s --check-prefix=BATCH
// RUN: cp-opt %s --pass-pipeline="builtin.module(func.func(convert-cp-to-calls))" | FileCheck %s --check-prefix=CALLS

// Each rank gets the first tokens of the next part, the last one what comes behind.
// CHECK-LABEL: func.func @labels(
// CHECK-SAME: %[[IDS:.*]]: tensor<2x4xi32>
// CHECK: %[[NONE:.*]] = arith.constant dense<-100> : tensor<2x1xi32>
// CHECK: %[[HALO:.*]] = cp.halo %[[IDS]] initial(%[[NONE]]) over ["cp"] of #{{.*}} {after = 1 : i64, dim = 1 : i64} : (tensor<2x4xi32>, tensor<2x1xi32>) -> tensor<2x1xi32>
// CHECK: cp.shift_tokens %[[IDS]] then %[[HALO]] : tensor<2x4xi32>, tensor<2x1xi32>

// ZIGZAG-LABEL: func.func @labels(
// ZIGZAG: cp.halo {{.*}} over ["cp" zigzag] of #{{.*}} {after = 1 : i64, dim = 1 : i64} : (tensor<2x4xi32>, tensor<2x1xi32>) -> tensor<2x2xi32>
// ZIGZAG: cp.shift_tokens {{.*}} : tensor<4x2xi32>, tensor<4x1xi32>

// BATCH-LABEL: func.func @labels(
// BATCH-SAME: tensor<1x4xi32>
// BATCH: cp.halo {{.*}} over ["cp"] of #{{.*}} {after = 1 : i64, dim = 1 : i64}
// BATCH: cp.shift_tokens {{.*}} : tensor<1x4xi32>, tensor<1x1xi32>

// CALLS-LABEL: func.func @labels(
// CALLS: %[[STAY:.*]] = tensor.extract_slice %arg0[0, 1] [2, 15] [1, 1] : tensor<2x16xi32> to tensor<2x15xi32>
// CALLS: %[[FIRST:.*]] = tensor.insert_slice %[[STAY]] into %{{.*}}[0, 0] [2, 15] [1, 1]
// CALLS: %[[COME:.*]] = tensor.extract_slice %{{.*}}[0, 0] [2, 1] [1, 1]
// CALLS: tensor.insert_slice %[[COME]] into %[[FIRST]][0, 15] [2, 1] [1, 1]
func.func @labels(%ids: tensor<2x16xi32> {cp.sequence = 1 : i64}) -> tensor<2x16xi32> {
  %none = arith.constant dense<-100> : tensor<2x1xi32>
  %0 = cp.shift_tokens %ids then %none : tensor<2x16xi32>, tensor<2x1xi32>
  return %0 : tensor<2x16xi32>
}

// By more than there are tokens the rows themselves are shifted.
// CALLS-LABEL: func.func private @beyond(
// CALLS: %[[COME:.*]] = tensor.extract_slice %arg1[0, 2, 0] [1, 4, 3] [1, 1, 1] : tensor<1x6x3xf32> to tensor<1x4x3xf32>
// CALLS-NEXT: %[[Y:.*]] = tensor.insert_slice %[[COME]] into %{{.*}}[0, 0, 0] [1, 4, 3] [1, 1, 1]
// CALLS-NEXT: return %[[Y]]
func.func private @beyond(%x: tensor<1x4x3xf32>, %rows: tensor<1x6x3xf32>) -> tensor<1x4x3xf32>
    attributes {cp.view = "local"} {
  %0 = cp.shift_tokens %x then %rows : tensor<1x4x3xf32>, tensor<1x6x3xf32>
  return %0 : tensor<1x4x3xf32>
}

// What came before: the last ones go.
// CALLS-LABEL: func.func private @delay(
// CALLS: %[[STAY:.*]] = tensor.extract_slice %arg0[0, 0, 0] [1, 3, 3]
// CALLS: %[[LAST:.*]] = tensor.insert_slice %[[STAY]] into %{{.*}}[0, 1, 0] [1, 3, 3]
// CALLS: %[[COME:.*]] = tensor.extract_slice %arg1[0, 0, 0] [1, 1, 3]
// CALLS: tensor.insert_slice %[[COME]] into %[[LAST]][0, 0, 0] [1, 1, 3]
func.func private @delay(%x: tensor<1x4x3xf32>, %rows: tensor<1x1x3xf32>) -> tensor<1x4x3xf32>
    attributes {cp.view = "local"} {
  %0 = cp.shift_tokens %x then %rows {delay} : tensor<1x4x3xf32>, tensor<1x1x3xf32>
  return %0 : tensor<1x4x3xf32>
}
