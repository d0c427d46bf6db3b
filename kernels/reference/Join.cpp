//===- reference/Join.cpp - States and decays of neighbours ---------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Decay.h"
#include "OpArguments.h"
#include "reference/Reference.h"

namespace cp::kernels::reference {

template <typename T> const char *joinStates(const Call &call) {
  JoinStatesArgs<T> args;
  if (const char *message = decode(call, args))
    return message;
  for (int64_t i = 0; i < args.n; ++i)
    *args.y.at(i) = decayed(*args.decays.at((args.first + i) / args.inner),
                            *args.left.at(i), *args.right.at(i));
  return nullptr;
}

template <typename T> const char *joinDecays(const Call &call) {
  JoinDecaysArgs<T> args;
  if (const char *message = decode(call, args))
    return message;
  for (int64_t i = 0; i < args.n; ++i)
    *args.y.at(i) = joinedDecay(*args.left.at(i), *args.right.at(i));
  return nullptr;
}

template const char *joinStates<float>(const Call &);
template const char *joinStates<double>(const Call &);
template const char *joinDecays<float>(const Call &);
template const char *joinDecays<double>(const Call &);

} // namespace cp::kernels::reference
