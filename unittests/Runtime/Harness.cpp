//===- Harness.cpp - Worlds, tensors and calls for the tests --------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Harness.h"

#include "FakeNccl.h"
#include "Mailbox.h"
#include "PluginWorlds.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <numeric>
#include <ostream>
#include <thread>

using namespace cp::test;

int64_t cp::test::product(const Sizes &sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result *= size;
  return result;
}

double &Array::at(const Sizes &index) {
  int64_t offset = 0;
  for (size_t dim = 0; dim < sizes.size(); ++dim)
    offset = offset * sizes[dim] + index[dim];
  return values[size_t(offset)];
}

bool cp::test::operator==(const Array &a, const Array &b) {
  return a.sizes == b.sizes && a.values == b.values;
}

std::ostream &cp::test::operator<<(std::ostream &stream, const Array &array) {
  stream << "sizes";
  for (int64_t size : array.sizes)
    stream << ' ' << size;
  stream << ": ";
  for (double value : array.values)
    stream << value << ' ';
  return stream;
}

void cp::test::forEachIndex(const Sizes &sizes,
                            const std::function<void(const Sizes &)> &fn) {
  Sizes index(sizes.size());
  for (int64_t n = 0; n < product(sizes); ++n) {
    int64_t rest = n;
    for (size_t dim = sizes.size(); dim-- > 0; rest /= sizes[dim])
      index[dim] = rest % sizes[dim];
    fn(index);
  }
}

Array cp::test::randomArray(const Sizes &sizes, std::mt19937_64 &random) {
  Array array(sizes);
  for (double &value : array.values)
    value = double(random() % 1000);
  return array;
}

double cp::test::roundedToBF16(double value) {
  if (value == 0)
    return value;
  double unit = std::ldexp(1.0, std::ilogb(value) - 7);
  return std::nearbyint(value / unit) * unit;
}

Array cp::test::bf16Bits(Array numbers) {
  for (double &value : numbers.values) {
    auto number = float(roundedToBF16(value));
    uint32_t bits;
    std::memcpy(&bits, &number, sizeof bits);
    value = bits >> 16;
  }
  return numbers;
}

Array cp::test::bf16Numbers(Array bits) {
  for (double &value : bits.values) {
    uint32_t word = uint32_t(value) << 16;
    float number;
    std::memcpy(&number, &word, sizeof number);
    value = number;
  }
  return bits;
}

static constexpr unsigned char gapByte = 0xab;

static Sizes stridesFor(const Sizes &sizes, bool hasGaps) {
  Sizes strides(sizes.size());
  int64_t stride = hasGaps ? 2 : 1;
  for (size_t dim = sizes.size(); dim-- > 0;) {
    strides[dim] = stride;
    stride = stride * sizes[dim] + (hasGaps ? 3 : 0);
  }
  return strides;
}

Tensor::Tensor(cprt_dtype dtype, Sizes sizes, bool hasGaps)
    : dtype(dtype), sizes(std::move(sizes)),
      strides(stridesFor(this->sizes, hasGaps)) {
  int64_t elements = 1;
  for (size_t dim = 0; dim < strides.size(); ++dim)
    elements += strides[dim] * std::max<int64_t>(this->sizes[dim] - 1, 0);
  bytes.assign(size_t(elements) * cprt_dtype_size(dtype), gapByte);
}

Tensor::Tensor(cprt_dtype dtype, const Array &array, bool hasGaps)
    : Tensor(dtype, array.sizes, hasGaps) {
  write(array);
}

size_t Tensor::offsetOf(const Sizes &index) const {
  int64_t offset = 0;
  for (size_t dim = 0; dim < sizes.size(); ++dim)
    offset += index[dim] * strides[dim];
  return size_t(offset) * cprt_dtype_size(dtype);
}

template <typename T> static double loadAs(const unsigned char *from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return double(value);
}

template <typename T> static void storeAs(unsigned char *to, double number) {
  T value = T(number);
  std::memcpy(to, &value, sizeof(T));
}

