//===- Run.cpp - Running a program on threads -------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProgramImpl.h"
#include "RankThreads.h"

#include <algorithm>
#include <chrono>
#include <map>

namespace cp {
namespace {

struct WorldDeleter {
  void operator()(cprt_world *world) const { cprt_world_destroy(world); }
};
using WorldPtr = std::unique_ptr<cprt_world, WorldDeleter>;

llvm::Expected<WorldPtr> makeWorld(const Mesh &mesh,
                                   const RunOptions &options) {
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
  cprt_world *world = nullptr;
  char message[512] = "";
  cprt_status status =
      cprt_threads_create(&wanted, &world, message, sizeof(message));
  if (status == CPRT_OK)
    return WorldPtr(world);
  return llvm::createStringError(std::string(cprt_status_name(status)) + ": " +
                                 message);
}

/// One rank's buffers: parts of the inputs, room for its parts of the results.
class RankBuffers {
public:
  RankBuffers(const Signature &signature,
              llvm::ArrayRef<const HostTensor *> inputs, int64_t rank) {
    for (auto [spec, input] : llvm::zip_equal(signature.arguments, inputs))
      addInput(spec, *input, rank);
    for (const TensorSpec &spec : signature.results) {
      results.push_back(HostTensor::zeros(
          spec.dtype, localShape(spec.layout, spec.shape, rank)));
    }
    for (HostTensor &result : results)
      pointers.push_back(result.bytes.data());
  }

  void *const *data() const { return pointers.data(); }
  llvm::ArrayRef<HostTensor> outputs() const { return results; }
  std::vector<HostTensor> takeOutputs() { return std::move(results); }

private:
  void addInput(const TensorSpec &spec, const HostTensor &input, int64_t rank) {
    bool whole = llvm::all_of(spec.layout.dims,
                              [](const auto &dim) { return dim.empty(); });
    if (!whole)
      parts.push_back(
          std::make_unique<HostTensor>(partOf(input, spec.layout, rank)));
    // Programs never write their arguments, so ranks share whole ones.
    const HostTensor &tensor = whole ? input : *parts.back();
    pointers.push_back(const_cast<uint8_t *>(tensor.bytes.data()));
  }

