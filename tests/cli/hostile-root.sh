#!/bin/sh
# A directory as a root, made by somebody who means us ill: loops, ways out, pipes, devices and worse in the place of each
# file and directory that a plan reads. Each run ends in time with a status that the manual knows, says printable bytes
# only, and nothing of outside.
#
#   tests/cli/hostile-root.sh [all]      all: each kind in the place of each file, else one in four (slow builds: 13)
# SPDX-License-Identifier: Apache-2.0
set -u
# shellcheck source=/dev/null
. "$(dirname -- "$0")/lib"
bin=$(program)
mktree=$(tool mktree)
nodes=$(nodes)
dir=$(mktemp -d)
background=
trap 'kill $background 2>/dev/null; rm -rf "$dir"' EXIT
trap 'exit 143' TERM INT
cd "$dir" || exit 1
export NCCLINIT_ROOT="$dir/n" HOME=/root
unset PCIDEVICE_X 2>/dev/null || :

# What a plan, a doctor and the like read of a node with a VF and a GPU, and nothing else.
"$bin" snapshot --root="$nodes/gdr-one-gpu.tree" --log-level=error -o read.tree || exit 1
echo 'f etc/nccl.conf NCCL_DEBUG=WARN' >>read.tree
"$mktree" read.tree n || exit 1
mkdir outside # its content must not come out; its name may, as the target of a link
echo canary >outside/secret
secret=$dir/outside/secret
step=4
entries=200000
if is_sanitized; then
    step=13
    entries=20000
fi
[ "${1:-}" != all ] || step=1
timeout 60 "$bin" plan --all >as-it-was
matches "the node by itself" "*NCCL_IB_HCA *=mlx5_6:1*Left unset*NCCL_NET_GDR_LEVEL*" "$(cat as-it-was)"

# ended STATUS WHAT: as it should have; what it said is in said. WHAT begins with the verb. 125 is only for an environment
# that cannot be read, without which the plan would be that of another pod, 1 for what cannot be recorded.
bad=0 runs=0
ended() {
    runs=$((runs + 1))
    case "$1 $2" in
    "0 "* | "1 doctor, "*) ;;
    "1 snapshot, sparse for "* | "1 snapshot, "*" for n/proc" | "1 snapshot, "*" for n/proc/self") ;;
    "125 "*environ* | "125 "*" for n/proc" | "125 "*" for n/proc/self") ;;
    *) complain "$2" "status $1: $(head -c 300 said)" ;;
    esac
    if LC_ALL=C grep -qa '[^ -~]\|canary' said; then
        complain "$2" "control bytes, or what is outside: $(LC_ALL=C grep -a '[^ -~]\|canary' said | head -c 300 | od -c)"
    fi
}
complain() { # WHAT WHY
    bad=$((bad + 1))
    [ "$bad" -gt 20 ] || echo "FAILED: $1: $2"
}
summed() { # NAME
    same "$1: $runs runs" 0 "$bad"
    bad=0 runs=0
}
attempt() { # VERB WHAT
    timeout 60 "$bin" "$1" >said 2>&1 </dev/null && status=0 || status=$?
    ended "$status" "$1, $2"
}
all_verbs() { # WHAT
    for verb in plan env topo doctor snapshot; do
        attempt "$verb" "$1"
    done
}

# ---- each file and directory of the plan, replaced by each kind ------------------------------------------------

