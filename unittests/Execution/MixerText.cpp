//===- MixerText.cpp - A mixer with layouts of its own --------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MixerText.h"

namespace cp::test {

static std::string number(int64_t value) { return std::to_string(value); }

/// Cuts of dimensions: "s" the sequence, "u" the heads, "." none.
std::string MixerText::types() const {
  std::string text = "#mesh = #cp.mesh<\"ring\" = " + number(ring) +
                     ", \"more\" = " + number(more) +
                     ", \"u\" = " + number(heads) + ">\n";
  const std::string shared = heads > 1 ? "\"u\"" : "";
  auto type = [&](const std::string &name, const std::string &sizes,
                  const std::string &cuts, const std::string &partial = "") {
    text += "!" + name + " = tensor<" + sizes + "x" + this->type;
    if (sequence.empty()) {
      text += ">\n";
      return;
    }
    std::string dims;
    for (char cut : cuts) {
      dims += dims.empty() ? "{" : ", {";
      dims += (cut == 's' ? sequence : cut == 'u' ? shared : "") + "}";
    }
    text += ", #cp.layout<#mesh, [" + dims + "]" + partial + ">>\n";
  };
  // Too few groups are made whole everywhere, and repeated.
  std::string u = groups % heads ? "." : "u", g = number(groups),
              gn = number(4 * groups);
  type("tokens", "2x96x8", ".s.");
  type("sum", "2x96x8", ".s.", heads > 1 ? ", partial = {\"u\"}" : "");
  type("channels", "2x96x16", ".su");
  type("steps", "2x96x4", ".su");
  type("narrow", "2x96x" + gn, ".s" + u);
  type("heads", "2x96x4x4", ".su.");
  type("groups", "2x96x" + g + "x4", ".s" + u + ".");
  type("repeated", "2x96x" + number(heads) + "x4", ".s..");
  type("parts", "2x96x" + number(heads) + "x4", ".su.");
  type("to_channels", "16x8", "u.");
  type("to_steps", "4x8", "u.");
  type("to_narrow", gn + "x8", u + ".");
  type("to_tokens", "8x16", ".u");
  type("conv", "16x4", "u.");
  type("narrow_conv", gn + "x4", u + ".");
  type("channel", "16", "u");
  type("head", "4", "u");
  type("rows", "2x3x16", "..u");
  type("narrow_rows", "2x3x" + gn, ".." + u);
  type("state", "2x4x4x4", ".u..");
  return text;
}

std::string MixerText::arguments() const {
  std::string text;
  auto argument = [&](const std::string &name, const std::string &type) {
    text += (text.empty() ? "%" : ",\n %") + name + ": !" + type +
            " {cp.name = \"" + name + "\"}";
  };
  argument("tokens", "tokens");
  argument("to_z", "to_channels");
  argument("to_x", "to_channels");
  argument("to_b", "to_narrow");
  argument("to_c", "to_narrow");
  argument("to_dt", "to_steps");
  argument("conv_x", "conv");
  argument("conv_b", "narrow_conv");
  argument("conv_c", "narrow_conv");
  argument("conv_bias", "channel");
  argument("dt_bias", "head");
  argument("A_log", "head");
  argument("D", "head");
  argument("norm", "channel");
  argument("to_out", "to_tokens");
  argument("rows_x", "rows");
  argument("rows_b", "narrow_rows");
  argument("state", "state");
  return text;
}

/// %out = %in times the transpose of %weights.
static std::string project(const std::string &out, const std::string &outType,
                           const std::string &in, const std::string &inType,
                           const std::string &weights,
                           const std::string &weightsType) {
  const std::string start = "%" + out + "_start";
  return "%" + out + "_empty = tensor.empty() : !" + outType + "\n" + start +
         " = linalg.fill ins(%zero : !element) outs(%" + out + "_empty : !" +
         outType + ") -> !" + outType + "\n%" + out +
         " = linalg.contract indexing_maps = [#in, #weights, #out] ins(%" + in +
         ", %" + weights + " : !" + inType + ", !" + weightsType + ") outs(" +
         start + " : !" + outType + ") -> !" + outType + "\n";
}

/// %b and %c, of type !bc.
std::string MixerText::matrices(bool repeats) const {
  std::string text =
      project("b0", "narrow", "tokens", "tokens", "to_b", "to_narrow") +
      project("c0", "narrow", "tokens", "tokens", "to_c", "to_narrow") + R"(
    %b1 = cp.conv1d %b0 weight(%conv_b) initial(%rows_b) {silu = true}
        : (!narrow, !narrow_conv, !narrow_rows) -> !narrow
    %c1 = cp.conv1d %c0 weight(%conv_c) {silu = true}
        : (!narrow, !narrow_conv) -> !narrow
)";
  for (std::string name : {"b", "c"}) {
    const std::string result = repeats ? name + "2" : name;
    text += "%" + result + " = tensor.expand_shape %" + name +
            "1 [[0], [1], [2, 3]] output_shape [2, 96, " + number(groups) +
            ", 4] : !narrow into !groups\n";
    if (repeats)
      text += "%" + name + "3 = cp.repeat %" + name +
              "2 {dim = 2, unit = 1, times = " + number(heads / groups) +
              "} : !groups -> !repeated\n%" + name + " = cp.reshard %" + name +
              "3 : !repeated to !parts\n";
  }
  return text;
}

std::string MixerText::text() const {
  bool sharded = !sequence.empty(), repeats = sharded && groups % heads;
  std::string bc = repeats ? "!parts" : "!groups";
  return types() + "!element = " + type + R"(
    #in = affine_map<(b, l, n, k) -> (b, l, k)>
    #weights = affine_map<(b, l, n, k) -> (n, k)>
    #out = affine_map<(b, l, n, k) -> (b, l, n)>
    func.func @main()" +
         arguments() +
         (givesState ? ") -> (!tokens, !state)" : ") -> !tokens") +
         (sharded ? " attributes {cp.view = \"global\"}" : "") + R"( {
    %zero = arith.constant 0.0 : !element
)" + project("z", "channels", "tokens", "tokens", "to_z", "to_channels") +
         project("x0", "channels", "tokens", "tokens", "to_x", "to_channels") +
         project("dt", "steps", "tokens", "tokens", "to_dt", "to_steps") +
         matrices(repeats) + R"(
    %x1 = cp.conv1d %x0 weight(%conv_x) bias(%conv_bias) initial(%rows_x)
        {silu = true} : (!channels, !conv, !channel, !rows) -> !channels
    %x = tensor.expand_shape %x1 [[0], [1], [2, 3]] output_shape [2, 96, 4, 4]
        : !channels into !heads
    %y, %last = cp.ssd %x dt(%dt) A_log(%A_log) B(%b) C(%c) D(%D)
        dt_bias(%dt_bias) initial(%state)
        {chunk_size = 5, algorithm = #cp.scan_algorithm<)" +
         scan + R"(>} : (!heads, !steps, !head, )" + bc + ", " + bc +
         R"(, !head,
        !head, !state) -> (!heads, !state)
    %y1 = tensor.collapse_shape %y [[0], [1], [2, 3]] : !heads into !channels
    %n = cp.rms_norm %y1 weight(%norm) gate(%z) {groups = 4}
        : (!channels, !channel, !channels) -> !channels
)" + project("sum", "sum", "n", "channels", "to_out", "to_tokens") +
         (sharded ? "%o = cp.reshard %sum : !sum to !tokens\n" : "") +
         "return " + (sharded ? "%o" : "%sum") +
         (givesState ? ", %last : !tokens, !state }" : " : !tokens }");
}

} // namespace cp::test
