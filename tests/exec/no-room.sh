#!/bin/sh
# An environment within bytes of what the kernel takes: the settings do not fit, and the command starts without them.
# SPDX-License-Identifier: Apache-2.0
set -u
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../cli/lib"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cp "$(program)" "$dir/n" || exit 1
cd "$dir" || exit 1

# brim ARG...: starts ./n ARG... with the largest environment that the kernel takes for it, and prints standard output,
# standard error and status. What ./n itself is given takes more than what it gives the command, but for the settings.
cat >brim <<'EOF'
import errno, os, subprocess, sys

def run(size):
    """The result with an environment of that many bytes, in variables of 100 KiB at most; None: it does not fit."""
    env = {b"PATH": b"/usr/bin:/bin", b"HOME": b"/"}
    number = 0
    while size > 0:
        part = min(size, 100 << 10)
        env[b"FILL%05d" % number] = b"x" * max(part - 11, 0)
        size -= part
        number += 1
    try:
        return subprocess.run(["./n", *sys.argv[1:]], env=env, capture_output=True, text=True, check=False)
    except OSError as error:
        if error.errno != errno.E2BIG:
            raise
        return None

fits, over = 1 << 16, 1 << 24
if run(over):
    sys.exit(77)
while over - fits > 1:
    middle = (fits + over) // 2
    if run(middle):
        fits = middle
    else:
        over = middle
done = run(fits)
print(f"{done.returncode}|{done.stdout}|{done.stderr}", end="")
EOF
brim() {
    prlimit --stack=1048576 python3 brim "$@"
}
prlimit --stack=1048576 true 2>/dev/null || skip_all "prlimit cannot set the stack's limit"
out=$(brim --version)
[ $? -ne 77 ] || skip_all "the environment has no bound"

lost="*error: exec.no-room: /bin/sh: the environment of the command has no room for the settings (E2BIG). *"
# shellcheck disable=SC2016 # for the command's shell
script='echo ${NCCL_IB_DISABLE-unset} ${FILL00001:+kept}' # nothing more can be executed there
out=$(brim -- /bin/sh -c "$script")
matches "it starts" "0|unset kept
|*" "$out"
matches "a finding" "$lost" "$out"
out=$(brim -- sh -c "$script")
matches "by PATH" "0|unset kept
|*" "$out"
# The kernel counts the name of a program twice, as a file and as an argument: a long one makes up for the options.
long=$dir/$(printf '%044d' 0)
long=$(printf '%.55s' "$long")
ln -s /bin/sh "$long"
demands="--mode=tcp --selftest=require"
# shellcheck disable=SC2086 # words
out=$(brim $demands -- "$long" -c "echo ran")
matches "a demand: refused" "125||*
nccl-init: error: command not started: --selftest=require, but the environment of the command has no room for the settings (E2BIG)" "$out"
out=$(brim --strict -- /bin/sh -c "echo ran")
matches "--strict: refused" "125||*error: command not started: --strict*" "$out"
# Room enough without the settings, but what is started is no program: the second reason is told, whole.
printf 'no program' >no-program
chmod +x no-program
out=$(brim -- ./no-program)
matches "the second start fails otherwise" "126||*error: exec.no-room: ./no-program: *
*error: command not started: \`./no-program\`: ENOEXEC*it is not a program; a script needs *" "$out"
printf '\177ELF' >damaged
chmod +x damaged
out=$(brim -- ./damaged)
matches "... a damaged program" "126||*error: exec.no-room: *
*error: command not started: \`./damaged\`: ENOEXEC*the program is damaged" "$out"
out=$(brim --mode=off -- /bin/sh -c "echo ran")
matches "nothing to set" "0|ran
|" "$out"

finish
