//===- WeightsTest.cpp - Tests of parameters and their draws --------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConfigTexts.h"

#include "cp/Model/Random.h"
#include "cp/Model/Weights.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace cp;
using namespace cp::test;

static const WeightSpec &specOf(const std::vector<WeightSpec> &weights,
                                const std::string &name) {
  for (const WeightSpec &weight : weights)
    if (weight.name == name)
      return weight;
  ADD_FAILURE() << name;
  return weights.front();
}

static bool hasName(const std::vector<WeightSpec> &weights,
                    const std::string &name) {
  return std::any_of(weights.begin(), weights.end(),
                     [&](const WeightSpec &w) { return w.name == name; });
}

TEST(Weights, CountsTheParametersOfMamba2_130m) {
  std::vector<WeightSpec> weights = weightsOf(mustParse(hfText));
  int64_t count = 0;
  for (const WeightSpec &weight : weights)
    count += *tensorBytes(weight.shape, DType::U8);
  // As published for the checkpoint.
  EXPECT_EQ(count, 128989632);
  EXPECT_EQ(weights.size(), 24u * 9 + 2);
}

TEST(Weights, NamesAndShapes) {
  Mamba2Config config = mustParse(hfText);
  std::vector<WeightSpec> weights = weightsOf(config);
  EXPECT_EQ(weights.front().name, "backbone.embeddings.weight");
  EXPECT_EQ(weights.back().name, "backbone.norm_f.weight");
  std::string start = "backbone.layers.23.mixer.";
  auto shape = [&](const char *name) {
    return specOf(weights, start + name).shape;
  };
  EXPECT_EQ(shape("in_proj.weight"), (std::vector<int64_t>{3352, 768}));
  EXPECT_EQ(shape("conv1d.weight"), (std::vector<int64_t>{1792, 1, 4}));
  EXPECT_EQ(shape("conv1d.bias"), (std::vector<int64_t>{1792}));
  EXPECT_EQ(shape("D"), (std::vector<int64_t>{24}));
  EXPECT_EQ(shape("norm.weight"), (std::vector<int64_t>{1536}));
  EXPECT_EQ(shape("out_proj.weight"), (std::vector<int64_t>{768, 1536}));
  config.useBias = true;
  config.useConvBias = config.tieEmbeddings = config.hasGatedNorm = false;
  config.dHasHeadDim = true;
  weights = weightsOf(config);
  EXPECT_EQ(shape("in_proj.bias"), (std::vector<int64_t>{3352}));
  EXPECT_EQ(shape("out_proj.bias"), (std::vector<int64_t>{768}));
  EXPECT_EQ(shape("D"), (std::vector<int64_t>{1536}));
  EXPECT_FALSE(hasName(weights, start + "conv1d.bias"));
  EXPECT_FALSE(hasName(weights, start + "norm.weight"));
  EXPECT_EQ(weights.back().name, "lm_head.weight");
  EXPECT_EQ(weights.back().shape, (std::vector<int64_t>{50288, 768}));
}

TEST(Weights, InitialisationsOfTheLibraries) {
  using Kind = InitSpec::Kind;
  auto init = [](const std::vector<WeightSpec> &weights, const char *name) {
    return specOf(weights, std::string("backbone.layers.0.mixer.") + name).init;
  };
  std::vector<WeightSpec> hf = weightsOf(mustParse(hfText));
  EXPECT_EQ(hf.front().init.kind, Kind::Normal);
  EXPECT_EQ(hf.front().init.scale, 0.1);
  EXPECT_EQ(init(hf, "in_proj.weight").kind, Kind::Normal);
  EXPECT_EQ(init(hf, "A_log").kind, Kind::LogArange);
  EXPECT_EQ(init(hf, "conv1d.weight").kind, Kind::Uniform);
  EXPECT_EQ(init(hf, "conv1d.weight").scale, 0.5);
  EXPECT_EQ(init(hf, "conv1d.bias").kind, Kind::Zeros);
  EXPECT_DOUBLE_EQ(init(hf, "out_proj.weight").scale, 1 / std::sqrt(1536.0));
  std::vector<WeightSpec> ssm = weightsOf(mustParse(ssmText));
  EXPECT_EQ(ssm.front().init.scale, 0.02);
  EXPECT_EQ(init(ssm, "in_proj.weight").kind, Kind::Uniform);
  EXPECT_EQ(init(ssm, "A_log").kind, Kind::LogUniform);
  EXPECT_EQ(init(ssm, "A_log").high, 16);
  EXPECT_EQ(init(ssm, "conv1d.bias").kind, Kind::Uniform);
  EXPECT_DOUBLE_EQ(init(ssm, "out_proj.weight").scale,
                   1 / std::sqrt(1536.0 * 24));
  Mamba2Config conv = mustParse(ssmText);
  conv.convInit = 0.125;
  EXPECT_EQ(init(weightsOf(conv), "conv1d.weight").scale, 0.125);
}

