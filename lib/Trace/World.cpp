//===- World.cpp - The runtime at work on ids -------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "World.h"

#include "llvm/ADT/StringSwitch.h"

#include <cstring>

using namespace mlir;

namespace cp {
namespace {

/// The operation of this symbol, if it only moves and adds elements.
cprt_op *functionOf(StringRef symbol) {
  return llvm::StringSwitch<cprt_op *>(symbol)
#define CPRT_MOVE(symbol) .Case(#symbol, cprt_##symbol)
#include "cp/Runtime/OperationList.inc"
      .Case("reorder_documents", cprt_reorder_documents)
      .Default(nullptr);
}

void appendBuffer(const CallBuffer &buffer, bool asDoubles, Words &words) {
  ArrayRef<int64_t> shape = buffer.shape;
  words.push_back(buffer.isI32 ? CPRT_I32 : asDoubles ? CPRT_F64 : CPRT_I64);
  words.push_back(static_cast<int64_t>(shape.size()));
  words.insert(words.end(), shape.begin(), shape.end());
  Words strides(shape.size(), 1);
  for (size_t dim = shape.size(); dim-- > 1;)
    strides[dim - 1] = strides[dim] * shape[dim];
  words.insert(words.end(), strides.begin(), strides.end());
}

Words descriptorOf(RuntimeOpInterface op, const std::vector<CallBuffer> &inputs,
                   const std::vector<CallBuffer> &outputs, bool asDoubles,
                   int64_t number) {
  RuntimeCall call(op);
  op.getRuntimeCall(call);
  SmallVector<int64_t> attributes;
  appendWords(call.getAttributes(), attributes);
  Words words = {static_cast<int64_t>(inputs.size()),
                 static_cast<int64_t>(outputs.size()),
                 static_cast<int64_t>(attributes.size()), number};
  for (const CallBuffer &buffer : inputs)
    appendBuffer(buffer, asDoubles, words);
  for (const CallBuffer &buffer : outputs)
    appendBuffer(buffer, asDoubles, words);
  words.insert(words.end(), attributes.begin(), attributes.end());
  return words;
}

/// Element number `element` of a buffer of doubles, in row-major order.
double &at(const cprt_buffer &buffer, int64_t element) {
  int64_t offset = 0;
  for (int32_t dim = buffer.rank; dim-- > 0; element /= buffer.sizes[dim])
    offset += element % buffer.sizes[dim] * buffer.strides[dim];
  return static_cast<double *>(buffer.data)[offset];
}

int64_t product(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

/// What stands for a scan's own combine: sums of what all parts bring. It is of
/// the form that cprt_scan_state_with asks for.
void addUnits(cprt_context *context, cprt_stream *, const int64_t *desc,
              void *const *buffers) {
  static constexpr cprt_tensor any[] = {{"summary", CPRT_VARIADIC}};
  static constexpr cprt_signature signature = {
      "the sum of bits", any, 1, any, 1, nullptr, 0};
  cprt_buffer all[128];
  if (!cprt_read_call(context, &signature, desc, buffers, all, nullptr))
    return;
  size_t ins = static_cast<size_t>(desc[0]);
  size_t tensors = static_cast<size_t>(desc[1]);
  for (size_t i = 0; i < tensors; ++i) {
    const cprt_buffer &sum = all[ins + i];
    int64_t count = product({sum.sizes, static_cast<size_t>(sum.rank)});
    for (int64_t e = 0; e < count; ++e)
      at(sum, e) = ins ? at(all[i], e) + at(all[tensors + i], e) : 0;
  }
}

} // namespace

Words wordsOfNumbers(const std::vector<double> &numbers) {
  Words words(numbers.size());
  if (!words.empty())
    std::memcpy(words.data(), numbers.data(), words.size() * sizeof(double));
  return words;
}

std::vector<double> numbersOfWords(const Words &words) {
  std::vector<double> numbers(words.size());
  if (!words.empty())
    std::memcpy(numbers.data(), words.data(), words.size() * sizeof(double));
  return numbers;
}

llvm::Expected<std::unique_ptr<TraceWorld>>
TraceWorld::create(const Mesh &mesh) {
  std::vector<int64_t> sizes;
  for (const Mesh::Axis &axis : mesh.axes)
    sizes.push_back(axis.size);
  cprt_options options = {};
  options.struct_size = sizeof(options);
  options.num_axes = static_cast<int32_t>(sizes.size());
  options.axis_sizes = sizes.data();
  cprt_world *world = nullptr;
  char message[512] = "";
  cprt_status status =
      cprt_threads_create(&options, &world, message, sizeof(message));
  if (status != CPRT_OK)
    return llvm::createStringError(std::string(cprt_status_name(status)) +
                                   ": " + message);
  std::unique_ptr<TraceWorld> made(new TraceWorld(world));
  if (llvm::Error error =
          RankThreads::create(mesh.numRanks(), [made =
                                                    made.get()](int64_t rank) {
            made->work(rank);
          }).moveInto(made->threads))
    return error;
  return made;
}

bool TraceWorld::runs(RuntimeOpInterface op) {
  return isa_and_present<CPDialect>(op->getDialect()) &&
         (op.getRuntimeCallback().empty() || isa<ScanStateOp>(op)) &&
         functionOf(op.getRuntimeSymbol());
}

llvm::Expected<std::vector<CallBuffer>>
TraceWorld::call(RuntimeOpInterface op, const std::vector<CallBuffer> &inputs,
                 bool asDoubles) {
  int64_t ranks = cprt_world_size(world.get());
  std::vector<CallBuffer> outputs;
  for (Type type : op->getResultTypes()) {
    ArrayRef<int64_t> shape = cast<RankedTensorType>(type).getShape();
    outputs.push_back({SmallVector<int64_t>(shape),
                       std::vector<Words>(ranks, Words(product(shape))),
                       /*isI32=*/false});
  }
  Words descriptor = descriptorOf(op, inputs, outputs, asDoubles, calls++);
  cprt_op *function = functionOf(op.getRuntimeSymbol());
  work = [&](int64_t rank) {
    SmallVector<void *> buffers;
    for (const CallBuffer &buffer : inputs)
      buffers.push_back(const_cast<int64_t *>(buffer.ranks[rank].data()));
    for (CallBuffer &buffer : outputs)
      buffers.push_back(buffer.ranks[rank].data());
    cprt_context *context = cprt_world_context(world.get(), rank);
    if (op.getRuntimeCallback().empty())
      function(context, nullptr, descriptor.data(), buffers.data());
    else
      cprt_scan_state_with(context, nullptr, descriptor.data(), buffers.data(),
                           addUnits);
  };
  threads->step();
  for (int64_t rank = 0; rank < ranks; ++rank) {
    cprt_context *context = cprt_world_context(world.get(), rank);
    if (cprt_status status = cprt_context_status(context); status != CPRT_OK)
      return llvm::createStringError(op->getName().getStringRef().str() +
                                     " on rank " + std::to_string(rank) + ": " +
                                     cprt_status_name(status) + ": " +
                                     cprt_context_message(context));
  }
  return outputs;
}

} // namespace cp
