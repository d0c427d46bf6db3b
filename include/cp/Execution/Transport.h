//===- Transport.h - Ranks that are processes -------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_EXECUTION_TRANSPORT_H
#define CP_EXECUTION_TRANSPORT_H

#include "cp/Layout/Mesh.h"
#include "cp/Runtime/cprt_transport.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <memory>
#include <string>

namespace cp {

/// A transport that a plug-in brings (see cprt_transport.h), and this process's
/// place in the job that it is part of. The plug-in stays loaded.
///
///   mpirun -n 4 program        // each process:
///   auto transport = Transport::load("/usr/lib/libcprt_openmpi.so");
///   options.transport = transport->get();
///   program->run(inputs, options);
class Transport {
public:
  /// Loads a plug-in and joins its job. Errors: no such file; what exports no
  /// cprt_transport_open; what that says.
  static llvm::Expected<std::shared_ptr<Transport>>
  load(const std::string &path);
  /// The plug-in of this name among those installed beside a program, or built
  /// with it. Errors: one that is not there, with those that are.
  static llvm::Expected<std::string> find(llvm::StringRef name,
                                          const std::string &program);
  Transport(const Transport &) = delete;
  Transport &operator=(const Transport &) = delete;
  ~Transport();

  int64_t rank() const { return firstRank; }
  int64_t size() const { return numRanks; }
  /// The job's ranks on this machine.
  int64_t localSize() const { return numLocal; }
  const std::string &name() const { return known; }
  /// That the job has a process for each rank of the mesh.
  llvm::Error checkSize(const Mesh &mesh) const;

  /// A world over it, each time with a transport of its own; every process
  /// makes the same ones. `program` as in cprt_job. Errors: what the plug-in or
  /// the runtime says.
  llvm::Expected<cprt_world *> makeWorld(const cprt_options &options,
                                         uint64_t program);
  /// For a process that ends before its first world: tells the others, who
  /// would wait for it, why. Those that are not there within the deadline, in
  /// milliseconds (0: ten seconds), are not told.
  void decline(const std::string &why, int64_t deadlineMs = 0);

private:
  explicit Transport(cprt_transport_open_fn *function) : function(function) {}
  llvm::Error open();

  cprt_transport_open_fn *function;
  int64_t firstRank = 0, numRanks = 1, numLocal = 1;
  std::string known;
  /// Opened and not used yet.
  bool isOpen = false;
  cprt_transport opened = {};
  cprt_job job = {};
};

} // namespace cp

#endif // CP_EXECUTION_TRANSPORT_H
