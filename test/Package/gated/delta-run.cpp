//===- delta-run.cpp - The delta rule on one rank and on eight --*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// usage: delta-run FILE BROKEN
//
// Compiles the gated delta rule (see ../gated-delta.mlir) for 1, 2, 4 and 8
// ranks with every scan, in both orders, forward and in reverse. Fails unless
// all give the outputs and the final state of plain loops over whole matrices,
// and all tokens can be followed; and unless ../gated-delta-broken.mlir is seen
// to be broken.
//
//===----------------------------------------------------------------------===//

#include "Check.h"
#include "mlir/Parser/Parser.h"

using namespace gated;
using namespace mlir;

namespace {

constexpr int64_t batch = 2, length = 32, heads = 3, rows = 4, columns = 5;

/// The inputs, in the order of the model's arguments.
struct Inputs {
  std::vector<double> q, k, v, gate, beta, initial;

  Inputs()
      : q(draw(batch * length * heads * rows, -1, 1, 1)),
        k(draw(batch * length * heads * rows, -1, 1, 2)),
        v(draw(batch * length * heads * columns, -1, 1, 3)),
        // Near one: what the first rank hands on is still seen by the last.
        gate(draw(batch * length * heads, 0.98, 1, 4)),
        beta(draw(batch * length * heads, 0, 1, 5)),
        initial(draw(batch * heads * rows * columns, -1, 1, 6)) {
    // As its users do: I - beta k k^T does not grow.
    for (size_t token = 0; token < k.size(); token += rows) {
      double sum = 0;
      for (size_t i = token; i < token + rows; ++i)
        sum += k[i] * k[i];
      for (size_t i = token; i < token + rows; ++i)
        k[i] /= std::sqrt(sum);
    }
  }

  std::vector<cp::HostTensor> tensors() const {
    return {tensorOf({batch, length, heads, rows}, q),
            tensorOf({batch, length, heads, rows}, k),
            tensorOf({batch, length, heads, columns}, v),
            tensorOf({batch, length, heads}, gate),
            tensorOf({batch, length, heads}, beta),
            tensorOf({batch, heads, rows, columns}, initial)};
  }
};

/// One token: the whole matrix g (I - beta k k^T) is made, and multiplied.
void step(const Inputs &in, size_t token, std::vector<double> &state) {
  const double *k = &in.k[token * rows], *v = &in.v[token * columns];
  double gate = in.gate[token], beta = in.beta[token];
  std::vector<double> next(state.size());
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column) {
      double sum = beta * k[row] * v[column];
      for (int64_t i = 0; i < rows; ++i)
        sum += gate * ((row == i) - beta * k[row] * k[i]) *
               state[i * columns + column];
      next[row * columns + column] = sum;
    }
  state = next;
}

/// The output and the final state.
std::vector<cp::HostTensor> expected(const Inputs &in, bool isReverse) {
  std::vector<double> out(batch * length * heads * columns), last;
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t h = 0; h < heads; ++h) {
      const double *first = &in.initial[(b * heads + h) * rows * columns];
      std::vector<double> state(first, first + rows * columns);
      for (int64_t i = 0; i < length; ++i) {
        int64_t l = isReverse ? length - 1 - i : i;
        size_t token = (b * length + l) * heads + h;
        step(in, token, state);
        for (int64_t column = 0; column < columns; ++column)
          for (int64_t row = 0; row < rows; ++row)
            out[token * columns + column] +=
                state[row * columns + column] * in.q[token * rows + row];
      }
      last.insert(last.end(), state.begin(), state.end());
    }
  return {tensorOf({batch, length, heads, columns}, out),
          tensorOf({batch, heads, rows, columns}, last)};
}

bool runAll(ModuleOp module, const Inputs &in, bool isReverse) {
  std::vector<cp::HostTensor> want = expected(in, isReverse);
  std::vector<cp::HostTensor> inputs = in.tensors();
  std::vector<const cp::HostTensor *> pointers;
  for (const cp::HostTensor &input : inputs)
    pointers.push_back(&input);
  cp::CompileOptions options;
  options.operations = runtimeOperations();
  std::string way = isReverse ? ", reverse" : "";
  bool good =
      check("delta" + way, compileAndRun(module, options, pointers), want);
  for (int64_t ranks : {1, 2, 4, 8})
    for (cp::Order order : {cp::Order::Contiguous, cp::Order::Zigzag})
      for (cp::ScanAlgorithm scan : scans) {
        options.sharding.emplace();
        options.sharding->mesh = cp::Mesh{{{"cp", ranks}}};
        options.sharding->sequence.front().order = order;
        options.sharding->scan = scan;
        std::string name = "delta, " + std::to_string(ranks) + " ranks, " +
                           stringifyEnum(scan).str() +
                           (order == cp::Order::Zigzag ? ", zigzag" : "") + way;
        good &= check(name, compileAndRun(module, options, pointers), want);
        good &= traceAll(module, options, name);
      }
  return good;
}

} // namespace

int main(int argc, char **argv) {
  DialectRegistry registry;
  cp::registerAllDialects(registry);
  cp::registerAllExtensions(registry);
  registry.insert<GatedDialect>();
  MLIRContext context(registry);
  if (argc != 3) {
    llvm::errs() << "usage: delta-run FILE BROKEN\n";
    return 2;
  }
  OwningOpRef<ModuleOp> module = parseSourceFile<ModuleOp>(argv[1], &context),
                        broken = parseSourceFile<ModuleOp>(argv[2], &context);
  if (!module || !broken ||
      !isSeenBroken(*broken, "initial: covers nothing where it should cover "
                             "tokens 16 to 31, all behind the last row's"))
    return 1;
  OwningOpRef<ModuleOp> back = module->clone();
  back->walk([](DeltaOp op) { op.setReverse(true); });
  Inputs inputs;
  bool good = runAll(*module, inputs, /*isReverse=*/false);
  return runAll(*back, inputs, /*isReverse=*/true) && good ? 0 : 1;
}
