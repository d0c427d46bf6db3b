//===- StreamTest.cpp - Tensors of a session in pieces --------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A program is code and a description of it, so that these are made by hand.
// Processes are in test/Integration/transports.test, with pieces of a few
// bytes.
//
//===----------------------------------------------------------------------===//

#include "cp/Execution/Session.h"
#include "cp/Files/Convert.h"

#include "gtest/gtest.h"

#include <cstring>
#include <list>

using namespace cp;

namespace {

const Mesh grid{{{"a", 2}, {"b", 2}}};

HostTensor ramp(DType dtype, std::vector<int64_t> shape) {
  HostTensor tensor = HostTensor::zeros(dtype, std::move(shape));
  for (size_t i = 0; i < tensor.bytes.size(); ++i)
    tensor.bytes[i] = uint8_t(37 * i + 11);
  return tensor;
}

TensorSpec specOf(const std::string &name, std::vector<int64_t> shape,
                  std::vector<std::vector<Cut>> dims) {
  TensorSpec spec;
  spec.name = name;
  spec.shape = std::move(shape);
  spec.layout.mesh = grid;
  spec.layout.dims = std::move(dims);
  return spec;
}

/// Whole, cut over one axis, both ways over two, and in an order that leaves
/// short runs.
std::vector<TensorSpec> specs() {
  return {
      specOf("whole", {3, 4}, {{}, {}}),
      specOf("rows", {4, 6}, {{Cut{1, Order::Contiguous, 1}}, {}}),
      specOf("both", {4, 6},
             {{Cut{1, Order::Contiguous, 1}}, {Cut{0, Order::Contiguous, 1}}}),
      specOf("zigzag", {2, 16, 3}, {{}, {Cut{0, Order::Zigzag, 1}}, {}}),
      specOf("columns", {5, 8}, {{}, {Cut{0, Order::Striped, 2}}})};
}

/// Gives its only result the bytes of the first argument.
void copyFirst(cprt_context *, cprt_stream *, void *const *buffers) {
  std::memcpy(buffers[5], buffers[3], 2 * 8 * 3 * sizeof(float));
}

Program programOf() {
  ProgramDescription description;
  description.mesh = grid;
  description.arguments = specs();
  description.results = {description.arguments[3]};
  description.results.front().name = "copy";
  return Program(std::move(description), copyFirst, nullptr);
}

/// What comes, and how often each byte does.
struct Collected {
  Bytes bytes;
  std::vector<int> times;

  explicit Collected(size_t size) : bytes(size), times(size) {}
  llvm::Error put(int64_t offset, llvm::ArrayRef<uint8_t> piece) {
    if (offset < 0 || size_t(offset) + piece.size() > bytes.size())
      return llvm::createStringError("beyond the tensor");
    std::memcpy(bytes.data() + offset, piece.data(), piece.size());
    for (size_t i = 0; i < piece.size(); ++i)
      ++times[size_t(offset) + i];
    return llvm::Error::success();
  }
  void expectOnce(const HostTensor &whole) const {
    EXPECT_EQ(bytes, whole.bytes);
    for (int each : times)
      EXPECT_EQ(each, 1);
  }
};

struct StreamTest : testing::Test {
  Program program = programOf();
  std::unique_ptr<Session> session;

  void SetUp() override {
    auto made = Session::create({&program}, RunOptions());
    ASSERT_TRUE(bool(made)) << llvm::toString(made.takeError());
    session = std::move(*made);
  }
  void succeed(llvm::Error error) {
    EXPECT_FALSE(bool(error)) << llvm::toString(std::move(error));
  }
  Collected collect(const TensorSpec &spec) {
    Collected all(size_t(*tensorBytes(spec.shape, spec.dtype)));
    auto put = [&](int64_t offset, llvm::ArrayRef<uint8_t> bytes) {
      return all.put(offset, bytes);
    };
    succeed(spec.name == "copy"
                ? session->streamResult(spec.name, Session::PutBytes(put))
                : session->stream(spec.name, Session::PutBytes(put)));
    return all;
  }
};

TEST_F(StreamTest, EachByteComesOnce) {
  // What is shared lives as long as steps read it.
  std::list<HostTensor> wholes;
  for (const TensorSpec &spec : specs()) {
    SCOPED_TRACE(spec.name);
    const HostTensor &whole = wholes.emplace_back(ramp(spec.dtype, spec.shape));
    succeed(session->set(spec.name, whole));
    collect(spec).expectOnce(whole);
    succeed(session->share(spec.name, whole));
    collect(spec).expectOnce(whole);
  }
  succeed(session->step());
  TensorSpec copy = program.results().front();
  collect(copy).expectOnce(ramp(copy.dtype, copy.shape));
}

TEST_F(StreamTest, ViewsAreConverted) {
  for (const TensorSpec &spec : specs()) {
    SCOPED_TRACE(spec.name);
    HostTensor wide = HostTensor::zeros(DType::F64, spec.shape);
    for (int64_t i = 0; i < wide.numElements(); ++i) {
      double value = 0.1 * double(i);
      std::memcpy(wide.bytes.data() + 8 * i, &value, sizeof value);
    }
    succeed(session->set(spec.name,
                         TensorView{"x", DType::F64, spec.shape, wide.bytes}));
    auto narrow = convertElements(wide.bytes, DType::F64, DType::F32, "x");
    ASSERT_TRUE(bool(narrow));
    collect(spec).expectOnce({DType::F32, spec.shape, *narrow});
  }
}

TEST_F(StreamTest, Errors) {
  auto text = [](llvm::Error error) {
    return llvm::toString(std::move(error));
  };
  EXPECT_EQ(text(session->stream("rows", std::nullopt)),
            "'rows' was never set");
  EXPECT_EQ(text(session->stream("none", std::nullopt)),
            "no program has an argument 'none'");
  EXPECT_EQ(text(session->streamResult("copy", std::nullopt)),
            "no step has given a result yet");
  HostTensor whole = ramp(DType::F32, {4, 6});
  succeed(session->set("rows", whole));
  int calls = 0;
  auto put = [&](int64_t, llvm::ArrayRef<uint8_t>) {
    return llvm::createStringError("full " + std::to_string(++calls));
  };
  EXPECT_EQ(text(session->stream("rows", Session::PutBytes(put))), "full 1");
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(text(session->set(
                "rows", TensorView{"x", DType::I32, {4, 6}, whole.bytes})),
            "'rows' must be F32 [4, 6], but is I32 [4, 6]");
  EXPECT_EQ(text(session->set(
                "rows", TensorView{"x", DType::F32, {6, 4}, whole.bytes})),
            "'rows' must be F32 [4, 6], but is F32 [6, 4]");
}

} // namespace
