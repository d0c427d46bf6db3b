//===- LetterFuzzer.cpp - Letters of ranks, from anyone -------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What comes over a control connection, in pieces: letters are read, questions
// are answered by ranks that wait and that do not, and what these send comes
// back. A failure that is told must have a text, and questions must end.
//
//===----------------------------------------------------------------------===//

#include "Messages/Joining.h"
#include "Messages/Whereabouts.h"

#include <cstdint>
#include <cstdlib>

using namespace cp::runtime;

namespace {
constexpr int64_t numRanks = 3;

/// Ranks of one group, of which the first has not come and the others wait.
class Ranks {
public:
  Ranks() {
    static const int64_t table[] = {0, 0, 0, 7};
    if (call.decode("all_to_all", table, nullptr))
      std::abort();
    for (int64_t rank = 0; rank < numRanks; ++rank)
      ranks.push_back(std::make_unique<Whereabouts>(
          rank, [this](Letter letter) { sent.push_back(std::move(letter)); },
          [](const Failure &failure) {
            if (failure.message.empty())
              std::abort();
          }));
    for (int64_t rank = 1; rank < numRanks; ++rank) {
      Whereabouts &each = *ranks[size_t(rank)];
      each.waitFor(rank - 1, group, each.enter(each.callsOf(group), call));
    }
  }

  void hear(const Letter &letter) {
    for (auto &rank : ranks) {
      rank->answer(letter);
      rank->hearOfAbsence(letter);
    }
    (void)failureOf(letter);
    // Ways have no rank twice: as many turns as there are ranks end them.
    for (int64_t turn = 0; turn <= numRanks; ++turn) {
      std::vector<Letter> letters;
      letters.swap(sent);
      for (const Letter &each : letters)
        if (each.kind == Letter::Kind::Where && each.to >= 0 &&
            each.to < numRanks)
          ranks[size_t(each.to)]->answer(each);
    }
    sent.clear();
  }

private:
  const std::vector<int64_t> group = {0, 1, 2};
  Descriptor call;
  std::vector<Letter> sent;
  std::vector<std::unique_ptr<Whereabouts>> ranks;
};
} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  Ranks ranks;
  LetterReader reader;
  const char *bytes = reinterpret_cast<const char *>(data);
  for (size_t at = 0; at < size;) {
    size_t piece = std::min<size_t>(1 + data[at] % 64, size - at);
    reader.add(bytes + at, piece);
    at += piece;
    while (std::optional<Letter> letter = reader.next())
      ranks.hear(*letter);
  }
  return 0;
}
