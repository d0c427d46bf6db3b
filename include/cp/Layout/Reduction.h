//===- Reduction.h - What becomes of partial sums ---------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LAYOUT_REDUCTION_H
#define CP_LAYOUT_REDUCTION_H

#include <optional>

namespace cp {

/// What the ranks along one mesh axis hold of a value that is not cut there.
///   Replicated  each the same, full value
///   Partial     summands of the full value
enum class Sum { Replicated, Partial };

/// How an op uses one operand, the others held fixed.
///   Additive    f(x + y) = f(x) + f(y), and other operands do not add to it:
///               a product's factor, a cast, a slice, a sum over a dimension
///   Term        one term of an addition
///   Unread      overwritten: the init of an op that starts afresh
///   Other       anything else: exp, a maximum, a norm, the divisor
enum class Use { Additive, Term, Unread, Other };

/// The result of one operand along one axis; nothing when the op may not see
/// it. A term passes as it is, but then add must accept it beside the other
/// terms.
///   operand     Additive    Term        Unread      Other
///   Replicated  Replicated  Replicated  Replicated  Replicated
///   Partial     Partial     Partial     Replicated  nothing
std::optional<Sum> through(Sum operand, Use use);

/// An addition: both terms must agree, or the replicated one is added R times.
///   Replicated + Replicated = Replicated
///   Partial    + Partial    = Partial
///   Replicated + Partial    = nothing
///   Partial    + Replicated = nothing
std::optional<Sum> add(Sum a, Sum b);

/// A product of two additive operands.
///   Replicated * Replicated = Replicated
///   Partial    * Replicated = Partial
///   Replicated * Partial    = Partial
///   Partial    * Partial    = nothing
std::optional<Sum> multiply(Sum a, Sum b);

} // namespace cp

#endif // CP_LAYOUT_REDUCTION_H
