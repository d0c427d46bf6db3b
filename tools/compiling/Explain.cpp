//===- Explain.cpp - The compiler's decisions as a table --------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Explain.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace cp {
namespace {

using Row = std::vector<std::string>;

/// Columns as wide as their widest cell; the last `numbers` ones right-aligned.
void printAligned(const std::vector<Row> &rows, size_t numbers,
                  llvm::raw_ostream &os) {
  std::vector<size_t> widths(rows.front().size());
  for (const Row &row : rows)
    for (size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], row[i].size());
  for (const Row &row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      std::string space(widths[i] - row[i].size(), ' ');
      bool isNumber = i + numbers >= row.size();
      line += "  " + (isNumber ? space + row[i] : row[i] + space);
    }
    os << llvm::StringRef(line).rtrim() << "\n";
  }
}

std::string busiest(llvm::ArrayRef<int64_t> bytes) {
  return bytes.empty() ? "0" : std::to_string(*llvm::max_element(bytes));
}

/// "layers 0-2, 5 (4 alike)", "embedding", "outside any layer".
std::string titleOf(llvm::ArrayRef<std::string> layers) {
  std::vector<std::string> words;
  std::string numbers;
  for (size_t i = 0; i < layers.size(); ++i) {
    int64_t first, last, next;
    if (llvm::StringRef(layers[i]).getAsInteger(10, first)) {
      words.push_back(layers[i] == "-" ? "outside any layer" : layers[i]);
      continue;
    }
    for (last = first; i + 1 < layers.size() &&
                       !llvm::StringRef(layers[i + 1]).getAsInteger(10, next) &&
                       next == last + 1;
         ++i)
      last = next;
    numbers += (numbers.empty() ? "" : ", ") + std::to_string(first) +
               (last > first ? "-" + std::to_string(last) : "");
  }
  bool several = layers.size() - words.size() > 1;
  if (!numbers.empty())
    words.push_back((several ? "layers " : "layer ") + numbers);
  std::string title = llvm::join(words, ", ");
  return several ? title + " (" + std::to_string(layers.size()) + " alike)"
                 : title;
}

void printMoves(llvm::ArrayRef<ExplainedMove> moves, llvm::raw_ostream &os) {
  if (moves.empty())
    return;
  std::vector<Row> rows = {
      {"op", "from", "to", "why", "calls", "bytes a rank"}};
  for (const ExplainedMove &move : moves)
    rows.push_back({move.op, move.from, move.to, move.why,
                    std::to_string(move.calls), busiest(move.bytesByRank)});
  printAligned(rows, 2, os);
}

void printRefusals(llvm::ArrayRef<ExplainedRefusal> refusals,
                   llvm::raw_ostream &os) {
  if (refusals.empty())
    return;
  std::vector<Row> rows = {{"cut refused", "layout", "why", "instead", "ops"}};
  for (const ExplainedRefusal &refusal : refusals)
    rows.push_back({refusal.op, refusal.layout, refusal.why, refusal.instead,
                    std::to_string(refusal.calls)});
  printAligned(rows, 1, os);
}

void printTotals(llvm::ArrayRef<Decision> decisions, int64_t ranks,
                 llvm::raw_ostream &os) {
  std::vector<Row> rows = {{"op", "axes", "calls", "bytes a rank"}};
  for (const Decision &decision : decisions)
    if (decision.category == "collective" && decision.name == "total")
      rows.push_back({decision.text("op"), decision.text("axes"),
                      decision.text("calls"),
                      busiest(decision.bytesByRank(ranks))});
  os << "a step in all\n";
  if (rows.size() == 1)
    os << "  nothing travels\n";
  else
    printAligned(rows, 2, os);
}

/// Of which layers something is computed again, and what of it.
void printResiduals(llvm::ArrayRef<Decision> decisions, llvm::raw_ostream &os) {
  std::vector<Row> rows = {
      {"layer", "kept bytes", "of forward", "computed again"}};
  for (const Decision &decision : decisions)
    if (decision.category == "residual" && decision.name == "layer")
      rows.push_back({decision.text("layer"), decision.text("kept_bytes"),
                      decision.text("of_forward"),
                      decision.text("recomputed")});
  if (rows.size() == 1)
    return;
  os << "what is computed again\n";
  printAligned(rows, 0, os);
}

/// What holds the bytes, for one rank and for the process, in which ranks share
/// what is whole.
void printUse(const MemoryNeed &memory, llvm::raw_ostream &os) {
  std::vector<std::pair<const char *, int64_t MemoryUse::*>> kinds = {
      {"program", &MemoryUse::program}, {"weights", &MemoryUse::weights}};
  if (memory.rank.state)
    kinds.emplace_back("optimizer", &MemoryUse::state);
  kinds.emplace_back("inputs", &MemoryUse::inputs);
  kinds.emplace_back("outputs", &MemoryUse::outputs);
  auto row = [&](const char *title, const MemoryUse &use) {
    Row cells = {title};
    for (auto [name, kind] : kinds)
      cells.push_back(std::to_string(use.*kind));
    cells.push_back(std::to_string(use.total()));
    return cells;
  };
  Row heads = {""};
  for (auto [name, kind] : kinds)
    heads.emplace_back(name);
  heads.emplace_back("total");
  os << "bytes in all, without the compiler's\n";
  printAligned(
      {heads, row("a rank", memory.rank), row("process", memory.process)},
      kinds.size() + 1, os);
}

/// Which meshes the function's parts are on, which one has their axes, and what
/// these are called there.
void printMeshes(llvm::ArrayRef<Decision> decisions, llvm::raw_ostream &os) {
  for (const Decision &decision : decisions) {
    if (decision.category != "mesh")
      continue;
    os << "meshes " << decision.text("meshes") << "\n  on one, "
       << decision.text("mesh") << "\n";
    std::string axes = decision.text("axes");
    for (llvm::StringRef axis : llvm::split(axes, "; "))
      if (!axis.empty())
        os << "  " << axis << "\n";
    os << "\n";
  }
}

void printMemory(llvm::ArrayRef<Decision> decisions, llvm::raw_ostream &os) {
  for (const Decision &decision : decisions)
    if (decision.category == "memory")
      os << "memory a rank\n  " << decision.text("bytes")
         << " bytes planned, at most " << decision.text("largest_live_set")
         << " live at one time\n";
}

} // namespace

void printDecisions(llvm::ArrayRef<Decision> decisions, int64_t ranks,
                    const MemoryNeed &memory, llvm::raw_ostream &os) {
  printMeshes(decisions, os);
  for (const ExplainedLayers &entry : explainLayers(decisions, ranks)) {
    os << titleOf(entry.layers) << "\n";
    printMoves(entry.moves, os);
    printRefusals(entry.refusals, os);
    os << "\n";
  }
  printTotals(decisions, ranks, os);
  printResiduals(decisions, os);
  printMemory(decisions, os);
  printUse(memory, os);
}

} // namespace cp
