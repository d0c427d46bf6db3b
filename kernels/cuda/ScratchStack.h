//===- ScratchStack.h - Memory for the length of calls ----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_KERNELS_CUDA_SCRATCHSTACK_H
#define CP_KERNELS_CUDA_SCRATCHSTACK_H

#include <algorithm>
#include <cstddef>
#include <functional>
#include <vector>

namespace cp::kernels::cuda {

/// What calls on one stream work with beside their tensors. A call has it until
/// it returns, and the next one takes the same, which the stream runs behind
/// it. Where a call finds too little it is given another block, and once nobody
/// has any, all blocks become one, of as much as was ever taken at one time: so
/// that a step like one before it allocates nothing. Used by one thread.
class ScratchStack {
public:
  /// Of memory for the stream, 256-byte aligned, null where there is none; what
  /// is released may still be used by what the stream was given before.
  using AllocateFn = std::function<void *(size_t bytes)>;
  using ReleaseFn = std::function<void(void *block)>;
  ScratchStack(AllocateFn allocateBlock, ReleaseFn releaseBlock)
      : allocateBlock(std::move(allocateBlock)),
        releaseBlock(std::move(releaseBlock)) {}
  ScratchStack(const ScratchStack &) = delete;
  ScratchStack &operator=(const ScratchStack &) = delete;
  ~ScratchStack() { clear(); }

  /// How much of it is taken: in all, and of the block that is taken from,
  /// which may be one behind the last.
  struct Mark {
    size_t all = 0, block = 0, bytes = 0;
  };
  Mark mark() const { return top; }
  /// 256-byte aligned; null where there is no more memory, or it must not grow.
  void *allocate(size_t bytes);
  /// Everything that was taken since, by whoever took it last first.
  void releaseTo(Mark mark);

  /// While it does not grow, it allocates nothing.
  void grow(bool doIt) { grows = doIt; }
  /// Somebody uses what it has now for longer than a call, as a graph does that
  /// was captured: until all have dropped it, no block that was ever there
  /// goes.
  void hold() { ++holders; }
  void drop();
  /// When nobody has any, nor holds it.
  void clear();

private:
  struct Block {
    char *memory;
    size_t bytes;
  };
  bool add(size_t bytes);
  void release(std::vector<Block> &list);

  const AllocateFn allocateBlock;
  const ReleaseFn releaseBlock;
  std::vector<Block> blocks;
  /// Those that had become too small while somebody held them.
  std::vector<Block> outgrown;
  Mark top;
  size_t most = 0;
  int holders = 0;
  bool grows = true;
};

inline void ScratchStack::release(std::vector<Block> &list) {
  for (const Block &block : list)
    releaseBlock(block.memory);
  list.clear();
}

inline void ScratchStack::clear() {
  release(blocks);
  release(outgrown);
}

inline void ScratchStack::drop() {
  if (--holders == 0)
    release(outgrown);
}

inline bool ScratchStack::add(size_t bytes) {
  auto *memory = static_cast<char *>(grows ? allocateBlock(bytes) : nullptr);
  if (memory)
    blocks.push_back({memory, bytes});
  return memory != nullptr;
}

inline void *ScratchStack::allocate(size_t bytes) {
  constexpr size_t alignment = 256;
  // Each has a place of its own, of whatever size.
  size_t taken = (bytes ? bytes + alignment - 1 : alignment) / alignment;
  taken *= alignment;
  // What is left of a block that is too small stays so until that is free.
  auto [all, block, bytesBefore] = top;
  while (block < blocks.size() && blocks[block].bytes - bytesBefore < taken) {
    ++block;
    bytesBefore = 0;
  }
  if (block == blocks.size() && !add(taken))
    return nullptr;
  top = {all + taken, block, bytesBefore + taken};
  most = std::max(most, top.all);
  return blocks[block].memory + bytesBefore;
}

inline void ScratchStack::releaseTo(Mark mark) {
  top = mark;
  if (mark.all || blocks.size() < 2)
    return;
  if (holders) {
    outgrown.insert(outgrown.end(), blocks.begin(), blocks.end());
    blocks.clear();
  }
  release(blocks);
  add(most);
}

} // namespace cp::kernels::cuda

#endif // CP_KERNELS_CUDA_SCRATCHSTACK_H
