//===- Recording.cpp - What a program gives a device, kept ----------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Recording.h"

#include "Context.h"
#include "Operations.h"

#include <algorithm>
#include <new>

using namespace cp::runtime;

Recording::~Recording() {
  for (const Piece &piece : pieces)
    queue.discard(piece.recording);
}

Error Recording::start(bool &isDone) {
  nextCall = nextPiece = 0;
  isDone = false;
  switch (stage) {
  case Stage::New:
    stage = Stage::Seen;
    break;
  case Stage::Seen:
    stage = Stage::Taking;
    break;
  case Stage::Kept:
    isDone = !isCut && pieces.size() == 1;
    if (!isDone)
      break;
    nextCall = calls.size();
    return startPiece();
  case Stage::Taking:
  case Stage::Off:
    break;
  }
  return std::nullopt;
}

Error Recording::finish(bool hasFailed) {
  if (hasFailed)
    return abandon();
  if (stage == Stage::Taking) {
    stage = Stage::Kept;
    return isOpen ? closePiece() : std::nullopt;
  }
  if (stage != Stage::Kept)
    return std::nullopt;
  if (nextCall < calls.size())
    return Failure{CPRT_MISMATCH,
                   "the program has made " + std::to_string(nextCall) +
                       " calls, and " + std::to_string(calls.size()) +
                       " when it was recorded"};
  return isDue ? startPiece() : std::nullopt;
}

Failure Recording::otherCall() const {
  return {CPRT_MISMATCH,
          "call " + std::to_string(nextCall) +
              " of the program, or what is done before it, is another one than "
              "when it was recorded; call a program that depends on data "
              "without cprt_run_recorded"};
}

bool Recording::skip(const void *call) {
  if (stage != Stage::Kept || nextCall == calls.size() ||
      calls[nextCall].identity != call || !calls[nextCall].isInPiece)
    return false;
  ++nextCall;
  return isDue = true;
}

Error Recording::take(const void *call, bool isAlone) {
  if (stage == Stage::Taking) {
    if (!isAlone)
      if (Error failure = cut())
        return failure;
    calls.push_back({call, isAlone});
    if (!isAlone || isOpen)
      return std::nullopt;
    Error failure = queue.beginRecording();
    isOpen = !failure;
    return failure;
  }
  if (stage != Stage::Kept)
    return std::nullopt;
  if (nextCall == calls.size() || calls[nextCall].identity != call ||
      calls[nextCall].isInPiece)
    return otherCall();
  if (Error failure = cut())
    return failure;
  ++nextCall;
  return std::nullopt;
}

Error Recording::cut() {
  isCut |= stage == Stage::Taking;
  if (isOpen)
    return closePiece();
  return isDue ? startPiece() : std::nullopt;
}

/// Nothing of it has been started.
Error Recording::endPiece() {
  isOpen = false;
  void *recording = nullptr;
  if (Error failure = queue.endRecording(recording))
    return failure;
  pieces.push_back({recording, calls.size()});
  return std::nullopt;
}

Error Recording::closePiece() {
  if (Error failure = endPiece())
    return failure;
  return queue.replay(pieces.back().recording);
}

Error Recording::startPiece() {
  isDue = false;
  if (nextCall != pieces[nextPiece].end)
    return otherCall();
  return queue.replay(pieces[nextPiece++].recording);
}

Error Recording::giveUp() {
  Error failure = cut();
  stage = Stage::Off;
  return failure;
}

Error Recording::abandon() {
  Error failure;
  if (isOpen)
    failure = endPiece();
  isDue = false;
  stage = Stage::Off;
  return failure;
}

//===----------------------------------------------------------------------===//
// The C interface
//===----------------------------------------------------------------------===//

/// The one of this program with these buffers, of the few that were asked for
/// last.
static Recording &recordingOf(Context &context, cprt_program_run *run,
                              void *const *buffers, size_t count) {
  constexpr size_t most = 8;
  std::list<Recording> &all = context.recordings;
  auto found = std::find_if(all.begin(), all.end(), [&](const Recording &each) {
    return each.isOf(run, buffers, count);
  });
  if (found == all.end()) {
    if (all.size() == most)
      all.pop_back();
    return all.emplace_front(*context.queue, run, buffers, count);
  }
  all.splice(all.begin(), all, found);
  return all.front();
}

namespace {
/// A step of a program that is called with its recording, if it has one.
class RecordedRun {
public:
  explicit RecordedRun(Context &context) : context(context) {}

  /// Whether the program is to be called.
  bool start(cprt_program_run *run, void *const *buffers, size_t count) {
    bool isDone = false;
    within([&] {
      recording = &recordingOf(context, run, buffers, count);
      return recording->start(isDone);
    });
    context.recording = recording;
    return !isDone && !context.hasFailed();
  }
  void finish() {
    context.recording = nullptr;
    if (recording)
      within([&] { return recording->finish(context.hasFailed()); });
  }

private:
  template <typename Body> void within(Body body) {
    Entry entry(context, "run_recorded");
    if (!entry)
      return;
    try {
      if (Error failure = body())
        context.fail(failure->status, "run_recorded: " + failure->message);
    } catch (const std::bad_alloc &) {
      failOutOfMemory(context);
    }
  }

  Context &context;
  Recording *recording = nullptr;
};
} // namespace

extern "C" void cprt_run_recorded(cprt_context *context, cprt_program_run *run,
                                  void *const *buffers, size_t num_buffers) {
  if (!context || context->hasFailed())
    return;
  if (!run || (num_buffers && !buffers))
    return cprt_context_fail(context, CPRT_INVALID_ARGUMENT,
                             "run_recorded: the program or its buffers are "
                             "null");
  if (context->recording)
    return cprt_context_fail(context, CPRT_INVALID_ARGUMENT,
                             "run_recorded: called by a program that is being "
                             "run so; call the other program itself");
  if (!context->queue || !context->queue->records())
    return run(context, nullptr, buffers);
  RecordedRun recorded(*context);
  if (recorded.start(run, buffers, num_buffers))
    run(context, nullptr, buffers);
  recorded.finish();
}
