//===- Transport.cpp - Ranks that are processes ---------------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Execution/Transport.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/DynamicLibrary.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include <unistd.h>

namespace cp {

static llvm::Error errorOf(cprt_status status, const char *message) {
  return llvm::createStringError(std::string(cprt_status_name(status)) + ": " +
                                 message);
}

llvm::Expected<std::shared_ptr<Transport>>
Transport::load(const std::string &path) {
  std::string message;
  auto library =
      llvm::sys::DynamicLibrary::getPermanentLibrary(path.c_str(), &message);
  if (!library.isValid())
    return llvm::createStringError("the transport cannot be loaded: " +
                                   message);
  void *symbol = library.getAddressOfSymbol("cprt_transport_open");
  if (!symbol)
    return llvm::createStringError(path +
                                   " is no transport: it exports no function "
                                   "cprt_transport_open");
  std::shared_ptr<Transport> transport(
      new Transport(reinterpret_cast<cprt_transport_open_fn *>(symbol)));
  if (llvm::Error error = transport->open())
    return error;
  transport->firstRank = transport->opened.rank;
  transport->numRanks = transport->opened.size;
  transport->numLocal = transport->job.local_ranks ? transport->job.local_ranks
                                                   : transport->numRanks;
  transport->known = transport->opened.name;
  return transport;
}

static constexpr llvm::StringLiteral prefix = "libcprt_", suffix = ".so";

llvm::Expected<std::string> Transport::find(llvm::StringRef name,
                                            const std::string &program) {
  std::string executable = llvm::sys::fs::getMainExecutable(
      program.c_str(), reinterpret_cast<void *>(&Transport::find));
  llvm::SmallString<256> folder =
      llvm::sys::path::parent_path(llvm::sys::path::parent_path(executable));
  llvm::sys::path::append(folder, "lib");
  std::vector<std::string> names;
  std::error_code code;
  for (llvm::sys::fs::directory_iterator file(folder, code), end;
       !code && file != end; file.increment(code)) {
    llvm::StringRef found = llvm::sys::path::filename(file->path());
    if (!found.consume_front(prefix) || !found.consume_back(suffix))
      continue;
    if (found == name)
      return file->path();
    names.push_back(found.str());
  }
  llvm::sort(names);
  return llvm::createStringError(
      "there is no transport '" + name + "' in " + folder +
      (names.empty() ? llvm::Twine("; install an MPI library with its compiler "
                                   "and build again")
                     : "; it has " + llvm::join(names, ", ")));
}

llvm::Error Transport::open() {
  char message[512] = "";
  opened = {};
  job = {};
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

void Transport::decline(const std::string &why) {
  if (!isOpen)
    return;
  char message[512] = "";
  // Who is not told waits until its deadline, and says itself for whom.
  cprt_messages_decline(&job, numRanks, why.c_str(), /*deadline_ms=*/0, message,
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
