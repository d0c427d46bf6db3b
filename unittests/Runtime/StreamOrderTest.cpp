//===- StreamOrderTest.cpp - Messages in the order of streams -------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Over NCCL a message is a launch of a stream, and what comes behind it waits
// until the other rank has come to it. Whether ranks can then wait for each
// other in a circle is a matter of the order in which they post messages and
// wait for them, which is recorded here of every collective, and played again
// on streams.
//
//===----------------------------------------------------------------------===//

#include "CollectiveCases.h"
#include "Mailbox.h"
#include "Nccl/Lane.h"
#include "ScanSupport.h"

#include "gtest/gtest.h"

#include <deque>
#include <map>
#include <set>

using namespace cp::test;
using cp::nccl::laneOf;

namespace {

/// The streams of all ranks. A launch is a group of messages, and over when all
/// of them are: each meets the other rank's when that is of its stream's first
/// launch too, those between two ranks in their order.
class Streams {
public:
  using LaneFn = std::function<size_t(const cprt_message &, int64_t rank)>;
  /// `merges`: what is posted until a rank waits is one launch of each stream,
  /// and else what is posted at once.
  Streams(const Mailbox &mailbox, LaneFn lane, bool merges)
      : lane(std::move(lane)), merges(merges) {
    for (int64_t rank = 0; rank < mailbox.numRanks(); ++rank)
      ranks.push_back({rank, mailbox.eventsOf(rank)});
  }

  /// Plays it; whether all come to their ends.
  bool end() {
    for (bool goesOn = true; goesOn;) {
      goesOn = false;
      for (Rank &rank : ranks)
        goesOn |= advance(rank);
      for (Rank &from : ranks)
        for (Rank &to : ranks)
          goesOn |= meet(from, to);
      for (Rank &rank : ranks)
        goesOn |= finish(rank);
    }
    return std::all_of(ranks.begin(), ranks.end(), [](const Rank &rank) {
      return rank.next == rank.events.size() && rank.streams.empty();
    });
  }

private:
  struct Message {
    cprt_message posted;
    size_t number;
    bool hasMet = false;
  };
  using Launch = std::vector<Message>;
  struct Rank {
    int64_t number;
    std::vector<Mailbox::Event> events;
    size_t next = 0;
    /// By stream.
    std::map<size_t, Launch> pending = {};
    std::map<size_t, std::deque<Launch>> streams = {};
    std::set<size_t> done = {};
  };

  static bool launch(Rank &rank) {
    bool any = !rank.pending.empty();
    for (auto &[stream, messages] : rank.pending)
      rank.streams[stream].push_back(std::move(messages));
    rank.pending.clear();
    return any;
  }

  /// Until it waits for what is not done.
  bool advance(Rank &rank) {
    size_t first = rank.next;
    for (; rank.next < rank.events.size(); ++rank.next) {
      const Mailbox::Event &event = rank.events[rank.next];
      if (event.posted.empty()) {
        bool hasLaunched = launch(rank);
        if (!rank.done.count(event.number))
          return hasLaunched || rank.next > first;
        continue;
      }
      size_t number = event.number;
      for (const cprt_message &each : event.posted)
        rank.pending[lane(each, rank.number)].push_back({each, number++});
      if (!merges)
        launch(rank);
    }
    return launch(rank) || rank.next > first;
  }

  static Message *firstWith(Launch &launch, int64_t peer, bool isReceive) {
    auto found = std::find_if(launch.begin(), launch.end(), [&](Message &each) {
      return !each.hasMet && each.posted.peer == peer &&
             bool(each.posted.is_receive) == isReceive;
    });
    return found == launch.end() ? nullptr : &*found;
  }

  static bool meet(Rank &from, Rank &to) {
    bool any = false;
    for (auto &[stream, launches] : from.streams) {
      auto others = to.streams.find(stream);
      if (others == to.streams.end())
        continue;
      for (;;) {
        Message *sent = firstWith(launches.front(), to.number, false);
        Message *taken =
            firstWith(others->second.front(), from.number, /*isReceive=*/true);
        if (!sent || !taken)
          break;
        EXPECT_EQ(sent->posted.tag, taken->posted.tag);
        EXPECT_EQ(sent->posted.bytes, taken->posted.bytes);
        sent->hasMet = taken->hasMet = any = true;
      }
    }
    return any;
  }

  static bool finish(Rank &rank) {
    bool any = false;
    for (auto entry = rank.streams.begin(); entry != rank.streams.end();) {
      std::deque<Launch> &launches = entry->second;
      auto hasMet = [](const Message &each) { return each.hasMet; };
      for (; !launches.empty() && std::all_of(launches.front().begin(),
                                              launches.front().end(), hasMet);
           any = true) {
        for (const Message &each : launches.front())
          rank.done.insert(each.number);
        launches.pop_front();
      }
      entry = launches.empty() ? rank.streams.erase(entry) : std::next(entry);
    }
    return any;
  }

