//===- Tracer.cpp - One program on ids --------------------------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tracer.h"

#include "Models.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace cp {

Tracer::Tracer(LocalProgram &program, TraceWorld &world, TokenTrace &trace,
               int64_t maxBytes)
    : world(world), trace(trace),
      layers(cast<FunctionOpInterface>(program.entry.getOperation())),
      program(program), maxBytes(maxBytes) {}

/// The whole with its padding, which is followed as other rows are.
static std::vector<int64_t> paddedShape(const TensorSpec &spec) {
  std::vector<int64_t> shape = spec.shape;
  for (auto [size, cuts] : llvm::zip_equal(shape, spec.layout.dims))
    size = paddedSize(spec.layout.mesh, cuts, size);
  return shape;
}

/// The number of each element of a rank's part in the whole tensor.
static Plane idsOfPart(const TensorSpec &spec, int64_t rank) {
  std::vector<int64_t> whole = paddedShape(spec);
  std::vector<int64_t> shape = localShape(spec.layout, whole);
  auto words = std::make_shared<Words>(1, 0);
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    Words next;
    next.reserve(words->size() * shape[dim]);
    for (int64_t base : *words)
      for (int64_t i = 0; i < shape[dim]; ++i)
        next.push_back(base * whole[dim] + globalIndex(spec.layout.mesh,
                                                       spec.layout.dims[dim],
                                                       whole[dim], rank, i));
    *words = std::move(next);
  }
  for (int64_t &word : *words)
    ++word;
  return words;
}

static llvm::Error tooLarge(int64_t maxBytes, StringRef where) {
  return llvm::createStringError(
      "the ids of all ranks take more than " + std::to_string(maxBytes) +
      " bytes at " + where.str() +
      "; trace a model of fewer layers, channels or tokens");
}

/// What the ids of a tensor take on all ranks, which share whole ones.
static uint64_t bytesOf(const TensorSpec &spec) {
  uint64_t count = isWhole(spec) ? 1 : spec.layout.mesh.numRanks();
  for (int64_t size : localShape(spec.layout, spec.shape))
    count = llvm::SaturatingMultiply<uint64_t>(count, size);
  return llvm::SaturatingMultiply<uint64_t>(count, sizeof(int64_t));
}

llvm::Error Tracer::traceArguments() {
  uint64_t bytes = 0;
  for (const TensorSpec &spec : program.signature.arguments)
    bytes = llvm::SaturatingAdd<uint64_t>(bytes, bytesOf(spec));
  if (bytes > static_cast<uint64_t>(maxBytes))
    return tooLarge(maxBytes, "the arguments");
  for (auto [argument, spec] : llvm::zip_equal(program.entry.getArguments(),
                                               program.signature.arguments)) {
    TracedValue &value = of(argument);
    llvm::append_range(value.shape, localShape(spec.layout, spec.shape));
    value.isUnknown = value.numElements() == 0 || spec.isResidual;
    if (value.isUnknown)
      continue;
    value.space = std::make_shared<IdSpace>(IdSpace::of(paddedShape(spec)));
    Plane shared = isWhole(spec) ? idsOfPart(spec, 0) : nullptr;
    for (int64_t rank = 0; rank < trace.ranks; ++rank)
      value.ids.push_back(shared ? shared : idsOfPart(spec, rank));
  }
  return llvm::Error::success();
}

void Tracer::setUnknown(Operation *op) {
  for (OpResult result : op->getResults()) {
    auto type = dyn_cast<RankedTensorType>(result.getType());
    TracedValue value;
    if (type)
      value.shape.assign(type.getShape().begin(), type.getShape().end());
    value.isUnknown = type && type.hasStaticShape();
    of(result) = value;
  }
}

/// Constants of one value belong to any element; a table is a tensor that every
/// rank holds as it is.
static TracedValue constantOf(arith::ConstantOp op, int64_t ranks) {
  TracedValue value;
  auto type = dyn_cast<RankedTensorType>(op.getType());
  if (!type)
    return value;
  value.shape.assign(type.getShape().begin(), type.getShape().end());
  if (isa<SplatElementsAttr>(op.getValue()))
    return value;
  auto words = std::make_shared<Words>(value.numElements());
  for (size_t i = 0; i < words->size(); ++i)
    (*words)[i] = static_cast<int64_t>(i) + 1;
  value.space = std::make_shared<IdSpace>(IdSpace::of(value.shape));
  value.ids.assign(ranks, words);
  return value;
}

/// What has no elements has no ids either.
static bool hasKnownShapes(Operation *op) {
  auto isKnown = [](Type type) {
    auto shaped = dyn_cast<ShapedType>(type);
    return !shaped || (isa<RankedTensorType>(type) && shaped.hasStaticShape() &&
                       shaped.getNumElements() > 0);
  };
  return llvm::all_of(op->getOperandTypes(), isKnown) &&
         llvm::all_of(op->getResultTypes(), isKnown) &&
         (op->getNumRegions() == 0 || isa<ShardingRuleOpInterface>(op));
}