// Values that the authors of the two functions publish.
TEST(Random, PublishedValues) {
  EXPECT_EQ(splitMix64(0, 0), 0xe220a8397b1dcdafu);
  EXPECT_EQ(splitMix64(0, 1), 0x6e789e6aa1b965f4u);
  EXPECT_EQ(splitMix64(1234567, 0), 6457827717110365317u);
  EXPECT_EQ(splitMix64(1234567, 1), 3203168211198807973u);
  EXPECT_EQ(fnv1a64(""), 0xcbf29ce484222325u);
  EXPECT_EQ(fnv1a64("a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(fnv1a64("foobar"), 0x85944171f73967e8u);
}

TEST(Random, MomentsOfTheDraws) {
  constexpr int64_t count = 200000;
  auto moments = [](const std::vector<double> &v) {
    double sum = 0, squares = 0, inside = 0;
    for (double x : v) {
      sum += x;
      squares += x * x;
      inside += std::abs(x) < 0.1;
    }
    return std::array<double, 3>{sum / count, std::sqrt(squares / count),
                                 inside / count};
  };
  auto normal = moments(drawWeight(InitSpec::normal(0.1), {count}, "w", 3));
  EXPECT_NEAR(normal[0], 0, 0.001);
  EXPECT_NEAR(normal[1], 0.1, 0.001);
  // erf(1 / sqrt 2)
  EXPECT_NEAR(normal[2], 0.6827, 0.005);
  auto uniform = moments(drawWeight(InitSpec::uniform(0.2), {count}, "w", 3));
  EXPECT_NEAR(uniform[0], 0, 0.001);
  EXPECT_NEAR(uniform[1], 0.2 / std::sqrt(3.0), 0.001);
  EXPECT_NEAR(uniform[2], 0.5, 0.005);
}

TEST(Random, SpecialDraws) {
  EXPECT_EQ(drawWeight(InitSpec::zeros(), {3}, "w", 1),
            std::vector<double>(3, 0.0));
  EXPECT_EQ(drawWeight(InitSpec::ones(), {2, 2}, "w", 1),
            std::vector<double>(4, 1.0));
  std::vector<double> aLog = drawWeight(InitSpec::logArange(), {24}, "w", 1);
  for (int i = 0; i < 24; ++i)
    EXPECT_NEAR(std::exp(aLog[i]), i + 1, 1e-12);
  for (double x : drawWeight(InitSpec::logUniform(1, 16), {1000}, "w", 1)) {
    EXPECT_GE(std::exp(x), 1 - 1e-12);
    EXPECT_LT(std::exp(x), 16);
  }
}

// softplus of the bias is the step, which is log-uniform above the floor.
TEST(Random, DtBiasGivesTheStepsBack) {
  InitSpec init = InitSpec::dtBias(0.001, 0.1, 0.002);
  int below = 0, floored = 0;
  constexpr int count = 20000;
  for (double bias : drawWeight(init, {count}, "dt", 5)) {
    double dt = std::log1p(std::exp(bias));
    ASSERT_GE(dt, 0.002 * (1 - 1e-12));
    ASSERT_LT(dt, 0.1);
    below += dt < 0.01;
    floored += dt < 0.002 * (1 + 1e-12);
  }
  // 0.01 is halfway from 0.001 to 0.1 in the logarithm; log10(2) / 2 lie below
  // the floor.
  EXPECT_NEAR(double(below) / count, 0.5, 0.015);
  EXPECT_NEAR(double(floored) / count, 0.1505, 0.015);
}

TEST(Random, ASliceIsAPartOfTheWhole) {
  for (const InitSpec &init :
       {InitSpec::normal(1), InitSpec::uniform(1), InitSpec::logArange(),
        InitSpec::logUniform(1, 4), InitSpec::dtBias(0.001, 0.1, 1e-4)}) {
    std::vector<double> whole = drawWeight(init, {7, 5}, "name", 9);
    for (size_t first = 0; first < whole.size(); ++first)
      for (size_t size = 0; first + size <= whole.size(); ++size) {
        std::vector<double> part(size);
        std::vector<float> rounded(size);
        drawWeightSlice(init, "name", 9, first,
                        llvm::MutableArrayRef<double>(part));
        drawWeightSlice(init, "name", 9, first,
                        llvm::MutableArrayRef<float>(rounded));
        for (size_t i = 0; i < size; ++i) {
          ASSERT_EQ(part[i], whole[first + i]);
          ASSERT_EQ(rounded[i], float(whole[first + i]));
        }
      }
  }
}

TEST(Random, StreamsDiffer) {
  InitSpec init = InitSpec::uniform(1);
  std::vector<double> a = drawWeight(init, {100}, "a", 0);
  EXPECT_EQ(a, drawWeight(init, {100}, "a", 0));
  EXPECT_NE(a, drawWeight(init, {100}, "b", 0));
  // Seeds that follow each other share no shifted stream either.
  for (uint64_t seed = 1; seed < 20; ++seed)
    for (double x : drawWeight(init, {100}, "a", seed))
      EXPECT_EQ(std::count(a.begin(), a.end(), x), 0);
}

static TensorFile fileOf(const std::string &header, size_t bytes) {
  auto file = TensorFile::fromBuffer(
      bufferOf(safetensorsBytes(header, std::string(bytes, 'x'))));
  EXPECT_TRUE(bool(file));
  return std::move(*file);
}

TEST(Bind, FindsAndRefuses) {
  TensorFile file =
      fileOf(R"({"backbone.embedding.weight":)"
             R"({"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
             R"("backbone.layers.0.mixer.D":)"
             R"({"dtype":"BF16","shape":[4],"data_offsets":[24,32]},)"
             R"("extra":{"dtype":"U8","shape":[1],"data_offsets":[32,33]}})",
             33);
  auto view =
      bindWeight(file, "backbone.embeddings.weight", {2, 3}, DType::F32);
  ASSERT_TRUE(bool(view)) << llvm::toString(view.takeError());
  EXPECT_EQ(view->bytes.size(), 24u);
  expectParts(errorOf(bindWeight(file, "backbone.embeddings.weight", {3, 2},
                                 DType::F32)),
              {"'memory'", "backbone.embedding.weight", "[3, 2]", "[2, 3]"});
  expectParts(
      errorOf(bindWeight(file, "backbone.layers.0.mixer.D", {4}, DType::I32)),
      {"mixer.D", "expected type I32", "got BF16", "convert"});
  EXPECT_EQ(
      errorOf(bindWeight(file, "backbone.layers.0.mixer.D", {4}, DType::F32)),
      "");
  expectParts(
      errorOf(bindWeight(file, "backbone.layers.1.mixer.D", {4}, DType::F32)),
      {"'backbone.layers.1.mixer.D'", "got none", "most like it",
       "'backbone.layers.0.mixer.D'"});
  expectParts(errorOf(bindWeight(file, std::string(200, 'q'), {1}, DType::F32)),
              {"no name in the file is like it"});
}

TEST(Bind, NamesWhatTheModelDoesNotTake) {
  TensorFile file =
      fileOf(R"({"backbone.embedding.weight":)"
             R"({"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
             R"("backbone.layers.0.mixer.D":)"
             R"({"dtype":"BF16","shape":[4],"data_offsets":[24,32]},)"
             R"("extra":{"dtype":"U8","shape":[1],"data_offsets":[32,33]}})",
             33);
  EXPECT_EQ(unboundNames(
                file, {"backbone.embeddings.weight", "backbone.norm_f.weight"}),
            (std::vector<std::string>{"backbone.layers.0.mixer.D", "extra"}));
  EXPECT_EQ(describeUnbound({}), "");
  EXPECT_EQ(describeUnbound({"a", "b"}), "'a', 'b'");
  expectParts(describeUnbound(std::vector<std::string>(13, "a")),
              {"'a' and 3 more"});
  expectParts(describeUnbound({"lm_head.weight"}), {"tie_word_embeddings"});
}

/// A tied model's own head is a copy of the embedding, or another model's.
TEST(Bind, ATiedHeadMustBeTheEmbedding) {
  auto unbound = [](const char *type, const std::string &head) {
    std::string header =
        R"({"lm_head.weight":{"dtype":")" + std::string(type) +
        R"(","shape":[2],"data_offsets":[0,8]},"model.embed_tokens.weight":)"
        R"({"dtype":"F32","shape":[2],"data_offsets":[8,16]}})";
    auto file = TensorFile::fromBuffer(
        bufferOf(safetensorsBytes(header, head + "abcdefgh")));
    EXPECT_TRUE(bool(file));
    return unboundNames(*file, {"model.embed_tokens.weight"}).size();
  };
  EXPECT_EQ(unbound("F32", "abcdefgh"), 0u);
  EXPECT_EQ(unbound("F32", "abcdefgg"), 1u);
  EXPECT_EQ(unbound("I32", "abcdefgh"), 1u);
}

/// Mamba2Model.save_pretrained of transformers.
TEST(Bind, NamesOfAModelWithoutItsHead) {
  TensorFile file =
      fileOf(R"({"embeddings.weight":)"
             R"({"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
             R"("norm_f.weight":)"
             R"({"dtype":"F32","shape":[2],"data_offsets":[24,32]}})",
             32);
  for (const char *prefix : {"backbone.", "model."}) {
    std::string name = std::string(prefix) + "norm_f.weight";
    EXPECT_EQ(errorOf(bindWeight(file, name, {2}, DType::F32)), "");
    EXPECT_EQ(unboundNames(file, {name}),
              std::vector<std::string>{"embeddings.weight"});
  }
  expectParts(errorOf(bindWeight(file, "lm_head.weight", {2}, DType::F32)),
              {"'lm_head.weight'", "got none"});
}