repeat() { # TEXT TIMES
    awk -v s="$1" -v n="$2" 'BEGIN { while (n-- > 0) printf "%s", s }'
}
repeat 0/../ 300 >dots
ups=$(repeat ../ 60)
# A writer for the pipes, which the reading end may not wait for or empty.
mkfifo fed pipe
# shellcheck disable=SC2094 # both ends, so that nothing blocks
exec 3<>fed
echo canary1 >&3
python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("socket")' 2>/dev/null || :
devices='zero:1:5 full:1:7 tty:5:0 kmsg:1:11'
mkdir devices
for device in $devices; do
    name=${device%%:*} numbers=${device#*:}
    mknod "devices/$name" c "${numbers%:*}" "${numbers#*:}" 2>/dev/null || rm -f "devices/$name"
done
(: <devices/zero) 2>/dev/null || skip "device nodes" "mknod is not allowed here"
head -c 70000 /dev/zero | tr '\0' x >long-line
printf 'Name:\033[2J\007\177\n\0\n\377\376{"a":\n' >bytes
: >empty
truncate -s 1T sparse 2>/dev/null || skip "a file of 1 TiB" "the file system has none"

kinds='self mutual absolute dots up magic fd pipe fed file-or-directory dangling denied empty sparse long bytes'
if [ -S socket ]; then
    kinds="$kinds socket"
else
    skip "sockets" "python3 cannot make one"
fi
for name in devices/*; do
    [ -e "$name" ] && kinds="$kinds $name"
done

put() { # KIND PATH: in the place of what was there
    case $1 in
    self) ln -s "$(basename "$2")" "$2" ;;
    mutual) ln -s /loop "$2" && ln -s "/${2#n/}" n/loop ;;
    absolute) ln -s "$secret" "$2" ;;
    dots) ln -s "$(cat dots)$secret" "$2" 2>/dev/null || ln -s "$ups$secret" "$2" ;;
    up) ln -s "$ups$secret" "$2" ;;
    magic) ln -s "/proc/self/root$secret" "$2" ;;
    fd) ln -s /proc/self/fd/4 "$2" ;;
    pipe) mkfifo "$2" ;;
    fed) ln fed "$2" ;;
    socket) ln socket "$2" ;;
    devices/*) ln "$1" "$2" ;;
    file-or-directory) if [ -d saved ]; then echo canary >"$2" && echo 1 >"$2"; else mkdir "$2"; fi ;;
    dangling) ln -s nowhere "$2" ;;
    denied) cp -R saved "$2" && chmod 000 "$2" ;;
    empty) ln empty "$2" ;;
    sparse) [ -e sparse ] && ln sparse "$2" ;;
    long) ln long-line "$2" ;;
    bytes) ln bytes "$2" ;;
    esac
}
exec 4<"$secret"
# ... of a table of GIDs the entry that settles it, with its type and netdev
find n -mindepth 1 ! -path '*/gids/[0-9]?*' ! -path '*/[gnt]*s/[0-2]' | sort >victims
verbs='plan doctor env snapshot topo' turn=0
while read -r victim; do
    mv "$victim" saved
    for kind in $kinds; do
        # In turn: each verb meets each kind on many files, and each file many kinds.
        turn=$((turn + 1))
        [ $((turn % step)) -eq 0 ] || continue
        verb=${verbs%% *}
        verbs="${verbs#* } $verb"
        put "$kind" "$victim" || continue
        attempt "$verb" "$kind for $victim"
        [ "$kind" != denied ] || chmod u+rwx "$victim"
        rm -rf "$victim" n/loop
    done
    mv saved "$victim"
done <victims
summed "each of $(wc -l <victims | tr -d ' ') files and directories in $(echo "$kinds" | wc -w | tr -d ' ') ways"
echo canary2 >&3
read -r fed <&3
same "what lies in a pipe is left there" canary1 "$fed"
timeout 60 "$bin" plan --all | cmp -s - as-it-was || fail "restored" "the node is not what it was"

# ---- loops, depth, names ---------------------------------------------------------------------------------------

# 40 links are followed, as by the kernel (MAXSYMLINKS, include/linux/namei.h), the 41st is not.
state=$(echo n/sys/devices/pci*/*/*/infiniband/mlx5_6/ports/1/state)
mv "$state" "$state.1"
for count in 40 41; do
    i=1
    while [ "$i" -lt "$count" ]; do
        ln -sf "state.$i" "$state.$((i + 1))"
        i=$((i + 1))
    done
    ln -sf "state.$i" "$state"
    timeout 60 "$bin" plan --all >out 2>&1
    case $count in
    40) pattern='*mlx5_6/1*ACTIVE*' ;;
    41) pattern='*fact.unreadable: *reading failed: ELOOP (*)*' ;;
    esac
    # The way there has one already, in sys/class.
    matches "$((count - 1)) links and that of the class" "$pattern" "$(cat out)"
    all_verbs "$count links"
done
rm -f "$state" "$state".?? "$state".[2-9]
mv "$state.1" "$state"
summed "chains of links"

# In memory: a disk takes minutes for as many.
crowd=$(mktemp -d -p /dev/shm 2>/dev/null) || { crowd=$dir/crowd entries=20000 && mkdir crowd; }
trap 'kill $background 2>/dev/null; rm -rf "$dir" "$crowd"' EXIT
cp -R n "$crowd/n"
if (cd "$crowd/n/sys/class/infiniband" && seq -f 'mlx5_%.0f' 100 "$entries" | xargs touch) 2>err; then
    NCCLINIT_ROOT=$crowd/n
    all_verbs "$entries entries"
    mv "$crowd/n/sys/class/infiniband" "$crowd/saved"
    cp -R n/sys/class/infiniband "$crowd/n/sys/class"
    for other in dev/infiniband sys/bus/pci/devices dev; do
        mv "$crowd/n/$other" "$crowd/other"
        mv "$crowd/saved" "$crowd/n/$other"
        attempt plan "$entries entries in $other"
        mv "$crowd/n/$other" "$crowd/saved"
        mv "$crowd/other" "$crowd/n/$other"
    done
    NCCLINIT_ROOT=$dir/n
