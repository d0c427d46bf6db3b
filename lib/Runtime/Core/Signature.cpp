//===- Signature.cpp - The form that an operation's calls have ------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Signature.h"

#include "Context.h"

#include <algorithm>
#include <cmath>

using namespace cp::runtime;

static constexpr const char *compileAgain =
    "; compile the program with the compiler that belongs to this runtime";

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

namespace {
/// How many tensors of a list a call may have.
struct Counts {
  size_t least = 0, most = 0;

  /// Only inputs can be left out.
  Counts(const cprt_tensor *tensors, size_t size, bool areInputs) : most(size) {
    size_t required = 0;
    for (size_t i = 0; i < size; ++i) {
      isVariadic |= tensors[i].presence == CPRT_VARIADIC;
      if (tensors[i].presence == CPRT_OPTIONAL && areInputs)
        continue;
      least = i + 1;
      required += tensors[i].presence != CPRT_VARIADIC;
    }
    if (isVariadic)
      least = required;
  }
  bool fit(size_t count) const {
    return count >= least && (isVariadic || count <= most);
  }
  std::string text() const {
    std::string number = std::to_string(least);
    if (isVariadic)
      return number + " or more";
    return least == most ? number : number + " to " + std::to_string(most);
  }

private:
  bool isVariadic = false;
};
} // namespace

