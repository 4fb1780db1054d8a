#!/bin/sh
# deploy.sh: what it renders, what it asks a cluster, what it says when something is missing.
# The cluster is a program that answers from files and writes down what it was asked.
# SPDX-License-Identifier: Apache-2.0
set -u
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../cli/lib"
cd "$(dirname -- "$0")/../.." || exit 1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
# shellcheck source=/dev/null
. tests/k8s/lib

export KUSTOMIZE="$PWD/build/k8s/kustomize" CLUSTER="$tmp/cluster" KUBECTL="$tmp/kubectl"
cat >"$KUBECTL" <<'EOF'
#!/bin/sh
echo "$*" >>"$CLUSTER/calls"
not_found() {
    echo "Error from server (NotFound): $1 \"$2\" not found" >&2
    exit 1
}
case $* in
"api-resources -o name") cat "$CLUSTER/api" ;;
"get --raw /version") echo "{\"minor\": \"$(cat "$CLUSTER/minor")\"}" ;;
"get nodes -l "*) cat "$CLUSTER/gpu-nodes" ;;
"get nodes "*) cat "$CLUSTER/nodes" ;;
"get pods "*) cat "$CLUSTER/pods" ;;
"get events "*) cat "$CLUSTER/events" ;;
"get statefulset "*) cat "$CLUSTER/statefulset" 2>/dev/null ;;
"rollout status "*) exit "$(cat "$CLUSTER/rollout")" ;;
"get job "*) cat "$CLUSTER/job" ;;
"get --ignore-not-found --no-headers -f "*)
    cat "$CLUSTER/live"
    [ ! -f "$CLUSTER/unknown-kind" ] || exit 1
    ;;
"get rolebindings -A "*) cat "$CLUSTER/granted" ;;
"get sriovnetworknodepolicies -n "*) cat "$CLUSTER/policies" ;;
"auth can-i "*) cat "$CLUSTER/can-i" ;;
"delete --ignore-not-found -f "*) cp "$4" "$CLUSTER/deleted" ;;
"config current-context") echo lab ;;
"get "*)
    if [ -f "$CLUSTER/forbidden.$2" ]; then
        echo "Error from server (Forbidden): no" >&2
        exit 1
    fi
    [ -f "$CLUSTER/$2.$3" ] || not_found "$2" "$3"
    case $* in
    *"-o name") echo "$2/$3" ;;
    *) cat "$CLUSTER/$2.$3" ;;
    esac
    ;;
"apply -f "*) cp "$3" "$CLUSTER/applied" ;;
"logs "*) cat "$CLUSTER/log.$4" ;;
esac
EOF
chmod +x "$KUBECTL"

# A cluster on which everything is as it should be, of which tests then take things away.
cluster() {
    rm -rf "$CLUSTER"
    mkdir "$CLUSTER"
    : >"$CLUSTER/calls"
    printf '%s\n' pods securitycontextconstraints.security.openshift.io \
        sriovnetworknodepolicies.sriovnetwork.openshift.io network-attachment-definitions.k8s.cni.cncf.io \
        resourceclaimtemplates.resource.k8s.io >"$CLUSTER/api"
    : >"$CLUSTER/namespace.ml"
    : >"$CLUSTER/live"
    : >"$CLUSTER/pods"
    : >"$CLUSTER/events"
    echo 0 >"$CLUSTER/rollout"
    for node in a b c; do : >"$CLUSTER/node.$node"; done
    : >"$CLUSTER/policies"
    echo ml >"$CLUSTER/granted"
    echo yes >"$CLUSTER/can-i"
    : >"$CLUSTER/securitycontextconstraints.nccl-rdma-scc"
    : >"$CLUSTER/rolebinding.nccl-rdma-scc"
    : >"$CLUSTER/deviceclass.sriovnetwork.k8snetworkplumbingwg.io"
    echo '{"cpu":"64","nvidia.com/gpu":"4","openshift.io/eno5np0rdma":"4","rdma/hca_shared_rails":"63"}' >"$CLUSTER/nodes"
    printf 'node/a\nnode/b\nnode/c\n' >"$CLUSTER/gpu-nodes"
    echo 36 >"$CLUSTER/minor"
    echo SuccessCriteriaMet Complete >"$CLUSTER/job"
}

