//===- MallocCount.h - Counts what goes to the heap -------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The executable that links this replaces glibc's malloc and its kin for the
// whole process, shared libraries included. Not for sanitizers, which do the
// same.
//
//===----------------------------------------------------------------------===//

#ifndef CP_UNITTESTS_EXECUTION_MALLOCCOUNT_H
#define CP_UNITTESTS_EXECUTION_MALLOCCOUNT_H

#include <cstdint>

namespace cp::test {

/// From now on the calling thread is counted, or is not. None is at first.
void countThisThread(bool isCounted);

/// How often counted threads have asked the heap for memory, ever.
int64_t numHeapCalls();

} // namespace cp::test

#endif // CP_UNITTESTS_EXECUTION_MALLOCCOUNT_H
