#!/bin/bash
# nccl-init-hook: which containers it raises, what it refuses, that it never stops a container nor a runtime, and its
# installation. Limits of processes need root and mounts of its own; raising a hard limit the lab shows (vm.hook).
# SPDX-License-Identifier: Apache-2.0
set -u
# shellcheck source=/dev/null
. "$(dirname -- "$0")/lib"
hook=$(dirname -- "$(program)")/nccl-init-hook
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1

# ---- on a recorded node --------------------------------------------------------------------------

# The runtime is process 40, its monitor 30, the hook 41, the container 42.
mkdir -p node/bundle node/proc/{self,30,40,42}/ns node/sys/dev/char/{231:192,231:0,1:3}
ln -s ../../../../class/infiniband_verbs node/sys/dev/char/231:192/subsystem
echo mlx5_6 >node/sys/dev/char/231:192/ibdev
ln -s ../../../../class/infiniband_mad node/sys/dev/char/231:0/subsystem
ln -s ../../../../class/mem node/sys/dev/char/1:3/subsystem
process() { # PID PARENT EXE NAMESPACE
    echo "${1/self/41} (a) name) S $2 1 1 0" >"node/proc/$1/stat"
    ln -sfn "$3" "node/proc/$1/exe"
    ln -sfn "mnt:[$4]" "node/proc/$1/ns/mnt"
}
usual() {
    process self 40 /usr/libexec/oci/hooks.d/nccl-init-hook 1
    process 40 30 /usr/bin/crun 1
    process 30 1 /usr/bin/conmon 1
    process 42 40 /usr/bin/crun 2
}
usual

works() { # WHAT COMMAND...
    if "${@:2}"; then pass "$1"; else fail "$1" "status $?"; fi
}

# shellcheck disable=SC2089,SC2090 # JSON
export null uverbs none mknod rule
null='{"type": "c", "path": "/dev/null", "major": 1, "minor": 3}'
uverbs='{"type": "c", "path": "/dev/infiniband/uverbs0", "major": 231, "minor": 192, "fileMode": 438}'
none='{"allow": false, "access": "rwm"}' mknod='{"allow": true, "type": "c", "access": "m"}'
rule='{"allow": true, "type": "c", "major": 231, "minor": 192, "access": "rw"}'
config() { # DEVICES RULES [MORE]
    printf '{"ociVersion": "1.0.2", %s "linux": {"devices": [%s], "resources": {"devices": [%s]}}}\n' "${3:-}" "$1" "$2"
}
state() { # [STATUS [PID [BUNDLE]]]
    printf '{"ociVersion": "1.0.2", "id": "c1", "status": "%s", "pid": %s, "bundle": "%s"}' \
        "${1-creating}" "${2-42}" "${3-/bundle}"
}
# says WHAT YES|NO|WRONG PATTERN [OPTION...]: of the state in ./told
says() {
    local what=$1 answer=$2 pattern=$3 out status
    shift 3
    out=$("$hook" --root=node --strict "$@" <told 2>&1) && status=0 || status=$?
    case $answer in
    YES) matches "$what" "0 container c1: would raise locked memory $pattern" "$status $out" ;;
    NO) matches "$what" "0 container c1: locked memory stays as it is: $pattern" "$status $out" ;;
    *) matches "$what" "1 container *: locked memory stays as it is: $pattern" "$status $out" ;;
    esac
}
# of WHAT YES|NO|WRONG PATTERN CONFIG [OPTION...]
of() {
    printf '%s\n' "$4" >node/bundle/config.json
    says "$1" "$2" "$3" "${@:5}"
}

