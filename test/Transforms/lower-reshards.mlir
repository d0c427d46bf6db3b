// RUN: %cp-opt %s --cp-lower-reshards | FileCheck %s

#mesh = #cp.mesh<"a" = 2, "b" = 2>
#whole = #cp.layout<#mesh, [{}, {}, {}]>
#rows = #cp.layout<#mesh, [{}, {"a"}, {}]>
#rows2 = #cp.layout<#mesh, [{}, {"a", "b"}, {}]>
#columns = #cp.layout<#mesh, [{}, {}, {"a"}]>
#columns2 = #cp.layout<#mesh, [{}, {}, {"a", "b"}]>
#zrows = #cp.layout<#mesh, [{}, {"a" zigzag}, {}]>
#zcolumns = #cp.layout<#mesh, [{}, {}, {"a" zigzag}]>
#srows = #cp.layout<#mesh, [{}, {"a" striped}, {}]>
#srows2 = #cp.layout<#mesh, [{}, {"a" striped : 2}, {}]>
#scolumns = #cp.layout<#mesh, [{}, {}, {"a" striped}]>
#sum = #cp.layout<#mesh, [{}, {}, {}], partial = {"a"}>
#sum2 = #cp.layout<#mesh, [{}, {}, {}], partial = {"a", "b"}>
#grid = #cp.layout<#mesh, [{}, {"a"}, {"b"}]>
#turned = #cp.layout<#mesh, [{}, {"b"}, {"a"}]>

// CHECK-LABEL: func.func @all_to_all(
// CHECK-NEXT:    cp.all_to_all %{{.*}} over ["a"] of #mesh {concat_dims = array<i64: 1>, split_dims = array<i64: 2>} : (tensor<1x8x8xf32>) -> tensor<1x16x4xf32>
// CHECK-NEXT:    return
func.func @all_to_all(%x: tensor<1x8x8xf32>) -> tensor<1x16x4xf32>
    attributes {cp.view = "local"} {
  %0 = cp.reshard %x from #rows to #columns
      : tensor<1x8x8xf32> to tensor<1x16x4xf32>
  return %0 : tensor<1x16x4xf32>
}

// Cuts by two axes travel at once.

// CHECK-LABEL: func.func @all_to_all_two_axes(
// CHECK-NEXT:    cp.all_to_all %{{.*}} over ["a", "b"] of #mesh {concat_dims = array<i64: 1>, split_dims = array<i64: 2>} : (tensor<1x4x8xf32>) -> tensor<1x16x2xf32>
// CHECK-NEXT:    return
func.func @all_to_all_two_axes(%x: tensor<1x4x8xf32>) -> tensor<1x16x2xf32>
    attributes {cp.view = "local"} {
  %0 = cp.reshard %x from #rows2 to #columns2
      : tensor<1x4x8xf32> to tensor<1x16x2xf32>
  return %0 : tensor<1x16x2xf32>
}

// The copies of the exchange itself undo and make a zigzag order.

// CHECK-LABEL: func.func @all_to_all_zigzag(
// CHECK-NEXT:    cp.all_to_all %{{.*}} over ["a"] of #mesh {concat_cuts = [#cp.cut<"a" zigzag>], concat_dims = array<i64: 1>, split_cuts = [#cp.cut<"a" zigzag>], split_dims = array<i64: 2>}
// CHECK-NEXT:    return
func.func @all_to_all_zigzag(%x: tensor<1x8x8xf32>) -> tensor<1x16x4xf32>
    attributes {cp.view = "local"} {
  %0 = cp.reshard %x from #zrows to #zcolumns
      : tensor<1x8x8xf32> to tensor<1x16x4xf32>
  return %0 : tensor<1x16x4xf32>
}

// CHECK-LABEL: func.func @to_zigzag(
// CHECK-NEXT:    cp.reorder %{{.*}} from ["a"] to ["a" zigzag] of #mesh {dim = 1 : i64} : tensor<1x8x8xf32>
// CHECK-NEXT:    return
func.func @to_zigzag(%x: tensor<1x8x8xf32>) -> tensor<1x8x8xf32>
    attributes {cp.view = "local"} {
  %0 = cp.reshard %x from #rows to #zrows
      : tensor<1x8x8xf32> to tensor<1x8x8xf32>
  return %0 : tensor<1x8x8xf32>
}

