#!/bin/sh
# preflight between processes of this machine, without RDMA: who takes part, what each says, --once, and when `run` starts
# the command. With RDMA: the lab (docs/dev/lab.md); many pods: tests/preflight.
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2030,SC2031 # each part has its own folder and count
set -u
# shellcheck source=/dev/null
. "$(dirname -- "$0")/lib"
own_network
bin=$(program)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
export NCCLINIT_TERMINATION_LOG="$dir/none"
outside_jobs
port=$((20000 + $$ % 10000))

# Most of the time pods wait for others: the parts of this test, a function each, wait at the same time.
parts=
part() { # FUNCTION: with a folder and a port of its own
    port=$((port + 1))
    (
        dir=$dir/$1
        mkdir "$dir"
        cd "$dir" || exit 1
        failures=0
        "$1"
        finish
    ) >"$1.said" 2>&1 &
    parts="$parts $1=$!"
}

# until COMMAND...: until it succeeds, at most a minute
until_it() {
    for _ in $(seq 600); do
        ! "$@" >/dev/null 2>&1 || return 0
        sleep 0.1
    done
    return 1
}

known() { # N: as many other pods are connected to pod 0
    [ "$(awk -v port="$(printf ':%04X' "$port")" '$2 ~ port "$" && $4 == "01"' /proc/net/tcp /proc/net/tcp6 | wc -l)" -ge "$1" ]
}

# ---- who takes part --------------------------------------------------------------------------

takes_part() {
    usage "nothing tells" "*--peers*" preflight
    usage "no rank" "*rank*" preflight --peers=localhost
    usage "a rank too large" "*rank*" preflight --peers=localhost --rank=2 --ranks=2
    usage "a recorded node" "*preflight*needs the devices of this machine*" preflight --root="$(nodes)/h100-12dev.tree"
    usage "--preflight of the verb" "*is not an option of \`preflight\`*" preflight --preflight=warn
    usage "--preflight=on" "--preflight: \`on\` is not valid; expected one of: off, warn, require" --preflight=on -- true
    out=$("$bin" preflight --peers=localhost --rank=0 --ranks=1 2>err) && status=0 || status=$?
    "$bin" preflight --peers=127.0.0.1 --rank 0 --ranks=2 --within=1 >two 2>err
    same "All: with what the call needs" "nccl-init preflight --all --peers=127.0.0.1 --rank=0 --ranks=2 --within=1" \
        "$(sed -n 's/^All:  //p' two)"
    same "a pod never came: a command without a namespace" "Run: kubectl get pods -o wide" "$(sed -n 's/^ *\(Run: kubectl\)/\1/p' two)"
    POD_NAMESPACE=team-a "$bin" preflight --peers=127.0.0.1 --rank 0 --ranks=2 --within=1 >two 2>err
    same "... with the one that is told" "Run: kubectl get pods --namespace=team-a -o wide" "$(sed -n 's/^ *\(Run: kubectl\)/\1/p' two)"
    POD_NAMESPACE='a;b' "$bin" preflight --peers=127.0.0.1 --rank 0 --ranks=2 --within=1 >two 2>err
    same "... but for one that a shell would not take" "Run: kubectl get pods -o wide" "$(sed -n 's/^ *\(Run: kubectl\)/\1/p' two)"
    SLURM_STEP_ID=0 SLURM_STEP_NODELIST='127.0.0.1,gpu-b17' SLURM_NODEID=0 SLURM_STEP_NUM_NODES=2 SLURM_JOB_ID=5 SLURM_RESTART_COUNT=0 \
        "$bin" preflight --within=1 >two 2>err
    same "... and below Slurm nothing of Kubernetes" "0" "$(grep -c kubectl two)"
    if unshare -m true 2>/dev/null; then
        # shellcheck disable=SC2016 # the inner shell's
        unshare -m sh -ec 'mount -t tmpfs none /run
            mkdir -p /run/secrets/kubernetes.io/serviceaccount
            printf team-b >/run/secrets/kubernetes.io/serviceaccount/namespace
            [ /var/run -ef /run ] || mount --bind /run /var/run
            exec "$0" preflight --peers=127.0.0.1 --rank 0 --ranks=2 --within=1' "$bin" >two 2>err
        same "... or is in the file of the pod's account" "Run: kubectl get pods --namespace=team-b -o wide" "$(sed -n 's/^ *\(Run: kubectl\)/\1/p' two)"
    else
        skip "the file of the pod's account" "unshare or mount is not allowed"
    fi
    matches "one pod" "0 preflight: not tested: one pod takes part: *no port*" "$status $out"
    : >told
    out=$("$bin" preflight --peers=localhost --rank=0 --ranks=1 --strict --termination-log="$dir/told" 2>err) && status=0 || status=$?
    matches "one pod, --strict" "1 preflight: bad: one pod takes part: *no port*" "$status $out"
    matches "one pod: the termination log" "*error: preflight: bad: one pod takes part: *" "$(cat told)"
    "$bin" preflight --once=once.verb --peers=localhost --rank=0 --ranks=1 >out 2>err
    out=$("$bin" preflight --once=once.verb --peers=localhost --rank=0 --ranks=1 2>err) && status=0 || status=$?
    same "--once of the verb: said again" "0 preflight: not tested: from an earlier start, kept in once.verb" "$status $out"
    sed -i 's/^not tested/bad/' once.verb
    out=$("$bin" preflight --once=once.verb --peers=localhost --rank=0 --ranks=1 2>err) && status=0 || status=$?
    same "--once of the verb: bad" "1 preflight: bad: from an earlier start, kept in once.verb" "$status $out"
    head -c 32 /dev/zero >secret
    for other in same --port=1234 --peers=127.0.0.1 NCCL_ALGO=Ring --job-secret="$dir/secret" --job-secret="$dir/secret2"; do
        case $other in
        NCCL*) set -- env "$other" "$bin" preflight --peers=localhost ;;
        --peers*) set -- "$bin" preflight "$other" ;;
        same) set -- "$bin" preflight --peers=localhost ;;
        *) set -- "$bin" preflight --peers=localhost "$other" ;;
        esac
        said="one pod takes part: *"
        [ "$other" != same ] || said="from an earlier start, kept in once.other"
        rm -f once.other
        case $other in
        *secret2) cp secret secret2 && "$@" --once=once.other --rank=0 --ranks=1 --job=a >out 2>err && echo more >>secret2 ;;
        *) "$bin" preflight --once=once.other --peers=localhost --rank=0 --ranks=1 --job=a >out 2>err ;;
        esac
        out=$("$@" --once=once.other --rank=0 --ranks=1 --job=a 2>err) && status=0 || status=$?
        matches "--once, $other" "0 preflight: not tested: $said" "$status $out"
    done
}