deploy() { # ARGS...: status, then what was said, in $said; objects in $tmp/objects.yaml
    said=$(k8s/deploy.sh "$@" 2>&1 >"$tmp/objects.yaml") && status=0 || status=$?
}
called() { grep -c -e "$1" "$CLUSTER/calls"; }

# ---- what is rendered --------------------------------------------------------------------------------

cluster
bench=
[ -f k8s/bench/allreduce.py ] && bench='--run allreduce'
[ -n "$bench" ] || skip "--run allreduce" "k8s/bench/allreduce.py is not there"
for options in '' '--type single' '--mode tcp' '--mode tcp --type single' '--fabric dra' '--fabric sriov-device-plugin' \
    '--fabric shared-device-plugin' '--networks operator' '--inject image' '--inject env-file' '--memlock node' \
    '--inject env-file --gpus 8' '--nodes a,b,c --gpus 8' '--run doctor' '--run doctor --fabric dra' \
    '--run doctor --nodes a' '--run doctor --gpus 1' '--run doctor --gpus 0' '--run preflight' \
    '--run preflight --nodes a,b,c' '--run preflight --gpus 1' '--inject none' '--inject none --mode tcp' '--admin' '--admin --networks operator' '--admin --fabric dra' \
    '--admin --fabric shared-device-plugin' "$bench" "$bench --type single --mode tcp"; do
    # shellcheck disable=SC2086 # words
    deploy --namespace ml --dry-run $options
    same "--dry-run $options" "0 " "$status $said"
    valid "--dry-run $options: objects" "$tmp/objects.yaml"
done
same "--dry-run asks no cluster" "" "$(cat "$CLUSTER/calls")"

deploy --namespace ml --dry-run
mkdir "$tmp/overlay"
ln -s "$PWD/k8s" "$tmp/overlay/k8s"
cat >"$tmp/overlay/kustomization.yaml" <<'EOF'
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
namespace: ml
resources: [k8s/overlays/openshift-sriov]
labels: [{pairs: {app.kubernetes.io/managed-by: nccl-init}}]
EOF
same "the default is the overlay openshift-sriov, with the label of what deploy.sh writes" \
    "$(.dev/k8s render "$tmp/overlay")" "$(cat "$tmp/objects.yaml")"
same "each namespaced object is in ml" 8 "$(grep -c '^  namespace: ml$' "$tmp/objects.yaml")"
deploy --namespace=ml --dry-run --nodes=n1,n2,n3 --gpus=8 --image=reg:5000/x/y:1.2 --nccl-init-image=reg/n@sha256:"$(printf %064d 0)"
same "nodes and replicas" "3 n1 n2 n3" "$(awk '/replicas:/ { r = $2 } /^ *- "?n[0-9]"?$/ { n = n " " $2 } END { print r n }' "$tmp/objects.yaml")"
same "nodes by name, and each a term of its own" "3 3 3" "$(for word in matchFields: 'key: metadata.name$' values:; do
    sed -n '/nodeSelectorTerms:/,/podAntiAffinity:/p' "$tmp/objects.yaml" | grep -c "$word"
done | xargs)"
same "NNODES" 1 "$(grep -c 'value: "3"' "$tmp/objects.yaml")"
same "GPUs" 1 "$(grep -c 'nvidia.com/gpu: "8"' "$tmp/objects.yaml")"
same "images" "reg:5000/x/y:1.2 reg/n@sha256:$(printf %064d 0)" "$(awk '/ image:/ { printf sep $2; sep = " " }' "$tmp/objects.yaml")"
valid "images of other registries" "$tmp/objects.yaml"
deploy --namespace ml --dry-run --run doctor --gpus 1
same "doctor with a GPU" 1 "$(grep -c 'nvidia.com/gpu: "1"' "$tmp/objects.yaml")"
deploy --namespace ml --dry-run --run doctor
same "doctor without" 0 "$(grep -c 'nvidia.com/gpu: ' "$tmp/objects.yaml")"
deploy --namespace ml --dry-run --inject none
same "--inject none: rails, and no nccl-init" "1 0" \
    "$(grep -c '  openshift.io/eno5np0rdma: ' "$tmp/objects.yaml") $(grep -cE 'NCCLINIT|/nccl-init|command:' "$tmp/objects.yaml")"
