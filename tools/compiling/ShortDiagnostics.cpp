//===- ShortDiagnostics.cpp - Errors that can be read -----------*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ShortDiagnostics.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Location.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace cp {
namespace {

constexpr int64_t mostOfAKind = 10;
constexpr size_t longestLine = 200, longestMessage = 2000;

StringRef nameOf(DiagnosticSeverity severity) {
  switch (severity) {
  case DiagnosticSeverity::Error:
    return "error";
  case DiagnosticSeverity::Warning:
    return "warning";
  case DiagnosticSeverity::Note:
    return "note";
  case DiagnosticSeverity::Remark:
    return "remark";
  }
  llvm_unreachable("every severity is handled above");
}

/// What diagnostics of one kind have in common: the beginning of the text,
/// without what is quoted and numbers.
std::string kindOf(DiagnosticSeverity severity, StringRef message) {
  constexpr size_t length = 60;
  std::string kind = nameOf(severity).str() + " ";
  bool isQuoted = false;
  for (char c : message) {
    if (c == '\'' || c == '"')
      isQuoted = !isQuoted;
    else if (!isQuoted && !llvm::isDigit(c))
      kind += c;
    if (kind.size() == length)
      break;
  }
  return kind;
}

std::string shortened(StringRef message) {
  if (message.size() <= longestMessage)
    return message.str();
  return (message.take_front(longestMessage) + "... (" +
          Twine(message.size() - longestMessage) + " more characters)")
      .str();
}

/// What is around the column, which counts from 1, and a mark below it.
void printAround(StringRef line, unsigned column) {
  constexpr size_t before = 60, width = 160;
  size_t place = std::min<size_t>(column ? column - 1 : 0, line.size());
  size_t begin = place > before ? place - before : 0;
  StringRef part = line.substr(begin, width);
  StringRef left = begin ? "..." : "";
  StringRef right = begin + part.size() < line.size() ? "..." : "";
  llvm::errs() << left << part << right << "\n";
  llvm::errs().indent(left.size() + place - begin) << "^\n";
}

} // namespace

ShortDiagnostics::ShortDiagnostics(llvm::SourceMgr &sources,
                                   MLIRContext *context)
    : sources(sources), handler(context, [this](Diagnostic &diagnostic) {
        return handle(diagnostic);
      }) {}

StringRef ShortDiagnostics::lineOf(Location location) const {
  auto place = location->findInstanceOf<FileLineColLoc>();
  for (unsigned id = 1; place && id <= sources.getNumBuffers(); ++id) {
    const llvm::MemoryBuffer *buffer = sources.getMemoryBuffer(id);
    if (buffer->getBufferIdentifier() != place.getFilename().strref())
      continue;
    const char *begin =
        sources.FindLocForLineAndColumn(id, place.getLine(), 1).getPointer();
    if (!begin)
      return {};
    StringRef rest(begin, size_t(buffer->getBufferEnd() - begin));
    return rest.take_until([](char c) { return c == '\n'; });
  }
  return {};
}

LogicalResult ShortDiagnostics::handle(Diagnostic &diagnostic) {
  std::string message = diagnostic.str();
  Kind &kind = kinds[kindOf(diagnostic.getSeverity(), message)];
  if (kind.seen == 0)
    kind.example = StringRef(message).take_front(longestLine / 2).str();
  if (++kind.seen > mostOfAKind)
    return success();
  auto isLong = [&](Diagnostic &part) {
    return lineOf(part.getLocation()).size() > longestLine ||
           part.str().size() > longestMessage;
  };
  if (!isLong(diagnostic) && llvm::none_of(diagnostic.getNotes(), isLong))
    return failure();
  print(diagnostic);
  for (Diagnostic &note : diagnostic.getNotes())
    print(note);
  return success();
}

void ShortDiagnostics::print(Diagnostic &diagnostic) {
  auto place = diagnostic.getLocation()->findInstanceOf<FileLineColLoc>();
  if (place)
    llvm::errs() << place.getFilename().strref() << ":" << place.getLine()
                 << ":" << place.getColumn() << ": ";
  llvm::errs() << nameOf(diagnostic.getSeverity()) << ": "
               << shortened(diagnostic.str()) << "\n";
  StringRef line = lineOf(diagnostic.getLocation());
  if (!line.empty())
    printAround(line, place.getColumn());
}

void ShortDiagnostics::printRest() {
  for (auto &[text, kind] : kinds)
    if (kind.seen > mostOfAKind)
      llvm::errs() << "and " << kind.seen - mostOfAKind << " more like '"
                   << kind.example << "...'\n";
  kinds.clear();
}

} // namespace cp
