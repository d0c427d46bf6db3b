//===- Launch.h - Starting a kernel -----------------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CUDA_LAUNCH_H
#define CP_KERNELS_CUDA_LAUNCH_H

#include "Arguments.h"
#include "CudaKernels.h"
#include "Device.h"
#include "ScratchStack.h"

#include <type_traits>

#ifdef __CUDACC__
#include <cuda_runtime.h>
#endif

namespace cp::kernels::cuda {

struct Grid {
  int64_t x = 1, y = 1, z = 1;
  /// So many blocks side by side along x are a cluster; a divisor of x.
  int cluster = 1;

  bool isEmpty() const { return !x || !y || !z; }
};

/// Null, or that a grid has more blocks than cards take.
inline const char *checked(const char *op, const Grid &grid) {
  if (grid.x <= 0x7fffffff && grid.y <= 65535 && grid.z <= 65535)
    return nullptr;
  return fail("%s: a grid of %lld x %lld x %lld blocks is more than a card "
              "takes; use larger chunks, or split the batch",
              op, (long long)grid.x, (long long)grid.y, (long long)grid.z);
}

/// What a kernel without shared memory says it has there.
struct Nothing {};

/// Device memory for the length of a call, of what workIn says: freed, in the
/// order of the stream, behind what was started before.
class Workspace {
public:
  explicit Workspace(void *stream);
  ~Workspace();
  Workspace(const Workspace &) = delete;
  Workspace &operator=(const Workspace &) = delete;
  /// Null where there is none left. To be called eight times at most. Starts at
  /// a multiple of 256 bytes.
  void *allocate(size_t bytes);
  /// The same with a copy of words of the host's, which may be written over
  /// when this returns. Null too where they could not be brought.
  int64_t *upload(const int64_t *words, size_t count);

private:
  void *stream;
  ScratchStack::Mark begin;
  /// Those that the stack had no room for.
  void *blocks[8] = {};
  int count = 0;
};

/// What a kernel can find wrong in its data.
enum class Fault : int64_t {
  None,
  Id,
  Rate,
  Step,
  Label,
  FirstDocument,
  NextDocument,
  LastDocument,
  OtherDocuments
};
/// Of the calling thread's kernels; see noteFaultsAt.
int64_t *faultRecord();

/// Notes a fault at a place, where none is noted yet.
CP_DEVICE void noteFault(int64_t *record, Fault what, int64_t where,
                         int64_t value) {
  if (!record)
    return;
#ifdef __CUDACC__
  using Word = unsigned long long;
  if (atomicCAS(reinterpret_cast<Word *>(record), Word(0), Word(what)) != 0)
    return;
#else
  if (*record)
    return;
  *record = int64_t(what);
#endif
  record[1] = where;
  record[2] = value;
}

/// By whom multiplyWith says.
const char *multiply(const char *op, DType dtype, const Call &call);

/// Of the device that is in use: its multiprocessors, and the bytes of shared
/// memory that a block may have.
int multiprocessors();
size_t mostSharedMemory();
template <typename Kernel> bool hasRoom() {
  return sizeof(typename Kernel::Shared) <= mostSharedMemory();
}

struct TensorMap;
/// Makes `map` describe a tensor of bf16 whose sizes, the last dimension's
/// first, and bytes between two of each dimension but the last are given, and
/// boxes of 64 of its last dimension and `rows` of the one before, each row of
/// which comes as PanelTile has it. False where that cannot be.
bool describeTensor(TensorMap &map, const void *data, const int64_t (&sizes)[4],
                    const int64_t (&strides)[3], int rows);

/// Of what a driver takes; what strides of 0 mean nobody says.
inline bool isDescribable(const void *data, const int64_t (&sizes)[4],
                          const int64_t (&strides)[3]) {
  bool fits = reinterpret_cast<uintptr_t>(data) % 16 == 0 && sizes[0] > 0;
  for (int i = 0; i < 3; ++i)
    fits = fits && sizes[i + 1] > 0 &&
           (sizes[i + 1] == 1 || (strides[i] > 0 && strides[i] % 16 == 0));
  return fits;
}

/// The call, whose buffers are not read to check it where they are on a card.
inline Call onDevice(Call call) {
#ifdef __CUDACC__
  call.isOnDevice = true;
#endif
  return call;
}

#ifdef __CUDACC__
template <typename Kernel>
__global__ void __launch_bounds__(Kernel::threads, Kernel::blocks)
    entry(const __grid_constant__ Kernel kernel) {
  kernel();
}

inline const char *checked(const char *op, cudaError_t status) {
  if (status == cudaSuccess)
    return nullptr;
  // Told once.
  (void)cudaGetLastError();
  return fail("%s: %s (%s)", op, cudaGetErrorString(status),
              cudaGetErrorName(status));
}

/// Lets blocks of this kernel have their shared memory. Each time, since it
/// holds for the device that is current.
template <typename Kernel> cudaError_t makeRoom() {
  size_t bytes = sizeof(typename Kernel::Shared);
  if (bytes <= 48 * 1024)
    return cudaSuccess;
  return cudaFuncSetAttribute(
      entry<Kernel>, cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes));
}

