#!/bin/sh
# Whatever writes a file: `env -o`, `snapshot -o`, `install`, where it cannot: the old file is untouched or the new one
# whole, nothing else is left behind, one line tells path and reason, status 1. And `run` starts the command wherever its
# streams and its termination log lead.
# SPDX-License-Identifier: Apache-2.0
set -u
# shellcheck source=/dev/null
. "$(dirname -- "$0")/lib"
# Mounts of its own, which go with it.
if [ -z "${WRITERS_MOUNTS:-}" ]; then
    WRITERS_MOUNTS=no
    ! unshare -m mount -t tmpfs none /mnt 2>/dev/null || WRITERS_MOUNTS=yes
    export WRITERS_MOUNTS
    [ $WRITERS_MOUNTS = no ] || exec unshare -m "$0"
fi
bin=$(program)
refuse=$(tool refuse)
dir=$(mktemp -d)
trap 'umount "$dir/small" 2>/dev/null; rm -rf "$dir"' EXIT
cd "$dir" || exit 1
mkdir -p node/proc small outside
cp "$bin" nccl-init && chmod 755 . nccl-init || exit 1 # where every user reaches it
bin=$dir/nccl-init
export NCCLINIT_LOG_LEVEL=error NCCLINIT_TERMINATION_LOG="$dir/none"
writers='env snapshot install'

# written WRITER FILE PREFIX...: sets status; the streams are in out and err. Not files: a limit of their size would count.
written() {
    writer=$1 file=$2
    shift 2
    case $writer in
    env) set -- "$@" "$bin" env --mode=tcp --root="$dir/node" -o "$file" ;;
    snapshot) set -- "$@" "$bin" snapshot --root="$dir/node" -o "$file" ;;
    install) set -- "$@" "$bin" install --file "$file" ;;
    esac
    { timeout 60 "$@" 2>&1 >/dev/null </dev/null; echo $? >status; } | cat >err
    status=$(cat status)
}
is_new() { # WRITER FILE: what the writer writes, whole
    case $1 in
    env) grep -q "^export NCCL_IB_DISABLE='1'\$" "$2" ;;
    snapshot) grep -q '^f proc/self/environ' "$2" ;;
    install) cmp -s "$bin" "$2" ;;
    esac
}
# fails WHAT REASON FILE PREFIX...: each writer says REASON, status 1, and all in the folder of FILE is as it was
fails() {
    what=$1 reason=$2 target=$3
    shift 3
    for writer in $writers; do
        before=$(state "$target")
        written "$writer" "$target" "$@"
        if [ "$status" = 77 ]; then
            skip "$what" "$(head -n 1 err)"
            return
        fi
        same "$what: $writer: status" 1 "$status"
        matches "$what: $writer: message" "nccl-init: error: $target: $reason*" "$(cat err)"
        same "$what: $writer: one line" 1 "$(wc -l <err | tr -d ' ')"
        same "$what: $writer: all is as it was" "$before" "$(state "$target")"
    done
}
state() { # FILE: what lies in its folder, and its content
    find "$(dirname "$1")" -mindepth 1 -maxdepth 1 -printf '%f %y %s %l %i|' 2>/dev/null | tr '|' '\n' | sort | xargs
    [ ! -f "$1" ] || cat "$1"
}
# works WHAT FILE PREFIX...: each writer writes it
works() {
    what=$1 target=$2
    shift 2
    for writer in $writers; do
        echo old >"$target" 2>/dev/null || : # a link may dangle
        written "$writer" "$target" "$@"
        same "$what: $writer: status, stderr" "0 " "$status $(cat err)"
        is_new "$writer" "$target" || fail "$what: $writer" "the file is not what it writes"
        same "$what: $writer: nothing is left" "" "$(find "$(dirname "$target")" -name '.nccl-init*')"
    done
}

works "a plain file" outside/file

# ---- what stands at the name ------------------------------------------------------------------------------------

