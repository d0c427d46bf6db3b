//===- KernelRows.cpp - Seconds of single kernels -------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// With measure=copy a row answers how many bytes a second can be read and
// written by copying its first input to its first output, which is the roof of
// a kernel that does little more: how fast memory is depends on where the
// buffers lie.
//
// `evaluate op=ROW dir=DIR ...` reads the inputs of a kernel from DIR/in0,
// DIR/in1, ... and writes what it computes to DIR/out0, ...: f32 in C order,
// this machine's byte order, also where the kernel's own type is bf16. The
// other settings are those of the row. It answers how many elements were
// written. op=ssd_halves is the row ssd, computed as two ranks do.
//
// With documents=N each row of conv1d, ssd and attention is N documents of
// equal length.
//
//===----------------------------------------------------------------------===//

#include "CopyRate.h"
#include "Kept.h"
#include "KernelCase.h"
#include "Numbers.h"
#include "Rows.h"
#include "SsdHalves.h"
#include "Timing.h"

#include <optional>

namespace cp::bench {
namespace {

std::optional<KernelCase> makePlain(const std::string &op, const Question &q) {
  bool narrow = q.isNarrow();
  if (op == "matmul")
    return matmulCase(narrow, q.integer("m", 2048), q.integer("n", 3352),
                      q.integer("k", 768));
  if (op == "conv1d")
    return conv1dCase(narrow, q.integer("length", 2048),
                      q.integer("channels", 1792));
  if (op == "rms_norm")
    return rmsNormCase(narrow, q.integer("length", 2048),
                       q.integer("channels", 1536));
  if (op == "ssd")
    return ssdCase(narrow, {q.integer("length", 2048), q.integer("heads", 24)});
  if (op == "attention")
    return attentionCase(narrow,
                         {q.integer("length", 2048), q.integer("heads", 16),
                          q.integer("key_heads", q.integer("heads", 16)),
                          q.integer("size", 128), /*isCausal=*/true,
                          /*apart=*/1, q.integer("batch", 1)});
  return std::nullopt;
}

bool takesPlaces(const std::string &op) {
  return op == "conv1d" || op == "ssd" || op == "attention";
}

std::optional<KernelCase> makeCase(const std::string &op, const Question &q) {
  std::optional<KernelCase> made = makePlain(op, q);
  if (made && takesPlaces(op) && q.text("documents", "none") != "none")
    return withDocuments(std::move(*made), q.integer("documents", 1));
  return made;
}

llvm::Error failed(const char *message) {
  return llvm::createStringError(std::string("the kernel refuses: ") + message);
}

llvm::Expected<double> timeKernel(Kept<KernelCase> &kept, const Question &q) {
  int64_t threads = q.integer("threads", 1);
  bool isCopy = q.text("measure", "time") == "copy";
  kernels::setNumThreads(threads);
  llvm::Expected<const KernelCase *> kernel = kept.get(
      q.without({"threads", "measure"}), [&]() -> llvm::Expected<KernelCase> {
        KernelCase made = *makeCase(q.row(), q);
        if (llvm::Error error = q.check())
          return error;
        return made;
      });
  if (!kernel)
    return kernel.takeError();
  if (const char *message = (*kernel)->run())
    return failed(message);
  if (!isCopy)
    return secondsOf([&] { (*kernel)->run(); });
  kernels::Buffer from = (*kernel)->ins.front().buffer(),
                  to = (*kernel)->outs.front().buffer();
  int64_t elements = std::min((*kernel)->ins.front().numElements(),
                              (*kernel)->outs.front().numElements());
  return copyRate(to.data, from.data, size_t(elements) * (q.isNarrow() ? 2 : 4),
                  threads);
}

llvm::Expected<double> timeHalves(Kept<SsdHalves> &kept, const Question &q) {
  kernels::setNumThreads(q.integer("threads", 1));
  llvm::Expected<const SsdHalves *> halves =
      kept.get(q.without({"threads"}), [&]() -> llvm::Expected<SsdHalves> {
        KernelCase whole = *makeCase("ssd", q);
        if (llvm::Error error = q.check())
          return error;
        SsdHalves made(whole);
        if (const char *message = made.handOver())
          return failed(message);
        return made;
      });
  if (!halves)
    return halves.takeError();
  if (const char *message = (*halves)->run())
    return failed(message);
  return secondsOf([&] { (*halves)->run(); });
}

llvm::Error transfer(const std::string &path, Tensor &tensor, bool isWriting) {
  std::vector<float> values(size_t(tensor.numElements()));
  for (size_t i = 0; isWriting && i < values.size(); ++i)
    values[i] = tensor.get(int64_t(i));
  if (llvm::Error error = transferNumbers(path, values, isWriting))
    return error;
  for (size_t i = 0; !isWriting && i < values.size(); ++i)
    tensor.set(int64_t(i), values[i]);
  return llvm::Error::success();
}

llvm::Expected<double> evaluate(const Question &q) {
  kernels::setNumThreads(q.integer("threads", 1));
  std::string op = q.text("op", ""), dir = q.text("dir", ".");
  bool isCut = op == "ssd_halves";
  std::optional<KernelCase> kernel = makeCase(isCut ? "ssd" : op, q);
  if (!kernel)
    return llvm::createStringError(
        "op must be the row of a kernel or ssd_halves, but is '" + op + "'");
  if (llvm::Error error = q.check())
    return error;
  for (size_t i = 0; i < kernel->ins.size(); ++i)
    if (llvm::Error error =
            transfer(dir + "/in" + std::to_string(i), kernel->ins[i], false))
      return error;
  if (const char *message = isCut ? runInHalves(*kernel) : kernel->run())
    return failed(message);
  double count = 0;
  for (size_t i = 0; i < kernel->outs.size(); ++i) {
    if (llvm::Error error =
            transfer(dir + "/out" + std::to_string(i), kernel->outs[i], true))
      return error;
    count += double(kernel->outs[i].numElements());
  }
  return count;
}

} // namespace

void addKernelRows(RowTable &rows) {
  auto kept = std::make_shared<Kept<KernelCase>>();
  for (const char *op : {"matmul", "conv1d", "rms_norm", "ssd", "attention"})
    rows[op] = [kept](const Question &q) { return timeKernel(*kept, q); };
  auto halves = std::make_shared<Kept<SsdHalves>>();
  rows["ssd_halves"] = [halves](const Question &q) {
    return timeHalves(*halves, q);
  };
  rows["evaluate"] = evaluate;
}

} // namespace cp::bench
