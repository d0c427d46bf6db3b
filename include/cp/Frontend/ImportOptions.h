//===- ImportOptions.h - What a configuration does not say ------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_FRONTEND_IMPORTOPTIONS_H
#define CP_FRONTEND_IMPORTOPTIONS_H

#include <cstdint>
#include <string>

namespace cp {

/// The sizes that a config does not give, and what is asked of the model.
struct ImportOptions {
  int64_t batch = 1;
  int64_t sequence = 1024;
  /// "f32", "f64" or "bf16".
  std::string dtype = "f32";
  /// Logits of the last token of each sequence only, `[batch, 1, vocabulary]`.
  bool lastToken = false;
  /// The most documents that a row of the batch holds behind each other: an
  /// argument `cu_seqlens`, `[batch, documents + 1]`, then says where they end.
  /// 0: each row is one, and there is no such argument.
  int64_t documents = 0;
};

} // namespace cp

#endif // CP_FRONTEND_IMPORTOPTIONS_H
