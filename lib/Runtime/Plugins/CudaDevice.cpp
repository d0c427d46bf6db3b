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

#include "CudaQueue.h"
extern "C" {
#include "Room.h"
}

#include <cstdio>
#include <string_view>

using namespace cp::kernels;
using cp::runtime::Cards;
using cp::runtime::Queue;

/// The least card that kernels are for: compute capability 8.0.
static constexpr int leastMajor = 8;

static Queue &at(void *opaque) {
  auto &queue = *static_cast<Queue *>(opaque);
  // A thread's own matter; it costs a comparison where it is the same.
  (void)cudaSetDevice(queue.card);
  return queue;
}

static cprt_status openQueue(void *opaque, int64_t number, void **made,
                             char *message, size_t capacity) {
  auto &cards = *static_cast<Cards *>(opaque);
  auto queue = std::make_unique<Queue>(
      cards, int(number % int64_t(cards.queues.size())));
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
         queue.cards.queues[size_t(queue.card)];
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
    arguments[i] = static_cast<void *>(const_cast<void **>(&buffers[i]));
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
  return queue.fail(cuda::isOfOtherRanks(queue.found) ? CPRT_MISMATCH
                                                      : CPRT_INVALID_ARGUMENT,
                    message);
}

static const char *error(void *queue) {
  return static_cast<Queue *>(queue)->text.c_str();
}

static cprt_status openBeside(void *opaque, void **made) {
  Queue &queue = at(opaque);
  auto beside = std::make_unique<Queue>(queue.cards, queue.card,
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
  auto cards = int64_t(static_cast<Cards *>(opaque)->queues.size());
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
  cprt_status status = queue.check(
      cudaStreamBeginCapture(queue.stream, cudaStreamCaptureModeThreadLocal),
      "cudaStreamBeginCapture");
  // What is taken from now on would be the graph's.
  queue.scratch.grow(status != CPRT_OK);
  return status;
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
  if (status == CPRT_OK)
    queue.scratch.hold();
  return status;
}

static cprt_status replay(void *opaque, void *recording) {
  Queue &queue = at(opaque);
  return queue.check(
      cudaGraphLaunch(static_cast<cudaGraphExec_t>(recording), queue.stream),
      "cudaGraphLaunch");
}

// One that is under way is freed when it has ended.
static void discard(void *opaque, void *recording) {
  (void)cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(recording));
  at(opaque).scratch.drop();
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
      new Cards(count),
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
      [](void *made) { delete static_cast<Cards *>(made); },
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
