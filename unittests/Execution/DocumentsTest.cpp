//===- DocumentsTest.cpp - A model on rows of several documents -----------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A hybrid on a batch whose rows are documents behind each other, against the
// same model on each document alone, on every way to cut it: what it says, and
// what its gradients are.
//
//===----------------------------------------------------------------------===//

#include "GradientCases.h"
#include "TestModel.h"
#include "cp/Execution/Session.h"
#include "cp/Frontend/HybridImporter.h"
#include "cp/Model/HFConfig.h"
#include "cp/Model/Random.h"
#include "llvm/Support/MemoryBuffer.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

using namespace mlir;
using namespace cp;
using namespace cp::test;

namespace {

constexpr int64_t numRows = 2, length = 64, most = 4;
constexpr int32_t ignored = -100;

/// Where documents end in each row, and in front of them 0.
using Ends = std::vector<std::vector<int64_t>>;

/// One of a token and an empty one; borders at cuts over 2 and 4 ranks, beside
/// them, and one over all ranks; and a list with room to spare.
const Ends usualEnds = {{0, 24, 25, 25, 64}, {0, 16, 63, 64, 64}};

OwningOpRef<ModuleOp> modelOf(int64_t rows, int64_t tokens, int64_t documents) {
  std::string path = CP_SOURCE_DIR "/test/Integration/goldens-hybrid/bamba";
  auto file = llvm::MemoryBuffer::getFile(path + "/config.json");
  llvm::Expected<ModelConfig> config =
      parseModelConfig(file ? (*file)->getBuffer() : "", path);
  if (!config) {
    ADD_FAILURE() << llvm::toString(config.takeError());
    return {};
  }
  return importModel(*config, {rows, tokens, "f64", false, documents},
                     UnknownLoc::get(&context()));
}

int32_t *idsOf(HostTensor &tensor) {
  return reinterpret_cast<int32_t *>(tensor.bytes.data());
}

HostTensor tensorOf(const Ends &ends) {
  HostTensor tensor = HostTensor::zeros(DType::I32, {numRows, most + 1});
  int32_t *next = idsOf(tensor);
  for (const std::vector<int64_t> &row : ends)
    next = std::copy(row.begin(), row.end(), next);
  return tensor;
}

/// Each token's next one in its document, and nothing behind the last.
HostTensor labelsOf(const HostTensor &tokens, const Ends &ends) {
  HostTensor labels = tokens;
  const auto *ids = reinterpret_cast<const int32_t *>(tokens.bytes.data());
  int64_t width = tokens.shape[1];
  for (size_t row = 0; row < ends.size(); ++row)
    for (size_t i = 1; i < ends[row].size(); ++i)
      for (int64_t t = ends[row][i - 1]; t < ends[row][i]; ++t) {
        int64_t at = int64_t(row) * width + t;
        idsOf(labels)[at] = t + 1 < ends[row][i] ? ids[at + 1] : ignored;
      }
  return labels;
}

HostTensor partOfRow(const HostTensor &tensor, int64_t row, int64_t first,
                     int64_t count) {
  std::vector<int64_t> shape = tensor.shape;
  size_t each = tensor.bytes.size() / size_t(shape[0] * shape[1]);
  size_t from = size_t(row * shape[1] + first) * each;
  shape[0] = 1;
  shape[1] = count;
  HostTensor part = HostTensor::zeros(tensor.dtype, shape);
  std::memcpy(part.bytes.data(), tensor.bytes.data() + from, part.bytes.size());
  return part;
}

/// Of a head's width in a row, so that no state is lost for being small.
std::vector<HostTensor> draw(llvm::ArrayRef<TensorSpec> specs,
                             const Ends &ends) {
  std::vector<HostTensor> inputs = drawForGradients(specs);
  for (auto [spec, input] : llvm::zip_equal(specs, inputs))
    if (spec.name == "cu_seqlens")
      input = tensorOf(ends);
    else if (llvm::StringRef(spec.name).ends_with("A_log"))
      std::fill_n(reinterpret_cast<double *>(input.bytes.data()),
                  input.numElements() / 2, std::log(0.02));
  return inputs;
}

/// The same weights, and `ids` and `labels` as they are given.
std::vector<HostTensor> drawWith(llvm::ArrayRef<TensorSpec> specs,
                                 const Ends &ends, const HostTensor &ids,
                                 const HostTensor &labels) {
  std::vector<HostTensor> inputs = draw(specs, ends);
  for (auto [spec, input] : llvm::zip_equal(specs, inputs))
    if (spec.name == "input_ids")
      input = ids;
    else if (spec.name == "labels")
      input = labels;
  return inputs;
}

struct Document {
  int64_t row, first, count;
};
std::vector<Document> documentsOf(const Ends &ends) {
  std::vector<Document> all;
  for (size_t row = 0; row < ends.size(); ++row)
    for (size_t i = 1; i < ends[row].size(); ++i)
      if (int64_t count = ends[row][i] - ends[row][i - 1])
        all.push_back({int64_t(row), ends[row][i - 1], count});
  return all;
}

/// Each document cut by itself, by ranks that divide the row and not.
std::vector<Sharding> perDocument() {
  std::vector<Sharding> all;
  for (int64_t ranks : {2, 3, 4, 8}) {
    Sharding sharding;
    sharding.mesh = Mesh{{{"cp", ranks}}};
    sharding.sequence = {Cut{0, Order::ZigzagPerDocument}};
    all.push_back(sharding);
  }
  all.back().mixer = CutStrategy::Hidden;
  // Over the first of two axes, where heads are cut over the other; and where
  // tensor parallelism cuts rows beside.
  Sharding twoD;
  twoD.mesh = Mesh{{{"ring", 2}, {"u", 2}}};
  twoD.sequence = {Cut{0, Order::ZigzagPerDocument}, Cut{1}};
  twoD.attention = AttentionForm::TwoD;
  all.push_back(twoD);
  twoD.mixer = CutStrategy::TwoD;
  twoD.mesh.axes[0].size = 3;
  twoD.sequence[0].order = Order::ContiguousPerDocument;
  all.push_back(twoD);
  Sharding tensorRows;
  tensorRows.mesh = Mesh{{{"cp", 2}, {"tp", 2}}};
  tensorRows.sequence = {Cut{0, Order::ZigzagPerDocument}};
  tensorRows.tensorParallel = {Cut{1}};
  tensorRows.tensorRows = true;
  all.push_back(tensorRows);
  return all;
}

/// Numbers of ranks that divide neither rows nor documents.
std::vector<Sharding> ofOddRanks() {
  std::vector<Sharding> all;
  for (auto [ranks, order] : {std::pair(5, Order::Contiguous),
                              {7, Order::Zigzag},
                              {6, Order::ZigzagPerDocument},
                              {5, Order::ContiguousPerDocument}}) {
    Sharding sharding;
    sharding.mesh = Mesh{{{"cp", ranks}}};
    sharding.sequence = {Cut{0, order}};
    all.push_back(sharding);
  }
  return all;
}

class DocumentsTest : public testing::Test {
protected:
  /// The model on a document alone, on one rank.
  RunResult runAlone(const Document &document, bool withGradients) {
    CompileOptions options;
    options.nextTokenLoss = options.gradients = withGradients;
    OwningOpRef<ModuleOp> module = modelOf(1, document.count, 0);
    std::unique_ptr<Program> program = compileWith(*module, options);
    if (!program)
      return {};
    HostTensor own =
        partOfRow(ids, document.row, document.first, document.count);
    HostTensor next = labelsOf(own, {{0, document.count}});
    return runOrFail(*program, drawWith(program->arguments(), {}, own, next),
                     CPRT_KERNELS_REFERENCE);
  }

