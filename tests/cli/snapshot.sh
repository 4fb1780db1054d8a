#!/bin/sh
# snapshot: what is recorded gives the same plan again, here and on a recorded node.
# SPDX-License-Identifier: Apache-2.0
set -u
# shellcheck source=/dev/null
. "$(dirname -- "$0")/lib"
bin=$(program)
nodes=$(nodes)
withenv=$(tool withenv)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
export NCCLINIT_LOG_LEVEL=error

plan() { # ROOT...: without the root's name
    "$bin" plan --json "$@" 2>&1 | grep -v '^ *"root":'
}

# ---- this machine ------------------------------------------------------------------------------

export PCIDEVICE_EXAMPLE_COM_NIC=0000:ff:1f.7 NCCL_DEBUG=INFO SECRET_TOKEN=hunter2
"$bin" snapshot >live.tree 2>err && status=0 || status=$?
same "status" 0 "$status"
same "nothing on stderr" "" "$(cat err)"
same "replay gives the same plan" "$(plan)" "$(env -i "$bin" plan --json --root live.tree |
    grep -v '^ *"root":')"
same "other variables are not recorded" 0 "$(grep -c hunter2 live.tree)"
same "what the plan depends on is recorded" 1 \
    "$(grep -c '^f .*/environ .*PCIDEVICE_EXAMPLE_COM_NIC=0000:ff:1f.7' live.tree)"
MV2_COMM_WORLD_LOCAL_RANK=1 PALS_LOCAL_RANKID=1 PALS_LOCAL_SIZE=2 "$bin" snapshot -o ranks.tree
same "the ranks of MVAPICH2 and PALS, too" 3 \
    "$(grep -o 'MV2_COMM_WORLD_LOCAL_RANK=1\|PALS_LOCAL_RANKID=1\|PALS_LOCAL_SIZE=2' ranks.tree | wc -l)"
"$bin" snapshot -o file.tree
same "-o" "$(grep -vc '^#' live.tree)" "$(grep -vc '^#' file.tree)"
"$bin" snapshot >/dev/full 2>err && status=0 || status=$?
same "full disk" 1 "$status"

if ! is_sanitized; then
    # shellcheck disable=SC3045 # dash and bash have it
    (ulimit -v 30000 && "$bin" snapshot >/dev/null 2>err)
    matches "little memory is not called a full disk" "*emory*" "$(cat err)"
fi

# ---- who may read it ---------------------------------------------------------------------------

mode_of() { # UMASK MODE ARG...: of the file, written over one of MODE (none: over none)
    rm -f owned.tree
    umask "$1"
    [ "$2" = none ] || { touch owned.tree && chmod "$2" owned.tree; }
    shift 2
    "$bin" "$@" 2>/dev/null
    umask 022
    stat -c %a owned.tree
}
for old in none 600 644 666; do
    same "without a mask its owner alone reads it: over $old" 600 "$(mode_of 022 $old snapshot -o owned.tree)"
    same "... whatever the umask" 600 "$(mode_of 000 $old snapshot --output=owned.tree)"
done
same "masked, the umask says who" "644 640 600" \
    "$(mode_of 022 none snapshot --mask -o owned.tree) $(mode_of 027 644 snapshot --mask -o owned.tree) $(
        mode_of 077 644 snapshot --mask -o owned.tree)"
same "after a refusal, too" 600 \
    "$(mode_of 077 none --mode=tcp --require=rdma --snapshot-on-refusal=owned.tree -- true)"
same "a link is replaced, not its target" "600 644" "$(
    touch target && chmod 644 target && ln -s target linked.tree
    "$bin" snapshot -o linked.tree 2>/dev/null
    stat -c %a linked.tree target | xargs)"

# ---- of the user database the one line that counts ----------------------------------------------

mkdir -p pod/proc/self pod/etc pod/home/me
printf 'Uid:\t7\t0\t0\t0\n' >pod/proc/self/status
printf 'me:x:7:7:My Name:/home/me:/bin/sh\nother:x:8:8:Other Name:/home/other:/bin/sh\n' >pod/etc/passwd
echo NCCL_IB_TIMEOUT=22 >pod/home/me/.nccl.conf
HOME=/ "$bin" snapshot --root pod -o pod.tree
same "no names" "f etc/passwd x:x:7:0::/home/me:\\n" "$(grep -e passwd -e other -e Name pod.tree)"
same "and the same plan" "$(HOME=/ plan --root pod)" "$(plan --root pod.tree)"
matches "which tells of two homes" "*conf.home.differs*" "$(plan --root pod.tree)"