# ---- two of them -----------------------------------------------------------------------------

# pod N OPTION...: in the background: N.out, N.err, N.status
pod() {
    n=$1
    shift
    {
        "$bin" "$@" --peers=localhost:$port --rank="$n" --ranks=2 --job=test >"$n.out" 2>"$n.err"
        echo $? >"$n.status"
    } &
}

# pod 0 waits as long as the pods that are there, not as one that was killed
three() { # RANK SECONDS
    exec "$bin" preflight --peers=localhost:$port --rank="$1" --ranks=3 --job=test --within="$2" >"$1.out" 2>&1
}

two_of_them() {
    pod 1 preflight
    pod 0 preflight
    wait
    same "two meet" "0 0" "$(cat 0.status 1.status | xargs)"
    matches "pod 0 tells all" "preflight: not tested: no pod of the job has a rail; 2 of 2 pods came*job.rdma.none*" "$(cat 0.out)"
    matches "pod 1 the sentence" "preflight: not tested: *2 of 2 pods came*" "$(cat 1.out)"
    same "and no more" 1 "$(wc -l <1.out | tr -d ' ')"
    matches "a line for each phase" "*nccl-init: preflight: pods: 0 of 2 came*" "$(cat 0.err)"
    pod 1 preflight --strict --json
    pod 0 preflight --strict --json
    wait
    same "--strict" "1 1" "$(cat 0.status 1.status | xargs)"
    matches "JSON of pod 0" '{*"schema": 1,*"verdict": "bad",*"missing": \[\],*' "$(cat 0.out)"
    matches "JSON of pod 1" '{*"schema": 1,*"verdict": "bad",*"line": "bad: *' "$(cat 1.out)"
    pod 1 preflight --strict --mode=tcp
    pod 0 preflight --strict --mode=tcp
    wait
    same "--strict, and TCP is meant" "0 0" "$(cat 0.status 1.status | xargs)"
    same "TCP is meant: the sentence" "preflight: not tested: no pod of the job has a rail; 2 of 2 pods came" "$(cat 1.out)"
    pod 1 preflight --json
    pod 0 preflight --json
    wait
    matches "JSON: not tested" '0 0 {*"verdict": "not tested",*"missing": \[\],*' "$(cat 0.status 1.status | xargs) $(cat 0.out)"
    pod 1 preflight --mode=tcp
    pod 0 preflight --mode=tcp --require=rdma
    wait
    matches "TCP, and RDMA is required" "1 1 preflight: bad: no pod of the job has a rail*" "$(cat 0.status 1.status 0.out | xargs)"
    : >told
    pod 0 preflight --within=1 --svg=picture.svg --report=report.json --termination-log="$dir/told"
    wait
    same "nobody comes" 1 "$(cat 0.status)"
    matches "who" "*job.missing*1 of 2 pods never came: rank 1*" "$(cat 0.out)"
    matches "the termination log" "nccl-init: error: preflight: bad: 1 of 2 pods never came*nccl-init: error: job.missing*" "$(cat told)"
    matches "a picture" "*<svg *" "$(cat picture.svg)"
    matches "a report" '{*"verdict": "bad",*"line": "bad: *' "$(cat report.json)"
    pod 1 preflight --within=1
    wait
    same "pod 0 does not come" 1 "$(cat 1.status)"
    matches "who is not there" "preflight: bad: localhost (*1) port $port: ECONNREFUSED *the others have started, or never came" "$(cat 1.out)"
    out=$("$bin" preflight --peers=127.0.0.1:$port --rank=1 --ranks=2 --within=1) && status=0 || status=$?
    matches "an address is said once" "1 preflight: bad: 127.0.0.1 port $port: ECONNREFUSED *" "$status $out"
    pod 0 preflight --within=2
    out=$("$bin" preflight --peers=localhost:$port --rank=1 --ranks=2 --job=other --within=1) && status=0 || status=$?
    matches "another job's pod 0" "1 preflight: bad: pod 0 refused this pod: its key is not that of pod 0: another job, or attempt*" "$status $out"
    wait
    # what pod 0 said is not forgotten when it is gone
    pod 0 preflight --within=2
    out=$("$bin" preflight --peers=localhost:$port --rank=1 --ranks=2 --job=other --within=4) && status=0 || status=$?
    matches "another job's pod 0, which ends" \
        "1 preflight: bad: localhost (*1) port $port: ECONNREFUSED *; before that, pod 0 refused this pod: its key is not *" "$status $out"
    wait
    three 0 30 &
    three 1 2 &
    killed=$!
    until_it known 1
    kill -KILL "$killed"
    sleep 3 # longer than it would have waited
    three 1 30 &
    three 2 30 &
    wait
    matches "a pod that is killed and comes again" "*preflight: not tested: *3 of 3 pods came*" "$(cat 0.out)"
    pod 1 preflight --svg=nowhere/picture.svg
    pod 0 preflight --svg=nowhere/picture.svg
    wait
    same "no folder for the picture" "1 0" "$(cat 0.status 1.status | xargs)"
    matches "no folder: said" "*error: nowhere/picture.svg: ENOENT (*)*" "$(cat 0.err)"
    pod 0 preflight
    "$bin" preflight --peers=localhost:$port --rank=1 --ranks=2 --job=test >/dev/full 2>err && status=0 || status=$?
    wait
    same "no room for the sentence" "1 0" "$status $(cat 0.status)"
}

