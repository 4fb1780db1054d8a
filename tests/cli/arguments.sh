#!/bin/sh
# How the command line is read: verbs, options, `--`, errors (acceptance cases C1 to C4, C6).
# SPDX-License-Identifier: Apache-2.0
set -u
# shellcheck source=/dev/null
. "$(dirname -- "$0")/lib"
bin=$(program)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/empty"
export NCCLINIT_LOG_LEVEL=error

with= # K=V for the next usage or gives

# gives NAME EXPECTED ARG...: runs, and stdout is so
gives() {
    name=$1 expected=$2
    shift 2
    # shellcheck disable=SC2086 # none or one
    out=$(env $with "$bin" "$@" 2>"$dir/err") && status=0 || status=$?
    with=
    same "$name" "0 $expected" "$status $out"
}

# ---- verbs -----------------------------------------------------------------------------------

usage "no argument" "no command*--help*"
usage "a bare word" "*echo*is not a verb*nccl-init -- echo*" echo hi
usage "a verb of later" "*is not a verb; see *nccl-init --help*" frobnicate
usage "a bare word behind options" "*before the command*" --mode=off echo hi
usage "run without a command" "no command*" run
usage "run -- without a command" "no command*" run --
usage "-- without a command" "no command*" --
usage "an operand of plan" "*takes no operands*nccl-init -- plan*" plan extra
usage "an operand of env" "*takes no operands*" env FOO=bar true
gives "run without --" "hi" run echo hi
gives "run --" "hi" run -- echo hi
gives "--" "hi" -- echo hi
gives "options and --" "hi" --mode=off --log-level debug -- echo hi

# ---- options stop at the command (C1), a command may look like an option (C2) --------------------

gives "options of the command" "--mode=rdma -x" run echo --mode=rdma -x
gives "-- of the command" "a -- b" -- echo a -- b
gives "the second -- is the command's" "-- b" run -- echo -- b
printf '#!/bin/sh\necho I am "$@"\n' >"$dir/-x"
chmod +x "$dir/-x"
with=PATH=$dir:$PATH
gives "a command named -x" "I am me" -- -x me
printf '#!/bin/sh\necho plan of mine\n' >"$dir/plan"
chmod +x "$dir/plan"
with=PATH=$dir:$PATH
gives "a command named as a verb" "plan of mine" -- plan

# ---- wrong options (C3) ----------------------------------------------------------------------

usage "unknown option" "*--frob*is not an option of*nccl-init run --help*" --frob -- echo
usage "unknown option of a verb" "*--frob*is not an option of*nccl-init plan --help*" plan --frob=1
usage "unknown letter" "*-z*is not an option of*" plan -z
usage "an abbreviation is no option" "*--mod*is not an option of*" --mod=tcp -- echo
usage "an option of another verb" "*--json*is not an option of*run*" --json -- echo
usage "beyond a range" "--wait: ?3601? is not SECONDS from 0 to 3600" plan --wait=3601
usage "beyond a range, milliseconds" "--seconds: ?61? is not S from 0 to 60" --seconds=61 -- true
usage "beyond a range, bytes" "--size: ?1K? is not BYTES from 16384 to 68719476736" --size=1K -- true
with=NCCLINIT_RANKS=16385
usage "beyond a range, by variable" "NCCLINIT_RANKS: ?16385? is not auto|N from 0 to 16384" preflight
for pair in '--json --rules' '--json --gids' '--rules --gids'; do
    # shellcheck disable=SC2086 # words
    usage "plan $pair" "*exclude each other" plan $pair
done
usage "bad value" "--mode:*rmda*auto|rdma|tcp|off" --mode=rmda -- echo
usage "empty value" "--mode: *" --mode= -- echo
usage "missing value" "*--mode*needs a value*" plan --mode
usage "a switch takes no value" "*--json*takes no value" plan --json=1
usage "control bytes are escaped" '`--x\\x0ay*' "--x
y" -- echo
for bad in 1x -1 '' 1KK K 99999999999999999999 9223372036854775807 0x10 ' 1'; do
    usage "memlock '$bad'" "--memlock: *" "--memlock=$bad" -- echo
done
for good in max keep 0 65536 64K 1G 8796093022207M; do
    gives "memlock '$good'" "hi" "--memlock=$good" -- echo hi
done
for bad in '' ',' 'a,' a:0 a:256 a:x a:1:1 =a ^a 'a b' ../a .; do
    usage "hcas '$bad'" "--hcas: *" "--hcas=$bad" -- echo
done
for bad in '' 'eth0,' a-name-that-is-longer-than-16 eth0:1; do
    usage "sockets '$bad'" "--sockets: *" "--sockets=$bad" -- echo
done
gives "lists" "hi" --hcas=mlx5_0,mlx5_1:2 --sockets pod --gdr=PHB -- echo hi
gives "the last one counts" "hi" --mode=rdma --mode=off -- echo hi

# ---- help and version (C4) -------------------------------------------------------------------

# An option of a verb is in its help, another's is not.
helps() { # VERB OPTION yes|no
    "$bin" "$1" --help 2>&1 | grep -q -- "--$2[= ]" && found=yes || found=no
    same "help of $1, --$2" "$3" "$found"
}
for args in --help -h 'run --help' 'env -h' 'plan --help' 'snapshot --help' '--mode=tcp --help'; do
    # shellcheck disable=SC2086 # words
    out=$("$bin" $args 2>"$dir/err") && status=0 || status=$?
    same "$args: status" 0 "$status"
    matches "$args: stdout" "*Usage: nccl-init*" "$out"
    same "$args: stderr" "" "$(cat "$dir/err")"
