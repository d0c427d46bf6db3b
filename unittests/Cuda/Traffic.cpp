//===- Traffic.cpp - What blocks take from memory ---------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Traffic.h"

#include <algorithm>

using namespace cp::kernels::cuda::exec;

void Traffic::read(const void *from, size_t bytes) {
  const auto *at = static_cast<const char *>(from);
  // The last that was made: memory that was freed is given out again.
  for (auto area = areas.rbegin(); area != areas.rend(); ++area) {
    if (at < area->begin || at >= area->begin + area->bytes)
      continue;
    std::vector<bool> &isRead = area->isRead[rankInCluster()];
    isRead.resize(area->bytes);
    auto first = isRead.begin() + (at - area->begin);
    std::fill_n(first,
                std::min<ptrdiff_t>(ptrdiff_t(bytes), isRead.end() - first),
                true);
    return;
  }
}

void Traffic::blocksEnd() {
  for (Area &area : areas)
    for (std::vector<bool> &isRead : area.isRead) {
      area.taken += std::count(isRead.begin(), isRead.end(), true);
      isRead.clear();
    }
}

static void noteRead(const void *from, size_t bytes) {
  if (Watcher *told = watcher())
    told->read(from, bytes);
}

// What GCC's -fsanitize=thread calls.
extern "C" {
void __tsan_init() {}
void __tsan_func_entry(void *) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void *, void *) {}
#define CP_ACCESS(bytes)                                                       \
  void __tsan_read##bytes(void *from) { noteRead(from, bytes); }               \
  void __tsan_unaligned_read##bytes(void *from) { noteRead(from, bytes); }     \
  void __tsan_write##bytes(void *) {}                                          \
  void __tsan_unaligned_write##bytes(void *) {}
CP_ACCESS(1)
CP_ACCESS(2)
CP_ACCESS(4)
CP_ACCESS(8)
CP_ACCESS(16)
#undef CP_ACCESS
void __tsan_read_range(void *from, size_t bytes) { noteRead(from, bytes); }
void __tsan_write_range(void *, size_t) {}
}
