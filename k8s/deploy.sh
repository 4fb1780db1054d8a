#!/bin/sh
# Checks the cluster and applies what k8s/new writes from its description. `deploy.sh --help`.
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # `new --show` assigns the keys of the description
set -eu
here=$(cd "$(dirname "$0")" && pwd -P)
usage() {
    cat <<'END'
usage: deploy.sh FILE [OPTION...] [-- COMMAND [ARG...]]

FILE is the description of the cluster: k8s/cluster.yaml is an example, cluster.schema.json has its keys.

  --run RUN          training   the pods of FILE (default)
                     idle       pods that sleep, with their GPUs and rails, to `kubectl exec` into
                     allreduce  the benchmark
                     doctor     `nccl-init doctor` on each GPU node
                     preflight  `nccl-init preflight` between them
                     admin      the cluster's part, for an administrator: policies, SCC, RoleBinding
  --pods N, --name NAME, --image IMAGE, --gpus N, ...
                     a key of FILE, instead of what FILE says
  --env NAME=VALUE   a variable for the command; may be given again
  --nodes N1,N2      one pod on each of these nodes, by the names of `kubectl get nodes`
  --tcp              sockets over the pod network instead of RDMA
  --without          without nccl-init, to compare
  --wait SECONDS     until the pods run, or the job has ended
  --delete           take away what the same options deployed
  --dry-run          print the objects, or with --delete their names; needs no cluster

Environment: KUBECTL (default: kubectl, else oc), KUSTOMIZE (default: kustomize, else `KUBECTL kustomize`).
Exit status: 0 done, 1 FILE is wrong, a prerequisite is missing or the cluster refused, 2 wrong usage.
END
}
say() { echo "deploy.sh: $*" >&2; }
fail() { say "$*" && exit 1; }
wrong() { say "$*; see --help" && exit 2; }

# ---- options ---------------------------------------------------------------------------------------------

run=training wait='' delete='' dry_run='' file='' gpus_given='' pods_given='' NEW_SETTINGS=''
new_line='
'
key() { NEW_SETTINGS="$NEW_SETTINGS${NEW_SETTINGS:+$new_line}$1"; }
while [ $# -gt 0 ]; do
    option=$1
    shift
    case $option in
    --) break ;;
    --help | -h) usage && exit 0 ;;
    --delete) delete=1 && continue ;;
    --dry-run) dry_run=1 && continue ;;
    --tcp) key fabric=none && continue ;;
    --without) key inject=none && continue ;;
    --*=*) value=${option#*=} option=${option%%=*} ;;
    --*)
        [ $# -gt 0 ] || wrong "$option takes a value"
        value=$1
        shift
        ;;
    *)
        [ -z "$file" ] || wrong "'$option' is too much; a command stands behind --"
        file=$option
        continue
        ;;
    esac
    case $value in *"$new_line"*) wrong "$option: several lines" ;; esac
    case $option in
    --run) run=$value ;;
    --wait) wait=$value ;;
    --env) key "env.$value" ;;
    --nodes) key "hosts=$value" ;;
    *)
        case $option in --gpus) gpus_given=$value ;; --pods) pods_given=$value ;; esac
        key "${option#--}=$value"
        ;;
    esac
done
[ -n "$file" ] || wrong "FILE is missing"
case $wait in *[!0-9]* | 0*) wrong "--wait takes a number of 1 or more, not '$wait'" ;; esac
case $run,$# in
training,* | idle,0 | admin,0) ;;
idle,* | allreduce,*) [ $# -gt 0 ] || set -- torchrun /workspace/script/allreduce.py --max-bytes=8G ;;
doctor,0 | preflight,0) key inject=entrypoint ;;
doctor,* | preflight,* | admin,*) wrong "--run $run takes no command" ;;
*) wrong "--run knows no '$run'" ;;
esac
case $run in
idle)
    [ $# -gt 0 ] || set -- sleep infinity
    NEW_SETTINGS="name=idle${new_line}workload=statefulset$new_line$NEW_SETTINGS"
    ;;
allreduce) # NCCL says which network it chose, and which channels have GDRDMA
    NEW_SETTINGS="name=nccl-allreduce${new_line}workload=job${new_line}script=$here/charts/job/allreduce.py${new_line}env.NCCL_DEBUG=INFO\
${new_line}env.NCCL_DEBUG_SUBSYS=INIT,NET$new_line$NEW_SETTINGS"
    ;;
doctor | preflight) key workload=job ;;
esac