# ---- the key -----------------------------------------------------------------------------------

# keyed OPTION...: two pods with a key that no other text here has, and one with another
keyed() {
    for n in 0 1; do
        "$bin" preflight --peers=localhost:$port --rank=$n --ranks=2 --job=hush-key --within=3 "$@" >key.$n 2>&1 &
    done
    "$bin" preflight --peers=localhost:$port --rank=1 --ranks=2 --job=hush-other --within=1 "$@" >key.2 2>&1
    wait
}

nameless() { # [COMMAND]: pod 0, whose key is only its name; nobody comes
    "$@" "$bin" preflight --peers=localhost:$port --rank=0 --ranks=2 --within=1 2>&1
}

the_key() {
    keyed --once=key.kept --log-level=debug
    same "the file of --once has the key: for its owner alone" 600 "$(stat -c %a key.kept)"
    rm key.kept
    keyed --json --strict
    same "no key is printed" "" "$(grep -l hush key.? || true)"
    usage "a key that would be cut" "*the key of the job is longer than 127 characters*" preflight \
        --peers=localhost --rank=0 --ranks=2 --job="$(printf 'hush%.0s' 1 2 3 4 5 6 7 8)$(printf '%0100d' 0)"
    same "... is not printed either" "" "$(grep hush err || true)"
    if [ -e /proc/sys/net/core/netdev_max_backlog ]; then
        matches "no key, on a host network" "*warning: job.key.host*the name of pod 0, whose address *" "$(nameless)"
        out=$("$bin" --preflight=require --peers=localhost:$port --rank=1 --ranks=2 -- echo ran 2>err) && status=0 || status=$?
        matches "... and require" "125 *error: *the job has no key but the name of pod 0*--job=KEY*" "$status $out$(cat err)"
    else
        skip "no key, on a host network" "this is none"
    fi
    if unshare -n true 2>/dev/null; then
        matches "no key" "*info: job.key.name*the job has no key but the name of pod 0*" "$(nameless unshare -n)"
        out=$(unshare -n "$bin" --preflight=require --peers=localhost:$port --rank=0 --ranks=2 --within=1 -- echo ran 2>err) && status=0 || status=$?
        matches "... and require: it is tried" "125 *1 of 2 pods never came*" "$status $out$(cat err)"
    else
        skip "no key" "no network namespace of its own"
    fi
}

