//===- ExchangeRows.cpp - Seconds of exchanges between threads ------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AllToAllCall.h"
#include "Rows.h"
#include "Timing.h"
#include "cp/Runtime/cprt.h"

#include <cstring>
#include <memory>
#include <thread>
#include <vector>

namespace cp::bench {
namespace {

struct DestroyWorld {
  void operator()(cprt_world *world) const { cprt_world_destroy(world); }
};
using World = std::unique_ptr<cprt_world, DestroyWorld>;

llvm::Expected<World> makeWorld(int64_t ranks) {
  cprt_options options = {};
  options.struct_size = sizeof options;
  options.num_axes = 1;
  options.axis_sizes = &ranks;
  cprt_world *world = nullptr;
  char message[256] = "";
  cprt_threads_create(&options, &world, message, sizeof message);
  if (!world)
    return llvm::createStringError(message);
  return World(world);
}

/// Number `to` of rank `from`'s block for `to`: says where it came from.
float mark(int64_t from, int64_t to) { return float(from * 1000 + to + 1); }

/// One rank: rounds of exchanges, whose seconds each rank measures for itself.
class Rank {
public:
  Rank(cprt_context *context, int64_t ranks, int64_t count)
      : context(context), count(count), descriptor(allToAllCall(ranks, count)),
        total(ranks * count), in(allocate()), out(allocate()) {
    int64_t self = cprt_context_rank(context);
    for (int64_t i = 0; in && i < total; ++i)
      in[i] = mark(self, i / count);
  }

  void run(int64_t rounds, int64_t iterations) {
    void *buffers[] = {in, out};
    for (int64_t round = 0; round <= rounds; ++round) {
      double start = now();
      for (int64_t i = 0; i < iterations; ++i)
        cprt_all_to_all(context, nullptr, descriptor.data(), buffers);
      // The first round is there to warm up.
      if (round)
        seconds.push_back((now() - start) / double(iterations));
    }
  }

  /// That every block came from its rank.
  bool isRight() const {
    if (cprt_context_status(context) != CPRT_OK)
      return false;
    int64_t self = cprt_context_rank(context);
    for (int64_t i = 0; i < total; ++i)
      if (out[i] != mark(i / count, self))
        return false;
    return true;
  }

  std::vector<double> seconds;

private:
  /// Memory like a program's, and like the peer's: at the start of a line. The
  /// world's; null, and a failure of the context, when there is none.
  float *allocate() const {
    int64_t bytes = total * int64_t(sizeof(float));
    void *memory = cprt_alloc(context, bytes);
    if (memory)
      std::memset(memory, 0, size_t(bytes));
    return static_cast<float *>(memory);
  }

  cprt_context *context;
  int64_t count;
  std::vector<int64_t> descriptor;
  int64_t total;
  float *in, *out;
};

llvm::Expected<double> exchange(const Question &q) {
  int64_t ranks = q.integer("ranks", 2), bytes = q.integer("bytes", 65536),
          rounds = q.integer("rounds", 11),
          iterations = q.integer("iterations", 200);
  if (llvm::Error error = q.check())
    return error;
  llvm::Expected<World> world = makeWorld(ranks);
  if (!world)
    return world.takeError();
  std::vector<std::unique_ptr<Rank>> all;
  for (int64_t rank = 0; rank < ranks; ++rank)
    all.push_back(std::make_unique<Rank>(cprt_world_context(world->get(), rank),
                                         ranks, (bytes + 3) / 4));
  std::vector<std::thread> threads;
  for (auto &rank : all)
    threads.emplace_back([&] { rank->run(rounds, iterations); });
  for (std::thread &thread : threads)
    thread.join();
  for (auto &rank : all)
    if (!rank->isRight())
      return llvm::createStringError("all_to_all left a rank with other blocks "
                                     "than those its peers sent");
  return medianOf(all.front()->seconds);
}

} // namespace

void addExchangeRows(RowTable &rows) { rows["all_to_all"] = exchange; }

} // namespace cp::bench
