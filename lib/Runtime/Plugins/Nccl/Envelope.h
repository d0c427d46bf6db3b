//===- Envelope.h - What goes in front of messages --------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_PLUGINS_NCCL_ENVELOPE_H
#define CP_LIB_RUNTIME_PLUGINS_NCCL_ENVELOPE_H

#include "Blocks.h"

#include <optional>

namespace cp::nccl {

/// An event of a queue, forgotten with this.
class Mark {
public:
  Mark(const cprt_device &device, void *queue) : device(device), queue(queue) {}
  Mark(const Mark &) = delete;
  Mark &operator=(const Mark &) = delete;
  ~Mark() {
    if (event)
      device.forget(queue, event);
  }
  cprt_status record() { return device.record(queue, &event); }
  cprt_status query(int32_t *done) { return device.query(queue, event, done); }
  /// Lets another queue wait for it.
  cprt_status hold(void *other) { return device.wait_for(other, event); }

private:
  const cprt_device &device;
  void *const queue;
  void *event = nullptr;
};

/// What says which message one is, since NCCL would take one for another.
struct alignas(64) Header {
  int64_t tag, bytes;
};

/// The headers of messages that are posted together on one lane, a place each:
/// they go to the card at once and come from there at once, on a queue that
/// waits for no other rank.
class Envelope {
public:
  Envelope(const cprt_device &device, void *copies, Blocks &blocks)
      : device(device), copies(copies), blocks(blocks) {}
  Envelope(const Envelope &) = delete;
  Envelope &operator=(const Envelope &) = delete;
  ~Envelope() {
    if (block && !isLost)
      blocks.give(block);
  }

  /// What a message that goes out has there; nothing for one that comes.
  size_t add(Header header) {
    headers.push_back(header);
    return headers.size() - 1;
  }
  /// Once all are added. CPRT_OUT_OF_MEMORY where the card has no room.
  cprt_status send() {
    block = static_cast<char *>(blocks.take(bytes()));
    return block ? device.upload(copies, block, headers.data(), bytes())
                 : CPRT_OUT_OF_MEMORY;
  }
  /// Where a message's is on the card.
  void *place(size_t number) const { return block + number * sizeof(Header); }

  /// Begins to bring them to the host, the first time, once they are there.
  cprt_status land() {
    if (landed)
      return CPRT_OK;
    cprt_status status =
        device.download(copies, headers.data(), block, bytes());
    landed.emplace(device, copies);
    return status == CPRT_OK ? landed->record() : status;
  }
  cprt_status query(int32_t *done) { return landed->query(done); }
  bool isLanding() const { return landed.has_value(); }
  const Header &at(size_t number) const { return headers[number]; }

  /// NCCL may write its block until it has ended.
  void lose() { isLost = true; }

private:
  int64_t bytes() const { return int64_t(headers.size() * sizeof(Header)); }

  const cprt_device &device;
  void *const copies;
  Blocks &blocks;
  std::vector<Header> headers;
  char *block = nullptr;
  std::optional<Mark> landed;
  bool isLost = false;
};

} // namespace cp::nccl

#endif // CP_LIB_RUNTIME_PLUGINS_NCCL_ENVELOPE_H
