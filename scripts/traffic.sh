#!/usr/bin/env bash
# What one layer sends, by model, number of ranks and form, beside the formulas of
# other systems; docs/Traffic.md holds the table. Ends with 1 when a bound is missed.
#
#   scripts/traffic.sh [--check]     --check: compare with docs/Traffic.md instead
set -euo pipefail
cd "$(dirname "$0")/.."
build=${CP_BUILD:-build}
page=docs/Traffic.md
table=$(python3 scripts/traffic.py "$build/bin") && status=0 || status=$?
if [[ ${1:-} != --check ]]; then
  echo "$table"
  exit "$status"
fi
if [[ $status -ne 0 ]]; then
  echo "$table" | grep -E 'short' >&2 || echo "$table" >&2
  exit "$status"
fi
if ! diff <(echo "$table") <(sed '1,/^<!-- table -->$/d' "$page"); then
  echo "$page is not what scripts/traffic.sh prints; write its output behind the mark" >&2
  exit 1
fi