// CHECK-LABEL: func.func @from_zigzag(
// CHECK-NEXT:    cp.reorder %{{.*}} from ["a" zigzag] to ["a"] of {{.*}} {dim = 1 : i64}
// CHECK-NEXT:    return
func.func @from_zigzag(%x: tensor<1x8x8xf32>) -> tensor<1x8x8xf32>
    attributes {cp.view = "local"} {
  %0 = cp.reshard %x from #zrows to #rows
      : tensor<1x8x8xf32> to tensor<1x8x8xf32>
  return %0 : tensor<1x8x8xf32>
}

// Striped cuts are named by their units.

// CHECK-LABEL: func.func @to_striped(
// CHECK-NEXT:    cp.reorder %{{.*}} from ["a"] to ["a" striped] of #mesh {dim = 1 : i64} : tensor<1x8x8xf32>
// CHECK-NEXT:    return
func.func @to_striped(%x: tensor<1x8x8xf32>) -> tensor<1x8x8xf32>
    attributes {cp.view = "local"} {
  %0 = cp.reshard %x from #rows to #srows
      : tensor<1x8x8xf32> to tensor<1x8x8xf32>
  return %0 : tensor<1x8x8xf32>
}

// CHECK-LABEL: func.func @from_striped(
// CHECK-NEXT:    cp.reorder %{{.*}} from ["a" striped : 2] to ["a" zigzag] of #mesh {dim = 1 : i64} : tensor<1x8x8xf32>
// CHECK-NEXT:    return
func.func @from_striped(%x: tensor<1x8x8xf32>) -> tensor<1x8x8xf32>
    attributes {cp.view = "local"} {
  %0 = cp.reshard %x from #srows2 to #zrows
      : tensor<1x8x8xf32> to tensor<1x8x8xf32>
  return %0 : tensor<1x8x8xf32>
}

// CHECK-LABEL: func.func @other_stripes(
// CHECK-NEXT:    cp.reorder %{{.*}} from ["a" striped] to ["a" striped : 2] of #mesh {dim = 1 : i64} : tensor<1x8x8xf32>
// CHECK-NEXT:    return
func.func @other_stripes(%x: tensor<1x8x8xf32>) -> tensor<1x8x8xf32>
    attributes {cp.view = "local"} {
  %0 = cp.reshard %x from #srows to #srows2
      : tensor<1x8x8xf32> to tensor<1x8x8xf32>
  return %0 : tensor<1x8x8xf32>
}

// CHECK-LABEL: func.func @gather_striped(
// CHECK-NEXT:    cp.all_gather %{{.*}} over ["a" striped : 2] of #mesh {dim = 1 : i64} : tensor<1x8x8xf32> -> tensor<1x16x8xf32>
// CHECK-NEXT:    return
func.func @gather_striped(%x: tensor<1x8x8xf32>) -> tensor<1x16x8xf32>
    attributes {cp.view = "local"} {
  %0 = cp.reshard %x from #srows2 to #whole
      : tensor<1x8x8xf32> to tensor<1x16x8xf32>
  return %0 : tensor<1x16x8xf32>
}

// CHECK-LABEL: func.func @slice_striped(
// CHECK-NEXT:    cp.slice %{{.*}} over ["a" striped : 2] of #mesh {dim = 1 : i64} : tensor<1x16x8xf32> -> tensor<1x8x8xf32>
// CHECK-NEXT:    return
func.func @slice_striped(%x: tensor<1x16x8xf32>) -> tensor<1x8x8xf32>
    attributes {cp.view = "local"} {
  %0 = cp.reshard %x from #whole to #srows2
      : tensor<1x16x8xf32> to tensor<1x8x8xf32>
  return %0 : tensor<1x8x8xf32>
}

