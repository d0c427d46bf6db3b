// RUN: %cp-opt %s --cp-simplify-reshards | FileCheck %s

#mesh = #cp.mesh<"cp" = 4>
#whole = #cp.layout<#mesh, [{}, {}, {}]>
#rows = #cp.layout<#mesh, [{}, {"cp"}, {}]>
#columns = #cp.layout<#mesh, [{}, {}, {"cp"}]>
#terms = #cp.layout<#mesh, [{}, {}, {}], partial = {"cp"}>

// CHECK-DAG: #[[$WHOLE:.*]] = #cp.layout<#mesh, [{}, {}, {}]>
// CHECK-DAG: #[[$ROWS:.*]] = #cp.layout<#mesh, [{}, {"cp"}, {}]>
// CHECK-DAG: #[[$COLUMNS:.*]] = #cp.layout<#mesh, [{}, {}, {"cp"}]>
// CHECK-DAG: #[[$TERMS:.*]] = #cp.layout<#mesh, [{}, {}, {}], partial = {"cp"}>

// There and back again is nothing.

// CHECK-LABEL: func.func @back(
// CHECK-SAME:    %[[X:.*]]: tensor<1x16x8xf32, #[[$ROWS]]>)
// CHECK-NEXT:    return %[[X]]
func.func @back(%x: tensor<1x16x8xf32, #rows>) -> tensor<1x16x8xf32, #rows>
    attributes {cp.view = "global"} {
  %0 = cp.reshard %x : tensor<1x16x8xf32, #rows> to tensor<1x16x8xf32, #columns>
  %1 = cp.reshard %0 : tensor<1x16x8xf32, #columns> to tensor<1x16x8xf32, #rows>
  return %1 : tensor<1x16x8xf32, #rows>
}

// A detour is left out.

// CHECK-LABEL: func.func @detour(
// CHECK-SAME:    %[[X:.*]]: tensor<1x16x8xf32, #[[$WHOLE]]>)
// CHECK-NEXT:    %[[R:.*]] = cp.reshard %[[X]] : tensor<1x16x8xf32, #[[$WHOLE]]> to tensor<1x16x8xf32, #[[$COLUMNS]]>
// CHECK-NEXT:    return %[[R]]
func.func @detour(%x: tensor<1x16x8xf32, #whole>)
    -> tensor<1x16x8xf32, #columns> attributes {cp.view = "global"} {
  %0 = cp.reshard %x : tensor<1x16x8xf32, #whole> to tensor<1x16x8xf32, #rows>
  %1 = cp.reshard %0 : tensor<1x16x8xf32, #rows> to tensor<1x16x8xf32, #whole>
  %2 = cp.reshard %1 : tensor<1x16x8xf32, #whole> to tensor<1x16x8xf32, #columns>
  return %2 : tensor<1x16x8xf32, #columns>
}

// A reshard with another use stays for that use; the second one starts at the
// first layout.

// CHECK-LABEL: func.func @shared(
// CHECK-SAME:    %[[X:.*]]: tensor<1x16x8xf32, #[[$ROWS]]>)
// CHECK-NEXT:    %[[A:.*]] = cp.reshard %[[X]] : tensor<1x16x8xf32, #[[$ROWS]]> to tensor<1x16x8xf32, #[[$COLUMNS]]>
// CHECK-NEXT:    %[[B:.*]] = cp.reshard %[[X]] : tensor<1x16x8xf32, #[[$ROWS]]> to tensor<1x16x8xf32, #[[$WHOLE]]>
// CHECK-NEXT:    return %[[A]], %[[B]]
func.func @shared(%x: tensor<1x16x8xf32, #rows>)
    -> (tensor<1x16x8xf32, #columns>, tensor<1x16x8xf32, #whole>)
    attributes {cp.view = "global"} {
  %0 = cp.reshard %x : tensor<1x16x8xf32, #rows> to tensor<1x16x8xf32, #columns>
  %1 = cp.reshard %0 : tensor<1x16x8xf32, #columns> to tensor<1x16x8xf32, #whole>
  return %0, %1 : tensor<1x16x8xf32, #columns>, tensor<1x16x8xf32, #whole>
}

// Parts that were made terms are added up with others, and not gathered.

// CHECK-LABEL: func.func @terms(
// CHECK-SAME:    %[[X:.*]]: tensor<1x16x8xf32, #[[$ROWS]]>)
// CHECK-NEXT:    %[[T:.*]] = cp.reshard %[[X]] : {{.*}} to tensor<1x16x8xf32, #[[$TERMS]]>
// CHECK-NEXT:    %[[S:.*]] = cp.reshard %[[T]] : {{.*}} to tensor<1x16x8xf32, #[[$WHOLE]]>
// CHECK-NEXT:    %[[C:.*]] = cp.reshard %[[X]] : {{.*}} to tensor<1x16x8xf32, #[[$COLUMNS]]>
// CHECK-NEXT:    return %[[S]], %[[C]], %[[X]]
func.func @terms(%x: tensor<1x16x8xf32, #rows>)
    -> (tensor<1x16x8xf32, #whole>, tensor<1x16x8xf32, #columns>,
        tensor<1x16x8xf32, #rows>) attributes {cp.view = "global"} {
  %0 = cp.reshard %x : tensor<1x16x8xf32, #rows> to tensor<1x16x8xf32, #terms>
  %1 = cp.reshard %0 : tensor<1x16x8xf32, #terms> to tensor<1x16x8xf32, #whole>
  %2 = cp.reshard %0 : tensor<1x16x8xf32, #terms> to tensor<1x16x8xf32, #columns>
  %3 = cp.reshard %0 : tensor<1x16x8xf32, #terms> to tensor<1x16x8xf32, #rows>
  return %1, %2, %3 : tensor<1x16x8xf32, #whole>, tensor<1x16x8xf32, #columns>,
      tensor<1x16x8xf32, #rows>
}

// No other op is folded or canonicalised: upstream patterns may drop layouts.

// CHECK-LABEL: func.func @others(
// CHECK:         tensor.extract_slice
// CHECK-NEXT:    arith.mulf
// CHECK-NEXT:    return
func.func @others(%x: tensor<1x16x8xf32, #rows>) -> tensor<1x16x8xf32, #rows>
    attributes {cp.view = "global"} {
  %0 = tensor.extract_slice %x[0, 0, 0] [1, 16, 8] [1, 1, 1]
      : tensor<1x16x8xf32, #rows> to tensor<1x16x8xf32, #rows>
  %1 = arith.mulf %0, %0 : tensor<1x16x8xf32, #rows>
  return %0 : tensor<1x16x8xf32, #rows>
}

// -----

// Of bridges each two may have common parts where the ends have none.

#a = #cp.layout<#cp.mesh<"b" = 4, "c" = 3>, [{"b"}]>
#b = #cp.layout<#cp.mesh<"a" = 12>, [{}]>
#c = #cp.layout<#cp.mesh<"d" = 3, "e" = 4>, [{"d"}]>
// CHECK-LABEL: func.func @bridges(
// CHECK-COUNT-2: cp.reshard
func.func @bridges(%x: tensor<12xf32, #a>) -> tensor<12xf32, #c> {
  %0 = cp.reshard %x : tensor<12xf32, #a> to tensor<12xf32, #b>
  %1 = cp.reshard %0 : tensor<12xf32, #b> to tensor<12xf32, #c>
  return %1 : tensor<12xf32, #c>
}