# ---- a secret ----------------------------------------------------------------------------------

secrets() {
    printf 'hush-0123456789abcdef' >secret
    printf 'hush-0123456789abcdef\n' >newline
    printf 'too-short' >short
    pod 1 preflight --job-secret=secret --json --log-level=debug
    export NCCLINIT_JOB_SECRET=secret
    pod 0 preflight --json --log-level=debug
    unset NCCLINIT_JOB_SECRET
    wait
    matches "a secret" '0 0 {*"line": "not tested: no pod of the job has a rail; 2 of 2 pods came"*' "$(cat 0.status 1.status | xargs) $(cat 0.out)"
    same "... is in no output" "" "$(grep -l hush ./?.out ./?.err || true)"
    pod 0 preflight --job-secret=secret --within=3
    pod 1 preflight --job-secret=newline --within=1
    wait
    same "another secret: a newline is a byte" "1 preflight: bad: pod 0 has another secret than this pod (--job-secret)" "$(cat 1.status 1.out | xargs)"
    matches "another secret: at pod 0" "*1 of 2 pods never came*(refused: strangers: *without the key or secret of the job; the last one from *)*" "$(tr -s " \n" " " <0.out)"
    pod 0 preflight --job-secret=secret --within=3
    pod 1 preflight --within=1
    wait
    matches "a secret at pod 0 alone" "1 preflight: bad: pod 0 refused this pod: it has no secret (--job-secret), and pod 0 has one*" "$(cat 1.status 1.out | xargs)"
    pod 0 preflight --within=3
    pod 1 preflight --job-secret=secret --within=1
    wait
    matches "a secret, and none at pod 0" "1 preflight: bad: pod 0 has no secret, and this pod has one: --job-secret is for all pods*" "$(cat 1.status 1.out | xargs)"
    for n in 0 1; do
        pod "$n" preflight --job-secret=absent
        wait
        matches "no such file, rank $n" "1 preflight: bad: --job-secret: absent: ENOENT (*); mount the Secret of the job there" "$(cat "$n.status" "$n.out" | xargs)"
        pod "$n" preflight --job-secret=short
        wait
        matches "too few bytes, rank $n" "1 preflight: bad: --job-secret: short: it must have 16 to 1024 bytes; *" "$(cat "$n.status" "$n.out" | xargs)"
    done
    out=$(NCCLINIT_JOB_SECRET=absent "$bin" --preflight=require --peers=localhost:$port --rank=1 --ranks=2 -- echo ran 2>&1) && status=0 || status=$?
    matches "no such file, and require" "125 *error: command not started: --preflight=require, but the preflight is bad: --job-secret: absent: *" "$status $out"
    # What the command has of it: no variable, and no descriptor. Its process never read it.
    for n in 0 1; do
        NCCLINIT_JOB_SECRET=secret "$bin" --preflight=require --mode=tcp --peers=localhost:$port --rank="$n" --ranks=2 --job=test -- \
            sh -c 'env; ls -l /proc/self/fd' >"$n.out" 2>&1 &
    done
    wait
    matches "before a command" "*PATH=*" "$(cat 1.out)"
    same "... which has nothing of it" "" "$(grep -i 'hush\|secret$\|JOB_SECRET' 0.out 1.out || true)"
    if [ -e /proc/sys/net/core/netdev_max_backlog ]; then
        for n in 0 1; do # without --job
            "$bin" --preflight=require --mode=tcp --job-secret=secret --peers=localhost:$port --rank="$n" --ranks=2 -- echo ran >"$n.out" 2>"$n.err" &
        done
        wait
        same "no key but a secret, on a host network, and require" "ran ran" "$(cat 0.out 1.out | xargs)"
        "$bin" preflight --mode=tcp --job-secret=secret --peers=localhost:$port --rank=0 --ranks=2 --within=1 >out 2>&1
        matches "... and it is only told" "*info: job.key.name*" "$(cat out)"
    else
        skip "a secret on a host network" "this is none"
    fi
}

