#!/usr/bin/env bash
# Tests and measures the kernels for cards on the card of this machine; see
# docs/GPU.md.
#   scripts/gpu.sh                    all of it, in a few minutes
#   scripts/gpu.sh --only=tests|sanitizer|bench
#   scripts/gpu.sh --programs=FOLDER  with CPCardKernelTests and cp-bench-cuda from
#                                     there (default: build-cuda/bin, which is
#                                     built where they are not there yet)
#   scripts/gpu.sh --peer=FOLDER      also times the Triton kernels of the package
#                                     mamba_ssm in that folder (needs torch)
#   scripts/gpu.sh --out=FOLDER       for bench.csv and the rest (default: gpu-out)
# Exit code 0: everything asked for ran and passed; 1: something did not; 2: there
# is no card, or the programs cannot be built.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
only='' programs=$root/build-cuda/bin peer='' out=$root/gpu-out
for option in "$@"; do
  case $option in
  --only=tests | --only=sanitizer | --only=bench) only=${option#*=} ;;
  --programs=*) programs=${option#*=} ;;
  --peer=*) peer=${option#*=} ;;
  --out=*) out=${option#*=} ;;
  *)
    sed -n '2,15p' "$0" >&2
    exit 2
    ;;
  esac
done

if ! nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader; then
  echo "gpu: no NVIDIA driver answers here; run this on a machine with a card" >&2
  exit 2
fi
if ! [ -x "$programs/CPCardKernelTests" ] || ! [ -x "$programs/cp-bench-cuda" ]; then
  [ "$programs" = "$root/build-cuda/bin" ] && "$root/scripts/build.sh" cuda || {
    echo "gpu: $programs has no CPCardKernelTests and cp-bench-cuda; build them by" \
      "scripts/build.sh cuda, which takes nvcc" >&2
    exit 2
  }
fi
mkdir -p "$out"

failed=()
stage() { # name, command...
  [ -z "$only" ] || [ "$only" = "$1" ] || return 0
  echo "== $1"
  "${@:2}" || failed+=("$1")
}

tests() {
  "$programs/CPCardKernelTests" --gtest_brief=1 2>&1 | tee "$out/tests.log" | tail -3
}

# Each tool makes kernels some hundred times slower.
sanitizer() {
  local tool
  for tool in memcheck racecheck synccheck; do
    echo "-- compute-sanitizer --tool=$tool"
    compute-sanitizer --tool=$tool --error-exitcode=1 "$programs/CPCardKernelTests" \
      --gtest_brief=1 --gtest_filter='SsdTilesTest.WithinTiles:SsdTilesTest.Parts*:SsdTest/*.Segments*:RmsNormTest/2.Matches*:Conv1dTest/2.Matches*' \
      >"$out/$tool.log" 2>&1 || { tail -20 "$out/$tool.log"; return 1; }
    tail -1 "$out/$tool.log"
  done
}

bench() {
  "$programs/cp-bench-cuda" | tee "$out/bench.csv" || return 1
  [ -z "$peer" ] && return 0
  python3 "$root/benchmarks/peers/cuda_mamba.py" "$peer" | tee "$out/peer.csv" || return 1
  python3 - "$out/bench.csv" "$out/peer.csv" <<'PYTHON'
import csv, sys
ours, theirs = (list(csv.DictReader(open(path))) for path in sys.argv[1:])
times = {(row["row"], row["tokens"]): float(row["us"]) for row in theirs}
print("row,tokens,ours us,peer us,ratio")
for row in ours:
    us = times.get((row["row"], row["tokens"]))
    if us:
        print(f"{row['row']},{row['tokens']},{row['us']},{us},{us / float(row['us']):.2f}")
PYTHON
}

stage tests tests
stage sanitizer sanitizer
stage bench bench
if [ ${#failed[@]} -gt 0 ]; then
  printf 'failed: %s\n' "${failed[@]}" >&2
  exit 1
fi
