#!/bin/sh
# env: forms, and the file that is replaced as a whole or not at all.
# SPDX-License-Identifier: Apache-2.0
set -u
# shellcheck source=/dev/null
. "$(dirname -- "$0")/lib"
bin=$(program)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
mkdir -p node/proc
export NCCLINIT_ROOT="$dir/node" NCCLINIT_MODE=tcp NCCLINIT_LOG_LEVEL=error
unset NCCL_IB_DISABLE NCCL_SOCKET_IFNAME 2>/dev/null || :

# ---- forms: how their readers read them is in tests/unit/run/test_envfile.c -------------------------

has() { # FORMAT LINE
    same "$1" 1 "$("$bin" env --format="$1" 2>/dev/null | grep -cxF -- "$2")"
}
has sh "export NCCL_IB_DISABLE='1'"
has k8s "NCCL_IB_DISABLE='1'"
has docker "NCCL_IB_DISABLE=1"
has nccl.conf "NCCL_IB_DISABLE=1"
matches json '{*"NCCL_IB_DISABLE"*"1"*}' "$("$bin" env --format=json 2>/dev/null)"
same "default is sh" "$("$bin" env --format=sh 2>/dev/null)" "$("$bin" env 2>/dev/null)"
same "a user's value is not repeated" 0 \
    "$(NCCL_IB_DISABLE=0 "$bin" env --format=docker 2>/dev/null | grep -c NCCL_IB_DISABLE)"
same "mode=off: nothing" "" "$("$bin" env --mode=off)"

# ---- -o --------------------------------------------------------------------------------------

"$bin" env --format=docker >expected 2>/dev/null
for arg in "-o file" "-ofile" "--output file" "--output=file" "-o ./file" "-o $dir/file"; do
    echo old >file
    chmod 600 file
    # shellcheck disable=SC2086 # words
    out=$("$bin" env --format=docker $arg 2>/dev/null) && status=0 || status=$?
    same "$arg: status, stdout" "0 " "$status $out"
    same "$arg: content" "$(cat expected)" "$(cat file)"
    same "$arg: mode" 644 "$(stat -c %a file)"
done
said() { "$bin" env --log-level=info "$@" 2>&1 >/dev/null | grep auto-detected; }
matches "-o file: standard error has the decision" 'nccl-init: auto-detected TCP sockets*; NCCL_IB_DISABLE=1*' "$(said -o file)"
log_of() { "$bin" env --log-level=info "$@" 2>&1 >/dev/null | grep -c "win over what the job's image sets by ENV"; }
same "-o file: for Kubernetes also what loses to the file" 1 "$(log_of --format=k8s -o file)"
same "... not in another form" 0 "$(log_of --format=docker -o file)"
same "... nor on standard output" 0 "$(log_of --format=k8s)"
same "... nor if nothing was set" 0 "$(NCCL_IB_DISABLE=0 log_of --format=k8s -o file)"
same "-o -: it is not said twice" "" "$(said -o -)"
same "mode=off: nothing is decided, and nothing said" "" "$(said --mode=off -o file)"
same "-o -" "$(cat expected)" "$("$bin" env --format=docker -o - 2>/dev/null)"
(umask 077 && "$bin" env -o private 2>/dev/null)
same "mode 0644 under any umask" 644 "$(stat -c %a private)"
NCCLINIT_OUTPUT=byenv "$bin" env --format=docker 2>/dev/null
same "NCCLINIT_OUTPUT" "$(cat expected)" "$(cat byenv)"
same "no temporary file is left" "./byenv ./expected ./file ./node ./private" \
    "$(find . -maxdepth 1 -mindepth 1 | sort | xargs)"

# ---- an nccl.conf of our own is no administrator's ------------------------------------------------------------------

own() { # NAME OUTPUT: NCCL reads it by the name in NCCL_CONF_FILE
    rm -f conf/nccl.conf
    for time in first second; do
        NCCLINIT_ROOT=/ "$bin" env --format=nccl.conf -o "$2" 2>err || fail "$1" "$(cat err)"
        same "$1: the $time time" 1 "$(grep -c '^NCCL_IB_DISABLE=1$' conf/nccl.conf)"
    done
}
mkdir conf
ln -s conf conf-link
ln -s conf/nccl.conf conf-file
for NCCL_CONF_FILE in conf/nccl.conf "$dir/conf/nccl.conf" "$dir/conf-link/../conf/nccl.conf" conf-file; do
    export NCCL_CONF_FILE
    own "NCCL_CONF_FILE=$NCCL_CONF_FILE, in its folder" conf/nccl.conf
    own "NCCL_CONF_FILE=$NCCL_CONF_FILE" "$dir/conf-link/nccl.conf"
done
# A link is replaced itself: what stood behind it is no more read by that name, and an administrator's by another.
echo NCCL_IB_DISABLE=0 >conf/theirs
ln -s theirs conf/link
NCCL_CONF_FILE=conf/theirs NCCLINIT_ROOT=/ "$bin" env --format=nccl.conf -o conf/link 2>err
same "an administrator's, which a link led to" "0 0" "$? $(grep -c NCCL_IB_DISABLE conf/link)"
rm -r conf conf-link conf-file
unset NCCL_CONF_FILE

# fails NAME PATTERN ARG...: status 1, one line, the old file is whole
fails() {
    name=$1 pattern=$2
    shift 2
    "$bin" env "$@" >out 2>err && status=0 || status=$?
    same "$name: status" 1 "$status"
    matches "$name: message" "nccl-init: error: $pattern" "$(grep -v socket.none err)"
    same "$name: stdout" "" "$(cat out)"
}
fails "-o in no directory" "none/file: ENOENT (*)" -o none/file
fails "-o on a directory" "node: EISDIR (*)" -o node
"$bin" env >/dev/full 2>err && status=0 || status=$?
same "full standard output: status" 1 "$status"
matches "full standard output: message" "*standard output: ENOSPC (*)" "$(cat err)"
"$bin" env >&- 2>err && status=0 || status=$?
same "closed standard output: status" 1 "$status"

if unshare -m mount -t tmpfs none "$dir/node" 2>/dev/null; then
    mkdir small
    unshare -m sh -c "mount -t tmpfs -o size=16k none small && cd small && echo old >file &&
        { cat /dev/zero >fill; '$bin' env -o file; echo \"status \$?\"; cat file; ls; }" >out 2>err
    same "full disk: status" "status 1" "$(grep status out)"
    matches "full disk: message" "*file: ENOSPC (*)*" "$(cat err)"
    same "full disk: old file whole, nothing left" "old file fill" "$(grep -v status out | xargs)"
    unshare -m sh -c "mount -t tmpfs none small && cd small && echo old >file &&
        mount -o remount,ro . && { '$bin' env -o file; echo \"status \$?\"; cat file; ls; }" \
        >out 2>err
    same "read-only mount: status" "status 1" "$(grep status out)"
    matches "read-only mount: message" "*file: EROFS (*)*" "$(cat err)"
    same "read-only mount: old file whole" "old file" "$(grep -v status out | xargs)"
else
    skip "full disk, read-only mount" "unshare or mount is not allowed"
fi

# ---- refusals --------------------------------------------------------------------------------

: >log
"$bin" env --mode=rdma --termination-log="$dir/log" -o refused >out 2>err && status=0 || status=$?
same "mode=rdma without a usable HCA: status" 125 "$status"
matches "mode=rdma: message" "*nccl-init: error: *" "$(cat err)"
same "mode=rdma: nothing is written" "" "$(cat out; ls refused 2>/dev/null)"
same "mode=rdma on another root: no termination log" "" "$(cat log)"

finish