# ---- before a command ------------------------------------------------------------------------

# runs N OPTION...: `run`
runs() {
    n=$1
    shift
    {
        "$bin" --peers=localhost:$port --rank="$n" --ranks=2 --job=test "$@" -- echo ran >"$n.out" 2>"$n.err"
        echo $? >"$n.status"
    } &
}

before_a_command() {
    runs 1 --preflight=require --once=once.1
    runs 0 --preflight=require --mode=tcp --once=once.0 --report=report
    wait
    matches "a report before a command" '{*"verdict": "not tested",*"ranks": 2,*' "$(cat report)"
    same "not tested: with --mode=tcp alone it starts" "0 ran 125" "$(cat 0.status 0.out 1.status 1.out | xargs)"
    matches "not tested: said" "*nccl-init: preflight: not tested: no pod of the job has a rail; 2 of 2 pods came*" "$(cat 0.err)"
    matches "not tested: why" "*error: command not started: --preflight=require, but the preflight is not tested: no pod of the job has a rail; *" "$(cat 1.err)"
    same "not tested, and not enough: not kept" no "$([ -e once.1 ] && echo yes || echo no)"
    runs 0 --preflight=require --mode=tcp --ranks=4 --need=3 --within=2
    for n in 1 2; do
        runs "$n" --preflight=require --mode=tcp --ranks=4 --within=5
    done
    wait
    same "one is missing, and not needed" "0 ran 0 ran 0 ran" "$(cat 0.status 0.out 1.status 1.out 2.status 2.out | xargs)"
    matches "one is missing: said" "*: preflight: not tested: 3 of 4 pods are kept, drop rank 3; *" "$(cat 0.err)"
    runs 0 --preflight=require --mode=tcp --ranks=4 --need=4 --within=1
    runs 1 --preflight=require --mode=tcp --ranks=4 --within=5
    wait
    same "fewer than are needed" "125 125" "$(cat 0.status 0.out 1.status 1.out | xargs)"
    matches "fewer than are needed: said" "*the preflight is bad: 2 of 4 pods are good, and 4 are needed; *" "$(cat 1.err)"
    runs 1 --preflight=require --mode=tcp --once=once.1
    runs 0 --preflight=require --mode=tcp --once=once.2
    wait
    same "a verdict that is enough" "0 ran 0 ran" "$(cat 0.status 0.out 1.status 1.out | xargs)"
    runs 1 --preflight=require --mode=tcp --once=once.1
    wait
    same "--once: skipped" "0 ran" "$(cat 1.status 1.out | xargs)"
    matches "--once: said" "*nccl-init: preflight: not tested: from an earlier start, kept in once.1*" "$(cat 1.err)"
    # replaced while the others run: nobody is there
    for n in 0 1; do
        runs "$n" --preflight=require --mode=tcp --within=1 --once=once.late
        wait
        same "late, rank $n: refused" "125" "$(cat "$n.status" "$n.out" | xargs)"
        runs "$n" --preflight=require --mode=tcp --within=1 --once=once.late --late=selftest
        wait
        same "late, rank $n: starts" "0 ran" "$(cat "$n.status" "$n.out" | xargs)"
        matches "late, rank $n: said" "*nccl-init: warning: preflight: not tested: no other pod was found within 1 s; this pod starts late: *" "$(cat "$n.err")"
        same "late, rank $n: not kept" no "$([ -e once.late ] && echo yes || echo no)"
        runs "$n" --preflight=require --within=1 --late=selftest
        wait
        same "late, rank $n, nothing to test: refused" "125" "$(cat "$n.status" "$n.out" | xargs)"
    done
    runs 1 --preflight=require --once=once.1 --within=1
    wait
    same "--once: not tested, and not enough" "125" "$(cat 1.status 1.out | xargs)"
    rm once.2
    runs 1 --preflight=require --once=once.1 --job=another --within=1
    wait
    same "--once: not of another attempt" "125" "$(cat 1.status 1.out | xargs)"
    : >log
    runs 0 --preflight=require --within=1 --once=once.2 --termination-log="$dir/log"
    wait
    same "require: not started" "125" "$(cat 0.status 0.out | xargs)"
    matches "require: why" "*error: command not started: --preflight=require, but the preflight is bad: 1 of 2 pods never came: rank 1*" "$(cat 0.err)"
    matches "require: termination log" "nccl-init: error: command not started: --preflight=require, but *rank 1*" "$(cat log)"
    same "require: finding" 1 "$(grep -c 'error: require.preflight: User: ' 0.err)"
    same "require: a bad verdict is not kept" no "$([ -e once.2 ] && echo yes || echo no)"
    runs 0 --preflight=warn --within=1 --once=once.2
    wait
    same "warn: started" "0 ran" "$(cat 0.status 0.out | xargs)"
    matches "warn: said" "*warning: preflight: bad: 1 of 2 pods never came*" "$(cat 0.err)"
    runs 0 --preflight=warn --strict --within=1 --once=once.3
    wait
    same "warn, --strict: not started" "125" "$(cat 0.status 0.out | xargs)"
    matches "warn, --strict: why" "*error: job.missing: *error: command not started: --strict, and the preflight is bad*" "$(cat 0.err)"
    same "warn, --strict: a bad verdict is not kept" no "$([ -e once.3 ] && echo yes || echo no)"
    runs 0 --preflight=warn --strict --within=1 --once=once.2
    wait
    matches "warn, --strict: what warn kept does not hold" "125*pods: 0 of 2 came*" "$(cat 0.status 0.err)"
    runs 0 --preflight=warn --within=60 --once=once.2
    wait
    same "warn: kept" "0 ran" "$(cat 0.status 0.out | xargs)"
    runs 0 --preflight=require --within=1 --once=once.2
    wait
    matches "require: what warn kept does not hold" "125*pods: 0 of 2 came*" "$(cat 0.status 0.err)"
    # Nothing else is taken for a verdict, or replaced by one.
    echo precious >precious
    ln -s precious link
    for once in precious link "$dir"; do
        out=$("$bin" --preflight=require --mode=tcp --peers=localhost --rank=0 --ranks=1 --job=a --once="$once" -- echo ran 2>err) && status=0 || status=$?
        same "--once: $once: started" "0 ran" "$status $out"
        matches "--once: $once: said" "*warning: preflight: $once: *" "$(cat err)"
    done
    same "--once: what is no verdict stays" "precious precious" "$(cat precious) $(readlink link)"
    "$bin" --preflight=require --mode=tcp --peers=localhost --rank=0 --ranks=1 --job=a --once=planted -- true 2>err
    sed -i 's/^not tested/good/' planted
    chown 65534 planted 2>/dev/null && {
        out=$("$bin" --preflight=require --mode=tcp --peers=localhost --rank=0 --ranks=1 --job=a --once=planted -- echo ran 2>&1)
        same "--once: another user's verdict is none" 0 "$(printf '%s\n' "$out" | grep -c 'from an earlier start')"
    }
    : >empty
    "$bin" --preflight=require --mode=tcp --peers=localhost --rank=0 --ranks=1 --job=a --once=empty -- true 2>err
    same "--once: an empty file" "not tested: nccl-init preflight: 0/1 a" "$(cut -d' ' -f1-6 empty)"
    if grep -q __gcov_exit "$bin"; then
        skip "--once: no room" "a program that counts its lines writes files of its own"
    else
        mkdir full
        out=$(
            ulimit -f 0
            "$bin" --preflight=warn --mode=tcp --peers=localhost --rank=0 --ranks=1 --job=a --once=full/once -- echo ran 2>&1
        ) && status=0 || status=$?
        matches "--once: no room (ulimit -f): started" "0 *warning: preflight: full/once: EFBIG (*ran" "$status $out"
        same "--once: no room: nothing is left" "" "$(ls -A full)"
    fi
    out=$("$bin" --preflight=require -- echo ran 2>err) && status=0 || status=$?
    same "nothing tells: require" "125 " "$status $out"
    matches "nothing tells: why" "*error: command not started: --preflight=require, but *--peers*" "$(cat err)"
    out=$("$bin" --require=preflight -- echo ran 2>err) && status=0 || status=$?
    matches "a word of --require" "125 *error: command not started: --require=preflight, but *--peers*" "$status $out$(cat err)"
    out=$(LOCAL_RANK=1 "$bin" --preflight=require -- echo ran 2>err) && status=0 || status=$?
    matches "nothing tells: another process of the pod" "125 *error: command not started: --preflight=require, but *: it is not known which pods take part*" "$status $out$(cat err)"
    out=$("$bin" --selftest=warn --preflight=warn --peers=localhost --rank=0 --ranks=1 -- echo ran 2>err) && status=0 || status=$?
    matches "one pod" "0 ran*warning: preflight: not tested: one pod takes part: *" "$status $out$(cat err)"
    same "one pod: each finding once" 1 "$(grep -c 'verbs.none' err)"
    # shellcheck disable=SC2046 # words
    env $(awk 'BEGIN { for (; i < 300; i++) print "NCCL_X" i "=" }') \
        "$bin" --preflight=warn --peers=localhost --rank=0 --ranks=1 -- true 2>err
    same "one pod: too many findings: said once" 1 "$(grep -c 'more findings are not shown' err)"
    out=$("$bin" --preflight=warn -- echo ran 2>err) && status=0 || status=$?
    matches "nothing tells: warn" "0 ran*warning: preflight: bad: it is not known which pods take part*" "$status $out$(cat err)"
}

