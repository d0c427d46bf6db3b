#!/usr/bin/env bash
# Installs what the build and the tests need, on Debian 12 and its like. Without
# root it names exactly what is missing.
set -euo pipefail

packages=(
  cmake ninja-build g++ ccache python3
  libmlir-22-dev mlir-22-tools llvm-22-dev llvm-22-tools
  libgtest-dev libgmock-dev libbenchmark-dev
  clang-format-22 clang-tidy-22
  clang-22 libclang-rt-22-dev
  libopenmpi-dev openmpi-bin libmpich-dev mpich libucx-dev
)

installed() {
  dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null | grep -qx installed
}

missing=()
for package in "${packages[@]}"; do
  installed "$package" || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0

if [ "$(id -u)" -ne 0 ]; then
  echo "setup: these packages are missing; install them as root and try again:" >&2
  echo "  apt-get update && apt-get install -y --no-install-recommends ${missing[*]}" >&2
  exit 1
fi
echo "setup: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends "${missing[@]}"
