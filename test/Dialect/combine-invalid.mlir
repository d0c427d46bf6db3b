// RUN: %cp-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{combine_c1: the symbol is empty; name the runtime's function that combines two summaries}}
func.func private @combine_c1() attributes {f = #cp.combine<"", batch_dims = 1>}

// -----

// expected-error @below {{combine_c1: batch_dims must be at least 0, but is -1}}
func.func private @dims() attributes {f = #cp.combine<"f", batch_dims = -1>}

// -----

// expected-error @below {{combine_c1: the symbol must not end in "_with", but is "f_with"; name the function otherwise}}
func.func private @combine_c1_with() attributes {f = #cp.combine<"f_with", batch_dims = 1>}
