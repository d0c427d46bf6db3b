//===- RemarkText.cpp - The words of remarks --------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RemarkText.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace cp {

template <typename T> static std::string print(const T &value) {
  std::string text;
  llvm::raw_string_ostream(text) << value;
  return text;
}

std::string textOf(LayoutAttr layout) {
  std::string text = print(layout), mesh = print(layout.getMesh());
  size_t start = text.find(mesh) + mesh.size() + 2;
  return text.substr(start, text.size() - start - 1);
}

std::string textOf(ArrayAttr axes) {
  std::string text = print(axes);
  return text.substr(1, text.size() - 2);
}

void addBytes(remark::detail::InFlightRemark &remark,
              ArrayRef<int64_t> bytesByRank) {
  if (bytesByRank.empty()) {
    remark << remark::metric("bytes", "not counted: too many ranks");
    return;
  }
  remark << remark::metric("bytes", *llvm::max_element(bytesByRank));
  if (llvm::all_equal(bytesByRank))
    return;
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleave(bytesByRank, os, " ");
  remark << remark::metric("bytes_by_rank", text);
}

static bool onlyReshapes(Operation *op) {
  return isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp,
             tensor::ExtractSliceOp, RepeatOp>(op);
}

SmallVector<Operation *> consumersOf(Operation *op) {
  llvm::SetVector<Operation *> found;
  SmallVector<Operation *> work = {op};
  while (!work.empty())
    for (Operation *user : work.pop_back_val()->getUsers()) {
      if (onlyReshapes(user))
        work.push_back(user);
      else
        // Bodies may read values from outside.
        found.insert(op->getBlock()->findAncestorOpInBlock(*user));
    }
  SmallVector<Operation *> consumers = found.takeVector();
  llvm::sort(consumers,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return consumers;
}

std::string namesOf(ArrayRef<Operation *> ops) {
  llvm::SetVector<StringRef> names;
  for (Operation *op : ops)
    names.insert(op->getName().getStringRef());
  return llvm::join(names, ", ");
}

} // namespace cp
