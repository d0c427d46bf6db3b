//===- MessageWorld.h - Ranks that send messages ----------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_MESSAGES_MESSAGEWORLD_H
#define CP_LIB_RUNTIME_MESSAGES_MESSAGEWORLD_H

#include "Control.h"
#include "Core/World.h"
#include "Trail.h"
#include "Whereabouts.h"
#include "Wire.h"

#include "cp/Runtime/cprt_transport.h"

namespace cp::runtime {

/// One rank of a world, and what it knows of the others.
class MessageWorld final : public cprt_world, private Control::Listener {
public:
  /// Takes what the transport refers to.
  explicit MessageWorld(const cprt_transport &transport);
  ~MessageWorld() override;

  /// Makes the context and begins to hear of the others.
  void start(int64_t rank, std::unique_ptr<Control> control);
  /// The rank's queue does not wait for messages on the host from now on.
  void followOnDevice(cprt_context &context);

  std::unique_ptr<Channel> openChannel(cprt_context &context,
                                       const std::vector<int64_t> &ranks,
                                       int64_t position) override;
  bool defers() const override { return !transport.bind; }
  bool movesOnDevice() const override { return transport.post_on_device; }
  bool followsOnDevice() const override { return trail != nullptr; }
  void spread(Failure failure) override;
  /// The same, with the mutex not held; gives what ends the world.
  Failure end(Failure failure);

  /// Whether a rank has said goodbye.
  bool hasLeft(int64_t rank) const {
    return departed[size_t(rank)].load(std::memory_order_relaxed);
  }
  bool hasFailed() const { return hasFailure.load(std::memory_order_acquire); }
  /// Once it has.
  const Failure &failure() const { return first; }

  const cprt_transport transport;
  /// Through which it is called once the world is made.
  Wire wire;
  /// More threads than processors: spinning would only keep peers from running.
  bool oversubscribed = false;
  std::unique_ptr<Whereabouts> whereabouts;
  /// Where the rank's device goes on behind messages by itself; else null.
  std::unique_ptr<Trail> trail;

private:
  void hear(const Letter &letter) override;
  void lose(int64_t rank) override;
  bool keep(Failure failure);

  std::unique_ptr<Control> control;
  std::atomic<bool> hasFailure{false};
  /// By rank.
  std::unique_ptr<std::atomic<bool>[]> departed;
  /// Written once, before `hasFailure`.
  Failure first{CPRT_OK, ""};
};

} // namespace cp::runtime

#endif // CP_LIB_RUNTIME_MESSAGES_MESSAGEWORLD_H
