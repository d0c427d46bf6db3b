//===- DocumentArguments.cpp - Decodes calls of document_places -----------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "OpArguments.h"

namespace cp::kernels {

const char *decode(const Call &call, DocumentPlacesArgs &args) {
  Arguments in(call, "document_places");
  in.expectAttributes(2);
  in.expectBuffers(2, 2, 1, 1);
  if (in.error())
    return in.error();
  args.own = in.integer("own", 0);
  args.tokens = in.integer("tokens", 0);
  Dim r = {"r"}, b = {"b"}, n = {"n"}, l = {"l"};
  args.documents = in.input<int32_t>("documents", {&r, &b, &n});
  args.rows = in.optionalInput<int64_t>("rows", {&l});
  args.places = in.output<int64_t>("places", {&b, &l});
  in.expectAtLeast(n, 1);
  in.expectAtLeast(r, args.own + 1);
  args.r = r.size;
  args.b = b.size;
  args.n = n.size;
  args.l = l.size;
  return in.error();
}

} // namespace cp::kernels
