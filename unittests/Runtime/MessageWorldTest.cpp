//===- MessageWorldTest.cpp - Worlds whose ranks send messages ------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What they say to each other beside data. What they compute is for the tests
// of each collective, which run on them too.
//
//===----------------------------------------------------------------------===//

#include "Harness.h"
#include "Mailbox.h"

#include "Messages/Letter.h"
#include "Messages/Whereabouts.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <algorithm>
#include <numeric>
#include <random>

using namespace cp::test;
using cp::runtime::Descriptor;
using cp::runtime::Letter;
using cp::runtime::LetterReader;
using cp::runtime::TextReader;
using cp::runtime::TextWriter;
using cp::runtime::toWire;
using cp::runtime::Whereabouts;
using testing::HasSubstr;

/// Jobs, one after the other.
TEST(MessageWorld, ManyWorlds) {
  for (int i = 0; i < 200; ++i) {
    cprt_options options = {};
    int64_t size = 4;
    options.struct_size = sizeof options;
    options.num_axes = 1;
    options.axis_sizes = &size;
    std::vector<cprt_world *> worlds =
        makeMessageWorlds(options, Mailbox(size, testSeed()));
    for (size_t rank = worlds.size(); rank-- > 0;) {
      ASSERT_NE(worlds[rank], nullptr);
      cprt_world_destroy(worlds[rank]);
    }
  }
}

/// Ranks that ask each other where they are, without a world.
class AskingRanks {
public:
  explicit AskingRanks(int64_t count, size_t numAside = 0) {
    for (int64_t rank = 0; rank < count; ++rank)
      ranks.push_back(std::make_unique<Whereabouts>(
          rank,
          [this, rank](Letter letter) {
            letter.from = rank;
            letters.push_back(std::move(letter));
          },
          [this](const cp::runtime::Failure &failure) {
            failures.push_back(failure.message);
          },
          numAside));
    static constexpr int64_t table[] = {0, 0, 0, 7};
    EXPECT_FALSE(call.decode("all_to_all", table, nullptr));
  }

  void enter(int64_t rank, const std::vector<int64_t> &group) {
    ranks[size_t(rank)]->enter(ranks[size_t(rank)]->callsOf(group), call);
  }
  void leave(int64_t rank) {
    ranks[size_t(rank)]->stopWaiting();
    ranks[size_t(rank)]->leave();
  }
  /// In its last call of the group, or `behind` so many later ones.
  void waitFor(int64_t rank, int64_t peer, const std::vector<int64_t> &group,
               uint64_t behind = 0) {
    Whereabouts &where = *ranks[size_t(rank)];
    uint64_t number = where.callsOf(group).number - behind;
    where.waitFor(peer, group, cp::runtime::WaitedCall::of(call, number));
  }
  int64_t absentRank(int64_t rank, int64_t peer) {
    return ranks[size_t(rank)]->absentRank(peer);
  }
  /// Delivers letters until there are none, which they are soon; none to a rank
  /// that is stopped.
  void exchange(int64_t stopped = -1) {
    for (int i = 0; i < 100 && !letters.empty(); ++i) {
      std::vector<Letter> sent;
      sent.swap(letters);
      for (const Letter &letter : sent) {
        Whereabouts &to = *ranks[size_t(letter.to)];
        if (letter.to == stopped)
          continue;
        if (letter.kind == Letter::Kind::Where)
          to.answer(letter);
        else
          to.hearOfAbsence(letter);
      }
    }
    EXPECT_TRUE(letters.empty());
  }

  std::vector<std::string> failures;

private:
  std::vector<std::unique_ptr<Whereabouts>> ranks;
  std::vector<Letter> letters;
  Descriptor call;
};

/// Ranks in one call that wait for what is on its way between them wait for
/// each other, and nothing is wrong.
TEST(Whereabouts, SlowIsNotWrong) {
  AskingRanks ranks(2);
  const std::vector<int64_t> group = {0, 1}, other = {1, 0};
  ranks.enter(0, group);
  ranks.enter(1, group);
  ranks.waitFor(0, 1, group);
  ranks.waitFor(1, 0, group);
  ranks.waitFor(0, 1, group);
  ranks.exchange();
  EXPECT_THAT(ranks.failures, testing::IsEmpty());
  // One that has gone on waits elsewhere, and what it has sent is on its way.
  ranks.leave(1);
  ranks.enter(1, other);
  ranks.waitFor(1, 0, other);
  ranks.waitFor(0, 1, group);
  ranks.exchange();
  EXPECT_THAT(ranks.failures, testing::IsEmpty());
  // A cycle of two that have not come.
  ranks.leave(0);
  ranks.enter(0, group);
  ranks.waitFor(0, 1, group);
  ranks.exchange();
  EXPECT_THAT(ranks.failures,
              testing::ElementsAre(HasSubstr("wait for each other")));
}

