#!/bin/sh
# The members of the program's JSON are those of docs/reference/json.md.
# SPDX-License-Identifier: Apache-2.0
set -u
# shellcheck source=/dev/null
. "$(dirname -- "$0")/lib"
command -v python3 >/dev/null || skip_all "there is no python3"
NCCL_INIT=$(program) exec python3 "$(dirname -- "$0")/members.py"
