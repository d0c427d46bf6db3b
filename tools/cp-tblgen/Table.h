//===- Table.h - The operations of a table -------------------- -*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef CP_TOOLS_CP_TBLGEN_TABLE_H
#define CP_TOOLS_CP_TBLGEN_TABLE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <map>
#include <string>
#include <vector>

namespace llvm {
class Record;
class RecordKeeper;
} // namespace llvm

namespace cp::tblgen {

/// A tensor of an operation; what its type and sizes mean stands in
/// OperationBase.td.
struct Tensor {
  std::string name, type;
  std::vector<std::string> sizes;
  bool isOptional, isVariadic;

  /// Whether a view of it can be made: it has the same number of dimensions in
  /// every call but one it may lack, and elements of one type.
  bool hasFixedRank() const;
  /// "initial?[b,w-1,c]"
  std::string text() const;
};

struct Attribute {
  std::string name, kind;
  int64_t least;

  bool isArray() const {
    return kind == "words" || kind == "axes" || kind == "orders";
  }
};

/// A CPRT_Operation.
struct Operation {
  const llvm::Record *record;
  std::string symbol;
  /// Its lines, without the indentation that all of them have.
  std::vector<std::string> description;
  std::vector<Tensor> ins, outs;
  std::vector<Attribute> attributes;
  bool isKernel, onlyMoves, hasMethod, takesFunction;

  /// Whether all tensors have fixed ranks and sizes of their own, so that they
  /// can be read without a line by hand.
  bool hasFixedRanks() const;
  /// How many inputs a call has at least: those up to the last one that is not
  /// optional.
  size_t requiredIns() const;
};

/// The operations in the order of the file, each of them checked.
std::vector<Operation> operationsOf(const llvm::RecordKeeper &records);

/// Ends the program with an error at the record where it says what cannot be: a
/// size that no earlier tensor has, a type or an attribute's kind that is not
/// known, a name that is given twice.
void check(const Operation &operation);

/// "SsdStates" and "ssdStates" of "ssd_states", as accessors of ops are named.
/// A lower name of one letter stays.
std::string upperCamel(llvm::StringRef name);
std::string lowerCamel(llvm::StringRef name);

/// The first lines of every file that is made.
void writeHead(llvm::StringRef what, llvm::raw_ostream &os);

// What can be made of a table; see cp-tblgen.cpp.
void writeDeclarations(const llvm::RecordKeeper &records,
                       llvm::raw_ostream &os);
void writeList(const llvm::RecordKeeper &records, llvm::raw_ostream &os);
void writeRuntimeTables(const llvm::RecordKeeper &records,
                        llvm::raw_ostream &os);
void writeKernelReaders(const llvm::RecordKeeper &records,
                        llvm::raw_ostream &os);
void writeCalls(const llvm::RecordKeeper &records, llvm::raw_ostream &os);
void writeCReaders(const llvm::RecordKeeper &records, llvm::raw_ostream &os);

/// The tables `<prefix>_ins`, `<prefix>_outs` and `<prefix>_attributes` of an
/// operation, and `<prefix>_signature`, in C.
void writeSignature(const Operation &operation, llvm::StringRef prefix,
                    llvm::raw_ostream &os);

} // namespace cp::tblgen

#endif // CP_TOOLS_CP_TBLGEN_TABLE_H