state >told
of "a device and its rule" YES "to unlimited: RDMA device mlx5_6 (231:192)" "$(config "$null, $uverbs" "$none, $mknod, $rule")"
says "a limit" YES "to 64 MiB: *" --memlock=64M
of "another path" YES "*(231:192)" "$(config "${uverbs//\/dev\/infiniband\/uverbs0/\/dev\/fuse}" "$none, $rule")"
of "the rule alone" YES "*(231:192)" "$(config "$null" "$none, $rule")"
of "another device with that path" NO "no RDMA device" "$(config "${uverbs/231/1}" "$none, $rule" | sed 's/231/1/; s/192/3/g')"
of "umad only" NO "no RDMA device" "$(config "${uverbs/192/0}" "$none, ${rule/192/0}")"
of "a device that the host lacks" NO "no RDMA device" "$(config "${uverbs/192/193}" "$none, ${rule/192/193}")"
of "a block device of that number" NO "no RDMA device" "$(config "${uverbs/\"c\"/\"b\"}" "$none, ${rule/\"c\"/\"b\"}")"
of "a device without a rule" NO "no RDMA device" "$(config "$uverbs" "$none, $mknod")"
of "a device that is only read" NO "no RDMA device" "$(config "$uverbs" "$none, ${rule/rw/r}")"
of "a later rule takes it away" NO "no RDMA device" "$(config "$uverbs" "$rule, $none")"
of "a rule for all minor numbers" YES "*(231:192)" "$(config "$uverbs" "$none, ${rule/192/-1}")"
of "no devices" NO "no RDMA device" '{"linux": {}}'
of "a malformed rule" NO "no RDMA device" "$(config "$uverbs" "$rule, ${rule/192/\"192\"}")"
all=$(config "$uverbs" '{"allow": true, "access": "rwm"}')
of "privileged" NO "it may use every device*" "$all"
says "--privileged" YES "*(231:192)" --privileged
of "opted out" NO "the annotation nccl-init.io/memlock is \`keep\`" \
    "$(config "$uverbs" "$rule" '"annotations": {"nccl-init.io/memlock": "keep"},')"
of "another annotation" YES "*(231:192)" "$(config "$uverbs" "$rule" '"annotations": {"nccl-init.io/memlock": "max"},')"
listed() {
    config "$uverbs" "$rule" '"process": {"rlimits": [{"type": "RLIMIT_NOFILE", "soft": 1, "hard": 1}, {"type": "RLIMIT_MEMLOCK", "soft": '"$1"', "hard": 18446744073709551615}]},'
}
of "a lower limit in the spec" YES "*(231:192); config.json lists RLIMIT_MEMLOCK 2 MiB, which runc sets after this hook" "$(listed 2097152)"
of "no limit in the spec" YES "*(231:192)" "$(listed 18446744073709551615)"

of "not JSON" WRONG "no JSON: * in config.json" '{"linux": '
of "a key twice" WRONG "no JSON: *" '{"linux": {}, "linux": {}}'
of "no Linux container" WRONG "config.json does not describe a Linux container" '{"windows": {}}'
of "nested deep" WRONG "JSON nested deeper than 16 in config.json" "$(printf '[%.0s' {1..100000})"
of "many values" WRONG "JSON with more than 262144 values in config.json" "$(config "$uverbs" "$rule" "\"x\": [$(yes '{}' | head -n 1000000 | paste -sd,)],")"
rm node/bundle/config.json
says "no config.json" WRONG "config.json: ENOENT (*)"
ln -s ../../../../../../../../etc/passwd node/bundle/config.json
says "a link out of the root" WRONG "config.json: ENOENT (*)"
rm node/bundle/config.json
config "$uverbs" "$rule" >node/bundle/config.json

state created >told
says "created" YES "*"
state "" >told
says "no status" NO "*as with Kata Containers"
for status in running stopped; do
    state "$status" >told
    says "status $status" WRONG "the state is not of the stage createRuntime"
done
for pid in 1 0 -1 2147483648 1e99 4.5 '"42"' null; do
    state creating "$pid" >told
    says "pid $pid" WRONG "the state is not of the stage createRuntime"
done
state creating 43 >told
says "a pid of nobody" WRONG "/proc/43 cannot be read"
for bundle in bundle ../bundle ""; do
    state creating 42 "$bundle" >told
    says "bundle '$bundle'" WRONG "bundle in the state is not an absolute path"
done
printf '{"id": "\\u001b[31m%s", "status": "creating", "pid": 42, "bundle": "/%s"}' "$(printf 'a%.0s' {1..300})" "$(printf 'b%.0s' {1..5000})" >told
out=$("$hook" --root=node <told)
matches "a long id and bundle" 'container \\x1b\[31maaa*: locked memory stays as it is: bundle in the state is not an absolute path' "$out"

state >told
process 42 30 /usr/bin/crun 2
says "the monitor adopted it" YES "*"
process 42 1 /usr/bin/crun 2
says "of init" WRONG "process 42 is not in a container of the runtime that started this hook"
process 42 99 /usr/bin/crun 2
says "of somebody else" WRONG "process 42 is not *"
process 42 40 /usr/bin/crun 1
says "no mount namespace of its own" WRONG "process 42 is not *"
state creating 30 >told
process 30 1 /usr/bin/conmon 2
says "what started us" WRONG "process 30 is not *"
usual
state >told
process 42 40 /usr/local/bin/runsc 2
says "gVisor" NO "process 42 is a sandbox of gVisor"
process 42 40 /usr/bin/qemu-system-x86_64 1
says "Kata Containers" WRONG "process 42 is not *"
usual
rm node/proc/42/stat
says "a process without facts" WRONG "process 42 is not *"
usual

