#!/usr/bin/env bash
# Builds and runs the tests.
#   scripts/test.sh          the everyday suite: unit tests, lit, executed tests,
#                            and the layout algebra and the runtime under
#                            sanitizers; what these have run of messages not again
#                            without them
#   scripts/test.sh --quick  without the sanitizers
#   scripts/test.sh --long   what the everyday suite leaves out: clang-tidy, whether
#                            kernels for cards spill registers (with nvcc), all of
#                            it under address and undefined sanitizers (Clang's, the
#                            kernels under GCC's), with every cp-opt run also
#                            checking its round trip, what cp-opt prints if another
#                            compiler built it, the runtime and the kernels (but for
#                            how exact gradients are) under the thread sanitizer,
#                            10 000 drawn shardings, and the fuzz targets for a
#                            minute each
#   scripts/test.sh --torch  the Python package, with torch (scripts/torch.sh)
#   scripts/test.sh --fuzz=SECONDS  each fuzz target for so long, nothing else
#   scripts/test.sh --delays=SEEDS  exchanges over what stands in for NCCL, between
#                            streams that are late at random, nothing else
set -euo pipefail
cd "$(dirname "$0")/.."
mode=${1:-everyday}

# What has no LLVM in it is built quickly and runs threads.
plain_tests=(CPLayoutTests CPRuntimeTests CPKernelTests CPModelTests)

run_suite() { # preset, ctest arguments...
  local preset=$1
  shift
  ctest --test-dir "build${preset_dir[$preset]}" --output-on-failure -j "$(nproc)" "$@"
}
declare -A preset_dir=([release]="" [asan]="-asan" [asan-gcc]="-asan-gcc"
  [tsan]="-tsan" [fuzz]="-fuzz")

# Runs a test program in parts, one on each processor at a time. There are more
# parts than processors, since some take much longer than others.
run_parts() { # program, arguments...
  local parts=$((8 * $(nproc)))
  seq 0 $((parts - 1)) | GTEST_TOTAL_SHARDS=$parts xargs -P "$(nproc)" -I PART \
    env GTEST_SHARD_INDEX=PART "$1" --gtest_brief=1 "${@:2}"
}

# Draws cases from seed 1 on, in as many processes as there are processors.
run_properties() { # cases
  local each=$((($1 + $(nproc) - 1) / $(nproc)))
  seq 1 "$each" "$1" | xargs -P "$(nproc)" -I SEED \
    build/bin/CPPropertyTests --seed=SEED "--cases=$each"
}

# Tensors on a device that moves them and combines states; of the scans' numbers of
# ranks each seed tries one, and each eighth has totals of many states. What a run
# says is shown if it fails.
run_delays() { # seeds
  local moving='AllToAll.MovesL*:AllToAll.N*:Halo.TwoRanks:Halo.Reaches*:Move.M*'
  moving+=':Move.GathersS*:NcclOrder*:NcclTest.WhatAD*:SharedD*'
  moving+=':Reduce.Adds*:Reduce.Shares*:Reduce.S*AtOnce'
  moving+=':*Scan.AllAlgorithmsOnOneTo*'
  # shellcheck disable=SC2016 # The shell that xargs starts expands it.
  seq 1 "$1" | xargs -P "$((4 * $(nproc)))" -I DRAWN bash -c '
    export CP_TEST_SEED=DRAWN CP_TEST_ONE_LINE=1
    export CP_TEST_TRANSPORT=nccl CP_TEST_DEVICE=stream
    ((DRAWN % 8)) || tests=$0:ScanTotal.OfManyS*
    said=$(build/bin/CPRuntimeTests --gtest_brief=1 \
      "--gtest_filter=${tests:-$0}" 2>&1) ||
      { printf "seed DRAWN\n%s\n" "$said"; exit 1; }' "$moving"
}

# Of the tests of the runtime and of the kernels, those that a sanitized run leaves
# out; set by the mode.
left_out=
# The runtime's tests again on ranks that send messages, but for what waits most of
# its time, and of tensors on a device, between whose queues NCCL's stand-in moves
# them.
run_transports() { # program
  CP_TEST_TRANSPORT=mailbox "$1" --gtest_brief=1 \
    "--gtest_filter=-Batch*:Joining*:Letters*:MessageWorld*:*RankAtAnyOther*:$left_out"
  CP_TEST_TRANSPORT=nccl CP_TEST_DEVICE=stream "$1" --gtest_brief=1 \
    --gtest_filter='AllToAll*:Nccl*:SharedD*:Reduce.A*:ScanTotal.OfM*:Scan.States*:RingF*'
}

sanitized_parts() { # preset, tests...
  echo "== $1: ${*:2}"
  scripts/build.sh "$@"
  local test
  for test in "${@:2}"; do
    # These measure deadlines, and want the machine for themselves.
    if [[ $test == CPRuntimeTests ]]; then
      "build${preset_dir[$1]}/bin/$test" --gtest_brief=1 "--gtest_filter=-$left_out"
    else
      run_parts "build${preset_dir[$1]}/bin/$test" "--gtest_filter=-$left_out"
    fi
  done
}

