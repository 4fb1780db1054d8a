#!/bin/sh
# How the command line is read: verbs, options, `--`, errors (acceptance cases C1 to C4, C6).
# SPDX-License-Identifier: Apache-2.0
set -u
# shellcheck source=/dev/null
. "$(dirname -- "$0")/lib"
bin=$(program)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir -p "$dir/empty/proc" "$dir/nothing"
export NCCLINIT_LOG_LEVEL=error
unset COLUMNS NO_COLOR

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
usage "a bare word" "*echo*is not a verb; see *nccl-init --help*nccl-init -- echo*" echo hi
usage "a slip of a verb" "?docter? is not a verb; did you mean ?doctor?[?] *nccl-init -- docter" docter --json
usage "a verb behind options" "the verb comes first: nccl-init plan*nccl-init * -- plan" --mode=rdma plan
usage "a bare word behind options" "*before the command*" --mode=off echo hi
usage "run without a command" "no command*" run
usage "run -- without a command" "no command*" run --
usage "-- without a command" "no command*" --
usage "an operand of plan" "*takes no operands*nccl-init -- plan*" plan extra
usage "a recorded node as an operand" "?plan? takes no operands; *nccl-init plan --root=x.tree" plan x.tree
usage "a folder as an operand" "?topo? takes no operands; *nccl-init topo --root=$dir" topo "$dir"
usage "a finding as an operand" "?doctor? takes no operands; *nccl-init explain iommu.translated" doctor iommu.translated
usage "-v" "?-v? is not an option of ?run?; ?nccl-init -V? shows the version, ?--log-level=debug? says more" -v
usage "a slip of --version" "?--verison? is not an option of ?run?; did you mean ?--version?[?]" --verison
usage "-v of a verb" "?-v? is not an option of ?plan?; ?nccl-init -V? *" plan -v
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
usage "an abbreviation is no option" "?--mod? is not an option of ?run?; did you mean ?--mode?[?]" --mod=tcp -- echo
usage "an option of other verbs" "?--expect? is not an option of ?run?, but of ?log?" --expect=rdma -- echo
usage "an option of three verbs" "?--deadline? is not an option of ?plan?, but of ?run?, ?doctor? and ?selftest?" plan --deadline=1
usage "a slip of an id" "--ignore: ?shm.default,hca.port.dwn? is not valid; expected a list of: none, FINDING; did you mean ?hca.port.down?[?]" \
    doctor --ignore=shm.default,hca.port.dwn
usage "a slip in a list" "--require: *; did you mean ?gpus?[?]" --require=rails=4,rdma,gpsu -- echo
usage "beyond a range" "--wait: ?3601? is not valid; expected SECONDS from 0 to 3600" plan --wait=3601
usage "beyond a range, milliseconds" "--seconds: ?61? is not valid; expected S from 0 to 60" --seconds=61 -- true
usage "beyond a range, bytes" "--size: ?1K? is not valid; expected BYTES from 16384 to 68719476736" --size=1K -- true
with=NCCLINIT_RANKS=16385
usage "beyond a range, by variable" "NCCLINIT_RANKS: ?16385? is not valid; expected one of: auto, N from 0 to 16384" preflight
for pair in '--json --rules' '--json --gids' '--rules --gids'; do
    # shellcheck disable=SC2086 # words
    usage "plan $pair" "*exclude each other" plan $pair
done
usage "bad value" "--mode: ?rmda? is not valid; expected one of: auto, rdma, tcp, off; did you mean ?rdma?[?]" --mode=rmda -- echo
usage "empty value" "--mode: *" --mode= -- echo
usage "missing value" "*--mode*needs a value*" plan --mode
usage "a switch takes no value" "*--json*takes no value" plan --json=1
usage "control bytes are escaped" '`--x\\x0ay*' "--x
y" -- echo
for bad in 1x -1 '' 1KK 1KB 1T K 99999999999999999999 9223372036854775807 0x10 ' 1'; do
    usage "memlock '$bad'" "--memlock: *" "--memlock=$bad" -- echo
done
for good in max keep unlimited 0 65536 64K 64k 1G 1GiB 8Gi 8796093022207M; do
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
for verb in $("$bin" --help | sed -n 's/^  \([a-z]*\)$/\1/p'); do
    out=$("$bin" help "$verb")
    matches "help of $verb: groups, examples, see also" "Usage: *
Examples:
  # *
  nccl-init*
  # *
  nccl-init*
*
Output:
  *--*
