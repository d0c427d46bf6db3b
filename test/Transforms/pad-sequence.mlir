// RUN: %cp-opt %s --cp-prepare-cuts="mesh=cp=4" | FileCheck %s
// RUN: %cp-opt %s --cp-prepare-cuts="mesh=cp=4" --cp-prepare-cuts="mesh=cp=4" | FileCheck %s
// RUN: %cp-opt %s --cp-prepare-cuts="mesh=cp=5" | FileCheck %s --check-prefix=FITS
// RUN: cp-opt %s --cp-shard-pipeline="mesh=cp=4 order=zigzag" --remarks-filter=cut -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: cp-opt %s --cp-shard-pipeline="mesh=cp=4" | FileCheck %s --check-prefix=LOCAL

// Ten tokens on four ranks get two rows behind them. Callers have ten.

// CHECK-LABEL: func.func @layer(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<1x12x4xf32> {cp.length = 10 : i64, cp.sequence = 1 : i64}
// CHECK-SAME:    -> (tensor<1x12x4xf32> {cp.length = 10 : i64, cp.sequence = 1 : i64})
// CHECK:         cp.conv1d %[[X]] {{.*}} : (tensor<1x12x4xf32>, tensor<4x3xf32>) -> tensor<1x12x4xf32>

// FITS-LABEL: func.func @layer(
// FITS-SAME:    tensor<1x10x4xf32> {cp.sequence = 1 : i64}
// FITS-NOT:     cp.length

// REMARK: remark: [Missed] length | Category:cut{{.*}} Function=layer | of_padding=6, ranks=4, tokens=10

// LOCAL-LABEL: func.func @layer(
// LOCAL-SAME:    tensor<1x3x4xf32> {cp.layout = {{[^,]*}}, cp.length = 10 : i64

func.func @layer(%x: tensor<1x10x4xf32> {cp.sequence = 1 : i64}, %w: tensor<4x3xf32>)
    -> tensor<1x10x4xf32> {
  %0 = cp.conv1d %x weight(%w) : (tensor<1x10x4xf32>, tensor<4x3xf32>) -> tensor<1x10x4xf32>
  return %0 : tensor<1x10x4xf32>
}

// A sum over tokens adds zeros for the rows behind; they are chosen.

// CHECK-LABEL: func.func @sum(
// CHECK:         %[[P:.*]] = cp.positions : tensor<12xi64>
// CHECK:         linalg.generic {{.*}} ins(%{{.*}}, %[[P]] : tensor<1x12x4xf32>, tensor<12xi64>)
// CHECK:         ^bb0(%[[EACH:.*]]: f32, %[[AT:.*]]: i64, %[[SO_FAR:.*]]: f32):
// CHECK:           %[[E:.*]] = math.exp %[[EACH]]
// CHECK:           %[[IS:.*]] = arith.cmpi slt, %[[AT]], %{{.*}}
// CHECK:           %[[ADDED:.*]] = arith.select %[[IS]], %[[E]], %{{.*}}
// CHECK:           arith.addf %[[ADDED]], %[[SO_FAR]]

func.func @sum(%x: tensor<1x10x4xf32> {cp.sequence = 1 : i64}) -> tensor<f32> {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %0 = linalg.generic {
      indexing_maps = [affine_map<(b, l, d) -> (b, l, d)>, affine_map<(b, l, d) -> ()>],
      iterator_types = ["reduction", "reduction", "reduction"]}
      ins(%x : tensor<1x10x4xf32>) outs(%zero : tensor<f32>) {
  ^bb0(%each: f32, %so_far: f32):
    %e = math.exp %each : f32
    %sum = arith.addf %e, %so_far : f32
    linalg.yield %sum : f32
  } -> tensor<f32>
  return %0 : tensor<f32>
}

// Of a contraction, one operand has them.

// CHECK-LABEL: func.func @contract(
// CHECK:         %[[MASKED:.*]] = linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<1x12x4xf32>, tensor<12xi64>)
// CHECK:         linalg.contract {{.*}} ins(%[[MASKED]], %{{.*}} : tensor<1x12x4xf32>, tensor<1x12x4xf32>)

