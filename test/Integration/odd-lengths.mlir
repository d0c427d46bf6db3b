// Sums over the tokens of a sequence that ranks do not divide, of each form that
// gets zeros for padding, and tokens shifted up from behind the end.

// RUN: cp-run %s --ranks=4 --check --quiet
// RUN: cp-run %s --ranks=4 --order=zigzag --check --quiet
// RUN: cp-run %s --ranks=3 --order=striped:2 --check --quiet
// RUN: cp-run %s --ranks=4 --trace-tokens | FileCheck %s

// CHECK: 0 with something out of place

func.func @sums(%x: tensor<2x10x4xf64> {cp.sequence = 1 : i64, cp.name = "x"},
    %y: tensor<2x10x3xf64> {cp.sequence = 1 : i64, cp.name = "y"})
    -> (tensor<4x3xf64>, tensor<2x4xf64>, tensor<2x10x4xf64>, tensor<2x10x4xf64>) {
  // Finite in rows of zeros, and not zero: exp(0) and its product.
  %e = math.exp %x : tensor<2x10x4xf64>
  %f = math.exp %y : tensor<2x10x3xf64>
  %zero = arith.constant 0.0 : f64
  %none = tensor.empty() : tensor<4x3xf64>
  %start = linalg.fill ins(%zero : f64) outs(%none : tensor<4x3xf64>) -> tensor<4x3xf64>
  %0 = linalg.contract indexing_maps = [
      affine_map<(b, l, n, k) -> (b, l, n)>, affine_map<(b, l, n, k) -> (b, l, k)>,
      affine_map<(b, l, n, k) -> (n, k)>]
      ins(%e, %f : tensor<2x10x4xf64>, tensor<2x10x3xf64>) outs(%start : tensor<4x3xf64>)
      -> tensor<4x3xf64>
  %none_1 = tensor.empty() : tensor<2x4xf64>
  %start_1 = linalg.fill ins(%zero : f64) outs(%none_1 : tensor<2x4xf64>) -> tensor<2x4xf64>
  %1 = linalg.reduce {arith.addf} ins(%e : tensor<2x10x4xf64>) outs(%start_1 : tensor<2x4xf64>)
      dimensions = [1]
  %seven = arith.constant dense<7.0> : tensor<2x3x4xf64>
  %2 = cp.shift_tokens %e then %seven : tensor<2x10x4xf64>, tensor<2x3x4xf64>
  %3 = cp.shift_tokens %e then %seven {delay} : tensor<2x10x4xf64>, tensor<2x3x4xf64>
  return %0, %1, %2, %3
      : tensor<4x3xf64>, tensor<2x4xf64>, tensor<2x10x4xf64>, tensor<2x10x4xf64>
}