See also: *[a-z]*" "$(echo "$out" | sed 's/^  kubectl.* | nccl-init/  nccl-init/')"
    # each option of an example is one of its verb: --help behind it is reached
    # shellcheck disable=SC2016 # the example's $RANK
    echo "$out" | sed -n '/^Examples:/,/^$/s/^  \(.*| \)*nccl-init \([^|&>]*\).*/\2/p' |
        sed -e 's/ *-- .*//' -e 's/-o /-o/' -e 's/\$RANK/0/' >"$dir/lines"
    while read -r line; do
        of=run
        case $line in -V) continue ;; [a-z]*) of=${line%% *} ;; esac
        # shellcheck disable=SC2046 # words
        matches "example of $verb: nccl-init $line" "Usage: nccl-init $of *" \
            "$("$bin" "$of" $(echo "$line" | tr ' ' '\n' | grep -e '^-') --help 2>&1)"
    done <"$dir/lines"
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
out=$("$bin" explain hca.port.down: rail.slow) && status=0 || status=$?
matches "explain: two pages" "0 hca.port.down (warning)

*

rail.slow (warning)

*Cluster admin: *" "$status $out"
same "explain: lines are not long" 0 "$(echo "$out" | grep -c '.\{101\}')"
matches "explain: all" "*  iommu.translated *error*  shm.small *" "$("$bin" explain)"
same "explain: ids that begin so" "  iommu.slow        warning
  iommu.translated  error" "$("$bin" explain iommu | tail -n +3)"
matches "explain: a group with rules" "*gid.pick *rule*gid.index *rule*gid.index.differs *info*" "$("$bin" explain gid)"
matches "explain: a rule" "rule hca.list*reads*sets   NCCL_IB_HCA*Why, *docs/reference/rules.md*" "$("$bin" explain hca.list)"
matches "explain: no such id" "perhaps iommu.translated: *" "$("$bin" explain iommu.translatd)"
matches "explain: an id among words" "rail.slow (warning)*" "$("$bin" explain rail.slow frobnicate)"
out=$("$bin" explain frobnicate 2>&1) && status=0 || status=$?
matches "explain: nothing near" "1 nccl-init: error: nothing is known about ?frobnicate?; *?nccl-init explain? lists all ids" "$status $out"
same "help: as --help" "$("$bin" --help)" "$("$bin" help)"
same "help is no output: stdout" "Usage: nccl-init env [OPTION...]" "$("$bin" env -o "$dir/no-output" --help | head -n 1)"
same "help is no output: no file" no "$([ -e "$dir/no-output" ] && echo yes || echo no)"
same "help of a verb: as its --help" "$("$bin" topo --help)" "$("$bin" help topo)"
usage "help of no verb" "?tpoo? is not a verb; did you mean ?topo?[?]" help tpoo
usage "help of nothing near" "?frobnicate? is not a verb; see ?nccl-init --help?" help frobnicate
usage "help of two verbs" "?help? takes one verb, not ?topo? too" help plan topo
for args in -V version; do
    same "$args: as --version" "$("$bin" --version)" "$(NCCLINIT_MODE=nonsense NCCLINIT_LOG_LEVEL=no "$bin" $args 2>&1)"
done
usage "version takes nothing" "*takes no operands*" version 2
"$bin" --help >/dev/full 2>"$dir/err" && status=0 || status=$?
same "--help on a full disk: status" 1 "$status"

# ---- width and colour ------------------------------------------------------------------------

node=$(nodes)/bond.tree
long() { # WIDTH: how many lines are longer
    COLUMNS=$1 "$bin" explain rail.slow hca.port.down "$2" | grep -c "^.\{$(($1 + 1))\}"
}
for width in 40 60 90; do same "$width columns" 0 "$(long $width gid.none)"; done
[ "$(COLUMNS=140 "$bin" explain rail.slow | grep -c '^.\{101\}')" -gt 0 ] || fail "140 columns" "no line is so long"
for width in 0 1001 x ''; do
    same "COLUMNS=$width is none" "$("$bin" explain rail.slow)" "$(COLUMNS=$width "$bin" explain rail.slow)"
done
same "COLUMNS=20 is too few: 40" "$(COLUMNS=40 "$bin" plan --root="$node")" "$(COLUMNS=20 "$bin" plan --root="$node")"
matches "the last column of a table is wrapped" "*chosen  hca.ports  given by
                                    /dev/infiniband/uverbs0,*" "$(COLUMNS=60 "$bin" plan --all --root="$node")"
