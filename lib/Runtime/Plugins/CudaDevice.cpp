//===- CudaDevice.cpp - Cards of NVIDIA as a device -----------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The plug-in libcprt_cuda.so. A queue is a stream; ranks of one process are
// spread over the cards in turn. The CUDA runtime is inside; the driver comes
// with the card, and cuBLAS is looked for when a program multiplies matrices.
//
//===----------------------------------------------------------------------===//

#include "Blas.h"
#include "CudaKernels.h"
#include "CudaLibraries.h"
#include "ScratchStack.h"
extern "C" {
#include "Room.h"
}

#include "cp/Runtime/cprt_device.h"

#include <atomic>
#include <cstdio>
#include <cuda_runtime.h>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

using namespace cp::kernels;

namespace {

/// The least card that kernels are for: compute capability 8.0.
constexpr int leastMajor = 8;

struct State {
  explicit State(int count) : queues(size_t(count)), streams(size_t(count)) {}
  ~State();

  /// Open ones that ranks have, by card.
  std::vector<std::atomic<int>> queues;
  /// Those of closed queues, for the next ones: an allocator of a caller's may
  /// know a stream for longer than its queue lives.
  std::vector<std::vector<cudaStream_t>> streams;
  std::mutex mutex;
};

struct Queue {
  State &state;
  int card;
  /// Whether it is one beside a rank's own.
  bool isBeside;
  cudaStream_t stream = nullptr;
  /// Marks the end of one stream for another to wait for; made on first use.
  cudaEvent_t passed = nullptr;
  /// What kernels find wrong, on the card, and a copy on the host; of a rank's.
  int64_t *faults = nullptr, *found = nullptr;
  std::unique_ptr<cuda::Blas> blas;
  /// What its kernels work with; a graph must not take any of it back.
  cuda::ScratchStack scratch;
  cp::runtime::Libraries libraries;
  std::string text;

  Queue(State &state, int card, bool isBeside = false)
      : state(state), card(card), isBeside(isBeside),
        scratch([this](size_t bytes) { return allocate(bytes); },
                [this](void *block) { release(block); }) {
    state.queues[size_t(card)] += !isBeside;
  }
  cprt_status open();
  cprt_status openStream();
  /// In the stream's order; null where there is none.
  void *allocate(size_t bytes);
  void release(void *block) { (void)cudaFreeAsync(block, stream); }
  ~Queue();
  cprt_status check(cudaError_t status, const char *what);
  /// That what `later` is given starts behind all that `earlier` has been
  /// given.
  cprt_status order(cudaStream_t earlier, cudaStream_t later);
  cprt_status fail(cprt_status status, const char *message) {
    text = message;
    return status;
  }
};

} // namespace

cprt_status Queue::check(cudaError_t status, const char *what) {
  if (status == cudaSuccess)
    return CPRT_OK;
  (void)cudaGetLastError();
  text = std::string(what) + ": " + cudaGetErrorString(status) + " (" +
         cudaGetErrorName(status) + ")";
  return status == cudaErrorMemoryAllocation ? CPRT_OUT_OF_MEMORY
                                             : CPRT_DEVICE_FAILED;
}

cprt_status Queue::open() {
  constexpr size_t bytes = cuda::faultWords * sizeof(int64_t);
  if (cprt_status status = check(cudaSetDevice(card), "cudaSetDevice"))
    return status;
  // Freed memory stays in the pool: programs take the same each step.
  cudaMemPool_t pool;
  uint64_t all = UINT64_MAX;
  if (cudaDeviceGetDefaultMemPool(&pool, card) == cudaSuccess)
    (void)cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all);
  if (cprt_status status = openStream())
    return status;
  if (cprt_status status = check(
          cudaMalloc(reinterpret_cast<void **>(&faults), bytes), "cudaMalloc"))
    return status;
  if (cprt_status status =
          check(cudaMallocHost(reinterpret_cast<void **>(&found), bytes),
                "cudaMallocHost"))
    return status;
  return check(cudaMemsetAsync(faults, 0, bytes, stream), "cudaMemset");
}

cprt_status Queue::openStream() {
  std::lock_guard<std::mutex> lock(state.mutex);
  if (std::vector<cudaStream_t> &spare = state.streams[size_t(card)];
      !spare.empty()) {
    stream = spare.back();
    spare.pop_back();
    return CPRT_OK;
  }
  return check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
               "cudaStreamCreate");
}

Queue::~Queue() {
  state.queues[size_t(card)] -= !isBeside;
  (void)cudaSetDevice(card);
  if (stream)
    (void)cudaStreamSynchronize(stream);
  blas.reset();
  scratch.clear();
  (void)cudaFree(faults);
  (void)cudaFreeHost(found);
  if (passed)
    (void)cudaEventDestroy(passed);
  (void)cudaGetLastError();
  if (!stream)
    return;
  std::lock_guard<std::mutex> lock(state.mutex);
  state.streams[size_t(card)].push_back(stream);
}

