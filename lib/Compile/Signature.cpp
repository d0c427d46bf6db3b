//===- Signature.cpp - What an entry function takes and gives ---*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Signature.h"

#include "cp/Frontend/InitAttr.h"
#include "cp/IR/CPDialect.h"
#include "cp/Layout/Refinement.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace cp {

llvm::Expected<func::FuncOp> findEntry(ModuleOp module, StringRef name) {
  func::FuncOp found;
  for (auto function : module.getOps<func::FuncOp>()) {
    if (function.isExternal() || !function.isPublic() ||
        (!name.empty() && function.getName() != name))
      continue;
    if (found)
      return llvm::createStringError(
          "the module has several public functions, '" + found.getName() +
          "' and '" + function.getName() +
          "'; choose one with --entry, or make the others private");
    found = function;
  }
  if (found)
    return found;
  if (!module.getOps<LLVM::LLVMFuncOp>().empty())
    return llvm::createStringError(
        "the module is in the LLVM dialect, where nothing says what its "
        "buffers "
        "are; give it as it was before cp-lower-pipeline");
  return llvm::createStringError(
      name.empty() ? Twine("the module has no public function to run")
                   : "the module has no public function '" + name + "'");
}

Stage stageOf(func::FuncOp function) {
  auto view = function->getAttrOfType<StringAttr>(viewAttr);
  if (!view)
    return Stage::Global;
  return view == "global" ? Stage::WithLayouts : Stage::Local;
}

/// As cp-unify-meshes makes it of these.
static llvm::Expected<std::optional<Mesh>>
refinedMesh(ArrayRef<MeshAttr> meshes) {
  std::vector<Mesh> all;
  for (MeshAttr mesh : meshes)
    all.push_back(mesh.toMesh());
  std::string error;
  std::optional<Refinement> refined = refine(all, error);
  if (!refined)
    return llvm::createStringError(error);
  return std::move(refined->mesh);
}

llvm::Expected<std::optional<Mesh>> meshOf(func::FuncOp function) {
  llvm::SmallSetVector<MeshAttr, 1> meshes;
  auto note = [&](Attribute attribute) {
    if (auto layout = dyn_cast_if_present<LayoutAttr>(attribute))
      meshes.insert(layout.getMesh());
    if (auto mesh = dyn_cast_if_present<MeshAttr>(attribute))
      meshes.insert(mesh);
  };
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    note(LayoutAttr::of(function.getArgument(i).getType()));
    note(function.getArgAttr(i, layoutAttr));
  }
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    note(function.getResultAttr(i, layoutAttr));
  function.walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      note(LayoutAttr::of(type));
    if (auto group = dyn_cast<GroupOpInterface>(op))
      note(group.getMesh());
  });
  if (meshes.empty())
    return std::nullopt;
  if (meshes.size() == 1)
    return meshes.front().toMesh();
  if (stageOf(function) != Stage::Local)
    return refinedMesh(meshes.getArrayRef());
  std::string text;
  llvm::raw_string_ostream(text) << meshes[0] << " and " << meshes[1];
  return llvm::createStringError("'" + function.getName() +
                                 "' must be a program of one mesh, but it "
                                 "names " +
                                 text);
}

static std::optional<DType> dtypeOf(Type type) {
  return llvm::TypeSwitch<Type, std::optional<DType>>(type)
      .Case([](Float32Type) { return DType::F32; })
      .Case([](Float64Type) { return DType::F64; })
      .Case([](BFloat16Type) { return DType::BF16; })
      .Case([](IntegerType i) -> std::optional<DType> {
        if (i.getWidth() == 32)
          return DType::I32;
        if (i.getWidth() == 64)
          return DType::I64;
        return std::nullopt;
      })
      .Default([](Type) { return std::nullopt; });
}

static llvm::Error tooLarge(const TensorSpec &spec) {
  return llvm::createStringError("'" + spec.name +
                                 "' has more bytes than 64 bits can count");
}

/// From one rank's part, which the IR's type is, to the whole tensor.
static llvm::Error makeWhole(TensorSpec &spec, const Layout &layout,
                             bool mayBeTerms) {
  const Mesh &mesh = spec.layout.mesh;
  if (!layout.partial.empty() && !mayBeTerms)
    return llvm::createStringError("'" + spec.name +
                                   "' is a partial sum, which has no whole "
                                   "tensor; add it up by a cp.reshard");
  if (!(layout.mesh == mesh) || layout.dims.size() != spec.shape.size())
    return llvm::createStringError("the cp.layout of '" + spec.name +
                                   "' is of another mesh or rank");
  for (size_t dim = 0; dim < spec.shape.size(); ++dim) {
    std::optional<int64_t> whole =
        wholeSize(mesh, layout.dims[dim], spec.shape[dim]);
    if (!whole && isBySizes(layout.dims[dim]))
      return llvm::createStringError(
          "dimension " + llvm::Twine(dim) + " of '" + spec.name +
          "' must have room for the largest of the sizes in its cp.layout, but "
          "has " +
          llvm::Twine(spec.shape[dim]));
    if (!whole)
      return tooLarge(spec);
    spec.shape[dim] = *whole;
  }
  spec.layout = layout;
  if (std::optional<std::string> wrong = check(layout, spec.shape))
    return llvm::createStringError("'" + spec.name + "': " + *wrong);
  return llvm::Error::success();
}