/// Of bf16 only the bits, as an integer.
static double load(cprt_dtype dtype, const unsigned char *from) {
  switch (dtype) {
  case CPRT_F32:
    return loadAs<float>(from);
  case CPRT_F64:
    return loadAs<double>(from);
  case CPRT_BF16:
    return loadAs<uint16_t>(from);
  case CPRT_I32:
    return loadAs<int32_t>(from);
  case CPRT_I64:
    return double(loadAs<int64_t>(from));
  case CPRT_ABSENT:
    break;
  }
  return 0;
}

static void store(cprt_dtype dtype, unsigned char *to, double value) {
  switch (dtype) {
  case CPRT_F32:
    return storeAs<float>(to, value);
  case CPRT_F64:
    return storeAs<double>(to, value);
  case CPRT_BF16:
    return storeAs<uint16_t>(to, value);
  case CPRT_I32:
    return storeAs<int32_t>(to, value);
  case CPRT_I64:
    return storeAs<int64_t>(to, value);
  case CPRT_ABSENT:
    return;
  }
}

Array Tensor::read() const {
  Array array(sizes);
  forEachIndex(sizes, [&](const Sizes &index) {
    array.at(index) = load(dtype, bytes.data() + offsetOf(index));
  });
  return array;
}

void Tensor::write(const Array &array) {
  Array copy = array;
  forEachIndex(sizes, [&](const Sizes &index) {
    store(dtype, bytes.data() + offsetOf(index), copy.at(index));
  });
}

bool Tensor::gapsAreIntact() const {
  std::vector<bool> isElement(bytes.size());
  forEachIndex(sizes, [&](const Sizes &index) {
    for (size_t i = 0; i < cprt_dtype_size(dtype); ++i)
      isElement[offsetOf(index) + i] = true;
  });
  if (product(sizes) == 0)
    return true;
  for (size_t i = 0; i < bytes.size(); ++i)
    if (!isElement[i] && bytes[i] != gapByte)
      return false;
  return true;
}

Call &Call::in(Tensor &tensor) {
  ins.push_back(&tensor);
  return *this;
}

Call &Call::none() {
  ins.push_back(nullptr);
  return *this;
}

Call &Call::out(Tensor &tensor) {
  outs.push_back(&tensor);
  return *this;
}

Call &Call::attr(int64_t word) {
  attrs.push_back(word);
  return *this;
}

Call &Call::array(const Sizes &words) {
  attrs.push_back(int64_t(words.size()));
  attrs.insert(attrs.end(), words.begin(), words.end());
  return *this;
}

std::vector<int64_t> Call::table() const {
  std::vector<int64_t> words = {int64_t(ins.size()), int64_t(outs.size()),
                                int64_t(attrs.size()), id};
  for (const std::vector<Tensor *> *list : {&ins, &outs})
    for (const Tensor *tensor : *list) {
      if (!tensor) {
        words.insert(words.end(), {CPRT_ABSENT, 0});
        continue;
      }
      words.push_back(tensor->dtype);
      words.push_back(int64_t(tensor->sizes.size()));
      words.insert(words.end(), tensor->sizes.begin(), tensor->sizes.end());
      words.insert(words.end(), tensor->strides.begin(), tensor->strides.end());
    }
  words.insert(words.end(), attrs.begin(), attrs.end());
  return words;
}

std::vector<void *> Call::pointers() const {
  std::vector<void *> list;
  for (Tensor *tensor : ins)
    list.push_back(tensor ? tensor->data() : nullptr);
  for (Tensor *tensor : outs)
    list.push_back(tensor->data());
  return list;
}

static bool isOnDevice() {
  const char *name = std::getenv("CP_TEST_DEVICE");
  return name && std::strcmp(name, "stream") == 0;
}