deploy --namespace other --dry-run --admin --networks operator
same "--admin: the namespace in binding, subject and networks" 6 "$(grep -cE '^ +(namespace|networkNamespace): other$' "$tmp/objects.yaml")"
deploy --namespace ml --dry-run --memlock node
same "--memlock node: no capability, no SCC" 0 "$(grep -cE 'SYS_RESOURCE|required-scc' "$tmp/objects.yaml")"
if command -v kubectl >/dev/null && kubectl kustomize --help >/dev/null 2>&1; then
    same "kubectl renders the same" "$(k8s/deploy.sh --namespace ml --dry-run)" \
        "$(KUSTOMIZE='' KUBECTL=kubectl PATH="$(dirname "$(command -v kubectl)"):/usr/bin:/bin" k8s/deploy.sh --namespace ml --dry-run)"
else
    skip "kubectl renders the same" "no kubectl that renders"
fi
(cd / && "$OLDPWD/k8s/deploy.sh" --namespace ml --dry-run >"$tmp/elsewhere" 2>&1)
same "from another folder" "$(k8s/deploy.sh --namespace ml --dry-run)" "$(cat "$tmp/elsewhere")"

# ---- wrong usage -------------------------------------------------------------------------------------

usage() { # PATTERN ARGS...
    pattern=$1
    shift
    deploy "$@"
    matches "usage: $*" "2 deploy.sh: *$pattern*" "$status $said"
}
usage "--namespace is missing" --mode rdma
usage "takes a value" --namespace
usage "is no such name" --namespace 'a;b'
usage "is no such name" --namespace ml --nodes 'a b'
usage "is one of: rdma tcp" --namespace ml --mode roce
usage "is one of: multi single" --namespace ml --type many
usage "is one of: openshift-sriov" --namespace ml --fabric sriov
usage "is no option" --namespace ml --privileged x
usage "is no option" --namespace ml rdma
usage "a number of 1 or more" --namespace ml --gpus 01
usage "--fabric is for --mode rdma" --namespace ml --mode tcp --fabric dra
usage "needs nothing of the cluster" --namespace ml --mode tcp --admin
usage "--nodes names one" --namespace ml --nodes a
usage "--nodes names 2" --namespace ml --type single --nodes a,b
usage "is for --fabric openshift-sriov" --namespace ml --fabric dra --networks operator
usage "is for --run training" --namespace ml --inject env-file --run doctor
usage "is empty" --namespace ml --nodes a,,b
usage "is empty" --namespace ml --nodes a,b,
usage "--gpus 0 is for --run doctor and preflight" --namespace ml --gpus 0 --mode tcp
usage "--inject none is for" --namespace ml --inject none --run doctor
usage "has no tag" --namespace ml --dry-run --image foo
same "usage: nothing was asked of the cluster" "" "$(cat "$CLUSTER/calls")"
matches "--help" "usage: deploy.sh*" "$(k8s/deploy.sh --help)"

# ---- what is applied ---------------------------------------------------------------------------------

deploy --namespace ml --mode rdma --type multi --wait 60
same "all is there: status" 0 "$status"
matches "the fabric is found" "*fabric: openshift-sriov*" "$said"
matches "and the cluster named" "*cluster: lab*" "$said"
matches "what next" "*next: * logs -n ml trainer-0*" "$said"
k8s/deploy.sh --namespace ml --dry-run >"$tmp/dry"
same "what --dry-run shows is applied" "$(cat "$tmp/dry")" "$(cat "$CLUSTER/applied")"
same "and waited for" 1 "$(called '^rollout status statefulset/trainer -n ml --timeout=60s$')"
same "once" "1 0" "$(called ^apply) $(called ^delete)"
cp "$CLUSTER/applied" "$tmp/first"
deploy --namespace ml
same "again: the same" "0 same" "$status $(cmp -s "$CLUSTER/applied" "$tmp/first" && echo same)"

