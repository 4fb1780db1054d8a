#!/bin/sh
# install: this program as a file elsewhere, whole or not at all, with mode and file capabilities.
# SPDX-License-Identifier: Apache-2.0
set -u
# shellcheck source=/dev/null
. "$(dirname -- "$0")/lib"
PATH=$PATH:/usr/sbin:/sbin
bin=$(program)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
chmod 755 "$dir"
cd "$dir" || exit 1
mkdir origin shared
cp "$bin" origin/nccl-init || exit 1
bin=$dir/origin/nccl-init
chmod 755 "$bin"
export NCCLINIT_LOG_LEVEL=warn NCCLINIT_TERMINATION_LOG="$dir/log"

install() { # ARG...: sets status, out, err
    out=$("$bin" install "$@" 2>err) && status=0 || status=$?
    err=$(cat err)
}
mode() { stat -c %a "$1"; }
in_mounts() { # SCRIPT: with mounts of its own; its output goes to out
    unshare -m sh -c "$1" >out 2>err
}

# ---- what works ------------------------------------------------------------------------------

install shared
same "into a directory: status, stdout, stderr" "0  " "$status $out $err"
same "into a directory: the same bytes" "" "$(cmp "$bin" shared/nccl-init 2>&1)"
same "into a directory: mode" 755 "$(mode shared/nccl-init)"
same "the copy runs" "hi" "$(shared/nccl-init --mode=off -- echo hi)"
install --file shared/tool
same "as a file" "0 755" "$status $(mode shared/tool)"
install shared/
same "a slash behind the directory" "0  " "$status $out $err"
ln -s shared link
install link/
same "a link to a directory, with a slash" "0 symbolic link" "$status $(stat -c %F link)"
rm shared/nccl-init
(cd shared && "$bin" install . && "$bin" install --file file) && same "relative paths" 755 "$(mode shared/file)"
(umask 077 && "$bin" install --file shared/private)
same "any umask" 755 "$(mode shared/private)"
chmod 4751 "$bin"
install --file shared/plain
same "set-user-ID is left behind, the rest of the mode kept" "0 751" "$status $(mode shared/plain)"
chmod 755 "$bin"
out=$("$bin" install --log-level=info shared 2>&1)
matches "told" "nccl-init: installed shared/nccl-init, mode 0755, no file capabilities" "$out"
out=$("$bin" install --log-level=info --log-format=json shared 2>&1)
matches "told to a program" '{"severity": "info", "message": "installed shared/nccl-init, *}' "$out"
same "nothing is left beside them" "file nccl-init plain private tool" "$(find shared -type f -printf '%f\n' | sort | xargs)"

# ---- the helper of --try=image ------------------------------------------------------------------

