// RUN: %cp-opt %s --cp-hoist-reductions | FileCheck %s
// RUN: %cp-opt %s --cp-hoist-reductions --cp-hoist-reductions | FileCheck %s

// A sum goes to behind the last op that makes its terms, with the views and the zeros
// that it reads them by, and takes a sum of what it gives along. Those of one op stay
// in their order, and what computes stays where it is.

#mesh = #cp.mesh<"dp" = 2, "cp" = 2>

// CHECK-LABEL: func.func @main(
// CHECK-NEXT:    %[[A:.*]] = math.exp %arg0
// CHECK-NEXT:    %[[ZERO:.*]] = arith.constant dense<0.0
// CHECK-NEXT:    %[[WIDE:.*]] = tensor.insert_slice %[[A]] into %[[ZERO]]
// CHECK-NEXT:    %[[PART:.*]] = cp.reduce_scatter %[[WIDE]] over ["dp"]
// CHECK-NEXT:    %[[SUM:.*]] = cp.all_reduce %[[PART]] over ["cp"]
// CHECK-NEXT:    %[[B:.*]] = math.exp %arg1
// CHECK-NEXT:    %[[FIRST:.*]] = cp.all_reduce %[[B]], %[[A]] over ["cp"]
// CHECK-SAME:    first
// CHECK-NEXT:    cp.all_reduce %[[B]] over ["dp"]
// CHECK-SAME:    second
// CHECK-NEXT:    %[[OTHER:.*]] = cp.all_reduce %arg1
// CHECK-NEXT:    %[[C:.*]] = math.exp %[[B]]
// CHECK-NEXT:    return
func.func @main(%x: tensor<2x8xf32>, %y: tensor<2x8xf32>)
    -> (tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>) {
  %a = math.exp %x : tensor<2x8xf32>
  %b = math.exp %y : tensor<2x8xf32>
  %other = cp.all_reduce %y over ["cp"] of #mesh : tensor<2x8xf32>
  %c = math.exp %b : tensor<2x8xf32>
  %zero = arith.constant dense<0.0> : tensor<4x8xf32>
  %wide = tensor.insert_slice %a into %zero[2, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<4x8xf32>
  %part = cp.reduce_scatter %wide over ["dp"] of #mesh {dim = 0 : i64} : tensor<4x8xf32> -> tensor<2x8xf32>
  %first:2 = cp.all_reduce %b, %a over ["cp"] of #mesh {first} : tensor<2x8xf32>, tensor<2x8xf32>
  %second = cp.all_reduce %b over ["dp"] of #mesh {second} : tensor<2x8xf32>
  %sum = cp.all_reduce %part over ["cp"] of #mesh : tensor<2x8xf32>
  return %sum, %first#0, %second, %other, %c : tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>
}

// What two sums read their terms by goes with the one whose terms are made first.
// CHECK-LABEL: func.func @shared(
// CHECK-NEXT:    %[[B:.*]] = math.exp %arg1
// CHECK-NEXT:    arith.constant
// CHECK-NEXT:    tensor.empty
// CHECK-NEXT:    %[[Z:.*]] = linalg.fill
// CHECK-NEXT:    %[[WB:.*]] = tensor.insert_slice %[[B]] into %[[Z]]
// CHECK-NEXT:    cp.reduce_scatter %[[WB]]
// CHECK-NEXT:    %[[A:.*]] = math.exp %arg0
// CHECK-NEXT:    %[[WA:.*]] = tensor.insert_slice %[[A]] into %[[Z]]
// CHECK-NEXT:    cp.reduce_scatter %[[WA]]
// CHECK-NEXT:    cp.all_reduce %[[A]]
// CHECK-NEXT:    return
func.func @shared(%x: tensor<2x8xf32>, %y: tensor<2x8xf32>)
    -> (tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>) {
  %b = math.exp %y : tensor<2x8xf32>
  %a = math.exp %x : tensor<2x8xf32>
  %f = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4x8xf32>
  %z = linalg.fill ins(%f : f32) outs(%e : tensor<4x8xf32>) -> tensor<4x8xf32>
  %wa = tensor.insert_slice %a into %z[2, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<4x8xf32>
  %r1 = cp.reduce_scatter %wa over ["dp"] of #mesh {dim = 0 : i64} : tensor<4x8xf32> -> tensor<2x8xf32>
  %wb = tensor.insert_slice %b into %z[2, 0] [2, 8] [1, 1] : tensor<2x8xf32> into tensor<4x8xf32>
  %r2 = cp.reduce_scatter %wb over ["dp"] of #mesh {dim = 0 : i64} : tensor<4x8xf32> -> tensor<2x8xf32>
  %r3 = cp.all_reduce %a over ["cp"] of #mesh : tensor<2x8xf32>
  return %r1, %r2, %r3 : tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>
}
