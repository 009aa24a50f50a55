#!/usr/bin/env bash
# Installs what a build needs and is missing: Debian packages, and the pinned NVRTC wheels into .deps/. Runs again at no cost.
#   tools/setup.sh           what `make demo` and `make test` need
#   tools/setup.sh cross     also what .ci/run needs: clang-format, and the aarch64 toolchain with qemu
set -euo pipefail
cd "$(dirname "$0")/.."

packages=(g++ make cmake ninja-build ccache pkg-config libeigen3-dev libzstd-dev nlohmann-json3-dev libcli11-dev libfmt-dev
          libgtest-dev libbenchmark-dev libboost-context-dev python3-pip)
if [[ ${1:-} == cross ]]; then
  packages+=(clang-format-14 g++-aarch64-linux-gnu qemu-user libzstd-dev:arm64)
fi

fail() { printf 'setup: %s\n' "$*" >&2; exit 1; }

installed() {
  [[ $1 == python3-pip ]] && python3 -m pip --version >/dev/null 2>&1 && return
  local architecture=${native}
  [[ $1 == *:* ]] && architecture=${1#*:}
  dpkg-query -W -f '${Architecture} ${db:Status-Status}\n' "$1" 2>/dev/null | grep -qxE "($architecture|all) installed"
}

install_packages() {
  local missing=() package
  for package in "${packages[@]}"; do installed "$package" || missing+=("$package"); done
  if ((${#missing[@]} == 0)); then echo "setup: all ${#packages[@]} Debian packages are there"; return; fi
  echo "setup: installing ${missing[*]}"
  local root=()
  if ((EUID != 0)); then
    command -v sudo >/dev/null || fail "not root and no sudo; as root, run: apt-get install ${missing[*]}"
    root=(sudo)
  fi
  if [[ ${missing[*]} == *:arm64* ]] && ! dpkg --print-foreign-architectures | grep -qx arm64; then
    "${root[@]}" dpkg --add-architecture arm64
  fi
  local apt=("${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Acquire::Retries=3)
  "${apt[@]}" update || echo "setup: apt-get update failed; going on with the lists that are there"
  "${apt[@]}" install -y --no-install-recommends "${missing[@]}" >/dev/null || fail "apt-get install ${missing[*]} failed"
}

unpack_wheels() {
  local stamp=.deps/wheels.txt
  if cmp -s cmake/wheels.txt "$stamp"; then echo "setup: NVRTC and CUDA headers are in .deps/"; return; fi
  echo "setup: downloading the pinned NVRTC and CUDA headers (90 MB) into .deps/"
  rm -rf .deps/new .deps/nvidia
  mkdir -p .deps/new
  python3 -m pip download -q --no-deps --only-binary :all: --require-hashes -r cmake/wheels.txt -d .deps/new ||
    fail "pip could not download the wheels in cmake/wheels.txt"
  local wheel
  for wheel in .deps/new/*.whl; do python3 -m zipfile -e "$wheel" .deps/; done
  chmod +x .deps/nvidia/cu13/bin/nvdisasm  # zipfile drops modes
  rm -rf .deps/new
  cp cmake/wheels.txt "$stamp"  # last: it marks the folder as complete
}

command -v apt-get >/dev/null && command -v dpkg-query >/dev/null ||
  fail "this is not Debian or Ubuntu; install the equivalents of: ${packages[*]}, and unpack the wheels of cmake/wheels.txt into .deps/"
native=$(dpkg --print-architecture)
command -v python3 >/dev/null || packages+=(python3)
install_packages
unpack_wheels
