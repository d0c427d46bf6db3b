#!/usr/bin/env bash
# Tests and measures the kernels for cards on the card of this machine; see
# docs/GPU.md.
#   scripts/gpu.sh                    all of it, in a few minutes
#   scripts/gpu.sh --only=tests|sanitizer|programs|training|nccl|bench
#   scripts/gpu.sh --bundle=FOLDER    with what scripts/card_bundle.sh put there
#                                     (default: OUT/bundle, which it makes)
#   scripts/gpu.sh --peer=FOLDER      also times the Triton kernels of the package
#                                     mamba_ssm in that folder (needs torch)
#   scripts/gpu.sh --out=FOLDER       for bench.csv and the rest (default: gpu-out)
# Products of matrices take cuBLAS, and ranks that are processes NCCL, which must be
# where the system finds libraries, or in LD_LIBRARY_PATH.
# Exit code 0: everything asked for ran and passed; 1: something did not; 2: there
# is no card, or the programs cannot be built.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
only='' bundle='' peer='' out=$root/gpu-out
for option in "$@"; do
  case $option in
  --only=tests | --only=sanitizer | --only=programs | --only=training | --only=nccl | --only=bench) only=${option#*=} ;;
  --bundle=*) bundle=${option#*=} ;;
  --peer=*) peer=${option#*=} ;;
  --out=*) out=${option#*=} ;;
  *)
    sed -n '2,14p' "$0" >&2
    exit 2
    ;;
  esac
done

if ! nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader; then
  echo "gpu: no NVIDIA driver answers here; run this on a machine with a card" >&2
  exit 2
fi
mkdir -p "$out"
if [ -z "$bundle" ]; then
  bundle=$out/bundle
  "$root/scripts/card_bundle.sh" "$bundle" || {
    echo "gpu: the programs cannot be built here; make them elsewhere by" \
      "scripts/card_bundle.sh, and give --bundle" >&2
    exit 2
  }
fi
programs=$bundle/bin

failed=()
stage() { # name, command...
  [ -z "$only" ] || [ "$only" = "$1" ] || return 0
  echo "== $1"
  "${@:2}" || failed+=("$1")
}

tests() {
  # With cuBLAS a row may round otherwise where there are more of them; numbers
  # that are on the card are told of when a step ends.
  "$programs/CPCardKernelTests" --gtest_brief=1 \
    --gtest_filter='-MatmulTest/*.RowsDoNotDependOnTheirNumber:UpdateTest.NumbersOfAStepAreChecked' 2>&1 | tee "$out/tests.log" | tail -3
}

# Each tool makes kernels some hundred times slower.
sanitizer() {
  local tool tests
  tests='SsdTilesTest.WithinTiles:SsdFormsTest.RowsLie*:SsdTilesTest.Parts*:AttentionTilesTest.ModelShapes:AttentionTilesTest.Cotangents*:SsdGradTilesTest.StatesAlone:SsdGradTilesTest.WhatIs*:SsdTest/*.Segments*:RmsNormTest/2.Matches*:Conv1dTest/2.Matches*:GradRoundingTest.Doc*:GradRoundingTest.RmsNorm:UpdateTest.S*'
  for tool in memcheck racecheck synccheck; do
    echo "-- compute-sanitizer --tool=$tool"
    # racecheck does not know what orders copies to a cluster.
    [[ $tool == racecheck ]] && tests+=":-SsdFormsTest.RowsLie*"
    compute-sanitizer --tool=$tool --error-exitcode=1 "$programs/CPCardKernelTests" \
      --gtest_brief=1 "--gtest_filter=${tests}" \
      >"$out/$tool.log" 2>&1 || { tail -20 "$out/$tool.log"; return 1; }
    tail -1 "$out/$tool.log"
    tests=${tests%:-*}
  done
  echo "-- compute-sanitizer --tool=memcheck, a whole model"
  local name=$bundle/programs/bamba
  compute-sanitizer --tool=memcheck --error-exitcode=1 "$bundle/bin/cp-launch" --quiet \
    "$name.4-zigzag.so" --device=cuda --weights="$name.weights.safetensors" \
    --inputs="$name.inputs.safetensors" >"$out/model.log" 2>&1 || {
    tail -20 "$out/model.log"
    return 1
  }
  tail -1 "$out/model.log"
}

