// RUN: %cp-opt %s --cp-assign-layouts="mesh=cp=4" --cp-partition --cp-lower-reshards --cse --split-input-file | FileCheck %s

// The rules of upstream ops: a sequence cut flows through them to the program of
// one rank, which has a quarter of the 16 rows.

// CHECK-LABEL: func.func @elementwise(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<1x4x8xf32>
// CHECK-NEXT:    %[[TWO:.*]] = arith.constant dense<2.000000e+00> : tensor<1x4x8xf32>
// CHECK-NEXT:    %[[A:.*]] = arith.mulf %[[X]], %[[TWO]] : tensor<1x4x8xf32>
// CHECK-NEXT:    %[[B:.*]] = arith.divf %[[A]], %[[X]]
// CHECK-NEXT:    %[[C:.*]] = math.tanh %[[B]]
// CHECK-NEXT:    %[[P:.*]] = arith.cmpf olt, %[[C]], %[[TWO]] : tensor<1x4x8xf32>
// CHECK-NEXT:    %[[S:.*]] = arith.select %[[P]], %[[C]], %[[X]] : tensor<1x4x8xi1>, tensor<1x4x8xf32>
// CHECK-NEXT:    %[[T:.*]] = arith.truncf %[[S]] : tensor<1x4x8xf32> to tensor<1x4x8xbf16>
// CHECK-NEXT:    arith.extf %[[T]] : tensor<1x4x8xbf16> to tensor<1x4x8xf32>
// CHECK-NEXT:    return
func.func @elementwise(%x: tensor<1x16x8xf32> {cp.sequence = 1 : i64})
    -> tensor<1x16x8xf32> {
  %two = arith.constant dense<2.0> : tensor<1x16x8xf32>
  %0 = arith.mulf %x, %two : tensor<1x16x8xf32>
  %1 = arith.divf %0, %x : tensor<1x16x8xf32>
  %2 = math.tanh %1 : tensor<1x16x8xf32>
  %3 = arith.cmpf olt, %2, %two : tensor<1x16x8xf32>
  %4 = arith.select %3, %2, %x : tensor<1x16x8xi1>, tensor<1x16x8xf32>
  %5 = arith.truncf %4 : tensor<1x16x8xf32> to tensor<1x16x8xbf16>
  %6 = arith.extf %5 : tensor<1x16x8xbf16> to tensor<1x16x8xf32>
  return %6 : tensor<1x16x8xf32>
}

// -----

// A constant of unlike elements is whole on every rank, which takes its part.

// CHECK-LABEL: func.func @positions(
// CHECK:         %[[C:.*]] = arith.constant dense<{{.*}}> : tensor<1x4xf32>
// CHECK:         %[[P:.*]] = cp.slice %[[C]] over ["cp"] of #mesh {dim = 1 : i64} : tensor<1x4xf32> -> tensor<1x1xf32>
// CHECK:         arith.addf %{{.*}}, %[[P]] : tensor<1x1xf32>
func.func @positions(%x: tensor<1x4xf32> {cp.sequence = 1 : i64})
    -> tensor<1x4xf32> {
  %c = arith.constant dense<[[0.0, 1.0, 2.0, 3.0]]> : tensor<1x4xf32>
  %0 = arith.addf %x, %c : tensor<1x4xf32>
  return %0 : tensor<1x4xf32>
}

// -----

// CHECK-LABEL: func.func @contractions(
// CHECK:         linalg.fill {{.*}} -> tensor<1x4x16xf32>
// CHECK:         linalg.contract {{.*}} -> tensor<1x4x16xf32>
// CHECK:         linalg.batch_matmul ins(%{{.*}}, %{{.*}} : tensor<1x4x16xf32>, tensor<1x16x8xf32>) outs(%{{.*}}) -> tensor<1x4x8xf32>
// CHECK:         tensor.collapse_shape %{{.*}} {{.*}} : tensor<1x4x8xf32> into tensor<4x8xf32>
// CHECK:         linalg.matmul ins(%{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<8x8xf32>) outs(%{{.*}}) -> tensor<4x8xf32>
func.func @contractions(%x: tensor<1x16x8xf32> {cp.sequence = 1 : i64},
    %w: tensor<16x8xf32>, %v: tensor<1x16x8xf32>, %m: tensor<8x8xf32>)
    -> tensor<16x8xf32> {
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x16x16xf32>
  %z = linalg.fill ins(%c : f32) outs(%e : tensor<1x16x16xf32>)
      -> tensor<1x16x16xf32>
  %0 = linalg.contract
      indexing_maps = [affine_map<(b, l, o, i) -> (b, l, i)>,
                       affine_map<(b, l, o, i) -> (o, i)>,
                       affine_map<(b, l, o, i) -> (b, l, o)>]
      ins(%x, %w : tensor<1x16x8xf32>, tensor<16x8xf32>)
      outs(%z : tensor<1x16x16xf32>) -> tensor<1x16x16xf32>
  %e1 = tensor.empty() : tensor<1x16x8xf32>
  %z1 = linalg.fill ins(%c : f32) outs(%e1 : tensor<1x16x8xf32>)
      -> tensor<1x16x8xf32>
  %1 = linalg.batch_matmul
      ins(%0, %v : tensor<1x16x16xf32>, tensor<1x16x8xf32>)
      outs(%z1 : tensor<1x16x8xf32>) -> tensor<1x16x8xf32>
  %2 = tensor.collapse_shape %1 [[0, 1], [2]]
      : tensor<1x16x8xf32> into tensor<16x8xf32>
  %e2 = tensor.empty() : tensor<16x8xf32>
  %z2 = linalg.fill ins(%c : f32) outs(%e2 : tensor<16x8xf32>)
      -> tensor<16x8xf32>
  %3 = linalg.matmul ins(%2, %m : tensor<16x8xf32>, tensor<8x8xf32>)
      outs(%z2 : tensor<16x8xf32>) -> tensor<16x8xf32>
  return %3 : tensor<16x8xf32>
}

