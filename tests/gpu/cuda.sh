#!/bin/sh
# Builds the stand-in for libcuda, cuda.c, into FOLDER. Usage: tests/gpu/cuda.sh FOLDER; as a test it builds it, no more.
# SPDX-License-Identifier: Apache-2.0
set -eu
cd "$(dirname "$0")/../.."
folder=${1:-$(mktemp -d)}
mkdir -p "$folder"
${CC:-cc} -std=gnu17 -O2 -Wall -Wextra -Werror -shared -fPIC -Wl,-soname,libcuda.so.1 -o "$folder/libcuda.so.1" tests/gpu/cuda.c
[ $# -gt 0 ] || rm -rf "$folder"
