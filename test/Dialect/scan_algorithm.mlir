// RUN: cp-opt %s --verify-roundtrip | %cp-opt | FileCheck %s
// RUN: %cp-opt %s --emit-bytecode | %cp-opt | FileCheck %s

// CHECK: @chain() attributes {test.a = #cp.scan_algorithm<chain>}
func.func private @chain() attributes {test.a = #cp.scan_algorithm<chain>}
// CHECK: @gather() attributes {test.a = #cp.scan_algorithm<gather>}
func.func private @gather() attributes {test.a = #cp.scan_algorithm<gather>}
