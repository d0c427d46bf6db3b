//===- Session.h - Tensors that stay on the ranks ---------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_EXECUTION_SESSION_H
#define CP_EXECUTION_SESSION_H

#include "cp/Execution/Program.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>

namespace cp {

/// Ranks that run programs step after step, and keep the programs' tensors: an
/// argument stays as it was set, or as the last step that updates it
/// (`cp.updates`) has left it. Not to be used by two threads at once. Over a
/// transport every process has a session with its rank, and all of them make
/// the same calls: what is asked for is gathered, and errors are its too.
///
///   auto session = Session::create({&step}, options);
///   session->set("w", weights);              // each argument once
///   for (Batch &batch : data) {
///     session->set("input_ids", batch.ids);
///     session->step();
///     loss = session->result("loss");
///   }
///   HostTensor trained = session->get("w");
class Session {
public:
  /// Programs of one mesh, which must outlive the session. Arguments that have
  /// one name in several of them are one tensor. `options.repeats` and
  /// `keepParts` are not read. Errors: programs of several meshes; arguments of
  /// one name that differ in type, shape or layout; a world or threads that
  /// cannot be had.
  static llvm::Expected<std::unique_ptr<Session>>
  create(llvm::ArrayRef<const Program *> programs, const RunOptions &options);
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;
  ~Session();

  /// Hands each rank its part of a whole tensor. Errors: a name that no
  /// argument has; another type or shape.
  llvm::Error set(llvm::StringRef argument, const HostTensor &whole);
  /// The same of memory that is read now, and no more of it than what ranks of
  /// this process have: of a mapped file the rest stays where it is. Floats are
  /// converted to the argument's type. `release` as of partOf. Errors: those of
  /// convertElements too.
  llvm::Error set(llvm::StringRef argument, const TensorView &whole,
                  llvm::function_ref<void()> release = nullptr);
  /// The same without a copy, where ranks have all of it and nothing updates
  /// it; `whole` must then live until the argument is set again, or the session
  /// ends.
  llvm::Error share(llvm::StringRef argument, const HostTensor &whole);
  /// An argument as it is now. Errors: a name that no argument has; one that
  /// was never set.
  llvm::Expected<HostTensor> get(llvm::StringRef argument) const;
  /// Takes bytes of a whole tensor, from `offset` on.
  using PutBytes = llvm::function_ref<llvm::Error(
      int64_t offset, llvm::ArrayRef<uint8_t> bytes)>;
  /// Hands an argument over in pieces, each of which comes once, of
  /// RunOptions::pieceBytes at most where they come from other processes: none
  /// need have room for all of it. In every process that gives a `put`; all of
  /// them must call it. Goes on behind an error of `put`, since others wait.
  /// Errors as of get(), and the first one of `put`.
  llvm::Error stream(llvm::StringRef argument,
                     std::optional<PutBytes> put) const;
  /// The same of a result of the last step that updates no argument.
  llvm::Error streamResult(llvm::StringRef name,
                           std::optional<PutBytes> put) const;
  /// Each rank's part of it.
  llvm::Expected<std::vector<HostTensor>> parts(llvm::StringRef argument) const;

  /// One step of a program on all ranks. Errors: an argument that was never
  /// set; the first failure of a rank, behind which no step runs any more.
  llvm::Error step(size_t program = 0);
  /// The first failure of a rank, behind which no step runs any more; success
  /// where there is none.
  llvm::Error check() const;
  /// Lets the ranks here fail, so that those of other processes are told why
  /// this one goes no further.
  void fail(llvm::StringRef why);
  /// A result of the last step, that updates no argument. Errors: none of that
  /// name; no step yet.
  llvm::Expected<HostTensor> result(llvm::StringRef name) const;

  /// What a run brings back: nothing of its results, which stay with the ranks;
  /// them; each rank's parts of them too.
  enum class Gather { Nothing, Results, Parts };
  /// Steps of the first program, as Program::run makes them, and what came of
  /// them.
  llvm::Expected<RunResult> run(int repeats, Gather gather = Gather::Results);

  /// Of the last step: its seconds, what it took from the system, and what
  /// travelled.
  double seconds() const;
  int64_t allocations() const;
  llvm::Expected<std::vector<CollectiveCount>> collectives() const;
  /// Of all steps: the most that a rank's programs had, beside arguments and
  /// results.
  llvm::Expected<std::vector<int64_t>> peakBytesPerRank() const;

private:
  friend class Program;
  struct Impl;
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace cp

#endif // CP_EXECUTION_SESSION_H
