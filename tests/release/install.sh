#!/bin/sh
# cmake --install: each file in its usual place, below any prefix; what is there works from there.
# SPDX-License-Identifier: Apache-2.0
set -u
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../cli/lib"
bin=$(program)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

if ! cmake --install "$(dirname "$bin")" --prefix "$dir/usr" >"$dir/log" 2>&1; then
    fail "install" "$(cat "$dir/log")"
    exit 1
fi
same "files and modes" "755 bin/nccl-init
755 bin/nccl-init-try
644 share/bash-completion/completions/nccl-init
644 share/fish/vendor_completions.d/nccl-init.fish
644 share/man/man8/nccl-init.8
644 share/zsh/site-functions/_nccl-init" "$(cd "$dir/usr" && find . -type f -printf '%m %P\n' | LC_ALL=C sort -k 2)"
same "the program" "" "$(cmp "$bin" "$dir/usr/bin/nccl-init" 2>&1)"

# found by their names, as the shells' packages look for them
if [ -r /usr/share/bash-completion/bash_completion ]; then
    # shellcheck disable=SC2016 # bash expands it
    same "bash finds it" _nccl_init "$(XDG_DATA_DIRS=$dir/usr/share PATH=$dir/usr/bin:$PATH bash --norc -c '
        . /usr/share/bash-completion/bash_completion
        _completion_loader nccl-init
        complete -p nccl-init' | sed 's/.*-F \([^ ]*\).*/\1/')"
else
    skip "bash finds it" "bash-completion is not installed"
fi
if command -v zsh >/dev/null; then
    # shellcheck disable=SC2016 # zsh expands it
    same "zsh finds it" _nccl-init "$(HOME=$dir zsh -f -c '
        fpath=('"$dir"'/usr/share/zsh/site-functions $fpath)
        autoload -U compinit && compinit -u -D && echo $_comps[nccl-init]')"
else
    skip "zsh finds it" "it is not installed"
fi
if command -v fish >/dev/null; then
    same "fish finds it" plan "$(HOME=$dir XDG_CONFIG_HOME=$dir XDG_DATA_DIRS=$dir/usr/share PATH=$dir/usr/bin:$PATH \
        fish -c 'complete -C "nccl-init pla"' | cut -f 1)"
else
    skip "fish finds it" "it is not installed"
fi
if command -v man >/dev/null; then
    matches "man finds it" "*/share/man/man8/nccl-init.8" "$(MANPATH=$dir/usr/share/man man -w nccl-init 2>&1)"
fi
finish
