//===- MixerModule.cpp - Some Mamba-2 mixers, one behind the other --------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MixerModule.h"

#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace cp::bench {

static std::string tensorType(ArrayRef<int64_t> sizes) {
  std::string text = "tensor<";
  for (int64_t size : sizes)
    text += std::to_string(size) + "x";
  return text + "f32>";
}

static std::string mixerText(const MixerShape &s) {
  int64_t inner = s.heads * s.headSize, channels = inner + 2 * s.stateSize;
  std::string u = tensorType({1, s.tokens, s.hidden}),
              head = tensorType({s.heads}), arguments, types;
  auto param = [&](const char *name, const std::string &type,
                   const char *init) {
    arguments += llvm::formatv(
        ",\n    %{0}: {1} {{cp.param = \"{0}\", cp.init = {{{2}}}", name, type,
        init);
    types += ", " + type;
  };
  param("in_proj", tensorType({inner + channels + s.heads, s.hidden}),
        "kind = \"normal\", scale = 0.05");
  param("conv", tensorType({channels, 4}), "kind = \"uniform\", scale = 0.5");
  param("conv_bias", tensorType({channels}), "kind = \"zeros\"");
  param("dt_bias", head,
        "kind = \"dt_bias\", low = 0.001, high = 0.1, floor = 0.0001");
  param("A_log", head, "kind = \"log_uniform\", low = 1.0, high = 16.0");
  param("D", head, "kind = \"ones\"");
  param("norm", tensorType({inner}), "kind = \"ones\"");
  param("out_proj", tensorType({s.hidden, inner}),
        "kind = \"normal\", scale = 0.05");
  std::string text = "func.func @main(%u0: " + u +
                     " {cp.name = \"u\", cp.sequence = 1 : i64}" + arguments +
                     ") -> (" + u + " {cp.name = \"y\"}) {\n";
  for (int64_t layer = 0; layer < s.layers; ++layer)
    text += llvm::formatv(
        "  %u{0} = cp.mamba_mixer %u{1} in_proj(%in_proj) conv(%conv, "
        "%conv_bias)\n      dt_bias(%dt_bias) A_log(%A_log) D(%D) norm(%norm) "
        "out_proj(%out_proj)\n      {{num_heads = {2}, head_dim = {3}, "
        "num_groups = 1, state_size = {4}}\n      : ({5}{6}) -> {5}\n",
        layer + 1, layer, s.heads, s.headSize, s.stateSize, u, types);
  return text + "  return %u" + std::to_string(s.layers) + " : " + u + "\n}\n";
}

OwningOpRef<ModuleOp> mixerModule(MLIRContext &context,
                                  const MixerShape &shape) {
  return parseSourceString<ModuleOp>(mixerText(shape), &context);
}

} // namespace cp::bench
