//===- PluginWorlds.cpp - Ranks of a test over a plug-in ------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PluginWorlds.h"

#include "Mailbox.h"

#include "gtest/gtest.h"

#include <dlfcn.h>
#include <thread>

#ifndef CP_UCX_PLUGIN
#define CP_UCX_PLUGIN "libcprt_ucx.so"
#endif

using namespace cp::test;

static cprt_transport_open_fn *plugIn() {
  static void *library = ::dlopen(CP_UCX_PLUGIN, RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(library, nullptr) << ::dlerror();
  return library ? reinterpret_cast<cprt_transport_open_fn *>(
                       ::dlsym(library, "cprt_transport_open"))
                 : nullptr;
}

static cprt_world *makeWorld(const cprt_options &options, int64_t rank,
                             int64_t size, const std::string &address) {
  cprt_transport transport = {};
  transport.struct_size = sizeof(transport);
  transport.rank = rank;
  transport.size = size;
  cprt_job job = {};
  job.struct_size = sizeof(job);
  job.address = address.c_str();
  char message[512] = "";
  cprt_world *world = nullptr;
  if (cprt_transport_open_fn *open = plugIn();
      open && open(&transport, &job, message, sizeof message) == CPRT_OK)
    cprt_messages_create(&options, &job, &transport, &world, message,
                         sizeof message);
  EXPECT_NE(world, nullptr) << message;
  return world;
}

std::vector<cprt_world *> cp::test::makeUcxWorlds(const cprt_options &options,
                                                  int64_t size) {
  std::vector<cprt_world *> worlds(size_t(size), nullptr);
  std::string address = freshAddress();
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      worlds[size_t(rank)] = makeWorld(options, rank, size, address);
    });
  for (std::thread &thread : threads)
    thread.join();
  return worlds;
}
