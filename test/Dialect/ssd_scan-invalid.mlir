// RUN: %cp-opt %s --split-input-file --verify-diagnostics

func.func @ssd_scan_c1(%x: tensor<1x16x2x8xf32>, %b: tensor<1x16x1x4xf32>,
    %c: tensor<1x16x1x4xf32>, %chunks: tensor<1x2x2x8x4xf32>,
    %a: tensor<2xf32>, %delta: tensor<1x16x2xf32>, %pd: tensor<1x2xf32>,
    %ps: tensor<1x2x8x4xf32>) {
  // expected-error @below {{'cp.ssd_scan' op ssd_scan_c1: y must have type 'tensor<1x16x2x8xf32>', but has 'tensor<1x16x2x4xf32>'}}
  %y, %final = cp.ssd_scan %x A_log(%a) B(%b) C(%c) kept(%chunks, %delta)
      prefix(%pd, %ps) {chunk_size = 8}
      : (tensor<1x16x2x8xf32>, tensor<2xf32>, tensor<1x16x1x4xf32>,
         tensor<1x16x1x4xf32>, tensor<1x2x2x8x4xf32>, tensor<1x16x2xf32>,
         tensor<1x2xf32>, tensor<1x2x8x4xf32>)
      -> (tensor<1x16x2x4xf32>, tensor<1x2x8x4xf32>)
  return
}

// -----

func.func @ssd_scan_c1_b(%x: tensor<1x16x2x8xf32>, %b: tensor<1x8x1x4xf32>,
    %c: tensor<1x8x1x4xf32>, %chunks: tensor<1x2x2x8x4xf32>,
    %a: tensor<2xf32>, %delta: tensor<1x16x2xf32>, %pd: tensor<1x2xf32>,
    %ps: tensor<1x2x8x4xf32>) {
  // expected-error @below {{ssd_scan_c1: B must have shape [1, 16, 1, 4], but has [1, 8, 1, 4]}}
  %y, %final = cp.ssd_scan %x A_log(%a) B(%b) C(%c) kept(%chunks, %delta)
      prefix(%pd, %ps) {chunk_size = 8}
      : (tensor<1x16x2x8xf32>, tensor<2xf32>, tensor<1x8x1x4xf32>,
         tensor<1x8x1x4xf32>, tensor<1x2x2x8x4xf32>, tensor<1x16x2xf32>,
         tensor<1x2xf32>, tensor<1x2x8x4xf32>)
      -> (tensor<1x16x2x8xf32>, tensor<1x2x8x4xf32>)
  return
}

// -----

func.func @ssd_scan_c1_c(%x: tensor<1x16x2x8xf32>, %b: tensor<1x16x1x4xf32>,
    %c: tensor<1x16x1x5xf32>, %chunks: tensor<1x2x2x8x4xf32>,
    %a: tensor<2xf32>, %delta: tensor<1x16x2xf32>, %pd: tensor<1x2xf32>,
    %ps: tensor<1x2x8x4xf32>) {
  // expected-error @below {{ssd_scan_c1: C must have type 'tensor<1x16x1x4xf32>', but has 'tensor<1x16x1x5xf32>'}}
  %y, %final = cp.ssd_scan %x A_log(%a) B(%b) C(%c) kept(%chunks, %delta)
      prefix(%pd, %ps) {chunk_size = 8}
      : (tensor<1x16x2x8xf32>, tensor<2xf32>, tensor<1x16x1x4xf32>,
         tensor<1x16x1x5xf32>, tensor<1x2x2x8x4xf32>, tensor<1x16x2xf32>,
         tensor<1x2xf32>, tensor<1x2x8x4xf32>)
      -> (tensor<1x16x2x8xf32>, tensor<1x2x8x4xf32>)
  return
}

// -----

func.func @ssd_scan_c1_groups(%x: tensor<1x16x2x8xf32>,
    %b: tensor<1x16x3x4xf32>, %c: tensor<1x16x3x4xf32>,
    %chunks: tensor<1x2x2x8x4xf32>, %a: tensor<2xf32>,
    %delta: tensor<1x16x2xf32>, %pd: tensor<1x2xf32>,
    %ps: tensor<1x2x8x4xf32>) {
  // expected-error @below {{ssd_scan_c1: the number of groups (3) must divide the number of heads (2)}}
  %y, %final = cp.ssd_scan %x A_log(%a) B(%b) C(%c) kept(%chunks, %delta)
      prefix(%pd, %ps) {chunk_size = 8}
      : (tensor<1x16x2x8xf32>, tensor<2xf32>, tensor<1x16x3x4xf32>,
         tensor<1x16x3x4xf32>, tensor<1x2x2x8x4xf32>, tensor<1x16x2xf32>,
         tensor<1x2xf32>, tensor<1x2x8x4xf32>)
      -> (tensor<1x16x2x8xf32>, tensor<1x2x8x4xf32>)
  return
}

