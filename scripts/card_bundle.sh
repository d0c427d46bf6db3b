#!/usr/bin/env bash
# Gathers what scripts/gpu.sh runs, for a machine that has a card and its driver but
# neither this project nor a compiler; see docs/GPU.md.
#   scripts/card_bundle.sh FOLDER
# FOLDER then has bin/ and lib/, the tests, the benchmark and the launcher with its
# device, and programs/, models that cp-compile compiled with what their logits must
# be, and steps of training.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
[ $# -eq 1 ] || {
  sed -n '2,7p' "$0" >&2
  exit 2
}
mkdir -p "$1/bin" "$1/lib" "$1/programs"
out=$(cd "$1" && pwd)
"$root/scripts/build.sh" release cp-compile cp-launch cp-translate cprt_nccl
"$root/scripts/build.sh" cuda
strip -o "$out/bin/cp-launch" "$root/build/bin/cp-launch"
for program in CPCardKernelTests cp-bench-cuda; do
  strip -o "$out/bin/$program" "$root/build-cuda/bin/$program"
done
strip -o "$out/lib/libcprt_cuda.so" "$root/build-cuda/lib/libcprt_cuda.so"
strip -o "$out/lib/libcprt_nccl.so" "$root/build/lib/libcprt_nccl.so"

compile() { # name, options...
  "$root/build/bin/cp-compile" --device=cuda "${@:2}" -o "$out/programs/$1.so"
}
for folder in "$root"/test/Integration/goldens/* "$root"/test/Integration/goldens-hybrid/*; do
  name=$(basename "$folder")
  model=$out/programs/$name.mlir
  semantics=()
  [ "$name" = transformers-g4-whole-norm ] &&
    semantics=(--semantics=transformers-ungrouped)
  "$root/build/bin/cp-translate" --import-hf --batch=2 --seq=64 "${semantics[@]}" \
    "$folder/config.json" -o "$model" 2>/dev/null
  gather=() ulysses=()
  case $folder in *goldens-hybrid*)
    gather=(--attention=gather) ulysses=(--attention=ulysses) ;;
  esac
  compile "$name.1" "$model"
  compile "$name.2-hidden" "$model" --ranks=2 --strategy=hidden "${ulysses[@]}"
  for scan in chain gather doubling pipelined transposed; do
    compile "$name.4-$scan" "$model" --ranks=4 --strategy=sequence --scan=$scan \
      "${gather[@]}"
  done
  compile "$name.4-zigzag" "$model" --ranks=4 --strategy=sequence --order=zigzag \
    "${gather[@]}"
  # Steps of training; ranks hand their keys round.
  case $name in transformers-g4 | bamba)
    for ranks in 1 2 4; do
      compile "$name.$ranks-train" "$model" --ranks=$ranks --order=zigzag \
        --optimizer=adamw
    done
    ;;
  esac
  rm "$model"
  for file in weights inputs logits; do
    cp "$folder/$file.safetensors" "$out/programs/$name.$file.safetensors"
  done
done
cp "$root/test/Tools/Inputs/same_tensors.py" "$out/programs/"
compile mamba2-130m-bf16.1-train "$root/examples/mamba2-130m/config.json" --seq=4096 \
  --dtype=bf16 --optimizer=adamw
for dtype in f32 bf16; do
  model=("$root/examples/mamba2-130m/config.json" --seq=4096 --dtype=$dtype)
  compile "mamba2-130m-$dtype.1" "${model[@]}"
  compile "mamba2-130m-$dtype.8-sequence" "${model[@]}" --ranks=8 --strategy=sequence
done
du -sh "$out"