// CHECK-LABEL: func.func @all_to_all_striped(
// CHECK-NEXT:    cp.all_to_all %{{.*}} over ["a"] of #mesh {concat_cuts = [#cp.cut<"a" striped : 2>], concat_dims = array<i64: 1>, split_cuts = [#cp.cut<"a" striped>], split_dims = array<i64: 2>} : (tensor<1x8x8xf32>) -> tensor<1x16x4xf32>
// CHECK-NEXT:    return
func.func @all_to_all_striped(%x: tensor<1x8x8xf32>) -> tensor<1x16x4xf32>
    attributes {cp.view = "local"} {
  %0 = cp.reshard %x from #srows2 to #scolumns
      : tensor<1x8x8xf32> to tensor<1x16x4xf32>
  return %0 : tensor<1x16x4xf32>
}

// CHECK-LABEL: func.func @scatter_striped(
// CHECK-NEXT:    cp.reduce_scatter %{{.*}} over ["a" striped : 2] of #mesh {dim = 1 : i64} : tensor<1x16x8xf32> -> tensor<1x8x8xf32>
// CHECK-NEXT:    return
func.func @scatter_striped(%x: tensor<1x16x8xf32>) -> tensor<1x8x8xf32>
    attributes {cp.view = "local"} {
  %0 = cp.reshard %x from #sum to #srows2
      : tensor<1x16x8xf32> to tensor<1x8x8xf32>
  return %0 : tensor<1x8x8xf32>
}

// CHECK-LABEL: func.func @gather(
// CHECK-NEXT:    cp.all_gather %{{.*}} over ["a", "b"] of #mesh {dim = 1 : i64} : tensor<1x4x8xf32> -> tensor<1x16x8xf32>
// CHECK-NEXT:    return
func.func @gather(%x: tensor<1x4x8xf32>) -> tensor<1x16x8xf32>
    attributes {cp.view = "local"} {
  %0 = cp.reshard %x from #rows2 to #whole
      : tensor<1x4x8xf32> to tensor<1x16x8xf32>
  return %0 : tensor<1x16x8xf32>
}

// CHECK-LABEL: func.func @gather_zigzag(
// CHECK-NEXT:    cp.all_gather %{{.*}} over ["a" zigzag] of #mesh {dim = 1 : i64}
func.func @gather_zigzag(%x: tensor<1x8x8xf32>) -> tensor<1x16x8xf32>
    attributes {cp.view = "local"} {
  %0 = cp.reshard %x from #zrows to #whole
      : tensor<1x8x8xf32> to tensor<1x16x8xf32>
  return %0 : tensor<1x16x8xf32>
}

// CHECK-LABEL: func.func @slice(
// CHECK-NEXT:    cp.slice %{{.*}} over ["a", "b"] of #mesh {dim = 2 : i64} : tensor<1x16x8xf32> -> tensor<1x16x2xf32>
// CHECK-NEXT:    return
func.func @slice(%x: tensor<1x16x8xf32>) -> tensor<1x16x2xf32>
    attributes {cp.view = "local"} {
  %0 = cp.reshard %x from #whole to #columns2
      : tensor<1x16x8xf32> to tensor<1x16x2xf32>
  return %0 : tensor<1x16x2xf32>
}

// CHECK-LABEL: func.func @slice_zigzag(
// CHECK-NEXT:    cp.slice %{{.*}} over ["a" zigzag] of #mesh {dim = 1 : i64}
func.func @slice_zigzag(%x: tensor<1x16x8xf32>) -> tensor<1x8x8xf32>
    attributes {cp.view = "local"} {
  %0 = cp.reshard %x from #whole to #zrows
      : tensor<1x16x8xf32> to tensor<1x8x8xf32>
  return %0 : tensor<1x8x8xf32>
}

// CHECK-LABEL: func.func @all_reduce(
// CHECK-NEXT:    cp.all_reduce %{{.*}} over ["a", "b"] of #mesh : tensor<1x16x8xf32>
// CHECK-NEXT:    return
func.func @all_reduce(%x: tensor<1x16x8xf32>) -> tensor<1x16x8xf32>
    attributes {cp.view = "local"} {
  %0 = cp.reshard %x from #sum2 to #whole
      : tensor<1x16x8xf32> to tensor<1x16x8xf32>
  return %0 : tensor<1x16x8xf32>
}

