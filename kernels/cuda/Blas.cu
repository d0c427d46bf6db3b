//===- Blas.cu - Products of matrices by cuBLAS ---------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// cuBLAS knows matrices by columns: a matrix by rows is its own transpose
// there, so C = A W is asked for as C' = W' A'.
//
//===----------------------------------------------------------------------===//

#include "Blas.h"

#include "Arguments.h"
#include "CudaKernels.h"
#include "Launch.h"
#include "OpArguments.h"

#include <dlfcn.h>
#include <library_types.h>
#include <string>

namespace cp::kernels::cuda {

//===----------------------------------------------------------------------===//
// The library
//===----------------------------------------------------------------------===//

// As of cublas_api.h, whose numbers do not change: so that only who multiplies
// needs cuBLAS, and nobody its headers.
constexpr int noTranspose = 0, transpose = 1;
constexpr int computeF32 = 68, computeF64 = 70;
constexpr int anyAlgorithm = -1;
/// Parts of a sum of bf16 are added up in f32 too, which is not the default.
constexpr int wholePrecision = 16;

struct BlasFunctions {
  int (*create)(void **handle);
  int (*destroy)(void *handle);
  int (*setStream)(void *handle, void *stream);
  int (*setWorkspace)(void *handle, void *workspace, size_t bytes);
  int (*setMathMode)(void *handle, int mode);
  const char *(*statusText)(int status);
  int (*gemm)(void *handle, int transA, int transB, int m, int n, int k,
              const void *alpha, const void *a, cudaDataType aType, int lda,
              long long aStride, const void *b, cudaDataType bType, int ldb,
              long long bStride, const void *beta, void *c, cudaDataType cType,
              int ldc, long long cStride, int batch, int compute,
              int algorithm);
};

static const BlasFunctions *loadFunctions() {
  void *library = nullptr;
  for (const char *name :
       {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"})
    if (!library)
      library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return nullptr;
  static BlasFunctions functions;
  bool isWhole = true;
  auto find = [&](auto &function, const char *name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
        dlsym(library, name));
    isWhole &= function != nullptr;
  };
  find(functions.create, "cublasCreate_v2");
  find(functions.destroy, "cublasDestroy_v2");
  find(functions.setStream, "cublasSetStream_v2");
  find(functions.setWorkspace, "cublasSetWorkspace_v2");
  find(functions.setMathMode, "cublasSetMathMode");
  find(functions.statusText, "cublasGetStatusString");
  find(functions.gemm, "cublasGemmStridedBatchedEx");
  return isWhole ? &functions : nullptr;
}

static const BlasFunctions *functions() {
  static const BlasFunctions *loaded = loadFunctions();
  return loaded;
}

const char *Blas::open(void *stream, std::unique_ptr<Blas> &made) {
  if (!functions())
    return "no libcublas.so.13, .12 or .11 is found, which products of "
           "matrices "
           "take; install cuBLAS, or put its folder into LD_LIBRARY_PATH";
  void *handle = nullptr;
  if (int status = functions()->create(&handle))
    return fail("cublasCreate: %s", functions()->statusText(status));
  std::unique_ptr<Blas> opened(new Blas(handle, stream));
  if (int status = functions()->setStream(handle, stream))
    return fail("cublasSetStream: %s", functions()->statusText(status));
  if (int status = functions()->setMathMode(handle, wholePrecision))
    return fail("cublasSetMathMode: %s", functions()->statusText(status));
  // As much as it takes on sm_90 by itself. Of a handle that has its own, which
  // algorithm is taken does not depend on whether the stream is captured.
  constexpr size_t bytes = 32 << 20;
  if (cudaMallocAsync(&opened->workspace, bytes, cudaStream_t(stream)) !=
      cudaSuccess) {
    (void)cudaGetLastError();
    opened->workspace = nullptr;
    return outOfMemory("cuBLAS");
  }
  if (int status = functions()->setWorkspace(handle, opened->workspace, bytes))
    return fail("cublasSetWorkspace: %s", functions()->statusText(status));
  made = std::move(opened);
  return nullptr;
}

Blas::~Blas() {
  functions()->destroy(handle);
  if (workspace)
    (void)cudaFreeAsync(workspace, cudaStream_t(stream));
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

namespace {
/// `rows` x `columns` numbers, `batch` times: those of a row lie one behind the
/// other, rows `stride` apart.
struct Matrix {
  void *data;
  DType dtype;
  int64_t rows, columns, stride, batchStride;
};

/// C[m, n] = op(A) op(W) (+ C).
struct Product {
  Matrix a, w, c;
  bool transA, transW, accumulate;
  int64_t m, n, k, batch;
};
} // namespace

static cudaDataType typeOf(DType dtype) {
  return dtype == DType::F64   ? CUDA_R_64F
         : dtype == DType::F32 ? CUDA_R_32F
                               : CUDA_R_16BF;
}

/// What cuBLAS counts in 32 bits.
static bool fits(const Product &product) {
  for (int64_t size : {product.m, product.n, product.k, product.batch,
                       product.a.stride, product.w.stride, product.c.stride})
    if (size > INT32_MAX)
      return false;
  return true;
}

static const char *multiply(void *handle, const Product &product) {
  if (!product.m || !product.n || !product.batch)
    return nullptr;
  if (!fits(product))
    return "matmul: a size is more than 32 bits count; use more ranks or a "
           "shorter sequence";
  bool isWide = product.a.dtype == DType::F64;
  double wide[] = {1, product.accumulate ? 1.0 : 0.0};
  float narrow[] = {1, product.accumulate ? 1.0f : 0.0f};
  auto number = [&](int i) -> const void * {
    return isWide ? static_cast<const void *>(&wide[i]) : &narrow[i];
  };
  // A leading dimension is at least that of what it leads, where there is none.
  auto lead = [](const Matrix &matrix) {
    return int(
        std::max<int64_t>(matrix.stride, std::max<int64_t>(matrix.columns, 1)));
  };
  int status = functions()->gemm(
      handle, product.transW ? transpose : noTranspose,
      product.transA ? transpose : noTranspose, int(product.n), int(product.m),
      int(product.k), number(0), product.w.data, typeOf(product.w.dtype),
      lead(product.w), product.w.batchStride, product.a.data,
      typeOf(product.a.dtype), lead(product.a), product.a.batchStride,
      number(1), product.c.data, typeOf(product.c.dtype), lead(product.c),
      product.c.batchStride, int(product.batch),
      isWide ? computeF64 : computeF32, anyAlgorithm);
  return status ? fail("cublasGemmStridedBatchedEx: %s",
                       functions()->statusText(status))
                : nullptr;
}

/// Rows of tensors of any rank, whose leading sizes are the same: as matrices
/// of a batch, where they can be seen so.
static bool asBatch(const Buffer *const (&tensors)[2], int64_t &batch,
                    int64_t &rows, int64_t (&strides)[2],
                    int64_t (&batchStrides)[2]) {
  batch = rows = 1;
  int levels = 0;
  for (int i = 0; i < 2; ++i)
    strides[i] = batchStrides[i] = 0;
  for (int dim = tensors[0]->rank - 1; dim-- > 0;) {
    int64_t size = tensors[0]->sizes[dim];
    if (size == 1)
      continue;
    bool goesOn = levels > 0;
    for (int i = 0; i < 2; ++i) {
      int64_t stride = tensors[i]->strides[dim];
      int64_t inner = levels == 2 ? batch * batchStrides[i] : rows * strides[i];
      goesOn &= stride == inner;
    }
    if (goesOn) {
      (levels == 2 ? batch : rows) *= size;
      continue;
    }
    if (++levels > 2)
      return false;
    (levels == 2 ? batch : rows) = size;
    for (int i = 0; i < 2; ++i)
      (levels == 2 ? batchStrides : strides)[i] = tensors[i]->strides[dim];
  }
  return true;
}

/// A copy in row-major order.
static const char *packed(const Buffer &from, Workspace &workspace,
                          int64_t (&strides)[maxRank], Buffer &to,
                          void *stream) {
  int64_t count = 1;
  for (int dim = from.rank; dim-- > 0;) {
    strides[dim] = count;
    count *= from.sizes[dim];
  }
  to = from;
  to.strides = strides;
  to.data = workspace.allocate(size_t(count) * elementBytes(from.dtype));
  if (!to.data)
    return outOfMemory("matmul");
  return copy({&from, 1, &to, 1, nullptr, 0}, stream);
}

namespace {
/// Two tensors of a call, each as it is or packed.
class Rows {
public:
  explicit Rows(void *stream) : workspace(stream), stream(stream) {}

  /// Null, or what is wrong.
  const char *read(const Buffer &first, const Buffer &second) {
    tensors[0] = first;
    tensors[1] = second;
    const Buffer *both[] = {&tensors[0], &tensors[1]};
    bool isFine = asBatch(both, batch, rows, strides, batchStrides);
    for (const Buffer &tensor : tensors)
      isFine &= lastIsDense(tensor);
    if (isFine)
      return nullptr;
    hasCopies = true;
    for (int i = 0; i < 2; ++i)
      if (const char *message = packed(i ? second : first, workspace,
                                       denseStrides[i], tensors[i], stream))
        return message;
    asBatch(both, batch, rows, strides, batchStrides);
    return nullptr;
  }
  /// Brings the second one back, where it is a copy.
  const char *bringBack(const Buffer &second) {
    if (!hasCopies)
      return nullptr;
    return copy({&tensors[1], 1, &second, 1, nullptr, 0}, stream);
  }
  Matrix at(int i) const {
    int64_t columns = tensors[i].sizes[tensors[i].rank - 1];
    return {tensors[i].data,
            tensors[i].dtype,
            rows,
            columns,
            rows == 1 ? columns : strides[i],
            batchStrides[i]};
  }

  int64_t batch = 1, rows = 1;

private:
  static bool lastIsDense(const Buffer &tensor) {
    int last = tensor.rank - 1;
    return tensor.sizes[last] == 1 || tensor.strides[last] == 1;
  }

  Workspace workspace;
  void *stream;
  bool hasCopies = false;
  Buffer tensors[2];
  int64_t strides[2], batchStrides[2], denseStrides[2][maxRank];
};
} // namespace

template <typename T>
static const char *matmul(const Call &call, void *handle, void *stream) {
  MatmulBuffers<T> from;
  if (const char *message = decode(call, from))
    return message;
  const Buffer &c = *from.c;
  Rows rows(stream);
  if (const char *message = rows.read(*from.a, c))
    return message;
  Workspace workspace(stream);
  Buffer weights = call.ins[1];
  int64_t strides[maxRank];
  if (from.w.strides[1] != 1 && weights.sizes[1] != 1)
    if (const char *message =
            packed(call.ins[1], workspace, strides, weights, stream))
      return message;
  Matrix second = {weights.data,     weights.dtype,      weights.sizes[0],
                   weights.sizes[1], weights.strides[0], 0};
  Product product = {rows.at(0),      second,          rows.at(1), false,
                     from.transposed, from.accumulate, rows.rows,  from.n,
                     from.k,          rows.batch};
  if (const char *message = multiply(handle, product))
    return message;
  return rows.bringBack(c);
}

/// Whether a matrix lies by columns, in which cuBLAS reads it as well.
static bool isByColumns(const Buffer &matrix) {
  return matrix.rank == 2 && matrix.strides[0] == 1 && matrix.strides[1] > 1;
}

/// A matrix as it lies: of its transpose where it lies by columns.
static Matrix asItLies(const Buffer &matrix) {
  int rows = isByColumns(matrix);
  return {matrix.data,         matrix.dtype,         matrix.sizes[rows],
          matrix.sizes[!rows], matrix.strides[rows], 0};
}

/// contract_rows of matrices of which one lies by columns, into a dense one.
template <typename T>
static const char *contractMatrices(const Call &call,
                                    const ContractRowsBuffers<T> &from,
                                    void *handle) {
  const Buffer &a = *from.a, &b = *from.b, &c = call.outs[0];
  Matrix sums = {c.data, c.dtype, from.m, from.n, c.strides[0], 0};
  return multiply(handle, {asItLies(a), asItLies(b), sums, !isByColumns(a),
                           isByColumns(b), from.accumulate, from.m, from.n,
                           a.sizes[0], 1});
}

template <typename T>
static const char *contractRows(const Call &call, void *handle, void *stream) {
  ContractRowsBuffers<T> from;
  if (const char *message = decode(call, from))
    return message;
  auto isMatrix = [](const Buffer &buffer) {
    return isByColumns(buffer) || (buffer.rank == 2 && buffer.strides[1] == 1);
  };
  if ((isByColumns(*from.a) || isByColumns(*from.b)) && isMatrix(*from.a) &&
      isMatrix(*from.b) && from.c.strides[1] == 1)
    return contractMatrices(call, from, handle);
  Rows rows(stream);
  if (const char *message = rows.read(*from.a, *from.b))
    return message;
  Matrix first = rows.at(0), second = rows.at(1);
  Workspace workspace(stream);
  Buffer sums = call.outs[0];
  int64_t strides[maxRank];
  bool isDense = from.c.strides[1] == 1 || from.n == 1;
  if (!isDense)
    if (const char *message =
            packed(call.outs[0], workspace, strides, sums, stream))
      return message;
  Matrix result = {sums.data, sums.dtype, from.m, from.n, sums.strides[0], 0};
  // Sums over a batch are one behind the other; that of no rows is 0.
  int64_t batch = std::max<int64_t>(rows.batch, 1);
  int64_t depth = rows.batch ? rows.rows : 0;
  for (int64_t i = 0; i < batch; ++i) {
    Matrix here = first, there = second;
    auto step = int64_t(elementBytes(first.dtype));
    here.data = static_cast<char *>(first.data) + i * first.batchStride * step;
    there.data =
        static_cast<char *>(second.data) + i * second.batchStride * step;
    if (const char *message = multiply(handle, {here, there, result, true,
                                                false, from.accumulate || i > 0,
                                                from.m, from.n, depth, 1}))
      return message;
  }
  if (isDense)
    return nullptr;
  return copy({&sums, 1, &call.outs[0], 1, nullptr, 0}, stream);
}

const char *Blas::run(const char *op, DType dtype, const Call &call) {
  bool isRows = std::string(op) == "contract_rows";
  switch (dtype) {
  case DType::F32:
    return isRows ? contractRows<float>(call, handle, stream)
                  : matmul<float>(call, handle, stream);
  case DType::F64:
    return isRows ? contractRows<double>(call, handle, stream)
                  : matmul<double>(call, handle, stream);
  default:
    return isRows ? contractRows<BFloat16>(call, handle, stream)
                  : matmul<BFloat16>(call, handle, stream);
  }
}

} // namespace cp::kernels::cuda
