#!/usr/bin/env bash
# Generates docs/reference from the TableGen files and the C headers; with
# --check only says what is out of date.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

PATH=$PATH:build/bin:/usr/lib/llvm-22/bin
mlir=$(llvm-config-22 --includedir 2>/dev/null || llvm-config --includedir)
tblgen() { # generator, file
  mlir-tblgen "-gen-$1" -I include -I "$mlir" "include/cp/$2" "${@:3}"
}
tblgen dialect-doc IR/CPOps.td -dialect=cp >"$out/Dialect.md"
{
  tblgen op-interface-docs IR/CPInterfaces.td
  # One page, one heading.
  tblgen op-interface-docs Adjoint/AdjointInterface.td | sed '1,/^# /d'
  tblgen op-interface-docs Trace/TraceInterface.td | sed '1,/^# /d'
} >"$out/Interfaces.md"
{
  echo "# Passes"
  echo
  tblgen pass-doc Transforms/Passes.td
} >"$out/Passes.md"
python3 scripts/c_header_docs.py "C API" include/cp-c/Registration.h \
  include/cp-c/Attributes.h include/cp-c/Session.h >"$out/CAPI.md"
mkdir "$out/made"
made=()
for part in Local Group; do
  name=cp/Runtime/${part}Operations
  cp-tblgen -gen-declarations -I include "include/$name.td" >"$out/made/$part"
  made+=("$name.h.inc=$out/made/$part")
done
python3 scripts/c_header_docs.py "Runtime" include/cp/Runtime/cprt.h \
  include/cp/Runtime/cprt_batch.h include/cp/Runtime/cprt_program.h \
  include/cp/Runtime/cprt_history.h include/cp/Runtime/cprt_transport.h \
  include/cp/Runtime/cprt_device.h \
  "${made[@]}" \
  >"$out/Runtime.md"
rm -r "$out/made"

if [ "${1:-}" = --check ]; then
  diff -r "$out" docs/reference || {
    echo "docs/reference is not what the sources say; run scripts/docs.sh" >&2
    exit 1
  }
else
  mkdir -p docs/reference
  cp "$out"/*.md docs/reference/
fi
