//===- Safetensors.h - Tensors stored in safetensors files ------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The format: 8 bytes little-endian length of a JSON header, the header, and
// the tensors' bytes without holes, in C order, little-endian. The files come
// from outside, so every number in a header is checked before it is used.
//
//===----------------------------------------------------------------------===//

#ifndef CP_FILES_SAFETENSORS_H
#define CP_FILES_SAFETENSORS_H

#include "cp/Files/TensorView.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cp {

/// The tensors of one .safetensors file, or of the shards of an index. Owns the
/// mapped files; the views that it hands out live as long as it does (moving it
/// keeps them). Another process that shortens a mapped file makes reading the
/// lost pages fatal, as with any mapping.
class TensorFile {
public:
  /// Opens `path`: an index when it ends in ".index.json", whose weight_map
  /// then names shards beside it (plain file names only), else a safetensors
  /// file. Of a shard, the tensors that the index maps to it count; the others
  /// are strays().
  /// Errors name the file, the tensor, what was expected and what came: an
  /// unreadable file, a header longer than the file or than 100 MB, invalid
  /// JSON or UTF-8, a name twice, an unknown type, a shape that overflows or
  /// does not fit the bytes, offsets that are negative, beyond the file,
  /// overlapping, or leave a hole, a tensor missing from its shard.
  static llvm::Expected<TensorFile> open(llvm::StringRef path);

  /// The same for one safetensors file in memory; errors name the buffer's
  /// identifier.
  static llvm::Expected<TensorFile>
  fromBuffer(std::unique_ptr<llvm::MemoryBuffer> buffer);

  /// What errors call it: the path that was opened.
  llvm::StringRef label() const { return path; }

  /// All tensors, ascending by name.
  llvm::ArrayRef<TensorView> tensors() const { return views; }

  /// Tensors that a shard holds though the index does not map them to it.
  llvm::ArrayRef<TensorView> strays() const { return unmapped; }

  /// What the file's own text map (__metadata__) has under `key`, or nothing;
  /// an index has none.
  std::optional<std::string> metadata(llvm::StringRef key) const {
    auto found = texts.find(key);
    return found == texts.end() ? std::nullopt : std::optional(found->second);
  }

  /// The tensor of that name, or null.
  const TensorView *find(llvm::StringRef name) const;

  /// Lets go of the memory that reading has taken of the mapped files: what is
  /// read again comes from them again.
  void release() const;

  /// Up to `count` names, those most like `name` first.
  std::vector<std::string> nearest(llvm::StringRef name, size_t count) const;

private:
  static llvm::Expected<TensorFile> openOne(llvm::StringRef path);
  static llvm::Expected<TensorFile> openIndex(llvm::StringRef path);
  llvm::Error addShard(llvm::StringRef shardPath,
                       llvm::ArrayRef<std::string> names);
  void sortByName();

  std::string path;
  std::vector<std::unique_ptr<llvm::MemoryBuffer>> buffers;
  std::vector<TensorView> views;
  std::vector<TensorView> unmapped;
  llvm::StringMap<size_t> positions;
  llvm::StringMap<std::string> texts;
};

class NewFile;

/// A safetensors file whose bytes come in any order, so that no memory need
/// hold a tensor whole. The file is there when all of it is (commit), and what
/// comes of a writer that goes before is nothing.
class SafetensorsWriter {
public:
  /// Of the views the names, types and shapes count. Errors: as of
  /// writeSafetensors.
  static llvm::Expected<SafetensorsWriter>
  create(llvm::StringRef path, llvm::ArrayRef<TensorView> tensors,
         llvm::ArrayRef<std::pair<std::string, std::string>> metadata = {});
  SafetensorsWriter(SafetensorsWriter &&);
  SafetensorsWriter &operator=(SafetensorsWriter &&);
  ~SafetensorsWriter();

  /// Bytes of a tensor from `offset` on. Errors: no such tensor, bytes beyond
  /// its end; what the system says.
  llvm::Error write(llvm::StringRef tensor, int64_t offset,
                    llvm::ArrayRef<uint8_t> bytes);
  /// Once, behind the last one.
  llvm::Error commit();

private:
  SafetensorsWriter();
  std::unique_ptr<NewFile> file;
  /// By name where it begins, and its bytes.
  llvm::StringMap<std::pair<uint64_t, uint64_t>> places;
};

/// Writes the tensors to `path`, atomically (a temporary file beside it, then a
/// rename). The same tensors give the same bytes, whatever their order: they
/// are laid out by falling element size, then name, which aligns each one.
/// `metadata` is the header's own text map; transformers wants
/// {"format", "pt"}. Errors: a name twice, reserved or not UTF-8; bytes that do
/// not fit the shape; a system error.
llvm::Error writeSafetensors(
    llvm::StringRef path, llvm::ArrayRef<TensorView> tensors,
    llvm::ArrayRef<std::pair<std::string, std::string>> metadata = {});

} // namespace cp

#endif // CP_FILES_SAFETENSORS_H
