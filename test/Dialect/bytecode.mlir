// The bytecode of the dialect holds its version, and ops of a later one are
// refused with a message. (Attributes travel as text.)
// RUN: %cp-opt %s --emit-bytecode -o %t
// RUN: %cp-opt %t | FileCheck %s
// RUN: %python %S/Inputs/raise_version.py %t %t.later
// RUN: not %cp-opt %t.later 2>&1 | FileCheck %s --check-prefix=LATER
// LATER: this file holds version 127 of the cp dialect, this build reads up to 1; use a newer build, or write the file as text

#mesh = #cp.mesh<"cp" = 4>
// CHECK: #layout = #cp.layout<#mesh, [{"cp" zigzag : 2}]>
#layout = #cp.layout<#mesh, [{"cp" zigzag : 2}]>
// CHECK: func.func @f
// CHECK: cp.reshard %{{.*}} : tensor<32xf32> to tensor<32xf32, #layout>
func.func @f(%x: tensor<32xf32>) {
  %0 = cp.reshard %x : tensor<32xf32> to tensor<32xf32, #layout>
  return
}
