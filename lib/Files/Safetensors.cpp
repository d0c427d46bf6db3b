//===- Safetensors.cpp - Reading safetensors files and their indexes ------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Files/Safetensors.h"

#include "FileIO.h"
#include "JsonText.h"
#include "SafetensorsHeader.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Path.h"

#include <sys/mman.h>

#include <algorithm>
#include <map>

using namespace cp;
using llvm::Error;
using llvm::Expected;
using llvm::MemoryBuffer;
using llvm::StringRef;
using llvm::Twine;
namespace json = llvm::json;

Expected<TensorFile> TensorFile::open(StringRef path) {
  return path.ends_with(".index.json") ? openIndex(path) : openOne(path);
}

Expected<TensorFile> TensorFile::openOne(StringRef path) {
  auto buffer = openRegularFile(path, UINT64_MAX);
  if (!buffer)
    return buffer.takeError();
  return fromBuffer(std::move(*buffer));
}

Expected<TensorFile>
TensorFile::fromBuffer(std::unique_ptr<MemoryBuffer> buffer) {
  TensorFile file;
  file.path = buffer->getBufferIdentifier().str();
  auto header = parseSafetensors(buffer->getBuffer(), file.path);
  if (!header)
    return header.takeError();
  file.views = std::move(header->tensors);
  file.texts = std::move(header->metadata);
  file.buffers.push_back(std::move(buffer));
  file.sortByName();
  return file;
}

/// A shard must lie beside its index: an index from outside does not choose
/// which files of this machine are read.
static bool isPlainFileName(StringRef name) {
  return !name.empty() && name != "." && name != ".." && !name.contains('/') &&
         !name.contains('\\') && !name.contains('\0');
}

using Shards = std::map<std::string, std::vector<std::string>>;

/// The tensors of each shard, both in order of their names.
static Expected<Shards> readWeightMap(StringRef text, StringRef label) {
  Expected<json::Value> value = parseJson(text, label, NonFinite::Refuse);
  if (!value)
    return value.takeError();
  const json::Object *object = value->getAsObject();
  const json::Object *map = object ? object->getObject("weight_map") : nullptr;
  if (!map)
    return makeError(Twine(label) + ": expected an object with weight_map, the "
                                    "object from tensor names to file names");
  Shards shards;
  for (const auto &[key, shard] : *map) {
    std::optional<StringRef> name = shard.getAsString();
    if (!name || !isPlainFileName(*name))
      return makeError(Twine(label) + ": tensor " + quoted(key) +
                       ": expected the name of a file beside the index, got " +
                       describe(shard));
    shards[name->str()].push_back(StringRef(key).str());
  }
  for (auto &[shard, names] : shards)
    std::sort(names.begin(), names.end());
  return shards;
}

Expected<TensorFile> TensorFile::openIndex(StringRef path) {
  auto buffer = openRegularFile(path, maxHeaderBytes);
  if (!buffer)
    return buffer.takeError();
  auto shards = readWeightMap((*buffer)->getBuffer(), quotedPath(path));
  if (!shards)
    return shards.takeError();
  TensorFile file;
  file.path = path.str();
  for (const auto &[shard, names] : *shards) {
    llvm::SmallString<128> shardPath = llvm::sys::path::parent_path(path);
    llvm::sys::path::append(shardPath, shard);
    if (Error error = file.addShard(shardPath, names))
      return error;
  }
  file.sortByName();
  return file;
}

Error TensorFile::addShard(StringRef shardPath,
                           llvm::ArrayRef<std::string> names) {
  // Never an index again, which could name itself.
  Expected<TensorFile> shard = openOne(shardPath);
  if (!shard)
    return makeError(quotedPath(path) +
                     ": in its shard: " + llvm::toString(shard.takeError()));
  for (const std::string &name : names) {
    const TensorView *view = shard->find(name);
    if (!view)
      return makeError(quotedPath(path) + ": tensor " + quoted(name) +
                       ": expected in shard " + quotedPath(shardPath) +
                       ", which does not hold it");
    views.push_back(*view);
  }
  for (const TensorView &view : shard->views)
    if (!llvm::binary_search(names, view.name))
      unmapped.push_back(view);
  for (std::unique_ptr<MemoryBuffer> &buffer : shard->buffers)
    buffers.push_back(std::move(buffer));
  return Error::success();
}

void TensorFile::sortByName() {
  std::sort(
      views.begin(), views.end(),
      [](const TensorView &a, const TensorView &b) { return a.name < b.name; });
  positions.clear();
  for (size_t i = 0; i < views.size(); ++i)
    positions[views[i].name] = i;
}

void TensorFile::release() const {
  // LLVM's dontNeedIfMmap asks by posix_madvise, which does nothing in glibc.
  for (const std::unique_ptr<llvm::MemoryBuffer> &buffer : buffers)
    if (buffer->getBufferKind() == llvm::MemoryBuffer::MemoryBuffer_MMap)
      ::madvise(const_cast<char *>(buffer->getBufferStart()),
                buffer->getBufferSize(), MADV_DONTNEED);
}

const TensorView *TensorFile::find(StringRef name) const {
  auto found = positions.find(name);
  return found == positions.end() ? nullptr : &views[found->second];
}

std::vector<std::string> TensorFile::nearest(StringRef name,
                                             size_t count) const {
  // A bound keeps hostile names, long or many, from costing much.
  constexpr unsigned maxDistance = 24;
  std::vector<std::pair<unsigned, StringRef>> found;
  for (const TensorView &view : views) {
    StringRef other = view.name;
    if (other.size() > name.size() + maxDistance)
      continue;
    unsigned distance =
        name.edit_distance(other, /*AllowReplacements=*/true, maxDistance);
    if (distance <= maxDistance)
      found.push_back({distance, other});
  }
  std::sort(found.begin(), found.end());
  found.resize(std::min(found.size(), count));
  std::vector<std::string> names;
  for (const auto &[distance, other] : found)
    names.push_back(other.str());
  return names;
}
