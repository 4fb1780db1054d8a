#!/bin/sh
# What the helper does when its processes die or wait: started by itself, with the arguments of nccl-init (src/try/gpu.c), on
# a node that is made up.
# SPDX-License-Identifier: Apache-2.0
set -u
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../cli/lib"
top=$(cd -- "$(dirname -- "$0")/../.." && pwd)
bin=$(program)
node=$top/tests/try/gpu_node
dir=$(mktemp -d)
left=
# shellcheck disable=SC2086 # a list
trap '[ -z "$left" ] || kill -KILL $left 2>/dev/null; rm -rf "$dir"' EXIT

why=$("$top/tests/gpu/hca.sh" "$dir/libs") || skip_all "$why"
"$top/tests/gpu/cuda.sh" "$dir/libs"
why=$("$node" "$dir/libs" true) || skip_all "$why"
version=$("$bin" --version | sed -n '1s/^nccl-init \([^ ]*\).*/\1/p')
first=0000:1b:00.0,mlx5_0,1,roce,3,0 second=0000:43:00.0,mlx5_1,1,roce,3,0

# helper MILLISECONDS PAIR... [-- NAME=VALUE...]: its words, about pairs that are measured so long each way
helper() {
    order=0,0,0,$1,1
    shift
    pairs=
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        pairs="$pairs $1"
        shift
    done
    [ $# -eq 0 ] || shift
    # shellcheck disable=SC2086 # words are wanted
    exec "$node" "$dir/libs" "$@" "$bin-try" "$version" gpu "$order" $pairs
}
# The pairs that are done, and whether they have a rate.
rates() { sed -n -e 's/^pair \([0-9]*\) done .* in=[0-9]* .*/\1 measured/p' -e '/ in=/!s/^pair \([0-9]*\) done .*/\1 not/p' | sort | xargs; }

same "pairs are measured one after the other" "0 measured 1 measured" "$(helper 20 $first $second | rates)"

# One measures for seven seconds, and the other one waits for five, not for ever.
said=$(helper 3500 $first $second | rates)
case $said in
"0 measured 1 not" | "0 not 1 measured") same "who waits too long for its turn goes on without a rate" "$said" "$said" ;;
*) same "who waits too long for its turn goes on without a rate" "one of two is measured" "$said" ;;
esac

# The processes of GPUs, in the order of their start.
children() { grep -l "^PPid:[[:space:]]$1\$" /proc/[0-9]*/status 2>/dev/null | cut -d / -f 3 | sort -n; }
# until_said PATTERN: the helper that runs says such a line, within a minute
until_said() {
    for _ in $(seq 600); do
        ! grep -q "$1" "$dir/words" || return 0
        sleep 0.1
    done
    fail "the helper" "it did not say '$1': $(cat "$dir/words")"
}

# Who dies while it measures gives its turn back. The second GPU comes a second later.
helper 4000 $first $second -- CUDA_FAULT=tardy@0000:43:00.0 >"$dir/words" 2>"$dir/errors" &
helper=$!
until_said '^at 0 rate'
kill -KILL "$(children $helper | head -n 1)"
wait $helper
same "a process that dies while it measures: the other one has its turn" "1 measured" "$(rates <"$dir/words")"
matches "and is told" "*pair 0 rate *died=9*" "$(cat "$dir/words")"

# No process of a GPU outlives the helper.
helper 20 $first $second -- CUDA_FAULT=hang >"$dir/words" 2>"$dir/errors" &
helper=$!
until_said '^at 0 host-to-gpu'
until_said '^at 1 host-to-gpu'
left=$(children $helper)
same "two processes hang" 2 "$(echo "$left" | wc -l)"
kill -KILL $helper
wait $helper 2>/dev/null
for _ in $(seq 50); do
    gone=yes
    for pid in $left; do [ ! -e "/proc/$pid" ] || gone=no; done
    [ "$gone" = no ] || break
    sleep 0.1
done
[ "$gone" = no ] || left= # their numbers may be others' now
same "they die with the helper" yes "$gone"

# Nor one whose parent died before that was in force: here each fork comes back in the child when the parent is gone.
cat >"$dir/orphan.c" <<'END'
#include <dlfcn.h>
#include <unistd.h>

pid_t fork(void)
{
    pid_t (*real)(void);
    const pid_t parent = getpid();

    *(void **)&real = dlsym(RTLD_NEXT, "fork");
    const pid_t pid = real();
    if (pid > 0)
        _exit(0);
    while (pid == 0 && getppid() == parent)
        usleep(1000);
    return pid;
}
END
${CC:-cc} -D_GNU_SOURCE -shared -fPIC -O1 -o "$dir/orphan.so" "$dir/orphan.c"
same "an orphan makes no context" "version library" "$(helper 20 $first -- LD_PRELOAD="$dir/orphan.so" | cut -d ' ' -f 1 | xargs)"
finish
