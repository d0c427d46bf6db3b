#!/usr/bin/env bash
# Configures and builds a preset (default: release), after setup.
# usage: scripts/build.sh [PRESET] [TARGET...]
# With CP_UNITY=ON in the environment from nothing in less time, and with
# CP_PORTABLE_KERNELS=ON too (see CMakeLists.txt).
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/setup.sh
preset=${1:-release}
[ $# -gt 0 ] && shift
# What ccache must be told to keep objects built with precompiled headers.
launcher="env;CCACHE_SLOPPINESS=pch_defines,time_macros;ccache"
cmake --preset "$preset" \
  "-DCMAKE_C_COMPILER_LAUNCHER=$launcher" "-DCMAKE_CXX_COMPILER_LAUNCHER=$launcher" \
  ${CP_UNITY:+"-DCP_UNITY=$CP_UNITY"} \
  ${CP_PORTABLE_KERNELS:+"-DCP_PORTABLE_KERNELS=$CP_PORTABLE_KERNELS"} >/dev/null
cmake --build --preset "$preset" ${1:+--target "$@"}
