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
[ ! -f "$CLUSTER/reads" ] || cat >/dev/null # as what logs in may
not_found() {
    echo "Error from server (NotFound): $1 \"$2\" not found" >&2
    exit 1
}
case $* in
"api-resources -o name")
    cat "$CLUSTER/api"
    cat "$CLUSTER/api-error" >&2 2>/dev/null
    ;;
"get --raw /version") echo "{\"minor\": \"$(cat "$CLUSTER/minor")\"}" ;;
"get nodes -l "*) cat "$CLUSTER/gpu-nodes" ;;
"get nodes "*) cat "$CLUSTER/nodes" ;;
"get pods "*) cat "$CLUSTER/pods" ;;
"get events "*) cat "$CLUSTER/events" ;;
"rollout status "*) exit "$(cat "$CLUSTER/rollout")" ;;
"get job "*)
    if [ -f "$CLUSTER/applied" ]; then cat "$CLUSTER/ended"; else cat "$CLUSTER/job"; fi
    ;;
"get rolebindings -A "*) cat "$CLUSTER/granted" ;;
"get sriovnetworknodepolicies -n "*) cat "$CLUSTER/policies" ;;
"auth can-i "*) cat "$CLUSTER/can-i" ;;
"config current-context") echo lab ;;
"get "*"--ignore-not-found"*managed-by})
    if [ "$2" = Forbidden ]; then exit 1; fi
    sed -n "s/^$2 $3 /$3 /p" "$CLUSTER/live"
    ;;
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
    for nic in 5 6 7 8; do : >"$CLUSTER/network-attachment-definitions.k8s.cni.cncf.io.eno${nic}np0-network"; done
    : >"$CLUSTER/live" # KIND NAME LABEL
    : >"$CLUSTER/pods"
    : >"$CLUSTER/events"
    echo 0 >"$CLUSTER/rollout"
    for node in a b c; do : >"$CLUSTER/node.$node"; done
    : >"$CLUSTER/policies"
    echo ml >"$CLUSTER/granted"
    echo yes >"$CLUSTER/can-i"
    : >"$CLUSTER/securitycontextconstraints.security.openshift.io.nccl-rdma-scc"
    : >"$CLUSTER/rolebinding.nccl-rdma-scc"
    : >"$CLUSTER/deviceclass.sriovnetwork.k8snetworkplumbingwg.io"
    rails='"openshift.io/eno5np0rdma":"4","openshift.io/eno6np0rdma":"4","openshift.io/eno7np0rdma":"4","openshift.io/eno8np0rdma":"4"'
    echo "{\"cpu\":\"64\",$rails,\"nvidia.com/roce\":\"4\",\"rdma/hca_shared_rails\":\"63\"}" >"$CLUSTER/nodes"
    printf 'node/a\nnode/b\nnode/c\n' >"$CLUSTER/gpu-nodes"
    echo 36 >"$CLUSTER/minor"
    : >"$CLUSTER/job"
    echo 'x SuccessCriteriaMet Complete ' >"$CLUSTER/ended"
}

deploy() { # ARGS...: status, then what was said, in $said; objects in $tmp/objects.yaml
    said=$(k8s/deploy.sh "$ml" "$@" 2>&1 >"$tmp/objects.yaml") && status=0 || status=$?
}
# The example with images that there might be, and other clusters in the same namespace.
ml=$tmp/ml.yaml
sed -e 's/^namespace: .*/namespace: ml/' -e 's/example.com/lab/' k8s/cluster.yaml >"$ml"
for file in one-rail shared-devices dra; do
    sed -e 's/^namespace: .*/namespace: ml/' -e 's/example.com/lab/' "tests/k8s/clusters/$file.yaml" >"$tmp/$file.yaml"
done
called() { grep -c -e "$1" "$CLUSTER/calls"; }

# ---- what is rendered --------------------------------------------------------------------------------