if [[ $mode == --torch ]]; then
  exec scripts/torch.sh
fi
if [[ $mode == --fuzz=* ]]; then
  exec scripts/fuzz.sh "${mode#--fuzz=}"
fi
if [[ $mode == --delays=* ]]; then
  scripts/build.sh release CPRuntimeTests
  run_delays "${mode#--delays=}"
  exit
fi
# What reads the sources needs no more than what is generated, which this has all of,
# and each file by itself.
targets=()
if [[ $mode == --long ]]; then
  export CP_UNITY=OFF CP_PORTABLE_KERNELS=OFF
  targets=(CPPropertyTests cp-opt)
fi
scripts/build.sh release "${targets[@]}"
# What only runs is there sooner in one piece.
[[ $mode == --long ]] && export CP_UNITY=ON
# What fails is told at once and again at the end: what comes behind it may say
# more, and took hours to come to.
failed=()
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
stage() { # name, command...
  echo "== $1"
  # In a shell of its own, which ends where something fails; a condition would let
  # it go on.
  local status=0
  set +e
  (
    set -e
    "${@:2}"
  ) 2>&1 | tee "$logs/$1"
  status=${PIPESTATUS[0]}
  set -e
  [[ $status == 0 ]] || failed+=("$1")
}
# The lines by which gtest, ctest, lit, the sanitizers, compilers and programs that
# end at a signal say what failed, and what follows them.
tell_failures() { # stage
  echo "== failed: $1"
  grep -aE -A 12 ': Failure$|^\[  FAILED  \]|\*\*\*(Failed|Exception|Timeout|Not Run)|^FAIL: |(ERROR|WARNING): [A-Za-z]+Sanitizer|runtime error:|error: |terminated by signal|Segmentation fault|Aborted|FAILED: ' \
    "$logs/$1" | head -n 200 || tail -n 40 "$logs/$1"
}

case $mode in
--quick) stage "tests of the release build" run_suite release ;;
--long)
  # What does not build or read well is told before hours of tests.
  # The tests run in the build of the fuzz targets.
  scripts/build.sh fuzz all
  scripts/build.sh tsan "${plain_tests[@]}"
  scripts/build.sh asan-gcc CPKernelTests
  stage "clang-format" scripts/format.sh --check
  stage "clang-tidy" scripts/tidy.sh
  if command -v nvcc >/dev/null; then
    stage "registers of kernels for cards" scripts/card_codes.sh
  fi
  # One build is GCC's, the other Clang's.
  ASAN_OPTIONS=detect_leaks=0:allow_user_poisoning=0 \
    stage "IR of two compilers" scripts/compare_builds.py build build-fuzz
  # LLVM's own libraries are not built with the sanitizer: its allocators, inlined
  # into our code, would poison what theirs then hand out. And the fibers that stand
  # for a card's threads change stacks, which Clang's keeps of what has returned
  # would make twenty times slower.
  CP_OPT_CHECK_IR_ROUNDTRIP=1 \
    ASAN_OPTIONS=detect_leaks=0:allow_user_poisoning=0:detect_stack_use_after_return=0 \
    stage "tests of the sanitized build" run_suite fuzz -LE kernels
  # Where products go into sums Clang decides place by place; some kernels must have
  # the bits of others.
  stage "kernels" sanitized_parts asan-gcc CPKernelTests
  # What is compared with sums in f64 mostly makes those, and has no new threads.
  left_out='GradRounding*'
  stage "races" sanitized_parts tsan "${plain_tests[@]}"
  left_out=
  stage "races of messages" run_transports build-tsan/bin/CPRuntimeTests
  stage "properties" run_properties 10000
  stage "fuzz targets" scripts/fuzz.sh 60
  ;;
everyday)
  # The kernels, which take as long as all of these, are in --long. What they do
  # with wide vectors is minutes of compiling there.
  export CP_PORTABLE_KERNELS=ON
  stage "sanitizers" sanitized_parts asan CPLayoutTests CPRuntimeTests CPModelTests
  # What mostly computes, or waits, the thread sanitizer need not see each time.
  left_out='RingAttention*.EqualsOneRank:Attention.Cut*:*RankThatStalls*'
  stage "races" sanitized_parts tsan CPRuntimeTests
  stage "races of messages" run_transports build-tsan/bin/CPRuntimeTests
  unset CP_PORTABLE_KERNELS
  # Ranks that send messages have been tested with the thread sanitizer. NaN in
  # bf16 on an emulated card, and rings between streams, take longest for what
  # f32, and rings within a card, do not see.
  left='^Messages\.|^Cuda\.(NonFinite|Documents).*BFloat16'
  left+='|^Device\.nccl\.RingAttention(Grad)?\.EqualsOneRank'
  stage "tests of the release build" run_suite release -E "$left"
  ;;
*)
  sed -n '2,20p' "$0" >&2
  exit 2
  ;;
esac
if [[ ${#failed[@]} != 0 ]]; then
  for name in "${failed[@]}"; do
    tell_failures "$name" >&2
  done
  printf 'failed: %s\n' "${failed[@]}" >&2
  exit 1
fi
