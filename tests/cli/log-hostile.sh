#!/bin/sh
# log is linear in whatever it reads: lines of one message's beginnings, millions of lines, names made to collide.
# SPDX-License-Identifier: Apache-2.0
set -eu
exec /usr/bin/python3 tests/cli/log-hostile.py "${NCCL_INIT:-build/static/nccl-init}"
