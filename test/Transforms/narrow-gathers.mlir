// RUN: %cp-opt %s --cp-narrow-gathers | FileCheck %s

#mesh = #cp.mesh<"cp" = 4>
#grid = #cp.mesh<"ring" = 2, "u" = 2>

// The last row is the last one of the last rank.

// CHECK-LABEL: func.func @last(
// CHECK-SAME:    %[[X:[a-z0-9]+]]:
// CHECK-NEXT:    %[[S:.*]] = tensor.extract_slice %[[X]][0, 7, 2] [1, 1, 4] [1, 1, 1] : tensor<1x8x16xf32> to tensor<1x1x4xf32>
// CHECK-NEXT:    %[[G:.*]] = cp.all_gather %[[S]] over ["cp"] of #mesh {dim = 1 : i64} : tensor<1x1x4xf32> -> tensor<1x4x4xf32>
// CHECK-NEXT:    %[[L:.*]] = tensor.extract_slice %[[G]][0, 3, 0] [1, 1, 4] [1, 1, 1] : tensor<1x4x4xf32> to tensor<1x1x4xf32>
// CHECK-NEXT:    return %[[L]]
func.func @last(%x: tensor<1x8x16xf32>) -> tensor<1x1x4xf32>
    attributes {cp.view = "local"} {
  %0 = cp.all_gather %x over ["cp"] of #mesh {dim = 1 : i64}
      : tensor<1x8x16xf32> -> tensor<1x32x16xf32>
  %1 = tensor.extract_slice %0[0, 31, 2] [1, 1, 4] [1, 1, 1]
      : tensor<1x32x16xf32> to tensor<1x1x4xf32>
  return %1 : tensor<1x1x4xf32>
}

// In zigzag order it is the first rank's, in striped order again the last one's;
// and a slice may drop a dimension.

// CHECK-LABEL: func.func @zigzag(
// CHECK-NEXT:    tensor.extract_slice %{{.*}}[0, 7, 0] [1, 1, 16]
// CHECK-NEXT:    cp.all_gather %{{.*}} over ["cp"] of #mesh {dim = 1 : i64} : tensor<1x1x16xf32> -> tensor<1x4x16xf32>
// CHECK-NEXT:    tensor.extract_slice %{{.*}}[0, 0, 0] [1, 1, 16] [1, 1, 1] : tensor<1x4x16xf32> to tensor<1x16xf32>
func.func @zigzag(%x: tensor<1x8x16xf32>) -> tensor<1x16xf32>
    attributes {cp.view = "local"} {
  %0 = cp.all_gather %x over ["cp" zigzag] of #mesh {dim = 1 : i64}
      : tensor<1x8x16xf32> -> tensor<1x32x16xf32>
  %1 = tensor.extract_slice %0[0, 31, 0] [1, 1, 16] [1, 1, 1]
      : tensor<1x32x16xf32> to tensor<1x16xf32>
  return %1 : tensor<1x16xf32>
}

// CHECK-LABEL: func.func @striped(
// CHECK-NEXT:    tensor.extract_slice %{{.*}}[0, 2, 0] [1, 2, 16]
// CHECK-NEXT:    cp.all_gather %{{.*}} over ["cp"] of #mesh {dim = 1 : i64} : tensor<1x2x16xf32> -> tensor<1x8x16xf32>
// CHECK-NEXT:    tensor.extract_slice %{{.*}}[0, 4, 0] [1, 2, 16] [1, 1, 1] : tensor<1x8x16xf32> to tensor<1x2x16xf32>
func.func @striped(%x: tensor<1x8x16xf32>) -> tensor<1x2x16xf32>
    attributes {cp.view = "local"} {
  %0 = cp.all_gather %x over ["cp" striped : 2] of #mesh {dim = 1 : i64}
      : tensor<1x8x16xf32> -> tensor<1x32x16xf32>
  %1 = tensor.extract_slice %0[0, 12, 0] [1, 2, 16] [1, 1, 1]
      : tensor<1x32x16xf32> to tensor<1x2x16xf32>
  return %1 : tensor<1x2x16xf32>
}

// One gather behind the other.

