#!/usr/bin/env bash
# Builds the fuzz targets and runs each from its seeds for so many seconds. Ends
# with an error upon a finding and says where the input lies that repeats it.
# usage: scripts/fuzz.sh SECONDS [TARGET...]   (all: ir safetensors index npy config batch letter)
# CP_FUZZ_SEED=N fixes the order of the mutations.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:?usage: scripts/fuzz.sh SECONDS [TARGET...]}
shift
[ $# -gt 0 ] || set -- ir safetensors index npy config batch letter
scripts/build.sh fuzz
work=build-fuzz/runs
fuzz/make_seeds.py test "$work/seeds/ir"

run_target() { # target, seconds
  local findings=$work/findings/$1 found=$work/found/$1 seeds=fuzz/corpus/$1
  # A hang is told by the clock, and other work may hold the machine up.
  local options=(-timeout=25 -rss_limit_mb=4096 -max_len=8192 "-seed=${CP_FUZZ_SEED:-0}")
  # The mutator of IR chooses how much it changes.
  [ "$1" = ir ] && options+=(-mutate_depth=1)
  [ "$1" = ir ] && seeds=$work/seeds/ir
  [ -f "fuzz/$1.dict" ] && options+=("-dict=fuzz/$1.dict")
  # What earlier runs found would make this one start elsewhere.
  rm -rf "$findings" "$found"
  mkdir -p "$findings" "$found"
  if "build-fuzz/bin/fuzz-$1" "${options[@]}" "-max_total_time=$2" \
    "-artifact_prefix=$findings/" "$found" "$seeds" >"$work/$1.log" 2>&1; then
    echo "fuzz-$1: no finding ($(grep -a '^Done' "$work/$1.log"))"
    return
  fi
  echo "fuzz-$1: a finding; repeat it with"
  for input in "$findings"/*; do
    echo "  build-fuzz/bin/fuzz-$1 $input"
  done
  grep -a -m 1 -A 8 -E 'ERROR: |runtime error: |^finding: ' "$work/$1.log" ||
    tail -n 20 "$work/$1.log"
  return 1
}
export -f run_target
export work

printf '%s\0' "$@" |
  xargs -0 -P "$(nproc)" -I TARGET bash -c 'run_target TARGET '"$seconds"
