//===- Whereabouts.cpp - Where a rank is, for those who wait for it -------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Whereabouts.h"

#include <algorithm>

using namespace cp::runtime;

namespace {
/// FNV-1a, by words.
class Hash {
public:
  void add(uint64_t word) { value = (value ^ word) * 0x100000001b3; }
  void add(const int64_t *words, size_t count) {
    add(count);
    for (size_t i = 0; i < count; ++i)
      add(uint64_t(words[i]));
  }
  uint64_t get() const { return value; }

private:
  uint64_t value = 0xcbf29ce484222325;
};
} // namespace

uint64_t cp::runtime::hashOf(const Descriptor &call) {
  Hash hash;
  for (const char *letter = call.op(); *letter; ++letter)
    hash.add(uint64_t(*letter));
  hash.add(uint64_t(call.id()));
  hash.add(call.numIns());
  for (size_t i = 0; i < call.numIns() + call.numOuts(); ++i) {
    const Buffer &buffer = call.allBuffers()[i];
    hash.add(uint64_t(buffer.dtype));
    hash.add(buffer.sizes, size_t(buffer.rank));
  }
  hash.add(call.attrs(), call.numAttrs());
  return hash.get();
}

Whereabouts::Calls &Whereabouts::callsOf(const std::vector<int64_t> &group) {
  std::lock_guard<std::mutex> lock(mutex);
  return calls[group];
}

WaitedCall Whereabouts::enter(Calls &group, const Descriptor &call) {
  WaitedCall entered = WaitedCall::of(call);
  std::lock_guard<std::mutex> lock(mutex);
  entered.number = ++group.number;
  group.at(entered.number) = {entered.hash, call.op(), call.id()};
  isInside = true;
  return entered;
}

void Whereabouts::leave() {
  std::lock_guard<std::mutex> lock(mutex);
  isInside = false;
}

void Whereabouts::waitFor(int64_t peer, const std::vector<int64_t> &group,
                          const WaitedCall &call) {
  std::vector<Wait> path(1);
  std::vector<int64_t> aside;
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (!isWaiting || mine.peer != peer) {
      mine = {rank,        mine.epoch + 1, peer,           group,
              call.number, call.hash,      call.describe()};
      absent = -1;
      isWaiting = true;
    }
    trust = Trust::Guess;
    path[0] = mine;
    aside = nextAside();
  }
  ask(path, peer);
  for (int64_t other : aside)
    ask(path, other);
}

/// Ranks of the group to ask beside the one that is waited for: who was absent,
/// and at each time others, each rank others than its neighbour.
std::vector<int64_t> Whereabouts::nextAside() {
  std::vector<int64_t> others;
  if (numAside && absent >= 0 && absent != mine.peer)
    others.push_back(absent);
  const std::vector<int64_t> &group = mine.group;
  auto own =
      size_t(std::find(group.begin(), group.end(), rank) - group.begin());
  for (size_t i = 1; i < group.size() && others.size() < numAside; ++i) {
    lastAside = lastAside % (group.size() - 1) + 1;
    int64_t other = group[(own + lastAside) % group.size()];
    if (other != mine.peer && other != absent)
      others.push_back(other);
  }
  return others;
}

int64_t Whereabouts::absentRank(int64_t peer) {
  std::lock_guard<std::mutex> lock(mutex);
  return absent >= 0 ? absent : peer;
}

void Whereabouts::stopWaiting() {
  std::lock_guard<std::mutex> lock(mutex);
  isWaiting = false;
  absent = -1;
}

void Whereabouts::askAbout(int64_t peer, const std::vector<int64_t> &group,
                           const WaitedCall &call) {
  // No wait of the program has this epoch: nothing comes of an answer.
  constexpr uint64_t noEpoch = 0;
  ask({{rank, noEpoch, peer, group, call.number, call.hash, call.describe()}},
      peer);
}

void Whereabouts::write(TextWriter &writer, const Wait &wait) {
  writer.number(uint64_t(wait.rank))
      .number(wait.epoch)
      .number(uint64_t(wait.peer))
      .numbers(wait.group)
      .number(wait.number)
      .number(wait.hash)
      .text(std::string_view(wait.call).substr(0, 4096));
}

Whereabouts::Wait Whereabouts::read(TextReader &reader) {
  Wait wait;
  wait.rank = int64_t(reader.number());
  wait.epoch = reader.number();
  wait.peer = int64_t(reader.number());
  wait.group = reader.numbers();
  wait.number = reader.number();
  wait.hash = reader.number();
  wait.call = reader.text();
  return wait;
}

/// Sends the whole way so far.
void Whereabouts::ask(const std::vector<Wait> &path, int64_t whom) {
  TextWriter writer;
  for (const Wait &wait : path)
    write(writer, wait);
  std::string text = writer.take();
  // A way that is too long ends; its cycle is found from elsewhere, or late.
  if (text.size() <= maxLetterBytes)
    send({Letter::Kind::Where, rank, whom, std::move(text)});
}

