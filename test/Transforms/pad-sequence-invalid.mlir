// RUN: %cp-opt %s --cp-prepare-cuts="mesh=cp=4" --split-input-file --verify-diagnostics

func.func @pad_sequence_c1(%x: tensor<1x10x4xf32> {cp.sequence = 1 : i64}, %table: tensor<1x10x4xf32>)
    -> tensor<1x10x4xf32> {
  // expected-error @below {{pad_sequence_c1: argument 1, 'tensor<1x10x4xf32>', has a row for each token of a sequence that ranks do not divide, but no cp.sequence says so; give it one, or a length that they divide}}
  %0 = arith.addf %x, %table : tensor<1x10x4xf32>
  return %0 : tensor<1x10x4xf32>
}

// -----

// expected-error @below {{pad_sequence_c1: result 0 has a row for each token along dimension 1, but says that its cp.sequence is 2}}
func.func @pad_sequence_c1_result(%x: tensor<1x10x4xf32> {cp.sequence = 1 : i64})
    -> (tensor<1x10x4xf32> {cp.sequence = 2 : i64}) {
  return %x : tensor<1x10x4xf32>
}

// -----

func.func @pad_sequence_c2(%x: tensor<1x10x4xf32> {cp.sequence = 1 : i64}) -> tensor<1x4xf32> {
  %least = arith.constant dense<0.0> : tensor<1x4xf32>
  // expected-error @below {{pad_sequence_c2: needs all rows of a sequence that ranks do not divide, and no more than these; give a length that the ranks divide, or pad it before}}
  %0 = linalg.reduce {arith.maximumf} ins(%x : tensor<1x10x4xf32>) outs(%least : tensor<1x4xf32>) dimensions = [1]
  return %0 : tensor<1x4xf32>
}

// -----

func.func @pad_sequence_c2_table(%x: tensor<1x5x1xf32> {cp.sequence = 1 : i64}) -> tensor<1x5x1xf32> {
  // expected-error @below {{pad_sequence_c2: needs all rows}}
  %table = arith.constant dense<[[[1.0], [2.0], [3.0], [4.0], [5.0]]]> : tensor<1x5x1xf32>
  %0 = arith.addf %x, %table : tensor<1x5x1xf32>
  return %0 : tensor<1x5x1xf32>
}

// -----

func.func @pad_sequence_c2_keys(%q: tensor<1x10x2x4xf32> {cp.sequence = 1 : i64}) -> tensor<1x10x2x4xf32> {
  // expected-error @below {{pad_sequence_c2: needs all rows}}
  %0, %lse = cp.attention %q, %q, %q {causal = false}
      : (tensor<1x10x2x4xf32>, tensor<1x10x2x4xf32>, tensor<1x10x2x4xf32>)
      -> (tensor<1x10x2x4xf32>, tensor<1x2x10xf32>)
  return %0 : tensor<1x10x2x4xf32>
}

// -----

func.func @pad_sequence_c3_ring(%q: tensor<1x10x2x4xf32> {cp.sequence = 1 : i64}) -> tensor<1x10x2x4xf32> {
  // expected-error @below {{pad_sequence_c3: may see rows behind a row's own, of a sequence that ranks do not divide (what is derived from a program is derived behind cp-prepare-cuts)}}
  %0, %lse = cp.attention %q, %q, %q {causal = false, form = "ring"}
      : (tensor<1x10x2x4xf32>, tensor<1x10x2x4xf32>, tensor<1x10x2x4xf32>)
      -> (tensor<1x10x2x4xf32>, tensor<1x2x10xf32>)
  return %0 : tensor<1x10x2x4xf32>
}

// -----