# ---- as a hook: it reads everything, and ends well -----------------------------------------------

# fed WHAT STATUS STDERR [OPTION...]: stdin has a state, then much more, of which the writer must get rid
fed() {
    local what=$1 expected=$2 err=$3 status
    shift 3
    status=$({ cat; exec 2>/dev/null; head -c 67108864 /dev/zero && echo written >written; } |
        { "$hook" "$@" >out 2>err; echo $?; })
    same "$what: status" "$expected" "$status"
    same "$what: the writer is done" written "$(cat written 2>/dev/null)"
    matches "$what: stdout, stderr" "$err" "$(cat out err)"
    rm -f written
}
fed "64 MiB" 0 "" <told
fed "64 MiB, --strict" 1 "nccl-init-hook: standard input is not a state" --strict <told
fed "64 MiB, wrong arguments" 0 "" --memlok=1 <told
fed "64 MiB, wrong arguments, --dry-run" 1 "nccl-init-hook: error: wrong arguments: --memlok=1; did you mean ?--memlock?[?]" \
    --dry-run --memlok=1 <told
fed "64 MiB, a word, then --strict" 1 "nccl-init-hook: wrong arguments: word" word --strict <told
fed "64 MiB, wrong arguments, --strict" 1 "nccl-init-hook: wrong arguments: 1X" --memlock=1X --strict <told
# what is no state is of no runtime: a person's mistake is an error, wherever standard input is
fed "64 MiB of nothing, wrong arguments" 1 "nccl-init-hook: error: wrong arguments: --memlok=1; did you mean ?--memlock?[?]" \
    --memlok=1 </dev/null
for arguments in "--memlock=-1" "--memlock=" "--memlock" "--root" "--strict=yes" "word" "--install=relative" "--instal" "--rem"; do
    # shellcheck disable=SC2086
    "$hook" $arguments </dev/null >out 2>&1 && status=0 || status=$?
    case $arguments in
    --install*) same "$arguments" "1 nccl-init-hook: error: wrong arguments: relative" "$status $(cat out)" ;;
    --instal | --rem) matches "$arguments" "1 nccl-init-hook: error: wrong arguments: $arguments; did you mean ?$arguments*?[?]" "$status $(cat out)" ;;
    *) matches "$arguments" "1 nccl-init-hook: error: wrong arguments: *${arguments#*=}" "$status $(cat out)" ;;
    esac
done
"$hook" --strict <&- >out 2>&1 && status=0 || status=$?
matches "no standard input" "1 nccl-init-hook: standard input is not a state" "$status $(cat out)"
mkfifo never
sleep 120 >never &
writer=$!
start=$SECONDS
"$hook" --strict <never >out 2>&1 && status=0 || status=$?
matches "a standard input without end" "1 nccl-init-hook: standard input is not a state" "$status $(cat out)"
# crun gives a container's limits to the hook; with sanitizers there is no program within these
for limit in --as=33554432 --data=33554432 --as=1048576 --data=262144 --nofile=8 --stack=131072; do
    { prlimit "$limit" "$hook" --version >out 2>&1; } 2>/dev/null || continue
    of "$limit" YES "*(231:192)" "$(config "$uverbs" "$rule")"
    out=$(prlimit "$limit" "$hook" --root=node <told 2>&1) && status=0 || status=$?
    case $limit in
    --as=1048576 | --data=262144) same "$limit: it stops nothing" "0 " "$status $out" ;;
    *) matches "$limit: as without" "0 container c1: would raise *" "$status $out" ;;
    esac
done
works "in time" [ $((SECONDS - start)) -le 40 ]
# While it waits for its first byte it has two capabilities at most: bits 19 (SYS_PTRACE) and 24 (SYS_RESOURCE).
"$hook" <never >out 2>&1 &
waits=$!
until [ "$(readlink "/proc/$waits/fd/0")" = "$dir/never" ] && grep -q '^State:.S' "/proc/$waits/status"; do sleep 0.1; done
privileges=$(cat "/proc/$waits/status")
same "no_new_privs before the first byte" "NoNewPrivs:	1" "$(grep NoNewPrivs <<<"$privileges")"
for set in CapInh CapPrm CapEff; do
    value=$(sed -n "s/^$set:	//p" <<<"$privileges")
    same "$set before the first byte: no other" 0 $((0x$value & ~0x1080000))
