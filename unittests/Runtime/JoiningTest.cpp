//===- JoiningTest.cpp - How worlds of messages come together -------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// And what they learn of ranks that are gone.
//
//===----------------------------------------------------------------------===//

#include "Harness.h"
#include "Mailbox.h"

#include "Messages/Socket.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <cstring>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

using namespace cp::test;
using cp::runtime::Address;
using cp::runtime::Clock;
using cp::runtime::Connection;
using cp::runtime::File;
using cp::runtime::Letter;
using cp::runtime::TextWriter;
using std::chrono::milliseconds;
using testing::HasSubstr;

namespace {

/// One process of a job, as each test changes it.
struct Process {
  int64_t rank = 0;
  Sizes mesh = {2};
  cprt_job job = {};
  int64_t deadlineMs = 2000;

  /// What came of it.
  cprt_world *world = nullptr;
  cprt_status status = CPRT_OK;
  std::string message;

  void join(const Mailbox &mailbox, const std::string &address) {
    cprt_options options = {};
    options.struct_size = sizeof options;
    options.num_axes = int32_t(mesh.size());
    options.axis_sizes = mesh.data();
    options.deadline_ms = deadlineMs;
    job.rank = rank;
    if (!job.address)
      job.address = address.c_str();
    status = joinByMailbox(mailbox, options, job, &world, message);
  }
};

struct Joining : testing::Test {
  ~Joining() override {
    // Rank 0's waits for the others'.
    for (size_t i = processes.size(); i-- > 0;)
      cprt_world_destroy(processes[i].world);
  }

  void joinAll() {
    std::vector<std::thread> threads;
    for (Process &process : processes)
      threads.emplace_back([&] { process.join(mailbox, address); });
    for (std::thread &thread : threads)
      thread.join();
  }
  void expect(size_t i, cprt_status status, const std::string &text) {
    EXPECT_STREQ(cprt_status_name(processes[i].status),
                 cprt_status_name(status));
    EXPECT_THAT(processes[i].message, HasSubstr(text));
    EXPECT_EQ(processes[i].world != nullptr, status == CPRT_OK);
  }

  // A rank 0 that dies leaves its socket.
  void TearDown() override {
    ::unlink(address.substr(std::strlen("unix:")).c_str());
  }

  Mailbox mailbox{2, testSeed()};
  std::string address = freshAddress();
  std::vector<Process> processes = std::vector<Process>{{0}, {1}};
};

/// A rank that is no more than its connection.
Connection connectTo(const std::string &text) {
  Address address;
  EXPECT_FALSE(Address::parse(text.c_str(), address));
  File socket;
  EXPECT_FALSE(address.connect(Clock::now() + milliseconds(1000), socket));
  return Connection(std::move(socket));
}

Letter helloOf(int64_t rank, const Sizes &mesh) {
  return {Letter::Kind::Hello, rank, 0,
          TextWriter().text("").numbers(mesh).number(0).text("").take()};
}

void gather(cprt_context *context, int64_t ranks) {
  Tensor in(CPRT_F32, Sizes{2}), out(CPRT_F32, Sizes{2 * ranks});
  Call().in(in).out(out).array({0}).attr(0).attr(0).run(cprt_all_gather,
                                                        context);
}

} // namespace

TEST_F(Joining, GivesEachProcessItsOwnContext) {
  joinAll();
  for (int64_t rank : {0, 1}) {
    expect(size_t(rank), CPRT_OK, "");
    cprt_world *world = processes[size_t(rank)].world;
    EXPECT_EQ(cprt_world_size(world), 2);
    EXPECT_EQ(cprt_context_rank(cprt_world_context(world, rank)), rank);
    EXPECT_EQ(cprt_world_context(world, 1 - rank), nullptr);
  }
}

TEST_F(Joining, MeshesThatDiffer) {
  processes[1].mesh = {2, 1};
  joinAll();
  expect(0, CPRT_MISMATCH, "rank 1 has mesh [2, 1], rank 0 has [2]");
  expect(1, CPRT_MISMATCH, "rank 1 has mesh [2, 1], rank 0 has [2]");
}

TEST_F(Joining, ProgramsThatDiffer) {
  processes[0].job.program = 7;
  processes[1].job.program = 8;
  joinAll();
  expect(0, CPRT_MISMATCH, "rank 1 runs program 8, rank 0 runs 7");
  expect(1, CPRT_MISMATCH, "give all ranks the same file");
}