func.func @pad_sequence_c3_state(%x: tensor<1x10x2x4xf32> {cp.sequence = 1 : i64}, %dt: tensor<1x10x2xf32> {cp.sequence = 1 : i64},
    %A: tensor<2xf32>, %B: tensor<1x10x1x3xf32> {cp.sequence = 1 : i64}) -> tensor<1x2x4x3xf32> {
  // expected-error @below {{pad_sequence_c3: its final state is used, and would be that behind the padding of a sequence that ranks do not divide}}
  %y, %state = cp.ssd %x dt(%dt) A_log(%A) B(%B) C(%B) {chunk_size = 4 : i64}
      : (tensor<1x10x2x4xf32>, tensor<1x10x2xf32>, tensor<2xf32>, tensor<1x10x1x3xf32>, tensor<1x10x1x3xf32>)
      -> (tensor<1x10x2x4xf32>, tensor<1x2x4x3xf32>)
  return %state : tensor<1x2x4x3xf32>
}

// -----

func.func @pad_sequence_c3_behind(%ids: tensor<1x10xi32> {cp.sequence = 1 : i64}, %next: tensor<1x1xi32>) -> tensor<1x10xi32> {
  // expected-error @below {{pad_sequence_c3: reads rows behind the last one of a sequence that ranks do not divide, which are not all one constant}}
  %1 = cp.shift_tokens %ids then %next : tensor<1x10xi32>, tensor<1x1xi32>
  return %1 : tensor<1x10xi32>
}

// -----

// expected-error @below {{pad_sequence_c1: result 0 has the tokens of sequences that ranks do not divide along dimensions 1 and 2, but only one can be its cp.sequence}}
func.func @pad_sequence_c1_scores(%q: tensor<1x10x4xf32> {cp.sequence = 1 : i64}) -> tensor<1x10x10xf32> {
  %zero = arith.constant dense<0.0> : tensor<1x10x10xf32>
  %0 = linalg.contract indexing_maps = [
      affine_map<(b, l, s, d) -> (b, l, d)>, affine_map<(b, l, s, d) -> (b, s, d)>,
      affine_map<(b, l, s, d) -> (b, l, s)>]
      ins(%q, %q : tensor<1x10x4xf32>, tensor<1x10x4xf32>) outs(%zero : tensor<1x10x10xf32>)
      -> tensor<1x10x10xf32>
  return %0 : tensor<1x10x10xf32>
}

// -----

func.func @pad_sequence_c4(%n: tensor<1x10xi64> {cp.sequence = 1 : i64}, %d: tensor<1x10xi64> {cp.sequence = 1 : i64}) -> tensor<1x10xi64> {
  // expected-error @below {{pad_sequence_c4: divides integers, and in the padding of a sequence that ranks do not divide by what may be 0; give a length that the ranks divide, or pad it before}}
  %0 = arith.divsi %n, %d : tensor<1x10xi64>
  return %0 : tensor<1x10xi64>
}

// -----

// Twelve rows would be three groups; ten are two and a half.
func.func @pad_sequence_c2_groups(%x: tensor<2x10x4xf32> {cp.sequence = 1 : i64}) -> tensor<2x2x5x4xf32> {
  // expected-error @below {{pad_sequence_c2: cuts rows of a sequence that ranks do not divide into groups that its padded length is no multiple of; give a length that the ranks divide, or pad it before}}
  %0 = tensor.expand_shape %x [[0], [1, 2], [3]] output_shape [2, 2, 5, 4] : tensor<2x10x4xf32> into tensor<2x2x5x4xf32>
  return %0 : tensor<2x2x5x4xf32>
}

// -----

// expected-error @below {{pad_sequence_c1: result 0 has several elements for each token of a sequence that ranks do not divide along dimension 1; give tokens a dimension of their own there, or a length that the ranks divide}}
func.func @pad_sequence_c1_flat(%x: tensor<2x10x4xf32> {cp.sequence = 1 : i64}) -> tensor<2x40xf32> {
  %0 = tensor.collapse_shape %x [[0], [1, 2]] : tensor<2x10x4xf32> into tensor<2x40xf32>
  return %0 : tensor<2x40xf32>
}
