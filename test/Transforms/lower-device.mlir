// RUN: %cp-opt %s '--cp-lower-pipeline=device=true' | FileCheck %s
// RUN: %cp-opt %s --cp-lower-pipeline | FileCheck %s --check-prefix=HOST

// With a device a launch names a record: the code for the host, that for the
// device, its name, its buffers and its threads. A constant is asked for.

// CHECK-NOT:  {{^  %}}
// CHECK:      llvm.func @cprt_launch_kernel(!llvm.ptr, !llvm.ptr, !llvm.ptr, !llvm.ptr)
// CHECK-NEXT: llvm.mlir.global internal constant @cp_record_cp_kernel_0() {{.*}} : !llvm.struct<(ptr, ptr, ptr, i64, i64)> {
// CHECK-DAG:    llvm.mlir.addressof @cp_kernel_0
// CHECK-DAG:    llvm.mlir.addressof @cp_device_code
// CHECK-DAG:    llvm.mlir.constant(3 : i64)
// CHECK-DAG:    llvm.mlir.constant(8 : i64)
// CHECK:      llvm.mlir.global internal constant @cp_constant_1(dense<[99, 112,
// CHECK:      llvm.mlir.global external constant @cp_device_code() {{.*}} : !llvm.array<0 x i8>
// CHECK:      llvm.mlir.global internal constant @cp_operations_0(
// CHECK-LABEL: llvm.func @main(
// CHECK:        %[[LIST:.*]] = llvm.mlir.addressof @cp_operations_0
// CHECK:        llvm.call @cprt_require(%{{.*}}, %[[LIST]])
// CHECK:        %[[RECORD:.*]] = llvm.mlir.addressof @cp_record_cp_kernel_0
// CHECK:        llvm.call @cprt_launch_kernel(%{{.*}}, %{{.*}}, %[[RECORD]], %{{.*}})
// CHECK:      module @cp_device
// CHECK:        llvm.func @cp_kernel_0(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr
// CHECK:          nvvm.read.ptx.sreg.tid.x

// HOST-NOT: cprt_launch_kernel
// HOST-NOT: cp_device
// HOST:     llvm.call @cprt_launch(
func.func @main(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %0 = arith.addf %x, %y : tensor<8xf32>
  %1 = math.exp %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}
