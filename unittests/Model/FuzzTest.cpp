//===- FuzzTest.cpp - Random mutations of every input format --------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A parser may refuse or accept a mutated file, but must not crash, hang or
// read outside it; built with -fsanitize=address,undefined the tests show the
// last. What a parser accepts must be consistent: all views inside the file.
// The seed is printed, and CP_TEST_SEED sets it.
//
//===----------------------------------------------------------------------===//

#include "ConfigTexts.h"

#include "cp/Files/Npy.h"
#include "cp/Model/Weights.h"

#include <cstdlib>
#include <random>

using namespace cp;
using namespace cp::test;

namespace {

constexpr int iterations = 20000;

class Mutator {
public:
  Mutator() {
    const char *given = std::getenv("CP_TEST_SEED");
    seed = given ? std::strtoull(given, nullptr, 10) : std::random_device()();
    random.seed(seed);
  }

  /// A copy with one to four changes: a byte, a bit, a cut, a copied or dropped
  /// piece, or a word that parsers know.
  std::string mutate(const std::string &text) {
    std::string out = text;
    for (size_t changes = 1 + below(4); changes > 0; --changes)
      change(out);
    return out;
  }

  uint64_t seed;

private:
  size_t below(size_t bound) { return bound ? random() % bound : 0; }
  void change(std::string &text);

  std::mt19937_64 random;
};

} // namespace

/// Words that the parsers know.
static const std::string words[] = {"{",
                                    "}",
                                    "[",
                                    "]",
                                    "\"",
                                    ":",
                                    ",",
                                    "-1",
                                    "0",
                                    "1e999",
                                    "Infinity",
                                    "NaN",
                                    "9223372036854775808",
                                    "18446744073709551615",
                                    "null",
                                    "\\u0000",
                                    "4",
                                    "2147483647",
                                    "True",
                                    "(",
                                    ")",
                                    "'",
                                    "\\",
                                    "-",
                                    "F64",
                                    "<f8"};

void Mutator::change(std::string &text) {
  size_t at = below(text.size());
  size_t length = below(std::min<size_t>(text.size() - at, 16) + 1);
  switch (below(6)) {
  case 0:
    text.insert(at, 1, char(random()));
    return;
  case 1:
    if (!text.empty())
      text[at] = char(text[at] ^ (1 << below(8)));
    return;
  case 2:
    text.erase(at, length);
    return;
  case 3:
    text.insert(below(text.size() + 1), text.substr(at, length));
    return;
  case 4:
    text.replace(at, length, words[below(std::size(words))]);
    return;
  default:
    if (below(8) == 0)
      text.resize(at);
  }
}

TEST(Fuzz, Safetensors) {
  Mutator mutator;
  SCOPED_TRACE("CP_TEST_SEED=" + std::to_string(mutator.seed));
  std::printf("seed %llu\n", (unsigned long long)mutator.seed);
  const std::string header =
      R"({"__metadata__":{"format":"pt"},)"
      R"("a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},)"
      R"("b.c":{"dtype":"BF16","shape":[],"data_offsets":[16,18]}})";
  const std::string data = "0123456789abcdefgh";
  int accepted = 0;
  for (int i = 0; i < iterations; ++i) {
    // Half of them keep a true header length, to reach the code behind it.
    std::string bytes = i % 2 ? safetensorsBytes(mutator.mutate(header), data)
                              : mutator.mutate(safetensorsBytes(header, data));
    auto file = TensorFile::fromBuffer(bufferOf(bytes));
    if (!file) {
      ASSERT_FALSE(llvm::toString(file.takeError()).empty());
      continue;
    }
    ++accepted;
    size_t covered = 0, sum = 0;
    for (const TensorView &view : file->tensors()) {
      ASSERT_EQ(tensorBytes(view.shape, view.dtype), view.bytes.size());
      // Reads every byte, for the sanitizer.
      for (uint8_t byte : view.bytes)
        sum += byte;
      covered += view.bytes.size();
      ASSERT_EQ(file->find(view.name), &view);
    }
    ASSERT_LE(sum, covered * 255);
    ASSERT_LT(covered, bytes.size());
  }
  EXPECT_GT(accepted, 0);
  EXPECT_LT(accepted, iterations / 2);
}

