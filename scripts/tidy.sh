#!/usr/bin/env bash
# clang-tidy over our sources; fails when it has something to say.
# usage: scripts/tidy.sh [FILE...]   (default: every source of the release build)
set -euo pipefail
cd "$(dirname "$0")/.."
files=("$@")
if [ ${#files[@]} -eq 0 ]; then
  # Of the kernels for cards those that the tests compile for the host.
  mapfile -t files < <(git ls-files 'lib/*.cpp' 'kernels/*.cpp' 'tools/*.cpp' \
    'kernels/cuda/*.cu' ':!kernels/cuda/Device.cu')
fi
# The headers that the build precompiled are another compiler's, and read anew.
printf '%s\0' "${files[@]}" |
  xargs -0 -n 1 -P "$(nproc)" clang-tidy-22 -p build --quiet --warnings-as-errors='*' \
    --extra-arg=-Wno-ignored-gch
