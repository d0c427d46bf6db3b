//===- Recording.h - What a program gives a device, kept --------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_RECORDING_H
#define CP_LIB_RUNTIME_RECORDING_H

#include "Status.h"

#include "cp/Runtime/cprt_device.h"

#include <algorithm>
#include <vector>

namespace cp::runtime {

class DeviceQueue;

/// What a program gives a device, to be given again as one thing: kernels that
/// follow each other are a piece, and what other ranks or the host have a part
/// in stands between pieces and is done each time. The program's first run is
/// as ever, since it is the one that allocates and brings constants over; the
/// second is recorded; and those behind it only start the pieces. That they
/// make the same calls is checked as far as the calls that are made tell. Used
/// by one thread.
class Recording {
public:
  Recording(DeviceQueue &queue, cprt_program_run *run, void *const *buffers,
            size_t count)
      : queue(queue), run(run), buffers(buffers, buffers + count) {}
  Recording(const Recording &) = delete;
  Recording &operator=(const Recording &) = delete;
  ~Recording();

  bool isOf(cprt_program_run *of, void *const *places, size_t count) const {
    return run == of && buffers.size() == count &&
           std::equal(buffers.begin(), buffers.end(), places);
  }
  bool isFirstRun() const { return stage == Stage::Seen; }

  /// Begins a run: what is recorded is one piece, and has been started, or the
  /// program is to be called, between this and finish().
  Error start(bool &isDone);
  /// Of a run that has failed nothing more is started.
  Error finish(bool hasFailed);

  /// Whether a call, known by its table or its kernel, is in a piece already;
  /// it need not be made then.
  bool skip(const void *call);
  /// What skip() has not taken is about to be made: by a kernel of the device
  /// alone, or otherwise, which comes behind the piece before it.
  Error take(const void *call, bool isAlone);
  /// Whoever uses the queue in another way, or does what the host sees, comes
  /// behind the piece too.
  Error cut();
  /// The program works on other memory each time.
  Error giveUp();
  /// Behind a failure: the queue is as ever again.
  Error abandon();

private:
  enum class Stage { New, Seen, Taking, Kept, Off };
  struct Call {
    const void *identity;
    bool isInPiece;
  };
  struct Piece {
    void *recording;
    /// The first call behind it.
    size_t end;
  };
  Error endPiece();
  Error closePiece();
  Error startPiece();
  Failure otherCall() const;

  DeviceQueue &queue;
  cprt_program_run *const run;
  const std::vector<void *> buffers;
  Stage stage = Stage::New;
  std::vector<Call> calls;
  std::vector<Piece> pieces;
  /// Of a run under way: the next call, the next piece to be started, whether
  /// one is being recorded, and whether calls of the next one have come.
  size_t nextCall = 0, nextPiece = 0;
  bool isOpen = false, isDue = false;
  /// Whether a run is more than starting pieces.
  bool isCut = false;
};

} // namespace cp::runtime

#endif // CP_LIB_RUNTIME_RECORDING_H
