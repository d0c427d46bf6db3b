#!/usr/bin/env bash
# Trains a hybrid (Mamba-2, attention, MLP) of 3 million parameters on the bytes of
# the Constitution of the United States, which is in the public domain. Exits 1 where
# the loss of the last step is not below what the frequencies of bytes alone give,
# unless there are fewer than 50 steps.
# usage: scripts/train.sh [--ranks=N] [--strategy=S] [--steps=K]
#          [--optimizer=sgd|adamw] [--dtype=f32|f64|bf16] [--csv=F]
#          [and what else cp-train takes]
set -euo pipefail
cd "$(dirname "$0")/.."
dtype=f32 csv='' steps=200 flags=()
for flag in "$@"; do
  case $flag in
  --dtype=*) dtype=${flag#*=} ;;
  --csv=*) csv=${flag#*=} ;;
  --steps=*) steps=${flag#*=} ;;
  --help | -h)
    sed -n '2,8p' "$0"
    exit
    ;;
  --*) flags+=("$flag") ;;
  *)
    echo "scripts/train.sh: error: '$flag' is no option; see --help" >&2
    exit 2
    ;;
  esac
done
example=examples/bytes
scripts/build.sh release cp-train cp-translate
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
build/bin/cp-translate --import-hf --batch=2 --seq=256 --dtype="$dtype" \
  $example/hybrid.json -o "$work/model.mlir"
build/bin/cp-train "$work/model.mlir" --data=$example/constitution.txt \
  --steps="$steps" --lr=1e-3 --warmup=10 --csv="$work/curve.csv" ${flags[@]+"${flags[@]}"}
if [ -n "$csv" ]; then
  cp "$work/curve.csv" "$csv"
fi
python3 - "$work/curve.csv" $example/constitution.txt <<'PYTHON'
import collections
import csv
import math
import sys

rows = list(csv.DictReader(open(sys.argv[1], encoding="utf-8")))
text = open(sys.argv[2], "rb").read()
counts = collections.Counter(text)
entropy = -sum(n / len(text) * math.log(n / len(text)) for n in counts.values())
loss = float(rows[-1]["loss"])
print(f"loss {loss:.3f}; the frequencies of bytes alone give {entropy:.3f}")
if len(rows) >= 50 and not loss < entropy:
    sys.exit("the loss is not below that")
PYTHON
