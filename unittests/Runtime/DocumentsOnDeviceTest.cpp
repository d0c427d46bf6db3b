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

/// Reorders rows of `width` numbers from contiguous to zigzag per document.
struct Reorder {
  static constexpr int64_t width = 100;
  std::vector<int64_t> words = {2, 1, 5, 4};
  std::array<void *, 3> buffers;

  Reorder(cprt_context *context, const Sizes &ends, const Array &part)
      : own(part.values.begin(), part.values.end()) {
    int64_t local = part.sizes[1];
    std::vector<int32_t> list(ends.begin(), ends.end());
    auto add = [&](std::vector<int64_t> more) {
      words.insert(words.end(), more.begin(), more.end());
    };
    const std::vector<int64_t> tensor = {CPRT_F32,      3,     1, local, width,
                                         local * width, width, 1};
    add(tensor);
    add({CPRT_I32, 2, 1, int64_t(list.size()), int64_t(list.size()), 1});
    add(tensor);
    // axes = [0], dim = 1, orders.
    add({1, 0, 1, 0, perDocument});
    auto bytes = int64_t(own.size() * sizeof(float)),
         listBytes = int64_t(list.size() * sizeof(int32_t));
    buffers = {cprt_device_alloc(context, bytes),
               cprt_device_alloc(context, listBytes),
               cprt_device_alloc(context, bytes)};
    cprt_upload(context, buffers[0], own.data(), bytes);
    cprt_upload(context, buffers[1], list.data(), listBytes);
  }
  void make(cprt_context *context) {
    cprt_reorder_documents(context, nullptr, words.data(), buffers.data());
  }

  const std::vector<float> own;
};

/// What is reordered stays there: the host reads only where documents end, of
/// this rank and of all.
TEST_F(DocumentsOnDevice, SayWhichRowsTheDeviceMoves) {
  for (bool sends : {false, true}) {
    SCOPED_TRACE(testing::Message() << "sends " << sends);
    if (sends) {
      TearDown();
      worlds.clear();
      make(ranks);
    } else {
      makeThreads(ranks);
    }
    Array whole({1, length, Reorder::width});
    std::iota(whole.values.begin(), whole.values.end(), 1);
    run([&](int64_t rank, cprt_context *context) {
      Array part = partOf(whole, 1, 0, ranks, rank);
      Reorder reorder(context, ends, part);
      reorder.make(context);
      std::vector<float> found =
          numbers(context, reorder.buffers[2], reorder.own.size());
      Array got(part.sizes);
      got.values.assign(found.begin(), found.end());
      EXPECT_EQ(got, packedPart(whole, 1, {ends}, ranks, rank));
      EXPECT_STREQ(cprt_context_message(context), "");
    });
    // In and out; by which messages tell what they are is little beside.
    int64_t tensors =
        ranks * 2 * local * Reorder::width * int64_t(sizeof(float));
    int64_t lists = ranks * (1 + 1 + ranks) * int64_t(ends.size() * 4);
    int64_t brought = device.hostBytes.exchange(0);
    if (sends)
      EXPECT_LT(brought, 2 * tensors);
    else
      EXPECT_EQ(brought, tensors + lists);
  }
}

/// The host waits for the device, which waits for all ranks' lists.
TEST_F(DocumentsOnDevice, OfARankThatStaysAwayAreNotWaitedForLong) {
  make(ranks, /*deadlineMs=*/200);
  run([&](int64_t rank, cprt_context *context) {
    Reorder reorder(context, ends, Array({1, local, Reorder::width}));
    if (rank == 1)
      return;
    reorder.make(context);
    EXPECT_NE(cprt_context_status(context), CPRT_OK) << "rank " << rank;
  });
}

TEST_F(DocumentsOnDevice, ThatAreNoneOnOneRankAreToldToAll) {
  make(ranks, /*deadlineMs=*/10'000);
  run([&](int64_t rank, cprt_context *context) {
    Reorder reorder(context, rank == 1 ? Sizes{0, 5, 5, 17, 25} : ends,
                    Array({1, local, Reorder::width}));
    reorder.make(context);
    EXPECT_EQ(cprt_context_status(context),
              rank == 1 ? CPRT_INVALID_ARGUMENT : CPRT_PEER_FAILED)
        << "rank " << rank << ": " << cprt_context_message(context);
  });
}

/// Before anything has asked for memory of the device's.
TEST_F(DocumentsOnDevice, OfABatchWithoutSequencesAreNone) {
  makeThreads(2);
  run([&](int64_t, cprt_context *context) {
    // One call of 0 rows of 3 entries for 4 tokens a rank.
    const std::vector<int64_t> words = {1, 1, 5, 4, CPRT_I32, 2, 0, 3, 3, 1,
                                        CPRT_I64, 2, 0, 4, 4, 1,
                                        // axes = [0], orders, alike = [].
                                        1, 0, 1, 0, 0};
    void *buffers[] = {cprt_device_alloc(context, 8),
                       cprt_device_alloc(context, 8)};
    cprt_document_positions(context, nullptr, words.data(), buffers);
    EXPECT_EQ(cprt_context_status(context), CPRT_OK)
        << cprt_context_message(context);
  });
}

} // namespace
