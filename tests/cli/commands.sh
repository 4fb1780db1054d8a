#!/bin/sh
# Each command that the pages show is run, or stands in commands.list with the reason why not.
# SPDX-License-Identifier: Apache-2.0
set -u
# shellcheck source=/dev/null
. "$(dirname -- "$0")/lib"
command -v python3 >/dev/null || skip_all "there is no python3"
NCCL_INIT=$(program) exec python3 "$(dirname -- "$0")/commands.py"
