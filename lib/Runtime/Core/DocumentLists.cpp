//===- DocumentLists.cpp - The cu_seqlens of a call -----------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DocumentLists.h"

#include "Operations.h"
#include "Positions.h"

using namespace cp::runtime;

Error HostLists::bring(Context &context, const Descriptor &call) {
  DeviceQueue *device = context.deviceOfCall();
  if (!device)
    return std::nullopt;
  int64_t bytes = numBytes(view);
  copy.resize(size_t(numElements(view)));
  strides = {view.sizes[1], 1};
  char *dense = device->termMemory(bytes);
  if (bytes && !dense)
    return Failure{CPRT_OUT_OF_MEMORY,
                   call.title() + ": no " + std::to_string(bytes) +
                       " bytes left on the device to read documents; use more "
                       "ranks"};
  if (Error failure = device->copyMapped(
          call, {dense, view.dtype, 2, view.sizes, strides.data()}, view, {}))
    return failure;
  if (Error failure = device->download(copy.data(), dense, bytes))
    return failure;
  view.data = copy.data();
  view.strides = strides.data();
  return device->synchronize();
}

namespace {
/// What is wrong with a row, and what was expected.
struct Wrong {
  std::string what, expected;
};
} // namespace

static std::optional<Wrong> checkRow(const cp::Documents &documents,
                                     int64_t tokens) {
  int64_t count = documents.numEntries();
  if (count < 1)
    return Wrong{"is empty", "0 and the end of each document"};
  if (documents.at(0) != 0)
    return Wrong{"begins with " + std::to_string(documents.at(0)), "0"};
  for (int64_t i = 1; i < count; ++i)
    if (documents.at(i) < documents.at(i - 1))
      return Wrong{"falls from " + std::to_string(documents.at(i - 1)) +
                       " to " + std::to_string(documents.at(i)) + " at " +
                       std::to_string(i),
                   "where each document ends, in their order"};
  if (documents.at(count - 1) != tokens)
    return Wrong{"ends with " + std::to_string(documents.at(count - 1)),
                 std::to_string(tokens) +
                     ", the tokens of the row (both with those that pad a row "
                     "which ranks do not divide); repeat it in what is left of "
                     "the list, and let padding be a document of its own"};
  return std::nullopt;
}

Error cp::runtime::checkDocuments(const Descriptor &call, const Buffer &lists,
                                  int64_t tokens) {
  for (int64_t row = 0; row < lists.sizes[0]; ++row)
    if (std::optional<Wrong> wrong = checkRow(documentsOf(lists, row), tokens))
      return call.invalid("row " + std::to_string(row) +
                          " of this rank's cu_seqlens " + wrong->what +
                          ", expected " + wrong->expected);
  return std::nullopt;
}

std::optional<int64_t> cp::runtime::otherDocuments(const Buffer &a,
                                                   const Buffer &b) {
  for (int64_t row = 0; row < a.sizes[0]; ++row)
    for (int64_t i = 0; i < a.sizes[1]; ++i)
      if (documentsOf(a, row).at(i) != documentsOf(b, row).at(i))
        return row;
  return std::nullopt;
}

bool cp::runtime::hasFixedRows(Context &, const Descriptor &call) {
  DocumentPositionsAttributes attrs(call);
  return !SequenceCut{attrs.axes, attrs.orders}.isPerDocument();
}

bool cp::runtime::arePlacesOfWhole(Context &context, const Descriptor &call) {
  DocumentPositionsAttributes attrs(call);
  // What is wrong with the axes is told where the host works.
  const Group *group = nullptr, *alike = nullptr;
  return !findGroup(context, call, attrs.axes, group) && group->size == 1 &&
         !findGroup(context, call, attrs.alike, alike) && alike->size == 1;
}
