#!/bin/sh
# When the command cannot be executed: exit status, and a hint that names the reason (acceptance cases X1 to X10).
# SPDX-License-Identifier: Apache-2.0
set -u
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../cli/lib"
bin=$(program)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export NCCLINIT_LOG_LEVEL=error NCCLINIT_MODE=off NCCLINIT_TERMINATION_LOG="$dir/none"
cd "$dir" || exit 1
sh=/bin/sh
PATH=/usr/local/bin:/usr/bin:/bin # a directory that this user may not search would count

# dies NAME STATUS PATTERN COMMAND...: so it fails, with one line on stderr
dies() {
    name=$1 expected=$2 pattern=$3
    shift 3
    "$bin" -- "$@" >out 2>err && status=0 || status=$?
    same "$name: status" "$expected" "$status"
    matches "$name: message" "nccl-init: error: command not started: $pattern" "$(cat err)"
    same "$name: lines" 1 "$(wc -l <err | tr -d ' ')"
    same "$name: stdout" "" "$(cat out)"
}

script() { # FILE FIRST-LINE: an executable script
    printf '%b\necho ran\n' "$2" >"$1"
    chmod 755 "$1"
}

dies "X1 missing, by PATH" 127 "*\`no-such-command\` is in no directory of PATH*" no-such-command
dies "X1 missing, by path" 127 "*\`./none\` does not exist*" ./none
dies "X1 missing, directory is a file" 127 "*does not exist*" ./err/none
touch plain
dies "X2 not executable" 126 "*\`./plain\`: EACCES (*): not executable*chmod +x*" ./plain
mkdir folder
dies "X3 directory" 126 "*\`./folder\`: *it is a directory" ./folder
mkfifo -m 755 fifo
dies "X3 fifo" 126 "*\`./fifo\`: *not a regular file*" ./fifo

script no-interpreter '#!/no/such/interpreter -x'
dies "X4 missing interpreter" 127 "*\`./no-interpreter\` (\`#!/no/such/interpreter -x\`): *its interpreter*is missing*" \
    ./no-interpreter
script crlf '#!/bin/sh\r'
dies "X4 CR LF" 127 "*\`#!/bin/sh\\\\x0d\`): *CR LF*" ./crlf
out=$(PATH=. "$bin" -- crlf 2>&1) && status=0 || status=$?
same "X4 CR LF, by PATH: status" 127 "$status"
matches "X4 CR LF, by PATH: message" "*CR LF*" "$out"
script crlf-argument '#!/no/such/interpreter -x\r'
dies "X4 CR LF behind an argument" 127 "*: its interpreter*is missing*" ./crlf-argument
script denied-interpreter "#!$dir/plain"
dies "X4 interpreter not executable" 126 "*its interpreter*denies execution*" ./denied-interpreter
LC_ALL=C sed 's|/ld-|/xx-|g' "$sh" >no-loader
chmod 755 no-loader
if [ "$(readelf -l "$sh" 2>/dev/null | grep -c interpreter)" = 1 ]; then
    dies "X4 missing loader" 127 "*its loader is missing: *another libc*" ./no-loader
else
    skip "X4 missing loader" "no readelf, or $sh is static"
fi
head -c 64 "$bin" >elf
machine=$(od -An -tu2 -j18 -N2 elf | tr -d ' ')

script no-shebang 'echo hello'
dies "X5 no #!" 126 "*ENOEXEC (*)*\`#!/bin/sh\`*sh FILE*" ./no-shebang
script blank-shebang '#! '
dies "X5 blank #!" 126 "*ENOEXEC (*)*first line like*" ./blank-shebang
: >empty
chmod 755 empty
dies "X5 empty file" 126 "*ENOEXEC (*): it is not a program;*" ./empty

chmod 755 elf
dies "X6 cut-off program" 126 "*ENOEXEC (*): the program is damaged*" ./elf
head -c 18 "$bin" >cut-early
chmod 755 cut-early
dies "X6 cut before its architecture" 126 "*ENOEXEC (*): the program is damaged*" ./cut-early
[ "$machine" = 183 ] && other=76 || other=267
{
    head -c 18 "$bin"
    printf '%b\000' "\\0$other"
    tail -c +21 "$bin"
} >wrong-machine
chmod 755 wrong-machine
dies "X6 other architecture" 126 "*ENOEXEC (*): *built for an architecture other than*" ./wrong-machine