/// Where messages of a call end together, who has come waits for each other, or
/// has left already. All learn soon who has not come.
TEST(Whereabouts, WhoHasNotComeIsFoundBesideWhoWait) {
  constexpr int64_t count = 23;
  std::vector<int64_t> group(count);
  std::iota(group.begin(), group.end(), 0);
  uint64_t seed = testSeed();
  SCOPED_TRACE(testing::Message() << "CP_TEST_SEED=" << seed);
  std::mt19937_64 random(seed);
  std::shuffle(group.begin(), group.end(), random);
  int64_t absent = group[3], gone = group[7];
  AskingRanks ranks(count, 4);
  auto peerOf = [&](int64_t rank) {
    int64_t peer = rank;
    do
      peer = (peer + 1) % count;
    while (peer == absent || peer == gone);
    return peer;
  };
  auto isWaiting = [&](int64_t rank) { return rank != absent && rank != gone; };
  for (int64_t rank : group)
    if (rank != absent)
      ranks.enter(rank, group);
  ranks.leave(gone);
  for (int round = 0; round < 4; ++round) {
    for (int64_t rank : group)
      if (isWaiting(rank))
        ranks.waitFor(rank, peerOf(rank), group);
    ranks.exchange();
  }
  for (int64_t rank : group)
    if (isWaiting(rank))
      EXPECT_EQ(ranks.absentRank(rank, peerOf(rank)), absent);
  EXPECT_THAT(ranks.failures, testing::IsEmpty());
}

/// A device that works behind its rank may wait in a call that the rank has
/// left: who asks there is told whom it waits for.
TEST(Whereabouts, WhoWaitsBehindACallSaysForWhom) {
  const std::vector<int64_t> group = {0, 1, 2};
  AskingRanks ranks(3);
  for (int64_t rank : {0, 1})
    for (int call = 0; call < 3; ++call) {
      ranks.enter(rank, group);
      ranks.leave(rank);
    }
  ranks.waitFor(1, 2, group, /*behind=*/2);
  ranks.waitFor(0, 1, group, /*behind=*/2);
  ranks.exchange();
  EXPECT_EQ(ranks.absentRank(0, 1), 2);
  EXPECT_TRUE(ranks.failures.empty());
  // One that is at a later call has sent what it had to, and says nothing.
  for (int64_t rank : {0, 1})
    ranks.leave(rank);
  ranks.waitFor(1, 2, group, /*behind=*/1);
  ranks.waitFor(0, 1, group, /*behind=*/2);
  ranks.exchange(/*stopped=*/2);
  EXPECT_EQ(ranks.absentRank(0, 1), 1);
  EXPECT_TRUE(ranks.failures.empty());
}

/// Who was absent when a rank asked, and has come since, is not named.
TEST(Whereabouts, WhoHasComeMeanwhileIsNotNamed) {
  const std::vector<int64_t> group = {0, 1, 2, 3, 4};
  AskingRanks ranks(5, 4);
  auto askAll = [&](int64_t present) {
    for (int64_t rank = 0; rank < present; ++rank)
      ranks.waitFor(rank, (rank + 1) % present, group);
    ranks.exchange();
  };
  for (int64_t rank = 0; rank < 3; ++rank)
    ranks.enter(rank, group);
  askAll(3);
  for (int64_t rank = 0; rank < 3; ++rank)
    EXPECT_GE(ranks.absentRank(rank, 0), 3);
  ranks.enter(3, group);
  askAll(4);
  askAll(4);
  for (int64_t rank = 0; rank < 4; ++rank)
    EXPECT_EQ(ranks.absentRank(rank, (rank + 1) % 4), 4);
  EXPECT_THAT(ranks.failures, testing::IsEmpty());
}

/// Rank 1 is late, and then waits for one that cannot say anything any more.
TEST(Whereabouts, WhoIsStoppedIsNamedByWhoWaitsForIt) {
  const std::vector<int64_t> group = {0, 1}, other = {1, 2};
  AskingRanks ranks(3);
  ranks.enter(0, group);
  ranks.waitFor(0, 1, group);
  ranks.exchange(/*stopped=*/2);
  EXPECT_EQ(ranks.absentRank(0, 1), 1);
  ranks.enter(1, other);
  ranks.waitFor(1, 2, other);
  ranks.waitFor(0, 1, group);
  ranks.exchange(/*stopped=*/2);
  EXPECT_EQ(ranks.absentRank(0, 1), 2);
  EXPECT_THAT(ranks.failures, testing::IsEmpty());
}

TEST(Letters, InAnyPieces) {
  std::mt19937_64 random(testSeed());
  std::string wire;
  for (int i = 0; i < 100; ++i)
    wire += toWire(
        {Letter::Kind::Where, i, i + 1, std::string(random() % 300, 'a')});
  LetterReader reader;
  int64_t next = 0;
  for (size_t at = 0; at < wire.size();) {
    size_t count = std::min<size_t>(random() % 50, wire.size() - at);
    reader.add(wire.data() + at, count);
    at += count;
    while (std::optional<Letter> letter = reader.next()) {
      EXPECT_EQ(letter->from, next);
      EXPECT_EQ(letter->to, ++next);
    }
  }
  EXPECT_EQ(next, 100);
}

/// What is no letter is said to be none, and nothing is read out of bounds.
TEST(Letters, ThatAreNone) {
  uint64_t seed = testSeed();
  SCOPED_TRACE(testing::Message() << "CP_TEST_SEED=" << seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 2000; ++i) {
    std::string wire = toWire({Letter::Kind::Where, 1, 0,
                               TextWriter().number(3).numbers({1, 2}).take()});
    for (uint64_t flips = random() % 4; flips > 0; --flips)
      wire[random() % wire.size()] = char(random());
    wire.resize(random() % (wire.size() + 1));
    LetterReader reader;
    reader.add(wire.data(), wire.size());
    std::optional<Letter> letter = reader.next();
    if (!letter)
      continue;
    TextReader text(letter->text);
    text.number();
    text.numbers();
    text.text();
  }
  LetterReader reader;
  std::string junk(64, 'j');
  reader.add(junk.data(), junk.size());
  EXPECT_FALSE(reader.next());
  EXPECT_TRUE(reader.isMalformed());
}