/// CPRT_MISMATCH if this rank was or is at another call of the same number.
Error Whereabouts::compare(const Wait &asker) {
  auto known = calls.find(asker.group);
  if (known == calls.end() || !known->second.knows(asker.number))
    return std::nullopt;
  const Calls::Call &call = known->second.at(asker.number);
  if (call.hash == asker.hash)
    return std::nullopt;
  bool isHere =
      isWaiting && mine.group == asker.group && mine.number == asker.number;
  // Waits soon, and says then what its call is.
  if (isInside && !isWaiting)
    return std::nullopt;
  return Failure{CPRT_MISMATCH,
                 "collective number " + std::to_string(asker.number - 1) +
                     " of ranks " +
                     listText(asker.group.data(), asker.group.size()) +
                     ": rank " + std::to_string(rank) + " is at " +
                     (isHere ? mine.call
                             : std::string(call.op) + " (call " +
                                   std::to_string(call.id) + ") or behind it") +
                     ", rank " + std::to_string(asker.rank) + " is at " +
                     asker.call + "; expected the same call on every rank"};
}

/// Whom the first rank on a way waits for in the end, as far as is known here.
void Whereabouts::tellAbsent(const Wait &first, int64_t who, Trust how) {
  send({Letter::Kind::Absent, rank, first.rank,
        TextWriter()
            .number(first.epoch)
            .number(uint64_t(who))
            .number(uint64_t(how))
            .take()});
}

/// CPRT_MISMATCH if a way that has come back to this rank is a cycle of ranks
/// that wait for each other.
Error Whereabouts::judgeCycle(const std::vector<Wait> &path) const {
  // Within one call there is none: what they wait for is on its way.
  bool isOneCall = std::all_of(path.begin(), path.end(), [&](const Wait &wait) {
    return wait.group == mine.group && wait.number == mine.number;
  });
  if (path.front().epoch != mine.epoch || isOneCall)
    return std::nullopt;
  return Failure{CPRT_MISMATCH,
                 "ranks wait for each other in different groups: rank " +
                     std::to_string(rank) + " is at " + mine.call + ", rank " +
                     std::to_string(path.back().rank) + " is at " +
                     path.back().call +
                     "; expected the same order of calls on every rank"};
}

/// What a question means; hands it on if that is not for this rank to say. The
/// last rank on the way waits for this one, or asks it aside.
Error Whereabouts::judge(const std::vector<Wait> &path) {
  const Wait &asker = path.back(), &first = path.front();
  std::lock_guard<std::mutex> lock(mutex);
  if (Error failure = compare(asker))
    return failure;
  auto known = calls.find(asker.group);
  uint64_t number = known == calls.end() ? 0 : known->second.number;
  bool isThere = mine.group == asker.group && mine.number == asker.number;
  // Who has left the call has sent what it had to, unless its device has not:
  // it waits for that then.
  if (number >= asker.number && !(isThere && isWaiting))
    return std::nullopt;
  if (!isWaiting) {
    if (number < asker.number)
      tellAbsent(first, rank, Trust::Itself);
    return std::nullopt;
  }
  bool isTold = trust == Trust::Itself;
  int64_t waited = isTold ? absent : mine.peer;
  Trust how = isTold ? Trust::Told : Trust::Guess;
  if (asker.peer != rank) {
    if (isTold || number < asker.number)
      tellAbsent(first, waited, how);
    return std::nullopt;
  }
  if (first.rank == rank)
    return judgeCycle(path);
  bool wasHere = std::any_of(path.begin(), path.end(), [&](const Wait &wait) {
    return wait.rank == rank;
  });
  if (wasHere)
    return std::nullopt;
  // One that is stopped altogether will not answer for itself.
  tellAbsent(first, waited, how);
  std::vector<Wait> further = path;
  further.push_back(mine);
  ask(further, mine.peer);
  return std::nullopt;
}

void Whereabouts::hearOfAbsence(const Letter &letter) {
  TextReader reader(letter.text);
  uint64_t epoch = reader.number();
  auto who = int64_t(reader.number());
  auto how = Trust(reader.number());
  std::lock_guard<std::mutex> lock(mutex);
  // Others may not know yet that this rank has come.
  if (reader.hasFailed() || !isWaiting || mine.epoch != epoch || who == rank ||
      how < trust)
    return;
  absent = who;
  trust = how;
}

void Whereabouts::answer(const Letter &letter) {
  TextReader reader(letter.text);
  std::vector<Wait> path;
  while (!reader.isAtEnd() && !reader.hasFailed())
    path.push_back(read(reader));
  if (path.empty() || reader.hasFailed())
    return;
  if (Error failure = judge(path))
    fail(std::move(*failure));
}
