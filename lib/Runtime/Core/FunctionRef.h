//===- FunctionRef.h - A callable that lives elsewhere ----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_FUNCTIONREF_H
#define CP_LIB_RUNTIME_FUNCTIONREF_H

#include <type_traits>

namespace cp::runtime {

template <typename Fn> class FunctionRef;

/// As llvm::function_ref, which the runtime does without: two words, and what
/// it refers to must outlive it.
template <typename Result, typename... Args>
class FunctionRef<Result(Args...)> {
public:
  FunctionRef() = default;
  template <
      typename Fn,
      std::enable_if_t<!std::is_same_v<std::decay_t<Fn>, FunctionRef>, int> = 0>
  FunctionRef(const Fn &fn)
      : callee(&fn), call([](const void *callee, Args... args) -> Result {
          return (*static_cast<const Fn *>(callee))(args...);
        }) {}

  Result operator()(Args... args) const { return call(callee, args...); }
  explicit operator bool() const { return call; }

private:
  const void *callee = nullptr;
  Result (*call)(const void *callee, Args... args) = nullptr;
};

} // namespace cp::runtime

#endif // CP_LIB_RUNTIME_FUNCTIONREF_H