// -----

func.func @ssd_scan_c1_no_group(%x: tensor<1x16x2x8xf32>,
    %b: tensor<1x16x0x4xf32>, %c: tensor<1x16x0x4xf32>,
    %chunks: tensor<1x2x2x8x4xf32>, %a: tensor<2xf32>,
    %delta: tensor<1x16x2xf32>, %pd: tensor<1x2xf32>,
    %ps: tensor<1x2x8x4xf32>) {
  // expected-error @below {{ssd_scan_c1: the number of groups must be at least 1, but is 0}}
  %y, %final = cp.ssd_scan %x A_log(%a) B(%b) C(%c) kept(%chunks, %delta)
      prefix(%pd, %ps) {chunk_size = 8}
      : (tensor<1x16x2x8xf32>, tensor<2xf32>, tensor<1x16x0x4xf32>,
         tensor<1x16x0x4xf32>, tensor<1x2x2x8x4xf32>, tensor<1x16x2xf32>,
         tensor<1x2xf32>, tensor<1x2x8x4xf32>)
      -> (tensor<1x16x2x8xf32>, tensor<1x2x8x4xf32>)
  return
}

// -----

func.func @ssd_scan_c1_d(%x: tensor<1x16x2x8xf32>, %b: tensor<1x16x1x4xf32>,
    %c: tensor<1x16x1x4xf32>, %d: tensor<8xf32>, %chunks: tensor<1x2x2x8x4xf32>,
    %a: tensor<2xf32>, %delta: tensor<1x16x2xf32>, %pd: tensor<1x2xf32>,
    %ps: tensor<1x2x8x4xf32>) {
  // expected-error @below {{ssd_scan_c1: D must have shape [2] or [2, 8], but has [8]}}
  %y, %final = cp.ssd_scan %x A_log(%a) B(%b) C(%c) D(%d) kept(%chunks, %delta)
      prefix(%pd, %ps) {chunk_size = 8}
      : (tensor<1x16x2x8xf32>, tensor<2xf32>, tensor<1x16x1x4xf32>,
         tensor<1x16x1x4xf32>, tensor<8xf32>, tensor<1x2x2x8x4xf32>,
         tensor<1x16x2xf32>, tensor<1x2xf32>, tensor<1x2x8x4xf32>)
      -> (tensor<1x16x2x8xf32>, tensor<1x2x8x4xf32>)
  return
}

// -----

func.func @ssd_scan_c2(%x: tensor<1x16x2x8xf32>, %b: tensor<1x16x1x4xf32>,
    %c: tensor<1x16x1x4xf32>, %chunks: tensor<1x1x2x8x4xf32>,
    %a: tensor<2xf32>, %delta: tensor<1x16x2xf32>, %pd: tensor<1x2xf32>,
    %ps: tensor<1x2x8x4xf32>) {
  // expected-error @below {{ssd_scan_c2: chunk states must have shape [1, 2, 2, 8, 4], but has [1, 1, 2, 8, 4]}}
  %y, %final = cp.ssd_scan %x A_log(%a) B(%b) C(%c) kept(%chunks, %delta)
      prefix(%pd, %ps) {chunk_size = 8}
      : (tensor<1x16x2x8xf32>, tensor<2xf32>, tensor<1x16x1x4xf32>,
         tensor<1x16x1x4xf32>, tensor<1x1x2x8x4xf32>, tensor<1x16x2xf32>,
         tensor<1x2xf32>, tensor<1x2x8x4xf32>)
      -> (tensor<1x16x2x8xf32>, tensor<1x2x8x4xf32>)
  return
}

// -----

