//===- Question.h - One line that the worker is asked -----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_BENCHMARKS_WORKER_QUESTION_H
#define CP_BENCHMARKS_WORKER_QUESTION_H

#include "llvm/Support/Error.h"

#include <functional>
#include <map>
#include <set>
#include <string>

namespace cp::bench {

/// A row's name and its settings: "ssd dtype=f32 heads=128 threads=2".
class Question {
public:
  /// Errors: no name; a setting without "=".
  static llvm::Expected<Question> parse(llvm::StringRef line);

  const std::string &row() const { return name; }
  /// A whole number from 1 on. The first error is kept for check().
  int64_t integer(const std::string &key, int64_t otherwise) const;
  std::string text(const std::string &key, const std::string &otherwise) const;
  /// dtype=f32 or dtype=bf16.
  bool isNarrow() const;
  /// To be called when all settings have been read: what was wrong with them,
  /// or one that the row does not have.
  llvm::Error check() const;
  /// Row and settings but those of `keys`.
  std::string without(const std::set<std::string> &keys) const;

private:
  std::string name;
  std::map<std::string, std::string> settings;
  mutable std::set<std::string> known;
  mutable std::string wrong;
};

/// Answers a question with one number: seconds, unless the row says otherwise.
using RowFn = std::function<llvm::Expected<double>(const Question &)>;
using RowTable = std::map<std::string, RowFn>;

} // namespace cp::bench

#endif // CP_BENCHMARKS_WORKER_QUESTION_H
