//===- RankWorld.cpp - The ranks of one process ---------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RankWorld.h"

#include "cp/Runtime/cprt_history.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace cp {

static llvm::Expected<cprt_world *> makeWorld(const cprt_options &wanted,
                                              const RunOptions &options,
                                              uint64_t program) {
  if (options.transport)
    return options.transport->makeWorld(wanted, program);
  cprt_world *made = nullptr;
  char message[512] = "";
  cprt_status status =
      cprt_threads_create(&wanted, &made, message, sizeof(message));
  if (status != CPRT_OK)
    return llvm::createStringError(std::string(cprt_status_name(status)) +
                                   ": " + message);
  return made;
}

llvm::Expected<std::unique_ptr<RankWorld>>
RankWorld::create(const Mesh &mesh, const RunOptions &options,
                  uint64_t program) {
  std::vector<int64_t> sizes;
  for (const Mesh::Axis &axis : mesh.axes)
    sizes.push_back(axis.size);
  cprt_options wanted = {};
  wanted.struct_size = sizeof(wanted);
  wanted.num_axes = static_cast<int32_t>(sizes.size());
  wanted.axis_sizes = sizes.data();
  wanted.deadline_ms = options.deadlineMs;
  wanted.kernels = options.kernels;
  wanted.threads = options.threads;
  wanted.device = options.device ? &options.device->get() : nullptr;
  wanted.device_fallback = options.deviceFallback;
  llvm::Expected<cprt_world *> made = makeWorld(wanted, options, program);
  if (!made)
    return made.takeError();
  std::unique_ptr<RankWorld> ranks(new RankWorld);
  ranks->world.reset(*made);
  ranks->mesh = mesh;
  ranks->beforeRank = options.beforeRank;
  ranks->device = options.device;
  ranks->recordsSteps = options.deviceGraphs;
  ranks->ran.resize(size_t(ranks->numRanks()));
  for (int64_t rank = 0; rank < ranks->numRanks(); ++rank)
    if (ranks->context(rank))
      ranks->here.push_back(rank);
  auto work = [of = ranks.get()](int64_t i) { of->run(of->here[size_t(i)]); };
  if (llvm::Error error = RankThreads::create(int64_t(ranks->here.size()), work)
                              .moveInto(ranks->threads))
    return error;
  ranks->onEnd = options.onEnd;
  return ranks;
}

RankWorld::~RankWorld() {
  if (!onEnd)
    return;
  std::vector<RankHistory> histories;
  for (int64_t rank : here)
    histories.push_back(historyOf(rank));
  onEnd(histories);
}

void RankWorld::run(int64_t rank) {
  ran[size_t(rank)] = !beforeRank || beforeRank(rank, context(rank));
  if (!ran[size_t(rank)])
    return;
  llvm::ArrayRef<void *> buffers = table(rank);
  if (recordsSteps)
    cprt_run_recorded(context(rank), function, buffers.data(), buffers.size());
  else
    function(context(rank), nullptr, buffers.data());
  cprt_synchronize(context(rank));
}

llvm::Expected<double> RankWorld::step(EntryFn entry, TableOfRank buffers) {
  if (llvm::Error error = failures())
    return error;
  function = entry;
  table = std::move(buffers);
  // Counters are those of one step.
  for (int64_t rank : here)
    cprt_context_reset_counters(context(rank));
  auto start = std::chrono::steady_clock::now();
  threads->step();
  std::chrono::duration<double> passed =
      std::chrono::steady_clock::now() - start;
  for (int64_t rank : here)
    if (!ran[size_t(rank)])
      cprt_context_fail(context(rank), CPRT_TIMEOUT,
                        "this rank never ran its program");
  if (llvm::Error error = failures())
    return error;
  return passed.count();
}

int64_t RankWorld::freeBytes(int64_t rank) const {
  return cprt_device_free_bytes(context(rank));
}

llvm::Expected<void *> RankWorld::allocate(int64_t rank, int64_t bytes) {
  void *there = cprt_device_alloc(context(rank), bytes);
  if (llvm::Error error = failures())
    return error;
  return there;
}

llvm::Error RankWorld::upload(int64_t rank, void *to,
                              llvm::ArrayRef<uint8_t> from) {
  cprt_upload(context(rank), to, from.data(), int64_t(from.size()));
  return failures();
}

llvm::Error RankWorld::download(int64_t rank, llvm::MutableArrayRef<uint8_t> to,
                                const void *from) {
  cprt_download(context(rank), to.data(), from, int64_t(to.size()));
  return failures();
}

