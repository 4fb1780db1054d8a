#!/bin/sh
# The first screens: the answer first and last, no error left out, commands that can be pasted.
# SPDX-License-Identifier: Apache-2.0
set -u
# shellcheck source=/dev/null
. "$(dirname -- "$0")/lib"
command -v python3 >/dev/null || skip_all "there is no python3"
withenv=$(tool withenv)
NCCL_INIT=$(program) NCCL_INIT_TOOLS=${withenv%/*} exec python3 "$(dirname -- "$0")/screen.py"