void Call::onTensors(cprt_context *context,
                     const std::function<void(void *const *)> &body) const {
  std::vector<void *> all = pointers();
  if (!isOnDevice())
    return body(all.data());
  std::map<Tensor *, void *> there;
  auto isThere = [&](Tensor *tensor) {
    auto bytes = int64_t(tensor->numBytes());
    void *&place = there[tensor];
    if (!place) {
      place = cprt_device_alloc(context, bytes);
      cprt_upload(context, place, tensor->data(), bytes);
    }
    return place;
  };
  for (size_t i = 0; i < ins.size(); ++i)
    all[i] = ins[i] ? isThere(ins[i]) : nullptr;
  for (size_t i = 0; i < outs.size(); ++i)
    all[ins.size() + i] = isThere(outs[i]);
  body(all.data());
  // Nobody reads what a call was given once it has returned.
  for (Tensor *tensor : ins)
    if (tensor && std::find(outs.begin(), outs.end(), tensor) == outs.end()) {
      std::vector<unsigned char> junk(tensor->numBytes(), 0x5a);
      cprt_upload(context, there[tensor], junk.data(), int64_t(junk.size()));
    }
  for (Tensor *tensor : outs)
    cprt_download(context, tensor->data(), isThere(tensor),
                  int64_t(tensor->numBytes()));
}

void Call::run(cprt_op *op, cprt_context *context) const {
  onTensors(context, [&](void *const *buffers) {
    op(context, nullptr, table().data(), buffers);
  });
}

void Call::runWith(cprt_op *combine, cprt_context *context) const {
  onTensors(context, [&](void *const *buffers) {
    cprt_scan_state_with(context, nullptr, table().data(), buffers, combine);
  });
}

static bool isTransport(const char *wanted) {
  const char *name = std::getenv("CP_TEST_TRANSPORT");
  return name && std::strcmp(name, wanted) == 0;
}

bool cp::test::sendsMessages() {
  return isTransport("mailbox") || isTransport("nccl") || isTransport("ucx");
}

bool cp::test::takesAnyMessage() { return isTransport("nccl"); }

void cp::test::meetAll(cprt_context *context, const Sizes &mesh) {
  if (!sendsMessages())
    return;
  Sizes axes(mesh.size());
  std::iota(axes.begin(), axes.end(), 0);
  Tensor in(CPRT_F32, Sizes{1}), out(CPRT_F32, Sizes{product(mesh)});
  Call(/*id=*/-1).in(in).out(out).array(axes).attr(0).attr(0).run(
      cprt_all_gather, context);
}

World::World(Sizes axes, int64_t deadlineMs, cprt_kernel_set kernels) {
  cprt_options options = {};
  options.struct_size = sizeof(options);
  options.num_axes = int32_t(axes.size());
  options.axis_sizes = axes.data();
  options.deadline_ms = deadlineMs;
  options.kernels = kernels;
  if (isOnDevice()) {
    device = std::make_unique<StreamDevice>(testSeed());
    options.device = &device->table();
    options.device_fallback = 1;
  }
  if (isTransport("nccl")) {
    worlds = makeNcclWorlds(options, product(axes), testSeed());
    return;
  }
  if (isTransport("ucx")) {
    worlds = makeUcxWorlds(options, product(axes));
    return;
  }
  if (sendsMessages()) {
    worlds = makeMessageWorlds(options, Mailbox(product(axes), testSeed()));
    return;
  }
  worlds.push_back(nullptr);
  cprt_threads_create(&options, worlds.data(), nullptr, 0);
}

World::World(Sizes axes, const Mailbox &mailbox) {
  cprt_options options = {};
  options.struct_size = sizeof(options);
  options.num_axes = int32_t(axes.size());
  options.axis_sizes = axes.data();
  options.threads = 1;
  worlds = makeMessageWorlds(options, mailbox);
}

/// Rank 0's waits for the others'.
World::~World() {
  for (size_t i = worlds.size(); i-- > 0;)
    cprt_world_destroy(worlds[i]);
}

void World::run(const std::function<void(int64_t, cprt_context *)> &body) {
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < size(); ++rank)
    threads.emplace_back([&, rank] { body(rank, context(rank)); });
  for (std::thread &thread : threads)
    thread.join();
}