int64_t RankWorld::numAllocations() const {
  int64_t sum = 0;
  for (int64_t rank : here)
    sum += cprt_context_allocations(context(rank));
  return sum;
}

llvm::Expected<std::vector<int64_t>> RankWorld::peakBytes() const {
  std::vector<int64_t> bytes;
  for (int64_t rank : here)
    bytes.push_back(cprt_context_peak_bytes(context(rank)));
  if (hasAll())
    return bytes;
  llvm::Expected<std::vector<Bytes>> all = gather(llvm::ArrayRef(
      reinterpret_cast<const uint8_t *>(bytes.data()), sizeof(int64_t)));
  if (!all)
    return all.takeError();
  bytes.resize(all->size());
  for (auto [to, from] : llvm::zip_equal(bytes, *all))
    std::memcpy(&to, from.data(), sizeof to);
  return bytes;
}

llvm::Expected<std::vector<double>>
RankWorld::ofSlowest(std::vector<double> seconds) const {
  // All have as many: a job's repeats are compared before it begins.
  if (hasAll() || seconds.empty())
    return seconds;
  llvm::Expected<std::vector<Bytes>> all =
      gather({reinterpret_cast<const uint8_t *>(seconds.data()),
              seconds.size() * sizeof(double)});
  if (!all)
    return all.takeError();
  for (const Bytes &of : *all)
    for (size_t step = 0; step < seconds.size(); ++step) {
      double other;
      std::memcpy(&other, of.data() + step * sizeof other, sizeof other);
      seconds[step] = std::max(seconds[step], other);
    }
  return seconds;
}

/// The ranks that failed, those first that did so by themselves.
static std::vector<int64_t> failedRanks(cprt_world *world,
                                        llvm::ArrayRef<int64_t> here) {
  std::vector<int64_t> first, others;
  for (int64_t rank : here) {
    cprt_status status = cprt_context_status(cprt_world_context(world, rank));
    if (status == CPRT_PEER_FAILED)
      others.push_back(rank);
    else if (status != CPRT_OK)
      first.push_back(rank);
  }
  first.insert(first.end(), others.begin(), others.end());
  return first;
}

/// What went wrong, rank by rank; success when nothing did.
llvm::Error RankWorld::failures() const {
  constexpr size_t most = 10;
  std::vector<int64_t> failed = failedRanks(world.get(), here);
  if (failed.empty())
    return llvm::Error::success();
  std::string text = "the run failed:";
  for (int64_t rank : llvm::ArrayRef(failed).take_front(most)) {
    cprt_context *of = context(rank);
    text += "\n  rank " + std::to_string(rank) + ": " +
            cprt_status_name(cprt_context_status(of)) + ": " +
            cprt_context_message(of);
  }
  if (failed.size() > most)
    text += "\n  and " + std::to_string(failed.size() - most) + " more ranks";
  return llvm::createStringError(text);
}

void RankWorld::fail(const std::string &why) {
  for (int64_t rank : here)
    cprt_context_fail(context(rank), CPRT_INVALID_ARGUMENT, why.c_str());
}

//===----------------------------------------------------------------------===//
// What travels between processes beside the program
//===----------------------------------------------------------------------===//

/// An all_gather of 32-bit words over all axes, with an id that no call of a
/// program has.
static std::vector<int64_t> gatherCall(int64_t axes, int64_t ranks,
                                       int64_t words) {
  std::vector<int64_t> table = {1,     1, axes + 3, -1, CPRT_I32,      1,
                                words, 1, CPRT_I32, 1,  ranks * words, 1,
                                axes};
  for (int64_t axis = 0; axis < axes; ++axis)
    table.push_back(axis);
  table.insert(table.end(), {/*dim=*/0, /*order=*/0});
  return table;
}

llvm::Expected<std::vector<Bytes>>
RankWorld::gather(llvm::ArrayRef<uint8_t> mine) const {
  constexpr size_t wordBytes = sizeof(int32_t);
  size_t words = (mine.size() + wordBytes - 1) / wordBytes;
  auto ranks = size_t(numRanks());
  std::vector<int32_t> in(words), out(words * ranks);
  std::memcpy(in.data(), mine.data(), mine.size());
  std::vector<int64_t> table =
      gatherCall(int64_t(mesh.axes.size()), numRanks(), int64_t(words));
  void *buffers[] = {in.data(), out.data()};
  cprt_on_host(context(here.front()), cprt_all_gather, table.data(), buffers);
  if (llvm::Error error = failures())
    return error;
  std::vector<Bytes> all(ranks);
  for (size_t rank = 0; rank < ranks; ++rank) {
    all[rank].resize(mine.size());
    std::memcpy(all[rank].data(), out.data() + rank * words, mine.size());
  }
  return all;
}