// It would try to reach a rank 0 that is gone until its deadline.
TEST_F(Joining, RankThatComesWhenItIsOver) {
  Mailbox three(3, testSeed());
  processes[0].job.program = 7;
  processes[1].job.program = 8;
  std::vector<std::thread> threads;
  for (Process &process : processes) {
    process.mesh = {3};
    threads.emplace_back([&] { process.join(three, address); });
  }
  threads[1].join();
  expect(1, CPRT_MISMATCH, "rank 1 runs program 8, rank 0 runs 7");
  Connection late = connectTo(address);
  late.send(helloOf(2, {3}));
  late.flush();
  std::optional<Letter> letter;
  for (int i = 0; i < 100 && late.isOpen() && !letter; ++i) {
    std::this_thread::sleep_for(milliseconds(5));
    late.fill();
    letter = late.next();
  }
  threads[0].join();
  expect(0, CPRT_MISMATCH, "rank 1 runs program 8, rank 0 runs 7");
  ASSERT_TRUE(letter);
  EXPECT_EQ(letter->kind, Letter::Kind::Failure);
  EXPECT_THAT(letter->text, HasSubstr("rank 1 runs program 8"));
}

/// Whoever comes first.
TEST_F(Joining, RankThatDeclines) {
  for (int64_t declining : {0, 1})
    for (bool isLate : {false, true}) {
      address = freshAddress();
      Process other;
      other.rank = 1 - declining;
      cprt_job job = {};
      job.struct_size = sizeof job;
      job.rank = declining;
      job.address = address.c_str();
      job.token = other.job.token = "of this job";
      char message[512] = "";
      std::thread joins([&] {
        std::this_thread::sleep_for(milliseconds(isLate ? 100 : 0));
        other.join(mailbox, address);
      });
      std::this_thread::sleep_for(milliseconds(isLate ? 0 : 100));
      EXPECT_EQ(cprt_messages_decline(&job, 2, "has no weights", 0, message,
                                      sizeof message),
                CPRT_OK)
          << message;
      joins.join();
      EXPECT_EQ(other.status, CPRT_PEER_FAILED);
      EXPECT_THAT(other.message, HasSubstr("rank " + std::to_string(declining) +
                                           " does not join: has no weights"));
    }
}

TEST_F(Joining, StrangerThatDeclines) {
  std::thread joins([&] { processes[0].join(mailbox, address); });
  cprt_job job = {};
  job.struct_size = sizeof job;
  job.rank = 1;
  job.address = address.c_str();
  job.token = "of another job";
  char message[512] = "";
  EXPECT_EQ(cprt_messages_decline(&job, 2, "", 0, message, sizeof message),
            CPRT_OK);
  processes[1].join(mailbox, address);
  joins.join();
  expect(0, CPRT_OK, "");
  expect(1, CPRT_OK, "");
}

TEST_F(Joining, DecliningToNobody) {
  cprt_job job = {};
  job.struct_size = sizeof job;
  job.address = address.c_str();
  char message[512] = "";
  EXPECT_EQ(cprt_messages_decline(&job, 2, "", 200, message, sizeof message),
            CPRT_TIMEOUT);
  EXPECT_THAT(message, HasSubstr("only 0 ranks came"));
  job.rank = 1;
  EXPECT_EQ(cprt_messages_decline(&job, 2, "", 200, message, sizeof message),
            CPRT_TIMEOUT);
  EXPECT_THAT(message, HasSubstr("rank 0 could not be reached"));
  EXPECT_EQ(cprt_messages_decline(&job, 0, "", 0, message, sizeof message),
            CPRT_INVALID_ARGUMENT);
  EXPECT_EQ(cprt_messages_decline(&job, 2, "", -1, message, sizeof message),
            CPRT_INVALID_ARGUMENT);
}

TEST_F(Joining, RankThatDoesNotCome) {
  processes.pop_back();
  processes[0].deadlineMs = 100;
  joinAll();
  expect(0, CPRT_TIMEOUT, "ranks [1] did not join at '" + address + "'");
  // It listened in the file system.
  ASSERT_EQ(address.rfind("unix:", 0), 0U);
  EXPECT_NE(::access(address.c_str() + 5, F_OK), 0);
}

TEST_F(Joining, RankZeroThatDoesNotCome) {
  processes.erase(processes.begin());
  processes[0].deadlineMs = 100;
  joinAll();
  expect(0, CPRT_TIMEOUT, "rank 0 could not be reached within the deadline");
}

TEST_F(Joining, TwoProcessesOfOneRank) {
  processes = {{0, {3}}, {1, {3}}, {1, {3}}};
  mailbox = Mailbox(3, testSeed());
  joinAll();
  expect(0, CPRT_MISMATCH, "two processes say that they are rank 1");
}

