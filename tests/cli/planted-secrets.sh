#!/bin/sh
# Secrets of other kinds than strange-secrets.sh plants: none of them is in a masked recording.
# SPDX-License-Identifier: Apache-2.0
set -u
# shellcheck source=/dev/null
. "$(dirname -- "$0")/lib"
here=$(absolute "$(dirname -- "$0")")
command -v python3 >/dev/null || skip_all "there is no python3"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
python3 "$here/planted-secrets.py" "$(program)" "$(nodes)" "$dir"