/// As much as a process says of one of its counters to the others.
namespace {
struct CounterRecord {
  char op[48];
  uint64_t axes;
  int64_t calls, bytesSent;
  double exposedSeconds;
};
constexpr size_t mostCounters = 64;
} // namespace

static std::vector<cprt_counter> countersOf(const cprt_context *context) {
  std::vector<cprt_counter> counters(mostCounters);
  size_t size =
      cprt_context_counters(context, counters.data(), counters.size());
  counters.resize(std::min(size, mostCounters));
  return counters;
}

using RankCounts = std::map<std::pair<std::string, uint64_t>, CollectiveCount>;

static void addCount(RankCounts &counts, int64_t ranks, int64_t rank,
                     const cprt_counter &counter) {
  CollectiveCount &count = counts[{counter.op, counter.axes}];
  count.op = counter.op;
  count.calls = std::max(count.calls, counter.calls);
  count.bytesSentPerRank.resize(size_t(ranks));
  count.bytesSentPerRank[size_t(rank)] = counter.bytes_sent;
  count.exposedSecondsPerRank.resize(size_t(ranks));
  count.exposedSecondsPerRank[size_t(rank)] = counter.exposed_seconds;
}

/// Those of all ranks, as the processes tell each other.
llvm::Error RankWorld::gatherCounts(RankCounts &counts) const {
  std::vector<CounterRecord> mine(mostCounters, CounterRecord{});
  for (auto [to, from] : llvm::zip(mine, countersOf(context(here.front())))) {
    std::strncpy(to.op, from.op, sizeof to.op - 1);
    to.axes = from.axes;
    to.calls = from.calls;
    to.bytesSent = from.bytes_sent;
    to.exposedSeconds = from.exposed_seconds;
  }
  size_t bytes = mostCounters * sizeof(CounterRecord);
  llvm::Expected<std::vector<Bytes>> all = gather(
      llvm::ArrayRef(reinterpret_cast<const uint8_t *>(mine.data()), bytes));
  if (!all)
    return all.takeError();
  for (auto [rank, part] : llvm::enumerate(*all)) {
    std::memcpy(mine.data(), part.data(), bytes);
    for (const CounterRecord &each : mine)
      if (each.calls || each.bytesSent)
        addCount(counts, numRanks(), int64_t(rank),
                 {each.op, each.axes, each.calls, each.bytesSent,
                  each.exposedSeconds});
  }
  return llvm::Error::success();
}

llvm::Expected<std::vector<CollectiveCount>> RankWorld::counts() const {
  RankCounts counts;
  if (hasAll())
    for (int64_t rank : here)
      for (const cprt_counter &each : countersOf(context(rank)))
        addCount(counts, numRanks(), rank, each);
  else if (llvm::Error error = gatherCounts(counts))
    return error;
  std::vector<CollectiveCount> result;
  for (auto &[key, count] : counts) {
    count.axes = namesOf(key.second);
    result.push_back(std::move(count));
  }
  return result;
}

std::vector<std::string> RankWorld::namesOf(uint64_t axes) const {
  std::vector<std::string> names;
  for (size_t axis = 0; axis < mesh.axes.size(); ++axis)
    if (axes >> axis & 1)
      names.push_back(mesh.axes[axis].name);
  return names;
}

RankHistory RankWorld::historyOf(int64_t rank) const {
  std::vector<cprt_record> records(CPRT_HISTORY_LENGTH);
  records.resize(
      cprt_context_history(context(rank), records.data(), records.size()));
  RankHistory history = {rank, {}};
  for (const cprt_record &each : records) {
    CollectiveRecord record;
    record.op = each.op;
    record.axes = namesOf(each.axes);
    record.call = each.id;
    record.number = each.number;
    record.start = each.start;
    if (each.seconds >= 0)
      record.seconds = each.seconds;
    record.exposedSeconds = each.exposed_seconds;
    record.bytesSent = each.bytes_sent;
    record.isDeferred = each.is_deferred != 0;
    history.records.push_back(std::move(record));
  }
  return history;
}

} // namespace cp