// CHECK-LABEL: func.func @twice(
// CHECK-NEXT:    tensor.extract_slice %{{.*}}[0, 7, 0] [1, 1, 16]
// CHECK-NEXT:    cp.all_gather %{{.*}} over ["u"] of #mesh1 {dim = 1 : i64} : tensor<1x1x16xf32> -> tensor<1x2x16xf32>
// CHECK-NEXT:    tensor.extract_slice %{{.*}}[0, 1, 0] [1, 1, 16]
// CHECK-NEXT:    cp.all_gather %{{.*}} over ["ring"] of #mesh1 {dim = 1 : i64} : tensor<1x1x16xf32> -> tensor<1x2x16xf32>
// CHECK-NEXT:    tensor.extract_slice %{{.*}}[0, 0, 0] [1, 1, 16]
func.func @twice(%x: tensor<1x8x16xf32>) -> tensor<1x1x16xf32>
    attributes {cp.view = "local"} {
  %0 = cp.all_gather %x over ["u"] of #grid {dim = 1 : i64}
      : tensor<1x8x16xf32> -> tensor<1x16x16xf32>
  %1 = cp.all_gather %0 over ["ring" zigzag] of #grid {dim = 1 : i64}
      : tensor<1x16x16xf32> -> tensor<1x32x16xf32>
  %2 = tensor.extract_slice %1[0, 31, 0] [1, 1, 16] [1, 1, 1]
      : tensor<1x32x16xf32> to tensor<1x1x16xf32>
  return %2 : tensor<1x1x16xf32>
}

// What several ranks hold, what somebody else uses, and what would not be less
// stay.

// CHECK-LABEL: func.func @kept(
// CHECK-NEXT:    cp.all_gather %{{.*}} -> tensor<1x32x16xf32>
// CHECK-NEXT:    tensor.extract_slice %{{.*}}[0, 7, 0] [1, 2, 16]
// CHECK-NEXT:    cp.all_gather %{{.*}} -> tensor<1x32x16xf32>
// CHECK-NEXT:    tensor.extract_slice %{{.*}}[0, 31, 0] [1, 1, 16]
// CHECK-NEXT:    cp.all_gather %{{.*}} -> tensor<1x32x8xf32>
// CHECK-NEXT:    tensor.extract_slice %{{.*}}[0, 8, 0] [1, 8, 8]
// CHECK-NEXT:    cp.all_gather %{{.*}} -> tensor<1x32x4xf32>
// CHECK-NEXT:    tensor.extract_slice %{{.*}}[0, 0, 0] [1, 2, 4] [1, 2, 1]
func.func @kept(%x: tensor<1x8x16xf32>, %y: tensor<1x8x8xf32>,
                %z: tensor<1x8x4xf32>)
    -> (tensor<1x2x16xf32>, tensor<1x32x16xf32>, tensor<1x1x16xf32>,
        tensor<1x8x8xf32>, tensor<1x2x4xf32>)
    attributes {cp.view = "local"} {
  %0 = cp.all_gather %x over ["cp"] of #mesh {dim = 1 : i64}
      : tensor<1x8x16xf32> -> tensor<1x32x16xf32>
  %1 = tensor.extract_slice %0[0, 7, 0] [1, 2, 16] [1, 1, 1]
      : tensor<1x32x16xf32> to tensor<1x2x16xf32>
  %2 = cp.all_gather %x over ["cp" zigzag] of #mesh {dim = 1 : i64}
      : tensor<1x8x16xf32> -> tensor<1x32x16xf32>
  %3 = tensor.extract_slice %2[0, 31, 0] [1, 1, 16] [1, 1, 1]
      : tensor<1x32x16xf32> to tensor<1x1x16xf32>
  %4 = cp.all_gather %y over ["cp"] of #mesh {dim = 1 : i64}
      : tensor<1x8x8xf32> -> tensor<1x32x8xf32>
  %5 = tensor.extract_slice %4[0, 8, 0] [1, 8, 8] [1, 1, 1]
      : tensor<1x32x8xf32> to tensor<1x8x8xf32>
  %6 = cp.all_gather %z over ["cp"] of #mesh {dim = 1 : i64}
      : tensor<1x8x4xf32> -> tensor<1x32x4xf32>
  %7 = tensor.extract_slice %6[0, 0, 0] [1, 2, 4] [1, 2, 1]
      : tensor<1x32x4xf32> to tensor<1x2x4xf32>
  return %1, %2, %3, %5, %7 : tensor<1x2x16xf32>, tensor<1x32x16xf32>,
      tensor<1x1x16xf32>, tensor<1x8x8xf32>, tensor<1x2x4xf32>
}