// CHECK-LABEL: func.func @reduce_scatter(
// CHECK-NEXT:    cp.reduce_scatter %{{.*}} over ["a"] of #mesh {dim = 1 : i64} : tensor<1x16x8xf32> -> tensor<1x8x8xf32>
// CHECK-NEXT:    return
func.func @reduce_scatter(%x: tensor<1x16x8xf32>) -> tensor<1x8x8xf32>
    attributes {cp.view = "local"} {
  %0 = cp.reshard %x from #sum to #rows
      : tensor<1x16x8xf32> to tensor<1x8x8xf32>
  return %0 : tensor<1x8x8xf32>
}

// One sum is scattered, the other added up: two steps.

// CHECK-LABEL: func.func @mixed_sums(
// CHECK:         %[[R:.*]] = cp.{{all_reduce|reduce_scatter}} %{{.*}} over ["{{a|b}}"]
// CHECK-NEXT:    %[[S:.*]] = cp.{{all_reduce|reduce_scatter}} %[[R]] over ["{{a|b}}"]
// CHECK-NEXT:    return %[[S]] : tensor<1x8x8xf32>
func.func @mixed_sums(%x: tensor<1x16x8xf32>) -> tensor<1x8x8xf32>
    attributes {cp.view = "local"} {
  %0 = cp.reshard %x from #sum2 to #rows
      : tensor<1x16x8xf32> to tensor<1x8x8xf32>
  return %0 : tensor<1x8x8xf32>
}

// Two axes that change places go through a third dimension or a gather; the
// result has the shape of the part.

// CHECK-LABEL: func.func @turn(
// CHECK-NOT:     cp.reshard
// CHECK:         return %{{.*}} : tensor<1x8x4xf32>
func.func @turn(%x: tensor<1x8x4xf32>) -> tensor<1x8x4xf32>
    attributes {cp.view = "local"} {
  %0 = cp.reshard %x from #grid to #turned
      : tensor<1x8x4xf32> to tensor<1x8x4xf32>
  return %0 : tensor<1x8x4xf32>
}

// An exchange that splits a repeated dimension reads the source of the repeat.

// CHECK-LABEL: func.func @repeated(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<1x8x4xf32>
// CHECK-NEXT:    cp.all_to_all %[[X]] over ["a"] of #mesh {concat_dims = array<i64: 1>, repeat_units = array<i64: 4>, repeats = array<i64: 2>, split_dims = array<i64: 2>} : (tensor<1x8x4xf32>) -> tensor<1x16x4xf32>
// CHECK-NEXT:    return
func.func @repeated(%x: tensor<1x8x4xf32>) -> tensor<1x16x4xf32>
    attributes {cp.view = "local"} {
  %0 = cp.repeat %x {dim = 2, unit = 4, times = 2}
      : tensor<1x8x4xf32> -> tensor<1x8x8xf32>
  %1 = cp.reshard %0 from #rows to #columns
      : tensor<1x8x8xf32> to tensor<1x16x4xf32>
  return %1 : tensor<1x16x4xf32>
}

// A repeat of another dimension, or with another use, stays for what needs it.

// CHECK-LABEL: func.func @repeated_elsewhere(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<1x4x8xf32>
// CHECK-NEXT:    %[[R:.*]] = cp.repeat %[[X]]
// CHECK-NEXT:    cp.all_to_all %[[R]] over ["a"] of #mesh {concat_dims = array<i64: 1>, split_dims = array<i64: 2>}
func.func @repeated_elsewhere(%x: tensor<1x4x8xf32>) -> tensor<1x16x4xf32>
    attributes {cp.view = "local"} {
  %0 = cp.repeat %x {dim = 1, unit = 1, times = 2}
      : tensor<1x4x8xf32> -> tensor<1x8x8xf32>
  %1 = cp.reshard %0 from #rows to #columns
      : tensor<1x8x8xf32> to tensor<1x16x4xf32>
  return %1 : tensor<1x16x4xf32>
}