func.func @ssd_scan_c2_chunk_size(%x: tensor<1x16x2x8xf32>,
    %b: tensor<1x16x1x4xf32>, %c: tensor<1x16x1x4xf32>,
    %chunks: tensor<1x2x2x8x4xf32>, %a: tensor<2xf32>,
    %delta: tensor<1x16x2xf32>, %pd: tensor<1x2xf32>,
    %ps: tensor<1x2x8x4xf32>) {
  // expected-error @below {{ssd_scan_c2: chunk_size must be at least 1, but is 0}}
  %y, %final = cp.ssd_scan %x A_log(%a) B(%b) C(%c) kept(%chunks, %delta)
      prefix(%pd, %ps) {chunk_size = 0}
      : (tensor<1x16x2x8xf32>, tensor<2xf32>, tensor<1x16x1x4xf32>,
         tensor<1x16x1x4xf32>, tensor<1x2x2x8x4xf32>, tensor<1x16x2xf32>,
         tensor<1x2xf32>, tensor<1x2x8x4xf32>)
      -> (tensor<1x16x2x8xf32>, tensor<1x2x8x4xf32>)
  return
}

// -----

func.func @ssd_scan_c1_a_log(%x: tensor<1x16x2x8xf32>, %b: tensor<1x16x1x4xf32>,
    %c: tensor<1x16x1x4xf32>, %chunks: tensor<1x2x2x8x4xf32>,
    %a: tensor<3xf32>, %delta: tensor<1x16x2xf32>, %pd: tensor<1x2xf32>,
    %ps: tensor<1x2x8x4xf32>) {
  // expected-error @below {{ssd_scan_c1: A_log must have shape [2], but has [3]}}
  %y, %final = cp.ssd_scan %x A_log(%a) B(%b) C(%c) kept(%chunks, %delta)
      prefix(%pd, %ps) {chunk_size = 8}
      : (tensor<1x16x2x8xf32>, tensor<3xf32>, tensor<1x16x1x4xf32>,
         tensor<1x16x1x4xf32>, tensor<1x2x2x8x4xf32>, tensor<1x16x2xf32>,
         tensor<1x2xf32>, tensor<1x2x8x4xf32>)
      -> (tensor<1x16x2x8xf32>, tensor<1x2x8x4xf32>)
  return
}

// -----

func.func @ssd_scan_c2_delta(%x: tensor<1x16x2x8xf32>, %b: tensor<1x16x1x4xf32>,
    %c: tensor<1x16x1x4xf32>, %chunks: tensor<1x2x2x8x4xf32>,
    %a: tensor<2xf32>, %delta: tensor<1x2x2xf32>, %pd: tensor<1x2xf32>,
    %ps: tensor<1x2x8x4xf32>) {
  // expected-error @below {{ssd_scan_c2: delta must have shape [1, 16, 2], but has [1, 2, 2]}}
  %y, %final = cp.ssd_scan %x A_log(%a) B(%b) C(%c) kept(%chunks, %delta)
      prefix(%pd, %ps) {chunk_size = 8}
      : (tensor<1x16x2x8xf32>, tensor<2xf32>, tensor<1x16x1x4xf32>,
         tensor<1x16x1x4xf32>, tensor<1x2x2x8x4xf32>, tensor<1x2x2xf32>,
         tensor<1x2xf32>, tensor<1x2x8x4xf32>)
      -> (tensor<1x16x2x8xf32>, tensor<1x2x8x4xf32>)
  return
}

// -----

func.func @ssd_scan_c2_prefix_decay(%x: tensor<1x16x2x8xf32>,
    %b: tensor<1x16x1x4xf32>, %c: tensor<1x16x1x4xf32>,
    %chunks: tensor<1x2x2x8x4xf32>, %a: tensor<2xf32>,
    %delta: tensor<1x16x2xf32>, %pd: tensor<1x1xf32>,
    %ps: tensor<1x2x8x4xf32>) {
  // expected-error @below {{ssd_scan_c2: the prefix decay must have shape [1, 2], but has [1, 1]}}
  %y, %final = cp.ssd_scan %x A_log(%a) B(%b) C(%c) kept(%chunks, %delta)
      prefix(%pd, %ps) {chunk_size = 8}
      : (tensor<1x16x2x8xf32>, tensor<2xf32>, tensor<1x16x1x4xf32>,
         tensor<1x16x1x4xf32>, tensor<1x2x2x8x4xf32>, tensor<1x16x2xf32>,
         tensor<1x1xf32>, tensor<1x2x8x4xf32>)
      -> (tensor<1x16x2x8xf32>, tensor<1x2x8x4xf32>)
  return
}

// -----

