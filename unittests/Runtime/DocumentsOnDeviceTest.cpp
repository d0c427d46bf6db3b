//===- DocumentsOnDeviceTest.cpp - Places that a device finds -------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OnDevice.h"
#include "PackedRows.h"

#include <numeric>

using namespace cp::test;

namespace {

/// Of four ranks that share a row, and have its list on the device.
class DocumentsOnDevice : public OnDevice {
protected:
  static constexpr int64_t ranks = 4, length = 24, local = length / ranks;
  const Sizes ends = {0, 5, 5, 17, 24};

  /// One rank's call.
  struct Places {
    std::vector<int64_t> words;
    std::array<void *, 2> buffers;

    Places(cprt_context *context, const Sizes &ends, int64_t order)
        : words{1, 1, 5, 4, CPRT_I32, 2, 1, int64_t(ends.size()),
                int64_t(ends.size()), 1, CPRT_I64, 2, 1, local, local, 1,
                // axes = [0], orders, alike = [].
                1, 0, 1, order, 0} {
      std::vector<int32_t> list(ends.begin(), ends.end());
      auto bytes = int64_t(list.size() * sizeof(int32_t));
      buffers = {cprt_device_alloc(context, bytes),
                 cprt_device_alloc(context, local * int64_t(sizeof(int64_t)))};
      cprt_upload(context, buffers[0], list.data(), bytes);
    }
    void find(cprt_context *context) {
      cprt_document_positions(context, nullptr, words.data(), buffers.data());
    }
    Array read(cprt_context *context) const {
      std::vector<int64_t> found(local);
      cprt_download(context, found.data(), buffers[1],
                    local * int64_t(sizeof(int64_t)));
      Array places({1, local});
      places.values.assign(found.begin(), found.end());
      return places;
    }
  };

  /// Once what each rank needs in every step is there, several steps go ahead
  /// of a device that has not begun. Gives the bytes that came from the host
  /// for them.
  int64_t expectFoundInItsOrder(int64_t order) {
    std::vector<std::unique_ptr<Places>> all(ranks);
    run([&](int64_t rank, cprt_context *context) {
      all[size_t(rank)] = std::make_unique<Places>(context, ends, order);
      all[size_t(rank)]->find(context);
    });
    int64_t before = device.hostBytes;
    void *gate = closedGate();
    run([&](int64_t rank, cprt_context *context) {
      cprt_run_after(context, gate);
      for (int step = 0; step < 3; ++step)
        all[size_t(rank)]->find(context);
    });
    open(gate);
    int64_t brought = device.hostBytes - before;
    run([&](int64_t rank, cprt_context *context) {
      EXPECT_EQ(all[size_t(rank)]->read(context),
                partOf(placesOf({ends}, length), 1, order, ranks, rank))
          << "rank " << rank;
      EXPECT_STREQ(cprt_context_message(context), "");
    });
    EXPECT_GT(device.numStarted("document_places"), 0);
    return brought;
  }
};

TEST_F(DocumentsOnDevice, ThatRanksShareAreFoundWithoutTheHost) {
  makeThreads(ranks);
  EXPECT_EQ(expectFoundInItsOrder(1), 0);
}

TEST_F(DocumentsOnDevice, SoWhereRanksSendWhatTheyHave) {
  make(ranks);
  // Messages tell what they are by bytes that the host looks at.
  expectFoundInItsOrder(0);
}

/// Which rows a rank has depends on the documents then, so the host looks at
/// them.
TEST_F(DocumentsOnDevice, AreFoundByTheHostInAnOrderPerDocument) {
  makeThreads(ranks);
  run([&](int64_t rank, cprt_context *context) {
    Places places(context, ends, perDocument);
    places.find(context);
    EXPECT_EQ(places.read(context),
              packedPart(placesOf({ends}, length), 1, {ends}, ranks, rank))
        << "rank " << rank;
    EXPECT_STREQ(cprt_context_message(context), "");
  });
  EXPECT_EQ(device.numStarted("document_places"), 0);
}

/// What is reordered stays there: the host reads only where documents end, of
/// this rank and of all.
TEST_F(DocumentsOnDevice, SayWhichRowsTheDeviceMoves) {
  constexpr int64_t width = 100, bytes = local * width * sizeof(float);
  for (bool sends : {false, true}) {
    SCOPED_TRACE(testing::Message() << "sends " << sends);
    if (sends) {
      TearDown();
      worlds.clear();
      make(ranks);
    } else {
      makeThreads(ranks);
    }
    Array whole({1, length, width});
    std::iota(whole.values.begin(), whole.values.end(), 1);
    run([&](int64_t rank, cprt_context *context) {
      Places places(context, ends, perDocument);
      // axes = [0], dim = 1, from contiguous.
      std::vector<int64_t> words = {2, 1, 5, 4};
      auto add = [&](std::vector<int64_t> more) {
        words.insert(words.end(), more.begin(), more.end());
      };
      const std::vector<int64_t> tensor = {
          CPRT_F32, 3, 1, local, width, local * width, width, 1};
      add(tensor);
      add({CPRT_I32, 2, 1, int64_t(ends.size()), int64_t(ends.size()), 1});
      add(tensor);
      add({1, 0, 1, 0, perDocument});
      Array part = partOf(whole, 1, 0, ranks, rank);
      std::vector<float> own(part.values.begin(), part.values.end());
      void *buffers[] = {cprt_device_alloc(context, bytes), places.buffers[0],
                         cprt_device_alloc(context, bytes)};
      cprt_upload(context, buffers[0], own.data(), bytes);
      cprt_reorder_documents(context, nullptr, words.data(), buffers);
      std::vector<float> found = numbers(context, buffers[2], own.size());
      Array got(part.sizes);
      got.values.assign(found.begin(), found.end());
      EXPECT_EQ(got, packedPart(whole, 1, {ends}, ranks, rank));
      EXPECT_STREQ(cprt_context_message(context), "");
    });
    // In and out; by which messages tell what they are is little beside.
    int64_t tensors = ranks * 2 * bytes,
            lists = ranks * (1 + 1 + ranks) * int64_t(ends.size() * 4);
    int64_t brought = device.hostBytes.exchange(0);
    if (sends)
      EXPECT_LT(brought, 2 * tensors);
    else
      EXPECT_EQ(brought, tensors + lists);
  }
}

} // namespace
