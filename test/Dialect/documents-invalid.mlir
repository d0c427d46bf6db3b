// RUN: %cp-opt %s --split-input-file --verify-diagnostics

func.func @positions_c1(%cu: tensor<2x5xi32>) {
  // expected-error @below {{'cp.positions' op positions_c1: the result must be [b, l], as there are documents, but has 1 dimensions}}
  %0 = cp.positions documents(%cu : tensor<2x5xi32>) : tensor<64xi64>
  return
}

// -----

func.func @positions_c1_without() {
  // expected-error @below {{'cp.positions' op positions_c1: the result must be [l], as there are no documents, but has 2 dimensions}}
  %0 = cp.positions : tensor<2x64xi64>
  return
}

// -----

func.func @positions_c2(%cu: tensor<3x5xi32>) {
  // expected-error @below {{'cp.positions' op positions_c2: documents must have shape [2, 5], but has [3, 5]}}
  %0 = cp.positions documents(%cu : tensor<3x5xi32>) : tensor<2x64xi64>
  return
}

// -----

func.func @positions_c2_empty(%cu: tensor<2x0xi32>) {
  // expected-error @below {{'cp.positions' op positions_c2: documents must begin with 0 and end with the length of the sequence, but have no elements}}
  %0 = cp.positions documents(%cu : tensor<2x0xi32>) : tensor<2x64xi64>
  return
}

// -----

func.func @documents_of_i64(%cu: tensor<2x5xi64>) {
  // expected-error @below {{operand #0 must be 2D tensor of 32-bit signless integer values, but got 'tensor<2x5xi64>'}}
  %0 = cp.positions documents(%cu : tensor<2x5xi64>) : tensor<2x64xi64>
  return
}

// -----

#mesh = #cp.mesh<"cp" = 4>
func.func @layout_c5(%cu: tensor<2x5xi32>) attributes {cp.view = "local"} {
  // expected-error @below {{'cp.cut_positions' op layout_c5: dimension 1 of size 60 does not divide by 2 x 4 (axis "cp", zigzag)}}
  %0 = cp.cut_positions documents(%cu : tensor<2x5xi32>)
      over ["cp" zigzag] of #mesh : tensor<2x15xi64>
  return
}

// -----

func.func @mixer_c6(%u: tensor<1x16x8xf32>, %in: tensor<42x8xf32>,
    %cw: tensor<24x4xf32>, %h: tensor<2xf32>, %out: tensor<8x16xf32>,
    %cu: tensor<2x3xi32>) {
  // expected-error @below {{'cp.mamba_mixer' op mixer_c6: documents must have shape [1, 3], but has [2, 3]}}
  %0 = cp.mamba_mixer %u in_proj(%in) conv(%cw) dt_bias(%h) A_log(%h) D(%h)
      out_proj(%out) documents(%cu)
      {num_heads = 2, head_dim = 8, num_groups = 1, state_size = 4}
      : (tensor<1x16x8xf32>, tensor<42x8xf32>, tensor<24x4xf32>, tensor<2xf32>,
         tensor<2xf32>, tensor<2xf32>, tensor<8x16xf32>, tensor<2x3xi32>)
      -> tensor<1x16x8xf32>
  return
}

// -----

func.func @attention_block_c7(%u: tensor<1x16x8xf32>, %w: tensor<8x8xf32>,
                              %cu: tensor<1x3xi32>) {
  // expected-error @below {{'cp.attention_block' op attention_block_c7: documents say how far back a query sees, and without causal it sees what is behind it; make it causal, or give it documents as elements of the batch}}
  %0 = cp.attention_block %u q_proj(%w) k_proj(%w) v_proj(%w) o_proj(%w)
      documents(%cu)
      {num_heads = 2, num_kv_heads = 2, head_dim = 4, causal = false}
      : (tensor<1x16x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>,
         tensor<8x8xf32>, tensor<1x3xi32>) -> tensor<1x16x8xf32>
  return
}

// -----

#mesh = #cp.mesh<"cp" = 2>
func.func @positions_c3() {
  // expected-error @below {{'cp.cut_positions' op positions_c3: where rows are in an order per document is known by the documents, but there are none; give documents, or cut in another order}}
  %0 = cp.cut_positions over ["cp" zigzag_per_document] of #mesh : tensor<8xi64>
  return
}

// -----

#mesh = #cp.mesh<"cp" = 2>
func.func @positions_c4() {
  // expected-error @below {{'cp.cut_positions' op positions_c4: ranks have documents alike, but there are none; give documents, or leave out `alike`}}
  %0 = cp.cut_positions alike ["cp"] over ["cp"] of #mesh : tensor<8xi64>
  return
}

// -----

#mesh = #cp.mesh<"cp" = 2>
func.func @alike_axes(%cu: tensor<1x3xi32>) {
  // expected-error @below {{'cp.cut_positions' op group_c1: #cp.mesh<"cp" = 2> has no axis "tp"}}
  %0 = cp.cut_positions documents(%cu : tensor<1x3xi32>) alike ["tp"] over ["cp"] of #mesh : tensor<1x8xi64>
  return
}

