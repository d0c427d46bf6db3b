//===- ShardingRule.cpp - How dimensions correspond -------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/IR/ShardingRule.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;

namespace cp {
namespace {

/// Reads the text of a rule; numbers factors in order of first appearance.
class RuleReader {
public:
  explicit RuleReader(ShardingRule &rule) : rule(rule) {}

  SmallVector<TensorFactors> readTensors(StringRef text) {
    SmallVector<TensorFactors> tensors;
    SmallVector<StringRef> parts;
    text.split(parts, ';');
    for (StringRef part : parts)
      tensors.push_back(readTensor(part.trim()));
    return tensors;
  }

  void readResults(StringRef text) {
    SmallVector<StringRef> parts;
    text.split(parts, ';');
    for (StringRef part : parts) {
      auto [dims, sums] = part.split('{');
      rule.results.push_back(readTensor(dims.trim()));
      rule.sums.push_back(readFactors(sums.split('}').first));
    }
    if (!text.contains('{'))
      findSums();
  }

private:
  TensorFactors readTensor(StringRef text) {
    TensorFactors dims;
    while (!text.empty()) {
      if (text.consume_front("(")) {
        auto [inside, rest] = text.split(')');
        dims.push_back(readFactors(inside));
        text = rest.ltrim();
        continue;
      }
      auto [name, rest] = text.split(' ');
      dims.push_back(name == "." ? DimFactors() : readFactors(name));
      text = rest.ltrim();
    }
    return dims;
  }

  DimFactors readFactors(StringRef text) {
    DimFactors factors;
    SmallVector<StringRef> names;
    text.split(names, ' ', -1, /*KeepEmpty=*/false);
    for (StringRef name : names) {
      auto [it, isNew] = numbers.try_emplace(name, rule.sizes.size());
      if (isNew)
        rule.sizes.push_back(0);
      factors.push_back(it->second);
    }
    return factors;
  }

  void findSums() {
    DimFactors summed;
    for (int64_t factor = 0, e = rule.sizes.size(); factor < e; ++factor)
      if (!rule.isKept(factor))
        summed.push_back(factor);
    rule.sums.assign(rule.results.size(), summed);
  }

  ShardingRule &rule;
  llvm::StringMap<int64_t> numbers;
};

/// Learns the one unknown factor of a dimension, if there is one.
void learnSize(ShardingRule &rule, const DimFactors &factors, int64_t size) {
  int64_t unknown = -1;
  for (int64_t factor : factors) {
    if (rule.sizes[factor] > 0)
      size /= rule.sizes[factor];
    else if (unknown >= 0)
      return;
    else
      unknown = factor;
  }
  if (unknown >= 0)
    rule.sizes[unknown] = size;
}

void learnSizes(ShardingRule &rule, ArrayRef<TensorFactors> tensors,
                TypeRange types) {
  for (auto [dims, type] : llvm::zip(tensors, types)) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor)
      continue;
    for (auto [factors, size] : llvm::zip(dims, tensor.getShape()))
      learnSize(rule, factors, size);
  }
}

bool sameCuts(const std::vector<Cut> &a, const std::vector<Cut> &b) {
  if (a.size() != b.size())
    return false;
  for (size_t i = 0; i < a.size(); ++i)
    if (!samePlaces(a[i], b[i]))
      return false;
  return true;
}

/// Whether a factor of this size can be cut so.
bool divideFactor(const std::vector<Cut> &cuts, const Mesh &mesh,
                  int64_t size) {
  if (isBySizes(cuts))
    return sumOfSizes(cuts.back()) == size;
  for (const Cut &cut : cuts) {
    int64_t ranks = mesh.axes[cut.axis].size;
    if (!divides(placesOnly(cut), ranks, size))
      return false;
    size = roomOf(cut, ranks, size);
  }
  return true;
}

/// How many elements of a merged dimension there are for each of its major
/// factor, which is the one that is cut.
int64_t elementsOfMajor(const ShardingRule &rule, const DimFactors &factors) {
  int64_t elements = 1;
  for (int64_t factor : llvm::drop_begin(factors))
    elements *= rule.sizes[factor];
  return elements;
}

/// The cuts of a factor from those of a dimension, which may be `merged` of it
/// and others, `elements` for each of its own; nothing when a stripe or a part
/// ends within one of these. Documents end anywhere.
std::optional<std::vector<Cut>> cutsOfFactor(std::vector<Cut> cuts, bool merged,
                                             int64_t elements) {
  for (Cut &cut : cuts) {
    if (merged && isPerDocument(cut))
      return std::nullopt;
    for (int64_t &size : cut.sizes) {
      if (elements < 1 || size % elements)
        return std::nullopt;
      size /= elements;
    }
    if (!unitPlaces(cut))
      continue;
    if (elements < 1 || cut.unit % elements)
      return std::nullopt;
    cut.unit /= elements;
  }
  return cuts;
}

} // namespace

