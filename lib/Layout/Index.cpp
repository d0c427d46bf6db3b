//===- Index.cpp - Global and local numbers of elements -------------------===//
//
// Part of cp-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "cp/Layout/Layout.h"

#include "AppendRun.h"

using namespace cp;

/// Where a rank is on all axes of some cuts together.
static int64_t jointPosition(const Mesh &mesh, const std::vector<Cut> &cuts,
                             int64_t rank) {
  int64_t position = 0;
  for (const Cut &cut : cuts)
    position =
        position * mesh.axes[cut.axis].size + mesh.coordinate(rank, cut.axis);
  return position;
}

/// Its inverse: where that is on each axis.
static std::vector<int64_t> coordinatesOf(const Mesh &mesh,
                                          const std::vector<Cut> &cuts,
                                          int64_t position) {
  std::vector<int64_t> coordinates(cuts.size());
  for (size_t i = cuts.size(); i-- > 0;) {
    int64_t ranks = mesh.axes[cuts[i].axis].size;
    coordinates[i] = position % ranks;
    position /= ranks;
  }
  return coordinates;
}

int64_t cp::globalIndex(const Mesh &mesh, const std::vector<Cut> &cuts,
                        int64_t size, int64_t rank, int64_t local) {
  // Such cuts are one, and leave room that may hold nothing.
  if (isBySizes(cuts)) {
    int64_t position = jointPosition(mesh, cuts, rank);
    if (local >= cuts.back().sizes[size_t(position)])
      return size;
    return runsOf(cuts.back(), numPositions(mesh, cuts), position, size)
        .globalOf(local);
  }
  int64_t length = paddedSize(mesh, cuts, size);
  for (const Cut &cut : cuts)
    length /= mesh.axes[cut.axis].size;
  for (size_t i = cuts.size(); i-- > 0;) {
    int64_t ranks = mesh.axes[cuts[i].axis].size;
    length *= ranks;
    local = runsOf(cuts[i], ranks, mesh.coordinate(rank, cuts[i].axis), length)
                .globalOf(local);
  }
  return local;
}

Home cp::homeOf(const Mesh &mesh, const std::vector<Cut> &cuts, int64_t size,
                int64_t global) {
  if (isBySizes(cuts)) {
    auto [position, local] =
        holderOf(cuts.back(), numPositions(mesh, cuts), size, global);
    return {coordinatesOf(mesh, cuts, position), local};
  }
  Home home{{}, global};
  int64_t length = paddedSize(mesh, cuts, size);
  for (const Cut &cut : cuts) {
    int64_t ranks = mesh.axes[cut.axis].size;
    auto [position, local] = holderOf(cut, ranks, length, home.local);
    home.coordinates.push_back(position);
    home.local = local;
    length = roomOf(cut, ranks, length);
  }
  return home;
}

/// What `taken` holds of a string that is itself given as runs.
static std::vector<Run> select(const std::vector<Run> &string,
                               const CutRuns &taken) {
  std::vector<Run> numbered, selected;
  for (const Run &run : string)
    run.forEach([&](int64_t global, int64_t local, int64_t length) {
      numbered.push_back({local, global, length});
    });
  // Here dst numbers the part, and src the whole.
  forEachCommon(taken, numbered, [&](const Segment &segment) {
    for (int64_t i = 0; i < segment.count; ++i)
      appendRun(selected, segment.src + i * segment.srcStep, segment.length);
  });
  return selected;
}

/// Runs of equal length at equal distances become one, from three on.
static std::vector<Run> folded(const std::vector<Run> &runs) {
  std::vector<Run> result;
  for (size_t i = 0; i < runs.size();) {
    Run run = runs[i];
    size_t next = i + 1;
    if (next < runs.size())
      run.step = runs[next].global - run.global;
    while (next < runs.size() && runs[next].length == run.length &&
           runs[next].global - runs[next - 1].global == run.step)
      ++next;
    bool folds = next - i > 2;
    run.count = folds ? int64_t(next - i) : 1;
    result.push_back(run);
    i = folds ? next : i + 1;
  }
  return result;
}

/// Without what is behind the first `size` elements of the whole.
static std::vector<Run> below(int64_t size, const std::vector<Run> &runs) {
  std::vector<Run> kept;
  for (const Run &run : runs)
    clip(run, 0, size, [&](int64_t global, int64_t length, int64_t count) {
      kept.push_back({global, *run.localOf(global), length, count,
                      count > 1 ? run.step : 0});
    });
  return kept;
}

std::vector<Run> cp::runsOf(const Mesh &mesh, const std::vector<Cut> &cuts,
                            int64_t size, int64_t rank) {
  if (size == 0)
    return {};
  int64_t length = paddedSize(mesh, cuts, size);
  bool isPadded = length != size;
  std::vector<Run> runs = {{0, 0, length}};
  if (isBySizes(cuts)) {
    CutRuns taken = runsOf(cuts.back(), numPositions(mesh, cuts),
                           jointPosition(mesh, cuts, rank), length);
    runs.assign(taken.begin(), taken.end());
    return isPadded ? below(size, runs) : runs;
  }
  for (const Cut &cut : cuts) {
    int64_t ranks = mesh.axes[cut.axis].size;
    CutRuns taken = runsOf(cut, ranks, mesh.coordinate(rank, cut.axis), length);
    length = roomOf(cut, ranks, length);
    if (runs.size() > 1 || runs.front().count > 1) {
      runs = folded(select(runs, taken));
      continue;
    }
    int64_t first = runs.front().global;
    runs.assign(taken.begin(), taken.end());
    for (Run &run : runs)
      run.global += first;
  }
  return isPadded ? below(size, runs) : runs;
}
