//===- Session.cpp - Tensors that stay on the ranks -----------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SessionImpl.h"

#include "cp/Files/Convert.h"

#include "llvm/ADT/STLExtras.h"

namespace cp {

//===----------------------------------------------------------------------===//
// The tensors
//===----------------------------------------------------------------------===//

static llvm::Error mismatch(const TensorSpec &spec, DType dtype,
                            const std::vector<int64_t> &shape) {
  return llvm::createStringError(
      "'" + spec.name + "' must be " + dtypeName(spec.dtype).str() + " " +
      shapeText(spec.shape) + ", but is " + dtypeName(dtype).str() + " " +
      shapeText(shape));
}

/// What ranks have of a tensor, put together.
static HostTensor joined(const TensorSpec &spec,
                         llvm::ArrayRef<HostTensor> parts) {
  // Replicas are all the same.
  if (isWhole(spec))
    return parts.back();
  HostTensor whole = HostTensor::zeros(spec.dtype, spec.shape);
  for (auto [rank, part] : llvm::enumerate(parts))
    putPart(part, spec.layout, int64_t(rank), whole);
  return whole;
}

llvm::Error Session::Impl::set(size_t number, const HostTensor &whole,
                               bool mayShare) {
  Argument &argument = arguments[number];
  if (whole.dtype != argument.spec.dtype || whole.shape != argument.spec.shape)
    return mismatch(argument.spec, whole.dtype, whole.shape);
  bool isShared = mayShare && isWhole(argument.spec) && !argument.isUpdated;
  argument.onDevice.changedOnHost();
  argument.shared = isShared ? &whole : nullptr;
  argument.parts.clear();
  if (isShared)
    return llvm::Error::success();
  argument.parts.resize(size_t(world->numRanks()));
  for (int64_t rank : world->ranksHere())
    argument.parts[size_t(rank)] = partOf(whole, argument.spec.layout, rank);
  return llvm::Error::success();
}

llvm::Error Session::Impl::set(size_t number, const TensorView &whole,
                               llvm::function_ref<void()> release) {
  Argument &argument = arguments[number];
  const TensorSpec &spec = argument.spec;
  if (!isConvertible(whole.dtype, spec.dtype) || whole.shape != spec.shape)
    return mismatch(spec, whole.dtype, whole.shape);
  argument.onDevice.changedOnHost();
  argument.shared = nullptr;
  argument.parts.clear();
  argument.parts.resize(size_t(world->numRanks()));
  for (int64_t rank : world->ranksHere()) {
    HostTensor &part = argument.parts[size_t(rank)];
    part = partOf(whole, spec.layout, rank, release);
    if (whole.dtype == spec.dtype)
      continue;
    part.dtype = spec.dtype;
    if (llvm::Error error =
            convertElements(part.bytes, whole.dtype, spec.dtype, spec.name)
                .moveInto(part.bytes))
      return error;
  }
  return llvm::Error::success();
}

llvm::Expected<llvm::ArrayRef<HostTensor>>
Session::Impl::allParts(const TensorSpec &spec,
                        llvm::ArrayRef<HostTensor> parts,
                        std::vector<HostTensor> &gathered) const {
  if (world->hasAll())
    return parts;
  llvm::Expected<std::vector<Bytes>> all =
      world->gather(parts[size_t(world->ranksHere().front())].bytes);
  if (!all)
    return all.takeError();
  for (auto [rank, bytes] : llvm::enumerate(*all))
    gathered.push_back(
        {spec.dtype, localShape(spec.layout, spec.shape), std::move(bytes)});
  return llvm::ArrayRef<HostTensor>(gathered);
}

/// Of what every rank has, nothing travels.
llvm::Expected<HostTensor>
Session::Impl::whole(const TensorSpec &spec,
                     llvm::ArrayRef<HostTensor> parts) const {
  bool isReplica =
      isWhole(spec) && spec.layout.partial.empty() && !spec.isResidual;
  if (isReplica)
    return parts[size_t(world->ranksHere().back())];
  std::vector<HostTensor> gathered;
  llvm::Expected<llvm::ArrayRef<HostTensor>> all =
      allParts(spec, parts, gathered);
  if (!all)
    return all.takeError();
  return joined(spec, *all);
}

static llvm::Expected<std::vector<HostTensor>>
copied(llvm::Expected<llvm::ArrayRef<HostTensor>> parts) {
  if (!parts)
    return parts.takeError();
  return parts->vec();
}

llvm::Expected<std::vector<HostTensor>>
Session::Impl::partsOfArgument(size_t number) {
  const Argument &argument = arguments[number];
  if (llvm::Error error = fetchArgument(number))
    return error;
  if (argument.shared)
    return std::vector<HostTensor>(size_t(world->numRanks()), *argument.shared);
  // One that was never set has none.
  if (argument.parts.empty())
    return std::vector<HostTensor>();
  std::vector<HostTensor> gathered;
  return copied(allParts(argument.spec, argument.parts, gathered));
}

llvm::Error Session::Impl::neverSet(const Argument &argument) const {
  const std::string &name = argument.spec.name;
  bool isOther = &arguments[numbers.lookup(name)] != &argument;
  return llvm::createStringError(
      "'" + name + "' was never set" +
      (isOther ? ": a program has several arguments of that name, of which it "
                 "says the first; give each a name of its own"
               : ""));
}

llvm::Expected<HostTensor> Session::Impl::get(size_t number) {
  const Argument &argument = arguments[number];
  if (llvm::Error error = fetchArgument(number))
    return error;
  if (argument.shared)
    return *argument.shared;
  if (argument.parts.empty())
    return neverSet(argument);
  return whole(argument.spec, argument.parts);
}

llvm::Expected<size_t> Session::Impl::find(llvm::StringRef name) const {
  auto found = numbers.find(name);
  if (found != numbers.end())
    return found->second;
  return llvm::createStringError("no program has an argument '" + name.str() +
                                 "'");
}

//===----------------------------------------------------------------------===//
// The programs
//===----------------------------------------------------------------------===//

/// Arguments of one name are one tensor.
static llvm::Error checkSame(const TensorSpec &a, const TensorSpec &b) {
  if (a.dtype == b.dtype && a.shape == b.shape && a.layout == b.layout)
    return llvm::Error::success();
  return llvm::createStringError(
      "two programs have an argument '" + a.name + "' each, of " +
      dtypeName(a.dtype).str() + " " + shapeText(a.shape) + " and " +
      dtypeName(b.dtype).str() + " " + shapeText(b.shape) +
      ", but it must be one tensor in one layout; compile them with the same "
      "options");
}

llvm::Expected<size_t> Session::Impl::addArgument(const TensorSpec &spec,
                                                  llvm::StringSet<> &own) {
  auto [entry, isNew] = numbers.try_emplace(spec.name, arguments.size());
  // Of several of one name in a program the first is known by it.
  bool isFirst = own.insert(spec.name).second;
  if (isNew || !isFirst) {
    arguments.push_back({spec, false, nullptr, {}, {}});
    return arguments.size() - 1;
  }
  if (llvm::Error error = checkSame(arguments[entry->second].spec, spec))
    return error;
  return entry->second;
}

llvm::Error Session::Impl::add(const Program &program) {
  Bound bound;
  bound.program = &program;
  llvm::StringSet<> own;
  for (const TensorSpec &spec : program.arguments()) {
    llvm::Expected<size_t> number = addArgument(spec, own);
    if (!number)
      return number.takeError();
    bound.arguments.push_back(*number);
  }
  auto ranks = size_t(world->numRanks());
  for (const TensorSpec &spec : program.results()) {
    bound.results.emplace_back();
    if (!spec.updates.empty()) {
      arguments[numbers.lookup(spec.updates)].isUpdated = true;
      continue;
    }
    bound.results.back().resize(ranks);
    for (int64_t rank : world->ranksHere())
      bound.results.back()[size_t(rank)] =
          HostTensor::zeros(spec.dtype, localShape(spec.layout, spec.shape));
  }
  bound.tables.resize(ranks);
  bound.onDevice.resize(bound.results.size());
  programs.push_back(std::move(bound));
  return llvm::Error::success();
}

/// The pointers that a rank's entry function gets. Those of arguments may be
/// others since the last step.
void Session::Impl::fillTable(Bound &bound, int64_t rank) {
  std::vector<void *> &table = bound.tables[size_t(rank)];
  table.clear();
  for (size_t number : bound.arguments) {
    const Argument &argument = arguments[number];
    // What is shared is not written.
    table.push_back(world->hasDevice() ? argument.onDevice.at(rank)
                                       : const_cast<uint8_t *>(
                                             argument.of(rank).bytes.data()));
  }
  for (auto [parts, device] : llvm::zip_equal(bound.results, bound.onDevice))
    if (!parts.empty())
      table.push_back(world->hasDevice() ? device.at(rank)
                                         : parts[size_t(rank)].bytes.data());
}

llvm::Error Session::Impl::step(size_t number) {
  Bound &bound = programs[number];
  for (size_t i : bound.arguments)
    if (!arguments[i].shared && arguments[i].parts.empty())
      return neverSet(arguments[i]);
  if (llvm::Error error = checkDevice(bound))
    return error;
  if (llvm::Error error = sendToDevices(bound))
    return error;
  for (int64_t rank : world->ranksHere())
    fillTable(bound, rank);
  last = nullptr;
  llvm::Expected<double> passed = world->step(
      bound.program->entry(), [&bound](int64_t rank) -> llvm::ArrayRef<void *> {
        return bound.tables[size_t(rank)];
      });
  if (!passed)
    return passed.takeError();
  seconds = *passed;
  last = &bound;
  noteOnDevices(bound);
  return llvm::Error::success();
}

llvm::Expected<HostTensor> Session::Impl::result(size_t number) {
  const TensorSpec &spec = last->program->results()[number];
  if (!spec.updates.empty())
    return get(numbers.lookup(spec.updates));
  if (llvm::Error error = fetchResult(number))
    return error;
  return whole(spec, last->results[number]);
}

llvm::Expected<size_t> Session::Impl::findResult(llvm::StringRef name) const {
  if (!last)
    return llvm::createStringError("no step has given a result yet");
  llvm::ArrayRef<TensorSpec> specs = last->program->results();
  const auto *found = llvm::find_if(specs, [&](const TensorSpec &spec) {
    return spec.name == name && spec.updates.empty();
  });
  if (found == specs.end())
    return llvm::createStringError("the program has no result '" + name.str() +
                                   "'");
  return size_t(found - specs.begin());
}

llvm::Expected<std::vector<HostTensor>>
Session::Impl::partsOfResult(size_t number) {
  const TensorSpec &spec = last->program->results()[number];
  if (!spec.updates.empty())
    return partsOfArgument(numbers.lookup(spec.updates));
  if (llvm::Error error = fetchResult(number))
    return error;
  std::vector<HostTensor> gathered;
  return copied(allParts(spec, last->results[number], gathered));
}

//===----------------------------------------------------------------------===//
// What a caller sees
//===----------------------------------------------------------------------===//

Session::Session(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
Session::~Session() = default;

llvm::Expected<std::unique_ptr<Session>>
Session::create(llvm::ArrayRef<const Program *> programs,
                const RunOptions &options) {
  if (programs.empty())
    return llvm::createStringError("a session must have a program");
  auto impl = std::make_unique<Impl>();
  impl->pieceBytes = options.pieceBytes;
  const Mesh &mesh = programs.front()->mesh();
  uint64_t hash = 0;
  for (const Program *program : programs)
    hash = 31 * hash + program->hash();
  hash = 31 * hash + options.settings;
  if (llvm::Error error =
          RankWorld::create(mesh, options, hash).moveInto(impl->world))
    return error;
  for (const Program *program : programs) {
    if (!(program->mesh() == mesh))
      return llvm::createStringError(
          "all programs of a session must be of one mesh, but they are of '" +
          meshText(mesh) + "' and '" + meshText(program->mesh()) + "'");
    if (llvm::Error error = impl->add(*program))
      return error;
  }
  return std::unique_ptr<Session>(new Session(std::move(impl)));
}

llvm::Error Session::set(llvm::StringRef argument, const HostTensor &whole) {
  llvm::Expected<size_t> number = impl->find(argument);
  return number ? impl->set(*number, whole, /*mayShare=*/false)
                : number.takeError();
}

llvm::Error Session::set(llvm::StringRef argument, const TensorView &whole,
                         llvm::function_ref<void()> release) {
  llvm::Expected<size_t> number = impl->find(argument);
  return number ? impl->set(*number, whole, release) : number.takeError();
}

llvm::Error Session::share(llvm::StringRef argument, const HostTensor &whole) {
  llvm::Expected<size_t> number = impl->find(argument);
  return number ? impl->set(*number, whole, /*mayShare=*/true)
                : number.takeError();
}

llvm::Expected<HostTensor> Session::get(llvm::StringRef argument) const {
  llvm::Expected<size_t> number = impl->find(argument);
  if (!number)
    return number.takeError();
  return impl->get(*number);
}

llvm::Expected<std::vector<HostTensor>>
Session::parts(llvm::StringRef argument) const {
  llvm::Expected<size_t> number = impl->find(argument);
  if (!number)
    return number.takeError();
  return impl->partsOfArgument(*number);
}

llvm::Error Session::step(size_t program) {
  if (program >= impl->programs.size())
    return llvm::createStringError(
        "the session has " + std::to_string(impl->programs.size()) +
        " programs, but number " + std::to_string(program) + " was to run");
  return impl->step(program);
}

llvm::Expected<HostTensor> Session::result(llvm::StringRef name) const {
  llvm::Expected<size_t> number = impl->findResult(name);
  if (!number)
    return number.takeError();
  return impl->result(*number);
}

llvm::Error Session::check() const { return impl->world->failures(); }

void Session::fail(llvm::StringRef why) { impl->world->fail(why.str()); }

double Session::seconds() const { return impl->seconds; }
int64_t Session::allocations() const { return impl->world->numAllocations(); }
llvm::Expected<std::vector<CollectiveCount>> Session::collectives() const {
  return impl->world->counts();
}
llvm::Expected<std::vector<int64_t>> Session::peakBytesPerRank() const {
  return impl->world->peakBytes();
}

} // namespace cp
