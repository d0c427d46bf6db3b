#!/usr/bin/env bash
# Formats our C and C++ sources in place; with --check only says which are not.
set -euo pipefail
cd "$(dirname "$0")/.."
mapfile -t files < <(git ls-files '*.cpp' '*.h' '*.c' '*.cu')
if [ "${1:-}" = --check ]; then
  clang-format-22 --dry-run --Werror "${files[@]}"
else
  clang-format-22 -i "${files[@]}"
fi
