//===- transport_exchange.cpp - Seconds of exchanges over a transport -----===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// usage: mpirun -n RANKS cp-bench-transport TRANSPORT.so BYTES ROUNDS
// ITERATIONS Every rank sends BYTES to every rank. Prints the median over
// rounds of the seconds of one exchange, as rank 0 sees them: as
// peers/alltoall.c does of MPI.
//
//===----------------------------------------------------------------------===//

#include "AllToAllCall.h"

#include "cp/Runtime/cprt_transport.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <vector>

[[noreturn]] static void fail(const char *text) {
  std::fprintf(stderr, "cp-bench-transport: error: %s\n", text);
  std::exit(1);
}

static cprt_world *join(const char *path, int64_t &rank) {
  void *library = dlopen(path, RTLD_NOW);
  void *symbol = library ? dlsym(library, "cprt_transport_open") : nullptr;
  if (!symbol)
    fail(dlerror());
  auto *open = reinterpret_cast<cprt_transport_open_fn *>(symbol);
  cprt_transport transport = {};
  transport.struct_size = sizeof transport;
  cprt_job job = {};
  job.struct_size = sizeof job;
  char message[512] = "";
  if (open(&transport, &job, message, sizeof message) != CPRT_OK)
    fail(message);
  rank = transport.rank;
  cprt_options options = {};
  options.struct_size = sizeof options;
  options.num_axes = 1;
  options.axis_sizes = &transport.size;
  options.threads = 1;
  cprt_world *world = nullptr;
  if (cprt_messages_create(&options, &job, &transport, &world, message,
                           sizeof message) != CPRT_OK)
    fail(message);
  return world;
}

int main(int argc, char **argv) {
  if (argc != 5)
    fail("usage: cp-bench-transport TRANSPORT.so BYTES ROUNDS ITERATIONS");
  int64_t rank = 0;
  cprt_world *world = join(argv[1], rank);
  cprt_context *context = cprt_world_context(world, rank);
  int64_t ranks = cprt_world_size(world);
  int64_t count = (std::atoll(argv[2]) + 3) / 4;
  int64_t rounds = std::atoll(argv[3]), iterations = std::atoll(argv[4]);
  std::vector<float> in(size_t(ranks * count), float(rank + 1)), out(in.size());
  void *buffers[] = {in.data(), out.data()};
  std::vector<int64_t> call = cp::bench::allToAllCall(ranks, count);
  std::vector<double> seconds;
  for (int64_t round = 0; round <= rounds; ++round) {
    auto start = std::chrono::steady_clock::now();
    for (int64_t i = 0; i < iterations; ++i)
      cprt_all_to_all(context, nullptr, call.data(), buffers);
    std::chrono::duration<double> passed =
        std::chrono::steady_clock::now() - start;
    // The first round is there to warm up.
    if (round)
      seconds.push_back(passed.count() / double(iterations));
  }
  if (cprt_context_status(context) != CPRT_OK)
    fail(cprt_context_message(context));
  for (size_t i = 0; i < out.size(); ++i)
    if (out[i] != float(i / size_t(count) + 1))
      fail("a block came from another rank");
  std::sort(seconds.begin(), seconds.end());
  if (rank == 0 && !seconds.empty())
    std::printf("%.9g\n", seconds[seconds.size() / 2]);
  cprt_world_destroy(world);
}
