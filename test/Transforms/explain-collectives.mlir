// RUN: %cp-opt %s --cp-explain-collectives --remarks-filter=collective \
// RUN:   --remark-format=emitRemark --split-input-file -o /dev/null 2>&1 | FileCheck %s
// RUN: %cp-opt %s --cp-explain-collectives --remarks-filter-passed=reshard \
// RUN:   --remark-format=emitRemark --split-input-file -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NONE --allow-empty
// RUN: %cp-opt %s --cp-explain-collectives --split-input-file -o /dev/null 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NONE --allow-empty

// What is not asked for is not said.
// NONE-NOT: remark

#mesh = #cp.mesh<"dp" = 2, "cp" = 4>

// An exchange of two tensors, one of which is repeated: 3/4 of 4 x 4 and of
// twice 4 x 4 elements of 4 bytes. Three rows of 16 bytes, from all but the last
// rank of each group.

// CHECK: :[[@LINE+10]]:10: remark: [Passed] all_to_all
// CHECK-SAME: axes="cp", bytes=144, from="[{"cp"}, {}]", layer=7, tensors=2, to="[{}, {"cp"}]", why="math.exp, arith.addf: works on dimension 0 as a whole"
// CHECK: :[[@LINE+14]]:8: remark: [Passed] halo
// CHECK-SAME: axes="cp", bytes=48, bytes_by_rank="48 48 48 0 48 48 48 0", from="[{"cp"}, {}]", layer=embedding, tensors=1, to="[{"cp"}, {}]", why="func.return: reads the 3 rows before its own"
// CHECK: remark: [Analysis] total
// CHECK-SAME: axes="cp", bytes=144, calls=1, op=all_to_all
// CHECK: remark: [Analysis] total
// CHECK-SAME: axes="cp", bytes=48, bytes_by_rank="48 48 48 0 48 48 48 0", calls=1, op=halo
func.func @exchange(%x: tensor<4x4xf32> {cp.param = "layers.7.x"}, %y: tensor<4x4xf32>)
    -> (tensor<16x2xf32>, tensor<3x4xf32>) attributes {cp.view = "local"} {
  %0:2 = cp.all_to_all %x, %y over ["cp"] of #mesh
      {concat_dims = array<i64: 0, 0>, split_dims = array<i64: 1, 1>,
       repeats = array<i64: 1, 2>, repeat_units = array<i64: 1, 1>}
      : (tensor<4x4xf32>, tensor<4x4xf32>) -> (tensor<16x1xf32>, tensor<16x2xf32>)
  %1 = math.exp %0#0 : tensor<16x1xf32>
  %2 = arith.addf %0#1, %0#1 : tensor<16x2xf32>
  %3 = cp.halo %y over ["cp"] of #mesh {dim = 0, before = 3}
      : (tensor<4x4xf32>) -> tensor<3x4xf32>
  return %2, %3 : tensor<16x2xf32>, tensor<3x4xf32>
}

// -----

// In zigzag order a rank has two parts, and sends what is behind the first to the
// next rank and what is behind the second to the previous one.

#mesh = #cp.mesh<"cp" = 3>

// CHECK: remark: [Passed] halo
// CHECK-SAME: axes="cp", bytes=32, bytes_by_rank="16 32 16", from="[{"cp" zigzag}, {}]",{{.*}} to="[{"cp" zigzag}, {}]", why="func.return: reads the 1 rows before each of its two parts"
// CHECK: remark: [Passed] scan_state
// CHECK-SAME: axes="cp", bytes=40, bytes_by_rank="20 40 20", {{.*}} why="func.return: starts from the state that earlier parts leave (chain)"
func.func @zigzag(%y: tensor<4x4xf32>, %d: tensor<2xf32>, %s: tensor<2x4xf32>)
    -> (tensor<2x4xf32>, tensor<2x4xf32>) attributes {cp.view = "local"} {
  %0 = cp.halo %y over ["cp" zigzag] of #mesh {dim = 0, before = 1}
      : (tensor<4x4xf32>) -> tensor<2x4xf32>
  %decay, %state = cp.scan_state %d, %s over ["cp" zigzag] of #mesh
      : tensor<2xf32>, tensor<2x4xf32>
  return %0, %state : tensor<2x4xf32>, tensor<2x4xf32>
}

// -----

// In reverse, and farther than the neighbour: rank 1 sends its four rows to rank 0,
// rank 2 as many to rank 1 and one more to rank 0.

#mesh = #cp.mesh<"cp" = 3>