  const LaneFn lane;
  const bool merges;
  std::vector<Rank> ranks;
};

/// What ranks post and wait for as they run `body`.
Mailbox recorded(int64_t ranks,
                 const std::function<void(int64_t, cprt_context *)> &body) {
  Mailbox mailbox(ranks, testSeed());
  World world({ranks}, mailbox);
  world.run(body);
  EXPECT_EQ(world.failures(), "");
  return mailbox;
}

Mailbox recordedScan(int64_t ranks, const Sample &sample, Way way) {
  return recorded(ranks, [&](int64_t, cprt_context *context) {
    Sizes decay = sample.decay, state = sample.state;
    if (way.isZigzag) {
      decay[0] *= 2;
      state[0] *= 2;
    }
    Array decays(decay), states(state);
    scan(context, sample, {0}, way, decays, states);
  });
}

/// As if a scan's two directions shared a stream.
size_t sharedLane(const cprt_message &message, int64_t rank) {
  size_t own = laneOf(message, rank);
  return own == 0 ? 0 : (own - 1) / 2 + 1;
}

/// Summaries of one block, and of several.
const Sample samples[] = {{{2}, {2, 3}, false}, {{2}, {2, 40000}, false}};

} // namespace

TEST(StreamOrder, EveryCollectiveEnds) {
  for (const Collective &collective : collectives()) {
    Mailbox mailbox =
        recorded(Collective::numRanks, [&](int64_t, cprt_context *context) {
          for (int i = 0; i < 3; ++i)
            collective.run(context);
        });
    EXPECT_TRUE(Streams(mailbox, laneOf, /*merges=*/true).end())
        << collective.name << ' ' << collective.variant;
    // A rank that works begins what it has posted so far: no scan does.
    bool works = collective.op != cprt_scan_state;
    EXPECT_TRUE(!works || Streams(mailbox, laneOf, /*merges=*/false).end())
        << collective.name << ' ' << collective.variant << ", one by one";
  }
}

TEST(StreamOrder, EveryScanEnds) {
  for (int64_t ranks : {2, 3, 4, 5, 8})
    for (Algorithm algorithm : algorithms)
      for (bool isZigzag : {false, true})
        for (const Sample &sample : samples) {
          Mailbox mailbox = recordedScan(ranks, sample, {algorithm, isZigzag});
          EXPECT_TRUE(Streams(mailbox, laneOf, /*merges=*/true).end())
              << ranks << " ranks, algorithm " << algorithm << ", zigzag "
              << isZigzag << ", " << sample.bytes() << " bytes";
        }
}

/// What the streams of either direction are for, however much is launched at
/// once.
TEST(StreamOrder, DirectionsThatShareAStreamWaitForEachOther) {
  for (int64_t ranks : {2, 4, 8}) {
    Mailbox mailbox = recordedScan(ranks, samples[1], {Pipelined, true});
    EXPECT_FALSE(Streams(mailbox, sharedLane, /*merges=*/false).end()) << ranks;
    EXPECT_TRUE(Streams(mailbox, laneOf, /*merges=*/false).end()) << ranks;
  }
  Mailbox mailbox = recordedScan(2, samples[1], {Pipelined, true});
  EXPECT_FALSE(Streams(mailbox, sharedLane, /*merges=*/true).end());
}

/// A message that is not in the other rank's order is never met.
TEST(StreamOrder, MessagesThatCrossDoNotEnd) {
  Mailbox mailbox(2, testSeed());
  char byte = 0;
  auto message = [&](int64_t rank, bool isReceive, int32_t tag) {
    return cprt_message{1 - rank, isReceive, tag, &byte, 1};
  };
  std::vector<cprt_transport> tables = {mailbox.transportOf(0),
                                        mailbox.transportOf(1)};
  // Each sends first, and takes then what the other has sent.
  void *requests[4] = {};
  for (int64_t rank : {0, 1}) {
    cprt_message sent = message(rank, false, 2), taken = message(rank, true, 2);
    tables[size_t(rank)].post(tables[size_t(rank)].state, &sent, 1,
                              &requests[2 * rank]);
    tables[size_t(rank)].post(tables[size_t(rank)].state, &taken, 1,
                              &requests[2 * rank + 1]);
  }
  EXPECT_FALSE(Streams(mailbox, laneOf, /*merges=*/false).end());
  EXPECT_TRUE(Streams(mailbox, laneOf, /*merges=*/true).end());
  for (int64_t rank : {0, 1}) {
    cprt_transport &table = tables[size_t(rank)];
    for (int64_t i : {0, 1})
      table.cancel(table.state, requests[2 * rank + i]);
    table.destroy(table.state, 0);
  }
}