TEST(Fuzz, Npy) {
  Mutator mutator;
  SCOPED_TRACE("CP_TEST_SEED=" + std::to_string(mutator.seed));
  std::printf("seed %llu\n", (unsigned long long)mutator.seed);
  const std::string dict =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1), }\n";
  const std::string start("\x93NUMPY\x01\0", 8), data = "12345678";
  auto assemble = [&](const std::string &text) {
    std::string length = {char(text.size()), char(text.size() >> 8)};
    return start + length + text + data;
  };
  int accepted = 0;
  for (int i = 0; i < iterations; ++i) {
    std::string bytes =
        i % 2 ? assemble(mutator.mutate(dict)) : mutator.mutate(assemble(dict));
    auto array = parseNpy(bytes, "fuzz");
    if (!array) {
      ASSERT_FALSE(llvm::toString(array.takeError()).empty());
      continue;
    }
    ++accepted;
    ASSERT_EQ(tensorBytes(array->shape, array->dtype), array->bytes.size());
  }
  EXPECT_GT(accepted, 0);
  EXPECT_LT(accepted, iterations / 2);
}

template <typename ModelTy>
static void checkSizes(const ModelTy &model, const MixerConfig &mixer) {
  ASSERT_EQ(mixer.numHeads % mixer.numGroups, 0);
  ASSERT_GE(model.paddedVocabSize, model.vocabSize);
  if (model.numLayers > 100)
    return;
  for (const WeightSpec &weight : weightsOf(model))
    ASSERT_TRUE(tensorBytes(weight.shape, DType::F64).has_value());
}

static void checkConfig(const ModelConfig &config) {
  if (const auto *mamba = std::get_if<Mamba2Config>(&config))
    return checkSizes(*mamba, *mamba);
  const auto &hybrid = std::get<HybridConfig>(config);
  ASSERT_EQ(hybrid.attention.heads % hybrid.attention.keyHeads, 0);
  ASSERT_EQ(int64_t(hybrid.layers.size()), hybrid.numLayers);
  checkSizes(hybrid, hybrid.mamba);
}

static void fuzzConfig(const std::string &text) {
  Mutator mutator;
  SCOPED_TRACE("CP_TEST_SEED=" + std::to_string(mutator.seed));
  std::printf("seed %llu\n", (unsigned long long)mutator.seed);
  int accepted = 0;
  for (int i = 0; i < iterations; ++i) {
    auto semantics = static_cast<Semantics>(i % 3);
    auto config = parseModelConfig(mutator.mutate(text), "fuzz", semantics);
    if (!config) {
      ASSERT_FALSE(llvm::toString(config.takeError()).empty());
      continue;
    }
    ++accepted;
    checkConfig(*config);
  }
  EXPECT_GT(accepted, 0);
  EXPECT_LT(accepted, iterations / 2);
}

TEST(Fuzz, TransformersConfig) { fuzzConfig(hfText); }

TEST(Fuzz, MambaSsmConfig) {
  fuzzConfig(ssm(R"("ngroups": 2, "dt_limit": [0.0, Infinity])"));
}

TEST(Fuzz, BambaConfig) {
  fuzzConfig(R"({"model_type": "bamba", "num_hidden_layers": 3,
    "attn_layer_indices": [1], "mamba_d_head": "auto", "rope_theta": 1e4,
    "rope_parameters": {"partial_rotary_factor": 0.5}})");
}

TEST(Fuzz, NemotronHConfig) {
  fuzzConfig(R"({"model_type": "nemotron_h", "n_groups": 8,
    "hybrid_override_pattern": "M-M*-", "num_key_value_heads": 8,
    "layers_block_type": null})");
}
