//===- Memory.cpp - What a run takes, and what there is -------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Execution/Memory.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"

#include <limits>
#include <sys/resource.h>

namespace cp {

constexpr int64_t most = std::numeric_limits<int64_t>::max();

/// Of numbers that are not negative.
static int64_t add(int64_t a, int64_t b) {
  int64_t sum;
  return llvm::AddOverflow(a, b, sum) ? most : sum;
}

static int64_t multiply(int64_t a, int64_t b) {
  int64_t product;
  return llvm::MulOverflow(a, b, product) ? most : product;
}

int64_t MemoryUse::total() const {
  return add(add(add(program, weights), add(inputs, outputs)),
             add(state, check));
}

MemoryUse operator+(const MemoryUse &a, const MemoryUse &b) {
  return {add(a.program, b.program), add(a.weights, b.weights),
          add(a.state, b.state),     add(a.inputs, b.inputs),
          add(a.outputs, b.outputs), add(a.check, b.check)};
}

/// A tensor's bytes, which a signature has checked to exist.
static int64_t bytesOf(llvm::ArrayRef<int64_t> shape, DType dtype) {
  return tensorBytes(shape, dtype).value_or(most);
}

MemoryNeed memoryNeed(llvm::ArrayRef<TensorSpec> arguments,
                      llvm::ArrayRef<TensorSpec> results, int64_t arenaBytes,
                      int64_t ranks) {
  MemoryNeed need;
  need.rank.program = arenaBytes;
  need.process.program = multiply(arenaBytes, ranks);
  auto count = [&](const TensorSpec &spec, int64_t MemoryUse::*kind,
                   bool isShared) {
    int64_t whole = bytesOf(spec.shape, spec.dtype);
    int64_t part = bytesOf(localShape(spec.layout, spec.shape), spec.dtype);
    need.rank.*kind = add(need.rank.*kind, part);
    need.process.*kind = add(need.process.*kind, whole);
    if (!isShared)
      need.process.*kind = add(need.process.*kind, multiply(part, ranks));
  };
  llvm::StringSet<> updated;
  // Each rank writes a result of its own, replicas too.
  for (const TensorSpec &spec : results)
    if (spec.updates.empty())
      count(spec, &MemoryUse::outputs, /*isShared=*/false);
    else
      updated.insert(spec.updates);
  for (const TensorSpec &spec : arguments)
    count(spec,
          spec.isParam                         ? &MemoryUse::weights
          : spec.isState || spec.isAccumulator ? &MemoryUse::state
                                               : &MemoryUse::inputs,
          isWhole(spec) && !updated.contains(spec.name));
  return need;
}

MemoryNeed memoryNeed(const Program &program) {
  return memoryNeed(program.arguments(), program.results(),
                    program.arenaBytes(), program.mesh().numRanks());
}

static std::string textOf(const std::string &path) {
  auto file = llvm::MemoryBuffer::getFileAsStream(path);
  return file ? (*file)->getBuffer().str() : "";
}

static std::optional<int64_t> numberIn(const std::string &path) {
  int64_t number;
  // A limit of "max" is none.
  if (llvm::StringRef(textOf(path)).trim().getAsInteger(10, number))
    return std::nullopt;
  return number;
}

/// The number behind `key` in lines of "key number".
static std::optional<int64_t> fieldOf(llvm::StringRef text,
                                      llvm::StringRef key) {
  for (llvm::StringRef line : llvm::split(text, '\n')) {
    auto [name, rest] = line.split(' ');
    rest = rest.trim();
    int64_t number;
    if (name == key && !rest.consumeInteger(10, number))
      return number;
  }
  return std::nullopt;
}

/// What one control group leaves: its limit less what it uses, of which pages
/// of files can be given back.
static std::optional<int64_t> leftIn(const std::string &folder,
                                     const char *limitName,
                                     const char *usageName) {
  std::optional<int64_t> limit = numberIn(folder + limitName);
  std::optional<int64_t> used = numberIn(folder + usageName);
  if (!limit || !used)
    return std::nullopt;
  std::string stat = textOf(folder + "memory.stat");
  int64_t files = fieldOf(stat, "total_inactive_file")
                      .value_or(fieldOf(stat, "inactive_file").value_or(0));
  return std::max<int64_t>(*limit - std::max<int64_t>(*used - files, 0), 0);
}

std::optional<int64_t> availableMemory(const std::string &root) {
  std::optional<int64_t> least;
  auto note = [&](std::optional<int64_t> bytes) {
    if (bytes && (!least || *bytes < *least))
      least = bytes;
  };
  if (std::optional<int64_t> kilobytes =
          fieldOf(textOf(root + "/proc/meminfo"), "MemAvailable:"))
    note(multiply(*kilobytes, 1024));
  // Lines of "number:controllers:/path"; the path may be one outside of what is
  // mounted here, so the mount's own root counts too.
  std::string groups = textOf(root + "/proc/self/cgroup");
  llvm::SmallVector<llvm::StringRef> paths = {"/"};
  for (llvm::StringRef line : llvm::split(groups, '\n'))
    if (auto [number, rest] = line.split(':');
        number == "0" || rest.starts_with("memory:"))
      paths.push_back(rest.split(':').second);
  for (llvm::StringRef path : paths) {
    std::string folder = path.rtrim('/').str() + "/";
    note(leftIn(root + "/sys/fs/cgroup" + folder, "memory.max",
                "memory.current"));
    note(leftIn(root + "/sys/fs/cgroup/memory" + folder,
                "memory.limit_in_bytes", "memory.usage_in_bytes"));
  }
  return least;
}

int64_t peakResidentBytes() {
  struct rusage usage;
  return getrusage(RUSAGE_SELF, &usage) ? 0 : multiply(usage.ru_maxrss, 1024);
}

std::string bytesText(int64_t bytes) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (bytes >= int64_t(1) << 30)
    os << llvm::format("%.1f GiB", static_cast<double>(bytes) / (1 << 30));
  else if (bytes >= 1 << 20)
    os << llvm::format("%.1f MiB", static_cast<double>(bytes) / (1 << 20));
  else
    os << bytes << " bytes";
  return text;
}

std::string partsText(const MemoryUse &use) {
  return "program " + bytesText(use.program) + ", weights " +
         bytesText(use.weights) +
         (use.state ? ", optimizer " + bytesText(use.state) : "") +
         ", inputs " + bytesText(use.inputs) + ", outputs " +
         bytesText(use.outputs) +
         (use.check ? ", check " + bytesText(use.check) : "");
}

llvm::Error checkFits(const MemoryUse &needed, int64_t available) {
  if (needed.total() <= available)
    return llvm::Error::success();
  return llvm::createStringError(
      "the run needs " + bytesText(needed.total()) + " (" + partsText(needed) +
      "), but " + bytesText(available) +
      " are available; take a shorter sequence, a smaller batch or type, fewer "
      "ranks or a larger machine, or give --max-memory to run all the same");
}

} // namespace cp