ShardingRule ShardingRule::parse(StringRef text, Operation *op) {
  ShardingRule rule;
  auto [left, right] = text.split("->");
  RuleReader reader(rule);
  if (!left.trim().empty())
    rule.operands = reader.readTensors(left);
  reader.readResults(right);
  rule.uses.assign(rule.operands.size(), Use::Other);
  // Twice: a merged dimension may stand before the one that tells its factor.
  for (int pass = 0; pass < 2; ++pass) {
    SmallVector<TensorFactors> single = rule.operands;
    if (pass == 0)
      for (TensorFactors &dims : single)
        for (DimFactors &factors : dims)
          if (factors.size() != 1)
            factors.clear();
    learnSizes(rule, single, op->getOperandTypes());
    if (pass == 1)
      learnSizes(rule, rule.results, op->getResultTypes());
  }
  return rule;
}

bool ShardingRule::isReduction(int64_t factor) const {
  return !sums.empty() && llvm::all_of(sums, [&](const DimFactors &factors) {
    return llvm::is_contained(factors, factor);
  });
}

bool ShardingRule::isSummed(int64_t factor) const {
  return !isKept(factor) || llvm::any_of(sums, [&](const DimFactors &factors) {
    return llvm::is_contained(factors, factor);
  });
}

bool ShardingRule::isKept(int64_t factor) const {
  return llvm::any_of(results, [&](const TensorFactors &dims) {
    return llvm::any_of(dims, [&](const DimFactors &factors) {
      return llvm::is_contained(factors, factor);
    });
  });
}

bool ShardingRule::isBatchwise(int64_t factor) const {
  std::optional<int64_t> batch;
  auto isApart = [&](const TensorFactors &dims) {
    auto hasFactor = [&](const DimFactors &factors) {
      return llvm::is_contained(factors, factor);
    };
    if (llvm::none_of(dims, hasFactor))
      return true;
    // Merged with others it is another dimension.
    if (llvm::any_of(dims, [&](const DimFactors &factors) {
          return factors.size() > 1 && hasFactor(factors);
        }))
      return false;
    const DimFactors &first = dims.front();
    if (first.size() != 1 || first.front() == factor)
      return false;
    batch = batch.value_or(first.front());
    return *batch == first.front();
  };
  return llvm::all_of(operands, isApart) && llvm::all_of(results, isApart);
}

std::optional<Sum> sumThrough(const ShardingRule &rule, ArrayRef<Sum> operands,
                              bool sumIsCut, unsigned &culprit) {
  std::optional<Sum> product = sumIsCut ? Sum::Partial : Sum::Replicated;
  std::optional<Sum> total;
  for (auto [i, operand, use] : llvm::enumerate(operands, rule.uses)) {
    culprit = i;
    std::optional<Sum> passed = through(operand, use);
    if (!passed)
      return std::nullopt;
    if (use == Use::Term)
      total = total ? add(*total, *passed) : passed;
    else if (use == Use::Additive)
      product = multiply(*product, *passed);
    if (!product || (use == Use::Term && !total))
      return std::nullopt;
  }
  if (!total)
    return product;
  // What products are added to is one more term.
  culprit = operands.size();
  if ((sumIsCut || llvm::is_contained(rule.uses, Use::Additive)) &&
      total != product)
    return std::nullopt;
  return total;
}

std::optional<int64_t> collectCuts(const ShardingRule &rule,
                                   const TensorFactors &dims,
                                   const Layout &layout, FactorCuts &cuts) {
  cuts.factors.resize(rule.sizes.size());
  for (auto [dim, factors] : llvm::enumerate(dims)) {
    if (dim >= layout.dims.size() || layout.dims[dim].empty())
      continue;
    if (factors.empty())
      return dim;
    std::optional<std::vector<Cut>> found =
        cutsOfFactor(layout.dims[dim], /*merged=*/factors.size() > 1,
                     elementsOfMajor(rule, factors));
    if (!found ||
        !divideFactor(*found, layout.mesh, rule.sizes[factors.front()]))
      return dim;
    std::vector<Cut> &known = cuts.factors[factors.front()];
    if (!known.empty() && !sameCuts(known, *found))
      return dim;
    if (known.empty())
      known = *found;
  }
  return std::nullopt;
}

Layout layoutFor(const ShardingRule &rule, const TensorFactors &dims,
                 const FactorCuts &cuts, const Mesh &mesh) {
  Layout layout;
  layout.mesh = mesh;
  for (const DimFactors &factors : dims) {
    std::vector<Cut> &out = layout.dims.emplace_back();
    if (factors.empty())
      continue;
    out = cuts.factors[factors.front()];
    int64_t elements = elementsOfMajor(rule, factors);
    for (Cut &cut : out) {
      cut.unit = unitPlaces(cut) ? cut.unit * elements : 1;
      for (int64_t &size : cut.sizes)
        size *= elements;
    }
  }
  return layout;
}

} // namespace cp
