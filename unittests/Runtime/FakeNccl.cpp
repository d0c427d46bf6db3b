//===- FakeNccl.cpp - What ranks of a test call as NCCL -------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeNccl.h"

#include "Nccl/Transport.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <list>
#include <map>
#include <thread>

using namespace cp::test;
using namespace cp::nccl;

namespace {

struct FakeComm;

/// One message, as one of its ranks has launched it.
struct Half {
  int from, to;
  bool isReceive, isDone;
  char *data;
  size_t bytes;
};

/// The ranks of a communicator.
struct Clique {
  int size = 0, joined = 0;
  std::condition_variable moved;
  std::list<Half> halves;
  /// What it has been split into, in order.
  std::map<int, std::shared_ptr<Clique>> children;
};

struct Op {
  FakeComm *comm;
  Half half;
  StreamDevice::Queue *stream;
};

/// A rank's place there.
struct FakeComm {
  std::shared_ptr<Clique> clique;
  int rank;
  int splits = 0;
  /// How often it still says that it is in progress, and what it then launches.
  int questions = 0;
  std::vector<Op> late;
  bool isAborted = false;
};

/// Of all that there are.
std::mutex all;
std::map<std::string, std::shared_ptr<Clique>> cliques;
std::vector<std::unique_ptr<FakeComm>> aborted;
std::mt19937_64 draws;
Result injected = Success;
std::atomic<int> living = 0;

thread_local std::vector<Op> group;

FakeComm &at(Comm comm) { return *static_cast<FakeComm *>(comm); }

} // namespace

/// With the lock held.
static void meet(Clique &clique) {
  for (Half &sent : clique.halves) {
    if (sent.isReceive || sent.isDone)
      continue;
    // The first of each between two ranks.
    auto isOther = [&](const Half &half, bool receives) {
      return !half.isDone && half.isReceive == receives &&
             half.from == sent.from && half.to == sent.to;
    };
    auto first = std::find_if(
        clique.halves.begin(), clique.halves.end(),
        [&](const Half &half) { return isOther(half, /*receives=*/false); });
    auto received = std::find_if(
        clique.halves.begin(), clique.halves.end(),
        [&](const Half &half) { return isOther(half, /*receives=*/true); });
    if (&*first != &sent || received == clique.halves.end() ||
        received->bytes != sent.bytes)
      continue;
    std::memcpy(received->data, sent.data, sent.bytes);
    received->isDone = sent.isDone = true;
  }
}

/// What a stream does: until all of a group have met.
static void run(FakeComm &comm, const std::vector<Op> &ops) {
  std::unique_lock<std::mutex> lock(all);
  Clique &clique = *comm.clique;
  std::vector<std::list<Half>::iterator> places;
  for (const Op &op : ops)
    places.push_back(clique.halves.insert(clique.halves.end(), op.half));
  meet(clique);
  clique.moved.notify_all();
  clique.moved.wait(lock, [&] {
    return comm.isAborted ||
           std::all_of(places.begin(), places.end(),
                       [](auto place) { return place->isDone; });
  });
  for (auto place : places)
    clique.halves.erase(place);
}

static void launch(FakeComm &comm, std::vector<Op> ops) {
  StreamDevice::Queue *stream = ops.front().stream;
  stream->add([&comm, ops = std::move(ops)] { run(comm, ops); });
}

/// Whether a call may be made; with the lock held.
static Result begin(const FakeComm &comm) {
  if (comm.questions == 0)
    return injected;
  ADD_FAILURE() << "a call of a communicator that is in progress";
  return InvalidUsage;
}

static Result add(const void *data, size_t bytes, int type, int peer, Comm comm,
                  void *stream, bool isReceive) {
  auto *queue = &StreamDevice::at(stream);
  std::lock_guard<std::mutex> lock(all);
  if (Result result = begin(at(comm)); result != Success)
    return result;
  char *place = queue->device.reach(data, bytes);
  EXPECT_NE(place, nullptr) << "memory that is not the device's";
  EXPECT_EQ(type, bytesType);
  int rank = at(comm).rank;
  EXPECT_NE(peer, rank);
  group.push_back({&at(comm),
                   {isReceive ? peer : rank, isReceive ? rank : peer, isReceive,
                    false, place, bytes},
                   queue});
  return Success;
}

static Result endGroup() {
  if (group.empty())
    return Success;
  std::vector<Op> ops = std::move(group);
  group.clear();
  FakeComm &comm = *ops.front().comm;
  for (const Op &op : ops)
    if (op.comm != &comm || op.stream != ops.front().stream)
      ADD_FAILURE() << "a group of several communicators";
  std::unique_lock<std::mutex> lock(all);
  comm.questions = int(draws() % 6);
  if (comm.questions) {
    comm.late = std::move(ops);
    return InProgress;
  }
  lock.unlock();
  launch(comm, std::move(ops));
  return Success;
}

static Result askState(Comm opaque, Result *state) {
  FakeComm &comm = at(opaque);
  std::unique_lock<std::mutex> lock(all);
  if (injected != Success) {
    *state = injected;
    return Success;
  }
  bool isWhole = comm.clique->joined == comm.clique->size;
  if (comm.questions && isWhole)
    --comm.questions;
  *state = comm.questions || !isWhole ? InProgress : Success;
  if (*state == InProgress || comm.late.empty())
    return Success;
  std::vector<Op> ops = std::move(comm.late);
  comm.late.clear();
  lock.unlock();
  launch(comm, std::move(ops));
  return Success;
}