echo precious >outside/victim
mkdir outside/folder
mkfifo outside/pipe
for writer in $writers; do # who may plant a link must not choose what is overwritten
    for to in victim nowhere link folder pipe /dev/null /dev/null/x; do
        [ "$writer $to" != "install folder" ] || continue # tests/cli/install.sh
        ln -s "$to" outside/link
        written "$writer" outside/link
        same "$writer over a link to $to: status, a file, the target" "0 regular file precious" \
            "$status $(stat -c %F outside/link) $(cat outside/victim)"
        rm outside/link
    done
done
ln -s outside by-link
works "a folder behind a link" by-link/file
rm outside/file
writers='env snapshot'
fails "over a directory" "EISDIR (*)" outside/folder
socket='import socket, subprocess, sys
ours, its = socket.socketpair()
status = subprocess.run(sys.argv[1:], stdout=its).returncode
its.close()
sys.stdout.write(ours.recv(99999, socket.MSG_WAITALL).decode())
sys.exit(status)'
for writer in $writers; do
    for to in /dev/stdout /proc/self/fd/1 /dev/fd/1; do # where stdout may be a file
        case $writer in
        env) set -- "$bin" env --mode=tcp --root="$dir/node" -o $to ;;
        snapshot) set -- "$bin" snapshot --root="$dir/node" -o $to ;;
        esac
        echo before >outside/read
        "$@" >>outside/read 2>err
        same "$writer to $to: status, stderr, it goes on behind" "0  before" "$? $(cat err) $(head -n 1 outside/read)"
        is_new "$writer" outside/read || fail "$writer to $to" "it is not there"
        # Neither can be opened anew.
        if [ "$(id -u)" -eq 0 ] && setpriv --reuid=65534 --clear-groups true 2>/dev/null; then
            { setpriv --reuid=65534 --clear-groups "$@" 2>err; echo $? >status; } | cat >outside/read
            same "$writer to $to, another user's pipe: status, stderr" "0 " "$(cat status) $(cat err)"
            is_new "$writer" outside/read || fail "$writer to $to, another user's pipe" "it is not there"
        fi
        if python3 -c '' 2>/dev/null; then
            timeout 60 python3 -c "$socket" "$@" >outside/read 2>err
            same "$writer to $to, a socket: status, stderr" "0 " "$? $(cat err)"
            is_new "$writer" outside/read || fail "$writer to $to, a socket" "it is not there"
        fi
    done
    rm outside/read
done
writers='env snapshot install'
fails "over a pipe" "ENOTBLK (*)" outside/pipe
if python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("outside/socket")' 2>/dev/null; then
    fails "over a socket" "ENOTBLK (*)" outside/socket
fi
fails "in no folder" "ENOENT (*)" none/file
fails "in a folder that is a file" "ENOTDIR (*)" outside/victim/file
ln -s circle circle
fails "in a folder that is a circle" "ELOOP (*)" circle/file
fails "a name of 256 bytes" "ENAMETOOLONG (*)" "outside/$(printf '%0256d' 0)"

# ---- room, limits, permissions ---------------------------------------------------------------------------------

