//===- JoinArguments.cpp - Decodes calls of join_states, join_decays ------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "OpArguments.h"

namespace cp::kernels {

template <typename T>
const char *decode(const Call &call, JoinStatesArgs<T> &args) {
  Arguments in(call, "join_states");
  in.expectAttributes(2);
  args.first = in.integer("first", 0);
  args.inner = in.integer("inner", 1);
  in.expectBuffers(3, 3, 1, 1);
  if (in.error())
    return in.error();
  Dim n = {"n"}, d = {"d"};
  args.left = in.input<T>("left", {&n});
  args.right = in.input<T>("right", {&n});
  args.decays = in.input<T>("decays", {&d});
  args.y = in.output<T>("y", {&n});
  args.n = n.size;
  // The sum fits 64 bits without a sign.
  if (!in.error() && args.n > 0 &&
      (uint64_t(args.first) + uint64_t(args.n - 1)) / uint64_t(args.inner) >=
          uint64_t(d.size))
    return fail("join_states: decays has d = %lld elements, expected one for "
                "each %lld of first + n = %lld + %lld states",
                (long long)d.size, (long long)args.inner, (long long)args.first,
                (long long)args.n);
  return in.error();
}

template <typename T>
const char *decode(const Call &call, JoinDecaysArgs<T> &args) {
  Arguments in(call, "join_decays");
  in.expectAttributes(0);
  in.expectBuffers(2, 2, 1, 1);
  if (in.error())
    return in.error();
  Dim n = {"n"};
  args.left = in.input<T>("left", {&n});
  args.right = in.input<T>("right", {&n});
  args.y = in.output<T>("y", {&n});
  args.n = n.size;
  return in.error();
}

template const char *decode(const Call &, JoinStatesArgs<float> &);
template const char *decode(const Call &, JoinStatesArgs<double> &);
template const char *decode(const Call &, JoinDecaysArgs<float> &);
template const char *decode(const Call &, JoinDecaysArgs<double> &);

} // namespace cp::kernels
