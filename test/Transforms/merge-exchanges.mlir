// RUN: %cp-opt %s --cp-merge-exchanges | FileCheck %s

#mesh = #cp.mesh<"cp" = 2, "tp" = 2>

// What the later exchange needs is moved before the first; attributes that only
// one of them has are filled in for the other.

// CHECK-LABEL: func.func @all_to_all(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<1x8x8xf32>, %[[B:[a-z0-9]+]]: tensor<1x8x4xf32>)
// CHECK-NEXT:    %[[E:.*]] = math.exp %[[B]]
// CHECK-NEXT:    %[[R:.*]]:2 = cp.all_to_all %[[X]], %[[E]] over ["cp"] of #mesh {concat_cuts = [#cp.cut<"cp" zigzag>, #cp.cut<"cp">], concat_dims = array<i64: 1, 1>, repeat_units = array<i64: 1, 4>, repeats = array<i64: 1, 2>, split_dims = array<i64: 2, 2>}
// CHECK-SAME:      : (tensor<1x8x8xf32>, tensor<1x8x4xf32>) -> (tensor<1x16x4xf32>, tensor<1x16x4xf32>)
// CHECK-NEXT:    %[[F:.*]] = math.exp %[[R]]#0
// CHECK-NEXT:    arith.addf %[[F]], %[[R]]#1
func.func @all_to_all(%x: tensor<1x8x8xf32>, %b: tensor<1x8x4xf32>)
    -> tensor<1x16x4xf32> attributes {cp.view = "local"} {
  %0 = cp.all_to_all %x over ["cp"] of #mesh
      {concat_dims = array<i64: 1>, split_dims = array<i64: 2>,
       concat_cuts = [#cp.cut<"cp" zigzag>]}
      : (tensor<1x8x8xf32>) -> tensor<1x16x4xf32>
  %1 = math.exp %0 : tensor<1x16x4xf32>
  %2 = math.exp %b : tensor<1x8x4xf32>
  %3 = cp.all_to_all %2 over ["cp"] of #mesh
      {concat_dims = array<i64: 1>, split_dims = array<i64: 2>,
       repeats = array<i64: 2>, repeat_units = array<i64: 4>}
      : (tensor<1x8x4xf32>) -> tensor<1x16x4xf32>
  %4 = arith.addf %1, %3 : tensor<1x16x4xf32>
  return %4 : tensor<1x16x4xf32>
}

// Three become one; plain attributes stay away.

// CHECK-LABEL: func.func @three(
// CHECK:         %[[R:.*]]:3 = cp.all_to_all %{{.*}}, %{{.*}}, %{{.*}} over ["cp"] of #mesh {concat_dims = array<i64: 1, 1, 2>, split_dims = array<i64: 2, 2, 1>}
// CHECK-NEXT:    return %[[R]]#0, %[[R]]#1, %[[R]]#2
func.func @three(%x: tensor<1x8x8xf32>, %y: tensor<1x8x4xf32>,
                 %z: tensor<1x16x4xf32>)
    -> (tensor<1x16x4xf32>, tensor<1x16x2xf32>, tensor<1x8x8xf32>)
    attributes {cp.view = "local"} {
  %0 = cp.all_to_all %x over ["cp"] of #mesh
      {concat_dims = array<i64: 1>, split_dims = array<i64: 2>}
      : (tensor<1x8x8xf32>) -> tensor<1x16x4xf32>
  %1 = cp.all_to_all %y over ["cp"] of #mesh
      {concat_dims = array<i64: 1>, split_dims = array<i64: 2>}
      : (tensor<1x8x4xf32>) -> tensor<1x16x2xf32>
  %2 = cp.all_to_all %z over ["cp"] of #mesh
      {concat_dims = array<i64: 2>, split_dims = array<i64: 1>}
      : (tensor<1x16x4xf32>) -> tensor<1x8x8xf32>
  return %0, %1, %2
      : tensor<1x16x4xf32>, tensor<1x16x2xf32>, tensor<1x8x8xf32>
}

// An exchange that needs the result of another cannot join it; a third one joins
// the latest that it does not need.

// CHECK-LABEL: func.func @dependent(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<1x8x8xf32>, %[[Y:[a-z0-9]+]]: tensor<1x16x4xf32>)
// CHECK-NEXT:    %[[A:.*]] = cp.all_to_all %[[X]] over
// CHECK-NEXT:    %[[E:.*]] = math.exp %[[A]]
// CHECK-NEXT:    %[[B:.*]]:2 = cp.all_to_all %[[E]], %[[Y]] over
// CHECK-NEXT:    return %[[B]]#0, %[[B]]#1
func.func @dependent(%x: tensor<1x8x8xf32>, %y: tensor<1x16x4xf32>)
    -> (tensor<1x8x8xf32>, tensor<1x8x8xf32>) attributes {cp.view = "local"} {
  %0 = cp.all_to_all %x over ["cp"] of #mesh
      {concat_dims = array<i64: 1>, split_dims = array<i64: 2>}
      : (tensor<1x8x8xf32>) -> tensor<1x16x4xf32>
  %1 = math.exp %0 : tensor<1x16x4xf32>
  %2 = cp.all_to_all %1 over ["cp"] of #mesh
      {concat_dims = array<i64: 2>, split_dims = array<i64: 1>}
      : (tensor<1x16x4xf32>) -> tensor<1x8x8xf32>
  %3 = cp.all_to_all %y over ["cp"] of #mesh
      {concat_dims = array<i64: 2>, split_dims = array<i64: 1>}
      : (tensor<1x16x4xf32>) -> tensor<1x8x8xf32>
  return %2, %3 : tensor<1x8x8xf32>, tensor<1x8x8xf32>
}

// Other groups are other routes.

// CHECK-LABEL: func.func @groups(
// CHECK:         cp.all_to_all %{{[a-z0-9]+}} over ["cp"]
// CHECK-NEXT:    cp.all_to_all %{{[a-z0-9]+}} over ["tp"]
func.func @groups(%x: tensor<1x8x8xf32>)
    -> (tensor<1x16x4xf32>, tensor<1x16x4xf32>) attributes {cp.view = "local"} {
  %0 = cp.all_to_all %x over ["cp"] of #mesh
      {concat_dims = array<i64: 1>, split_dims = array<i64: 2>}
      : (tensor<1x8x8xf32>) -> tensor<1x16x4xf32>
  %1 = cp.all_to_all %x over ["tp"] of #mesh
      {concat_dims = array<i64: 1>, split_dims = array<i64: 2>}
      : (tensor<1x8x8xf32>) -> tensor<1x16x4xf32>
  return %0, %1 : tensor<1x16x4xf32>, tensor<1x16x4xf32>
}

// Halos of one length merge, with their initial rows; one without any, or of
// another length, travels by itself.

// CHECK-LABEL: func.func @halos(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<1x8x8xf32>, %[[Y:[a-z0-9]+]]: tensor<1x8x4xf32>,
// CHECK-SAME:    %[[I:[a-z0-9]+]]: tensor<1x3x8xf32>, %[[J:[a-z0-9]+]]: tensor<1x3x4xf32>)
// CHECK-NEXT:    %[[H:.*]]:2 = cp.halo %[[X]], %[[Y]] initial(%[[I]], %[[J]]) over ["cp"] of #mesh {before = 3 : i64, dim = 1 : i64}
// CHECK-NEXT:    %[[N:.*]] = cp.halo %[[X]] over ["cp"] of #mesh {before = 3 : i64, dim = 1 : i64}
// CHECK-NEXT:    %[[S:.*]] = cp.halo %[[X]] over ["cp"] of #mesh {before = 1 : i64, dim = 1 : i64}
// CHECK-NEXT:    return %[[H]]#0, %[[N]], %[[S]], %[[H]]#1
func.func @halos(%x: tensor<1x8x8xf32>, %y: tensor<1x8x4xf32>,
                 %i: tensor<1x3x8xf32>, %j: tensor<1x3x4xf32>)
    -> (tensor<1x3x8xf32>, tensor<1x3x8xf32>, tensor<1x1x8xf32>,
        tensor<1x3x4xf32>) attributes {cp.view = "local"} {
  %0 = cp.halo %x initial(%i) over ["cp"] of #mesh {dim = 1, before = 3}
      : (tensor<1x8x8xf32>, tensor<1x3x8xf32>) -> tensor<1x3x8xf32>
  %1 = cp.halo %x over ["cp"] of #mesh {dim = 1, before = 3}
      : (tensor<1x8x8xf32>) -> tensor<1x3x8xf32>
  %2 = cp.halo %x over ["cp"] of #mesh {dim = 1, before = 1}
      : (tensor<1x8x8xf32>) -> tensor<1x1x8xf32>
  %3 = cp.halo %y initial(%j) over ["cp"] of #mesh {dim = 1, before = 3}
      : (tensor<1x8x4xf32>, tensor<1x3x4xf32>) -> tensor<1x3x4xf32>
  return %0, %1, %2, %3 : tensor<1x3x8xf32>, tensor<1x3x8xf32>,
                          tensor<1x1x8xf32>, tensor<1x3x4xf32>
}

// CHECK-LABEL: func.func @striped(
// CHECK:         cp.all_to_all %{{.*}}, %{{.*}} over ["cp"] of #mesh {concat_cuts = [#cp.cut<"cp">, #cp.cut<"cp" striped : 2>], concat_dims = array<i64: 1, 1>, split_dims = array<i64: 2, 2>}
func.func @striped(%x: tensor<1x8x8xf32>, %b: tensor<1x8x8xf32>)
    -> tensor<1x16x4xf32> attributes {cp.view = "local"} {
  %0 = cp.all_to_all %x over ["cp"] of #mesh
      {concat_dims = array<i64: 1>, split_dims = array<i64: 2>}
      : (tensor<1x8x8xf32>) -> tensor<1x16x4xf32>
  %1 = cp.all_to_all %b over ["cp"] of #mesh
      {concat_dims = array<i64: 1>, split_dims = array<i64: 2>,
       concat_cuts = [#cp.cut<"cp" striped : 2>]}
      : (tensor<1x8x8xf32>) -> tensor<1x16x4xf32>
  %2 = arith.addf %0, %1 : tensor<1x16x4xf32>
  return %2 : tensor<1x16x4xf32>
}

// Halos in different orders travel apart.

// CHECK-LABEL: func.func @halos_of_two_orders(
// CHECK-COUNT-2: cp.halo
func.func @halos_of_two_orders(%x: tensor<1x8x8xf32>)
    -> (tensor<1x2x8xf32>, tensor<1x4x8xf32>) attributes {cp.view = "local"} {
  %0 = cp.halo %x over ["cp"] of #mesh {dim = 1, before = 2}
      : (tensor<1x8x8xf32>) -> tensor<1x2x8xf32>
  %1 = cp.halo %x over ["cp" zigzag] of #mesh {dim = 1, before = 2}
      : (tensor<1x8x8xf32>) -> tensor<1x4x8xf32>
  return %0, %1 : tensor<1x2x8xf32>, tensor<1x4x8xf32>
}

// CHECK-LABEL: func.func @zigzag_halos(
// CHECK:         cp.halo %{{.*}}, %{{.*}} over ["cp" zigzag] of #mesh {before = 2 : i64, dim = 1 : i64}
// CHECK-NOT:     cp.halo
func.func @zigzag_halos(%x: tensor<1x8x8xf32>, %y: tensor<1x8x4xf32>)
    -> (tensor<1x4x8xf32>, tensor<1x4x4xf32>) attributes {cp.view = "local"} {
  %0 = cp.halo %x over ["cp" zigzag] of #mesh {dim = 1, before = 2}
      : (tensor<1x8x8xf32>) -> tensor<1x4x8xf32>
  %1 = cp.halo %y over ["cp" zigzag] of #mesh {dim = 1, before = 2}
      : (tensor<1x8x4xf32>) -> tensor<1x4x4xf32>
  return %0, %1 : tensor<1x4x8xf32>, tensor<1x4x4xf32>
}

// Sums over one group travel together, of any type; those of another group do
// not.

// CHECK-LABEL: func.func @sums(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<8xf32>, %[[Y:[a-z0-9]+]]: tensor<2x4xf64>)
// CHECK-NEXT:    %[[R:.*]]:2 = cp.all_reduce %[[X]], %[[Y]] over ["cp"] of #mesh : tensor<8xf32>, tensor<2x4xf64>
// CHECK-NEXT:    %[[T:.*]] = cp.all_reduce %[[X]] over ["tp"] of #mesh : tensor<8xf32>
// CHECK-NEXT:    return %[[R]]#0, %[[T]], %[[R]]#1
func.func @sums(%x: tensor<8xf32>, %y: tensor<2x4xf64>)
    -> (tensor<8xf32>, tensor<8xf32>, tensor<2x4xf64>)
    attributes {cp.view = "local"} {
  %0 = cp.all_reduce %x over ["cp"] of #mesh : tensor<8xf32>
  %1 = cp.all_reduce %x over ["tp"] of #mesh : tensor<8xf32>
  %2 = cp.all_reduce %y over ["cp"] of #mesh : tensor<2x4xf64>
  return %0, %1, %2 : tensor<8xf32>, tensor<8xf32>, tensor<2x4xf64>
}

// Along one dimension of each, by one cut: keys and values that all queries meet, and
// their cotangents on the way back.

// CHECK-LABEL: func.func @keys(
// CHECK:         %[[G:.*]]:2 = cp.all_gather %{{.*}}, %{{.*}} over ["cp" zigzag] of #mesh {dim = 1 : i64}
// CHECK-SAME:      : tensor<1x8x2xf32>, tensor<1x8x4xbf16> -> tensor<1x16x2xf32>, tensor<1x16x4xbf16>
// CHECK-NEXT:    cp.all_gather %{{.*}} over ["cp"] of #mesh {dim = 1 : i64}
// CHECK-NEXT:    cp.all_gather %{{.*}} over ["cp" zigzag] of #mesh {dim = 1 : i64, grad_scale = "up"}
// CHECK-NEXT:    %[[S:.*]]:2 = cp.reduce_scatter %[[G]]#0, %[[G]]#1 over ["cp" zigzag] of #mesh {dim = 1 : i64}
// CHECK-NEXT:    return %[[S]]#0, %[[S]]#1,
func.func @keys(%k: tensor<1x8x2xf32>, %v: tensor<1x8x4xbf16>)
    -> (tensor<1x8x2xf32>, tensor<1x8x4xbf16>, tensor<1x16x2xf32>, tensor<1x16x2xf32>)
    attributes {cp.view = "local"} {
  %0 = cp.all_gather %k over ["cp" zigzag] of #mesh {dim = 1}
      : tensor<1x8x2xf32> -> tensor<1x16x2xf32>
  %1 = cp.all_gather %k over ["cp"] of #mesh {dim = 1}
      : tensor<1x8x2xf32> -> tensor<1x16x2xf32>
  %2 = cp.all_gather %v over ["cp" zigzag] of #mesh {dim = 1}
      : tensor<1x8x4xbf16> -> tensor<1x16x4xbf16>
  %3 = cp.all_gather %k over ["cp" zigzag] of #mesh {dim = 1, grad_scale = "up"}
      : tensor<1x8x2xf32> -> tensor<1x16x2xf32>
  %4 = cp.reduce_scatter %0 over ["cp" zigzag] of #mesh {dim = 1}
      : tensor<1x16x2xf32> -> tensor<1x8x2xf32>
  %5 = cp.reduce_scatter %2 over ["cp" zigzag] of #mesh {dim = 1}
      : tensor<1x16x4xbf16> -> tensor<1x8x4xbf16>
  return %4, %5, %1, %3
      : tensor<1x8x2xf32>, tensor<1x8x4xbf16>, tensor<1x16x2xf32>, tensor<1x16x2xf32>
}