else
    skip "a directory of $entries entries" "$(tail -n 1 err)"
fi
rm -rf "$crowd"
summed "$entries entries"

newline='
'
for directory in n/sys/class/net n/sys/class/infiniband n/sys/bus/pci/devices n/dev n/proc/driver/nvidia/gpus; do
    mv "$directory" saved
    cp -R saved "$directory"
    for name in "a${newline}b" "$(printf '\033[2J')" "$(printf '\377\376')" "$(repeat x 255)" '%s%n' ' ' '..x' \
        "$(printf 'nvidia\0330')" "0000:06:00.0$newline" "=mlx5,^" "a'\$(touch hit)'\`touch hit\`"; do
        mkdir "$directory/$name"
        echo 1 >"$directory/$name/ibdev"
    done
    all_verbs "names in $directory"
    rm -rf "$directory"
    mv saved "$directory"
done
summed "names"
same "no name is taken for a command" "" "$(find . -name hit)"

# ---- while it is looked at -------------------------------------------------------------------------------------

# 200 MB of lines, faster than they are looked at
writes='import sys
block = (sys.argv[2] + "\n").encode() * 65536
with open(sys.argv[1], "ab") as file:
    for _ in range(64): file.write(block)'
# meanwhile WHAT VERB...: each while the last process in the background does what it does; then ends it
meanwhile() {
    what=$1
    shift
    for verb; do
        attempt "$verb" "$what"
    done
    kill "$background" 2>/dev/null
    wait "$background" 2>/dev/null
    background=
}
for file in n/proc/net/route n/proc/net/fib_trie n/etc/nccl.conf n/proc/self/limits; do
    cp "$file" saved
    python3 -c "$writes" "$file" '# a line that says nothing in all of its length' 2>/dev/null &
    background=$!
    meanwhile "$file grows" plan doctor
    mv saved "$file"
done
summed "files that grow"
port=${state%/*}
sh -c 'while :; do mv "$0" "$0.away"; mv "$0.away" "$0"; done' "$port" 2>/dev/null &
background=$!
meanwhile "a directory is renamed" plan env topo doctor snapshot plan env topo doctor snapshot
[ -d "$port" ] || mv "$port.away" "$port"
sh -c 'while :; do ln -sfn "$1" "$0/link"; rm -rf "$0"; mkdir "$0"; mv "$0" "$0.x"; mv "$0.x" "$0"; done' n/sys/class/net/net9 "$secret" \
    2>/dev/null &
background=$!
meanwhile "an entry changes what it is" plan env topo doctor snapshot plan env topo doctor snapshot
rm -rf n/sys/class/net/net9*
summed "changes"

# ---- the root itself -------------------------------------------------------------------------------------------

# refused WHAT PATTERN: 125 and one line, whichever verb
refused() {
    for verb in plan env topo doctor snapshot; do
        timeout 60 "$bin" "$verb" --root="$3" >out 2>err && status=0 || status=$?
        [ "$status" = 125 ] || complain "$verb, $1" "status $status"
        [ ! -s out ] || complain "$verb, $1" "it says: $(head -c 300 out)"
        # shellcheck disable=SC2254 # a pattern is wanted
        case $(cat err) in
        "nccl-init: error: --root: $(printf %.512s "$3"): "$2) ;;
        *) complain "$verb, $1" "$(head -c 300 err)" ;;
        esac
        [ "$(wc -l <err)" -eq 1 ] || complain "$verb, $1" "more than one line"
        runs=$((runs + 1))
    done
}
ln -s loop loop
ln -s nowhere dangling
# glibc and musl word some errors differently.
refused "a loop of links" "*link*" loop
refused "a dangling link" "ENOENT (*)" dangling
refused "a pipe" "ENXIO (*)" pipe
[ ! -S socket ] || refused "a socket" "ENXIO (*)" socket
for name in devices/*; do
    [ ! -e "$name" ] || refused "a device" "ENXIO (*)" "$name"
done
refused "an entry of a file" "ENOTDIR (*)" outside/secret/x
refused "a name of 5,000 bytes" "ENAMETOOLONG (*)" "$(repeat x 5000)"
summed "no root"

finish