cluster
for options in '' '--run idle' '--run allreduce' '--run admin' '--networks operator --run admin' '--tcp' '--tcp --run allreduce' \
    '--tcp --run doctor' '--pods 1' '--workload=statefulset' '--workload jobset' '--inject image' '--inject env-file --gpus 8' \
    '--memlock node' '--namespace 12 --queue 0' '--run admin --namespace 12 --networks operator' '--nodes a,b,c --gpus 8' '--without' '--tcp --without' '--run doctor' '--run doctor --nodes a' '--run doctor --gpus 1' \
    '--run doctor --gpus 0' '--run preflight' '--run preflight --nodes a,b,c' '--run preflight --gpus 1'; do
    # shellcheck disable=SC2086 # words
    deploy --dry-run $options
    same "--dry-run $options" "0 " "$status $said"
    valid "--dry-run $options: objects" "$tmp/objects.yaml"
done
for file in one-rail shared-devices dra; do
    for run in training doctor preflight admin; do
        k8s/deploy.sh "$tmp/$file.yaml" --run $run --dry-run --inject entrypoint >"$tmp/objects.yaml" || fail "$file $run" "status $?"
        valid "$file: --run $run" "$tmp/objects.yaml"
    done
done
same "--dry-run asks no cluster" "" "$(cat "$CLUSTER/calls")"

k8s/new "$ml" "$tmp/written" 2>/dev/null
deploy --dry-run
same "what is applied is what k8s/new writes" "$(.dev/k8s render "$tmp/written")" "$(cat "$tmp/objects.yaml")"
same "each namespaced object is in ml" 8 "$(grep -c '^  namespace: ml$' "$tmp/objects.yaml")"
# shellcheck disable=SC2016 # the word of the command
deploy --dry-run --nodes=n1,n2,n3 --gpus=8 --image=reg:5000/x/y:1.2 --nccl-init-image=reg/n@sha256:"$(printf %064d 0)" --name own --env 'A=b c' -- python3 x.py '$A'
same "nodes and pods" "3 n1 n2 n3" "$(awk '/completions:/ { r = $2 } /^ *- "?n[0-9]"?$/ { n = n " " $2 } END { print r n }' "$tmp/objects.yaml")"
same "nodes by name, and each a term of its own" "3 3 3" "$(for word in matchFields: 'key: metadata.name$' values:; do
    sed -n '/nodeSelectorTerms:/,/podAntiAffinity:/p' "$tmp/objects.yaml" | grep -c "$word"
done | xargs)"
same "GPUs" 1 "$(grep -c 'nvidia.com/gpu: "8"' "$tmp/objects.yaml")"
same "images" "reg:5000/x/y:1.2 reg/n@sha256:$(printf %064d 0)" "$(awk '/ image:/ { printf sep $2; sep = " " }' "$tmp/objects.yaml")"
same "name, variable and command" "1 1 python3 x.py \$A" "$(grep -c '^  name: own$' "$tmp/objects.yaml" | sed 's/^2$/1/') $(grep -c 'value: b c$' \
    "$tmp/objects.yaml") $(sed -n '/- args:/,/command:/ s/^        - //p' "$tmp/objects.yaml" | xargs -d '\n')"
deploy --dry-run --run doctor --gpus 1
same "doctor with a GPU" 1 "$(grep -c 'nvidia.com/gpu: "1"' "$tmp/objects.yaml")"
deploy --dry-run --run doctor --pods 16
same "doctor: as many as --pods says" 16 "$(sed -n 's/^  completions: //p' "$tmp/objects.yaml")"
same "doctor without" 0 "$(grep -c 'nvidia.com/gpu: ' "$tmp/objects.yaml")"
deploy --dry-run --without
same "--without: rails, and no nccl-init" "1 0" \
    "$(grep -c '  openshift.io/eno5np0rdma: ' "$tmp/objects.yaml") $(grep -cE 'NCCLINIT|/nccl-init|command:' "$tmp/objects.yaml")"