  /// Calls `fn` with the program of every sharding.
  template <typename Fn> void forEach(CompileOptions options, Fn fn) {
    OwningOpRef<ModuleOp> module = modelOf(numRows, length, most);
    ASSERT_TRUE(module);
    std::vector<std::optional<Sharding>> all = {std::nullopt};
    llvm::append_range(all, gradientShardings());
    llvm::append_range(all, perDocument());
    llvm::append_range(all, ofOddRanks());
    for (const std::optional<Sharding> &sharding : all) {
      SCOPED_TRACE(sharding ? describe(*sharding) : "one rank");
      if (sharding)
        options.sharding = *sharding;
      std::unique_ptr<Program> program = compileWith(*module, options);
      ASSERT_TRUE(program);
      fn(*program);
      if (HasFailure())
        return;
    }
  }

  HostTensor ids = [] {
    HostTensor tensor = HostTensor::zeros(DType::I32, {numRows, length});
    for (int64_t i = 0; i < numRows * length; ++i)
      idsOf(tensor)[i] = int32_t(splitMix64(3, uint64_t(i)) % 48);
    return tensor;
  }();
};

TEST_F(DocumentsTest, ARowIsEachDocumentAlone) {
  std::vector<Document> documents = documentsOf(usualEnds);
  std::vector<HostTensor> expected;
  for (const Document &document : documents)
    expected.push_back(runAlone(document, false).outputs.at(0));
  forEach({}, [&](Program &program) {
    for (cprt_kernel_set kernels :
         {CPRT_KERNELS_REFERENCE, CPRT_KERNELS_FAST}) {
      RunResult run = runOrFail(
          program, drawWith(program.arguments(), usualEnds, ids, ids), kernels);
      ASSERT_EQ(run.outputs.size(), 1u);
      for (auto [document, alone] : llvm::zip_equal(documents, expected))
        EXPECT_LE(compare(partOfRow(run.outputs[0], document.row,
                                    document.first, document.count),
                          alone)
                      .relL2,
                  1e-12)
            << "tokens from " << document.first << " of row " << document.row;
    }
  });
}

/// What a test must see: the same row as one document is another one's numbers
/// from its second document on.
TEST_F(DocumentsTest, OneDocumentIsAnotherRow) {
  OwningOpRef<ModuleOp> module = modelOf(numRows, length, most);
  std::unique_ptr<Program> program = compileWith(*module, {});
  ASSERT_TRUE(program);
  auto logitsOf = [&](const Ends &ends) {
    return runOrFail(*program, drawWith(program->arguments(), ends, ids, ids),
                     CPRT_KERNELS_FAST)
        .outputs.at(0);
  };
  HostTensor cut = logitsOf(usualEnds),
             whole = logitsOf({{0, 64, 64, 64, 64}, {0, 0, 0, 0, 64}});
  auto difference = [&](int64_t first, int64_t count) {
    return compare(partOfRow(cut, 0, first, count),
                   partOfRow(whole, 0, first, count))
        .relL2;
  };
  EXPECT_LE(difference(0, 24), 1e-12);
  EXPECT_GE(difference(24, 1), 1e-2);
  EXPECT_GE(difference(63, 1), 1e-3);
}

/// A token whose embedding is NaN, in one document: no bit of another changes.
TEST_F(DocumentsTest, ANaNStaysInItsDocument) {
  constexpr int32_t bad = 47;
  // The last of its row, which ranks' borders cut, and where a state goes on.
  const Document spoiled = {0, 25, 39};
  HostTensor marked = ids;
  for (int64_t i = 0; i < numRows * length; ++i)
    if (idsOf(marked)[i] == bad)
      idsOf(marked)[i] = 0;
  idsOf(marked)[spoiled.first + 2] = bad;
  forEach({}, [&](Program &program) {
    std::vector<HostTensor> inputs =
        drawWith(program.arguments(), usualEnds, marked, marked);
    HostTensor clean =
        runOrFail(program, inputs, CPRT_KERNELS_FAST).outputs.at(0);
    for (auto [spec, input] : llvm::zip_equal(program.arguments(), inputs))
      if (spec.name == "model.embed_tokens.weight")
        std::fill_n(reinterpret_cast<double *>(input.bytes.data()) +
                        bad * spec.shape[1],
                    spec.shape[1], std::numeric_limits<double>::quiet_NaN());
    HostTensor got =
        runOrFail(program, inputs, CPRT_KERNELS_FAST).outputs.at(0);
    for (const Document &document : documentsOf(usualEnds)) {
      auto part = [&](const HostTensor &of) {
        return partOfRow(of, document.row, document.first, document.count);
      };
      bool isSpoiled =
          document.row == spoiled.row && document.first == spoiled.first;
      EXPECT_EQ(part(got).bytes == part(clean).bytes, !isSpoiled)
          << "tokens from " << document.first << " of row " << document.row;
    }
    EXPECT_GT(findNotFinite(got).count, 0);
  });
}

/// Mean losses and their gradients, times the labels that there are.
TEST_F(DocumentsTest, GradientsAreThoseOfDocumentsAlone) {
  std::map<std::string, std::vector<double>> sums;
  double labels = 0;
  for (const Document &document : documentsOf(usualEnds)) {
    CompileOptions options;
    options.nextTokenLoss = options.gradients = true;
    OwningOpRef<ModuleOp> module = modelOf(1, document.count, 0);
    std::unique_ptr<Program> program = compileWith(*module, options);
    ASSERT_TRUE(program);
    RunResult run = runAlone(document, true);
    labels += double(document.count - 1);
    for (auto [spec, output] :
         llvm::zip_equal(program->results(), run.outputs)) {
      std::vector<double> values = output.asDoubles();
      std::vector<double> &sum = sums[spec.name];
      sum.resize(values.size());
      for (size_t i = 0; i < values.size(); ++i)
        sum[i] += values[i] * double(document.count - 1);
    }
  }
  CompileOptions options;
  options.nextTokenLoss = options.gradients = true;
  forEach(options, [&](Program &program) {
    RunResult run = runOrFail(
        program,
        drawWith(program.arguments(), usualEnds, ids, labelsOf(ids, usualEnds)),
        CPRT_KERNELS_FAST);
    for (auto [spec, output] :
         llvm::zip_equal(program.results(), run.outputs)) {
      std::vector<double> expected = sums.at(spec.name);
      for (double &value : expected)
        value /= labels;
      EXPECT_LE(
          compare(output, fromDoubles(DType::F64, spec.shape, expected)).relL2,
          1e-11)
          << spec.name;
    }
  });
}

/// An order, and whether gradients are computed too.
class OtherDocumentsTest
    : public DocumentsTest,
      public testing::WithParamInterface<std::tuple<Order, bool>> {};
INSTANTIATE_TEST_SUITE_P(
    Orders, OtherDocumentsTest,
    testing::Combine(testing::Values(Order::Zigzag, Order::ZigzagPerDocument,
                                     Order::ContiguousPerDocument),
                     testing::Bool()));

/// A list of borders is data: no new program, and nothing of the system.
TEST_P(OtherDocumentsTest, NeedNothingNew) {
  auto [order, hasGradients] = GetParam();
  CompileOptions options;
  options.nextTokenLoss = options.gradients = hasGradients;
  Sharding &sharding = options.sharding.emplace();
  sharding.mesh = Mesh{{{"cp", 4}}};
  sharding.sequence.front().order = order;
  OwningOpRef<ModuleOp> module = modelOf(numRows, length, most);
  std::unique_ptr<Program> program = compileWith(*module, options);
  ASSERT_TRUE(program);
  auto session = Session::create({program.get()}, {});
  ASSERT_TRUE(static_cast<bool>(session))
      << llvm::toString(session.takeError());
  std::vector<HostTensor> inputs = draw(program->arguments(), usualEnds);
  for (auto [spec, input] : llvm::zip_equal(program->arguments(), inputs))
    ASSERT_FALSE((*session)->set(spec.name, input));
  for (uint64_t batch = 0; batch < 100; ++batch) {
    Ends ends;
    for (uint64_t row = 0; row < numRows; ++row) {
      std::vector<int64_t> own = {0, length};
      while (own.size() < most + 1)
        own.push_back(int64_t(splitMix64(batch, 8 * row + own.size()) %
                              uint64_t(length + 1)));
      std::sort(own.begin(), own.end());
      ends.push_back(own);
    }
    HostTensor labels = labelsOf(ids, ends);
    inputs = drawWith(program->arguments(), ends, ids, labels);
    ASSERT_FALSE((*session)->set("input_ids", ids));
    ASSERT_FALSE((*session)->set("cu_seqlens", tensorOf(ends)));
    if (hasGradients) {
      ASSERT_FALSE((*session)->set("labels", labels));
    }
    ASSERT_FALSE((*session)->step());
    if (batch) {
      EXPECT_EQ((*session)->allocations(), 0) << "batch " << batch;
    }
    RunResult fresh = runOrFail(*program, inputs, CPRT_KERNELS_FAST);
    for (auto [spec, expected] :
         llvm::zip_equal(program->results(), fresh.outputs)) {
      llvm::Expected<HostTensor> result = (*session)->result(spec.name);
      ASSERT_TRUE(static_cast<bool>(result));
      EXPECT_EQ(expected.bytes, result->bytes)
          << spec.name << " of batch " << batch;
    }
  }
}

/// Fails unless a model on rows of so many tokens refuses the lists with
/// `text`.
void expectRefused(int64_t ranks, int64_t tokens, const Ends &ends,
                   const std::string &text) {
  SCOPED_TRACE(std::to_string(tokens) + " tokens on " + std::to_string(ranks));
  CompileOptions options;
  options.sharding.emplace().mesh = Mesh{{{"cp", ranks}}};
  OwningOpRef<ModuleOp> module = modelOf(numRows, tokens, most);
  std::unique_ptr<Program> program = compileWith(*module, options);
  ASSERT_TRUE(program);
  llvm::Expected<RunResult> result =
      program->run(pointersTo(draw(program->arguments(), ends)), {});
  ASSERT_FALSE(result);
  std::string message = llvm::toString(result.takeError());
  EXPECT_NE(message.find(text), std::string::npos) << message;
}

TEST_F(DocumentsTest, ListsThatAreNoneAreRefusedOnAllRanks) {
  const std::vector<int64_t> good = {0, 16, 63, 64, 64};
  expectRefused(4, 64, {{1, 24, 25, 25, 64}, good},
                "row 0 of this rank's cu_seqlens begins");
  expectRefused(4, 64, {{0, 24, 25, 25, 64}, {0, 17, 16, 64, 64}},
                "row 1 of this rank's cu_seqlens falls");
  expectRefused(4, 64, {{0, 24, 25, 25, 63}, good},
                "ends with 63, expected 64");
  // Ranks pad these rows to 12 and 4 tokens; what ends in the padding, or with
  // it, is no list of theirs either.
  for (int64_t ranks : {1, 4}) {
    for (int64_t end : {9, 11, 12})
      expectRefused(ranks, 10, {{0, 5, 5, 5, 10}, {0, 5, 5, 5, end}},
                    "row 1 of this rank's cu_seqlens ends with " +
                        std::to_string(ranks == 4 ? end + 2 : end));
    expectRefused(ranks, 3, {{0, 1, 2, 2, 2}, {0, 1, 2, 3, 3}},
                  "row 0 of this rank's cu_seqlens ends with " +
                      std::to_string(ranks == 4 ? 3 : 2));
  }
}

} // namespace
