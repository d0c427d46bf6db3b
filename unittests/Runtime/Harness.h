//===- Harness.h - Worlds, tensors and calls for the tests ------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_UNITTESTS_RUNTIME_HARNESS_H
#define CP_UNITTESTS_RUNTIME_HARNESS_H

#include "cp/Runtime/cprt.h"

#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace cp::test {

using Sizes = std::vector<int64_t>;

int64_t product(const Sizes &sizes);

/// A dense array of numbers, row-major; the tests' idea of a whole tensor.
struct Array {
  Sizes sizes;
  std::vector<double> values;

  explicit Array(Sizes sizes)
      : sizes(std::move(sizes)), values(size_t(product(this->sizes))) {}
  double &at(const Sizes &index);
};
bool operator==(const Array &a, const Array &b);
std::ostream &operator<<(std::ostream &stream, const Array &array);

/// Calls `fn` for every index of `sizes`, last dimension fastest.
void forEachIndex(const Sizes &sizes,
                  const std::function<void(const Sizes &)> &fn);

/// Small integers, so that every type holds them and sums are exact.
Array randomArray(const Sizes &sizes, std::mt19937_64 &random);

/// The nearest bf16, of two the even one: by arithmetic on the number, and not
/// on its bits.
double roundedToBF16(double value);
/// The bits of numbers, as a bf16 Tensor reads and writes them, and back.
Array bf16Bits(Array numbers);
Array bf16Numbers(Array bits);

/// One rank's buffer of some type, with gaps between its rows when asked.
class Tensor {
public:
  Tensor(cprt_dtype dtype, Sizes sizes, bool hasGaps = false);
  Tensor(cprt_dtype dtype, const Array &array, bool hasGaps = false);

  Array read() const;
  void write(const Array &array);
  /// That the bytes between the rows are as they were made.
  bool gapsAreIntact() const;
  void *data() { return bytes.data(); }
  size_t numBytes() const { return bytes.size(); }

  const cprt_dtype dtype;
  const Sizes sizes;
  Sizes strides;

private:
  size_t offsetOf(const Sizes &index) const;
  std::vector<unsigned char> bytes;
};

/// A descriptor under construction, and its call.
class Call {
public:
  explicit Call(int64_t id = 0) : id(id) {}
  Call &in(Tensor &tensor);
  /// An input that is left out.
  Call &none();
  Call &out(Tensor &tensor);
  Call &attr(int64_t word);
  Call &array(const Sizes &words);

  std::vector<int64_t> table() const;
  std::vector<void *> pointers() const;
  /// Runs `body` with the tensors, or what the world's device has of them.
  void onTensors(cprt_context *context,
                 const std::function<void(void *const *)> &body) const;
  void run(cprt_op *op, cprt_context *context) const;
  /// cprt_scan_state_with.
  void runWith(cprt_op *combine, cprt_context *context) const;

private:
  int64_t id;
  std::vector<Tensor *> ins, outs;
  Sizes attrs;
};

class Mailbox;
class StreamDevice;

/// A world that destroys itself: of threads, or with CP_TEST_TRANSPORT=mailbox,
/// =ucx or =nccl in the environment of ranks that send messages. With
/// CP_TEST_DEVICE=stream calls get their tensors on a StreamDevice.
class World {
public:
  explicit World(Sizes axes, int64_t deadlineMs = 0,
                 cprt_kernel_set kernels = CPRT_KERNELS_FAST);
  /// Of ranks that send messages by this mailbox.
  World(Sizes axes, const Mailbox &mailbox);
  World(const World &) = delete;
  World &operator=(const World &) = delete;
  ~World();

  int64_t size() const { return cprt_world_size(worlds[0]); }
  cprt_context *context(int64_t rank) const {
    return cprt_world_context(worlds[size_t(rank) % worlds.size()], rank);
  }
  /// Runs `body` on a thread for each rank and waits for all.
  void run(const std::function<void(int64_t rank, cprt_context *)> &body);
  /// Status and message of each rank: empty when all is well.
  std::string failures() const;
  /// The counter of `op` over `axes` (a bit each); zeros without one.
  cprt_counter counter(int64_t rank, const std::string &op,
                       uint64_t axes) const;

private:
  std::unique_ptr<StreamDevice> device;
  /// One, or one for each rank.
  std::vector<cprt_world *> worlds;
};

/// Whether worlds are of ranks that send messages.
bool sendsMessages();
/// Whether a call may take a message of another one, as over NCCL, whose
/// messages have no tags; it sees then that it is none of its own.
bool takesAnyMessage();

/// Where ranks send messages, one that needs nothing of another goes on without
/// it. This makes it need something of all ranks of the mesh, so that it learns
/// what became of them; it does nothing on threads.
void meetAll(cprt_context *context, const Sizes &mesh);

/// A rank as a member of its groups over some axes, worked out by division.
struct Member {
  int64_t size, position, group;
};
Member memberOf(const Sizes &mesh, const Sizes &axes, int64_t rank);
uint64_t maskOf(const Sizes &axes);

/// The meshes and groups that every collective is tried on.
struct Setting {
  Sizes mesh, axes;
};
const std::vector<Setting> &settings();

/// Which position holds a global index, and at which local one. Written index
/// by index, on purpose not by blocks. `order` as in the descriptor.
std::pair<int64_t, int64_t> ownerOf(int64_t order, int64_t ranks, int64_t size,
                                    int64_t global);
/// The part of `whole` that `position` of `ranks` holds.
Array partOf(Array whole, int64_t dim, int64_t order, int64_t ranks,
             int64_t position);

/// A fresh seed, or the one in CP_TEST_SEED.
uint64_t testSeed();

} // namespace cp::test

#endif // CP_UNITTESTS_RUNTIME_HARNESS_H
