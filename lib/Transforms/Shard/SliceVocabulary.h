//===- SliceVocabulary.h - A language model's head for ranks to share -----===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_TRANSFORMS_SLICEVOCABULARY_H
#define CP_LIB_TRANSFORMS_SLICEVOCABULARY_H

#include "cp/IR/CPDialect.h"

namespace cp {

/// Makes a loss of a whole vocabulary one of `slices` slices, whose results are
/// put together as parts of attention are; the op is marked to be cut by them.
/// Nothing where they do not divide the vocabulary, or it is sliced already.
void sliceVocabulary(LinearCrossEntropyOp op, int64_t slices);

} // namespace cp

#endif // CP_LIB_TRANSFORMS_SLICEVOCABULARY_H
