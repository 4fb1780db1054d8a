#!/bin/sh
# Builds the stand-in for HCAs, hca.c: as libibverbs and libmlx5, which are one. rdma-core's headers are needed.
#   tests/gpu/hca.sh FOLDER     the libraries go there
#   tests/gpu/hca.sh            as a test: builds it, and writes.c, which moves data over it without CUDA
# SPDX-License-Identifier: Apache-2.0
set -eu
cd "$(dirname "$0")/../.."
folder=${1:-$(mktemp -d)}
mkdir -p "$folder"
if ! echo '#include <infiniband/verbs.h>' | ${CC:-cc} -E - >/dev/null 2>&1; then
    echo "skipped: no headers of rdma-core"
    exit 77
fi
${CC:-cc} -std=gnu17 -O2 -Wall -Wextra -Werror -shared -fPIC -pthread -Wl,-soname,libibverbs.so.1 \
    -Wl,--version-script=tests/gpu/hca.map -o "$folder/libibverbs.so.1" tests/gpu/hca.c -ldl
for name in libibverbs.so libmlx5.so libmlx5.so.1; do ln -sf libibverbs.so.1 "$folder/$name"; done
[ $# -eq 0 ] || exit 0
trap 'rm -rf "$folder"' EXIT
${CC:-cc} -std=gnu17 -O1 -Wall -Wextra -Werror -o "$folder/writes" tests/gpu/writes.c -ldl
mkdir "$folder/sockets"
HCA_DIR=$folder/sockets LD_LIBRARY_PATH=$folder "$folder/writes"
