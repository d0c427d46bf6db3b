//===- Declarations.cpp - C declarations of operations ---- -*- C++ -*-===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Table.h"

#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace cp::tblgen {

/// Writes comment lines of at most 80 columns.
class Comment {
public:
  explicit Comment(raw_ostream &os) : os(os) {}

  void line(StringRef text) {
    os << (text.empty() ? "///" : "/// ") << text << "\n";
  }
  /// "ins x[b,l], y[b].", filled.
  void list(StringRef title, ArrayRef<std::string> items) {
    std::string text = title.str();
    for (size_t i = 0; i < items.size(); ++i) {
      std::string item = items[i] + (i + 1 < items.size() ? "," : ".");
      if (text.size() + 1 + item.size() > 76) {
        line(text);
        text = "       ";
      }
      text += " " + item;
    }
    if (!items.empty())
      line(text);
  }

private:
  raw_ostream &os;
};

static std::vector<std::string> textsOf(ArrayRef<Tensor> tensors) {
  std::vector<std::string> texts;
  for (const Tensor &tensor : tensors)
    texts.push_back(tensor.text());
  return texts;
}

static std::vector<std::string> textsOf(ArrayRef<Attribute> attributes) {
  std::vector<std::string> texts;
  for (const Attribute &attribute : attributes) {
    texts.push_back(attribute.name + (attribute.isArray() ? "[]" : ""));
  }
  return texts;
}

void writeDeclarations(const RecordKeeper &records, raw_ostream &os) {
  writeHead("The declarations of operations", os);
  for (const Operation &operation : operationsOf(records)) {
    Comment comment(os);
    for (const std::string &line : operation.description)
      comment.line(line);
    if (!operation.description.empty())
      comment.line("");
    comment.list("  ins  ", textsOf(operation.ins));
    comment.list("  outs ", textsOf(operation.outs));
    comment.list("  attrs", textsOf(operation.attributes));
    if (operation.takesFunction)
      os << "void cprt_" << operation.symbol
         << "(cprt_context *context, cprt_stream *stream,\n"
            "    const int64_t *desc, void *const *buffers, cprt_op "
            "*function);\n";
    else
      os << "cprt_op cprt_" << operation.symbol << ";\n";
  }
}

void writeList(const RecordKeeper &records, raw_ostream &os) {
  writeHead("The list of operations", os);
  os << "#ifndef CPRT_OPERATION\n#define CPRT_OPERATION(symbol)\n#endif\n"
        "#ifndef CPRT_MOVE\n#define CPRT_MOVE(symbol)\n#endif\n\n";
  for (const Operation &operation : operationsOf(records)) {
    if (operation.takesFunction)
      continue;
    os << "CPRT_OPERATION(" << operation.symbol << ")\n";
    if (operation.onlyMoves)
      os << "CPRT_MOVE(" << operation.symbol << ")\n";
  }
  os << "\n#undef CPRT_OPERATION\n#undef CPRT_MOVE\n";
}

} // namespace cp::tblgen
