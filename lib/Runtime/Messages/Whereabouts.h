//===- Whereabouts.h - Where a rank is, for those who wait for it -*- C++ -*-=//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// No collective compares its calls over messages: that would cost each of them
// a trip. A rank that has waited for a while asks the one it waits for where it
// is. That one knows from the numbers of their calls in the group whether it is
// at another call, or has been. If it has not come and waits itself, it hands
// the question on to whom it waits for; a question that comes back to a rank
// which still waits has gone round a cycle.
//
// Where a transport's messages of one call end together, who has come to it may
// wait for each other, and not for the one that has not. A rank then asks some
// others of the group too, and is told by those that have it from the absent
// one itself, which it asks from then on: all know it after a few rounds. What
// was learnt counts until a rank asks again, since who was absent may have
// come.
//
// (Chandy, Misra and Haas, "Distributed deadlock detection", ACM TOCS 1(2),
// 1983. Demers et al., "Epidemic algorithms for replicated database
// maintenance", PODC 1987.)
//
//===----------------------------------------------------------------------===//

#ifndef CP_LIB_RUNTIME_MESSAGES_WHEREABOUTS_H
#define CP_LIB_RUNTIME_MESSAGES_WHEREABOUTS_H

#include "Core/Descriptor.h"
#include "Letter.h"

#include <array>
#include <functional>
#include <map>
#include <mutex>

namespace cp::runtime {

/// Tells calls apart as Descriptor::sameAs does, but for what is as rare as two
/// equal hashes.
uint64_t hashOf(const Descriptor &call);

/// A call that a rank waits in, or behind.
struct WaitedCall {
  const char *op = "";
  int64_t id = 0;
  /// In its group, from 1 on.
  uint64_t number = 0;
  uint64_t hash = 0;
  /// While it is under way.
  const Descriptor *whole = nullptr;

  static WaitedCall of(const Descriptor &call, uint64_t number = 0) {
    return {call.op(), call.id(), number, hashOf(call), &call};
  }
  /// As in Descriptor, as far as is known.
  std::string title() const { return cp::runtime::title(op, id); }
  std::string describe() const { return whole ? whole->describe() : title(); }
};

class Whereabouts {
public:
  /// `send` sends a question to another rank, `fail` ends the world; so many
  /// ranks are asked beside the one that is waited for.
  Whereabouts(int64_t rank, std::function<void(Letter)> send,
              std::function<void(Failure)> fail, size_t numAside = 0)
      : rank(rank), send(std::move(send)), fail(std::move(fail)),
        numAside(numAside) {}

  /// The last calls of one group, by their numbers, which begin with 1.
  struct Calls {
    struct Call {
      uint64_t hash = 0;
      const char *op = "";
      int64_t id = 0;
    };
    uint64_t number = 0;
    /// A rank whose device works behind it may be ahead by as many.
    std::array<Call, 1536> last = {};

    Call &at(uint64_t n) { return last[n % last.size()]; }
    bool knows(uint64_t n) const {
      return n > 0 && n <= number && number - n < last.size();
    }
  };
  /// Those of a group (ranks by position); stay where they are.
  Calls &callsOf(const std::vector<int64_t> &group);

  /// That this rank begins a call of a group.
  WaitedCall enter(Calls &group, const Descriptor &call);
  void leave();

  /// That it waits for `peer` in a call of the group; asks where that one is,
  /// and again whenever it is called.
  void waitFor(int64_t peer, const std::vector<int64_t> &group,
               const WaitedCall &call);
  void stopWaiting();
  /// Asks `peer` whether it was or is at another call, for what waits beside
  /// this rank's program; from any thread.
  void askAbout(int64_t peer, const std::vector<int64_t> &group,
                const WaitedCall &call);
  /// Whom those who wait wait for in the end, as far as this rank knows, which
  /// waits for `peer`.
  int64_t absentRank(int64_t peer);

  /// A question, or the answer to one of this rank's; from any thread.
  void answer(const Letter &letter);
  void hearOfAbsence(const Letter &letter);

private:
  /// One wait, as a question tells of it.
  struct Wait {
    int64_t rank = 0;
    uint64_t epoch = 0;
    int64_t peer = 0;
    std::vector<int64_t> group;
    uint64_t number = 0, hash = 0;
    std::string call;
  };
  /// How an answer knows who is absent: it guesses, from whom it waits for; it
  /// has been told by that one; it is that one.
  enum class Trust : uint64_t { Guess, Told, Itself };
  static void write(TextWriter &writer, const Wait &wait);
  static Wait read(TextReader &reader);
  void ask(const std::vector<Wait> &path, int64_t whom);
  std::vector<int64_t> nextAside();
  Error judgeCycle(const std::vector<Wait> &path) const;
  Error judge(const std::vector<Wait> &path);
  void tellAbsent(const Wait &first, int64_t who, Trust trust);
  Error compare(const Wait &asker);

  const int64_t rank;
  const std::function<void(Letter)> send;
  const std::function<void(Failure)> fail;
  const size_t numAside;

  std::mutex mutex;
  /// Guarded by it, by the ranks of the group.
  std::map<std::vector<int64_t>, Calls> calls;
  Wait mine;
  bool isWaiting = false, isInside = false;
  /// Who has not come, of the wait, and how that is known since the last time
  /// that this rank asked.
  int64_t absent = -1;
  Trust trust = Trust::Guess;
  /// Whom was asked aside last, as steps from this rank in its group.
  size_t lastAside = 0;
};

} // namespace cp::runtime

#endif // CP_LIB_RUNTIME_MESSAGES_WHEREABOUTS_H
