// RUN: %cp-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{expected ::cp::ScanAlgorithm to be one of: chain, gather}}
// expected-error @below {{failed to parse CP_ScanAlgorithmAttr}}
func.func private @unknown() attributes {test.a = #cp.scan_algorithm<tree>}
