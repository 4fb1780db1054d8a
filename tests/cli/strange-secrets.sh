#!/bin/sh
# A stranger plants secrets in every file and variable that a masked recording can hold, and looks for them.
# SPDX-License-Identifier: Apache-2.0
set -u
# shellcheck source=/dev/null
. "$(dirname -- "$0")/lib"
here=$(absolute "$(dirname -- "$0")")
mktree=$(tool mktree)
command -v python3 >/dev/null || skip_all "there is no python3"
[ -x "$mktree" ] || skip_all "there is no $mktree"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
part=1
grep -q -e __asan_init -e __gcov_exit "$(program)" && part=5 # such a program is slow
[ -z "${NCCL_INIT_QUICK:-}" ] || part=16
python3 "$here/strange-secrets.py" "$(program)" "$mktree" "$(nodes)" "$dir" "$part"
