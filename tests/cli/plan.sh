#!/bin/sh
# plan: its output as a stream (acceptance case C5), colour. What it says is in tests/golden.
# SPDX-License-Identifier: Apache-2.0
set -u
# shellcheck source=/dev/null
. "$(dirname -- "$0")/lib"
bin=$(program)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
tree=$(nodes)/h100-12dev.tree
[ -r "$tree" ] || skip_all "there is no node h100-12dev"
escape=$(printf '\033')

"$bin" plan --root "$tree" >"$dir/out" 2>"$dir/err" && status=0 || status=$?
same "status" 0 "$status"
same "nothing on stderr" "" "$(cat "$dir/err")"
same "no colour in a file" 0 "$(grep -c "$escape" "$dir/out")"
same "options from variables" "$(cat "$dir/out")" "$(NCCLINIT_ROOT="$tree" "$bin" plan)"
"$bin" plan --root "$tree" --json >"$dir/json"
matches "--json" '{*"schema": [0-9]*}' "$(cat "$dir/json")"
NCCLINIT_JSON=1 "$bin" plan --root "$tree" | cmp -s - "$dir/json"
same "NCCLINIT_JSON=1" 0 $?

# ---- commands to paste: each shows the same again, or is not there ------------------------------------------

"$bin" plan --all --mode=tcp --root "$tree" >"$dir/all"
pasted() { # TITLE ARGS...: what the command on that line of the first screen prints
    title=$1
    shift
    (cd "$dir" && "$bin" plan "$@" >first
        sed -n "s|^$title: *nccl-init|'$bin'|p" first >pasted.sh
        sh ./pasted.sh)
}
for name in "it's" 'two words' ./-x 'Übung' "\$HOME"; do
    cp "$tree" "$dir/$name.tree"
    same "All of $name.tree" "$(cd "$dir" && "$bin" plan --all --root "$name.tree")" "$(pasted All --root "$name.tree")"
    same "Node of $name.tree" "$(cd "$dir" && "$bin" doctor --root "$name.tree")" "$(pasted Node --root "$name.tree")"
done
same "All of -x.tree" "$(cd "$dir" && "$bin" plan --all --root ./-x.tree)" "$(pasted All --root -x.tree)"
for name in "$(printf 'new\nline')" "$(printf 'latin \374')" "$(printf 'c1 \302\233')" "$(printf 'bidi \342\200\256')"; do
    cp "$tree" "$dir/$name.tree"
    same "a name that cannot be shown: no command" "" "$(pasted '[AN][lo][ld]e*' --root "$name.tree")"
    same "... but the first screen" 2 "$(grep -c "^READY" "$dir/first")"
done
same "All: the options, too" "$(cat "$dir/all")" "$(pasted All --mode=tcp --wait 1 --root "$tree")"
asked="--mode=tcp --hcas=mlx5_6 --require=rails=1 --require=memlock --root $tree"
# shellcheck disable=SC2086 # words
same "Node: the options, too" "$("$bin" doctor $asked)" "$(pasted Node $asked --color=never)"
same "the commands of findings: the options, too" "Run: nccl-init plan --all --require=rails=9 --root $tree" \
    "$("$bin" doctor --require=rails=9 --root "$tree" | sed -n 's/^ *Run:/Run:/p')"
same "an option that cannot be shown: no command" "" \
    "$(pasted '[AN][lo][ld]e*' --nccl="$(printf '/x\ty')" --root "$tree")"
same "from variables: they still hold" "nccl-init plan --all --root $tree" \
    "$(NCCLINIT_MODE=tcp "$bin" plan --root "$tree" | sed -n 's/^All:  //p')"