/// The others wait on for the one that has it.
TEST_F(Joining, WrongToken) {
  processes[0].job.token = "secret";
  processes[1].job.token = "secret";
  Process stranger{1};
  stranger.job.token = "guess";
  std::thread first([&] { processes[0].join(mailbox, address); });
  stranger.join(mailbox, address);
  processes[1].join(mailbox, address);
  first.join();
  EXPECT_EQ(stranger.status, CPRT_INVALID_ARGUMENT);
  EXPECT_THAT(stranger.message, HasSubstr("token is not the one of rank 0"));
  EXPECT_THAT(stranger.message, testing::Not(HasSubstr("secret")));
  expect(0, CPRT_OK, "");
  expect(1, CPRT_OK, "");
}

TEST_F(Joining, WrongTokenAndNobodyElse) {
  processes[0].job.token = "secret";
  Process stranger{1};
  stranger.job.token = "guess";
  std::thread first([&] { processes[0].join(mailbox, address); });
  stranger.join(mailbox, address);
  first.join();
  expect(0, CPRT_TIMEOUT,
         "reach it; 1 process has come with another token: give all of the job "
         "one (CPRT_TOKEN)");
}

/// Of documentation (RFC 5737): no machine has it.
TEST_F(Joining, AddressOfAnotherMachine) {
  processes.pop_back();
  processes[0].deadlineMs = 100;
  processes[0].job.token = "secret";
  processes[0].job.address = "203.0.113.1:29519";
  joinAll();
  expect(0, CPRT_TIMEOUT, "the address is none of this machine's");
}

TEST_F(Joining, PortThatIsTaken) {
  std::string taken = "127.0.0.1:29520";
  Address parsed;
  ASSERT_FALSE(Address::parse(taken.c_str(), parsed));
  File listener;
  ASSERT_FALSE(parsed.listen(listener));
  processes.pop_back();
  processes[0].job.address = taken.c_str();
  joinAll();
  expect(0, CPRT_UNSUPPORTED,
         "Address already in use by another process; end that one");
}

