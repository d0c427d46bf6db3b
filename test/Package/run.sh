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

compile() { # project, package prefix or build tree, options of cmake
  cmake -S "$from/$1" -B "$work/$1" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_PREFIX_PATH="$2" "${@:3}" >"$work/log" 2>&1 &&
    cmake --build "$work/$1" >>"$work/log" 2>&1 || {
    cat "$work/log" >&2
    return 1
  }
}
from=$here # the folder of the projects

echo "== install"
cmake --install "$build" --prefix "$work/cp" >/dev/null

echo "== a dialect of its own, on the installed package"
compile gated "$work/cp"
"$work/gated/gated-run" "$here/gated.mlir" "$here/gated-zigzag.mlir" \
  "$here/gated-window.mlir" "$here/gated-window-broken.mlir"
"$work/gated/gradient-run" "$here/gated.mlir"
"$work/gated/delta-run" "$here/gated-delta.mlir" \
  "$here/gated-delta-broken.mlir"
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

if test -e "$work/cp/lib/libcprt_ucx.so"; then
  echo "== C, as a job"
  "$root/test/Integration/Inputs/launch.py" -n 2 "$work/capi/capi" \
    "$root/examples/layer.mlir" "$work/cp/lib/libcprt_ucx.so" 2>"$work/errors" || {
    cat "$work/errors" >&2
    exit 1
  }
  # One rank too many is told by all of them.
  if "$root/test/Integration/Inputs/launch.py" -n 3 "$work/capi/capi" \
    "$root/examples/layer.mlir" "$work/cp/lib/libcprt_ucx.so" 2>"$work/errors"; then
    echo "a job of three ran a session of two" >&2
    exit 1
  fi
  grep -q "has 2 ranks, but the job of transport [a-z]* has 3 processes" "$work/errors"
else
  echo "== C, as a job: left out, there is no UCX"
fi

echo "== C, on the build tree"
rm -rf "$work/capi"
compile capi "$build"
"$work/capi/capi" "$root/examples/layer.mlir" >/dev/null 2>&1

echo "== the projects of docs/Embedding.md"
from=$work/page
python3 "$here/page_projects.py" "$root/docs/Embedding.md" "$from"
"$work/cp/bin/cp-tblgen" -gen-c-readers -I "$work/cp/include" \
  "$from/operations/Operations.td" >"$work/calls.h"
grep -q 'int gated_recurrence_read(' "$work/calls.h"
cc -std=c11 -Wall -Wextra -Wpedantic -Werror -I "$work/cp/include" -fsyntax-only \
  -x c "$work/calls.h"
shows_batches() { # as the page does
  "$work/batch/my-batches" | sed 's/^/    /' >"$work/batches"
  grep '^    rank ' "$root/docs/Embedding.md" | cmp - "$work/batches"
}
for package in "$work/cp" "$build"; do
  rm -rf "$work/compiler" "$work/c" "$work/runtime"
  compile compiler "$package"
  "$work/compiler/my-compiler" "$root/examples/layer.mlir" >"$work/page.mlir"
  "$llvm/FileCheck" --check-prefix=HIDDEN --input-file="$work/page.mlir" "$here/expected.txt"
  compile c "$package"
  "$work/c/my-c-compiler" "$root/examples/layer.mlir" 2>"$work/page.mlir"
  "$llvm/FileCheck" --check-prefix=HIDDEN --input-file="$work/page.mlir" "$here/expected.txt"
  compile runtime "$package"
  test "$("$work/runtime/my-program")" = $'3\n3'
  rm -rf "$work/batch"
  compile batch "$package"
  shows_batches
done

echo "== the runtime alone, where there is no MLIR"
cmake --install "$build" --prefix "$work/alone" --component runtime >/dev/null
if find "$work/alone" -type f | grep -v '/lib[^/]*\.a$\|/libcprt\(_[a-z]*\)\?\.so$\|/cprt\(_[a-z]*\)\?\.h$\|/[A-Z][a-z]*Operations\.h\.inc$\|/CP[^/]*\.cmake$\|/bin/cp-launch$'; then
  echo "the files above are not of the runtime" >&2
  exit 1
fi
"$build/bin/cp-compile" "$root/examples/layer.mlir" --ranks=2 -o "$work/layer.so"
"$work/alone/bin/cp-launch" --quiet "$work/layer.so" --outputs="$work/layer.safetensors"
test -s "$work/layer.safetensors"
# Transports are found beside it.
if test -e "$work/alone/lib/libcprt_ucx.so"; then
  "$root/test/Integration/Inputs/launch.py" -n 2 "$work/alone/bin/cp-launch" \
    --quiet "$work/layer.so" --outputs="$work/job.safetensors"
  cmp "$work/layer.safetensors" "$work/job.safetensors"
fi
for package in "$work/alone" "$work/cp"; do
  rm -rf "$work/runtime" "$work/batch"
  compile runtime "$package" -DCMAKE_DISABLE_FIND_PACKAGE_MLIR=ON
  test "$("$work/runtime/my-program")" = $'3\n3'
  compile batch "$package" -DCMAKE_DISABLE_FIND_PACKAGE_MLIR=ON
  shows_batches
done
sed -i 's/COMPONENTS runtime/& OPTIONAL_COMPONENTS compiler/' "$from/runtime/CMakeLists.txt"
for package in "$work/alone" "$work/cp"; do
  rm -rf "$work/runtime"
  compile runtime "$package" -DCMAKE_DISABLE_FIND_PACKAGE_MLIR=ON
done
refused() { # project, package, what cmake must say
  rm -rf "${work:?}/$1"
  if compile "$1" "$2" 2>/dev/null; then
    echo "$1 is configured on $2" >&2
    return 1
  fi
  # Its lines are broken anywhere.
  tr -s ' \n' ' ' <"$work/log" | grep -q "$3" || {
    cat "$work/log" >&2
    return 1
  }
}
refused c "$work/alone" 'only the runtime of cp-mlir is installed here'
sed -i 's/COMPONENTS runtime.*/COMPONENTS runtme)/' "$from/runtime/CMakeLists.txt"
refused runtime "$work/cp" "no component 'runtme'"
from=$here

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
for tool in cp-opt cp-run cp-train cp-translate cp-lsp-server cp-reduce cp-tblgen; do
  "$work/cp/bin/$tool" --help >/dev/null
done
echo "== the package is good"
