//===- Curve.cpp - A line for each step -------------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Curve.h"

#include "Saving.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"

namespace cp {

constexpr llvm::StringLiteral header =
    "step,loss,grad_norm,tokens_per_second,peak_bytes";

/// The lines of those steps in a file, if there is one.
static llvm::Expected<std::string> linesOf(const std::string &path,
                                           int64_t steps) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer || (*buffer)->getBuffer().empty())
    return std::string();
  auto [first, rest] = (*buffer)->getBuffer().split('\n');
  if (first != header)
    return llvm::createStringError(path +
                                   ": is no curve to go on with, as it "
                                   "does not start with '" +
                                   header + "'; give another --csv");
  std::string kept;
  while (!rest.empty()) {
    // A last line without its end is of a run that was stopped.
    if (!rest.contains('\n'))
      break;
    auto [line, next] = rest.split('\n');
    int64_t step;
    if (line.split(',').first.getAsInteger(10, step) || step > steps)
      break;
    kept += line.str() + "\n";
    rest = next;
  }
  return kept;
}

llvm::Expected<Curve> Curve::open(const std::string &path, int64_t steps) {
  std::string kept;
  if (steps > 0 && orStandardOutput(path) != "-")
    if (llvm::Error error = linesOf(path, steps).moveInto(kept))
      return error;
  Curve curve;
  curve.path = path;
  std::error_code code;
  curve.file =
      std::make_unique<llvm::raw_fd_ostream>(orStandardOutput(path), code);
  if (code)
    return llvm::createStringError(path + ": " + code.message());
  *curve.file << header << "\n" << kept;
  return curve;
}

void Curve::add(int64_t step, double loss, double norm, double tokensPerSecond,
                int64_t peakBytes) {
  *file << step << ","
        << llvm::format("%.17g,%.17g,%.1f,", loss, norm, tokensPerSecond)
        << peakBytes << "\n";
  file->flush();
}

llvm::Error Curve::close() {
  file->close();
  if (!file->has_error())
    return llvm::Error::success();
  std::error_code code = file->error();
  file->clear_error();
  return llvm::createStringError(path + ": " + code.message());
}

} // namespace cp
