//===- RankWorld.cpp - The ranks of one process ---------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RankWorld.h"

#include <algorithm>
#include <chrono>
#include <map>

namespace cp {

llvm::Expected<std::unique_ptr<RankWorld>>
RankWorld::create(const Mesh &mesh, const RunOptions &options) {
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
  cprt_world *made = nullptr;
  char message[512] = "";
  cprt_status status =
      cprt_threads_create(&wanted, &made, message, sizeof(message));
  if (status != CPRT_OK)
    return llvm::createStringError(std::string(cprt_status_name(status)) +
                                   ": " + message);
  std::unique_ptr<RankWorld> ranks(new RankWorld);
  ranks->world.reset(made);
  ranks->mesh = mesh;
  ranks->beforeRank = options.beforeRank;
  ranks->ran.resize(size_t(ranks->numRanks()));
  auto work = [of = ranks.get()](int64_t rank) { of->run(rank); };
  if (llvm::Error error =
          RankThreads::create(ranks->numRanks(), work).moveInto(ranks->threads))
    return error;
  return ranks;
}

void RankWorld::run(int64_t rank) {
  ran[size_t(rank)] = !beforeRank || beforeRank(rank, context(rank));
  if (ran[size_t(rank)])
    function(context(rank), nullptr, table(rank));
}

llvm::Expected<double>
RankWorld::step(EntryFn entry, std::function<void *const *(int64_t)> buffers) {
  if (llvm::Error error = failures())
    return error;
  function = entry;
  table = std::move(buffers);
  // Counters are those of one step.
  for (int64_t rank = 0; rank < numRanks(); ++rank)
    cprt_context_reset_counters(context(rank));
  auto start = std::chrono::steady_clock::now();
  threads->step();
  std::chrono::duration<double> passed =
      std::chrono::steady_clock::now() - start;
  for (int64_t rank = 0; rank < numRanks(); ++rank)
    if (!ran[size_t(rank)])
      cprt_context_fail(context(rank), CPRT_TIMEOUT,
                        "this rank never ran its program");
  if (llvm::Error error = failures())
    return error;
  return passed.count();
}

int64_t RankWorld::numAllocations() const {
  int64_t sum = 0;
  for (int64_t rank = 0; rank < numRanks(); ++rank)
    sum += cprt_context_allocations(context(rank));
  return sum;
}

std::vector<int64_t> RankWorld::peakBytes() const {
  std::vector<int64_t> bytes;
  for (int64_t rank = 0; rank < numRanks(); ++rank)
    bytes.push_back(cprt_context_peak_bytes(context(rank)));
  return bytes;
}

/// The ranks that failed, those first that did so by themselves.
static std::vector<int64_t> failedRanks(cprt_world *world) {
  std::vector<int64_t> first, others;
  for (int64_t rank = 0; rank < cprt_world_size(world); ++rank) {
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
  std::vector<int64_t> failed = failedRanks(world.get());
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

std::vector<CollectiveCount> RankWorld::counts() const {
  std::map<std::pair<std::string, uint64_t>, CollectiveCount> counts;
  int64_t ranks = numRanks();
  for (int64_t rank = 0; rank < ranks; ++rank) {
    cprt_counter counters[64];
    size_t size = cprt_context_counters(context(rank), counters, 64);
    for (size_t i = 0; i < std::min<size_t>(size, 64); ++i) {
      CollectiveCount &count = counts[{counters[i].op, counters[i].axes}];
      count.op = counters[i].op;
      count.calls = std::max(count.calls, counters[i].calls);
      count.bytesSentPerRank.resize(ranks);
      count.bytesSentPerRank[rank] = counters[i].bytes_sent;
    }
  }
  std::vector<CollectiveCount> result;
  for (auto &[key, count] : counts) {
    for (size_t axis = 0; axis < mesh.axes.size(); ++axis)
      if (key.second >> axis & 1)
        count.axes.push_back(mesh.axes[axis].name);
    result.push_back(std::move(count));
  }
  return result;
}

} // namespace cp