State::~State() {
  for (size_t card = 0; card < streams.size(); ++card)
    for (cudaStream_t stream : streams[card]) {
      (void)cudaSetDevice(int(card));
      (void)cudaStreamDestroy(stream);
    }
  (void)cudaGetLastError();
}

cprt_status Queue::order(cudaStream_t earlier, cudaStream_t later) {
  if (!passed)
    if (cprt_status status =
            check(cudaEventCreateWithFlags(&passed, cudaEventDisableTiming),
                  "cudaEventCreate"))
      return status;
  if (cprt_status status =
          check(cudaEventRecord(passed, earlier), "cudaEventRecord"))
    return status;
  return check(cudaStreamWaitEvent(later, passed), "cudaStreamWaitEvent");
}

void *Queue::allocate(size_t bytes) {
  void *block = nullptr;
  return check(cudaMallocAsync(&block, bytes ? bytes : 1, stream),
               "cudaMallocAsync") == CPRT_OK
             ? block
             : nullptr;
}

static Queue &at(void *opaque) {
  auto &queue = *static_cast<Queue *>(opaque);
  // A thread's own matter; it costs a comparison where it is the same.
  (void)cudaSetDevice(queue.card);
  return queue;
}

static cprt_status openQueue(void *opaque, int64_t number, void **made,
                             char *message, size_t capacity) {
  auto &state = *static_cast<State *>(opaque);
  auto queue = std::make_unique<Queue>(
      state, int(number % int64_t(state.queues.size())));
  cprt_status status = queue->open();
  if (status != CPRT_OK)
    std::snprintf(message, capacity, "card %d: %s", queue->card,
                  queue->text.c_str());
  else
    *made = queue.release();
  return status;
}

static void closeQueue(void *queue) { delete static_cast<Queue *>(queue); }

static void *allocate(void *queue, int64_t bytes) {
  return at(queue).allocate(size_t(bytes));
}

static void release(void *queue, void *pointer) { at(queue).release(pointer); }

static void *allocateHost(void *opaque, int64_t bytes) {
  Queue &queue = at(opaque);
  void *block = nullptr;
  if (queue.check(cudaMallocHost(&block, bytes ? size_t(bytes) : 1),
                  "cudaMallocHost") != CPRT_OK)
    return nullptr;
  return block;
}

static void releaseHost(void *opaque, void *pointer) {
  at(opaque);
  (void)cudaFreeHost(pointer);
}

/// A part of what the card has, and of what its pool keeps unused.
static int64_t freeBytes(void *opaque) {
  Queue &queue = at(opaque);
  size_t free = 0, all = 0;
  if (cudaMemGetInfo(&free, &all) != cudaSuccess) {
    (void)cudaGetLastError();
    return -1;
  }
  cudaMemPool_t pool;
  uint64_t reserved = 0, used = 0;
  if (cudaDeviceGetDefaultMemPool(&pool, queue.card) == cudaSuccess) {
    (void)cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent,
                                  &reserved);
    (void)cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used);
  }
  return int64_t(free + (reserved - used)) /
         queue.state.queues[size_t(queue.card)];
}

static bool isProduct(const char *op) {
  return std::string_view(op) == "matmul" ||
         std::string_view(op) == "contract_rows";
}

static int hasKernel(void *, const char *op, cprt_dtype dtype) {
  return isProduct(op) || cuda::findKernel(op, DType(dtype));
}

static Buffer bufferOf(const cprt_buffer &buffer) {
  return {buffer.data, DType(buffer.dtype), buffer.rank, buffer.sizes,
          buffer.strides};
}

static const char *multiply(void *queue, const char *op, DType dtype,
                            const Call &call) {
  return static_cast<Queue *>(queue)->blas->run(op, dtype, call);
}

/// Whether the card still runs what it is given, whatever is wrong with a call.
static bool isAlive(cudaStream_t stream) {
  cudaError_t status = cudaStreamQuery(stream);
  (void)cudaGetLastError();
  // In a capture there is nothing to be asked.
  return status == cudaSuccess || status == cudaErrorNotReady ||
         status == cudaErrorStreamCaptureUnsupported ||
         status == cudaErrorStreamCaptureInvalidated;
}