program=$(program)
if [ -e "$program-try" ]; then
    mkdir helped
    install helped
    same "no helper beside it: none is copied" "0   nccl-init" "$status $out $err $(ls helped)"
    cp "$program-try" origin/nccl-init-try
    install helped
    same "the helper goes with it" "0   nccl-init nccl-init-try" "$status $out $err $(find helped -type f -printf '%f\n' | sort | xargs)"
    same "the helper: the same bytes, mode" " 755" "$(cmp "$program-try" helped/nccl-init-try 2>&1) $(mode helped/nccl-init-try)"
    mkdir helped/other && install --file helped/other/start
    same "beside a file of another name" "0 nccl-init-try start" "$status $(find helped/other -type f -printf '%f\n' | sort | xargs)"
    out=$("$bin" install --log-level=info helped 2>&1)
    matches "the helper is told" "*nccl-init: installed helped/nccl-init-try, for --try" "$out"
    # the helper would take the place of the program
    mkdir helped/taken && install --file helped/taken/nccl-init-try
    matches "a program of the helper's name" "125 *is the name of the helper*" "$status $err"
    same "nothing is written" "" "$(ls helped/taken)"
    echo >>origin/nccl-init-try
    rm -r helped/*
    install helped
    same "another one is not copied" "0 nccl-init" "$status $(ls helped)"
    matches "and why" "*nccl-init-try is not copied: it is not the one that was built with this program*" "$err"
    rm origin/nccl-init-try
    # one that cannot be written does not stop the program's own copy
    cp "$program-try" origin/nccl-init-try
    mkdir helped/nccl-init-try
    install helped
    matches "no room for the helper" "0 *nccl-init-try is not copied: *; --try needs it*" "$status $err"
    rm origin/nccl-init-try
fi

# ---- what stands there ---------------------------------------------------------------------------

# A program that runs cannot be written to (ETXTBSY). This one runs until somebody reads what it says.
mkfifo pipe
{
    head -c 65536 /dev/zero # the room of the pipe
    exec shared/nccl-init --help
} | {
    read -r _ <pipe
    cat >/dev/null
} &
tries=0
while (: >>shared/nccl-init) 2>/dev/null && [ "$tries" -lt 600 ]; do
    tries=$((tries + 1))
    sleep 0.1
done
before=$(stat -c %i shared/nccl-init)
if [ "$tries" -lt 600 ]; then
    install shared
    same "over a copy that runs: status, stderr" "0 " "$status $err"
    [ "$before" != "$(stat -c %i shared/nccl-init)" ] || fail "over a copy that runs" "it is the same file"
else
    fail "over a copy that runs" "it never ran"
fi
echo >pipe
wait
# Whoever finds it can execute it: nobody has it open for writing then (ETXTBSY).
for _ in 1 2 3 4 5 6 7 8 9 10; do
    rm -f shared/new
    "$bin" install --file shared/new &
    until shared/new --mode=off -- true 2>err; do
        case $(cat err) in *"not found"*) ;; *) break ;; esac
    done
    matches "as soon as it is there it runs" "" "$(cat err)"
    wait
done
rm -f shared/new
before=$(stat -c %i "$bin")
install origin
same "over itself" "0 " "$status $err"
[ "$before" != "$(stat -c %i "$bin")" ] && same "over itself: still whole" hi "$("$bin" --mode=off -- echo hi)"
echo precious >victim
ln -sf ../victim shared/tool
install shared/tool
same "a link to a file is replaced itself" "0 regular file precious" "$status $(stat -c %F shared/tool) $(cat victim)"

# ---- what does not work ----------------------------------------------------------------------

fails() { # NAME PATTERN ARG...: status 1, one line
    name=$1 pattern=$2
    shift 2
    : >log
    install "$@"
    same "$name: status, stdout" "1 " "$status $out"
    same "$name: lines" 1 "$(wc -l <err | tr -d ' ')"
    matches "$name: message" "nccl-init: error: $pattern" "$err"
    same "$name: termination log" "$err" "$(cat log)"
}
usage() { # NAME PATTERN ARG...
    name=$1 pattern=$2
    shift 2
    install "$@"
    same "$name: status, stdout" "125 " "$status $out"
    matches "$name: message" "nccl-init: error: $pattern" "$err"
}
usage "no operand" "no DIR or FILE*install DIR|FILE"
usage "an empty operand" "no DIR or FILE*" ""
usage "two operands" "*takes one DIR or FILE*more*" shared more
usage "an option of others" "*--root*is not an option of*install*" --root=/ shared
fails "no directory" "none/nccl-init: ENOENT (*); there is no such directory: mount*" none/nccl-init
fails "nothing there" "none: ENOENT (*); there is no such directory: mount the shared volume there, or create it; --file if *" none
same "nothing there: no file is made" no "$([ -e none ] && echo yes || echo no)"
fails "a directory, --file" "taken-not/: EISDIR (*)*" --file taken-not/
mkdir is-folder
fails "a directory is no file" "is-folder: EISDIR (*); a directory stands there*" --file is-folder
rmdir is-folder
install shared/sub/nccl-init
same "a folder of the path that is missing" "1" "$status"
mkdir shared/sub
fails "its own name may be a directory's" "shared/sub/nccl-init: ENOENT (*); there is no such directory*" shared/sub/nccl-init
install --file shared/sub/nccl-init
same "its own name, --file" "0 755" "$status $(mode shared/sub/nccl-init)"
rm -r shared/sub
fails "no directory, with a slash" "none/nccl-init: ENOENT (*)*" none/
fails "a file as directory" "victim/x: ENOTDIR (*)*" victim/x
mkdir -p taken/nccl-init
fails "a directory of that name" "taken/nccl-init: EISDIR (*); a directory stands there*" taken
mkdir elsewhere
ln -sfn elsewhere link
fails "a link to a directory of that name" "link: *link*; a link to a directory is followed only if the path ends in a slash" link
same "a link to a directory: nothing is there, the link stays" "no symbolic link" "$([ -e elsewhere/nccl-init ] || echo no) $(stat -c %F link)"
fails "a pipe of that name" "pipe: ENOTBLK (*); name another file" pipe
long=$(printf '%5000s' '' | tr ' ' x)
fails "a name that is too long" "xxxx*...: ENAMETOOLONG (*)" "$long"

if grep -q __asan_init "$bin"; then
    skip "the user, capabilities, mounts" "sanitizers use /proc and capabilities themselves"
    finish
    exit
fi
if [ "$(id -u)" -ne 0 ] || ! setpriv --reuid=1000 --regid=1000 --clear-groups true 2>/dev/null; then
    skip "the user, capabilities, mounts" "not root, or no setpriv"
    finish
    exit
fi

# ---- other users, capabilities -------------------------------------------------------------------

user='setpriv --reuid=1000 --regid=1000 --clear-groups'
mkdir open && chmod 777 open
# shellcheck disable=SC2086 # words
{
    out=$($user "$bin" install shared 2>&1) && status=0 || status=$?
    same "not allowed: status" 1 "$status"
    matches "not allowed: message" \
        "*shared/nccl-init: EACCES (*); run as*fsGroup" "$out"
    out=$($user "$bin" install open 2>&1) && status=0 || status=$?
    same "another user" "0  755 1000" "$status $out $(stat -c '%a %u' open/nccl-init)"
}
chmod 711 "$bin"
# shellcheck disable=SC2086 # words
out=$($user "$bin" install open 2>&1) && status=0 || status=$?
same "its own file may not be read: status" 1 "$status"
matches "its own file may not be read: message" "*/proc/self/exe: EACCES (*)" "$out"
chmod 755 "$bin"

