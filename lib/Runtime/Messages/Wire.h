//===- Wire.h - Messages that travel while a rank works ---------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Engines that carry messages do so while they are asked: a large message whose
// two ends compute stays where it is. Another thread asks them then.
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_MESSAGES_WIRE_H
#define CP_LIB_RUNTIME_MESSAGES_WIRE_H

#include "cp/Runtime/cprt_transport.h"

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace cp::runtime {

/// A transport, one thread at a time.
class Wire {
public:
  explicit Wire(const cprt_transport &transport) : transport(transport) {}
  Wire(const Wire &) = delete;
  Wire &operator=(const Wire &) = delete;
  ~Wire() { stop(); }

  /// As in cprt_transport; `text`, of a failure, is that of this call. Where
  /// there is a queue, messages are on its device.
  cprt_status post(const cprt_message *messages, int64_t count, void **requests,
                   void *queue, std::string &text);
  cprt_status test(void **request, bool &isDone, std::string &text);
  cprt_status follow(void *queue, void *request, bool &isDone,
                     std::string &text);
  void cancel(void *request);

  /// The rank computes from now on, and the transport is asked to carry on; or
  /// does so no more. Never fails: without a thread messages only travel later.
  void carryOn();
  void rest();
  /// Ends the thread; nothing is carried on from now on.
  void stop();

private:
  void run();

  const cprt_transport transport;
  /// Around every call of the transport.
  std::mutex calls;

  std::thread thread;
  std::mutex mutex;
  std::condition_variable changed;
  /// Guarded by `mutex`.
  bool isWorking = false, isOver = false;
};

} // namespace cp::runtime

#endif // CP_LIB_RUNTIME_MESSAGES_WIRE_H
