//===- MessageWait.h - What a rank does while it waits ----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_MESSAGES_MESSAGEWAIT_H
#define CP_LIB_RUNTIME_MESSAGES_MESSAGEWAIT_H

#include "Core/Clock.h"
#include "Core/FunctionRef.h"
#include "Whereabouts.h"

namespace cp::runtime {

class MessageWorld;

/// A message under way.
struct Posted {
  void *request;
  int64_t peer;
};

/// The patience of a rank with messages of one call, of a group of ranks by
/// position: tests them, looks at what others say meanwhile, asks where they
/// are, and knows when it has been long enough.
class MessageWait {
public:
  /// Who waits: the program, in its call or behind it, when a device has gone
  /// on without the host; or, without asking others, a thread that looks after
  /// such, or a deferred call.
  enum class Kind { Call, Behind, Watched, Deferred };

  MessageWait(MessageWorld &world, const std::vector<int64_t> &ranks,
              WaitedCall call, Kind kind = Kind::Call)
      : world(world), ranks(ranks), call(call), kind(kind) {}

  /// Until a message has been sent or received, after which, and after a
  /// failure, there is no request.
  Error wait(Posted &posted);
  /// Until what a queue of the device is given is behind it.
  Error follow(Posted &posted, void *queue);
  /// A look at it that waits for nothing.
  Error test(Posted &posted, bool &isDone);
  /// Asks `peer` whether it was or is at another call, which ends the world.
  void askAbout(int64_t peer);

  /// How long one waits, at most, before it asks, and asks again.
  static constexpr std::chrono::milliseconds longestPatience{100},
      rarestAsking{5000};

  /// What ends the world where the transport has found something wrong, or
  /// where `peer` is late.
  Failure failureOfTransport(cprt_status status, const std::string &text);
  Failure lateFailure(int64_t peer);

private:
  bool asks() const { return kind == Kind::Call || kind == Kind::Behind; }
  Error until(FunctionRef<Error(bool &isDone)> turn, int64_t peer);
  Error lookAround(int64_t peer, Clock::time_point start,
                   Clock::time_point &ask, std::chrono::milliseconds &patience);
  Failure departedFailure(int64_t peer);

  MessageWorld &world;
  const std::vector<int64_t> &ranks;
  const WaitedCall call;
  const Kind kind;
};

} // namespace cp::runtime

#endif // CP_LIB_RUNTIME_MESSAGES_MESSAGEWAIT_H