// CHECK: remark: [Passed] halo
// CHECK-SAME: axes="cp", bytes=80, bytes_by_rank="0 64 80", {{.*}} why="func.return: reads the 5 rows behind its own"
// CHECK: remark: [Passed] scan_state
// CHECK-SAME: axes="cp", bytes=20, bytes_by_rank="0 20 20", {{.*}} why="func.return: starts from the state that later ranks leave (chain)"
func.func @reverse(%y: tensor<4x4xf32>, %d: tensor<1xf32>, %s: tensor<1x4xf32>)
    -> (tensor<5x4xf32>, tensor<1x4xf32>) attributes {cp.view = "local"} {
  %0 = cp.halo %y over ["cp"] of #mesh {dim = 0, after = 5}
      : (tensor<4x4xf32>) -> tensor<5x4xf32>
  %decay, %state = cp.scan_state %d, %s over ["cp"] of #mesh {reverse}
      : tensor<1xf32>, tensor<1x4xf32>
  return %0, %state : tensor<5x4xf32>, tensor<1x4xf32>
}

// -----

// A total of 20 bytes goes from the last rank to the two others; of 4 states in three
// slices, of 8, 4 and 4 bytes, each rank sends the others those it has folded.

#mesh = #cp.mesh<"cp" = 3>

