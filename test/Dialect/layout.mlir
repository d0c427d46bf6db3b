// RUN: cp-opt %s --verify-roundtrip | %cp-opt | FileCheck %s
// RUN: %cp-opt %s --emit-bytecode | %cp-opt | FileCheck %s

#mesh = #cp.mesh<"ring" = 2, "u" = 4>

// Defaults are not printed: contiguous order, units of one, no partial axes.
// CHECK-DAG: #[[MESH:mesh.*]] = #cp.mesh<"ring" = 2, "u" = 4>
// CHECK-DAG: #[[SEQUENCE:layout.*]] = #cp.layout<#[[MESH]], [{}, {"ring" zigzag, "u"}, {}]>
// CHECK-DAG: #[[HEADS:layout.*]] = #cp.layout<#[[MESH]], [{}, {}, {"u" : 64}], partial = {"ring"}>
// CHECK-DAG: #[[SCALAR:layout.*]] = #cp.layout<#[[MESH]], []>
// CHECK-DAG: #[[BOTH:layout.*]] = #cp.layout<#[[MESH]], [{"u" zigzag : 3}]>
// CHECK-DAG: #[[SUM:layout.*]] = #cp.layout<#[[MESH]], [{}], partial = {"ring", "u"}>
// CHECK-DAG: #[[STRIPED:layout.*]] = #cp.layout<#[[MESH]], [{"ring" striped, "u" striped : 4}]>
#striped = #cp.layout<#mesh, [{"ring" striped : 1, "u" striped : 4}]>
#sequence = #cp.layout<#mesh, [{}, {"ring" zigzag, "u" contiguous : 1}, {} ]>
#heads = #cp.layout<#mesh, [{}, {}, {"u" : 64} ], partial = {"ring"}>
#scalar = #cp.layout<#mesh, []>
#both = #cp.layout<#mesh, [{"u" zigzag : 3} ], partial = {}>
// Partial axes come in any order and are kept in the mesh's.
#sum = #cp.layout<#mesh, [{} ], partial = {"u", "ring"}>

// CHECK: @sequence(tensor<1x64x512xf32, #[[SEQUENCE]]>)
func.func private @sequence(tensor<1x64x512xf32, #sequence>)
// CHECK: @heads(tensor<1x64x512xf32, #[[HEADS]]>)
func.func private @heads(tensor<1x64x512xf32, #heads>)
// CHECK: @scalar(tensor<f32, #[[SCALAR]]>)
func.func private @scalar(tensor<f32, #scalar>)
// CHECK: @both(tensor<24xf32, #[[BOTH]]>)
func.func private @both(tensor<24xf32, #both>)
// CHECK: @striped(tensor<64xf32, #[[STRIPED]]>)
func.func private @striped(tensor<64xf32, #striped>)
// CHECK: @sum(tensor<7xf32, #[[SUM]]>)
func.func private @sum(tensor<7xf32, #sum>)
// A dimension that is not cut may be dynamic or empty.
// CHECK: @free(tensor<?x8x0xf32, #[[SEQUENCE]]>)
func.func private @free(tensor<?x8x0xf32, #sequence>)
// CHECK: @empty(tensor<1x0x3xf32, #[[SEQUENCE]]>)
func.func private @empty(tensor<1x0x3xf32, #sequence>)