matches "... but not in a pipe" "*chosen  hca.ports  given by /dev/infiniband/uverbs0, port ACTIVE*" "$("$bin" plan --all --root="$node")"
escape=$(printf '\033')
colours() { "$bin" plan --root="$node" "$@" | grep -c "$escape"; }
same "no terminal, no colour" 0 "$(colours)"
[ "$(colours --color=always)" -gt 0 ] || fail "--color=always" "there is none"
[ "$(NCCLINIT_COLOR=always colours)" -gt 0 ] || fail "NCCLINIT_COLOR=always" "there is none"
[ "$(NO_COLOR=1 TERM=dumb colours --color=always)" -gt 0 ] || fail "--color=always wins over NO_COLOR" "there is none"
usage "--colour" "?--colour? is not an option of ?plan?; did you mean ?--color?[?]" plan --colour=always
if command -v script >/dev/null; then
    on_terminal() { script -qec "stty cols 64; TERM=xterm '$bin' $1" /dev/null | tr -d '\r'; }
    [ "$(on_terminal "plan --root='$node'" | grep -c "$escape")" -gt 0 ] || fail "a terminal" "no colour"
    same "a terminal, --color=never" 0 "$(on_terminal "plan --color=never --root='$node'" | grep -c "$escape")"
    same "a terminal's width" 0 "$(on_terminal "explain rail.slow" | grep -c '^.\{65\}')"
    same "a terminal's width: lines use it" yes "$(on_terminal "explain rail.slow" | grep -q '^.\{58\}' && echo yes || echo no)"
    narrow() { script -qec "stty cols 20; '$bin' plan --color=never --root='$node'" /dev/null | tr -d '\r'; }
    same "a narrow terminal: 40 columns" "$(COLUMNS=40 "$bin" plan --root="$node")" "$(narrow)"
    matches "a terminal as the log" "nccl-init: reading standard input*" "$(on_terminal "log --log-level=info")"
else
    skip "a terminal" "script is not installed"
fi

# Tables, too, are no wider than the line; only a path or a value, which has no blank, may be. Nothing is lost.
node=$(nodes)/hgx-ib.tree
for verb in "plan --all" "topo --all" "doctor --all" plan doctor; do
    words() { tr -s '[:space:]' '\n' | sort -u; }
    # shellcheck disable=SC2086 # words
    COLUMNS=80 "$bin" $verb --root="$node" >"$dir/narrow"
    # shellcheck disable=SC2086
    "$bin" $verb --root="$node" >"$dir/wide"
    same "$verb in 80 columns" "" "$(grep '^.\{81\}' "$dir/narrow" | grep -v -e '^  NCCL_IB_HCA  *[^ ]*$' -e '^export ' -e "^[AN][a-z]*: .* $node\$")"
    same "$verb in 80 columns: all words" "$(words <"$dir/wide")" "$(words <"$dir/narrow")"
done
matches "a table in parts: the first column again" "*
  PORT       GPU4  GPU5  GPU6  GPU7
  mlx5_0/1   SYS   SYS   SYS   SYS*" "$(COLUMNS=80 "$bin" topo --all --root="$node")"

# ---- --root (C6) -----------------------------------------------------------------------------

usage "run with a root" "*needs the devices of this machine*plan --root*" --root "$dir/empty" -- echo hi
with=NCCLINIT_ROOT=$dir/empty
usage "run with NCCLINIT_ROOT" "*needs the devices of this machine*NCCLINIT_ROOT*" -- echo hi
gives "run with root /" "hi" --root=/ -- echo hi
usage "a root that is no node's" "--root: $dir/nothing: not a recorded node: it has neither proc nor sys*" plan --root "$dir/nothing"
usage "a root that is not there" "--root: */none: ENOENT*" plan --root "$dir/none"
printf 'x nonsense\n' >"$dir/bad.tree"
usage "a root that is no tree" "--root: *bad.tree:1: *" plan --root "$dir/bad.tree"

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
    usage "run, NCCLINIT_$pair" "command not started: NCCLINIT_${pair%%=*}*" -- echo hi
done
with=NCCLINIT_REQIRE=rdma
usage "run, a demand's name" "command not started: NCCLINIT_REQIRE: no option has this variable; did you mean NCCLINIT_REQUIRE=rdma[?]" -- echo hi
with=NCCLINIT_MODE=rmda
gives "the command line wins over a wrong demand" "hi" --mode=off -- echo hi
: >"$dir/log"
NCCLINIT_TERMINATION_LOG=$dir/log NCCLINIT_MODE=rmda NCCLINIT_REQIRE=x "$bin" -- true 2>"$dir/err"
same "a wrong demand: the termination log is standard error" "1 $(cat "$dir/err")" "$(wc -l <"$dir/log") $(cat "$dir/log")"
matches "a wrong demand: all of them" "nccl-init: error: command not started: NCCLINIT_MODE: *; NCCLINIT_REQIRE: *" "$(cat "$dir/log")"
with=NCCLINIT_PREFLIGHT=requier
gives "env does not read it" "" env --mode=off
out=$(NCCLINIT_PREFLIGHT=requier "$bin" plan --all --mode=tcp 2>&1)
matches "plan says what run would do" \
    "*The command would not be started: NCCLINIT_PREFLIGHT: ?requier? is not valid*error: require.unclear: NCCLINIT_PREFLIGHT*" "$out"
NCCLINIT_PREFLIGHT=requier "$bin" doctor --mode=off >"$dir/out" 2>&1 && status=0 || status=$?
matches "doctor too" "1 *error: require.unclear: NCCLINIT_PREFLIGHT*" "$status $(cat "$dir/out")"
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
