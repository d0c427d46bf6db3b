//===- Transport.cpp - Ranks that are processes ---------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Execution/Transport.h"

#include "Plugin.h"

#include <unistd.h>

namespace cp {

static llvm::Error errorOf(cprt_status status, const char *message) {
  return llvm::createStringError(std::string(cprt_status_name(status)) + ": " +
                                 message);
}

llvm::Expected<std::shared_ptr<Transport>>
Transport::load(const std::string &path) {
  llvm::Expected<void *> symbol =
      loadPlugin("transport", path, "cprt_transport_open");
  if (!symbol)
    return symbol.takeError();
  std::shared_ptr<Transport> transport(
      new Transport(reinterpret_cast<cprt_transport_open_fn *>(*symbol)));
  if (llvm::Error error = transport->open())
    return error;
  transport->firstRank = transport->opened.rank;
  transport->numRanks = transport->opened.size;
  transport->numLocal = transport->job.local_ranks ? transport->job.local_ranks
                                                   : transport->numRanks;
  transport->known = transport->opened.name;
  return transport;
}

llvm::Expected<std::string> Transport::find(llvm::StringRef name,
                                            const std::string &program) {
  return findPlugin("transport", name, program, "cprt_transport_open",
                    "copy libcprt_" + name.str() +
                        ".so there from where cp-mlir was built; it is built "
                        "where UCX or an MPI with its compiler is installed");
}

llvm::Error Transport::checkSize(const Mesh &mesh) const {
  std::string ranks = std::to_string(mesh.numRanks());
  if (numRanks == mesh.numRanks())
    return llvm::Error::success();
  bool isMpi = known == "openmpi" || known == "mpich";
  return llvm::createStringError(
      "the mesh '" + meshText(mesh) + "' has " + ranks +
      " ranks, but the job of transport " + known + " has " +
      std::to_string(numRanks) + (numRanks == 1 ? " process" : " processes") +
      "; start as many as there are ranks, e.g. " +
      (isMpi ? "mpirun -n " + ranks + ", which must be that of " + known
             : "torchrun --no-python --nproc-per-node=" + ranks +
                   " or srun -n " + ranks));
}

llvm::Error Transport::open() {
  char message[512] = "";
  opened = {};
  opened.struct_size = sizeof(opened);
  job = {};
  job.struct_size = sizeof(job);
  cprt_status status = function(&opened, &job, message, sizeof message);
  if (status != CPRT_OK)
    return errorOf(status, message);
  isOpen = true;
  return llvm::Error::success();
}

llvm::Expected<cprt_world *> Transport::makeWorld(const cprt_options &options,
                                                  uint64_t program) {
  if (!isOpen)
    if (llvm::Error error = open())
      return error;
  isOpen = false;
  job.program = program;
  cprt_world *world = nullptr;
  char message[512] = "";
  cprt_status status = cprt_messages_create(&options, &job, &opened, &world,
                                            message, sizeof message);
  if (status != CPRT_OK)
    return errorOf(status, message);
  return world;
}

void Transport::decline(const std::string &why, int64_t deadlineMs) {
  if (!isOpen)
    return;
  char message[512] = "";
  // The runtime waits no longer.
  constexpr int64_t longest = 10000;
  if (deadlineMs < 0 || deadlineMs > longest)
    deadlineMs = 0;
  // Who is not told waits until its deadline, and says itself for whom.
  cprt_messages_decline(&job, numRanks, why.c_str(), deadlineMs, message,
                        sizeof message);
  job.listener = 0;
}

Transport::~Transport() {
  if (!isOpen)
    return;
  // The others are about to come, and wait for nobody who has left.
  if (job.listener > 0)
    ::close(job.listener - 1);
  opened.destroy(opened.state, /*failed=*/1);
}

} // namespace cp