static cprt_status run(void *opaque, const cprt_device_call *call) {
  Queue &queue = at(opaque);
  std::vector<Buffer> buffers;
  for (size_t i = 0; i < call->num_ins; ++i)
    buffers.push_back(bufferOf(call->ins[i]));
  for (size_t i = 0; i < call->num_outs; ++i)
    buffers.push_back(bufferOf(call->outs[i]));
  Call made = {
      buffers.data(),     call->num_ins,    buffers.data() + call->num_ins,
      call->num_outs,     call->attributes, call->num_attributes,
      /*isOnDevice=*/true};
  cuda::noteFaultsAt(queue.faults);
  cuda::workIn(&queue.scratch);
  cuda::multiplyWith(multiply, &queue);
  auto dtype = DType(call->dtype);
  bool isOfBlas = isProduct(call->op);
  if (!queue.blas && (isOfBlas || cuda::multiplies(call->op)))
    if (const char *message = cuda::Blas::open(queue.stream, queue.blas))
      return queue.fail(CPRT_UNSUPPORTED, message);
  const char *message =
      isOfBlas ? multiply(&queue, call->op, dtype, made)
               : cuda::findKernel(call->op, dtype)(made, queue.stream);
  if (!message)
    return CPRT_OK;
  // A card that has failed says so in every call.
  return queue.fail(isAlive(queue.stream) ? CPRT_INVALID_ARGUMENT
                                          : CPRT_DEVICE_FAILED,
                    message);
}

static cprt_status launch(void *opaque, const cprt_kernel *kernel,
                          void *const *buffers) {
  Queue &queue = at(opaque);
  constexpr int64_t threads = 256, most = 128;
  if (!kernel->code)
    return queue.fail(CPRT_UNSUPPORTED,
                      "the program has no code for cards; compile it with "
                      "--device=cuda");
  int64_t blocks = (kernel->threads + threads - 1) / threads;
  if (kernel->num_buffers > most || blocks > INT32_MAX)
    return queue.fail(CPRT_UNSUPPORTED,
                      "a loop of the program has more buffers or elements than "
                      "a card takes; use more ranks");
  if (!blocks)
    return CPRT_OK;
  cudaKernel_t function = nullptr;
  if (cprt_status status = queue.check(queue.libraries.find(*kernel, function),
                                       "the program's code for cards"))
    return status;
  void *arguments[most];
  for (int64_t i = 0; i < kernel->num_buffers; ++i)
    arguments[i] = const_cast<void **>(&buffers[i]);
  return queue.check(cudaLaunchKernel(function, dim3(unsigned(blocks)),
                                      dim3(unsigned(threads)), arguments, 0,
                                      queue.stream),
                     kernel->name);
}

static cprt_status upload(void *opaque, void *to, const void *from,
                          int64_t bytes) {
  Queue &queue = at(opaque);
  // The driver has read what is not pinned when this returns.
  return queue.check(cudaMemcpyAsync(to, from, size_t(bytes),
                                     cudaMemcpyHostToDevice, queue.stream),
                     "a copy to the card");
}

static cprt_status download(void *opaque, void *to, const void *from,
                            int64_t bytes) {
  Queue &queue = at(opaque);
  return queue.check(cudaMemcpyAsync(to, from, size_t(bytes),
                                     cudaMemcpyDeviceToHost, queue.stream),
                     "a copy from the card");
}

static cprt_status synchronize(void *opaque) {
  Queue &queue = at(opaque);
  constexpr size_t bytes = cuda::faultWords * sizeof(int64_t);
  if (queue.isBeside)
    return queue.check(cudaStreamSynchronize(queue.stream), "the card");
  if (cprt_status status =
          queue.check(cudaMemcpyAsync(queue.found, queue.faults, bytes,
                                      cudaMemcpyDeviceToHost, queue.stream),
                      "a copy from the card"))
    return status;
  if (cprt_status status =
          queue.check(cudaStreamSynchronize(queue.stream), "the card"))
    return status;
  const char *message = cuda::faultText(queue.found);
  if (!message)
    return CPRT_OK;
  (void)cudaMemsetAsync(queue.faults, 0, bytes, queue.stream);
  return queue.fail(CPRT_INVALID_ARGUMENT, message);
}

static const char *error(void *queue) {
  return static_cast<Queue *>(queue)->text.c_str();
}

static cprt_status openBeside(void *opaque, void **made) {
  Queue &queue = at(opaque);
  auto beside = std::make_unique<Queue>(queue.state, queue.card,
                                        /*isBeside=*/true);
  cprt_status status = beside->openStream();
  if (status != CPRT_OK)
    return queue.fail(status, beside->text.c_str());
  *made = beside.release();
  return CPRT_OK;
}

static cprt_status record(void *opaque, void **event) {
  Queue &queue = at(opaque);
  auto &made = *reinterpret_cast<cudaEvent_t *>(event);
  if (!made)
    if (cprt_status status =
            queue.check(cudaEventCreateWithFlags(&made, cudaEventDisableTiming),
                        "cudaEventCreate"))
      return status;
  return queue.check(cudaEventRecord(made, queue.stream), "cudaEventRecord");
}