// CHECK: remark: [Passed] scan_state
// CHECK-SAME: axes="cp", bytes=40, bytes_by_rank="20 20 40"
// CHECK: remark: [Passed] scan_state
// CHECK-SAME: axes="cp", bytes=48, bytes_by_rank="48 36 36"
func.func @total(%d: tensor<1xf32>, %s: tensor<1x4xf32>)
    -> (tensor<1x4xf32>, tensor<1x4xf32>) attributes {cp.view = "local"} {
  %0:4 = cp.scan_state %d, %s over ["cp"] of #mesh
      : tensor<1xf32>, tensor<1x4xf32> total tensor<1xf32>, tensor<1x4xf32>
  %1:4 = cp.scan_state %d, %s over ["cp"] of #mesh
      {algorithm = #cp.scan_algorithm<transposed>}
      : tensor<1xf32>, tensor<1x4xf32> total tensor<1xf32>, tensor<1x4xf32>
  return %0#3, %1#3 : tensor<1x4xf32>, tensor<1x4xf32>
}

// -----

// Summaries of a combine of their own are cut in whole units, here 4 of 20 bytes: in
// three slices two, one and one. A rank sends what it does not fold, and twice what
// it does.

#mesh = #cp.mesh<"cp" = 3>

// CHECK: remark: [Passed] scan_state
// CHECK-SAME: axes="cp", bytes=120, bytes_by_rank="120 100 100"
// CHECK: remark: [Passed] scan_state
// CHECK-SAME: axes="cp", bytes=80, bytes_by_rank="80 80 0"
func.func @combine(%a: tensor<2x2x4xf32>, %n: tensor<2x2xf32>)
    -> (tensor<2x2xf32>, tensor<2x2xf32>) attributes {cp.view = "local"} {
  %0:2 = cp.scan_state %a, %n over ["cp"] of #mesh
      {algorithm = #cp.scan_algorithm<transposed>,
       combine = #cp.combine<"f", batch_dims = 2>}
      : tensor<2x2x4xf32>, tensor<2x2xf32>
  %1:2 = cp.scan_state %a, %n over ["cp"] of #mesh
      {combine = #cp.combine<"f", batch_dims = 2>}
      : tensor<2x2x4xf32>, tensor<2x2xf32>
  return %0#1, %1#1 : tensor<2x2xf32>, tensor<2x2xf32>
}

// -----

// A sum of 16 elements goes to three ranks, as a whole or each a part; a gather
// sends a part to three. Slices send nothing and are not in the total.

#mesh = #cp.mesh<"tp" = 4>

// CHECK: remark: [Passed] all_reduce
// CHECK-SAME: bytes=192, from="[{}], partial = {"tp"}",{{.*}} to="[{}]", why="math.exp: needs the sum over the ranks"
// CHECK: remark: [Passed] reduce_scatter
// CHECK-SAME: bytes=48, from="[{}], partial = {"tp"}",{{.*}} to="[{"tp"}]", why="cp.all_gather: needs the sum over the ranks"
// CHECK: remark: [Passed] all_gather
// CHECK-SAME: bytes=48, from="[{"tp"}]",{{.*}} to="[{}]", why="cp.slice: works on dimension 0 as a whole"
// CHECK: remark: [Passed] slice
// CHECK-SAME: bytes=0, from="[{}]",{{.*}} to="[{"tp" zigzag}]", why="cp.reorder: works on a part of dimension 0"
// CHECK: remark: [Passed] reorder
// CHECK-SAME: bytes=16, bytes_by_rank="8 16 8 16", from="[{"tp" zigzag}]",{{.*}} to="[{"tp"}]", why="func.return: takes its rows in contiguous order"
// CHECK-NOT: op=slice
func.func @sums(%x: tensor<16xf32>) -> (tensor<16xf32>, tensor<4xf32>)
    attributes {cp.view = "local"} {
  %0 = cp.all_reduce %x over ["tp"] of #mesh : tensor<16xf32>
  %1 = math.exp %0 : tensor<16xf32>
  %2 = cp.reduce_scatter %1 over ["tp"] of #mesh {dim = 0} : tensor<16xf32> -> tensor<4xf32>
  %3 = cp.all_gather %2 over ["tp"] of #mesh {dim = 0} : tensor<4xf32> -> tensor<16xf32>
  %4 = cp.slice %3 over ["tp" zigzag] of #mesh {dim = 0} : tensor<16xf32> -> tensor<4xf32>
  %5 = cp.reorder %4 from ["tp" zigzag] to ["tp"] of #mesh {dim = 0} : tensor<4xf32>
  return %1, %5 : tensor<16xf32>, tensor<4xf32>
}

// -----

// A reorder goes to the order that it names.

#mesh = #cp.mesh<"tp" = 2>

// CHECK: remark: [Passed] reorder
// CHECK-SAME: to="[{"tp" zigzag}]", why="cp.reorder: takes its rows in zigzag order"
// CHECK: remark: [Passed] reorder
// CHECK-SAME: to="[{"tp" striped}]", why="cp.reorder: takes its rows in striped order"
// CHECK: remark: [Passed] reorder
// CHECK-SAME: to="[{"tp" striped : 2}]", why="func.return: takes its rows in striped:2 order"
func.func @orders(%x: tensor<4xf32>) -> tensor<4xf32> attributes {cp.view = "local"} {
  %0 = cp.reorder %x from ["tp"] to ["tp" zigzag] of #mesh {dim = 0} : tensor<4xf32>
  %1 = cp.reorder %0 from ["tp" zigzag] to ["tp" striped] of #mesh {dim = 0} : tensor<4xf32>
  %2 = cp.reorder %1 from ["tp" striped] to ["tp" striped : 2] of #mesh {dim = 0} : tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

// On a mesh that no list can name each rank of, the bytes are left out.

#mesh = #cp.mesh<"cp" = 2147483648>

// CHECK: remark: [Passed] all_reduce
// CHECK-SAME: bytes="not counted: too many ranks"
func.func @wide(%x: tensor<4xf32>) -> tensor<4xf32> attributes {cp.view = "local"} {
  %0 = cp.all_reduce %x over ["cp"] of #mesh : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// Sizes whose bytes do not fit 64 bits are said to be the most that fits.

#mesh = #cp.mesh<"cp" = 4>

// CHECK: remark: [Passed] all_reduce
// CHECK-SAME: bytes=9223372036854775807
func.func @large(%x: tensor<4611686018427387904xf32>) -> tensor<4611686018427387904xf32>
    attributes {cp.view = "local"} {
  %0 = cp.all_reduce %x over ["cp"] of #mesh : tensor<4611686018427387904xf32>
  return %0 : tensor<4611686018427387904xf32>
}

// -----

// A table that is read before and behind the layers is embedding, then head.

#mesh = #cp.mesh<"cp" = 4>

// CHECK: remark: [Passed] all_reduce
// CHECK-SAME: layer=embedding
// CHECK: remark: [Passed] all_reduce
// CHECK-SAME: layer=0
// CHECK: remark: [Passed] all_reduce
// CHECK-SAME: layer=1
// CHECK: remark: [Passed] all_reduce
// CHECK-SAME: layer=head
func.func @layers(%x: tensor<4xf32>, %table: tensor<4xf32> {cp.param = "table"},
    %w0: tensor<4xf32> {cp.param = "layers.0.w"},
    %w1: tensor<4xf32> {cp.param = "layers.1.w2.weight"}) -> tensor<4xf32>
    attributes {cp.view = "local"} {
  %0 = arith.addf %x, %table : tensor<4xf32>
  %1 = cp.all_reduce %0 over ["cp"] of #mesh : tensor<4xf32>
  %2 = arith.addf %1, %w0 : tensor<4xf32>
  %3 = cp.all_reduce %2 over ["cp"] of #mesh : tensor<4xf32>
  %4 = arith.addf %3, %w1 : tensor<4xf32>
  %5 = arith.addf %4, %1 : tensor<4xf32>
  %6 = cp.all_reduce %5 over ["cp"] of #mesh : tensor<4xf32>
  %7 = arith.mulf %6, %table : tensor<4xf32>
  %8 = cp.all_reduce %7 over ["cp"] of #mesh : tensor<4xf32>
  return %8 : tensor<4xf32>
}