done
kill "$waits" "$writer"
# A limit on the size of files, and a reader that is gone, end nothing.
says_into() { # WHAT STATUS COMMAND...
    local what=$1 status=$2 got
    shift 2
    "$@" </dev/null && got=0 || got=$?
    same "$what" "$status" "$got"
}
says_into "SIGXFSZ" 1 prlimit --fsize=0 "$hook" --strict 2>limited
says_into "SIGXFSZ, without --strict" 0 prlimit --fsize=0 "$hook" 2>limited
mkfifo gone
# shellcheck disable=SC2094 # a FIFO, which opens for writing where somebody reads
exec 7<>gone 8>gone 7>&-
says_into "SIGPIPE" 1 "$hook" --strict 2>&8
exec 8>&-
same "--version" "nccl-init-hook $(sed -n 's/^project(.*VERSION \([0-9.]*\).*/\1/p' "$OLDPWD/CMakeLists.txt")" "$("$hook" --version)"
for option in --memlock --privileged --strict --dry-run --root --install --remove --program --version; do
    matches "--help has $option" "*$option*" "$("$hook" --help)"
done

# ---- on this machine: limits that need no capability ---------------------------------------------

# A device of /sys/dev/char and a syslog of our own; the container is a process that this script starts, as a runtime
# would. Its soft limit is raised to the hard one.
live() {
    mount -t tmpfs tmpfs /sys/dev/char && mkdir /sys/dev/char/231:192 &&
        ln -s ../../../../class/infiniband_verbs /sys/dev/char/231:192/subsystem || return 77
    mkdir devices && mount --rbind /dev devices && mount -t tmpfs tmpfs /dev && touch /dev/null &&
        mount --bind devices/null /dev/null && ln -s "$dir/log" /dev/log || return 77
    python3 -c 'if True:
        import socket
        s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        s.bind("log")
        print(flush=True)
        while True:
            print(s.recv(4096).decode(), flush=True)' >journal &
    local listener=$!
    until [ -s journal ]; do sleep 0.1; done
    mkdir bundle
    config "$uverbs" "$rule" >bundle/config.json
    limits() { sed -n 's/^Max locked memory *\([0-9]*\) *\([0-9]*\) .*/\1 \2/p' "/proc/$1/limits"; }
    # raised WHAT STATUS SOFT JOURNAL [OPTION...]: of the process $target
    raised() {
        local what=$1 status=$2 soft=$3 line=$4 said
        shift 4
        : >journal
        "$hook" "$@" >out 2>&1 <told
        same "$what: status" "$status" "$?"
        sleep 0.1
        same "$what: limits" "$soft 8388608" "$(limits "$target")"
        said=$(tr -d '\0' <journal | sed '/^$/d')
        # shellcheck disable=SC2254 # a pattern
        case $said in
        $line) pass "$what: journal" ;;
        *) fail "$what: journal" "expected '$line', got '$said'" ;;
        esac
    }
    prlimit --memlock=65536:8388608 unshare -m sleep 60 &
    target=$!
    until [ "$(readlink "/proc/$target/ns/mnt")" != "$(readlink /proc/self/ns/mnt)" ]; do sleep 0.1; done
    state creating "$target" "$dir/bundle" >told
    raised "--dry-run" 0 65536 "" --dry-run --memlock=4M
    same "--dry-run: what it says" "container c1: would raise locked memory from 64 KiB to 4 MiB: RDMA device (231:192)" "$(cat out)"
    raised "a soft limit" 0 4194304 "<30>nccl-init-hook\[*\]: container c1: raised locked memory from 64 KiB to 4 MiB: *" --memlock=4M
    raised "never lowered" 0 4194304 "" --memlock=1M --strict
    raised "what is not permitted" 1 4194304 "<28>nccl-init-hook\[*\]: *raising it: EPERM (*)" --memlock=16M --strict
    mv bundle/config.json real.json
    ln -s ../real.json bundle/config.json
    raised "a link" 1 4194304 "<28>*config.json: EPERM (*)" --memlock=8M --strict
    rm bundle/config.json
    mkfifo bundle/config.json
    raised "a FIFO" 0 4194304 "<28>*config.json: EPERM (*)" --memlock=8M
    rm bundle/config.json
    install -o 1000 real.json bundle/config.json
    raised "somebody's file" 0 4194304 "<28>*config.json: EPERM (*)" --memlock=8M
    truncate -s 1G bundle/config.json
    chown 0 bundle/config.json
    raised "1 GiB" 0 4194304 "<28>*config.json: EOVERFLOW (*)" --memlock=8M
    cp real.json bundle/config.json
    raised "as before" 0 8388608 "<30>*from 4 MiB to 8 MiB*" --memlock=8M
    kill "$target"
    wait "$target" 2>/dev/null
    raised_not() { # WHAT PATTERN
        "$hook" --strict <told >out 2>&1 && status=0 || status=$?
        matches "$1" "1 $2" "$status $(cat out)"
    }
    raised_not "a pid that ended" "*process $target: ESRCH (*)"
    kill "$listener"
    state creating "$$" "$dir/bundle" >told
    raised_not "its own parent" "*is not in a container*"
}
export dir hook failures
export -f live config state same matches pass fail
if unshare -m true 2>/dev/null; then
    # shellcheck disable=SC2016 # for that process
    unshare -m bash -c 'live || exit 77; [ "$failures" -eq 0 ]' && status=0 || status=$?
