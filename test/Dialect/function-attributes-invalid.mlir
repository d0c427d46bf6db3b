// RUN: %cp-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{attribute 'cp.view' must be "global" or "local", but is "whole"}}
func.func private @view() attributes {cp.view = "whole"}

// -----

// expected-error @below {{attribute 'cp.view' must be "global" or "local", but is 1 : i64}}
func.func private @view_type() attributes {cp.view = 1 : i64}

// -----

// expected-error @below {{'builtin.module' op 'cp.view' belongs on a function}}
module attributes {cp.view = "local"} {}

// -----

// expected-error @below {{attribute 'cp.arena' must be an i64, a number of bytes, but is "64"}}
func.func private @arena() attributes {cp.arena = "64"}

// -----

// expected-error @below {{attribute 'cp.device_threads' must be an i64, a number of threads, but is "64"}}
func.func private @threads() attributes {cp.device_threads = "64"}

// -----

// expected-error @below {{attribute 'cp.name' must be a string, but is 1 : i64}}
func.func private @name(tensor<2xf32> {cp.name = 1 : i64})

// -----

// expected-error @below {{attribute 'cp.name' must be a string, but is unit}}
func.func private @name_of_result() -> (tensor<2xf32> {cp.name})

// -----

// expected-error @below {{attribute 'cp.param' must be a string, but is true}}
func.func private @param(tensor<2xf32> {cp.param = true})

// -----

// expected-error @below {{attribute 'cp.init' must be a dictionary, but is "ids"}}
func.func private @init(tensor<2xf32> {cp.init = "ids"})

// -----

// expected-error @below {{attribute 'cp.sequence' must be an i64, a dimension, but is "1"}}
func.func private @sequence(tensor<2xf32> {cp.sequence = "1"})

// -----

// expected-error @below {{attribute 'cp.sequence' must be an i64, a dimension, but is true}}
func.func private @sequence_bool(tensor<2xf32> {cp.sequence = true})

// -----

// expected-error @below {{attribute 'cp.sequence' must be an i64, a dimension, but is 1 : i128}}
func.func private @sequence_wide(tensor<2xf32> {cp.sequence = 1 : i128})

// -----

// expected-error @below {{attribute 'cp.layout' must be a #cp.layout, but is #cp.mesh<"cp" = 4>}}
func.func private @layout(tensor<2xf32> {cp.layout = #cp.mesh<"cp" = 4>})

// -----

// expected-error @below {{has the unknown attribute 'cp.weight'; an argument or result can have cp.name, cp.param, cp.init, cp.sequence, cp.length, cp.layout, cp.value, cp.gradient, cp.cotangent, cp.residual, cp.updates, cp.state, cp.accumulates and cp.no_decay}}
func.func private @unknown(tensor<2xf32> {cp.weight = "w"})

// -----

// expected-error @below {{has the unknown attribute 'cp.views'; a function can have cp.view, cp.arena, cp.device_threads and cp.training_only, an op cp.number, cp.repeated, cp.recomputed and cp.parallel}}
func.func private @unknown_of_function() attributes {cp.views = "local"}

// -----

// What belongs on an argument would be ignored on the function.
// expected-error @below {{has the unknown attribute 'cp.sequence'}}
func.func private @misplaced(tensor<2xf32>) attributes {cp.sequence = 1 : i64}

// -----

// expected-error @below {{has the unknown attribute 'cp.view'}}
func.func private @misplaced_view(tensor<2xf32> {cp.view = "local"})

// -----

func.func @inner(%x: tensor<2xf32>) {
  // expected-error @below {{'arith.addf' op has the unknown attribute 'cp.name'}}
  %0 = arith.addf %x, %x {cp.name = "x"} : tensor<2xf32>
  return
}

// -----

func.func @numbered(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{attribute 'cp.number' must be an i64, but is "one"}}
  %0 = math.exp %x {cp.number = "one"} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @repeated(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{attribute 'cp.repeated' must be array<i64: dim, unit, times>, the last two positive, but is array<i64: 0, 0, 2>}}
  %0 = math.exp %x {cp.repeated = array<i64: 0, 0, 2>} : tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// expected-error @below {{attribute 'cp.value' must be a dictionary, but is 3}}
func.func private @value(tensor<4xf32>) -> (tensor<4xf32> {cp.value = 3 : i64})

// -----

func.func @parallel(%x: tensor<4xf32>) {
  // expected-error @below {{attribute 'cp.parallel' must be "columns" or "rows", but is "both"}}
  %0 = math.exp %x {cp.parallel = "both"} : tensor<4xf32>
  return
}