cluster
echo FailureTarget >"$CLUSTER/job"
deploy --namespace ml --run doctor --wait 1
matches "a job that does not end" "1 *has not ended after 1 s" "$status $said"
echo FailureTarget Failed >"$CLUSTER/job"
deploy --namespace ml --run doctor --wait 5
same "doctor: an unhealthy node is a result" 0 "$status"
if [ -n "$bench" ]; then
    deploy --namespace ml --run allreduce --wait 5
    rank0='-l app.kubernetes.io/name=nccl-allreduce,batch.kubernetes.io/job-completion-index=0'
    matches "allreduce: a failed job" "1 *the job failed: * logs -n ml --tail=-1 $rank0" "$status $said"
    case $said in *scale*) fail "allreduce: no training pods" "$said" ;; esac
    cluster
    echo 2 >"$CLUSTER/statefulset"
    deploy --namespace ml --run allreduce --wait 5
    matches "allreduce: beside training pods" "0 *scale them down first: * scale statefulset/trainer -n ml --replicas=0*$rank0" \
        "$status $said"
fi
cluster
echo 1 >"$CLUSTER/rollout"
printf '%s: Pending \n' trainer-0 trainer-1 >"$CLUSTER/pods"
printf '%s\n' 'trainer-1: 0/9 nodes: old' 'trainer-0: 0/9 nodes: 9 Insufficient nvidia.com/gpu' 'web-1: no' >"$CLUSTER/events"
deploy --namespace ml --wait 1
matches "pods that do not start: phases" "1 *trainer-0: Pending*trainer-1: Pending*do not run after 1 s" "$status $said"
same "pods that do not start: the last event" "trainer-0: 0/9 nodes: 9 Insufficient nvidia.com/gpu" "$(printf '%s\n' "$said" | grep 0/9)"
matches "pods that do not start: placeholders" "*placeholder: --image*placeholder: --nccl-init-image*" "$said"
deploy --namespace ml --wait 1 --image reg/x:1 --nccl-init-image reg/y:1
case $said in *placeholder*) fail "images of one's own are no placeholders" "$said" ;; esac
cluster
deploy --namespace ml --run doctor --wait 5
same "doctor: as many as GPU nodes" "0 3" "$status $(sed -n 's/^  completions: //p' "$CLUSTER/applied")"
same "doctor: the old job goes first" "delete apply" "$(sed -n 's/^\(delete\|apply\) .*/\1/p' "$CLUSTER/calls" | tr '\n' ' ' | sed 's/ $//')"
same "doctor: the job by name" 1 "$(called '^delete job nccl-doctor -n ml --ignore-not-found$')"
deploy --namespace ml --run preflight --wait 5
same "preflight: as many as GPU nodes, and says so" '3 "3"' "$(sed -n 's/^  completions: //p; /NCCLINIT_RANKS/ { n; s/^ *value: //p }' \
    "$CLUSTER/applied" | xargs -d '\n')"
matches "preflight: where the result is" "*name=nccl-preflight,batch.kubernetes.io/job-completion-index=0" "$said"
deploy --namespace ml --run doctor --delete
same "doctor: --delete leaves account and networks" 1 \
    "$(called '^delete jobs,services,configmaps -n ml -l app.kubernetes.io/name=nccl-doctor$')"
cluster
printf '%s ml nccl-init\n' 'Service trainer' 'StatefulSet trainer' >"$CLUSTER/live"
deploy --namespace ml --delete
same "--delete" "0 1 0" "$status $(called '^delete --ignore-not-found -f ') $(called ^apply)"
same "--delete: what is there" "Service StatefulSet" "$(sed -n 's/^kind: //p' "$CLUSTER/deleted" | xargs)"
: >"$CLUSTER/unknown-kind"
rm "$CLUSTER/node.b"
deploy --namespace ml --delete --nodes a,b
matches "--delete: a kind that is gone, a node that is gone: the rest" "1 2 *not all was deleted" "$status $(called ^delete) $said"
cluster
echo 'NetworkAttachmentDefinition eno5np0-network ml <none>' >"$CLUSTER/live"
deploy --namespace ml --delete
matches "--delete: not what somebody else wrote" "1 *left: NetworkAttachmentDefinition eno5np0-network*not all was deleted" "$status $said"
same "--delete: nothing of ours, no delete" 0 "$(called ^delete)"
for by in nccl-init '<none>'; do
    cluster
    echo "ConfigMap sriovdp-config kube-system $by" >"$CLUSTER/live"
    deploy --namespace ml --admin --fabric sriov-device-plugin --delete
    same "--admin --delete: the plugin's configuration written by $by" \
        "$([ "$by" = nccl-init ] && echo "0 1 ConfigMap" || echo "1 0 ")" \
        "$status $(called ^delete) $(sed -n 's/^kind: //p' "$CLUSTER/deleted" 2>/dev/null)"