else
    status=77
fi
case $status in
0) ;;
77) skip "limits of processes" "they need root and mounts of its own" ;;
*) failures=$((failures + 1)) ;;
esac

# ---- installing ----------------------------------------------------------------------------------

to=(--install="$dir/h o/hooks.d" --program="$dir/bin/nccl-init-hook")
works "--install" "$hook" "${to[@]}" --memlock=64M --strict
same "the program" "" "$(cmp "$hook" bin/nccl-init-hook 2>&1)"
same "modes" "755 644" "$(stat -c %a bin/nccl-init-hook "h o/hooks.d/50-nccl-init.json" | xargs)"
same "the file" "$dir/bin/nccl-init-hook [\"nccl-init-hook\",\"--memlock=64M\",\"--strict\"] [\"createRuntime\"] true 10" \
    "$(python3 -c 'import json, sys; d = json.load(sys.stdin); h = d["hook"]; j = lambda x: json.dumps(x, separators=(",", ":")); print(h["path"], j(h["args"]), j(d["stages"]), j(d["when"]["always"]), h["timeout"])' <"h o/hooks.d/50-nccl-init.json")"
works "again, by itself" bin/nccl-init-hook "${to[@]}"
matches "without limit" '*"args": \["nccl-init-hook", "--memlock=max"\]*' "$(cat "h o/hooks.d/50-nccl-init.json")"
# shellcheck disable=SC2016 # of Markdown
same "the file in docs/guides/hook.md" "$(sed -n '/^```json/,/^```/p' "$OLDPWD/docs/guides/hook.md" | sed '1d;$d')" \
    "$(sed "s|$dir/bin|/usr/libexec/oci/hooks.d|" "h o/hooks.d/50-nccl-init.json")"
same "nothing beside them" "50-nccl-init.json nccl-init-hook" "$(find bin "h o" -type f -printf '%f\n' | sort | xargs)"
works "--remove" "$hook" "${to[@]/--install/--remove}"
same "nothing is left" "" "$(find bin "h o" -type f)"
works "--remove again" "$hook" "${to[@]/--install/--remove}"
"$hook" --install="$dir/h o/hooks.d" --program=/proc/nccl-init-hook 2>err && status=0 || status=$?
matches "a folder that takes no file" "1 nccl-init-hook: error: /proc/nccl-init-hook: *" "$status $(cat err)"
same "then there is no file of the hook" "" "$(find "h o" -type f)"
"$hook" "${to[@]}" --memlock="$(printf '0%.0s' {1..200})64M" 2>err && status=0 || status=$?
same "a limit of 203 characters" "1 nccl-init-hook: error: --memlock is too long" "$status $(cat err)"
for program in "$dir/"$'a\tb' "$dir/"$'a\xff' "$dir/a\"b" "$dir/a\\b" relative; do
    "$hook" "${to[0]}" --program="$program" 2>err && status=0 || status=$?
    same "--program='${program@Q}'" "1 nccl-init-hook: error: wrong arguments: $program" "$status $(cat err)"
done
for arguments in --dry-run --root=bundle "--remove=$dir/h"; do
    "$hook" "${to[@]}" "$arguments" 2>err && status=0 || status=$?
    matches "--install $arguments" "1 nccl-init-hook: error: wrong arguments: --install, --remove and *" "$status $(cat err)"
done
matches "--install behind --help" "usage: *" "$("$hook" --help "${to[@]}")"
same "then there is none either" "" "$(find "h o" -type f)"

finish
