#!/usr/bin/env bash
# Tests the Python package in an environment of its own, build-torch/venv, with torch,
# transformers and what checks Python: downloads some GB the first time.
#   scripts/torch.sh                   all of it
#   scripts/torch.sh tests/test_x.py   of pytest's arguments what they name
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/build.sh release
venv=$PWD/build-torch/venv
if [ ! -x "$venv/bin/pytest" ]; then
  python3 -m venv "$venv" 2>/dev/null || {
    rm -rf "$venv"
    echo "torch: python3 -m venv failed; install python3-venv" >&2
    exit 1
  }
  "$venv/bin/pip" install -q torch 'transformers>=5.23' numpy pytest ruff pyright
  # A peer, of which one file is used.
  "$venv/bin/pip" install -q --no-deps nemo_automodel
fi
"$venv/bin/pip" install -q ./python
# What is installed is tested, not the sources beside it.
cd build-torch
packages=$("$venv/bin/python" -c 'import cp_mlir; print(cp_mlir.__path__[0])')
case $packages in
"$venv"*) ;;
*)
  echo "torch: cp_mlir comes from $packages, not from the environment" >&2
  exit 1
  ;;
esac
"$venv/bin/ruff" check ../python
"$venv/bin/ruff" format --check ../python
"$venv/bin/pyright" --pythonpath "$venv/bin/python" -p ../python
OMP_NUM_THREADS=1 "$venv/bin/pytest" -q --show-capture=no -p no:cacheprovider \
  --rootdir=../python "${@:-../python/tests}"
# The page's example, on two ranks.
"$venv/bin/torchrun" --nproc-per-node=2 ../python/examples/finetune.py \
  ../test/Integration/goldens-hybrid/bamba ../README.md --steps 4 |
  tee finetune.log
grep -q 'step 4 .*loss' finetune.log
