//===- Blas.h - Products of matrices by cuBLAS -------------------*- C++
//-*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CUDA_BLAS_H
#define CP_KERNELS_CUDA_BLAS_H

#include "Kernels.h"

#include <memory>

namespace cp::kernels::cuda {

struct BlasFunctions;

/// A handle of cuBLAS for one stream. The library is loaded when the first is
/// opened, and stays so.
class Blas {
public:
  /// Null, or a text that says what to do where there is no cuBLAS. `stream` is
  /// a cudaStream_t of the current device.
  static const char *open(void *stream, std::unique_ptr<Blas> &made);
  Blas(const Blas &) = delete;
  Blas &operator=(const Blas &) = delete;
  ~Blas();

  /// `matmul` or `contract_rows`, on buffers of the device. Null, or what does
  /// not fit or went wrong. Sums of bf16 and f32 are in f32, without tf32.
  const char *run(const char *op, DType dtype, const Call &call);

private:
  Blas(void *handle, void *stream) : handle(handle), stream(stream) {}

  void *handle;
  void *stream;
  void *workspace = nullptr;
};

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_BLAS_H