done
administered() {
    cluster
    printf '%s nccl-init\n' 'SecurityContextConstraints nccl-rdma-scc <none>' 'ClusterRole nccl-rdma-scc <none>' \
        'RoleBinding nccl-rdma-scc ml' 'SriovNetworkNodePolicy eno5np0-rdma sriov' >"$CLUSTER/live"
}
administered
deploy --namespace ml --admin --fabric openshift-sriov --delete
same "--admin --delete: the last namespace" "0 ClusterRole RoleBinding SecurityContextConstraints SriovNetworkNodePolicy" \
    "$status $(sed -n 's/^kind: //p' "$CLUSTER/deleted" | sort | xargs)"
administered
printf 'ml\nother\n' >"$CLUSTER/granted"
deploy --namespace ml --admin --fabric openshift-sriov --delete
same "--admin --delete: not the last namespace" "0 RoleBinding" "$status $(sed -n 's/^kind: //p' "$CLUSTER/deleted" | xargs)"
matches "--admin --delete: and says so" "*the rest stays, for the other namespaces that have the SCC: other*" "$said"
administered
for rail in eno5np0 eno6np0 eno7np0 eno8np0; do echo other >"$CLUSTER/sriovnetwork.$rail-network"; done
deploy --namespace ml --admin --networks operator --delete
matches "--admin --delete: networks of another namespace" "1 *belongs to other*nothing was changed" "$status $said"
cluster
deploy --namespace ml --admin --fabric openshift-sriov
same "--admin" "0 1" "$status $(grep -c '^kind: SecurityContextConstraints' "$CLUSTER/applied")"
cluster
deploy --namespace ml --mode tcp
same "tcp: no question about RDMA" "0 0" "$status $(called 'scc\|nodes')"

# ---- what is missing ---------------------------------------------------------------------------------

lacks() { # NAME PATTERN ARGS...: with the cluster as it is
    name=$1 pattern=$2
    shift 2
    deploy --namespace ml "$@"
    matches "missing: $name" "1 *deploy.sh: $pattern*deploy.sh: nothing was changed" "$status $said"
    same "missing: $name: nothing applied" 0 "$(called '^apply\|^delete')"
    cluster
}
drop() { grep -v "^$1" "$CLUSTER/api" >"$CLUSTER/new" && mv "$CLUSTER/new" "$CLUSTER/api"; }

cluster
rm "$CLUSTER/namespace.ml"
lacks namespace "the namespace ml does not exist*make it: * create namespace ml"
rm "$CLUSTER/node.b"
lacks "a node" "there is no node b*get nodes" --nodes a,b
rm "$CLUSTER/securitycontextconstraints.nccl-rdma-scc"
lacks SCC "the SCC nccl-rdma-scc is missing*an administrator runs: deploy.sh --admin --namespace ml --mode rdma"
rm "$CLUSTER/rolebinding.nccl-rdma-scc"
lacks RoleBinding "the SCC nccl-rdma-scc is not granted in ml*deploy.sh --admin"
drop network-attachment-definitions
lacks Multus "the cluster has no NetworkAttachmentDefinition*Multus"
drop sriovnetworknodepolicies
lacks "SR-IOV operator" "the CRD SriovNetworkNodePolicy is missing*SR-IOV Network Operator" --fabric openshift-sriov
drop securitycontextconstraints
lacks OpenShift "the cluster has no SecurityContextConstraints*choose another --fabric" --fabric openshift-sriov
echo '{"cpu":"64","openshift.io/eno5np0rdma":"0"}' >"$CLUSTER/nodes"
lacks rails "no node offers openshift.io/eno5np0rdma*admin/openshift-sriov"
for fabric in sriov-device-plugin dra; do
    rm "$CLUSTER/securitycontextconstraints.nccl-rdma-scc"
    echo '{"nvidia.com/eno5np0rdma":"4"}' >"$CLUSTER/nodes"
    lacks "SCC for $fabric" "the SCC nccl-rdma-scc is missing*--fabric $fabric; it is in k8s/admin/scc" --fabric $fabric
done
echo no >"$CLUSTER/can-i"
lacks "the right to write networks" \
    "this account may not create a NetworkAttachmentDefinition in ml*k8s/admin/network-editors, or: --networks operator"
