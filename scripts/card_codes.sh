#!/usr/bin/env bash
# Compiles each kernel for cards by itself for every kind of card, and says what
# ptxas makes of them; fails where registers are spilled, or products of warpgroups
# wait for each other.
#   scripts/card_codes.sh [FILE.cu...]    (default: all of kernels/cuda)
# Needs nvcc, and the generated headers of a build (build/kernels/cpu).
set -euo pipefail
cd "$(dirname "$0")/.."
[ -f build/kernels/cpu/KernelReaders.inc ] || {
  echo "card_codes: run scripts/build.sh first, which makes headers" >&2
  exit 2
}
if [ $# -gt 0 ]; then
  files=("$@")
else
  files=(kernels/cuda/*.cu)
fi
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
code() { # file, architecture
  local log
  log=$logs/$(basename "$1" .cu).$2
  nvcc -std=c++17 -O3 -gencode "arch=compute_$2,code=sm_$2" -Xptxas -v \
    -I include -I . -I kernels -I kernels/cuda -I kernels/cpu -I build/kernels/cpu \
    -c "$1" -o "$log.o" >"$log" 2>&1 || {
    cat "$log" >&2
    return 1
  }
}
export -f code
export logs
# shellcheck disable=SC2016 # The shell that xargs starts expands it.
printf '%s\n' "${files[@]}" |
  xargs -P "$(nproc)" -I FILE bash -c 'for kind in 80 90a 100f; do code FILE $kind || exit 255; done'
awk '/Compiling entry function/ { split($0, part, "\047"); kernel = part[2] }
  /bytes spill stores/ {
    kernels++
    if (!/ 0 bytes spill stores, 0 bytes spill loads/) { spilled++; print FILENAME ": " kernel ": " $0 }
  }
  /wgmma.* serialized/ { serialized++; print FILENAME ": " $0 }
  END {
    print kernels " kernels, of which " spilled + 0 " spill registers and " \
      serialized + 0 " multiply one by one"
    exit spilled > 0 || serialized > 0 || kernels == 0
  }' "$logs"/*.80 "$logs"/*.90a "$logs"/*.100f