func.func @ssd_scan_c2_prefix_state(%x: tensor<1x16x2x8xf32>,
    %b: tensor<1x16x1x4xf32>, %c: tensor<1x16x1x4xf32>,
    %chunks: tensor<1x2x2x8x4xf32>, %a: tensor<2xf32>,
    %delta: tensor<1x16x2xf32>, %pd: tensor<1x2xf32>,
    %ps: tensor<1x2x8x8xf32>) {
  // expected-error @below {{ssd_scan_c2: the prefix state must have shape [1, 2, 8, 4], but has [1, 2, 8, 8]}}
  %y, %final = cp.ssd_scan %x A_log(%a) B(%b) C(%c) kept(%chunks, %delta)
      prefix(%pd, %ps) {chunk_size = 8}
      : (tensor<1x16x2x8xf32>, tensor<2xf32>, tensor<1x16x1x4xf32>,
         tensor<1x16x1x4xf32>, tensor<1x2x2x8x4xf32>, tensor<1x16x2xf32>,
         tensor<1x2xf32>, tensor<1x2x8x8xf32>)
      -> (tensor<1x16x2x8xf32>, tensor<1x2x8x4xf32>)
  return
}

// -----

func.func @ssd_scan_c2_initial(%x: tensor<1x16x2x8xf32>,
    %b: tensor<1x16x1x4xf32>, %c: tensor<1x16x1x4xf32>,
    %chunks: tensor<1x2x2x8x4xf32>, %a: tensor<2xf32>,
    %delta: tensor<1x16x2xf32>, %pd: tensor<1x2xf32>, %ps: tensor<1x2x8x4xf32>,
    %s: tensor<1x2x4x8xf32>) {
  // expected-error @below {{ssd_scan_c2: the initial state must have shape [1, 2, 8, 4], but has [1, 2, 4, 8]}}
  %y, %final = cp.ssd_scan %x A_log(%a) B(%b) C(%c) kept(%chunks, %delta)
      prefix(%pd, %ps) initial(%s) {chunk_size = 8}
      : (tensor<1x16x2x8xf32>, tensor<2xf32>, tensor<1x16x1x4xf32>,
         tensor<1x16x1x4xf32>, tensor<1x2x2x8x4xf32>, tensor<1x16x2xf32>,
         tensor<1x2xf32>, tensor<1x2x8x4xf32>, tensor<1x2x4x8xf32>)
      -> (tensor<1x16x2x8xf32>, tensor<1x2x8x4xf32>)
  return
}

// -----

func.func @ssd_scan_c2_final(%x: tensor<1x16x2x8xf32>, %b: tensor<1x16x1x4xf32>,
    %c: tensor<1x16x1x4xf32>, %chunks: tensor<1x2x2x8x4xf32>,
    %a: tensor<2xf32>, %delta: tensor<1x16x2xf32>, %pd: tensor<1x2xf32>,
    %ps: tensor<1x2x8x4xf32>) {
  // expected-error @below {{ssd_scan_c2: the final state must have shape [1, 2, 8, 4], but has [2, 2, 8, 4]}}
  %y, %final = cp.ssd_scan %x A_log(%a) B(%b) C(%c) kept(%chunks, %delta)
      prefix(%pd, %ps) {chunk_size = 8}
      : (tensor<1x16x2x8xf32>, tensor<2xf32>, tensor<1x16x1x4xf32>,
         tensor<1x16x1x4xf32>, tensor<1x2x2x8x4xf32>, tensor<1x16x2xf32>,
         tensor<1x2xf32>, tensor<1x2x8x4xf32>)
      -> (tensor<1x16x2x8xf32>, tensor<2x2x8x4xf32>)
  return
}

// -----

func.func @ssd_scan_c3(%x: tensor<1x16x2x8xf32>, %b: tensor<1x16x1x4xf32>,
    %c: tensor<1x16x1x4xf32>, %chunks: tensor<1x2x2x8x4xf32>,
    %a: tensor<2xf32>, %delta: tensor<1x16x2xf32>, %pd: tensor<1x2xf32>,
    %ps: tensor<1x2x8x4xf32>, %p: tensor<2x16xi64>) {
  // expected-error @below {{ssd_scan_c3: places must have shape [1, 16], but has [2, 16]}}
  %y, %final = cp.ssd_scan %x A_log(%a) B(%b) C(%c) kept(%chunks, %delta)
      prefix(%pd, %ps) places(%p) {chunk_size = 8}
      : (tensor<1x16x2x8xf32>, tensor<2xf32>, tensor<1x16x1x4xf32>,
         tensor<1x16x1x4xf32>, tensor<1x2x2x8x4xf32>, tensor<1x16x2xf32>,
         tensor<1x2xf32>, tensor<1x2x8x4xf32>, tensor<2x16xi64>)
      -> (tensor<1x16x2x8xf32>, tensor<1x2x8x4xf32>)
  return
}