// -----

// A cut moves with its dimension, and a new dimension has none.

// CHECK-DAG:   #[[$FIRST:.*]] = #cp.layout<#mesh, [{"cp"}, {}, {}]>
// CHECK-LABEL: func.func @moves(
// CHECK-SAME:    -> (tensor<4x8x2xf32> {cp.layout = #[[$FIRST]]})
// CHECK:         linalg.transpose ins(%{{.*}} : tensor<8x4xf32>) outs(%{{.*}} : tensor<4x8xf32>) permutation = [1, 0]
// CHECK:         linalg.broadcast ins(%{{.*}} : tensor<4x8xf32>) outs(%{{.*}} : tensor<4x8x2xf32>) dimensions = [2]
func.func @moves(%x: tensor<8x16xf32> {cp.sequence = 1 : i64})
    -> tensor<16x8x2xf32> {
  %e = tensor.empty() : tensor<16x8xf32>
  %0 = linalg.transpose ins(%x : tensor<8x16xf32>) outs(%e : tensor<16x8xf32>)
      permutation = [1, 0]
  %e1 = tensor.empty() : tensor<16x8x2xf32>
  %1 = linalg.broadcast ins(%0 : tensor<16x8xf32>)
      outs(%e1 : tensor<16x8x2xf32>) dimensions = [2]
  return %1 : tensor<16x8x2xf32>
}

// -----

// Slices and reshapes of other dimensions; sizes in attributes follow.

// CHECK-LABEL: func.func @reshapes(
// CHECK:         tensor.extract_slice %{{.*}}[0, 0, 4] [1, 4, 4] [1, 1, 1] : tensor<1x4x8xf32> to tensor<1x4x4xf32>
// CHECK:         tensor.expand_shape %{{.*}} {{\[\[}}0], [1], [2, 3]] output_shape [1, 4, 2, 2] : tensor<1x4x4xf32> into tensor<1x4x2x2xf32>
// CHECK:         tensor.collapse_shape %{{.*}} {{.*}} : tensor<1x4x2x2xf32> into tensor<1x4x4xf32>
func.func @reshapes(%x: tensor<1x16x8xf32> {cp.sequence = 1 : i64})
    -> tensor<1x16x4xf32> {
  %0 = tensor.extract_slice %x[0, 0, 4] [1, 16, 4] [1, 1, 1]
      : tensor<1x16x8xf32> to tensor<1x16x4xf32>
  %1 = tensor.expand_shape %0 [[0], [1], [2, 3]] output_shape [1, 16, 2, 2]
      : tensor<1x16x4xf32> into tensor<1x16x2x2xf32>
  %2 = tensor.collapse_shape %1 [[0], [1], [2, 3]]
      : tensor<1x16x2x2xf32> into tensor<1x16x4xf32>
  return %2 : tensor<1x16x4xf32>
}

// -----

// A bias along the last dimension is not cut; a payload may be anything.

// CHECK-LABEL: func.func @generic(
// CHECK:         linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<1x4x8xf32>, tensor<8xf32>) outs(%{{.*}} : tensor<1x4x8xf32>)
// CHECK:           math.exp
func.func @generic(%x: tensor<1x16x8xf32> {cp.sequence = 1 : i64},
                   %b: tensor<8xf32>) -> tensor<1x16x8xf32> {
  %e = tensor.empty() : tensor<1x16x8xf32>
  %0 = linalg.generic {
      indexing_maps = [affine_map<(b, l, i) -> (b, l, i)>,
                       affine_map<(b, l, i) -> (i)>,
                       affine_map<(b, l, i) -> (b, l, i)>],
      iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %b : tensor<1x16x8xf32>, tensor<8xf32>)
      outs(%e : tensor<1x16x8xf32>) {
  ^bb0(%a: f32, %c: f32, %d: f32):
    %1 = math.exp %a : f32
    %2 = arith.addf %1, %c : f32
    linalg.yield %2 : f32
  } -> tensor<1x16x8xf32>
  return %0 : tensor<1x16x8xf32>
}

