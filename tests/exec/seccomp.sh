#!/bin/sh
# Under seccomp profiles that do not know a system call, refuse it (EPERM, as container runtimes of old) or deny that it
# exists (ENOSYS, as those of today, gVisor and kernels of old): whichever call it is, the command starts, and what could
# not be seen or done is told.
# SPDX-License-Identifier: Apache-2.0
set -u
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../cli/lib"
if is_sanitized; then
    skip_all "sanitizers in the program under test use system calls of their own"
fi
bin=$(program)
refuse=$(tool refuse)
bare=$(tool bare)
tree=$(nodes)/h100-12dev.tree
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
mkdir -p root/proc
export RAN=yes
"$refuse" EPERM openat2 "$bin" --version >/dev/null 2>err || skip_all "$(cat err)"

# ---- openat2 alone -----------------------------------------------------------------------------------------------

for error in EPERM ENOSYS; do
    for verb in plan env topo doctor; do
        "$bin" $verb >expected 2>&1 && want=0 || want=$?
        "$refuse" $error openat2 "$bin" $verb >out 2>&1 && status=0 || status=$?
        same "$verb without openat2, $error: status" "$want" "$status"
        same "$verb without openat2, $error: as with it" "" "$(diff expected out)"
        "$bin" $verb --root="$tree" >expected 2>&1 && want=0 || want=$?
        "$refuse" $error openat2 "$bin" $verb --root="$tree" >out 2>&1 && status=0 || status=$?
        same "$verb of a tree without openat2, $error: as with it" "$want " "$status $(diff expected out)"
        "$refuse" $error openat2 "$bin" $verb --root=root >out 2>err && status=0 || status=$?
        same "$verb of a directory without openat2, $error" \
            "125 nccl-init: error: --root needs openat2, which this kernel or a seccomp filter lacks" "$status $(cat out err)"
    done
    same "run without openat2, $error" "$("$bin" -- env 2>&1 | sort)" "$("$refuse" $error openat2 "$bin" -- env 2>&1 | sort)"
done

# ---- each call ---------------------------------------------------------------------------------------------------

# The calls that nccl-init makes or might come to make, on amd64 and arm64, whatever libc; execve, by which the command
# starts, and exit_group aside.
calls='access arch_prctl brk capget capset clock_gettime clone clone3 close close_range faccessat faccessat2 fcntl fork fstat
    getdents64 getegid geteuid getpid getppid getrandom getrlimit gettid ioctl lseek lstat memfd_create mmap mprotect munmap
    newfstatat open openat openat2 pipe pipe2 poll ppoll prctl pread64 prlimit64 read readlink readlinkat rt_sigaction
    rt_sigprocmask setrlimit set_tid_address stat statfs statx uname write writev'
low='prlimit --memlock=65536:262144'
command -v prlimit >/dev/null || low=

# What is lost with it is told. A pattern for stderr.
told() { # CALL
    case $1 in
    openat | read) echo '*fact.unreadable: proc/self/limits: *' ;;
    prlimit64) echo '*memlock unknown*memlock.low: *the limit cannot be read*' ;;
    write) echo '' ;;
    *) echo '*nccl-init: auto-detected *' ;;
    esac
}
# The command makes no call of its own but write.
for call in $calls; do
    for error in EPERM ENOSYS; do
        # shellcheck disable=SC2086 # words
        timeout 60 $low "$refuse" $error "$call" "$bin" -- "$bare" RAN= >out 2>err </dev/null && status=0 || status=$?
        case $call,$status in
        *,77) continue 2 ;;               # not of this architecture
        arch_prctl,*) continue ;;         # amd64: no libc starts without, that of the command neither
        write,1) ;;                       # the command's own
        *) same "$call, $error: the command runs" "0 RAN=yes" "$status $(cat out)" ;;
        esac
        matches "$call, $error: told" "$(told "$call")" "$(cat err)"
        same "$call, $error: only printable bytes" 0 "$(LC_ALL=C tr -d '\n -~' <err | wc -c)"
        for verb in plan doctor "plan --root=$tree" "doctor --root=root"; do
            # shellcheck disable=SC2086 # words
            timeout 60 "$refuse" $error "$call" "$bin" $verb >out 2>err </dev/null && status=0 || status=$?
            case $status in
            0 | 1 | 125) ;;
            *) fail "$call, $error: $verb" "status $status" ;;
            esac
        done
    done
done

# ---- what is asked for and cannot be done ------------------------------------------------------------------------

for call in prctl capset capget; do
    for error in EPERM ENOSYS; do
        "$refuse" $error $call "$bin" --mode=tcp --keep-caps=ipc_lock -- "$bare" RAN= >out 2>err && status=0 || status=$?
        same "--keep-caps without $call, $error: the command runs" "0 RAN=yes" "$status $(cat out)"
        matches "--keep-caps without $call, $error: told" "*caps.keep.missing: --keep-caps: *" "$(cat err)"
        "$refuse" $error $call "$bin" --mode=tcp --drop-caps=chown -- "$bare" RAN= >out 2>err && status=0 || status=$?
        case $call in
        prctl) # the bounding set: what is there is not known
            same "--drop-caps without $call, $error: the command runs" "0 RAN=yes" "$status $(cat out)"
            matches "--drop-caps without $call, $error: told" "*caps.drop.bounding: --drop-caps: CAP_CHOWN: *" "$(cat err)"
            ;;
        *) # the command would still have it
            same "--drop-caps without $call, $error: refused" "125 " "$status $(cat out)"
            matches "--drop-caps without $call, $error: told" "*cannot drop its capabilities*" "$(cat err)"
            ;;
        esac
    done
done

finish