// -----

#mesh = #cp.mesh<"cp" = 2>
func.func @no_axes(%cu: tensor<1x3xi32>) {
  // expected-error @below {{'cp.cut_positions' op group_c1: at least one axis must be named}}
  %0 = cp.cut_positions documents(%cu : tensor<1x3xi32>) over [] of #mesh : tensor<1x8xi64>
  return
}

// -----

#mesh = #cp.mesh<"cp" = 2>
func.func @reorder_c4(%x: tensor<2x8xf32>) {
  // expected-error @below {{'cp.reorder' op reorder_c4: an order per document takes documents, but there are none; give the lists where documents end}}
  %0 = cp.reorder %x from ["cp"] to ["cp" zigzag_per_document] of #mesh {dim = 1} : tensor<2x8xf32>
  return
}

// -----

#mesh = #cp.mesh<"cp" = 2>
func.func @reorder_c4_unused(%x: tensor<2x8xf32>, %cu: tensor<2x5xi32>) {
  // expected-error @below {{reorder_c4: there are documents, but no order per document; leave them out}}
  %0 = cp.reorder %x documents(%cu : tensor<2x5xi32>) from ["cp"] to ["cp" zigzag] of #mesh {dim = 1} : tensor<2x8xf32>
  return
}

// -----

#mesh = #cp.mesh<"cp" = 2>
func.func @reorder_c4_dim(%x: tensor<8x2xf32>, %cu: tensor<8x5xi32>) {
  // expected-error @below {{reorder_c4: the first dimension must be the batch, whose elements have documents, but it is dim}}
  %0 = cp.reorder %x documents(%cu : tensor<8x5xi32>) from ["cp"] to ["cp" zigzag_per_document] of #mesh {dim = 0} : tensor<8x2xf32>
  return
}

// -----

#mesh = #cp.mesh<"cp" = 2>
func.func @reorder_c4_batch(%x: tensor<2x8xf32>, %cu: tensor<3x5xi32>) {
  // expected-error @below {{reorder_c4: documents must have shape [2, 5], but has [3, 5]}}
  %0 = cp.reorder %x documents(%cu : tensor<3x5xi32>) from ["cp"] to ["cp" zigzag_per_document] of #mesh {dim = 1} : tensor<2x8xf32>
  return
}

// -----

#mesh = #cp.mesh<"cp" = 2>
func.func @attention_c8_rows(%q: tensor<1x8x2x4xf32>, %k: tensor<1x16x2x4xf32>) {
  // expected-error @below {{'cp.attention_rows' op attention_c8: all keys are here in their natural order, so queries must not be in one per document; let keys travel (form = "ring"), or cut in zigzag order}}
  %out, %lse = cp.attention_rows %q, %k, %k over ["cp" zigzag_per_document] of #mesh
      : (tensor<1x8x2x4xf32>, tensor<1x16x2x4xf32>, tensor<1x16x2x4xf32>)
      -> (tensor<1x8x2x4xf32>, tensor<1x2x8xf32>)
  return
}

// -----

#mesh = #cp.mesh<"cp" = 2>
func.func @attention_c8(%q: tensor<1x8x2x4xf32>) {
  // expected-error @below {{'cp.ring_attention' op attention_c8: an order per document takes documents, but there are none; give the lists where documents end}}
  %out, %lse = cp.ring_attention %q, %q, %q over ["cp" zigzag_per_document] of #mesh
      : (tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>)
      -> (tensor<1x8x2x4xf32>, tensor<1x2x8xf32>)
  return
}

// -----

#mesh = #cp.mesh<"cp" = 2>
func.func @attention_c8_unused(%q: tensor<1x8x2x4xf32>, %cu: tensor<1x5xi32>) {
  // expected-error @below {{'cp.ring_attention' op attention_c8: there are documents, but no order per document; leave them out: places say what a query sees}}
  %out, %lse = cp.ring_attention %q, %q, %q documents(%cu) over ["cp"] of #mesh
      : (tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>,
         tensor<1x5xi32>) -> (tensor<1x8x2x4xf32>, tensor<1x2x8xf32>)
  return
}

// -----

#mesh = #cp.mesh<"cp" = 2>
func.func @attention_grad_c8(%q: tensor<1x8x2x4xf32>, %lse: tensor<1x2x8xf32>) {
  // expected-error @below {{'cp.ring_attention_grad' op attention_grad_c8: an order per document takes documents, but there are none}}
  %dq, %dk, %dv = cp.ring_attention_grad %q, %q, %q gave %q, %lse from %q over ["cp" zigzag_per_document] of #mesh
      : (tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x2x8xf32>, tensor<1x8x2x4xf32>)
      -> (tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>, tensor<1x8x2x4xf32>)
  return
}
