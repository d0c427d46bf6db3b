// RUN: %cp-opt %s --cp-split-update --split-input-file --verify-diagnostics

// expected-error @below {{split_update_c2: no public function has a step of sums over micro-batches; run cp-accumulate and cp-add-update first, or give the pipeline accumulate and an optimizer}}
module {
  func.func @none(%w: tensor<4xf32>) -> tensor<4xf32> {
    return %w : tensor<4xf32>
  }
}

// -----

module {
  // expected-error @below {{split_update_c3: the step reads 's' as it was in front of the micro-batch, which is no more; use what cp.accumulate gives}}
  func.func @old(%s: tensor<4xf32> {cp.name = "s"}, %g: tensor<4xf32>, %i: tensor<i64>)
      -> (tensor<4xf32> {cp.updates = "s"}, tensor<4xf32>) {
    %0 = cp.accumulate %g into %s at(%i)
        : (tensor<4xf32>, tensor<4xf32>, tensor<i64>) -> tensor<4xf32>
    %1 = arith.subf %0, %s : tensor<4xf32>
    return %0, %1 : tensor<4xf32>, tensor<4xf32>
  }
}

// -----

module {
  // expected-error @below {{split_update_c1: there is a 'f_update' already; rename it}}
  func.func @f(%s: tensor<4xf32> {cp.name = "s"}, %g: tensor<4xf32>, %i: tensor<i64>)
      -> (tensor<4xf32> {cp.updates = "s"}, tensor<4xf32>) {
    %0 = cp.accumulate %g into %s at(%i)
        : (tensor<4xf32>, tensor<4xf32>, tensor<i64>) -> tensor<4xf32>
    %1 = math.absf %0 : tensor<4xf32>
    return %0, %1 : tensor<4xf32>, tensor<4xf32>
  }
  func.func private @f_update()
}
