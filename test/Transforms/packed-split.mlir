// RUN: %cp-opt %s --cp-shard-pipeline | FileCheck %s
// RUN: sed 's/cp.name = "x"/cp.param = "x"/' %s | %cp-opt --cp-shard-pipeline="gradients=cotangents differentiate=local" | FileCheck %s --check-prefix=GRAD

// Packed rows that a ring cuts per document, and Ulysses cuts once more: first the
// ring, then the other axis, and back the other way. Places are those of the parts.

// CHECK-LABEL: @split
// CHECK-SAME: %[[X:.*]]: tensor<1x30x2xf32> {{.*}}, %[[CU:[^:]*]]: tensor<1x4xi32>
// CHECK: %[[PLACES:.*]] = cp.cut_positions documents(%[[CU]] : tensor<1x4xi32>) alike ["ring", "u"] over ["ring" contiguous_per_document] of #mesh : tensor<1x10xi64>
// CHECK: %[[RING:.*]] = cp.slice %[[X]] over ["ring"] of #mesh {dim = 1 : i64} : tensor<1x30x2xf32> -> tensor<1x10x2xf32>
// CHECK: %[[PACKED:.*]] = cp.reorder %[[RING]] documents(%[[CU]] : tensor<1x4xi32>) from ["ring"] to ["ring" contiguous_per_document] of #mesh {dim = 1 : i64} : tensor<1x10x2xf32>
// CHECK: %[[PART:.*]] = cp.slice %[[PACKED]] over ["u"] of #mesh {dim = 1 : i64} : tensor<1x10x2xf32> -> tensor<1x5x2xf32>
// CHECK: %[[TANH:.*]] = math.tanh %[[PART]]
// CHECK: %[[OWN:.*]] = cp.slice %[[PLACES]] over ["u"] of #mesh {dim = 1 : i64} : tensor<1x10xi64> -> tensor<1x5xi64>
// CHECK: %[[BACK:.*]]:2 = cp.all_gather %[[TANH]], %[[OWN]] over ["u"]
// CHECK: %[[ROWS:.*]] = cp.reorder %[[BACK]]#0 documents(%[[CU]] : tensor<1x4xi32>) from ["ring" contiguous_per_document] to ["ring"]
// CHECK: %[[ALL:.*]] = cp.all_gather %[[ROWS]] over ["ring"]
// CHECK: return %[[ALL]], %{{.*}}

// GRAD: math.tanh
// GRAD: cp.reorder {{.*}} from ["ring"] to ["ring" contiguous_per_document]
// GRAD: cp.reorder {{.*}} from ["ring" contiguous_per_document] to ["ring"]

#mesh = #cp.mesh<"ring" = 3, "u" = 2>
#whole = #cp.layout<#mesh, [{}, {}, {}]>
#packed = #cp.layout<#mesh, [{}, {"ring" contiguous_per_document, "u"}, {}]>
#lists = #cp.layout<#mesh, [{}, {}]>
#places = #cp.layout<#mesh, [{}, {"ring" contiguous_per_document, "u"}]>

func.func @split(%x: tensor<1x30x2xf32, #whole> {cp.name = "x"},
    %cu_seqlens: tensor<1x4xi32, #lists> {cp.name = "cu_seqlens"})
    -> (tensor<1x30x2xf32, #whole>, tensor<1x30xi64, #lists>)
    attributes {cp.view = "global"} {
  %parts = cp.reshard %x
      : tensor<1x30x2xf32, #whole> to tensor<1x30x2xf32, #packed>
  %0 = math.tanh %parts : tensor<1x30x2xf32, #packed>
  %places = cp.positions documents(%cu_seqlens : tensor<1x4xi32, #lists>)
      : tensor<1x30xi64, #places>
  %1 = cp.reshard %0 : tensor<1x30x2xf32, #packed> to tensor<1x30x2xf32, #whole>
  %2 = cp.reshard %places : tensor<1x30xi64, #places> to tensor<1x30xi64, #lists>
  return %1, %2 : tensor<1x30x2xf32, #whole>, tensor<1x30xi64, #lists>
}