// CHECK-LABEL: func.func @repeated_shared(
// CHECK-SAME:    %[[X:[a-z0-9]+]]: tensor<1x8x4xf32>
// CHECK-NEXT:    %[[R:.*]] = cp.repeat %[[X]]
// CHECK-NEXT:    %[[A:.*]] = cp.all_to_all %[[X]] {{.*}} repeats = array<i64: 2>
// CHECK-NEXT:    return %[[R]], %[[A]]
func.func @repeated_shared(%x: tensor<1x8x4xf32>)
    -> (tensor<1x8x8xf32>, tensor<1x16x4xf32>) attributes {cp.view = "local"} {
  %0 = cp.repeat %x {dim = 2, unit = 4, times = 2}
      : tensor<1x8x4xf32> -> tensor<1x8x8xf32>
  %1 = cp.reshard %0 from #rows to #columns
      : tensor<1x8x8xf32> to tensor<1x16x4xf32>
  return %0, %1 : tensor<1x8x8xf32>, tensor<1x16x4xf32>
}

// A reshard between global types is no work for this pass.

// CHECK-LABEL: func.func @global(
// CHECK-NEXT:    cp.reshard
func.func @global(%x: tensor<1x16x8xf32, #rows>)
    -> tensor<1x16x8xf32, #columns> attributes {cp.view = "global"} {
  %0 = cp.reshard %x
      : tensor<1x16x8xf32, #rows> to tensor<1x16x8xf32, #columns>
  return %0 : tensor<1x16x8xf32, #columns>
}

// What is cut and wanted as terms of a sum is a part among zeros: nothing
// travels.

// CHECK-LABEL: func.func @terms_of_parts(
// CHECK-NEXT:    %[[T:.*]] = cp.unslice %{{.*}} over ["a"] of #mesh {dim = 1 : i64} : tensor<1x8x8xf32> -> tensor<1x16x8xf32>
// CHECK-NEXT:    return %[[T]]
func.func @terms_of_parts(%x: tensor<1x8x8xf32>) -> tensor<1x16x8xf32>
    attributes {cp.view = "local"} {
  %0 = cp.reshard %x from #rows to #sum
      : tensor<1x8x8xf32> to tensor<1x16x8xf32>
  return %0 : tensor<1x16x8xf32>
}

// CHECK-LABEL: func.func @terms_of_zigzag_parts(
// CHECK-NEXT:    cp.unslice %{{.*}} over ["a" zigzag] of #mesh {dim = 1 : i64}
func.func @terms_of_zigzag_parts(%x: tensor<1x8x8xf32>) -> tensor<1x16x8xf32>
    attributes {cp.view = "local"} {
  %0 = cp.reshard %x from #zrows to #sum
      : tensor<1x8x8xf32> to tensor<1x16x8xf32>
  return %0 : tensor<1x16x8xf32>
}

// Parts of sizes of their own have room for the largest: what an exchange makes
// is spread out before it, and what it put together is closed up behind it.

#given = #cp.layout<#mesh, [{}, {"a" sizes [5, 2]}, {}]>
#columnsGiven = #cp.layout<#mesh, [{}, {}, {"a" sizes [0, 3]}]>

// CHECK-LABEL: func.func @sizes_to_columns(
// CHECK-SAME:      %[[X:.*]]: tensor<1x5x8xf32>
// CHECK-NEXT:    %[[ALL:.*]] = cp.all_to_all %[[X]] over ["a"] of #mesh {concat_dims = array<i64: 1>, split_dims = array<i64: 2>} : (tensor<1x5x8xf32>) -> tensor<1x10x4xf32>
// CHECK-NEXT:    %[[HELD:.*]] = tensor.extract_slice %[[ALL]][0, 0, 0] [1, 7, 4] [1, 1, 1] : tensor<1x10x4xf32> to tensor<1x7x4xf32>
// CHECK-NEXT:    return %[[HELD]]
func.func @sizes_to_columns(%x: tensor<1x5x8xf32>) -> tensor<1x7x4xf32>
    attributes {cp.view = "local"} {
  %0 = cp.reshard %x from #given to #columns
      : tensor<1x5x8xf32> to tensor<1x7x4xf32>
  return %0 : tensor<1x7x4xf32>
}

