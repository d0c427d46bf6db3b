#!/usr/bin/env bash
# The main job, end to end: the published architecture of mamba2-130m with
# seeded weights reads a passage on 1 rank, then on 4 ranks, hidden-sharded and
# sequence-sharded, in f64 and in f32. All is compared with f64 on one rank. Ends in
# one table; exits 1 where a sharded run is farther off than rounding explains.
# usage: scripts/demo.sh [TOKENS]   (default 1024, at most the passage's bytes)
set -euo pipefail
cd "$(dirname "$0")/.."
tokens=${1:-1024}
ranks=4
example=examples/mamba2-130m
scripts/build.sh release cp-run cp-translate
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

run() { # dtype, name, cp-run arguments...
  local dtype=$1 name=$2
  shift 2
  echo "== $dtype, $name"
  build/bin/cp-run "$work/$dtype.mlir" --inputs=$example/passage.txt --seed=1 \
    --report="$work/$dtype-$name.json" "$@" | sed 's/^/   /'
}

for dtype in f64 f32; do
  build/bin/cp-translate --import-hf --seq="$tokens" --dtype=$dtype \
    $example/config.json -o "$work/$dtype.mlir"
done
oracle=$work/f64.safetensors
run f64 one --ranks=1 --outputs="$oracle"
# An untrained network of 24 layers magnifies rounding: what f32 may be off by is
# what one rank is, and the table holds the others to that.
run f32 one --ranks=1 --check-against="$oracle" --tolerance=1e-4
for strategy in hidden sequence; do
  sharded=(--ranks=$ranks --strategy=$strategy --check-against="$oracle")
  run f64 $strategy "${sharded[@]}" --tolerance=1e-12
  run f32 $strategy "${sharded[@]}" --tolerance=1e-4
done
python3 scripts/demo_table.py "$work"