/// What a launch is told; `cluster` holds its attributes.
template <typename Kernel>
cudaLaunchConfig_t configOf(const Grid &grid, void *stream,
                            cudaLaunchAttribute &cluster) {
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {unsigned(grid.cluster), 1, 1};
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(unsigned(grid.x), unsigned(grid.y), unsigned(grid.z));
  config.blockDim = dim3(Kernel::threads);
  config.dynamicSmemBytes = sizeof(typename Kernel::Shared);
  config.stream = cudaStream_t(stream);
  config.attrs = &cluster;
  // Older cards refuse clusters even of one block.
  config.numAttrs = grid.cluster > 1 ? 1 : 0;
  return config;
}

/// How many clusters of so many blocks of a kernel, 2, 4 or 8, the card runs at
/// once: 0 on cards that have none, where what they run of it is code for such
/// cards, beyond `limitClusters`, and where the driver does not say. It is
/// asked once by each thread.
template <typename Kernel> int activeClusters(int blocks) {
  struct Known {
    int device, count;
  };
  static thread_local Known known[3] = {{-1, 0}, {-1, 0}, {-1, 0}};
  Known &mine = known[blocks >= 8 ? 2 : blocks / 4];
  int device = 0, count = 0;
  if (blocks > clusterLimit() || cudaGetDevice(&device) != cudaSuccess)
    return 0;
  if (mine.device == device)
    return mine.count;
  cudaFuncAttributes attributes;
  cudaLaunchAttribute cluster = {};
  Grid grid;
  grid.x = grid.cluster = blocks;
  cudaLaunchConfig_t config = configOf<Kernel>(grid, nullptr, cluster);
  bool isKnown =
      cudaFuncGetAttributes(&attributes, entry<Kernel>) == cudaSuccess;
  if (isKnown && attributes.ptxVersion >= 90)
    isKnown = makeRoom<Kernel>() == cudaSuccess &&
              cudaOccupancyMaxActiveClusters(&count, entry<Kernel>, &config) ==
                  cudaSuccess;
  if (!isKnown) {
    (void)cudaGetLastError();
    return 0;
  }
  mine = {device, count};
  return count;
}

/// Whether the code that this card runs of a kernel is for warpgroups.
template <typename Kernel> bool hasWarpgroups() {
#ifdef CP_CODE_FOR_SM_90A
  if (!multipliesByWarpgroups())
    return false;
  cudaFuncAttributes attributes;
  if (cudaFuncGetAttributes(&attributes, entry<Kernel>) == cudaSuccess)
    return attributes.ptxVersion == 90;
  (void)cudaGetLastError();
#endif
  return false;
}

template <typename Kernel>
const char *startBlocks(const char *op, const Kernel &kernel, const Grid &grid,
                        void *stream) {
  if (cudaError_t status = makeRoom<Kernel>(); status != cudaSuccess)
    return checked(op, status);
  cudaLaunchAttribute cluster = {};
  cudaLaunchConfig_t config = configOf<Kernel>(grid, stream, cluster);
  void *arguments[] = {const_cast<Kernel *>(&kernel)};
  return checked(op, cudaLaunchKernelExC(
                         &config, reinterpret_cast<const void *>(entry<Kernel>),
                         arguments));
}
#else
template <typename Kernel> int activeClusters(int blocks) {
  return blocks > clusterLimit() ? 0
                                 : Kernel::blocks * multiprocessors() / blocks;
}
template <typename Kernel> bool hasWarpgroups() {
  return multipliesByWarpgroups();
}

template <typename Kernel>
const char *startBlocks(const char *op, const Kernel &kernel, const Grid &grid,
                        void *stream) {
  if (!hasRoom<Kernel>())
    return fail("%s: a block takes more shared memory than there is", op);
  return exec::run(op, {grid.x, grid.y, grid.z, grid.cluster}, Kernel::threads,
                   sizeof(typename Kernel::Shared), [&] { kernel(); });
}
#endif

template <typename Kernel, typename = void>
constexpr bool isMadeForWarpgroups = false;
template <typename Kernel>
constexpr bool
    isMadeForWarpgroups<Kernel, std::void_t<decltype(Kernel::isOfWarpgroup)>> =
        Kernel::isOfWarpgroup;

/// Starts the blocks of a grid, of which there may be none.
template <typename Kernel>
const char *launch(const char *op, const Kernel &kernel, const Grid &grid,
                   void *stream) {
  if (grid.isEmpty())
    return nullptr;
  if (const char *message = checked(op, grid))
    return message;
  startedForms().clusters += grid.cluster > 1;
  startedForms().warpgroups += isMadeForWarpgroups<Kernel>;
  return startBlocks(op, kernel, grid, stream);
}

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_LAUNCH_H