/// Whoever writes anything else is cut off, and one that says nothing is not
/// waited for.
TEST_F(Joining, StrangersWhoAreNoRanks) {
  std::thread strangers([&] {
    Connection silent = connectTo(address), loud = connectTo(address);
    Connection early = connectTo(address);
    early.send({Letter::Kind::Bye, 1, 0, ""});
    early.flush();
    std::string junk(100'000, 'x');
    for (int i = 0; i < 20 && loud.isOpen(); ++i) {
      ::send(loud.fd(), junk.data(), junk.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      std::this_thread::sleep_for(milliseconds(1));
      loud.fill();
    }
  });
  std::thread late([&] {
    std::this_thread::sleep_for(milliseconds(50));
    processes[1].join(mailbox, address);
  });
  processes[0].join(mailbox, address);
  strangers.join();
  late.join();
  expect(0, CPRT_OK, "");
  expect(1, CPRT_OK, "");
}

TEST_F(Joining, AddressesThatCannotBe) {
  struct {
    const char *address, *text;
  } const all[] = {
      {"", "expected host:port"},
      {"node1", "expected host:port"},
      {":29500", "expected host:port"},
      {"node1:", "expected host:port"},
      {"[::1:29500", "expected host:port"},
      {"http://node1:29500", "expected host:port"},
      {"node1:abc", "the port is 'abc', expected a number from 1 to 65535"},
      {"node1:0", "the port is '0'"},
      {"node1:65536", "the port is '65536'"},
      {"unix:", "a path has 1 to 107 bytes"},
      {"unix:/no/such/folder/socket",
       "No such file or directory; make the folder first"},
  };
  for (const auto &each : all) {
    processes = {{0}};
    processes[0].job.address = each.address;
    joinAll();
    expect(0, CPRT_UNSUPPORTED, each.text);
  }
}

TEST_F(Joining, OtherMachinesNeedAToken) {
  processes = {{0}};
  for (const char *open : {"0.0.0.0:29511", "[::]:29511"}) {
    processes[0].job.address = open;
    joinAll();
    expect(0, CPRT_INVALID_ARGUMENT, "expected a token");
  }
}

TEST_F(Joining, JobsThatCannotBe) {
  processes = {{0}};
  processes[0].rank = 2;
  joinAll();
  expect(0, CPRT_INVALID_ARGUMENT, "the job's rank is 2, expected 0 to 1");
  processes[0].rank = 0;
  processes[0].job.local_ranks = 3;
  joinAll();
  expect(0, CPRT_INVALID_ARGUMENT, "local_ranks is 3, expected 0 (all) to 2");
  processes[0].job.local_ranks = 1;
  processes[0].job.local_rank = 2;
  joinAll();
  expect(0, CPRT_INVALID_ARGUMENT,
         "local_rank is 2, expected 0 (by the rank's number) to 1, the ranks "
         "of its machine");
  processes[0].job.local_ranks = processes[0].job.local_rank = 0;
  processes[0].mesh = {3};
  joinAll();
  expect(
      0, CPRT_INVALID_ARGUMENT,
      "the transport 'mailbox' is that of rank 0 of 2, expected rank 0 of 3; "
      "start as many processes as the mesh has ranks");
  std::string token(257, 'x');
  processes[0].mesh = {2};
  processes[0].job.token = token.c_str();
  joinAll();
  expect(0, CPRT_INVALID_ARGUMENT, "token has 257 bytes, expected at most 256");
}

TEST_F(Joining, TransportsThatCannotBe) {
  cprt_options options = {};
  options.struct_size = sizeof options;
  cprt_job job = {};
  job.struct_size = sizeof job;
  cprt_world *world = nullptr;
  char message[256];
  auto make = [&](const cprt_transport *transport) {
    return cprt_messages_create(&options, &job, transport, &world, message,
                                sizeof message);
  };
  EXPECT_EQ(make(nullptr), CPRT_INVALID_ARGUMENT);
  EXPECT_THAT(message, HasSubstr("expected a cprt_transport"));
  cprt_transport transport = {};
  transport.struct_size = sizeof transport;
  EXPECT_EQ(make(&transport), CPRT_INVALID_ARGUMENT);
  EXPECT_THAT(message, HasSubstr("or its name, is null"));
}

/// Its connection closes, as when a process is killed.
TEST_F(Joining, RankThatDies) {
  processes.pop_back();
  processes[0].deadlineMs = 60'000;
  std::thread dying([&] {
    Connection rank1 = connectTo(address);
    rank1.send(helloOf(1, {2}));
    rank1.flush();
    while (!rank1.next()) {
      std::this_thread::sleep_for(milliseconds(1));
      rank1.fill();
    }
    std::this_thread::sleep_for(milliseconds(50));
  });
  joinAll();
  expect(0, CPRT_OK, "");
  cprt_context *context = cprt_world_context(processes[0].world, 0);
  Clock::time_point start = Clock::now();
  gather(context, 2);
  EXPECT_LT(Clock::now() - start, milliseconds(1000));
  EXPECT_EQ(cprt_context_status(context), CPRT_PEER_FAILED);
  EXPECT_THAT(cprt_context_message(context), HasSubstr("rank 1 has gone"));
  dying.join();
}

/// And the first rank's, which hands letters on for the others.
TEST_F(Joining, RankZeroThatDies) {
  Mailbox three(3, testSeed());
  Process second{1, {3}};
  second.deadlineMs = 60'000;
  Address where;
  ASSERT_FALSE(Address::parse(address.c_str(), where));
  File listener;
  ASSERT_FALSE(where.listen(listener));
  std::thread dying([&] {
    Connection guest(File(::accept(listener.get(), nullptr, nullptr)));
    guest.send({Letter::Kind::Welcome, 0, 1, ""});
    guest.flush();
    std::this_thread::sleep_for(milliseconds(50));
  });
  second.join(three, address);
  dying.join();
  ASSERT_EQ(second.status, CPRT_OK);
  cprt_context *context = cprt_world_context(second.world, 1);
  gather(context, 3);
  EXPECT_EQ(cprt_context_status(context), CPRT_PEER_FAILED);
  EXPECT_THAT(cprt_context_message(context), HasSubstr("rank 0 has gone"));
  cprt_world_destroy(second.world);
}

/// Nobody waits for the deadline for one that is gone for good.
TEST_F(Joining, RankThatLeavesEarly) {
  for (Process &process : processes)
    process.deadlineMs = 60'000;
  joinAll();
  cprt_context *context = cprt_world_context(processes[0].world, 0);
  cprt_world_destroy(processes[1].world);
  processes[1].world = nullptr;
  Clock::time_point start = Clock::now();
  gather(context, 2);
  EXPECT_LT(Clock::now() - start, milliseconds(3000));
  EXPECT_EQ(cprt_context_status(context), CPRT_PEER_FAILED);
  EXPECT_THAT(cprt_context_message(context), HasSubstr("rank 1 has left"));
}

/// Nothing stays behind in the transport, and who leaves first says goodbye.
TEST_F(Joining, LeavesNothingBehind) {
  joinAll();
  std::vector<std::thread> threads;
  for (Process &process : processes)
    threads.emplace_back([&] {
      cprt_context *context = cprt_world_context(process.world, process.rank);
      for (int i = 0; i < 100; ++i)
        gather(context, 2);
      EXPECT_EQ(cprt_context_status(context), CPRT_OK)
          << cprt_context_message(context);
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(mailbox.numPending(), 0u);
  std::thread leaving([&] { cprt_world_destroy(processes[0].world); });
  std::this_thread::sleep_for(milliseconds(50));
  EXPECT_EQ(cprt_context_status(cprt_world_context(processes[1].world, 1)),
            CPRT_OK);
  cprt_world_destroy(processes[1].world);
  leaving.join();
  processes.clear();
}
