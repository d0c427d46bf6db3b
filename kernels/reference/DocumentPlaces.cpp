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

/// Each entry of its list, which the other ranks have too.
static const char *checkRow(const DocumentPlacesArgs &args, int64_t row) {
  int64_t token = 0;
  for (int64_t i = 0; i < args.n; ++i) {
    int64_t end = *args.documents.at(args.own, row, i);
    if (end < token || end > args.tokens || (i == 0 && end != 0))
      return fail("document_places: entry %lld of row %lld is %lld, but each "
                  "is where a document of %lld tokens together ends, from 0 on",
                  (long long)i, (long long)row, (long long)end,
                  (long long)args.tokens);
    for (int64_t rank = 0; rank < args.r; ++rank)
      if (*args.documents.at(rank, row, i) != end)
        return fail("document_places: rank %lld has other documents in row "
                    "%lld than rank %lld, expected the same",
                    (long long)rank, (long long)row, (long long)args.own);
    token = end;
  }
  if (token == args.tokens)
    return nullptr;
  return fail("document_places: the documents of row %lld have %lld tokens, "
              "expected %lld",
              (long long)row, (long long)token, (long long)args.tokens);
}

/// How far each token is behind where a document begins.
static void placesOfRow(const DocumentPlacesArgs &args, int64_t row) {
  for (int64_t i = 0; i < args.l; ++i) {
    int64_t token = args.rows.data ? *args.rows.at(i) : i, begin = 0;
    for (int64_t k = 0; k < args.n; ++k)
      if (int64_t entry = *args.documents.at(args.own, row, k); entry <= token)
        begin = entry;
    *args.places.at(row, i) = token - begin;
  }
}

const char *documentPlaces(const Call &call) {
  DocumentPlacesArgs args;
  const char *wrong = decode(call, args);
  for (int64_t row = 0; !wrong && row < args.b; ++row)
    wrong = checkRow(args, row);
  for (int64_t row = 0; !wrong && row < args.b; ++row)
    placesOfRow(args, row);
  return wrong;
}

} // namespace cp::kernels::reference
