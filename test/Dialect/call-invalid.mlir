// RUN: %cp-opt %s --split-input-file --verify-diagnostics

func.func @call_c1(%t: tensor<4xf32>, %m: memref<4xf32>) {
  // expected-error @below {{'cp.call' op call_c1: there must be outs, all tensors or all memrefs}}
  %0 = cp.call "f" outs(%t, %m : tensor<4xf32>, memref<4xf32>) {} -> tensor<4xf32>
  return
}

// -----

func.func @call_c1_no_outs() {
  // expected-error @below {{call_c1: there must be outs, all tensors or all memrefs}}
  "cp.call"() {symbol = "f", config = #cp.config<{}>, operandSegmentSizes = array<i32: 0, 0>}
      : () -> ()
  return
}

// -----

func.func @call_c1_unranked(%m: memref<*xf32>) {
  // expected-error @below {{call_c1: there must be outs, all tensors or all memrefs}}
  cp.call "f" outs(%m : memref<*xf32>) {}
  return
}

// -----

func.func @call_c1_scalar(%m: i32) {
  // expected-error @below {{call_c1: there must be outs, all tensors or all memrefs}}
  cp.call "f" outs(%m : i32) {}
  return
}

// -----

func.func @call_c1_ins(%x: f32, %m: memref<4xf32>) {
  // expected-error @below {{call_c1: ins must be tensors or memrefs, as outs are, but 'f32' was found}}
  cp.call "f" ins(%x : f32) outs(%m : memref<4xf32>) {}
  return
}

// -----

func.func @call_c1_ins_mixed(%x: tensor<4xf32>, %m: memref<4xf32>) {
  // expected-error @below {{call_c1: ins must be tensors or memrefs, as outs are, but 'tensor<4xf32>' was found}}
  cp.call "f" ins(%x : tensor<4xf32>) outs(%m : memref<4xf32>) {}
  return
}

// -----

func.func @call_c2(%t: tensor<4xf32>) {
  // expected-error @below {{call_c2: there must be one result of the type of each out}}
  cp.call "f" outs(%t : tensor<4xf32>) {}
  return
}

// -----

func.func @call_c2_type(%t: tensor<4xf32>) {
  // expected-error @below {{call_c2: there must be one result of the type of each out}}
  %0 = cp.call "f" outs(%t : tensor<4xf32>) {} -> tensor<5xf32>
  return
}

// -----

func.func @call_c2_memref(%m: memref<4xf32>) {
  // expected-error @below {{call_c2: there must be no results}}
  %0 = cp.call "f" outs(%m : memref<4xf32>) {} -> tensor<4xf32>
  return
}

// -----

func.func @call_c3(%m: memref<4xf32>) {
  // expected-error @below {{call_c3: attribute "a" must be a bool, a signless integer of at most 64 bits, a float or an array of i64, but is "text"}}
  cp.call "f" outs(%m : memref<4xf32>) {a = "text"}
  return
}

// -----

func.func @call_c3_wide(%m: memref<4xf32>) {
  // expected-error @below {{call_c3: attribute "a" must be}}
  cp.call "f" outs(%m : memref<4xf32>) {a = 1 : i128}
  return
}

// -----

func.func @call_c3_unsigned(%m: memref<4xf32>) {
  // expected-error @below {{call_c3: attribute "a" must be}}
  cp.call "f" outs(%m : memref<4xf32>) {a = 1 : ui64}
  return
}

// -----

func.func @call_c3_array(%m: memref<4xf32>) {
  // expected-error @below {{call_c3: attribute "a" must be}}
  cp.call "f" outs(%m : memref<4xf32>) {a = array<i32: 1>}
  return
}

// -----

func.func @call_c4(%m: memref<4xf32>) {
  // expected-error @below {{'cp.call' op call_c4: the symbol must not end in "_with", but is "scan_state_with"; leave that off, and name the function by `with`}}
  cp.call "scan_state_with" outs(%m : memref<4xf32>) {}
  return
}

// -----

func.func @call_c4_function(%m: memref<4xf32>) {
  // expected-error @below {{'cp.call' op call_c4: the function's symbol must be an operation's, not empty and without "_with" at its end, but is "scan_state_with"}}
  cp.call "scan_state" with "scan_state_with" outs(%m : memref<4xf32>) {}
  return
}

// -----

func.func @call_c4_no_function(%m: memref<4xf32>) {
  // expected-error @below {{'cp.call' op call_c4: the function's symbol must be an operation's, not empty and without "_with" at its end, but is ""}}
  cp.call "scan_state" with "" outs(%m : memref<4xf32>) {}
  return
}

// -----

func.func @call_c5(%m: memref<4xf32>) {
  // expected-error @below {{'cp.call' op call_c5: places of inputs that are left out must be from 0 to 1, each once and in their order, but are array<i64: 2>}}
  "cp.call"(%m, %m) {symbol = "f", config = #cp.config<{}>, absent = array<i64: 2>,
      operandSegmentSizes = array<i32: 1, 1>} : (memref<4xf32>, memref<4xf32>) -> ()
  return
}

// -----

func.func @call_c5_order(%m: memref<4xf32>) {
  // expected-error @below {{call_c5: places of inputs that are left out must be from 0 to 2, each once and in their order, but are array<i64: 1, 0>}}
  "cp.call"(%m, %m) {symbol = "f", config = #cp.config<{}>, absent = array<i64: 1, 0>,
      operandSegmentSizes = array<i32: 1, 1>} : (memref<4xf32>, memref<4xf32>) -> ()
  return
}

// -----

func.func @config_c1(%m: memref<4xf32>) {
  // expected-error @below {{config_c1: attribute "a" is given twice; name each once}}
  cp.call "f" outs(%m : memref<4xf32>) {a = true, b = 1 : i64, a = false}
  return
}

// -----

func.func @config_no_name(%m: memref<4xf32>) {
  // expected-error @below {{an attribute of a call has no name; name each}}
  cp.call "f" outs(%m : memref<4xf32>) {"" = true}
  return
}

// -----

func.func @config_no_value(%m: memref<4xf32>) {
  // expected-error @below {{expected '='}}
  cp.call "f" outs(%m : memref<4xf32>) {a}
  return
}

// -----

func.func @deferred_tensors(%x: tensor<4xf32>) {
  // expected-error @below {{call_c6: what is deferred must be a call on memrefs, without a function}}
  %0 = cp.call "f" deferred outs(%x : tensor<4xf32>) {} -> tensor<4xf32>
  return
}

// -----

func.func @deferred_function(%m: memref<4xf32>) {
  // expected-error @below {{call_c6: what is deferred must be a call on memrefs, without a function}}
  cp.call "f" with "g" deferred outs(%m : memref<4xf32>) {}
  return
}

// -----

func.func @wait_for_nothing(%m: memref<4xf32>) {
  // expected-error @below {{wait_c1: there must be outs, those of a deferred call}}
  "cp.wait"(%m) <{operandSegmentSizes = array<i32: 1, 0>}> : (memref<4xf32>) -> ()
  return
}