/// From what a program works on to what its callers have.
static llvm::Error keepLength(TensorSpec &spec, DictionaryAttr attributes) {
  auto number = [&](StringRef key) {
    return attributes ? attributes.getAs<IntegerAttr>(key) : IntegerAttr();
  };
  IntegerAttr length = number(lengthAttr), dim = number(sequenceAttr);
  if (!length)
    return llvm::Error::success();
  if (!dim || dim.getInt() < 0 || size_t(dim.getInt()) >= spec.shape.size() ||
      length.getInt() < 0)
    return llvm::createStringError("'" + spec.name +
                                   "' has a cp.length, and no cp.sequence of "
                                   "so many rows");
  auto along = size_t(dim.getInt());
  int64_t padded =
      paddedSize(spec.layout.mesh, spec.layout.dims[along], length.getInt());
  if (padded != spec.shape[along])
    return llvm::createStringError(
        "'" + spec.name + "' has a cp.length of " +
        std::to_string(length.getInt()) + ", which its cuts make " +
        std::to_string(padded) + " rows, but there are " +
        std::to_string(spec.shape[along]) +
        "; run it over the cuts that it was prepared for, or run what was "
        "given to cp-prepare-cuts");
  spec.shape[along] = length.getInt();
  return llvm::Error::success();
}

static std::string typeText(Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

/// What cp-expose-values has written.
static ExposedValue exposedValueOf(DictionaryAttr attributes) {
  auto number = [&](StringRef key) {
    auto value = attributes.getAs<IntegerAttr>(key);
    return value ? value.getInt() : -1;
  };
  auto text = [&](StringRef key) {
    auto value = attributes.getAs<StringAttr>(key);
    return value ? value.str() : "?";
  };
  ExposedValue value = {number("number"),
                        number("result"),
                        text("op"),
                        text("layer"),
                        text("location"),
                        {},
                        {}};
  if (auto repeated = attributes.getAs<DenseI64ArrayAttr>("repeated"))
    value.repeated = repeated.asArrayRef().vec();
  if (auto padded = attributes.getAs<DenseI64ArrayAttr>("padded"))
    value.padded = padded.asArrayRef().vec();
  return value;
}

static llvm::Expected<TensorSpec> specOf(Type type, DictionaryAttr attributes,
                                         const std::string &otherwise,
                                         const Mesh &mesh) {
  TensorSpec spec;
  auto text = [&](StringRef key) {
    return attributes ? attributes.getAs<StringAttr>(key) : StringAttr();
  };
  StringAttr param = text(paramAttr), name = text(nameAttr);
  spec.isParam = static_cast<bool>(param);
  spec.name = param ? param.str() : name ? name.str() : otherwise;
  if (attributes) {
    if (auto init = attributes.getAs<DictionaryAttr>(initAttr))
      spec.init = fromAttr(init);
    if (auto value = attributes.getAs<DictionaryAttr>(valueAttr))
      spec.value = exposedValueOf(value);
    spec.isResidual = attributes.contains(residualAttr);
    spec.isState = attributes.contains(stateAttr);
    spec.isAccumulator = attributes.contains(accumulatesAttr);
    if (StringAttr updated = text(updatesAttr))
      spec.updates = updated.str();
  }
  auto tensor = dyn_cast<RankedTensorType>(type);
  std::optional<DType> dtype =
      tensor ? dtypeOf(tensor.getElementType()) : std::nullopt;
  if (!dtype || !tensor.hasStaticShape())
    return llvm::createStringError(
        "'" + spec.name +
        "' must be a tensor of known sizes with elements of f32, f64, bf16, "
        "i32 or i64, but is '" +
        typeText(type) + "'");
  spec.dtype = *dtype;
  spec.shape.assign(tensor.getShape().begin(), tensor.getShape().end());
  spec.layout.mesh = mesh;
  spec.layout.dims.resize(spec.shape.size());
  if (auto layout = attributes ? attributes.getAs<LayoutAttr>(layoutAttr)
                               : LayoutAttr()) {
    if (isPerDocument(layout.toLayout()))
      return llvm::createStringError(
          "'" + spec.name +
          "' is cut per document, of which callers know nothing; let it come "
          "and go in contiguous order, and reshard it inside of the function");
    if (llvm::Error error = makeWhole(spec, layout.toLayout(),
                                      attributes.contains(gradientAttr)))
      return error;
  }
  if (!tensorBytes(spec.shape, spec.dtype))
    return tooLarge(spec);
  if (llvm::Error error = keepLength(spec, attributes))
    return error;
  return spec;
}

llvm::Expected<Signature> signatureOf(func::FuncOp function, const Mesh &mesh) {
  Signature signature;
  for (unsigned i = 0; i < function.getNumArguments(); ++i) {
    llvm::Expected<TensorSpec> spec =
        specOf(function.getArgument(i).getType(), function.getArgAttrDict(i),
               "arg" + std::to_string(i), mesh);
    if (!spec)
      return spec.takeError();
    signature.arguments.push_back(std::move(*spec));
  }
  for (unsigned i = 0; i < function.getNumResults(); ++i) {
    llvm::Expected<TensorSpec> spec =
        specOf(function.getResultTypes()[i], function.getResultAttrDict(i),
               "result" + std::to_string(i), mesh);
    if (!spec)
      return spec.takeError();
    signature.results.push_back(std::move(*spec));
  }
  return signature;
}

} // namespace cp
