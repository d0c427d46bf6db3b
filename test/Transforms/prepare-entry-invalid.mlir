// RUN: %cp-opt %s --cp-prepare-entry --split-input-file --verify-diagnostics

// expected-error @below {{'func.func' op must have one block to be an entry point}}
func.func @blocks(%x: tensor<4xf32>) -> tensor<4xf32> {
  cf.br ^bb1
^bb1:
  return %x : tensor<4xf32>
}

// -----

// expected-error @below {{'func.func' op must return tensors of known sizes, but returns 'tensor<?xf32>'}}
func.func @dynamic(%x: tensor<?xf32>) -> tensor<?xf32> {
  return %x : tensor<?xf32>
}

// -----

// expected-error @below {{'func.func' op must return tensors of known sizes, but returns 'f32'}}
func.func @scalar(%x: f32) -> f32 {
  return %x : f32
}

// -----

func.func @entry_c1(%x: tensor<4xf32>) -> tensor<4xf32> {
  %f = arith.constant false
  // expected-error @below {{'scf.while' op entry_c1: a rank's program is a list of calls without branches and loops, but this is a loop; unroll it, or}}
  %0 = scf.while (%a = %x) : (tensor<4xf32>) -> tensor<4xf32> {
    scf.condition(%f) %a : tensor<4xf32>
  } do {
  ^bb0(%a: tensor<4xf32>):
    scf.yield %a : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// -----

func.func @entry_c2_gather(%x: tensor<16x4xf32>, %i: tensor<3x1xi32>)
    -> tensor<3x4xf32> {
  // expected-error @below {{'tensor.gather' op entry_c2: has no form as a call or a loop; look rows up by cp.embedding}}
  %0 = tensor.gather %x[%i] gather_dims([0])
      : (tensor<16x4xf32>, tensor<3x1xi32>) -> tensor<3x4xf32>
  return %0 : tensor<3x4xf32>
}

// -----

func.func @entry_c2_softmax(%x: tensor<4x8xf32>, %o: tensor<4x8xf32>)
    -> tensor<4x8xf32> {
  // expected-error @below {{'linalg.softmax' op entry_c2: has no form as a call or a loop; write it as linalg.generic ops}}
  %0 = linalg.softmax dimension(1) ins(%x : tensor<4x8xf32>)
      outs(%o : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// -----

// expected-error @below {{entry_c3: result 0 updates 'v', but no argument has that name}}
func.func @entry_c3_unknown(%w: tensor<4xf32> {cp.name = "w"})
    -> (tensor<4xf32> {cp.updates = "v"}) {
  return %w : tensor<4xf32>
}

// -----

// expected-error @below {{entry_c3: result 0 updates 'w', a 'tensor<4xf32>', but is 'tensor<2x2xf32>'}}
func.func @entry_c3_type(%w: tensor<4xf32> {cp.name = "w"}, %x: tensor<2x2xf32>)
    -> (tensor<2x2xf32> {cp.updates = "w"}) {
  return %x : tensor<2x2xf32>
}

// -----

// expected-error @below {{entry_c3: result 1 updates 'w', as result 0 does; return one new value of an argument}}
func.func @entry_c3_twice(%w: tensor<4xf32> {cp.name = "w"})
    -> (tensor<4xf32> {cp.updates = "w"}, tensor<4xf32> {cp.updates = "w"}) {
  %0 = math.exp %w : tensor<4xf32>
  %1 = math.absf %w : tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

func.func @entry_c3_read(%w: tensor<4xf32> {cp.name = "w"})
    -> (tensor<4xf32> {cp.updates = "w"}, tensor<4xf32>) {
  %0 = math.exp %w : tensor<4xf32>
  // expected-error @below {{'math.absf' op entry_c3: reads argument 'w' behind the math.exp that makes its new value, which is written where the old one was; read it before}}
  %1 = math.absf %w : tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