if command -v setcap >/dev/null && setcap cap_sys_resource,cap_ipc_lock=p "$bin" 2>/dev/null; then
    of() { getcap "$1" | sed 's/^[^ ]* //'; }
    rm -f shared/nccl-init
    out=$("$bin" install --log-level=info shared 2>&1) && status=0 || status=$?
    same "capabilities are kept" "0 cap_ipc_lock,cap_sys_resource=p" "$status $(of shared/nccl-init)"
    matches "capabilities: told" "*with its file capabilities" "$out"
    without="setpriv --bounding-set=-setfcap"
    for who in "$without" "$user"; do
        # shellcheck disable=SC2086 # words
        out=$($who "$bin" install --file open/copy 2>&1) && status=0 || status=$?
        same "no CAP_SETFCAP: status, capabilities" "0 " "$status $(of open/copy)"
        matches "no CAP_SETFCAP: told" "*warning: open/copy: without the file capabilities of this program: EPERM (*); install as root with CAP_SETFCAP, *" "$out"
        rm -f open/copy
    done
    if in_mounts "mount -t tmpfs -o nosuid none shared && '$bin' install shared; echo \$?; getcap shared/nccl-init"; then
        same "nosuid: status, capabilities" "0 shared/nccl-init cap_ipc_lock,cap_sys_resource=p" "$(xargs <out)"
        matches "nosuid: told" "*warning: shared/nccl-init: this file system is mounted nosuid;*" "$(cat err)"
    fi
    if in_mounts "mount -t ramfs none shared && '$bin' install shared; echo \$?"; then
        same "a file system without capabilities: status" 0 "$(cat out)"
        matches "a file system without capabilities: told" "*without the file capabilities of*a volume*" "$(cat err)"
    fi
    setcap -r "$bin"
else
    skip "capabilities" "setcap is not there, or does not work here"
fi

# ---- mounts ----------------------------------------------------------------------------------

if unshare -m mount -t tmpfs none shared 2>/dev/null; then
    in_mounts "mount -t tmpfs -o noexec,nosuid none shared && '$bin' install shared; echo \$?"
    same "noexec: status" 0 "$(cat out)"
    matches "noexec: told, nosuid not" "nccl-init: warning: shared/nccl-init: this file system is mounted noexec;*" "$(cat err)"
    same "noexec: one line" 1 "$(wc -l <err | tr -d ' ')"
    in_mounts "mount -t tmpfs -o size=64k none shared && echo old >shared/nccl-init && '$bin' install shared
        echo \$?; cat shared/nccl-init; ls -A shared"
    same "full: the old file is whole, nothing is left" "1 old nccl-init" "$(xargs <out)"
    matches "full: told" "*shared/nccl-init: ENOSPC (*); make room*sizeLimit" "$(cat err)"
    in_mounts "mount -t tmpfs none shared && echo old >shared/nccl-init && mount -o remount,ro shared &&
        '$bin' install shared; echo \$?; cat shared/nccl-init"
    same "read-only: the old file is whole" "1 old" "$(xargs <out)"
    matches "read-only: told" "*EROFS (*); mount the volume without readOnly*" "$(cat err)"
else
    skip "mounts" "unshare or mount is not allowed"
fi

finish
