//===- StoredCheck.cpp - Results held against those of a file -------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StoredCheck.h"

#include "ReadTensors.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

namespace cl = llvm::cl;

namespace cp {

void defineStoredCheck(RunFlags &flags, cl::OptionCategory &category) {
  static FileFlag against("check-against",
                          cl::desc("Compare with results that --outputs wrote"),
                          cl::location(flags.checkAgainst), cl::cat(category));
  static OwnFlag<double> tolerance(
      "tolerance",
      cl::desc("Largest rel_l2 of a check (default: 1e-12 in f64, "
               "1e-5 in f32, 2e-2 in bf16)"),
      cl::cat(category),
      cl::callback([&flags](const double &value) { flags.tolerance = value; }));
}

ToleranceOf toleranceOf(const RunFlags &flags, const Program *program) {
  bool isNarrow =
      program && llvm::any_of(program->arguments(), [](const TensorSpec &spec) {
        return spec.dtype == DType::BF16;
      });
  return [given = flags.tolerance, isNarrow](DType dtype) {
    if (given)
      return *given;
    if (dtype == DType::BF16 || (isNarrow && dtype == DType::F32))
      return 2e-2;
    return dtype == DType::F32 ? 1e-5 : 1e-12;
  };
}

/// A name from a file, for a message.
static std::string named(llvm::StringRef name) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "'";
  llvm::printEscapedString(name.take_front(96), os);
  os << "'";
  return text;
}

llvm::Expected<std::vector<HostTensor>>
storedResults(const std::string &path, llvm::ArrayRef<TensorSpec> specs) {
  llvm::Expected<TensorFile> file = TensorFile::open(path);
  if (!file)
    return file.takeError();
  std::vector<HostTensor> tensors;
  Conversions none;
  for (TensorSpec spec : specs) {
    // Weights may be converted when they are read; what is compared may not,
    // but results in f64 show how far those in f32 are rounded.
    if (const TensorView *view = file->find(spec.name)) {
      if (!isComparable(view->dtype, spec.dtype))
        return llvm::createStringError(
            path + ": result " + named(spec.name) + " is " +
            dtypeName(view->dtype).str() + ", but the module gives " +
            dtypeName(spec.dtype).str() +
            "; compare with what --outputs wrote of a model of that type");
      spec.dtype = view->dtype;
    }
    llvm::Expected<HostTensor> tensor = readTensor(*file, spec, none);
    if (!tensor)
      return tensor.takeError();
    tensors.push_back(std::move(*tensor));
  }
  for (const TensorView &view : file->tensors())
    if (llvm::none_of(specs, [&](const TensorSpec &spec) {
          return spec.name == view.name;
        }))
      return llvm::createStringError(
          path + ": holds " + named(view.name) +
          ", which is no result of the module; compare with what --outputs "
          "wrote of the same model");
  return tensors;
}

llvm::Error checkNear(const ResultsComparison &comparison,
                      llvm::ArrayRef<TensorSpec> specs) {
  if (!comparison.tooFar)
    return llvm::Error::success();
  return llvm::createStringError(
      llvm::formatv("the check failed: rel_l2 is {0:e2} in '{1}'{2}, but at "
                    "most {3:e2} is allowed",
                    comparison.difference.relL2, specs[*comparison.tooFar].name,
                    comparison.rank
                        ? " as rank " + std::to_string(*comparison.rank) +
                              " holds it"
                        : "",
                    comparison.tolerance)
          .str());
}

} // namespace cp