done
helps run strict yes
helps plan strict no
helps plan json yes
helps run json no
helps snapshot mask yes
gives "--help behind -- is the command's" "--help" -- printf "%s" --help
# shellcheck disable=SC2016 # backquotes of the text
for verb in $("$bin" --help | sed -n 's/^  \([a-z]*\)$/\1/p'); do
    matches "verb $verb exists" "Usage: nccl-init $verb *" "$("$bin" "$verb" --help)"
done
out=$("$bin" --version)
matches "--version" "nccl-init [0-9]*jansson*" "$out"
NCCLINIT_MODE=nonsense "$bin" plan --help >/dev/null && status=0 || status=$?
same "help in spite of a wrong variable" 0 "$status"
"$bin" --help >/dev/full 2>"$dir/err" && status=0 || status=$?
same "--help on a full disk: status" 1 "$status"

# ---- --root (C6) -----------------------------------------------------------------------------

usage "run with a root" "*uses this machine*plan --root*" --root "$dir/empty" -- echo hi
with=NCCLINIT_ROOT=$dir/empty
usage "run with NCCLINIT_ROOT" "*uses this machine*NCCLINIT_ROOT*" -- echo hi
gives "run with root /" "hi" --root=/ -- echo hi
usage "a root that is not there" "*/none: ENOENT*" plan --root "$dir/none"
printf 'x nonsense\n' >"$dir/bad.tree"
usage "a root that is no tree" "*bad.tree:1: *" plan --root "$dir/bad.tree"

# ---- NCCLINIT_ -------------------------------------------------------------------------------

with=NCCLINIT_MODE=rmda
usage "plan, unknown value" "NCCLINIT_MODE: *rmda*" plan
with=NCCLINIT_FROB=1
usage "env, unknown variable" "NCCLINIT_FROB: *" env
with=NCCLINIT_STRICT=yes
gives "plan does not read options of run" "" env --mode=off
with=NCCLINIT_GDR=PIC
gives "run, unknown value" "hi" -- echo hi
with=NCCLINIT_FROB=1
gives "run, unknown variable" "hi" -- echo hi
out=$(NCCLINIT_GDR=PIC NCCLINIT_LOG_LEVEL=warn "$bin" -- true 2>&1)
matches "run tells the unknown value" "*warning: option.invalid: NCCLINIT_GDR: *PIC*" "$out"
# A demand that cannot be understood is not met.
for pair in REQUIRE=rails=4,fast MODE=rmda MODE= PREFLIGHT=requier SELFTEST=requre STRICT=maybe REQIRE=rdma; do
    with=NCCLINIT_$pair
    usage "run, NCCLINIT_$pair" "NCCLINIT_${pair%%=*}*" -- echo hi
done
with=NCCLINIT_REQIRE=rdma
usage "run, a demand's name" "NCCLINIT_REQIRE: no option has this variable; did you mean NCCLINIT_REQUIRE=rdma[?]" -- echo hi
with=NCCLINIT_MODE=rmda
gives "the command line wins over a wrong demand" "hi" --mode=off -- echo hi
: >"$dir/log"
NCCLINIT_TERMINATION_LOG=$dir/log NCCLINIT_MODE=rmda NCCLINIT_REQIRE=x "$bin" -- true 2>"$dir/err"
same "a wrong demand: the termination log is standard error" "1 $(cat "$dir/err")" "$(wc -l <"$dir/log") $(cat "$dir/log")"
matches "a wrong demand: all of them" "nccl-init: error: NCCLINIT_MODE: *; NCCLINIT_REQIRE: *" "$(cat "$dir/log")"
with=NCCLINIT_PREFLIGHT=requier
gives "env does not read it" "" env --mode=off
out=$(NCCLINIT_PREFLIGHT=requier "$bin" plan --mode=tcp 2>&1)
matches "plan says what run would do" \
    "*The command would not be started: NCCLINIT_PREFLIGHT: ?requier? is not *error: require.unclear: NCCLINIT_PREFLIGHT*" "$out"
NCCLINIT_PREFLIGHT=requier "$bin" doctor --mode=off >"$dir/out" 2>&1 && status=0 || status=$?
matches "doctor too" "1 *error *require.unclear  NCCLINIT_PREFLIGHT*" "$status $(cat "$dir/out")"
out=$(NCCLINIT_FROB=1 NCCLINIT_LOG_LEVEL=warn "$bin" -- true 2>&1)
matches "run tells the unknown variable" "*warning: option.invalid: NCCLINIT_FROB: *" "$out"
with=NCCLINIT_FORMAT=nonsense
gives "run does not read options of env" "hi" -- echo hi
out=$(NCCLINIT_MODE=tcp "$bin" env --root "$dir/empty" --format=docker 2>/dev/null)
matches "a variable is read" "*NCCL_IB_DISABLE=1*" "$out"
out=$(NCCLINIT_FORMAT=k8s NCCLINIT_MODE=tcp "$bin" env --root "$dir/empty" 2>/dev/null)
matches "a variable of env is read" "*NCCL_IB_DISABLE='1'*" "$out"
out=$(NCCLINIT_FORMAT=k8s NCCLINIT_MODE=tcp "$bin" env --format=sh --root "$dir/empty" 2>/dev/null)
matches "the command line wins" "*export NCCL_IB_DISABLE=*" "$out"

finish