/// With the lock held.
static Result join(std::shared_ptr<Clique> clique, int rank, int size,
                   const Config *config, Comm *made) {
  EXPECT_EQ(config->magic, 0xcafebeefU);
  EXPECT_EQ(config->blocking, 0);
  clique->size = size;
  ++clique->joined;
  ++living;
  auto *comm = new FakeComm{std::move(clique), rank};
  comm->questions = int(draws() % 4);
  *made = comm;
  return InProgress;
}

static Result destroyComm(Comm comm) {
  --living;
  delete &at(comm);
  return Success;
}

/// Streams may still come to it, and it is kept.
static Result abortComm(Comm opaque) {
  FakeComm &comm = at(opaque);
  {
    std::lock_guard<std::mutex> lock(all);
    comm.isAborted = true;
    comm.late.clear();
    aborted.emplace_back(&comm);
  }
  comm.clique->moved.notify_all();
  --living;
  return Success;
}

Api FakeNccl::api() {
  Api api;
  api.getVersion = [](int *version) {
    *version = 22809;
    return Success;
  };
  api.getUniqueId = [](UniqueId *id) {
    std::lock_guard<std::mutex> lock(all);
    std::snprintf(id->bytes, sizeof id->bytes, "%llu",
                  static_cast<unsigned long long>(draws()));
    cliques[id->bytes] = std::make_shared<Clique>();
    return Success;
  };
  api.getErrorString = [](Result result) {
    return result == RemoteError ? "remote process exited" : "an error";
  };
  api.getLastError = [](Comm) { return "as injected"; };
  api.groupStart = [] { return Success; };
  api.groupEnd = endGroup;
  api.send = [](const void *data, size_t bytes, int type, int peer, Comm comm,
                void *stream) {
    return add(data, bytes, type, peer, comm, stream, /*isReceive=*/false);
  };
  api.receive = [](void *data, size_t bytes, int type, int peer, Comm comm,
                   void *stream) {
    return add(data, bytes, type, peer, comm, stream, /*isReceive=*/true);
  };
  api.commInitRankConfig = [](Comm *made, int size, UniqueId id, int rank,
                              Config *config) {
    std::lock_guard<std::mutex> lock(all);
    return join(cliques.at(id.bytes), rank, size, config, made);
  };
  api.commSplit = [](Comm comm, int, int key, Comm *made, Config *config) {
    std::lock_guard<std::mutex> lock(all);
    FakeComm &parent = at(comm);
    if (Result result = begin(parent); result != Success)
      return result;
    std::shared_ptr<Clique> &child = parent.clique->children[parent.splits++];
    if (!child)
      child = std::make_shared<Clique>();
    return join(child, key, parent.clique->size, config, made);
  };
  api.commGetAsyncError = askState;
  api.commFinalize = [](Comm comm) {
    std::lock_guard<std::mutex> lock(all);
    at(comm).questions = int(draws() % 4);
    return InProgress;
  };
  api.commDestroy = destroyComm;
  api.commAbort = abortComm;
  return api;
}

void FakeNccl::fail(Result how) {
  std::lock_guard<std::mutex> lock(all);
  injected = how;
}

int FakeNccl::numComms() { return living; }

//===----------------------------------------------------------------------===//
// Worlds
//===----------------------------------------------------------------------===//

namespace {
/// What a rank's transport passes through, in a world whose tensors are not on
/// a device.
struct Passage {
  cprt_transport inner;
  std::shared_ptr<StreamDevice> device;
  void *queue;
};
std::mutex passagesMutex;
std::map<void *, Passage> passages;
} // namespace

static Passage passageOf(void *state) {
  std::lock_guard<std::mutex> lock(passagesMutex);
  return passages.at(state);
}

/// Binds a transport when the ranks are known, behind the runtime's back.
static void bindAlone(cprt_transport &table,
                      std::shared_ptr<StreamDevice> device) {
  {
    std::lock_guard<std::mutex> lock(passagesMutex);
    passages[table.state] = {table, device, device->openQueue()};
  }
  table.bind = nullptr;
  table.connect = [](void *state, const void *const *addresses,
                     const size_t *bytes) {
    constexpr int64_t deadlineMs = 60'000;
    Passage passage = passageOf(state);
    cprt_status status = passage.inner.connect(state, addresses, bytes);
    return status ? status
                  : passage.inner.bind(state, &passage.device->table(),
                                       passage.queue, deadlineMs);
  };
  table.destroy = [](void *state, int32_t failed) {
    Passage passage = passageOf(state);
    passage.inner.destroy(state, failed);
    passage.device->table().close(passage.queue);
    std::lock_guard<std::mutex> lock(passagesMutex);
    passages.erase(state);
  };
}

std::vector<cprt_world *>
cp::test::makeNcclWorlds(cprt_options options, int64_t size, uint64_t seed) {
  std::vector<cprt_world *> worlds(size_t(size), nullptr);
  std::string address = freshAddress();
  auto device = std::make_shared<StreamDevice>(seed);
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      cprt_transport table;
      (new Transport(FakeNccl::api(), rank, size))->describe(table);
      if (!options.device)
        bindAlone(table, device);
      cprt_job job = {};
      job.struct_size = sizeof(job);
      job.rank = rank;
      job.address = address.c_str();
      char message[256] = "";
      cprt_messages_create(&options, &job, &table, &worlds[size_t(rank)],
                           message, sizeof message);
      EXPECT_STREQ(message, "");
    });
  for (std::thread &thread : threads)
    thread.join();
  return worlds;
}