# ---- a signal --------------------------------------------------------------------------------

a_signal() {
    "$bin" --preflight=require --peers=localhost:$port --rank=1 --ranks=2 --job=signal -- true >/dev/null 2>&1 &
    until_it pgrep -P $!
    kill -TERM $!
    wait $! && status=0 || status=$?
    same "SIGTERM" 143 "$status"
    "$bin" preflight --peers=localhost:$port --rank=0 --ranks=3 --job=awaits --termination-log="$dir/awaits" >out 2>awaits.err &
    : >awaits
    until_it grep -q '1 of 3 came; ' awaits.err
    matches "who is awaited, in a log" "*preflight: pods: 1 of 3 came; waiting for ranks 1-2; 2?? s left*" "$(cat awaits.err)"
    kill -TERM $!
    wait $! && status=0 || status=$?
    matches "SIGTERM: who was awaited" "143*ended by a signal while it waited: pods: 1 of 3 came; waiting for ranks 1-2; *" "$status $(cat awaits.err)"
    matches "SIGTERM: the termination log" "*ended by a signal while it waited: pods: 1 of 3 came*" "$(cat awaits)"
    "$bin" preflight --peers=localhost:$port --rank=1 --ranks=2 --json >out 2>err &
    until_it pgrep -P $!
    kill -KILL "$(pgrep -P $!)"
    wait $! && status=0 || status=$?
    matches "its child is killed" '1 {*"verdict": "bad",*"line": "bad: the process of preflight was killed, or crashed"*' "$status $(cat out)"
    same "nothing is left" "" "$(pgrep -f -- "--ranks=2 --job=signal" || true)"
    "$bin" preflight --peers=localhost:$port --rank=0 --ranks=2 --within=3 >out 2>err &
    until_it pgrep -P $!
    kill -STOP "$(pgrep -P $!)"
    wait $! && status=0 || status=$?
    same "the child of pod 0 is stopped" "1 preflight: bad: its process did not answer within 3 s; was it stopped?" "$status $(cat out)"
    "$bin" preflight --peers=localhost:$port --rank=1 --ranks=2 --within=3 >out 2>err &
    until_it pgrep -P $!
    kill -STOP "$(pgrep -P $!)"
    wait $! && status=0 || status=$?
    same "the child of pod 1 is stopped" \
        "1 preflight: bad: pod 0 was not found within 3 s: the name server does not answer, or this pod's process was stopped" "$status $(cat out)"
    # the participant of pod 0, a child of the child: pod 0 says what it knows, and does not wait for it
    "$bin" preflight --peers=localhost:$port --rank=0 --ranks=2 --job=test --within=20 >0.out 2>0.err &
    pod0=$!
    participant() {
        pgrep -P "$(pgrep -P $pod0)"
    }
    until_it participant
    sleep 1 # until pod 0 knows it: they talk by a socket that nobody else sees
    kill -STOP "$(participant)"
    pod 1 preflight
    until_it [ -s 0.out ]
    matches "the participant of pod 0 is stopped" "preflight: not tested: *2 of 2 pods came*" "$(cat 0.out)"
    kill -KILL $pod0 2>/dev/null
    wait
}

