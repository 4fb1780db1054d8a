#!/bin/sh
# Builds the stand-ins for libcuda and libnvidia-ml, cuda.c and nvml.c. Usage: tests/gpu/cuda.sh FOLDER; as a test it builds
# them, no more.
# SPDX-License-Identifier: Apache-2.0
set -eu
cd "$(dirname "$0")/../.."
folder=${1:-$(mktemp -d)}
mkdir -p "$folder"
build() { # NAME SOURCE
    ${CC:-cc} -std=gnu17 -O2 -Wall -Wextra -Werror -shared -fPIC "-Wl,-soname,$1" -o "$folder/$1" "tests/gpu/$2"
}
build libcuda.so.1 cuda.c
build libnvidia-ml.so.1 nvml.c
[ $# -gt 0 ] || rm -rf "$folder"
