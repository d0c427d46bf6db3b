// RUN: cp-opt %s --cp-assign-layouts="mesh=cp=2" --cp-partition | FileCheck %s

// The adjoint reads the rows that the convolution got, not ones of its own; those of
// other rows before the sequence are others.
// CHECK-LABEL: func.func @shared(
// CHECK:         %[[HALO:.*]] = cp.halo %{{.*}} over ["cp"] of #mesh {before = 3 : i64, dim = 1 : i64}
// CHECK:         cp.conv1d %{{.*}} initial(%[[HALO]])
// CHECK-NOT:     cp.halo {{.*}} {before
// CHECK:         cp.conv1d_grad %{{.*}} initial(%[[HALO]])
// CHECK-NOT:     cp.halo {{.*}} {before
// CHECK:         %[[OTHER:.*]] = cp.halo %{{.*}} initial(%{{.*}}) over ["cp"] of #mesh {before = 3 : i64, dim = 1 : i64}
// CHECK:         cp.conv1d_grad %{{.*}} initial(%[[OTHER]])
func.func @shared(%x: tensor<1x8x2xf32> {cp.sequence = 1 : i64},
    %w: tensor<2x4xf32>, %rows: tensor<1x3x2xf32>)
    -> (tensor<1x8x2xf32>, tensor<1x8x2xf32>) {
  %y = cp.conv1d %x weight(%w)
      : (tensor<1x8x2xf32>, tensor<2x4xf32>) -> tensor<1x8x2xf32>
  %dx, %dw, %db, %drows = cp.conv1d_grad %x weight(%w) from %y
      : (tensor<1x8x2xf32>, tensor<2x4xf32>, tensor<1x8x2xf32>)
      -> (tensor<1x8x2xf32>, tensor<2x4xf32>, tensor<2xf32>, tensor<1x3x2xf32>)
  %dx2, %dw2, %db2, %drows2 = cp.conv1d_grad %x weight(%w) initial(%rows) from %y
      : (tensor<1x8x2xf32>, tensor<2x4xf32>, tensor<1x8x2xf32>, tensor<1x3x2xf32>)
      -> (tensor<1x8x2xf32>, tensor<2x4xf32>, tensor<2xf32>, tensor<1x3x2xf32>)
  return %dx, %dx2 : tensor<1x8x2xf32>, tensor<1x8x2xf32>
}