deploy --dry-run --run admin --networks operator --namespace other
same "admin: the namespace in binding, subject and networks" 6 "$(grep -cE '^ +(namespace|networkNamespace): other$' "$tmp/objects.yaml")"
deploy --dry-run --memlock node
same "memlock: node: no capability, no SCC" 0 "$(grep -cE 'SYS_RESOURCE|required-scc' "$tmp/objects.yaml")"
deploy --dry-run --run idle
same "idle pods sleep, and nccl-init is not in front" "sleep infinity /nccl-init" "$(sed -n '/^kind: StatefulSet/,$ { /args:/,/env:/ s/^        - //p; s/^        - \(\/nccl-init\)$/\1/p }' "$tmp/objects.yaml" | xargs)"
if command -v kubectl >/dev/null && kubectl kustomize --help >/dev/null 2>&1; then
    same "kubectl renders the same" "$(k8s/deploy.sh "$ml" --dry-run)" \
        "$(KUSTOMIZE='' KUBECTL=kubectl PATH="$(dirname "$(command -v kubectl)"):/usr/bin:/bin" k8s/deploy.sh "$ml" --dry-run)"
else
    skip "kubectl renders the same" "no kubectl that renders"
fi
(cd / && "$OLDPWD/k8s/deploy.sh" "$ml" --dry-run >"$tmp/elsewhere" 2>&1)
same "from another folder" "$(k8s/deploy.sh "$ml" --dry-run)" "$(cat "$tmp/elsewhere")"
mkdir "$tmp/a ö+b"
cp -R k8s "$tmp/a ö+b/"
same "from a folder of any name" "$(k8s/deploy.sh "$ml" --dry-run --run allreduce)" "$("$tmp/a ö+b/k8s/deploy.sh" "$ml" --dry-run --run allreduce 2>&1)"
deploy --dry-run --delete --namespace 123
same "--dry-run --delete: names" "Job trainer 123" "$(sed -n '/^Job/p' "$tmp/objects.yaml")"

# ---- wrong usage -------------------------------------------------------------------------------------

usage() { # PATTERN ARGS...
    pattern=$1
    shift
    deploy "$@"
    matches "usage: $*" "$pattern" "$status $said"
}
usage "2 *takes a value*" --pods
usage "2 *is too much*" x
usage "2 *knows no 'train'*" --run train
usage "2 *takes a number of 1 or more*" --wait 0
usage "2 *--wait is for workload: job and statefulset*" --wait 5 --workload jobset
usage "2 *takes no command*" --run doctor -- x
usage "1 *'privileged' cannot be set*" --privileged x
usage "1 *gpus is a number*" --gpus 01
usage "1 *namespace: *" --namespace 'a;b'
usage "1 *namespace: *" --namespace ML
usage "1 *namespace: *" --namespace a-b-
usage "1 *hosts: *" --nodes 'a b'
usage "1 *a stands twice*" --nodes a,b,a
usage "1 *networks is not for fabric*" --networks operator --fabric dra
usage "1 *image: *" --image foo
usage "2 *several lines*" --env 'A=1
B=2'
same "usage: nothing was asked of the cluster" "" "$(cat "$CLUSTER/calls")"
matches "usage: no file" "deploy.sh: FILE is missing*2" "$(k8s/deploy.sh 2>&1 || echo "$?")"
matches "--help" "usage: deploy.sh*" "$(k8s/deploy.sh --help)"

usage "1 *needs nothing of an administrator*" --run admin --tcp

# ---- what is applied ---------------------------------------------------------------------------------

