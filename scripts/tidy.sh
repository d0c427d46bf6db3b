#!/usr/bin/env bash
# clang-tidy over our sources; fails when it has something to say.
# usage: scripts/tidy.sh [FILE...]   (default: every source of the release build)
set -euo pipefail
cd "$(dirname "$0")/.."
files=("$@")
if [ ${#files[@]} -eq 0 ]; then
  mapfile -t all < <(git ls-files 'lib/*.cpp' 'kernels/*.cpp' 'tools/*.cpp' 'kernels/cuda/*.cu')
  # Of the code for cards what the tests compile for the host: the rest has no
  # command, without which clang-tidy guesses.
  for file in "${all[@]}"; do
    if grep -qF "\"file\": \"$PWD/$file\"" build/compile_commands.json; then
      files+=("$file")
    else
      echo "not built here, and so not read: $file"
    fi
  done
fi
# The headers that the build precompiled are another compiler's, and read anew.
printf '%s\0' "${files[@]}" |
  xargs -0 -n 1 -P "$(nproc)" clang-tidy-22 -p build --quiet --warnings-as-errors='*' \
    --extra-arg=-Wno-ignored-gch