ln -s loop loop
dies "X7 ELOOP" 126 "*\`./loop\`: ELOOP (*)*" ./loop
long=$(printf '%0300d' 0)
dies "X7 name too long, by PATH" 126 "*name too long*" "$long"
dies "X7 name too long, by path" 126 "*name too long*" "./$long"
cp "$bin" busy
exec 9>>busy
dies "X7 ETXTBSY" 126 "*\`./busy\`: ETXTBSY (*)" ./busy
exec 9>&-

dies "X8 empty name" 127 "*name of the command is empty*" ''

# X9, an empty argument vector, needs a helper: tests/unit/cli/test_dispatch.c.

# ---- X10: PATH -------------------------------------------------------------------------------

mkdir a b c
script a/tool '#!/bin/sh'
chmod 644 a/tool
script b/tool '#!/bin/sh'
script c/only '#!/bin/sh'
chmod 644 c/only
script here '#!/bin/sh'

# runs NAME PATH COMMAND...
runs() {
    name=$1 path=$2
    shift 2
    out=$(PATH=$path "$bin" -- "$@" 2>&1) && status=0 || status=$?
    same "$name" "0 ran" "$status $out"
}
runs "X10 EACCES, then found" "$dir/a:$dir/b" tool
runs "X10 a directory of that name, then found" "$dir:$dir/b" tool
mkdir tool
runs "X10 a directory called so, then found" "$dir:$dir/b" tool
runs "X10 an element that is a file" "$dir/plain:$dir/b" tool
runs "X10 an element that is not there" "$dir/none:$dir/b" tool
runs "X10 an element too long" "$dir/$(printf '%05000d' 0):$dir/b" tool
script a/other '#!/no/such/interpreter'
script b/other '#!/bin/sh'
runs "X10 missing interpreter, then found" "$dir/a:$dir/b" other
for path in '' : :/none /none: /none::/none2; do
    runs "X10 empty element is the working directory, PATH='$path'" "$path" here
done
runs "X10 a name with a slash does not go by PATH" /none ./here
PATH=$dir/c "$bin" -- only >out 2>err && status=0 || status=$?
same "X10 EACCES only" 126 "$status"
out=$(env -u PATH "$bin" -- sh -c 'echo ran') && status=0 || status=$?
same "X10 PATH unset" "0 ran" "$status $out"
out=$(PATH=/none "$bin" -- "$sh" -c 'echo ran')
same "X10 absolute" ran "$out"
out=$(PATH=$dir/b "$bin" -- tool 2>&1)
same "argv[0] and PATH of a script" ran "$out"

# E2BIG, which a shell cannot provoke for the command alone: tests/unit/system/test_exec.c.

# ---- the rest --------------------------------------------------------------------------------

if unshare -m sh -c "mount -t tmpfs -o noexec none '$dir/folder'" 2>/dev/null; then
    out=$(unshare -m sh -c "mount -t tmpfs -o noexec none '$dir/folder' && cp b/tool folder &&
        exec '$bin' -- ./folder/tool" 2>&1) && status=0 || status=$?
    same "noexec: status" 126 "$status"
    matches "noexec: message" "*mounted noexec*" "$out"
else
    skip "noexec mount" "mount is not allowed"
fi
if setpriv --reuid=65534 --clear-groups true 2>/dev/null; then
    mkdir closed
    cp b/tool closed
    chmod 700 closed
    chmod 711 .
    cp "$bin" ./nccl-init
    out=$(setpriv --reuid=65534 --clear-groups ./nccl-init -- ./closed/tool 2>&1) && status=0 || status=$?
    same "closed directory: status" 126 "$status"
    matches "closed directory: message" "*may not search a directory*" "$out"
    chmod 711 no-interpreter
    out=$(setpriv --reuid=65534 --clear-groups ./nccl-init -- ./no-interpreter 2>&1) && status=0 || status=$?
    same "closed file: status" 127 "$status"
    matches "closed file: message" "*nccl-init: error: command not started: \`./no-interpreter\`: ENOENT (*): its interpreter \
or loader is missing*" "$out"
else
    skip "closed directory, closed file" "setpriv cannot change the user"
fi

: >log
NCCLINIT_TERMINATION_LOG=$dir/log "$bin" -- no-such-command 2>/dev/null
matches "the reason is in the termination log" "nccl-init: error: command not started: \`no-such-command\` is in no directory*" \
    "$(cat log)"

finish