# ---- the objects -----------------------------------------------------------------------------------------

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT && trap 'exit 143' TERM
export NEW_SETTINGS
[ $# -eq 0 ] || set -- -- "$@"
understood=$("$here/new" --show "$file" "$@")
eval "$understood"
[ -z "$wait" ] || case $run,$workload in training,job | training,statefulset) ;; training,*) wrong "--wait is for workload: job and statefulset" ;; esac
"$here/new" "$file" "$tmp/out" "$@" 2>"$tmp/said" || { cat "$tmp/said" >&2 && exit 1; }

if [ -z "${KUBECTL:-}" ]; then
    if command -v kubectl >/dev/null; then KUBECTL=kubectl; else KUBECTL=oc; fi
fi
kube() { "$KUBECTL" "$@"; }
api=''
if [ -z "$dry_run" ]; then
    command -v "$KUBECTL" >/dev/null || fail "no kubectl or oc; --dry-run does without"
    api=$(kube api-resources -o name 2>"$tmp/err") || true
    [ -n "$api" ] || fail "no answer from the cluster: $(tail -n 1 "$tmp/err")"
fi
ours=app.kubernetes.io/managed-by # a label of all that is written here; what lacks it is somebody else's

patch() { printf '      - {op: %s, path: /spec/%s, value: %s}\n' "$1" "$2" "$3"; }
alone() { # doctor and preflight: Jobs of this folder, with the rails of the description, and no GPU unless --gpus asks for it
    pods=${pods_given:-2}
    if [ -n "$pods_given" ]; then
        :
    elif [ -n "$hosts" ]; then
        pods=$(echo "$hosts" | wc -l | tr -d ' ')
    elif [ -z "$dry_run" ]; then
        pods=$(kube get nodes -l nvidia.com/gpu.present=true --field-selector spec.unschedulable!=true -o name | grep -c . || true)
        [ "$pods" -gt 0 ] || fail "no node that takes pods has the label nvidia.com/gpu.present=true; name them: --nodes"
    fi
    ln -s "$here" "$tmp/k8s" # kustomize takes relative paths only
    container=template/spec/containers/0
    printf 'namespace: "%s"\nlabels: [{pairs: {%s: nccl-init}}]\nresources: [k8s/%s]\n' "$namespace" "$ours" "$run"
    [ "$fabric" = none ] || echo 'components: [out/rails]'
    printf 'patches:\n  - target: {kind: Job}\n    patch: |\n'
    patch replace completions "$pods"
    patch replace parallelism "$pods"
    patch replace $container/image "\"$nccl_init_image\""
    if [ "$run" = preflight ]; then
        patch test $container/env/0/name NCCLINIT_RANKS
        patch replace $container/env/0/value "\"$pods\""
    fi
    if [ "${gpus_given:-0}" != 0 ]; then patch add $container/resources/limits/nvidia.com~1gpu "\"$gpus_given\""; fi
    [ -z "$hosts" ] || patch add template/spec/affinity/nodeAffinity "{requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [$(
        for host in $hosts; do printf '{matchFields: [{key: metadata.name, operator: In, values: ["%s"]}]}, ' "$host"; done
    )]}}"
}
folder=$tmp/out job=''
case $run,$workload in
admin,*)
    folder=$tmp/out/admin
    case $api in *securitycontextconstraints.*) [ ! -d "$tmp/out/openshift" ] || folder=$tmp/out/openshift ;; esac
    [ -d "$folder" ] || fail "$file needs nothing of an administrator"
    ;;
doctor,* | preflight,*)
    job=nccl-$run name=nccl-$run folder=$tmp
    alone >"$tmp/kustomization.yaml"
    ;;
*,job) job=$name ;;
esac
if [ -n "${KUSTOMIZE:-}" ] || command -v kustomize >/dev/null; then
    "${KUSTOMIZE:-kustomize}" build "$folder" >"$tmp/objects.yaml"
else
    kube kustomize "$folder" >"$tmp/objects.yaml"
fi || fail "the manifests do not render; kustomize 5 or kubectl 1.27 is needed"
if [ -n "$delete" ]; then # kind, name and namespace; kustomize writes them at one depth always
    awk '/^[a-z]/ { top = $1 } /^kind: / { kind = $2 } top == "metadata:" && /^  name: / { name = $2 } top == "metadata:" && /^  namespace: / { space = $2 }
        function end() { gsub(/"/, "", name); gsub(/"/, "", space); if (kind != "") print kind, name, space; kind = space = "" }
        /^---/ { end() } END { end() }' "$tmp/objects.yaml" >"$tmp/named"
fi
if [ -n "$dry_run" ]; then
    if [ -n "$delete" ]; then cat "$tmp/named"; else cat "$tmp/objects.yaml"; fi
    exit 0
fi