# ---- the other processes of a pod --------------------------------------------------------------

# process LOCAL_RANK OPTION...: one of the processes of a pod, which starts its command, or says why not
process() {
    number=$1
    shift
    LOCAL_RANK=$number LOCAL_WORLD_SIZE=3 "$bin" --preflight=require --peers=localhost:$port --rank=0 --job=local "$@" \
        -- echo "ran $number" >"$number.out" 2>"$number.err" || echo $? >>"$number.out"
}

# processes OPTION...: three of them, of which local rank 0 comes last
processes() {
    process 1 "$@" &
    process 2 "$@" &
    until_it grep -q "waiting for the verdict of local rank 0" 2.err
    same "another process of the pod does not start before" "" "$(cat 1.out 2.out)"
    process 0 "$@"
    wait
}

local_ranks() {
    processes --ranks=1 --mode=tcp
    same "the processes of a pod start" "ran 0 ran 1 ran 2" "$(cat ./*.out | tr '\n' ' ' | sed 's/ $//')"
    processes --ranks=1
    same "local rank 0 is refused: so are the others" "125 125 125" "$(cat ./*.out | tr '\n' ' ' | sed 's/ $//')"
    matches "... and say so" "*but the preflight is *: as local rank 0 of this pod says, whose log has the reason*" "$(cat 1.err)"
    processes --ranks=2 --within=1
    same "a pod is missing: no process starts" "125 125 125" "$(cat ./*.out | tr '\n' ' ' | sed 's/ $//')"
    processes --ranks=0
    same "a mistake: no process starts" "125 125 125" "$(cat ./*.out | tr '\n' ' ' | sed 's/ $//')"
    process 1 --ranks=1 --mode=tcp --within=1
    same "no local rank 0: the process does not start" 125 "$(cat 1.out)"
    matches "... and says why" "*local rank 0 of this pod, which meets the other pods, said nothing within 1 s*" "$(cat 1.err)"
    out=$(LOCAL_RANK=1 "$bin" --preflight=warn --within=1 --peers=localhost --rank=0 --ranks=1 -- echo ran 2>err) && status=0 || status=$?
    matches "... but with warn" "0 ran*warning: preflight: bad: local rank 0 of this pod, *" "$status $out$(cat err)"
    out=$(LOCAL_RANK=1 "$bin" preflight --json --within=1 --peers=localhost --rank=0 --ranks=1 2>/dev/null) && status=0 || status=$?
    matches "... and the verb" '1 {*"verdict": "bad",*"line": "bad: local rank 0 of this pod, *' "$status $out"
    process 1 --ranks=2 --within=20 &
    LOCAL_RANK=0 LOCAL_WORLD_SIZE=2 "$bin" preflight --peers=localhost:$port --rank=0 --ranks=2 --job=local --within=20 2>0.err &
    until_it grep -q "pods: 0 of 2 came" 0.err
    until_it grep -q "waiting for the verdict" 1.err
    sleep 0.3
    kill -KILL $!
    wait
    same "local rank 0 is killed: the other does not start" 125 "$(cat 1.out)"
    matches "... and says so" "*local rank 0 of this pod ended without a verdict*" "$(cat 1.err)"
}

# ----------------------------------------------------------------------------------------------

for name in takes_part two_of_them the_key secrets before_a_command local_ranks a_signal; do
    part "$name"
done
for name in $parts; do
    wait "${name#*=}" || failures=$((failures + 1))
    cat "${name%%=*}.said"
done
finish