func.func @contract(%x: tensor<1x10x4xf32> {cp.sequence = 1 : i64},
    %y: tensor<1x10x4xf32> {cp.sequence = 1 : i64}, %so_far: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = linalg.contract indexing_maps = [
      affine_map<(b, l, n, k) -> (b, l, k)>, affine_map<(b, l, n, k) -> (b, l, n)>,
      affine_map<(b, l, n, k) -> (n, k)>]
      ins(%x, %y : tensor<1x10x4xf32>, tensor<1x10x4xf32>) outs(%so_far : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}

// What stands behind the last token still does, and padding is a document, which
// begins where the list ends: one that ends elsewhere than the row still does.

// CHECK-LABEL: func.func @labels(
// CHECK-SAME:    %[[IDS:[a-z0-9]+]]: tensor<1x12xi32>
// CHECK-SAME:    %[[LISTS:[a-z0-9]+]]: tensor<1x4xi32>
// CHECK:         %[[LAST:.*]] = tensor.extract_slice %[[LISTS]][0, 3] [1, 1] [1, 1]
// CHECK:         %[[TWO:.*]] = arith.constant dense<2> : tensor<1x1xi32>
// CHECK:         %[[END:.*]] = arith.addi %[[LAST]], %[[TWO]]
// CHECK:         %[[ENDS:.*]] = arith.constant dense<0> : tensor<1x5xi32>
// CHECK:         %[[ROOM:.*]] = tensor.insert_slice %[[LISTS]] into %[[ENDS]][0, 0] [1, 4] [1, 1]
// CHECK:         %[[MORE:.*]] = tensor.insert_slice %[[END]] into %[[ROOM]][0, 4] [1, 1] [1, 1]
// CHECK:         cp.positions documents(%[[MORE]] : tensor<1x5xi32>) : tensor<1x12xi64>
// CHECK:         %[[MASKED:.*]] = linalg.generic {{.*}} ins(%[[IDS]], %{{.*}} : tensor<1x12xi32>, tensor<12xi64>)
// CHECK:           arith.constant -100 : i32
// CHECK:         cp.shift_tokens %[[MASKED]] then %{{.*}} : tensor<1x12xi32>, tensor<1x1xi32>

func.func @labels(%ids: tensor<1x10xi32> {cp.sequence = 1 : i64}, %lists: tensor<1x4xi32>)
    -> (tensor<1x10xi32>, tensor<1x10xi64>) {
  %0 = cp.positions documents(%lists : tensor<1x4xi32>) : tensor<1x10xi64>
  %none = arith.constant dense<-100> : tensor<1x1xi32>
  %1 = cp.shift_tokens %ids then %none : tensor<1x10xi32>, tensor<1x1xi32>
  %wide = arith.extsi %1 : tensor<1x10xi32> to tensor<1x10xi64>
  %2 = arith.addi %wide, %0 : tensor<1x10xi64>
  return %1, %2 : tensor<1x10xi32>, tensor<1x10xi64>
}

// Constants that others use too get one of their own, whatever its size; a piece
// of the sequence lies where it did.

// CHECK-LABEL: func.func @shared(
// CHECK-DAG:     arith.constant dense<1.000000e+00> : tensor<1x10x10xf32>
// CHECK-DAG:     arith.constant dense<1.000000e+00> : tensor<1x12x10xf32>
// CHECK:         tensor.extract_slice %{{.*}}[0, 9, 0] [1, 1, 10] [1, 1, 1] : tensor<1x12x10xf32> to tensor<1x1x10xf32>

func.func @shared(%x: tensor<1x10x10xf32> {cp.sequence = 1 : i64}, %w: tensor<1x10x10xf32>)
    -> (tensor<1x1x10xf32>, tensor<1x10x10xf32>) {
  %ones = arith.constant dense<1.0> : tensor<1x10x10xf32>
  %0 = arith.addf %x, %ones : tensor<1x10x10xf32>
  %1 = arith.addf %w, %ones : tensor<1x10x10xf32>
  %last = tensor.extract_slice %0[0, 9, 0] [1, 1, 10] [1, 1, 1]
      : tensor<1x10x10xf32> to tensor<1x1x10xf32>
  return %last, %1 : tensor<1x1x10xf32>, tensor<1x10x10xf32>
}