echo old >small/file
# The limit is the writer's: it may begin, and not end. SIGXFSZ would kill it.
fails "file size limit 0" "EFBIG (*)" small/file prlimit --fsize=0
fails "file size limit 16" "EFBIG (*)" small/file prlimit --fsize=16
rename=rename
[ "$(uname -m)" = x86_64 ] || rename=renameat
for pair in "EDQUOT fsync" "EIO fsync" "ENOSPC $rename" "EPERM fchmod"; do
    error=${pair% *} call=${pair#* }
    fails "$error of $call" "*" small/file "$refuse" "$error" "$call"
done
if [ "$(id -u)" -eq 0 ] && setpriv --reuid=65534 --clear-groups true 2>/dev/null; then
    fails "a folder of another user" "EACCES (*)" small/file setpriv --reuid=65534 --clear-groups
    mkdir -m 733 blind
    for writer in $writers; do
        written "$writer" blind/file setpriv --reuid=65534 --clear-groups
        same "$writer into a folder that may not be read: status, stderr" "0 " "$status $(cat err)"
        is_new "$writer" blind/file || fail "$writer into a folder that may not be read" "the file is not what it writes"
    done
fi
if [ "$WRITERS_MOUNTS" = yes ]; then
    mount -t tmpfs -o size=64k,nr_inodes=20 none small || exit 1
    echo old >small/file
    cat /dev/zero >small/fill 2>/dev/null
    fails "full disk" "ENOSPC (*)" small/file
    rm small/fill
    i=0
    while touch "small/$i" 2>/dev/null; do i=$((i + 1)); done
    fails "no inode left" "ENOSPC (*)" small/file
    rm small/[0-9]*
    mount -o remount,ro small
    fails "read-only" "EROFS (*)" small/file
    umount small
    # Linux 6.6: quotas of tmpfs, which no root is held by.
    if mount -t tmpfs -o usrquota_block_hardlimit=8k,mode=777 none small 2>/dev/null; then
        writers=install # 8 KiB are enough for the others
        echo old >small/file
        fails "quota" "EDQUOT (*)" small/file setpriv --reuid=65534 --clear-groups
        writers='env snapshot install'
        umount small
    else
        skip "quota" "no tmpfs with quotas here"
    fi
else
    skip "full disk, read-only, quota" "unshare or mount is not allowed"
fi

# ---- killed ----------------------------------------------------------------------------------------------------

# killed WHAT CALL: a writer that dies at CALL leaves the old file whole, and its own beside it
killed() {
    for writer in $writers; do
        rm -rf killed && mkdir killed
        [ "$1" = new ] || echo old >killed/file
        written "$writer" killed/file "$refuse" KILL "$2"
        [ "$status" != 77 ] || return 0
        same "$1 file: $writer killed at $2: what is there" "$([ "$1" = new ] || echo old)" "$(cat killed/file 2>/dev/null)"
        same "$1 file: $writer killed at $2: what is left" 1 "$(find killed -name '.nccl-init.??????' | wc -l | tr -d ' ')"
    done
}
for call in fchmod fsync "$rename"; do
    killed new $call
    killed old $call
done
rm -r killed && mkdir killed
i=0
while [ $i -lt 60 ]; do
    i=$((i + 1))
    case $((i % 4)) in
    0) timeout -s KILL 0.00$((i / 4 + 1)) "$bin" install --file killed/$i ;;
    1) timeout -s TERM 0.00$((i / 4 + 1)) "$bin" install --file killed/$i ;;
    2) timeout -s KILL 0.00$((i / 4 + 1)) "$bin" env --mode=tcp --root="$dir/node" -o killed/$i ;;
    3) timeout -s KILL 0.00$((i / 4 + 1)) "$bin" snapshot --root="$dir/node" -o killed/$i ;;
    esac
done 2>/dev/null
same "60 times killed: only whole files have a name of ours" "" \
    "$(find killed -type f ! -name '.nccl-init.*' -size 0)"
for answer in ZERO EINTR; do # for ever
    timeout 60 "$refuse" $answer write "$bin" install --file killed/file 2>/dev/null
    same "a disk that answers $answer: install" 1 $?
    timeout 60 "$refuse" $answer write "$bin" env --mode=tcp --root="$dir/node" -o killed/file 2>/dev/null
    same "a disk that answers $answer: env" 1 $?
    timeout 60 "$refuse" $answer write "$bin" snapshot --root="$dir/node" -o killed/file 2>/dev/null
    same "a disk that answers $answer: snapshot" 1 $?
    : >log
    timeout 60 "$refuse" $answer write "$bin" --mode=off --termination-log="$dir/log" -- ./no-such-command 2>/dev/null
    same "a disk that answers $answer: termination log" 127 $?
    timeout 60 "$refuse" $answer write "$bin" --mode=tcp --log-level=debug -- true 2>/dev/null
    same "a disk that answers $answer: run" 0 $?