static Error checkTensors(const Descriptor &call,
                          const cprt_signature &signature) {
  Counts ins(signature.ins, signature.num_ins, /*areInputs=*/true),
      outs(signature.outs, signature.num_outs, /*areInputs=*/false);
  if (!ins.fit(call.numIns()) || !outs.fit(call.numOuts()))
    return call.invalid("found " + std::to_string(call.numIns()) +
                        " inputs and " + std::to_string(call.numOuts()) +
                        " outputs, expected " + ins.text() + " and " +
                        outs.text() + compileAgain);
  for (size_t i = 0; i < call.numIns(); ++i)
    if (call.in(i).dtype == DType::Absent &&
        (i >= signature.num_ins || signature.ins[i].presence != CPRT_OPTIONAL))
      return call.invalid(call.label(i) +
                          (i < signature.num_ins
                               ? std::string(" (") + signature.ins[i].name + ")"
                               : "") +
                          " is left out, but it is not optional" +
                          compileAgain);
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Words
//===----------------------------------------------------------------------===//

static std::string titleOf(const char *name) {
  return "attribute '" + std::string(name) + "'";
}

Error cp::runtime::expectWithin(const Descriptor &call, const char *name,
                                int64_t value, int64_t least, int64_t most) {
  if (value >= least && value <= most)
    return std::nullopt;
  return call.invalid(titleOf(name) + " is " + std::to_string(value) +
                      ", expected " + std::to_string(least) + " to " +
                      std::to_string(most));
}

Error cp::runtime::expectWords(const Descriptor &call, const char *name,
                               Words words, size_t count, int64_t least,
                               int64_t most) {
  if (words.size != count)
    return call.invalid(titleOf(name) + " has " + std::to_string(words.size) +
                        " elements, expected " + std::to_string(count) +
                        ", one for each tensor");
  for (size_t i = 0; i < count; ++i)
    if (words[i] < least || words[i] > most)
      return call.invalid(titleOf(name) + " is " + listText(words.data, count) +
                          ", expected elements from " + std::to_string(least) +
                          " to " + std::to_string(most));
  return std::nullopt;
}

/// Steps over the words of one attribute, of which `left` are there.
static Error checkAttribute(const Descriptor &call,
                            const cprt_attribute &attribute,
                            const int64_t *words, size_t left, size_t &taken) {
  if (left == 0)
    return call.invalid(titleOf(attribute.name) + " is missing: found " +
                        std::to_string(call.numAttrs()) +
                        " attribute words, expected more" + compileAgain);
  taken = 1;
  switch (attribute.kind) {
  case CPRT_WORD_FLAG:
    return expectWithin(call, attribute.name, *words, 0, 1);
  case CPRT_WORD_INTEGER:
    return expectWithin(call, attribute.name, *words, attribute.least,
                        INT64_MAX);
  case CPRT_WORD_SIGNED:
    return std::nullopt;
  case CPRT_WORD_REAL:
    if (std::isnan(WordReader::asReal(*words)))
      return call.invalid(titleOf(attribute.name) +
                          " is NaN, expected a number");
    return std::nullopt;
  case CPRT_WORD_ARRAY:
    taken = 1 + size_t(std::max<int64_t>(*words, 0));
    return expectWithin(call, attribute.name, *words, 0, int64_t(left) - 1);
  }
  return call.invalid(titleOf(attribute.name) + " is of an unknown kind, " +
                      std::to_string(attribute.kind) +
                      "; make its signature with cp-tblgen");
}

/// Where each attribute begins goes to `begins`, if that is not null.
static Error checkWords(const Descriptor &call, const cprt_signature &signature,
                        const int64_t **begins) {
  size_t next = 0;
  for (size_t i = 0; i < signature.num_attributes; ++i) {
    const int64_t *words = call.attrs() + next;
    size_t taken = 0;
    if (Error failure = checkAttribute(call, signature.attributes[i], words,
                                       call.numAttrs() - next, taken))
      return failure;
    if (begins)
      begins[i] = words;
    next += taken;
  }
  if (next == call.numAttrs())
    return std::nullopt;
  return call.invalid("found " + std::to_string(call.numAttrs()) +
                      " attribute words, expected " + std::to_string(next) +
                      compileAgain);
}

Error cp::runtime::checkSignature(const Descriptor &call,
                                  const cprt_signature &signature) {
  if (Error failure = checkTensors(call, signature))
    return failure;
  return checkWords(call, signature, nullptr);
}

//===----------------------------------------------------------------------===//
// Operations of one's own
//===----------------------------------------------------------------------===//

static Error readCall(const cprt_signature &signature, const int64_t *desc,
                      void *const *buffers, cprt_buffer *read,
                      const int64_t **attributes) {
  // Its storage is kept for the thread's next call.
  static thread_local Descriptor call;
  if (Error failure = call.decode(signature.name, desc, buffers))
    return failure;
  if (Error failure = checkTensors(call, signature))
    return failure;
  auto put = [&](const Buffer &buffer) {
    *read++ = {buffer.data, static_cast<cprt_dtype>(buffer.dtype), buffer.rank,
               buffer.sizes, buffer.strides};
  };
  for (size_t i = 0; i < call.numIns(); ++i)
    put(call.in(i));
  for (size_t i = call.numIns(); i < signature.num_ins; ++i)
    if (signature.ins[i].presence == CPRT_OPTIONAL)
      *read++ = {nullptr, CPRT_ABSENT, 0, nullptr, nullptr};
  for (size_t i = 0; i < call.numOuts(); ++i)
    put(call.out(i));
  return checkWords(call, signature, attributes);
}

extern "C" int cprt_read_call(cprt_context *context,
                              const cprt_signature *signature,
                              const int64_t *desc, void *const *buffers,
                              cprt_buffer *buffers_read,
                              const int64_t **attributes) {
  if (!context || !signature || !signature->name || !buffers_read ||
      (signature->num_attributes && !attributes)) {
    cprt_context_fail(context, CPRT_INVALID_ARGUMENT,
                      "cprt_read_call: the signature and the places for what "
                      "is read must not be null");
    return 0;
  }
  if (context->deviceOfCall() && !context->queue->isHostMemory()) {
    cprt_context_fail(context, CPRT_UNSUPPORTED,
                      "cprt_read_call: the operation is one of the host, but "
                      "its tensors are on a device; run without it");
    return 0;
  }
  try {
    Error failure;
    // What it does on the host is done each time.
    if (context->recording)
      failure = context->recording->cut();
    if (!failure)
      failure = readCall(*signature, desc, buffers, buffers_read, attributes);
    if (!failure)
      return 1;
    context->fail(failure->status, std::move(failure->message));
  } catch (const std::bad_alloc &) {
    cprt_context_fail(context, CPRT_OUT_OF_MEMORY,
                      "cprt_read_call: no memory to read a call");
  }
  return 0;
}