std::string World::failures() const {
  std::string text;
  for (int64_t rank = 0; rank < size(); ++rank)
    if (cprt_context_status(context(rank)) != CPRT_OK)
      text += "rank " + std::to_string(rank) + ": " +
              cprt_status_name(cprt_context_status(context(rank))) + " " +
              cprt_context_message(context(rank)) + "\n";
  return text;
}

cprt_counter World::counter(int64_t rank, const std::string &op,
                            uint64_t axes) const {
  std::vector<cprt_counter> counters(64);
  size_t count =
      cprt_context_counters(context(rank), counters.data(), counters.size());
  for (size_t i = 0; i < count; ++i)
    if (op == counters[i].op && counters[i].axes == axes)
      return counters[i];
  return {"", axes, 0, 0, 0};
}

Member cp::test::memberOf(const Sizes &mesh, const Sizes &axes, int64_t rank) {
  Sizes coordinates(mesh.size());
  for (size_t i = mesh.size(); i-- > 0; rank /= mesh[i])
    coordinates[i] = rank % mesh[i];
  Member member = {1, 0, 0};
  for (int64_t axis : axes) {
    member.size *= mesh[size_t(axis)];
    member.position =
        member.position * mesh[size_t(axis)] + coordinates[size_t(axis)];
  }
  for (size_t i = 0; i < mesh.size(); ++i)
    if (std::find(axes.begin(), axes.end(), int64_t(i)) == axes.end())
      member.group = member.group * mesh[i] + coordinates[i];
  return member;
}

uint64_t cp::test::maskOf(const Sizes &axes) {
  uint64_t mask = 0;
  for (int64_t axis : axes)
    mask |= uint64_t(1) << axis;
  return mask;
}

const std::vector<Setting> &cp::test::settings() {
  static const std::vector<Setting> list = {
      {{1}, {0}},       {{2}, {0}},    {{3}, {0}},       {{4}, {0}},
      {{8}, {0}},       {{2, 3}, {0}}, {{2, 3}, {1}},    {{2, 2}, {0, 1}},
      {{2, 3}, {1, 0}}, {{4, 2}, {1}}, {{4, 2}, {0, 1}}, {{2, 2, 2}, {2, 0}},
      {{2, 1}, {1}},    {{2}, {}},
  };
  return list;
}

std::pair<int64_t, int64_t> cp::test::ownerOf(int64_t order, int64_t ranks,
                                              int64_t size, int64_t global) {
  int64_t part = size / ranks;
  if (order == 0 || ranks == 1)
    return {global / part, global % part};
  if (order >= 2) {
    // Counts what the owner has been dealt before.
    int64_t unit = order - 1, owner = global / unit % ranks, local = 0;
    for (int64_t i = 0; i < global; ++i)
      local += i / unit % ranks == owner;
    return {owner, local};
  }
  int64_t half = size / (2 * ranks);
  int64_t fromEnd = size - 1 - global;
  if (global < fromEnd)
    return {global / half, global % half};
  return {fromEnd / half, part - 1 - fromEnd % half};
}

Array cp::test::partOf(Array whole, int64_t dim, int64_t order, int64_t ranks,
                       int64_t position) {
  Sizes sizes = whole.sizes;
  int64_t size = sizes[size_t(dim)];
  sizes[size_t(dim)] /= ranks;
  Array part(sizes);
  forEachIndex(whole.sizes, [&](const Sizes &index) {
    auto [owner, local] = ownerOf(order, ranks, size, index[size_t(dim)]);
    if (owner != position)
      return;
    Sizes place = index;
    place[size_t(dim)] = local;
    part.at(place) = whole.at(index);
  });
  return part;
}

uint64_t cp::test::testSeed() {
  if (const char *text = std::getenv("CP_TEST_SEED"))
    return std::strtoull(text, nullptr, 10);
  return std::random_device()();
}