done

# ---- streams of those that write to stdout ---------------------------------------------------------------------

for verb in plan env topo doctor snapshot '--help' '--version' 'plan --rules' 'plan --json' 'topo --dot'; do
    # shellcheck disable=SC2086 # words
    set -- "$bin" $verb
    case $verb in -*) ;; *) set -- "$@" --mode=tcp --root="$dir/node" ;; esac
    for stream in /dev/full closed limited; do
        case $stream in
        closed) "$@" >&- 2>err ;;
        limited) { prlimit --fsize=0 "$@" 2>&1 >outside/out; echo $? >status; } | cat >err && (exit "$(cat status)") ;;
        *) "$@" >"$stream" 2>err ;;
        esac
        same "$verb on stdout $stream: status" 1 $?
        matches "$verb on stdout $stream: message" "nccl-init: error: standard output: *" "$(cat err)"
        same "$verb on stdout $stream: one line" 1 "$(wc -l <err | tr -d ' ')"
    done
done

# ---- run ---------------------------------------------------------------------------------------------------------

# starts WHAT COMMAND-PREFIX...: the command runs, and finds the disposition of SIGXFSZ as it was
starts() {
    what=$1
    shift
    out=$(timeout 60 "$@" "$bin" --mode=tcp --log-level=debug -- sh -c 'echo ran; grep -i ^SigIgn /proc/$$/status' 2>"${to:-err}")
    same "$what: the command runs" "0 ran $(grep -i ^SigIgn /proc/self/status | xargs)" "$? $(echo "$out" | xargs)"
}
to=outside/log
starts "stderr is a file, limit 0" prlimit --fsize=0
same "stderr is a file, limit 0: it stays empty" 0 "$(stat -c %s outside/log)"
starts "stderr is a file, limit 16" prlimit --fsize=16
same "stderr is a file, limit 16: no half line" "" "$(cat outside/log)"
starts "stderr is a file, limit 16384" prlimit --fsize=16384
matches "stderr is a file, limit 16384: it is said" "nccl-init: auto-detected*" "$(cat outside/log)"
to=/dev/full
starts "stderr is full" env
unset to

# refused WHAT LOG PREFIX...: no command to start: 127 and the reason on stderr, whatever becomes of the log
refused() {
    what=$1 log=$2
    shift 2
    { timeout 60 "$@" "$bin" --mode=off --termination-log="$log" -- ./no-such-command 2>&1; echo $? >status; } | cat >err
    same "$what: status" 127 "$(cat status)"
    matches "$what: stderr" "nccl-init: error: *no-such-command*" "$(cat err)"
}
: >log
refused "log with a limit of size" "$dir/log" prlimit --fsize=8
same "log with a limit of size: what there is room for" "nccl-ini" "$(cat log)"
ln -s "$dir/outside/victim" log-link
refused "log is a link" "$dir/log-link"
refused "log is a directory" "$dir/outside"
refused "log is a pipe" "$dir/outside/pipe"
refused "log is a device" /dev/full
refused "log behind a file" "$dir/outside/victim/log"
# A shared library could not be opened either.
is_sanitized || refused "log beyond a quota" "$dir/log" "$refuse" EDQUOT openat,open
same "none of them was written to" precious "$(cat outside/victim)"
if [ "$WRITERS_MOUNTS" = yes ]; then
    mount -t tmpfs -o size=4k none small || exit 1
    : >small/log
    cat /dev/zero >small/fill 2>/dev/null
    refused "log on a full disk" "$dir/small/log"
    mount -o remount,ro small
    refused "log on a read-only disk" "$dir/small/log"
    umount small
fi

finish
