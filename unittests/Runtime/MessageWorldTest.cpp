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

/// Ranks in one call that wait for what is on its way between them wait for
/// each other, and nothing is wrong.
TEST(Whereabouts, SlowIsNotWrong) {
  std::vector<Letter> letters;
  std::vector<std::string> failures;
  auto make = [&](int64_t rank) {
    return std::make_unique<Whereabouts>(
        rank,
        [&, rank](Letter letter) {
          letter.from = rank;
          letters.push_back(std::move(letter));
        },
        [&](cp::runtime::Failure failure) {
          failures.push_back(failure.message);
        });
  };
  std::unique_ptr<Whereabouts> ranks[] = {make(0), make(1)};
  const std::vector<int64_t> group = {0, 1}, other = {1, 0};
  const int64_t table[] = {0, 0, 0, 7};
  Descriptor call;
  ASSERT_FALSE(call.decode("all_to_all", table, nullptr));
  for (auto &rank : ranks)
    rank->enter(rank->callsOf(group), call);
  auto exchange = [&] {
    for (int i = 0; i < 10 && !letters.empty(); ++i) {
      std::vector<Letter> sent;
      sent.swap(letters);
      for (const Letter &letter : sent)
        if (letter.kind == Letter::Kind::Where)
          ranks[letter.to]->answer(letter);
    }
  };
  ranks[0]->waitFor(1, group, call);
  ranks[1]->waitFor(0, group, call);
  ranks[0]->waitFor(1, group, call);
  exchange();
  EXPECT_THAT(failures, testing::IsEmpty());
  // One that has gone on waits elsewhere, and what it has sent is on its way.
  ranks[1]->stopWaiting();
  ranks[1]->leave();
  ranks[1]->enter(ranks[1]->callsOf(other), call);
  ranks[1]->waitFor(0, other, call);
  ranks[0]->waitFor(1, group, call);
  exchange();
  EXPECT_THAT(failures, testing::IsEmpty());
  // A cycle of two that have not come.
  ranks[0]->stopWaiting();
  ranks[0]->leave();
  ranks[0]->enter(ranks[0]->callsOf(group), call);
  ranks[0]->waitFor(1, group, call);
  exchange();
  EXPECT_THAT(failures, testing::ElementsAre(HasSubstr("wait for each other")));
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
