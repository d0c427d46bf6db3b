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

cprt_op *functionOf(StringRef symbol) {
  return llvm::StringSwitch<cprt_op *>(symbol)
      .Case("all_to_all", cprt_all_to_all)
      .Case("all_gather", cprt_all_gather)
      .Case("slice", cprt_slice)
      .Case("all_reduce", cprt_all_reduce)
      .Case("reduce_scatter", cprt_reduce_scatter)
      .Case("shift", cprt_shift)
      .Case("halo", cprt_halo)
      .Case("scan_state", cprt_scan_state)
      .Case("reorder", cprt_reorder)
      .Case("repeat", cprt_repeat)
      .Default(nullptr);
}

void appendBuffer(ArrayRef<int64_t> shape, bool asDoubles, Words &words) {
  words.push_back(asDoubles ? CPRT_F64 : CPRT_I64);
  words.push_back(static_cast<int64_t>(shape.size()));
  words.insert(words.end(), shape.begin(), shape.end());
  Words strides(shape.size(), 1);
  for (size_t dim = shape.size(); dim-- > 1;)
    strides[dim - 1] = strides[dim] * shape[dim];
  words.insert(words.end(), strides.begin(), strides.end());
}

/// As cprt.h lists them: by name, an array with its length. No operation that
/// runs here has a float.
void appendAttributes(RuntimeOpInterface op, Words &words) {
  NamedAttrList list;
  op.getRuntimeAttributes(list);
  for (NamedAttribute attribute : list.getDictionary(op.getContext())) {
    if (auto array = dyn_cast<DenseI64ArrayAttr>(attribute.getValue())) {
      words.push_back(array.size());
      words.insert(words.end(), array.asArrayRef().begin(),
                   array.asArrayRef().end());
    } else if (auto flag = dyn_cast<BoolAttr>(attribute.getValue())) {
      words.push_back(flag.getValue());
    } else {
      words.push_back(cast<IntegerAttr>(attribute.getValue()).getInt());
    }
  }
}

Words descriptorOf(RuntimeOpInterface op, const std::vector<CallBuffer> &inputs,
                   const std::vector<CallBuffer> &outputs, bool asDoubles,
                   int64_t number) {
  Words attributes;
  appendAttributes(op, attributes);
  Words words = {static_cast<int64_t>(inputs.size()),
                 static_cast<int64_t>(outputs.size()),
                 static_cast<int64_t>(attributes.size()), number};
  for (const CallBuffer &buffer : inputs)
    appendBuffer(buffer.shape, asDoubles, words);
  for (const CallBuffer &buffer : outputs)
    appendBuffer(buffer.shape, asDoubles, words);
  words.insert(words.end(), attributes.begin(), attributes.end());
  return words;
}

/// One buffer of doubles of a descriptor.
struct Numbers {
  double *data;
  ArrayRef<int64_t> sizes, strides;

  double &at(int64_t element) const {
    int64_t offset = 0;
    for (size_t dim = sizes.size(); dim-- > 0; element /= sizes[dim])
      offset += element % sizes[dim] * strides[dim];
    return data[offset];
  }
};

int64_t product(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

/// What stands for a scan's own combine: sums of what all parts bring. It is of
/// the form that cprt_scan_state_with asks for.
void addUnits(cprt_context *, cprt_stream *, const int64_t *desc,
              void *const *buffers) {
  std::vector<Numbers> all;
  const int64_t *word = desc + 4;
  for (int64_t i = 0; i < desc[0] + desc[1]; ++i) {
    size_t rank = static_cast<size_t>(word[1]);
    all.push_back({static_cast<double *>(buffers[i]),
                   {word + 2, rank},
                   {word + 2 + rank, rank}});
    word += 2 + 2 * rank;
  }
  size_t tensors = static_cast<size_t>(desc[1]);
  for (size_t i = 0; i < tensors; ++i) {
    const Numbers &sum = all[static_cast<size_t>(desc[0]) + i];
    for (int64_t e = 0, count = product(sum.sizes); e < count; ++e)
      sum.at(e) = desc[0] ? all[i].at(e) + all[tensors + i].at(e) : 0;
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
                       std::vector<Words>(ranks, Words(product(shape)))});
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