  std::vector<std::unique_ptr<HostTensor>> parts;
  std::vector<HostTensor> results;
  std::vector<void *> pointers;
};

llvm::Error checkInputs(llvm::ArrayRef<TensorSpec> specs,
                        llvm::ArrayRef<const HostTensor *> inputs) {
  if (specs.size() != inputs.size())
    return llvm::createStringError(std::to_string(specs.size()) +
                                   " inputs expected, but " +
                                   std::to_string(inputs.size()) + " came");
  for (auto [spec, input] : llvm::zip_equal(specs, inputs))
    if (input->dtype != spec.dtype || input->shape != spec.shape)
      return llvm::createStringError(
          "'" + spec.name + "' must be " + dtypeName(spec.dtype).str() + " " +
          shapeText(spec.shape) + ", but is " + dtypeName(input->dtype).str() +
          " " + shapeText(input->shape));
  return llvm::Error::success();
}

/// The ranks that failed, those first that did so by themselves.
std::vector<int64_t> failedRanks(cprt_world *world) {
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
llvm::Error collectFailures(cprt_world *world) {
  constexpr size_t most = 10;
  std::vector<int64_t> failed = failedRanks(world);
  if (failed.empty())
    return llvm::Error::success();
  std::string text = "the run failed:";
  for (int64_t rank : llvm::ArrayRef(failed).take_front(most)) {
    cprt_context *context = cprt_world_context(world, rank);
    text += "\n  rank " + std::to_string(rank) + ": " +
            cprt_status_name(cprt_context_status(context)) + ": " +
            cprt_context_message(context);
  }
  if (failed.size() > most)
    text += "\n  and " + std::to_string(failed.size() - most) + " more ranks";
  return llvm::createStringError(text);
}

std::vector<CollectiveCount> collectCounts(cprt_world *world,
                                           const Mesh &mesh) {
  std::map<std::pair<std::string, uint64_t>, CollectiveCount> counts;
  int64_t ranks = cprt_world_size(world);
  for (int64_t rank = 0; rank < ranks; ++rank) {
    cprt_counter counters[64];
    size_t size =
        cprt_context_counters(cprt_world_context(world, rank), counters, 64);
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

/// The ranks of a world at work on one program.
class Ranks {
public:
  Ranks(cprt_world *world, EntryFn function,
        llvm::ArrayRef<std::unique_ptr<RankBuffers>> buffers,
        const RunOptions &options)
      : world(world), function(function), buffers(buffers), options(options),
        runs(buffers.size()) {}

  /// The threads; to be called once, before the first step.
  llvm::Error start() {
    return RankThreads::create(int64_t(buffers.size()),
                               [this](int64_t rank) { run(rank); })
        .moveInto(threads);
  }

  /// One step on all ranks; returns its seconds. A rank that beforeRank keeps
  /// from running fails, though it may be only after the others are done.
  double step() {
    // Counters are those of one step.
    for (size_t rank = 0; rank < buffers.size(); ++rank)
      cprt_context_reset_counters(cprt_world_context(world, rank));
    auto start = std::chrono::steady_clock::now();
    threads->step();
    std::chrono::duration<double> passed =
        std::chrono::steady_clock::now() - start;
    for (size_t rank = 0; rank < buffers.size(); ++rank)
      if (!runs[rank])
        cprt_context_fail(cprt_world_context(world, rank), CPRT_TIMEOUT,
                          "this rank never ran its program");
    return passed.count();
  }

  /// Of all ranks in the last step.
  int64_t numAllocations() const {
    int64_t sum = 0;
    for (size_t rank = 0; rank < buffers.size(); ++rank)
      sum += cprt_context_allocations(cprt_world_context(world, rank));
    return sum;
  }

private:
  void run(int64_t rank) {
    cprt_context *context = cprt_world_context(world, rank);
    runs[rank] = !options.beforeRank || options.beforeRank(rank, context);
    if (runs[rank])
      function(context, nullptr, buffers[rank]->data());
  }

  cprt_world *world;
  EntryFn function;
  llvm::ArrayRef<std::unique_ptr<RankBuffers>> buffers;
  const RunOptions &options;
  std::vector<char> runs;
  /// Last: its threads use all of the above.
  std::unique_ptr<RankThreads> threads;
};

} // namespace

llvm::Expected<RunResult>
Program::run(llvm::ArrayRef<const HostTensor *> inputs,
             const RunOptions &options) {
  if (llvm::Error error = checkInputs(arguments(), inputs))
    return error;
  llvm::Expected<WorldPtr> world = makeWorld(impl->mesh, options);
  if (!world)
    return world.takeError();
  int64_t ranks = impl->mesh.numRanks();
  std::vector<std::unique_ptr<RankBuffers>> buffers;
  for (int64_t rank = 0; rank < ranks; ++rank)
    buffers.push_back(
        std::make_unique<RankBuffers>(impl->signature, inputs, rank));
  RunResult result;
  Ranks running(world->get(), impl->compiled.function, buffers, options);
  if (llvm::Error error = running.start())
    return error;
  for (int step = 0; step < options.repeats; ++step) {
    result.seconds.push_back(running.step());
    result.allocationsPerStep.push_back(running.numAllocations());
    if (llvm::Error error = collectFailures(world->get()))
      return error;
  }
  result.collectives = collectCounts(world->get(), impl->mesh);
  for (int64_t rank = 0; rank < ranks; ++rank)
    result.peakBytesPerRank.push_back(
        cprt_context_peak_bytes(cprt_world_context(world->get(), rank)));
  for (auto [index, spec] : llvm::enumerate(results())) {
    HostTensor whole = HostTensor::zeros(spec.dtype, spec.shape);
    for (int64_t rank = 0; rank < ranks; ++rank)
      putPart(buffers[rank]->outputs()[index], spec.layout, rank, whole);
    result.outputs.push_back(std::move(whole));
  }
  if (options.keepParts)
    for (auto &rank : buffers)
      result.parts.push_back(rank->takeOutputs());
  return result;
}

} // namespace cp