// -----

// A sum of all rows: each rank adds up its own, then they add up theirs.

// CHECK-LABEL: func.func @row_sum(
// CHECK-SAME:    %[[X:.*]]: tensor<1x4x8xf32>
// CHECK:         %[[OWN:.*]] = linalg.generic {{.*}} ins(%[[X]] : tensor<1x4x8xf32>)
// CHECK:         cp.all_reduce %[[OWN]] over ["cp"] of #mesh : tensor<1x8xf32>
func.func @row_sum(%x: tensor<1x16x8xf32> {cp.sequence = 1 : i64})
    -> tensor<1x8xf32> {
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<1x8xf32>
  %z = linalg.fill ins(%c : f32) outs(%e : tensor<1x8xf32>) -> tensor<1x8xf32>
  %0 = linalg.generic {
      indexing_maps = [affine_map<(b, l, i) -> (b, l, i)>,
                       affine_map<(b, l, i) -> (b, i)>],
      iterator_types = ["parallel", "reduction", "parallel"]}
      ins(%x : tensor<1x16x8xf32>) outs(%z : tensor<1x8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %1 = arith.addf %a, %b : f32
    linalg.yield %1 : f32
  } -> tensor<1x8xf32>
  return %0 : tensor<1x8xf32>
}

// -----

// A slice of rows is not that of any one rank.

// CHECK-LABEL: func.func @last_row(
// CHECK:         %[[G:.*]] = cp.all_gather
// CHECK:         tensor.extract_slice %[[G]][0, 15, 0] [1, 1, 8] [1, 1, 1] : tensor<1x16x8xf32> to tensor<1x1x8xf32>
func.func @last_row(%x: tensor<1x16x8xf32> {cp.sequence = 1 : i64})
    -> tensor<1x1x8xf32> {
  %0 = tensor.extract_slice %x[0, 15, 0] [1, 1, 8] [1, 1, 1]
      : tensor<1x16x8xf32> to tensor<1x1x8xf32>
  return %0 : tensor<1x1x8xf32>
}

// -----

// Rows of two sequences in one dimension: a rank's rows are no run of them, so
// the operand is gathered. With one sequence (above) they are.

// CHECK-LABEL: func.func @flatten(
// CHECK:         %[[G:.*]] = cp.all_gather %{{.*}} over ["cp"] of #mesh {dim = 1 : i64} : tensor<2x4x8xf32> -> tensor<2x16x8xf32>
// CHECK-NEXT:    tensor.collapse_shape %[[G]] {{.*}} : tensor<2x16x8xf32> into tensor<32x8xf32>
func.func @flatten(%x: tensor<2x16x8xf32> {cp.sequence = 1 : i64})
    -> tensor<32x8xf32> {
  %0 = tensor.collapse_shape %x [[0, 1], [2]]
      : tensor<2x16x8xf32> into tensor<32x8xf32>
  return %0 : tensor<32x8xf32>
}

// -----

// A slice may drop dimensions of size 1, cut beside them or not; what it takes a
// part of is made whole first.

// CHECK-LABEL: func.func @drops(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<1x5x8xf32>
// CHECK-NEXT:    tensor.extract_slice %[[X]][0, 2, 0] [1, 1, 8] [1, 1, 1] : tensor<1x5x8xf32> to tensor<1x8xf32>
// CHECK-NEXT:    return
func.func @drops(%x: tensor<4x5x8xf32> {cp.sequence = 0 : i64})
    -> tensor<4x8xf32> {
  %0 = tensor.extract_slice %x[0, 2, 0] [4, 1, 8] [1, 1, 1]
      : tensor<4x5x8xf32> to tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: func.func @last(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<2x4x8xf32>
// CHECK-NEXT:    %[[G:.*]] = cp.all_gather %[[X]] over ["cp"] of #mesh {dim = 1 : i64}
// CHECK-NEXT:    tensor.extract_slice %[[G]][0, 15, 0] [2, 1, 8] [1, 1, 1] : tensor<2x16x8xf32> to tensor<2x8xf32>
// CHECK-NEXT:    return
func.func @last(%x: tensor<2x16x8xf32> {cp.sequence = 1 : i64})
    -> tensor<2x8xf32> {
  %0 = tensor.extract_slice %x[0, 15, 0] [2, 1, 8] [1, 1, 1]
      : tensor<2x16x8xf32> to tensor<2x8xf32>
  return %0 : tensor<2x8xf32>
}