# A reader that has enough: the writer dies or ends, and says nothing.
"$bin" plan --root "$tree" 2>"$dir/err" | head -n 1 >/dev/null
same "plan | head: silent" "" "$(cat "$dir/err")"
mkfifo "$dir/pipe"
(sh -c 'exec 3<"$0"' "$dir/pipe" &)
(
    exec 4>"$dir/pipe"
    sleep 0.2
    trap '' PIPE
    "$bin" plan --root "$tree" >&4 2>"$dir/err"
    echo $? >"$dir/status"
)
same "EPIPE where SIGPIPE is ignored: status" 1 "$(cat "$dir/status")"
same "EPIPE where SIGPIPE is ignored: silent" "" "$(cat "$dir/err")"
"$bin" plan --root "$tree" >/dev/full 2>"$dir/err" && status=0 || status=$?
same "full disk: status" 1 "$status"
matches "full disk: message" "nccl-init: error: standard output: ENOSPC (*)" "$(cat "$dir/err")"

# Held up in a full pipe, it shows its descriptors: none of its files took the place of a closed one.
if [ -d /proc/self/fd ]; then
    mkdir -p "$dir/node/proc"
    # shellcheck disable=SC2094 # opened for both, so that nothing blocks
    exec 4<>"$dir/pipe"
    timeout 1 sh -c 'while :; do echo 0123456789012345678901234567890123456789; done' >&4 2>/dev/null
    "$bin" plan --root "$dir/node" <&- >&4 2>/dev/null 4>&- &
    pid=$!
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        sleep 0.1
        [ -e "/proc/$pid/fd/3" ] && break # the root is open
    done
    same "the place of a closed descriptor is kept" "/" "$(readlink "/proc/$pid/fd/0")"
    kill "$pid" 2>/dev/null
    wait "$pid" 2>/dev/null
    exec 4>&-
fi

# script(1) gives it a terminal.
if command -v script >/dev/null; then
    on_tty() { # K=V...: 1 if there is colour
        script -qec "env -u NO_COLOR TERM=xterm $* '$bin' plan --root '$tree'" /dev/null \
            </dev/null | grep -q "$escape\\[" && echo 1 || echo 0
    }
    same "colour on a terminal" 1 "$(on_tty)"
    same "NO_COLOR" 0 "$(on_tty NO_COLOR=1)"
    same "NO_COLOR that is empty does not count" 1 "$(on_tty NO_COLOR=)"
    same "TERM=dumb" 0 "$(on_tty TERM=dumb)"
else
    skip "colour" "script (bsdutils) is not installed"
fi

# ---- HOME ------------------------------------------------------------------------------------------

# A home that is closed to this user holds no file for NCCL either; a file that is closed is reported.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    mkdir -p "$dir/closed" "$dir/open"
    : >"$dir/closed/.nccl.conf"
    : >"$dir/open/.nccl.conf"
    cp "$bin" "$dir/program"
    chmod 755 "$dir" "$dir/open"
    chmod 700 "$dir/closed" "$dir/open/.nccl.conf"
    as_user() { HOME=$dir/$1 setpriv --reuid=12345 --regid=12345 --clear-groups "$dir/program" plan --all 2>&1; }
    same "a closed HOME" 0 "$(as_user closed | grep -c conf.unreadable)"
    matches "a closed file" "*conf.unreadable: $dir/open/.nccl.conf*" "$(as_user open)"
    matches "a closed HOME: the plan" "*Settings*" "$(as_user closed)"
else
    skip "HOME" "not root, or setpriv (util-linux) is not installed"
fi

# ---- --gids ----------------------------------------------------------------------------------------

"$bin" plan --gids --root="$(nodes)/shared-macvlan.tree" >"$dir/gids" 2>&1
same "--gids: each entry that is in use, whose it is" "24 16 8" \
    "$(grep -c '^  mlx5_[01]/1  [0-9]* .* v[12] ' "$dir/gids") $(grep -c "another's\$" "$dir/gids") $(grep -c "this pod's\$" "$dir/gids")"
matches "--gids: a row" "*mlx5_0/1  11     10.0.103.6              v2    net1       this pod's*" "$(cat "$dir/gids")"
same "without --gids there are none" 0 "$("$bin" plan --all --root="$(nodes)/shared-macvlan.tree" | grep -c '^GIDs')"

finish
