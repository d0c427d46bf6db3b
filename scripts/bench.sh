#!/usr/bin/env bash
# Measures kernels, exchanges and whole models beside other libraries and beside
# what the machine can do, in one run; see docs/Benchmarks.md.
#   scripts/bench.sh               every row
#   scripts/bench.sh --rows=REGEX  those whose name matches
#   scripts/bench.sh --quick       three rounds, nothing compiled by torch
# Exit code 0: every row passes; 1: one is short; 2: a side could not be built or
# did not answer.
set -euo pipefail
cd "$(dirname "$0")/.."
case "${1:-}" in -h | --help) sed -n '2,9p' "$0"; exit 0 ;; esac

# Of the peers only, so that scripts/setup.sh does not ask for them.
packages=(python3-venv openmpi-bin libopenmpi-dev)
missing=()
for package in "${packages[@]}"; do
  dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null |
    grep -qx installed || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
  if [ "$(id -u)" -ne 0 ]; then
    echo "bench: install these packages as root and try again:" >&2
    echo "  apt-get update && apt-get install -y --no-install-recommends ${missing[*]}" >&2
    exit 2
  fi
  echo "bench: installing ${missing[*]}" >&2
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
    --no-install-recommends "${missing[@]}" >&2 || exit 2
fi

scripts/build.sh release cp-bench-worker cp-bench-transport cprt_ucx cprt_openmpi >&2 || exit 2
venv=build/bench-venv
libraries=(numpy onnx onnxruntime torch transformers)
if ! [ -e $venv/complete ]; then
  echo "bench: installing ${libraries[*]} into $venv" >&2
  if ! { python3 -m venv $venv &&
    $venv/bin/pip install --quiet "${libraries[@]}" >&2; }; then
    echo "bench: pip could not install the peers; say by its own settings" \
      "(pip config) which registry to use, and try again" >&2
    exit 2
  fi
  touch $venv/complete
fi
mkdir -p build/bench
mpicc -O3 -o build/bench/alltoall benchmarks/peers/alltoall.c || exit 2
cc -shared -fPIC -o build/bench/widest_mkl.so benchmarks/peers/widest_mkl.c || exit 2
for library in onnxruntime torch transformers; do
  $venv/bin/python -c "
import importlib.metadata
print('peer: $library', importlib.metadata.version('$library'))"
done
echo "peer: $(mpirun --version | head -1)"
exec $venv/bin/python benchmarks/driver --build="$PWD/build" "$@"