echo '|rdma-nics|["eno4np0","eno6np0#0-3"]' >"$CLUSTER/policies"
lacks "a policy of another owner for the PF" "the SriovNetworkNodePolicy rdma-nics is not of deploy.sh, and is for eno6np0" --admin
echo 'helm|eno7np0-rdma|["eno1"]' >"$CLUSTER/policies"
lacks "a policy of another owner with the name" "the SriovNetworkNodePolicy eno7np0-rdma *hand it over: * label" --admin
lacks "networks of the operator" "the operator wrote no network eno5np0-network into ml*--networks operator" --networks operator
drop resourceclaimtemplates
lacks DRA "the cluster has no ResourceClaimTemplate*Kubernetes 1.34" --fabric dra
rm "$CLUSTER/deviceclass.sriovnetwork.k8snetworkplumbingwg.io"
lacks "DRA driver" "the DeviceClass * is missing*installs dra-driver-sriov" --fabric dra
echo restricted >"$CLUSTER/namespace.ml"
lacks "rights in the namespace" "ml enforces the pod security level restricted*--memlock node"
echo 34 >"$CLUSTER/minor"
lacks fileKeyRef "Kubernetes 1.34 does not make variables*--inject entrypoint" --inject env-file
drop sriovnetworknodepolicies
lacks "operator, for an administrator" "the CRD SriovNetworkNodePolicy is missing" --admin --fabric openshift-sriov
drop sriovresourcepolicies
lacks "DRA driver, for an administrator" "the CRD SriovResourcePolicy is missing" --admin --fabric dra
for rail in eno5np0 eno6np0 eno7np0 eno8np0; do echo other >"$CLUSTER/sriovnetwork.$rail-network"; done
lacks "a network of another namespace" "the SriovNetwork eno5np0-network belongs to other" --admin --networks operator
echo 'resourceList: []' >"$CLUSTER/configmap.sriovdp-config"
lacks "room for a plugin's configuration" "kube-system/sriovdp-config is there*by hand" --admin --fabric sriov-device-plugin
rm "$CLUSTER/namespace.ml" "$CLUSTER/rolebinding.nccl-rdma-scc"
lacks "two things, both named" "the namespace ml*the SCC nccl-rdma-scc is not granted"

printf '%s\n' 'nccl-init|eno5np0-rdma|["eno5np0"]' '|others|["eno1","eno55np0"]' >"$CLUSTER/policies"
deploy --namespace ml --admin
same "policies of our own, and for other PFs" 0 "$status"
cluster
echo eno5np0rdma >"$CLUSTER/configmap.sriovdp-config"
deploy --namespace ml --admin --fabric sriov-device-plugin
matches "a plugin's configuration that is right" "0 *left as it is*" "$status $said"
same "but the SCC is granted, on OpenShift" "ClusterRole RoleBinding SecurityContextConstraints" \
    "$(sed -n 's/^kind: //p' "$CLUSTER/applied" | sort | xargs)"
cluster
drop securitycontextconstraints
deploy --namespace ml --admin --fabric sriov-device-plugin
same "elsewhere there is none" "0 ConfigMap" "$status $(sed -n 's/^kind: //p' "$CLUSTER/applied" | xargs)"
echo 'app.kubernetes.io/managed-by: nccl-init' >"$CLUSTER/configmap.sriovdp-config"
deploy --namespace ml --admin --fabric sriov-device-plugin
same "a plugin's configuration of our own is written again" "0 2" "$status $(called ^apply)"
cluster
: >"$CLUSTER/api"
deploy --namespace ml
matches "no cluster" "1 deploy.sh: no answer from the cluster*" "$status $said"
cluster
drop sriovnetworknodepolicies
deploy --namespace ml
matches "no known fabric" "1 *which fabric?*--fabric*" "$status $said"
cluster
echo restricted >"$CLUSTER/namespace.ml"
deploy --namespace ml --memlock node
same "a restricted namespace with --memlock node" 0 "$status"
cluster
rm "$CLUSTER/rolebinding.nccl-rdma-scc"
deploy --namespace ml --memlock node
same "--memlock node needs no SCC" 0 "$status"
cluster
: >"$CLUSTER/forbidden.securitycontextconstraints"
deploy --namespace ml
same "what this account may not know is not missing" 0 "$status"

judge
finish
