// RUN: cp-opt %s --verify-roundtrip | %cp-opt | FileCheck %s
// RUN: %cp-opt %s --emit-bytecode | %cp-opt | FileCheck %s

// An attribute of a mesh prints under an alias.
// CHECK-DAG: #[[TWO:mesh.*]] = #cp.mesh<"dp" = 2, "cp" = 4>
// CHECK-DAG: #[[ONE:mesh.*]] = #cp.mesh<"cp" = 1>
// CHECK-DAG: #[[MOST:mesh.*]] = #cp.mesh<"cp" = 2147483648>
// CHECK-DAG: #[[NONE:mesh.*]] = #cp.mesh<>
#mesh = #cp.mesh<"dp" = 2, "cp" = 4>

// CHECK: @two_axes() attributes {test.mesh = #[[TWO]]}
func.func private @two_axes() attributes {test.mesh = #mesh}

// CHECK: @one_rank() attributes {test.mesh = #[[ONE]]}
func.func private @one_rank() attributes {test.mesh = #cp.mesh<"cp" = 1>}

// CHECK: @most_ranks() attributes {test.mesh = #[[MOST]]}
func.func private @most_ranks()
    attributes {test.mesh = #cp.mesh<"cp" = 2147483648>}

// CHECK: @no_axes() attributes {test.mesh = #[[NONE]]}
func.func private @no_axes() attributes {test.mesh = #cp.mesh<>}