/// Whether ranks' terms are added up.
static bool addsTerms(Operation *op) {
  auto collective = dyn_cast<CollectiveOpInterface>(op);
  return collective &&
         llvm::any_of(collective.getSteps(), [](const TensorStep &moved) {
           return std::holds_alternative<Partial>(moved.step.from);
         });
}

/// Asks the op, the runtime or its rule, in this order.
static llvm::Error traceKnown(OpTrace &trace) {
  Operation *op = trace.getOperation();
  if (auto traced = dyn_cast<TraceOpInterface>(op))
    return traced.trace(trace);
  auto moves = dyn_cast<RuntimeOpInterface>(op);
  if (moves && TraceWorld::runs(moves))
    return addsTerms(op) ? traceReduce(trace, moves) : traceMove(trace, moves);
  // Results of these have rows that no operand's dimension says.
  bool hasRule = isa<ShardingRuleOpInterface>(op) &&
                 !isa<tensor::ConcatOp, tensor::PadOp>(op);
  if (auto window = dyn_cast<WindowOpInterface>(op); window && hasRule)
    traceWindow(trace, window);
  else if (hasRule && !isa<SequenceOpInterface>(op))
    traceCompute(trace);
  else
    trace.giveUp();
  return llvm::Error::success();
}

llvm::Error Tracer::traceOp(Operation *op) {
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    of(op->getResult(0)) = constantOf(constant, trace.ranks);
    return llvm::Error::success();
  }
  OpTrace traced(*this, op);
  bool isKnown = hasKnownShapes(op);
  // What is known of the others goes on.
  bool isBucket = isa<AllReduceOp>(op) && op->getNumOperands() > 1;
  if (isKnown && traced.anyUnknown() && !isBucket) {
    // What it is made of has been counted already.
    setUnknown(op);
    return llvm::Error::success();
  }
  if (!isKnown)
    traced.giveUp();
  else if (llvm::Error error = traceKnown(traced))
    return error;
  if (!traced.hasGivenUp())
    ++trace.traced;
  else if (llvm::any_of(op->getResultTypes(), llvm::IsaPred<TensorType>))
    ++trace.untraced[op->getName().getStringRef().str()];
  return llvm::Error::success();
}

void Tracer::noteKinds(Operation *op) {
  bool repeats = isa<RepeatOp>(op) || op->hasAttr("repeats") ||
                 llvm::any_of(op->getOperands(), [&](Value operand) {
                   return of(operand).isRepeated;
                 });
  for (Value result : op->getResults())
    of(result).isRepeated = repeats;
  bool keepsRows = isa_and_present<tensor::TensorDialect>(op->getDialect()) ||
                   isa<HaloOp, arith::AddFOp>(op);
  if (keepsRows && llvm::any_of(op->getOperands(), [&](Value operand) {
        return of(operand).hasRows;
      }))
    for (Value result : op->getResults())
      of(result).hasRows = true;
}

/// What is not read any more.
void Tracer::release(Operation *op) {
  for (Value operand : op->getOperands())
    if (llvm::all_of(operand.getUsers(), [&](Operation *user) {
          return user == op || user->isBeforeInBlock(op);
        }))
      values.erase(operand.getAsOpaquePointer());
}

llvm::Error Tracer::checkMemory(Operation *op) const {
  llvm::SmallPtrSet<const Words *, 16> seen;
  int64_t bytes = 0;
  for (const auto &[key, traced] : values)
    for (const Plane &plane : traced.ids)
      if (plane && seen.insert(plane.get()).second)
        bytes += static_cast<int64_t>(plane->size() * sizeof(int64_t));
  if (bytes <= maxBytes)
    return llvm::Error::success();
  return tooLarge(maxBytes, op->getName().getStringRef());
}

/// "dimension 1: 12 where 8 should be".
static std::string misplaced(const IdSpace &space, int64_t got, int64_t want) {
  for (size_t dim = 0; dim + 1 < space.strides.size(); ++dim) {
    int64_t stride = space.strides[dim + 1], size = space.wholeSize(dim);
    int64_t a = got / stride % size, b = want / stride % size;
    if (a != b)
      return "holds " + std::to_string(a) + " where it should hold " +
             std::to_string(b) + " (of dimension " + std::to_string(dim) + ")";
  }
  return "holds element " + std::to_string(got) +
         " where it should hold element " + std::to_string(want);
}

static std::string indexText(int64_t element, ArrayRef<int64_t> shape) {
  SmallVector<int64_t> index(shape.size());
  for (size_t dim = shape.size(); dim-- > 0;) {
    index[dim] = element % shape[dim];
    element /= shape[dim];
  }
  std::string text = "[";
  llvm::raw_string_ostream os(text);
  llvm::interleaveComma(index, os);
  return text + "]";
}