// CHECK-LABEL: func.func @columns_to_sizes(
// CHECK-SAME:      %[[X:.*]]: tensor<1x7x3xf32>
// CHECK-DAG:     %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK-DAG:     %[[EMPTY:.*]] = tensor.empty() : tensor<1x10x3xf32>
// CHECK:         %[[ROOMS:.*]] = linalg.fill ins(%[[ZERO]] : f32) outs(%[[EMPTY]] : tensor<1x10x3xf32>)
// CHECK-NEXT:    %[[FIRST:.*]] = tensor.extract_slice %[[X]][0, 0, 0] [1, 7, 3]
// CHECK-NEXT:    %[[SPREAD:.*]] = tensor.insert_slice %{{.*}} into %[[ROOMS]][0, 0, 0] [1, 7, 3]
// CHECK-NEXT:    %[[ALL:.*]] = cp.all_to_all %[[SPREAD]] over ["a"] of #mesh {concat_dims = array<i64: 2>, split_dims = array<i64: 1>} : (tensor<1x10x3xf32>) -> tensor<1x5x6xf32>
// CHECK-NEXT:    %[[HELD:.*]] = tensor.extract_slice %[[ALL]][0, 0, 3] [1, 5, 3]
// CHECK-NEXT:    return %[[HELD]]
func.func @columns_to_sizes(%x: tensor<1x7x3xf32>) -> tensor<1x5x3xf32>
    attributes {cp.view = "local"} {
  %0 = cp.reshard %x from #columnsGiven to #given
      : tensor<1x7x3xf32> to tensor<1x5x3xf32>
  return %0 : tensor<1x5x3xf32>
}

// A sum is scattered in them, and what all hold is cut by them.

// CHECK-LABEL: func.func @sum_to_sizes(
// CHECK:         tensor.insert_slice
// CHECK-NEXT:    cp.reduce_scatter %{{.*}} over ["a"] of #mesh {dim = 1 : i64} : tensor<1x10x8xf32> -> tensor<1x5x8xf32>
// CHECK-NEXT:    return
func.func @sum_to_sizes(%x: tensor<1x7x8xf32>) -> tensor<1x5x8xf32>
    attributes {cp.view = "local"} {
  %0 = cp.reshard %x from #sum to #given
      : tensor<1x7x8xf32> to tensor<1x5x8xf32>
  return %0 : tensor<1x5x8xf32>
}

// From one part to the next the room of each but the last is skipped.

#mesh3 = #cp.mesh<"cp" = 3>
#three = #cp.layout<#mesh3, [{"cp" sizes [1, 2, 1]}]>
#all = #cp.layout<#mesh3, [{}]>

// CHECK-LABEL: func.func @gather_sizes(
// CHECK:         %[[ALL:.*]] = cp.all_gather %{{.*}} over ["cp"] of {{.*}} : tensor<2xf32> -> tensor<6xf32>
// CHECK-NEXT:    %[[EMPTY:.*]] = tensor.empty() : tensor<4xf32>
// CHECK-NEXT:    %[[A:.*]] = tensor.extract_slice %[[ALL]][0] [1] [1]
// CHECK-NEXT:    %[[PUT:.*]] = tensor.insert_slice %[[A]] into %[[EMPTY]][0] [1] [1]
// CHECK-NEXT:    %[[B:.*]] = tensor.extract_slice %[[ALL]][2] [3] [1]
// CHECK-NEXT:    %[[HELD:.*]] = tensor.insert_slice %[[B]] into %[[PUT]][1] [3] [1]
// CHECK-NEXT:    return %[[HELD]]
func.func @gather_sizes(%x: tensor<2xf32>) -> tensor<4xf32>
    attributes {cp.view = "local"} {
  %0 = cp.reshard %x from #three to #all : tensor<2xf32> to tensor<4xf32>
  return %0 : tensor<4xf32>
}