static cprt_status waitFor(void *opaque, void *event) {
  Queue &queue = at(opaque);
  return queue.check(
      cudaStreamWaitEvent(queue.stream, static_cast<cudaEvent_t>(event)),
      "cudaStreamWaitEvent");
}

static cprt_status query(void *opaque, void *event, int32_t *done) {
  Queue &queue = at(opaque);
  cudaError_t status = cudaEventQuery(static_cast<cudaEvent_t>(event));
  *done = status == cudaSuccess;
  if (status != cudaErrorNotReady)
    return queue.check(status, "the card");
  (void)cudaGetLastError();
  return CPRT_OK;
}

/// Of one card they do: nothing lets a card read another one's pools.
static int32_t sharesMemory(void *opaque, int64_t number, int64_t other) {
  auto cards = int64_t(static_cast<State *>(opaque)->queues.size());
  return number % cards == other % cards;
}

static cprt_status runAfter(void *opaque, void *stream) {
  Queue &queue = at(opaque);
  return queue.order(static_cast<cudaStream_t>(stream), queue.stream);
}

static cprt_status runBefore(void *opaque, void *stream) {
  Queue &queue = at(opaque);
  return queue.order(queue.stream, static_cast<cudaStream_t>(stream));
}

static void forget(void *, void *event) {
  (void)cudaEventDestroy(static_cast<cudaEvent_t>(event));
}

// Other ranks' threads go on with what a capture of theirs would not allow.
static cprt_status beginRecording(void *opaque) {
  Queue &queue = at(opaque);
  // What kernels work with stays the graph's too.
  queue.scratch.grow(false);
  return queue.check(
      cudaStreamBeginCapture(queue.stream, cudaStreamCaptureModeThreadLocal),
      "cudaStreamBeginCapture");
}

static cprt_status endRecording(void *opaque, void **recording) {
  Queue &queue = at(opaque);
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t made = nullptr;
  queue.scratch.grow(true);
  if (cprt_status status =
          queue.check(cudaStreamEndCapture(queue.stream, &graph),
                      "a recording (run without one)"))
    return status;
  cprt_status status = queue.check(cudaGraphInstantiate(&made, graph, 0),
                                   "cudaGraphInstantiate");
  (void)cudaGraphDestroy(graph);
  *recording = made;
  return status;
}

static cprt_status replay(void *opaque, void *recording) {
  Queue &queue = at(opaque);
  return queue.check(
      cudaGraphLaunch(static_cast<cudaGraphExec_t>(recording), queue.stream),
      "cudaGraphLaunch");
}

// One that is under way is freed when it has ended.
static void discard(void *, void *recording) {
  (void)cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(recording));
}

/// That every card can run the kernels.
static cprt_status checkCards(int &count, char *message, size_t capacity) {
  cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0) {
    (void)cudaGetLastError();
    std::snprintf(message, capacity,
                  "no card answers: %s (%s); install NVIDIA's driver, of CUDA "
                  "%d or newer, or run without --device",
                  cudaGetErrorString(status), cudaGetErrorName(status),
                  CUDART_VERSION / 1000);
    return CPRT_UNSUPPORTED;
  }
  for (int card = 0; card < count; ++card) {
    int major = 0, minor = 0;
    (void)cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor,
                                 card);
    (void)cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor,
                                 card);
    if (major >= leastMajor)
      continue;
    std::snprintf(
        message, capacity,
        "card %d has compute capability %d.%d, expected %d.0 or more; "
        "leave it out by CUDA_VISIBLE_DEVICES",
        card, major, minor, leastMajor);
    return CPRT_UNSUPPORTED;
  }
  return CPRT_OK;
}

extern "C" cprt_status cprt_device_open(cprt_device *device, char *message,
                                        size_t capacity) {
  if (!cp_has_room("cprt_device", device->struct_size, sizeof(*device), message,
                   capacity))
    return CPRT_INVALID_ARGUMENT;
  int count = 0;
  cprt_status status = checkCards(count, message, capacity);
  if (status != CPRT_OK)
    return status;
  *device = {
      sizeof(*device),
      new State(count),
      "cuda",
      /*is_host_memory=*/0,
      openQueue,
      closeQueue,
      allocate,
      release,
      allocateHost,
      releaseHost,
      freeBytes,
      hasKernel,
      run,
      launch,
      upload,
      download,
      synchronize,
      error,
      [](void *made) { delete static_cast<State *>(made); },
      openBeside,
      [](void *queue) -> void * { return static_cast<Queue *>(queue)->stream; },
      record,
      waitFor,
      query,
      forget,
      sharesMemory,
      runAfter,
      runBefore,
      beginRecording,
      endRecording,
      replay,
      discard};
  return CPRT_OK;
}