deploy --wait 60
same "all is there: status" 0 "$status"
matches "the cluster is named" "*cluster: lab*" "$said"
matches "the demonstration is named" "*no command: the pods run train.py*" "$said"
matches "what next" "*next: * logs -n ml --tail=-1 -l app.kubernetes.io/name=trainer,batch.kubernetes.io/job-completion-index=0" "$said"
k8s/deploy.sh "$ml" --dry-run >"$tmp/dry"
same "what --dry-run shows is applied" "$(cat "$tmp/dry")" "$(cat "$CLUSTER/applied")"
same "once" "1 0" "$(called ^apply) $(called ^delete)"
cluster
echo 'trainer ' >"$CLUSTER/job"
deploy
matches "a job that runs is left alone" "1 *the job trainer has not ended: --delete it first*" "$status $said"
same "and nothing applied" "0 0" "$(called ^apply) $(called ^delete)"
echo 'trainer Complete ' >"$CLUSTER/job"
deploy
same "one that has finished gives way" "0 delete apply" "$status $(sed -n 's/^\(delete\|apply\) .*/\1/p' "$CLUSTER/calls" | xargs)"
cluster
echo 'trainer FailureTarget Failed ' >"$CLUSTER/ended"
deploy --wait 5
matches "a job that fails" "1 *the job failed: * logs -n ml *" "$status $said"
cluster
echo 'nccl-doctor FailureTarget ' >"$CLUSTER/ended"
deploy --run doctor --wait 1
matches "a job that does not end" "1 *has not ended after 1 s" "$status $said"
echo 'nccl-doctor FailureTarget Failed ' >"$CLUSTER/ended"
deploy --run doctor --wait 5
same "doctor: an unhealthy node is a result" 0 "$status"
cluster
deploy --run allreduce --wait 5
matches "allreduce: rank 0 has the table" "0 *-l app.kubernetes.io/name=nccl-allreduce,batch.kubernetes.io/job-completion-index=0" "$status $said"
cluster
deploy --run idle --wait 60
matches "idle: what next" "0 *next: * exec -it -n ml idle-0 -- /shared/nccl-init plan" "$status $said"
same "idle: waited for" 1 "$(called '^rollout status statefulset/idle -n ml --timeout=60s$')"
deploy --run idle --inject image
matches "idle: the image's program" "0 *exec -it -n ml idle-0 -- nccl-init plan" "$status $said"
echo 1 >"$CLUSTER/rollout"
printf '%s: Pending \n' idle-0 idle-1 >"$CLUSTER/pods"
printf '%s\n' 'idle-1: 0/9 nodes: old' 'idle-0: 0/9 nodes: 9 Insufficient nvidia.com/gpu' 'web-1: no' >"$CLUSTER/events"
deploy --run idle --wait 1
matches "pods that do not start: phases" "1 *idle-0: Pending*idle-1: Pending*do not run after 1 s" "$status $said"
same "pods that do not start: the last event" "idle-0: 0/9 nodes: 9 Insufficient nvidia.com/gpu" "$(printf '%s\n' "$said" | grep 0/9)"
cluster
deploy --run doctor --wait 5
same "doctor: as many as GPU nodes" "0 3" "$status $(sed -n 's/^  completions: //p' "$CLUSTER/applied")"
same "doctor: nodes that take pods" 1 "$(called '^get nodes -l nvidia.com/gpu.present=true --field-selector spec.unschedulable!=true')"
same "doctor: the job by name" 1 "$(called '^delete job nccl-doctor -n ml --ignore-not-found$')"
deploy --run preflight --wait 5
same "preflight: as many as GPU nodes, and says so" '3 "3"' "$(sed -n 's/^  completions: //p; /NCCLINIT_RANKS/ { n; s/^ *value: //p }' \
    "$CLUSTER/applied" | xargs -d '\n')"
matches "preflight: where the result is" "*name=nccl-preflight,batch.kubernetes.io/job-completion-index=0" "$said"

# ---- what is taken away ------------------------------------------------------------------------------

cluster
printf '%s nccl-init\n' 'Service trainer' 'Job trainer' 'ServiceAccount trainer' >"$CLUSTER/live"
rm "$CLUSTER/node.b"
deploy --delete --nodes a,b
same "--delete: what is there" "0 ServiceAccount Service Job" "$status $(sed -n 's/^delete \([A-Za-z]*\) .*/\1/p' "$CLUSTER/calls" | xargs)"
cluster
printf '%s nccl-init\n' 'Service idle' 'StatefulSet idle' 'ServiceAccount trainer' 'NetworkAttachmentDefinition eno5np0-network' >"$CLUSTER/live"
deploy --run idle --delete
same "--run idle --delete leaves account and networks" "0 Service StatefulSet" "$status $(sed -n 's/^delete \([A-Za-z]*\) .*/\1/p' "$CLUSTER/calls" | xargs)"
cluster
echo 'NetworkAttachmentDefinition eno5np0-network ' >"$CLUSTER/live"
deploy --delete
matches "--delete: not what somebody else wrote" "1 *left: NetworkAttachmentDefinition eno5np0-network: deploy.sh did not write it*not all was deleted" "$status $said"
same "--delete: nothing of ours, no delete" 0 "$(called ^delete)"
administered() {
    cluster
    printf '%s nccl-init\n' 'SecurityContextConstraints nccl-rdma-scc' 'ClusterRole nccl-rdma-scc' \
        'RoleBinding nccl-rdma-scc' 'SriovNetworkNodePolicy eno5np0-rdma' >"$CLUSTER/live"
}
administered
: >"$CLUSTER/reads"
deploy --run admin --delete </dev/null
same "admin: the last namespace" "0 ClusterRole RoleBinding SecurityContextConstraints SriovNetworkNodePolicy" \
    "$status $(sed -n 's/^delete \([A-Za-z]*\) .*/\1/p' "$CLUSTER/calls" | sort | xargs)"
