//===- reference/DocumentPlaces.cpp - Places within documents -------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arguments.h"
#include "OpArguments.h"
#include "reference/Reference.h"

namespace cp::kernels::reference {

static const char *placesOfRow(const DocumentPlacesArgs &args, int64_t row) {
  int64_t token = 0;
  for (int64_t i = 0; i < args.n; ++i) {
    int64_t end = *args.documents.at(row, i), begin = token;
    if (end < begin || end > args.l || (i == 0 && end != 0))
      return fail("document_places: entry %lld of row %lld is %lld, but each "
                  "is where a document of %lld tokens together ends, from 0 on",
                  (long long)i, (long long)row, (long long)end,
                  (long long)args.l);
    for (; token < end; ++token)
      *args.places.at(row, token) = token - begin;
  }
  if (token == args.l)
    return nullptr;
  return fail("document_places: the documents of row %lld have %lld tokens, "
              "expected %lld",
              (long long)row, (long long)token, (long long)args.l);
}

const char *documentPlaces(const Call &call) {
  DocumentPlacesArgs args;
  const char *wrong = decode(call, args);
  for (int64_t row = 0; !wrong && row < args.b; ++row)
    wrong = placesOfRow(args, row);
  return wrong;
}

} // namespace cp::kernels::reference