static bool hasSizes(const TracedValue &value, ArrayRef<int64_t> sizes) {
  for (size_t dim = 0; value.space && dim < sizes.size(); ++dim)
    if (value.space->wholeSize(dim) != sizes[dim])
      return false;
  return true;
}

/// What is wrong with what an element covers, if anything. States are held
/// against each other: of each element of the whole all ranks have one, which
/// `states` has by its word.
static std::string wrongCover(const Covers &covers, int64_t cover,
                              int64_t element,
                              llvm::DenseMap<int64_t, int64_t> &states) {
  if (cover > 0 && !covers[cover].isRun)
    return "is a sum over " + textOf(covers[cover].intervals) + " of " +
           std::to_string(covers[cover].size) + " terms only";
  int64_t other = states.try_emplace(element, cover).first->second;
  if (other == cover || other == unknownId || cover == unknownId)
    return "";
  auto text = [&](int64_t word) {
    return word > 0 ? textOf(covers[word].intervals) : "nothing";
  };
  return "is a state of tokens " + text(cover) +
         ", but another rank's is of tokens " + text(other);
}

/// Whether a dimension that is cut by sizes is numbered by rooms, as what has
/// been spread out is; nobody has said which of these hold what.
static bool isInRooms(const TracedValue &value, const Layout &layout,
                      ArrayRef<int64_t> whole) {
  for (auto [dim, cuts] : llvm::enumerate(layout.dims))
    if (value.space && isBySizes(cuts) &&
        value.space->wholeSize(dim) != whole[dim])
      return true;
  return false;
}

void Tracer::checkResults(Operation *terminator) {
  for (auto [number, spec] : llvm::enumerate(program.signature.results)) {
    const TracedValue &value = of(terminator->getOperand(number));
    std::vector<int64_t> whole = paddedShape(spec);
    if (spec.isResidual)
      continue;
    bool isComparable = !value.isUnknown &&
                        (!value.isRepeated || hasSizes(value, whole)) &&
                        !isInRooms(value, spec.layout, whole);
    if (!isComparable) {
      trace.complete = false;
      continue;
    }
    OpTrace traced(*this, terminator);
    IdSpace space = IdSpace::of(whole);
    // Of which rows may be zeros, as an embedding's padding is.
    bool isGradient = StringRef(spec.name).starts_with("grad.");
    std::string name =
        "result " + std::to_string(number) + " (" + spec.name + ")";
    llvm::DenseMap<int64_t, int64_t> states;
    for (int64_t rank = 0; rank < trace.ranks; ++rank) {
      Plane got = value.idsOf(rank), want = idsOfPart(spec, rank);
      Plane covered = value.coversOf(rank);
      for (size_t i = 0; i < got->size(); ++i) {
        int64_t word = (*got)[i];
        trace.complete &= word != unknownId && (*covered)[i] != unknownId;
        std::string what;
        if (word == noId && value.space && isGradient)
          trace.complete = false;
        else if (word == noId && value.space)
          what = "holds no element where it should hold " +
                 indexText((*want)[i] - 1, whole) + " of the whole";
        else if (word > 0 && word != (*want)[i])
          what = misplaced(space, word - 1, (*want)[i] - 1);
        else if (!value.covers.empty())
          what = wrongCover(covers, (*covered)[i], (*want)[i], states);
        if (what.empty())
          continue;
        traced.report(rank, name + ": index " + indexText(i, value.shape) +
                                " " + what);
        break;
      }
    }
  }
}

llvm::Error Tracer::run() {
  if (llvm::Error error = traceArguments())
    return error;
  for (Operation &op : program.entry.getBody().front()) {
    if (op.hasTrait<OpTrait::IsTerminator>()) {
      checkResults(&op);
      break;
    }
    if (llvm::Error error = traceOp(&op))
      return error;
    noteKinds(&op);
    if (llvm::Error error = checkMemory(&op))
      return error;
    release(&op);
  }
  return llvm::Error::success();
}

llvm::Expected<TokenTrace>
traceTokens(ModuleOp module, const CompileOptions &options, int64_t maxBytes) {
  DialectRegistry registry;
  registerTraceModels(registry);
  module.getContext()->appendDialectRegistry(registry);
  llvm::Expected<LocalProgram> program = makeLocal(module, options);
  if (!program)
    return program.takeError();
  if (!llvm::hasSingleElement(program->entry.getBody()))
    return llvm::createStringError(
        "'" + program->entry.getName() +
        "' has several blocks, but only a program of one can be traced");
  llvm::Expected<std::unique_ptr<TraceWorld>> world =
      TraceWorld::create(program->mesh);
  if (!world)
    return world.takeError();
  TokenTrace trace;
  trace.ranks = program->mesh.numRanks();
  Tracer tracer(*program, **world, trace, maxBytes);
  if (llvm::Error error = tracer.run())
    return error;
  return trace;
}

} // namespace cp
