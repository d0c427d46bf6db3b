// RUN: %cp-opt %s --cp-split-sums | FileCheck %s
// RUN: not %cp-opt %s --cp-split-sums=least=0 2>&1 | FileCheck %s --check-prefix=FEW
// FEW: cp-split-sums: least must be 2 terms or more, but is 0; leave it out for 1024
// RUN: %cp-opt %s --cp-split-sums=least=4097 | FileCheck %s --check-prefix=LEAST

#all = affine_map<(b, l) -> (b, l)>
#none = affine_map<(b, l) -> ()>

// LEAST-LABEL: func.func @loss(
// LEAST-COUNT-1: linalg.generic
// LEAST-NOT:     linalg.generic
// LEAST:         return

// CHECK-LABEL: func.func @loss(
// CHECK-SAME:    %[[X:.*]]: tensor<1x4096xf32>, %[[INIT:.*]]: tensor<f32>)
// CHECK:         %[[WIDE:.*]] = tensor.expand_shape %[[X]] {{\[\[}}0], [1, 2]] output_shape [1, 64, 64]
// CHECK:         %[[ZEROS:.*]] = linalg.fill {{.*}} -> tensor<64xf32>
// CHECK:         %[[PARTS:.*]] = linalg.generic {{.*}}iterator_types = ["reduction", "reduction", "parallel"]} ins(%[[WIDE]] : tensor<1x64x64xf32>) outs(%[[ZEROS]] : tensor<64xf32>)
// CHECK:           arith.addf
// CHECK:         %[[SUM:.*]] = linalg.generic {{.*}}iterator_types = ["reduction"]} ins(%[[PARTS]] : tensor<64xf32>) outs(%[[INIT]] : tensor<f32>)
// CHECK:         return %[[SUM]]
func.func @loss(%x: tensor<1x4096xf32>, %init: tensor<f32>) -> tensor<f32> {
  %sum = linalg.generic {indexing_maps = [#all, #none], iterator_types = ["reduction", "reduction"]} ins(%x : tensor<1x4096xf32>) outs(%init : tensor<f32>) {
  ^bb0(%each: f32, %so_far: f32):
    %next = arith.addf %each, %so_far : f32
    linalg.yield %next : f32
  } -> tensor<f32>
  return %sum : tensor<f32>
}

#rows = affine_map<(b, l, d) -> (b, l, d)>
#row = affine_map<(b, l, d) -> (b, l)>
#out = affine_map<(b, l, d) -> (d)>

// Inputs with and without the dimension, and other dimensions of the result.
// CHECK-LABEL: func.func @bias(
// CHECK:         tensor.expand_shape %{{.*}} : tensor<2x1536x3xbf16> into tensor<2x32x48x3xbf16>
// CHECK:         tensor.expand_shape %{{.*}} : tensor<2x1536xf32> into tensor<2x32x48xf32>
// CHECK:         linalg.generic {{.*}}iterator_types = ["reduction", "reduction", "parallel", "parallel"]}
// CHECK:         } -> tensor<48x3xf32>
// CHECK:         linalg.generic {{.*}}iterator_types = ["reduction", "parallel"]}
func.func @bias(%dy: tensor<2x1536x3xbf16>, %weight: tensor<2x1536xf32>, %init: tensor<3xf32>) -> tensor<3xf32> {
  %sum = linalg.generic {indexing_maps = [#rows, #row, #out], iterator_types = ["reduction", "reduction", "parallel"]} ins(%dy, %weight : tensor<2x1536x3xbf16>, tensor<2x1536xf32>) outs(%init : tensor<3xf32>) {
  ^bb0(%each: bf16, %times: f32, %so_far: f32):
    %wide = arith.extf %each : bf16 to f32
    %term = arith.mulf %wide, %times : f32
    %next = arith.addf %so_far, %term : f32
    linalg.yield %next : f32
  } -> tensor<3xf32>
  return %sum : tensor<3xf32>
}

#norm = affine_map<(i, k) -> (i, k)>
#per_row = affine_map<(i, k) -> (i)>
#scalar = affine_map<(i, k) -> ()>

// Parts lie side by side within a row; a scalar stays one.
// CHECK-LABEL: func.func @rows(
// CHECK:         linalg.generic {{.*}}iterator_types = ["parallel", "reduction", "parallel"]} ins(%{{.*}}, %{{.*}} : tensor<5x64x32xf32>, f32) outs(%{{.*}} : tensor<5x32xf32>)
// CHECK:         linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]} ins(%{{.*}} : tensor<5x32xf32>) outs(%{{.*}} : tensor<5xf32>)
func.func @rows(%x: tensor<5x2048xf32>, %factor: f32, %init: tensor<5xf32>) -> tensor<5xf32> {
  %sum = linalg.generic {indexing_maps = [#norm, #scalar, #per_row], iterator_types = ["parallel", "reduction"]} ins(%x, %factor : tensor<5x2048xf32>, f32) outs(%init : tensor<5xf32>) {
  ^bb0(%each: f32, %times: f32, %so_far: f32):
    %term = arith.mulf %each, %times : f32
    %next = arith.addf %so_far, %term : f32
    linalg.yield %next : f32
  } -> tensor<5xf32>
  return %sum : tensor<5xf32>
}

// Parts of a large result would take more than they are worth; and what asks
// where it is, or has the dimension beside another one, stays too.
// CHECK-LABEL: func.func @stay(
// CHECK-NOT:     expand_shape
// CHECK:         return
func.func @stay(%large: tensor<200000x1024xf32>, %most: tensor<200000xf32>, %x: tensor<1x2048xf32>, %pairs: tensor<2050xf32>, %three: tensor<3x2048xf32>, %init: tensor<f32>, %few: tensor<3xf32>) -> (tensor<200000xf32>, tensor<f32>, tensor<3xf32>) {
  %rows = linalg.generic {indexing_maps = [#norm, #per_row], iterator_types = ["parallel", "reduction"]} ins(%large : tensor<200000x1024xf32>) outs(%most : tensor<200000xf32>) {
  ^bb0(%each: f32, %so_far: f32):
    %next = arith.addf %so_far, %each : f32
    linalg.yield %next : f32
  } -> tensor<200000xf32>
  %places = linalg.generic {indexing_maps = [#all, #none], iterator_types = ["reduction", "reduction"]} ins(%x : tensor<1x2048xf32>) outs(%init : tensor<f32>) {
  ^bb0(%each: f32, %so_far: f32):
    %place = linalg.index 1 : index
    %whole = arith.index_cast %place : index to i32
    %number = arith.sitofp %whole : i32 to f32
    %term = arith.mulf %each, %number : f32
    %next = arith.addf %so_far, %term : f32
    linalg.yield %next : f32
  } -> tensor<f32>
  %window = linalg.generic {indexing_maps = [affine_map<(w, l) -> (w + l)>, #norm, #per_row], iterator_types = ["parallel", "reduction"]} ins(%pairs, %three : tensor<2050xf32>, tensor<3x2048xf32>) outs(%few : tensor<3xf32>) {
  ^bb0(%each: f32, %times: f32, %so_far: f32):
    %term = arith.mulf %each, %times : f32
    %next = arith.addf %so_far, %term : f32
    linalg.yield %next : f32
  } -> tensor<3xf32>
  return %rows, %places, %window : tensor<200000xf32>, tensor<f32>, tensor<3xf32>
}

// What is no sum, is too short, of a prime number, or reads what it adds to, stays.
// CHECK-LABEL: func.func @others(
// CHECK-NOT:     expand_shape
// CHECK:         return
func.func @others(%x: tensor<1x4096xf32>, %short: tensor<1x1000xf32>, %prime: tensor<1x4099xf32>, %init: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) {
  %most = linalg.generic {indexing_maps = [#all, #none], iterator_types = ["reduction", "reduction"]} ins(%x : tensor<1x4096xf32>) outs(%init : tensor<f32>) {
  ^bb0(%each: f32, %so_far: f32):
    %next = arith.maximumf %each, %so_far : f32
    linalg.yield %next : f32
  } -> tensor<f32>
  %few = linalg.generic {indexing_maps = [#all, #none], iterator_types = ["reduction", "reduction"]} ins(%short : tensor<1x1000xf32>) outs(%init : tensor<f32>) {
  ^bb0(%each: f32, %so_far: f32):
    %next = arith.addf %each, %so_far : f32
    linalg.yield %next : f32
  } -> tensor<f32>
  %whole = linalg.generic {indexing_maps = [#all, #none], iterator_types = ["reduction", "reduction"]} ins(%prime : tensor<1x4099xf32>) outs(%init : tensor<f32>) {
  ^bb0(%each: f32, %so_far: f32):
    %next = arith.addf %each, %so_far : f32
    linalg.yield %next : f32
  } -> tensor<f32>
  %twice = linalg.generic {indexing_maps = [#all, #none], iterator_types = ["reduction", "reduction"]} ins(%x : tensor<1x4096xf32>) outs(%init : tensor<f32>) {
  ^bb0(%each: f32, %so_far: f32):
    %half = arith.mulf %so_far, %each : f32
    %next = arith.addf %half, %so_far : f32
    linalg.yield %next : f32
  } -> tensor<f32>
  return %most, %few, %whole, %twice : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
}