administered
printf 'ml\nother\n' >"$CLUSTER/granted"
deploy --run admin --delete
same "admin: not the last namespace" "0 RoleBinding" "$status $(sed -n 's/^delete \([A-Za-z]*\) .*/\1/p' "$CLUSTER/calls" | xargs)"
matches "admin: and says so" "*the rest stays, for the other namespaces that have the SCC: other*" "$said"
administered
echo other >"$CLUSTER/sriovnetwork.eno6np0-network"
deploy --run admin --networks operator --delete
matches "admin: networks of another namespace" "1 *belongs to other*nothing was changed" "$status $said"
cluster
deploy --run admin
same "admin" "0 1" "$status $(grep -c '^kind: SecurityContextConstraints' "$CLUSTER/applied")"
cluster
deploy --tcp
same "tcp: no question about RDMA" "0 0" "$status $(called 'scc\|nodes')"

# ---- what is missing ---------------------------------------------------------------------------------

of=$ml
lacks() { # NAME PATTERN ARGS...: with the cluster as it is
    name=$1 pattern=$2
    shift 2
    said=$(k8s/deploy.sh "$of" "$@" 2>&1) && status=0 || status=$?
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
rm "$CLUSTER/securitycontextconstraints.security.openshift.io.nccl-rdma-scc"
lacks SCC "the SCC nccl-rdma-scc is missing*an administrator runs: deploy.sh $ml --run admin"
rm "$CLUSTER/rolebinding.nccl-rdma-scc"
lacks RoleBinding "the SCC nccl-rdma-scc is not granted in ml*--run admin"
drop network-attachment-definitions
lacks Multus "the cluster has no NetworkAttachmentDefinition*Multus"
sed -i 's/"openshift.io\/eno7np0rdma":"4"/"openshift.io\/eno7np0rdma":"0"/' "$CLUSTER/nodes"
lacks "one rail of four" "no node offers openshift.io/eno7np0rdma*--run admin"
echo no >"$CLUSTER/can-i"
lacks "the right to write networks" \
    "this account may not create a NetworkAttachmentDefinition in ml*k8s/admin/network-editors; or networks: operator"
echo '|rdma-nics|["eno4np0","eno6np0#0-3"]' >"$CLUSTER/policies"
lacks "a policy of another owner for the PF" "the SriovNetworkNodePolicy rdma-nics is not of deploy.sh, and is for eno6np0" --run admin
echo 'helm|eno7np0-rdma|["eno1"]' >"$CLUSTER/policies"
lacks "a policy of another owner with the name" "the SriovNetworkNodePolicy eno7np0-rdma *hand it over: * label" --run admin
rm "$CLUSTER/network-attachment-definitions.k8s.cni.cncf.io.eno8np0-network"
lacks "a network of the operator" "there is no network eno8np0-network in ml*--run admin" --networks operator
echo restricted >"$CLUSTER/namespace.ml"
lacks "rights in the namespace" "ml enforces the pod security level restricted*memlock: node"
echo 34 >"$CLUSTER/minor"
lacks fileKeyRef "the cluster has Kubernetes 1.34*need 1.35" --inject env-file
echo 27 >"$CLUSTER/minor"
lacks "a pod's index" "the cluster has Kubernetes 1.27*need 1.28"
echo 29 >"$CLUSTER/minor"
lacks "a hook that sleeps" "the cluster has Kubernetes 1.29*need 1.30" --run doctor
echo 28 >"$CLUSTER/minor"
lacks "a limit of each index" "the cluster has Kubernetes 1.28*need 1.29" --run preflight
lacks "a queue" "Kueue has no LocalQueue q in ml" --queue q
drop sriovnetworknodepolicies
lacks "operator, for an administrator" "the cluster has no SriovNetworkNodePolicy*install the SR-IOV Network Operator" --run admin
echo other >"$CLUSTER/sriovnetwork.eno5np0-network"
lacks "a network of another namespace" "the SriovNetwork eno5np0-network belongs to other" --run admin --networks operator
rm "$CLUSTER/namespace.ml" "$CLUSTER/rolebinding.nccl-rdma-scc"
lacks "two things, both named" "the namespace ml*the SCC nccl-rdma-scc is not granted"
of=k8s/cluster.yaml
: >"$CLUSTER/namespace.training"
lacks "an image" "an image is of example.com, which has none*nccl-init-image"
of=$tmp/one-rail.yaml
sed -i 's/"nvidia.com\/roce":"4",//' "$CLUSTER/nodes"
lacks "a device plugin's resource" "no node offers nvidia.com/roce"
echo 'resourceList: []' >"$CLUSTER/configmap.sriovdp-config"
lacks "room for a plugin's configuration" "kube-system/sriovdp-config is there*by hand" --run admin
of=$tmp/dra.yaml
drop resourceclaimtemplates
lacks DRA "the cluster has no ResourceClaimTemplate*Kubernetes 1.34"
rm "$CLUSTER/deviceclass.sriovnetwork.k8snetworkplumbingwg.io"
lacks "DRA driver" "the DeviceClass * is missing*installs dra-driver-sriov"
drop sriovresourcepolicies
lacks "DRA driver, for an administrator" "the cluster has no SriovResourcePolicy" --run admin

printf '%s\n' 'nccl-init|eno5np0-rdma|["eno5np0"]' '|others|["eno1","eno55np0"]' >"$CLUSTER/policies"
deploy --run admin
same "policies of our own, and for other PFs" 0 "$status"
cluster
echo 'app.kubernetes.io/managed-by: nccl-init' >"$CLUSTER/configmap.sriovdp-config"
k8s/deploy.sh "$tmp/one-rail.yaml" --run admin >/dev/null 2>&1
same "a plugin's configuration of our own is written again" "0 1" "$? $(called ^apply)"
cluster
k8s/deploy.sh "$tmp/dra.yaml" --run admin >"$tmp/said" 2>&1
matches "admin of another fabric, on OpenShift: the SCC too" "1 *no SriovResourcePolicy*" "$? $(cat "$tmp/said")"
echo sriovresourcepolicies.sriovnetwork.k8snetworkplumbingwg.io >>"$CLUSTER/api"
k8s/deploy.sh "$tmp/dra.yaml" --run admin >/dev/null 2>&1
same "admin of another fabric, on OpenShift: policies and SCC" "ClusterRole RoleBinding SecurityContextConstraints SriovResourcePolicy" \
    "$(sed -n 's/^kind: //p' "$CLUSTER/applied" | sort | xargs)"
drop securitycontextconstraints
k8s/deploy.sh "$tmp/dra.yaml" --run admin >/dev/null 2>&1
same "elsewhere without" SriovResourcePolicy "$(sed -n 's/^kind: //p' "$CLUSTER/applied" | xargs)"
cluster
: >"$CLUSTER/api"
echo 'error: You must be logged in to the server' >"$CLUSTER/api-error"
deploy
matches "no cluster" "1 deploy.sh: no answer from the cluster: error: You must be logged in*" "$status $said"
cluster
echo restricted >"$CLUSTER/namespace.ml"
rm "$CLUSTER/rolebinding.nccl-rdma-scc"
deploy --memlock node
same "memlock: node needs no SCC, in a restricted namespace" 0 "$status"
cluster
: >"$CLUSTER/forbidden.securitycontextconstraints.security.openshift.io"
deploy
same "what this account may not know is not missing" 0 "$status"

judge
finish