# ---- the cluster -----------------------------------------------------------------------------------------

# shellcheck source=/dev/null
. "$here/checks.sh"
[ "$problems" -eq 0 ] || fail "nothing was changed"
say "cluster: $(kube config current-context 2>/dev/null || echo unknown)"

# ---- act -------------------------------------------------------------------------------------------------

if [ -n "$delete" ]; then
    left=0 others=''
    if [ "$run" = admin ] && served securitycontextconstraints.security.openshift.io; then
        granted=$(kube get rolebindings -A -o 'jsonpath={range .items[?(@.roleRef.name=="nccl-rdma-scc")]}{.metadata.namespace}{"\n"}{end}') ||
            fail "cannot see which namespaces use the SCC; nothing was deleted"
        others=$(printf '%s\n' "$granted" | grep -vx -e "$namespace" -e '' | tr '\n' ' ' || true)
        [ -z "$others" ] || say "the rest stays, for the other namespaces that have the SCC: $others"
    fi
    while read -r kind object space <&3; do # what logs in for kubectl may read stdin
        case $run,$kind,$others in
        admin,RoleBinding,* | admin,SriovNetwork,* | admin,*, | training,*) ;;
        admin,* | *,ServiceAccount,* | *,NetworkAttachmentDefinition,* | *,ResourceClaimTemplate,*) continue ;; # others have the same
        esac
        if ! by=$(kube get "$kind" "$object" ${space:+-n "$space"} --ignore-not-found -o "jsonpath={.metadata.name} {.metadata.labels.app\\.kubernetes\\.io/managed-by}" 2>&1); then
            say "left: $kind $object: $by"
            left=1
        elif [ "$by" = "$object nccl-init" ]; then
            kube delete "$kind" "$object" ${space:+-n "$space"}
        elif [ -n "$by" ]; then
            say "left: $kind $object: deploy.sh did not write it, it lacks the label $ours=nccl-init"
            left=1
        fi
    done 3<"$tmp/named"
    [ "$left" = 0 ] || fail "not all was deleted"
    exit 0
fi

ended() { kube get job "$job" -n "$namespace" --ignore-not-found -o 'jsonpath={.metadata.name} {.status.conditions[?(@.status=="True")].type} '; }
explain() { # what a user would ask for next when pods do not come up
    kube get pods -n "$namespace" -l "app.kubernetes.io/name=$name" \
        -o 'jsonpath={range .items[*]}{.metadata.name}: {.status.phase} {.spec.nodeName}{"\n"}{end}' >&2 || true
    kube get events -n "$namespace" --field-selector reason=FailedScheduling --sort-by=.metadata.creationTimestamp \
        -o 'jsonpath={range .items[*]}{.involvedObject.name}: {.message}{"\n"}{end}' 2>/dev/null | grep -e "^$name-" | tail -n 1 >&2 || true
    fail "$@"
}
if [ "$run" != admin ] && [ -n "$job" ]; then # a job's pods cannot be changed: a new run is a new job
    case "$run $(ended)" in
    *' Complete '* | *' Failed '* | doctor* | preflight* | allreduce*) kube delete job "$job" -n "$namespace" --ignore-not-found ;;
    "training $job "*) fail "the job $job has not ended: --delete it first, or start another: --name" ;;
    esac
fi
kube apply -f "$tmp/objects.yaml"
[ "$run" != admin ] || exit 0
sed -n 's/^new: no command/deploy.sh: no command/p' "$tmp/said" >&2
logs="$KUBECTL logs -n $namespace --tail=-1 -l app.kubernetes.io/name=$name${job:+,batch.kubernetes.io/job-completion-index=0}"
if [ -n "$wait" ] && [ "$workload" = statefulset ]; then
    kube rollout status "statefulset/$name" -n "$namespace" --timeout="${wait}s" || explain "the pods do not run after $wait s"
elif [ -n "$wait" ] && [ -n "$job" ]; then
    end=$(($(date +%s) + wait))
    while :; do
        case "$run $(ended)" in
        *' Complete '* | doctor*' Failed '* | preflight*' Failed '*) break ;; # a node, or a rail, that is not healthy is a result
        *' Failed '*) explain "the job failed: $logs" ;;
        esac
        [ "$(date +%s)" -lt "$end" ] || explain "the job $job has not ended after $wait s"
        sleep 2
    done
fi
case $run in
doctor) say "next: $here/fleet --namespace $namespace" ;;
idle) say "next: $KUBECTL exec -it -n $namespace $name-0 -- $([ "$inject" = image ] || echo /shared/)nccl-init plan" ;;
*) say "next: $logs" ;;
esac