# Whole models, with what each must give; then how long a larger one takes, and how
# far it is in bf16 from f32, here and on the processor.
launch() { # program, options...
  "$bundle/bin/cp-launch" --quiet "$bundle/programs/$1.so" "${@:2}"
}
programs() {
  local program name graphs failures=0 count=0
  for program in "$bundle"/programs/*.[124]*.so; do
    [[ $program == *-train.so ]] && continue
    program=$(basename "$program" .so)
    name=$bundle/programs/${program%.*}
    [ -f "$name.logits.safetensors" ] || continue
    # As it is, and a hybrid's as recorded steps too.
    for graphs in "" --device-graphs; do
      [[ $graphs && $program != bamba.* ]] && continue
      count=$((count + 1))
      launch "$program" --device=cuda --weights="$name.weights.safetensors" \
        --inputs="$name.inputs.safetensors" --tolerance=1e-5 \
        --check-against="$name.logits.safetensors" ${graphs:+$graphs --repeat=4} || {
        echo "-- $program $graphs failed"
        failures=$((failures + 1))
      }
    done
  done
  echo "$((count - failures)) of $count programs give what they must"
  echo "program,first ms,median ms,rel_l2 to f32" >"$out/programs.csv"
  local whole=$out/whole.safetensors
  launch mamba2-130m-f32.1 --outputs="$whole" || return 1
  row "the processor" mamba2-130m-bf16.1
  for program in mamba2-130m-{f32,bf16}.{1,8-sequence}; do
    row "$program" "$program" --device=cuda --repeat=7
    row "$program graphs" "$program" --device=cuda --device-graphs --repeat=7
  done
  # The other forms of the same kernels.
  program=mamba2-130m-bf16.1
  CP_CUDA_CLUSTERS=1 row "$program alone" "$program" --device=cuda --repeat=7
  CP_CUDA_WARPGROUPS=1 row "$program warpgroups" "$program" --device=cuda --repeat=7
  rm -f "$whole"
  cat "$out/programs.csv"
  [ $count -gt 0 ] && [ $failures = 0 ]
}
row() { # title, program, options...
  launch "$2" "${@:3}" --check-against="$whole" --tolerance=1 \
    --report="$out/report.json" || failures=$((failures + 1))
  python3 - "$1" "$out/report.json" >>"$out/programs.csv" <<'PYTHON'
import json, statistics, sys
report = json.load(open(sys.argv[2]))
times = [1e3 * seconds for seconds in report["run_seconds"]]
print(f"{sys.argv[1]},{times[0]:.2f},{statistics.median(times):.2f},"
      f"{report['check']['rel_l2']:.1e}")
PYTHON
}

# Steps of small models on the card and on the processor, whose weights must be the
# same, and then how long those of a larger one take.
training() {
  local program where device failures=0 count=0 ids=$out/data.ids
  python3 -c "print(*(i * i % 47 for i in range(100000)))" >"$ids"
  for program in "$bundle"/programs/{transformers-g4,bamba}.[124]-train.so; do
    [ -f "$program" ] || continue
    count=$((count + 1))
    program=$(basename "$program" .so)
    for where in host cuda graphs; do
      device=()
      [ $where != host ] && device+=(--device=cuda)
      [ $where = graphs ] && device+=(--device-graphs)
      launch "$program" --train --data="$ids" --steps=5 \
        --save-weights="$out/$where.safetensors" "${device[@]}" || failures=$((failures + 1))
    done
    echo "-- $program: $(python3 "$bundle/programs/same_tensors.py" \
      "$out"/{host,cuda}.safetensors 1e-4 2>&1 | tail -1)"
    python3 "$bundle/programs/same_tensors.py" "$out"/{host,cuda}.safetensors 1e-4 \
      >/dev/null 2>&1 || failures=$((failures + 1))
    cmp "$out"/{cuda,graphs}.safetensors || failures=$((failures + 1))
    rm -f "$out"/{host,cuda,graphs}.safetensors
  done
  launch mamba2-130m-bf16.1-train --train --data="$ids" --steps=6 --device=cuda \
    --csv="$out/training.csv" || failures=$((failures + 1))
  launch mamba2-130m-bf16.1-train --train --data="$ids" --steps=6 --device=cuda \
    --device-graphs --csv="$out/training-graphs.csv" || failures=$((failures + 1))
  cat "$out"/training{,-graphs}.csv
  [ $count -gt 0 ] && [ $failures = 0 ]
}

# Ranks that are processes: one, and two, which need a card each.
nccl() {
  local name=$bundle/programs/bamba
  local options=(--device=cuda --transport=nccl --weights="$name.weights.safetensors"
    --inputs="$name.inputs.safetensors" --tolerance=1e-5
    --check-against="$name.logits.safetensors")
  RANK=0 WORLD_SIZE=1 launch bamba.1 "${options[@]}" || return 1
  echo "-- one rank gives what it must"
  local rank failures=0
  for rank in 0 1; do
    RANK=$rank WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 CPRT_ADDRESS=unix:$out/job.socket \
      launch bamba.2-hidden "${options[@]}" >"$out/nccl.$rank.log" 2>&1 &
  done
  for rank in 0 1; do
    wait -n || failures=$((failures + 1))
  done
  cat "$out"/nccl.[01].log
  if [ "$(nvidia-smi --list-gpus | wc -l)" -ge 2 ]; then
    [ $failures = 0 ]
  else
    # They have one between them.
    [ $failures = 2 ] && grep -q 'each rank needs a card of its own' "$out"/nccl.[01].log
  fi
}

bench() {
  "$programs/cp-bench-cuda" | tee "$out/bench.csv" || return 1
  [ -z "$peer" ] && return 0
  python3 "$root/benchmarks/peers/cuda_mamba.py" "$peer" | tee "$out/peer.csv" || return 1
  python3 - "$out/bench.csv" "$out/peer.csv" <<'PYTHON'
import csv, sys
ours, theirs = (list(csv.DictReader(open(path))) for path in sys.argv[1:])
times = {}
for row in theirs:
    # Of several forms, which stand behind the row's name, the fastest.
    key = row["row"].split("/")[0], row["tokens"]
    times[key] = min(float(row["us"]), times.get(key, float("inf")))
print("row,tokens,ours us,peer us,ratio")
for row in ours:
    us = times.get((row["row"], row["tokens"]))
    if us:
        print(f"{row['row']},{row['tokens']},{row['us']},{us},{us / float(row['us']):.2f}")
PYTHON
}

stage tests tests
stage sanitizer sanitizer
stage programs programs
stage training training
stage nccl nccl
stage bench bench
if [ ${#failed[@]} -gt 0 ]; then
  printf 'failed: %s\n' "${failed[@]}" >&2
  exit 1
fi
