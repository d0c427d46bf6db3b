//===- IndexFuzzer.cpp - Any text as an index of safetensors files --------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The index lies in a folder of its own beside two shards: a.safetensors holds
// the tensors a and c, b.safetensors holds b and c.
//
//===----------------------------------------------------------------------===//

#include "Report.h"

#include "cp/Files/Safetensors.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace cp;

namespace {

/// Removed with what is in it when the process ends.
class Folder {
public:
  Folder() {
    std::error_code code = llvm::sys::fs::createUniqueDirectory("fuzz", path);
    fuzz::require(!code, "no temporary folder: " + code.message());
    writeShard("a");
    writeShard("b");
  }
  ~Folder() { llvm::sys::fs::remove_directories(path); }

  std::string file(llvm::StringRef name) const {
    llvm::SmallString<128> out = path;
    llvm::sys::path::append(out, name);
    return out.str().str();
  }

private:
  void writeShard(llvm::StringRef name) const {
    static const uint8_t bytes[2] = {1, 2};
    TensorView own{name.str(), DType::U8, {2}, bytes};
    TensorView both{"c", DType::U8, {2}, bytes};
    llvm::Error error =
        writeSafetensors(file((name + ".safetensors").str()), {own, both});
    fuzz::require(!error, "no shard was written");
  }

  llvm::SmallString<128> path;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const Folder folder;
  const std::string index = folder.file("model.safetensors.index.json");
  std::error_code code;
  {
    llvm::raw_fd_ostream out(index, code);
    out << llvm::StringRef(reinterpret_cast<const char *>(data), size);
  }
  fuzz::require(!code, "the index was not written: " + code.message());
  llvm::Expected<TensorFile> file = TensorFile::open(index);
  if (!fuzz::accepted(file))
    return 0;
  fuzz::require(file->tensors().size() <= 3, "tensors that no shard holds");
  for (const TensorView &view : file->tensors())
    fuzz::require(view.bytes.size() == 2 && view.bytes[1] == 2 &&
                      file->find(view.name) == &view,
                  "another tensor than the shard's");
  return 0;
}