# ---- an image with conda -------------------------------------------------------------------------

libraries() { # TREE: of its image
    "$bin" plan --all --root "$1" | awk '$1 == "libibverbs" || $1 == "NCCL" {print $1, $2}' | xargs
}
for prefix in opt/conda opt/conda/envs/hunter2 home/hunter2/conda; do
    { cat "$nodes/image-other-provider.tree" && printf 'f %s\n' $prefix/conda-meta/history $prefix/lib/libnccl.so.2.28.9 \
        $prefix/lib/libibverbs.so.1.14.50.0; } >conda.tree
    has=$(CONDA_PREFIX=/$prefix libraries conda.tree)
    matches "conda in $prefix" "*libibverbs 1.14.50.0*NCCL 2.28.9*" "$has"
    CONDA_PREFIX=/$prefix "$bin" snapshot --root conda.tree -o kept.tree
    same "... is in a recording" "$has" "$(libraries kept.tree)"
    CONDA_PREFIX=/$prefix "$bin" snapshot --mask --root conda.tree -o kept.tree
    same "... also in a masked one" "$has" "$(libraries kept.tree)"
    same "... which does not tell its name" 0 "$(grep -c hunter2 kept.tree)"
done

# ---- options of the recorded pod -----------------------------------------------------------------

NCCLINIT_MODE=tcp "$bin" snapshot -o tcp.tree
same "a recorded option counts" "$(NCCLINIT_MODE=tcp "$bin" plan --json | grep -v '^ *"root":')" \
    "$(plan --root tcp.tree)"
same "the command line wins over it" "$(plan --root live.tree --mode=off)" \
    "$(plan --root tcp.tree --mode=off)"
same "the caller's variable wins over it" "$(plan --root live.tree --mode=off)" \
    "$(NCCLINIT_MODE=off "$bin" plan --json --root tcp.tree | grep -v '^ *"root":')"
NCCLINIT_GDR=phb NCCLINIT_MEMLOCK=8Gi NCCLINIT_WAIT=1m NCCLINIT_STRICT=True "$bin" snapshot --mask -o typed.tree
for value in GDR=phb MEMLOCK=8Gi WAIT=1m STRICT=True; do
    matches "NCCLINIT_$value stays in a masked recording" "*NCCLINIT_$value\\\\x00*" "$(grep environ typed.tree)"
done
NCCLINIT_OUTPUT=$dir/hijacked "$bin" snapshot -o - >out.tree
same "NCCLINIT_OUTPUT is recorded" 1 "$(grep -c NCCLINIT_OUTPUT= out.tree)"
env -i "$bin" env --root out.tree >/dev/null 2>&1
same "but does not count on replay" "" "$(ls hijacked 2>/dev/null)"
sed 's/NCCLINIT_MODE=tcp/NCCLINIT_MODE=ucp/' tcp.tree >wrong.tree
matches "a recorded demand that is wrong" "*The command would not be started: NCCLINIT_MODE: *require.unclear: NCCLINIT_MODE*" \
    "$(env -i "$bin" plan --all --root wrong.tree 2>&1)"

# ---- the golden cases, recorded and replayed -----------------------------------------------------

every=1 number=0
grep -q -e __asan_init -e __gcov_exit "$bin" && every=4 # such a program is slow
if [ -x "$withenv" ] && [ -d "$nodes/../golden" ]; then
    for case in "$nodes"/../golden/*/case; do
        golden=$(dirname "$case")
        number=$((number + 1))
        [ $((number % every)) -eq 0 ] || [ "$(basename "$golden")" = h100-12dev ] || continue
        tree=$nodes/$(sed -n 's/^node //p' "$case").tree
        args=$(sed -n 's/^args //p' "$case")
        environment=$golden/env
        [ -r "$environment" ] || environment=/dev/null
        # shellcheck disable=SC2086 # words
        "$withenv" "$environment" "$bin" plan --json --root "$tree" $args >before 2>/dev/null ||
            continue # refused: nothing to record
        # shellcheck disable=SC2086
        "$withenv" "$environment" "$bin" snapshot --root "$tree" $args -o again.tree 2>err
        # shellcheck disable=SC2086
        same "$(basename "$golden")" "$(grep -v '^ *"root":' before)" \
            "$(env -i "$bin" plan --json --root again.tree $args 2>&1 | grep -v '^ *"root":')"
    done
else
    skip "golden cases" "there is no $withenv"
fi

finish
