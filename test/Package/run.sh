#!/usr/bin/env bash
# Tries the package as its users have it: installed into an empty folder, and
# straight from the build tree.
# usage: run.sh BUILD_DIR LLVM_TOOLS_DIR
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
build=$(cd "$1" && pwd)
llvm=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

compile() { # project, package prefix or build tree
  cmake -S "$here/$1" -B "$work/$1" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_PREFIX_PATH="$2" >"$work/log" 2>&1 &&
    cmake --build "$work/$1" >>"$work/log" 2>&1 || {
    cat "$work/log" >&2
    return 1
  }
}

echo "== install"
cmake --install "$build" --prefix "$work/cp" >/dev/null

echo "== a dialect of its own, on the installed package"
compile gated "$work/cp"
"$work/gated/gated-run" "$here/gated.mlir" "$here/gated-zigzag.mlir"
# Nothing of ours may know that dialect.
if grep -rIl 'gated\.recurrence\|GatedDialect' "$work/cp" "$root/lib" "$root/include"; then
  echo "the files above know the consumer's dialect" >&2
  exit 1
fi

echo "== C, on the installed package"
compile capi "$work/cp"
"$work/capi/capi" "$root/examples/layer.mlir" 2>"$work/errors" >"$work/capi.mlir" || {
  cat "$work/errors" >&2
  exit 1
}
"$llvm/FileCheck" --check-prefix=HIDDEN --input-file="$work/capi.mlir" "$here/expected.txt"
"$llvm/FileCheck" --check-prefix=ERRORS --input-file="$work/errors" "$here/expected.txt"

echo "== C, on the build tree"
rm -rf "$work/capi"
compile capi "$build"
"$work/capi/capi" "$root/examples/layer.mlir" >/dev/null 2>&1

echo "== the plugin, in a stock mlir-opt"
plugin() {
  "$llvm/mlir-opt" --load-dialect-plugin="$work/cp/lib/CPPlugin.so" \
    --load-pass-plugin="$work/cp/lib/CPPlugin.so" "$@"
}
plugin --pass-pipeline='builtin.module(cp-shard-pipeline{mesh=cp=4 mixer=hidden})' \
  "$root/examples/layer.mlir" |
  "$llvm/FileCheck" --check-prefix=HIDDEN "$here/expected.txt"
# Both hosts do the same, to the last byte.
pipeline='builtin.module(cp-pipeline{mesh=cp=4 mixer=sequence})'
plugin --pass-pipeline="$pipeline" "$root/examples/layer.mlir" >"$work/plugin.mlir"
"$work/cp/bin/cp-opt" --pass-pipeline="$pipeline" "$root/examples/layer.mlir" |
  cmp - "$work/plugin.mlir"

echo "== installed tools"
for tool in cp-opt cp-run cp-translate cp-lsp-server cp-reduce; do
  "$work/cp/bin/$tool" --help >/dev/null
done
echo "== the package is good"
