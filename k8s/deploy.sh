#!/bin/sh
# Deploys training pods with nccl-init. Thin over kustomize: it writes a kustomization of this folder's base and
# components, as you could by hand, and applies what that renders. `deploy.sh --help`.
# SPDX-License-Identifier: Apache-2.0
set -eu
here=$(cd "$(dirname "$0")" && pwd -P)

usage() {
    cat <<'EOF'
usage: deploy.sh --namespace NS [OPTION...]

  --namespace NS      where to; it has to exist
  --mode rdma|tcp     RDMA, or sockets over the pod network (default: rdma)
  --type multi|single two pods, or one (default: multi)
  --nodes N1,N2       one pod on each of these nodes, by the names of `kubectl get nodes`
  --fabric FABRIC     how the cluster gives HCAs to pods: openshift-sriov, sriov-device-plugin,
                      shared-device-plugin, dra (default: what the cluster has; with --dry-run openshift-sriov)
  --networks nad|operator
                      openshift-sriov: networks of your own, or those that the operator wrote (default: nad)
  --inject entrypoint|image|env-file|none
                      nccl-init by an init container, from the training image, as a writer of an environment
                      file, Kubernetes 1.35, or not at all, to compare (default: entrypoint)
  --memlock caps|node locked memory by the pod's capabilities, or by the node's runtime (default: caps)
  --gpus N            GPUs of each pod (default: 4; doctor and preflight: 0, and with that no check of GPUs)
  --image IMAGE       the training image
  --nccl-init-image IMAGE
  --run training|allreduce|doctor|preflight
                      the training pods, the benchmark, `nccl-init doctor` on each GPU node, or `nccl-init
                      preflight` between them
  --wait SECONDS      until the pods run, or the job has ended
  --admin             the cluster's part of the fabric instead, for an administrator: policies, SCC, RoleBinding
  --delete            take away what the same options deployed
  --dry-run           print the objects; needs no cluster

Environment: KUBECTL (default: kubectl, else oc), KUSTOMIZE (default: kustomize, else `KUBECTL kustomize`).
Exit status: 0 done, 1 a prerequisite is missing or the cluster refused, 2 wrong usage.
EOF
}

say() { echo "deploy.sh: $*" >&2; }
wrong() {
    say "$*; see --help"
    exit 2
}
fail() {
    say "$*"
    exit 1
}

# ---- options -----------------------------------------------------------------------------------------

namespace='' mode=rdma type=multi nodes='' fabric='' networks=nad inject=entrypoint memlock=caps gpus=''
image='' init_image='' run=training wait='' admin='' delete='' dry_run=''

one_of() { # OPTION VALUE ALLOWED...
    option=$1 value=$2
    shift 2
    for allowed in "$@"; do
        if [ "$value" = "$allowed" ]; then return; fi
    done
    wrong "$option is one of: $*; not '$value'"
}

number() { # OPTION VALUE
    case $2 in
    '' | *[!0-9]* | 0*) wrong "$1 takes a number of 1 or more, not '$2'" ;;
    esac
}

# Names go into YAML and onto command lines: letters, digits and what a host name or an image may have besides.
plain() { # OPTION VALUE EXTRA-CHARACTERS
    case $2 in
    '' | -* | *[!a-zA-Z0-9"$3"]*) wrong "$1: '$2' is no such name" ;;
    esac
}

while [ $# -gt 0 ]; do
    option=$1
    shift
    case $option in
    --*=*)
        value=${option#*=}
        option=${option%%=*}
        ;;
    --admin | --delete | --dry-run | --help | -h) value= ;;
    --*)
        [ $# -gt 0 ] || wrong "$option takes a value"
        value=$1
        shift
        ;;
    *) wrong "'$option' is no option" ;;
    esac
    case $option in
    --namespace) namespace=$value && plain "$option" "$value" - ;;
    --mode) mode=$value && one_of "$option" "$value" rdma tcp ;;
    --type) type=$value && one_of "$option" "$value" multi single ;;
    --nodes)
        nodes=$value
        plain "$option" "$value" ,.-
        case ,$value, in *,,*) wrong "--nodes: an entry of '$value' is empty" ;; esac
        ;;
    --fabric)
        fabric=$value
        one_of "$option" "$value" openshift-sriov sriov-device-plugin shared-device-plugin dra
        ;;
    --networks) networks=$value && one_of "$option" "$value" nad operator ;;
    --inject) inject=$value && one_of "$option" "$value" entrypoint image env-file none ;;
    --memlock) memlock=$value && one_of "$option" "$value" caps node ;;
    --gpus)
        gpus=$value
        [ "$value" = 0 ] || number "$option" "$value"
        ;;
    --image) image=$value && plain "$option" "$value" './:@_-' ;;
    --nccl-init-image) init_image=$value && plain "$option" "$value" './:@_-' ;;
    --run) run=$value && one_of "$option" "$value" training allreduce doctor preflight ;;
    --wait) wait=$value && number "$option" "$value" ;;
    --admin) admin=1 ;;
    --delete) delete=1 ;;
    --dry-run) dry_run=1 ;;
    --help | -h)
        usage
        exit 0
        ;;
    *) wrong "'$option' is no option" ;;
    esac
done

[ -n "$namespace" ] || wrong "--namespace is missing"
if [ "$mode" = tcp ]; then
    [ -z "$fabric" ] || wrong "--fabric is for --mode rdma"
    [ "$inject" != env-file ] || wrong "--inject env-file is for --mode rdma"
    [ -z "$admin" ] || wrong "--mode tcp needs nothing of the cluster"
fi
if [ "$networks" = operator ] && [ "${fabric:-openshift-sriov}" != openshift-sriov ]; then
    wrong "--networks operator is for --fabric openshift-sriov"
fi
if [ "$inject" = env-file ] && [ "$run" != training ]; then
    wrong "--inject env-file is for --run training"
fi
# Runs nccl-init and no command, on each GPU node.
alone=''
case $run in doctor | preflight) alone=1 ;; esac
if [ "$gpus" = 0 ] && [ -z "$alone" ]; then wrong "--gpus 0 is for --run doctor and preflight"; fi
if [ "$inject" = none ] && [ -n "$alone" ]; then wrong "--inject none is for pods that run a command"; fi
count=$(echo "$nodes" | tr , '\n' | grep -c . || true)
if [ "$type" = single ] && [ "$count" -gt 1 ] && [ -z "$alone" ]; then
    wrong "--type single is one pod, but --nodes names $count"
fi
if [ "$type" = multi ] && [ "$count" = 1 ] && [ "$run" != doctor ]; then
    wrong "--type multi is more than one pod, one per node, but --nodes names one"
fi

# ---- programs ----------------------------------------------------------------------------------------

if [ -z "${KUBECTL:-}" ]; then
    if command -v kubectl >/dev/null; then KUBECTL=kubectl; else KUBECTL=oc; fi
fi
kube() { "$KUBECTL" "$@"; }

render() { # DIR
    if [ -n "${KUSTOMIZE:-}" ]; then
        "$KUSTOMIZE" build "$1"
    elif command -v kustomize >/dev/null; then
        kustomize build "$1"
    elif command -v "$KUBECTL" >/dev/null; then
        kube kustomize "$1"
    else
        fail "neither kustomize nor kubectl nor oc is there to render with"
    fi
}

if [ -z "$dry_run" ] && ! command -v "$KUBECTL" >/dev/null; then
    fail "no kubectl or oc; --dry-run does without"
fi

# ---- the cluster -------------------------------------------------------------------------------------

sccs=securitycontextconstraints.security.openshift.io
label=app.kubernetes.io/managed-by # on all that is written here; what lacks it is somebody else's
problems=0
problem() { # WHAT, and what to do about it
    say "$1"
    say "  $2"
    problems=$((problems + 1))
}

served() { printf '%s\n' "$api" | grep -qx -e "$1"; }

# 0 it is there, 1 it is not, 2 this account may not know
exists() { # KIND NAME [ARG...]
    if answer=$(kube get "$@" -o name 2>&1); then return 0; fi
    case $answer in
    *NotFound* | *'not found'*) return 1 ;;
    *) return 2 ;;
    esac
}

missing() { ! exists "$@" && case $answer in *NotFound* | *'not found'*) ;; *) false ;; esac }

look_at_cluster() {
    api=$(kube api-resources -o name 2>/dev/null || true)
    [ -n "$api" ] || fail "no answer from the cluster: $KUBECTL api-resources"
    if missing namespace "$namespace"; then
        problem "the namespace $namespace does not exist" "make it: $KUBECTL create namespace $namespace"
    fi
    for node in $(echo "$nodes" | tr , ' '); do
        if [ -z "$delete" ] && missing node "$node"; then
            problem "there is no node $node" "their names: $KUBECTL get nodes"
        fi
    done
    if [ "$mode" = rdma ] && [ -z "$fabric" ]; then
        if served sriovnetworknodepolicies.sriovnetwork.openshift.io &&
            served $sccs; then
            fabric=openshift-sriov
        else
            fail "which fabric? This is no OpenShift with the SR-IOV operator; name one with --fabric, or use --mode tcp"
        fi
        say "fabric: $fabric"
    fi
}

# What the pods need of the cluster.
check_for_pods() {
    [ "$mode" = rdma ] || return 0
    by_admin="an administrator runs: deploy.sh --admin --namespace $namespace --mode rdma --fabric $fabric"
    nads=network-attachment-definitions.k8s.cni.cncf.io
    if ! served $nads; then
        problem "the cluster has no NetworkAttachmentDefinition" "an administrator installs Multus and its CRD"
    elif [ "$networks" = nad ] && [ "$(kube auth can-i create $nads -n "$namespace" 2>/dev/null)" = no ]; then
        remedy='an administrator runs the same, or lets editors write networks: apply -k k8s/admin/network-editors'
        if [ "$fabric" = openshift-sriov ]; then remedy="$remedy, or: --networks operator"; fi
        problem "this account may not create a NetworkAttachmentDefinition in $namespace" "$remedy"
    fi
    if [ "$memlock" = node ] || ! served $sccs; then
        : # such pods pass restricted-v2, or there is none
    elif missing securitycontextconstraints nccl-rdma-scc; then
        problem "the SCC nccl-rdma-scc is missing" "$by_admin; it is in k8s/admin/scc"
    elif missing rolebinding nccl-rdma-scc -n "$namespace"; then
        problem "the SCC nccl-rdma-scc is not granted in $namespace" "$by_admin; it is in k8s/admin/scc"
    fi
    case $fabric in
    openshift-sriov)
        served $sccs ||
            problem "the cluster has no SecurityContextConstraints" \
                "this is no OpenShift; choose another --fabric"
        served sriovnetworknodepolicies.sriovnetwork.openshift.io ||
            problem "the CRD SriovNetworkNodePolicy is missing" "an administrator installs the SR-IOV Network Operator"
        if [ "$networks" = operator ] && missing network-attachment-definition eno5np0-network -n "$namespace"; then
            problem "the operator wrote no network eno5np0-network into $namespace" "$by_admin --networks operator"
        fi
        offered openshift.io/eno5np0rdma
        ;;
    sriov-device-plugin) offered nvidia.com/eno5np0rdma ;;
    shared-device-plugin) offered rdma/hca_shared_rails ;;
    dra)
        if ! served resourceclaimtemplates.resource.k8s.io; then
            problem "the cluster has no ResourceClaimTemplate" "dynamic resource allocation needs Kubernetes 1.34"
        elif missing deviceclass sriovnetwork.k8snetworkplumbingwg.io; then
            problem "the DeviceClass sriovnetwork.k8snetworkplumbingwg.io is missing" \
                "an administrator installs dra-driver-sriov"
        fi
        ;;
    esac
    if [ "$memlock" = caps ]; then
        level=$(kube get namespace "$namespace" \
            -o 'jsonpath={.metadata.labels.pod-security\.kubernetes\.io/enforce}' 2>/dev/null || true)
        case $level in
        baseline | restricted)
            problem "$namespace enforces the pod security level $level, which knows neither IPC_LOCK nor SYS_RESOURCE" \
                "label it pod-security.kubernetes.io/enforce=privileged, or let the nodes set the limit: --memlock node"
            ;;
        esac
    fi
    if [ "$inject" = env-file ]; then
        minor=$(kube get --raw /version 2>/dev/null | sed -n 's/.*"minor": *"\([0-9]*\).*/\1/p')
        if [ "${minor:-35}" -lt 35 ]; then
            problem "Kubernetes 1.$minor does not make variables of this file (fileKeyRef, 1.35)" \
                "use --inject entrypoint"
        fi
    fi
}

# Some node must offer RESOURCE. Nothing is said where this account may not read nodes.
offered() { # RESOURCE
    capacity=$(kube get nodes -o 'jsonpath={range .items[*]}{.status.allocatable}{"\n"}{end}' 2>/dev/null) || return 0
    printf '%s\n' "$capacity" | grep -q "\"$1\":\"[1-9]" ||
        problem "no node offers $1" "an administrator looks at the device plugin and at k8s/admin/$fabric"
}

# A SriovNetwork serves one namespace.
networks_of_others() {
    for rail in eno5np0 eno6np0 eno7np0 eno8np0; do
        other=$(kube get sriovnetwork "$rail-network" -n openshift-sriov-network-operator \
            -o 'jsonpath={.spec.networkNamespace}' 2>/dev/null || true)
        if [ -n "$other" ] && [ "$other" != "$namespace" ]; then
            problem "the SriovNetwork $rail-network belongs to $other, which would lose it" \
                "leave --networks operator out: $namespace gets networks of its own"
        fi
    done
}

# Two policies for one PF: the operator takes the one of higher priority, or refuses.
policies_of_others() {
    policies=$(kube get sriovnetworknodepolicies -n openshift-sriov-network-operator -o "jsonpath={range .items[*]}\
{.metadata.labels.app\\.kubernetes\\.io/managed-by}|{.metadata.name}|{.spec.nicSelector.pfNames}{\"\\n\"}{end}" 2>/dev/null || true)
    while IFS='|' read -r by name pfs; do
        [ "$by" != nccl-init ] || continue
        for rail in eno5np0 eno6np0 eno7np0 eno8np0; do
            case "$name $pfs" in
            "$rail-rdma "* | *"\"$rail\""* | *"\"$rail#"*)
                problem "the SriovNetworkNodePolicy $name is not of deploy.sh, and is for $rail or has our name" \
                    "use its resource in components/fabric, or hand it over: $KUBECTL label sriovnetworknodepolicy $name \
-n openshift-sriov-network-operator $label=nccl-init"
                break
                ;;
            esac
        done
    done <<EOF
$policies
EOF
}

# What the cluster's part of a fabric needs.
check_for_admin() {
    case $fabric in
    openshift-sriov)
        served sriovnetworknodepolicies.sriovnetwork.openshift.io ||
            problem "the CRD SriovNetworkNodePolicy is missing" "install the SR-IOV Network Operator first"
        served $sccs ||
            problem "the cluster has no SecurityContextConstraints" "this is no OpenShift; choose another --fabric"
        policies_of_others
        if [ "$networks" = operator ]; then networks_of_others; fi
        ;;
    dra)
        served sriovresourcepolicies.sriovnetwork.k8snetworkplumbingwg.io ||
            problem "the CRD SriovResourcePolicy is missing" "install dra-driver-sriov first"
        ;;
    *)
        # One configuration for all nodes: never write over somebody else's.
        if [ "$fabric" = sriov-device-plugin ]; then map=sriovdp-config; else map=rdma-devices; fi
        if exists configmap "$map" -n kube-system; then
            config=$(kube get configmap "$map" -n kube-system -o yaml)
            case $config in
            *"$label: nccl-init"*) ;;
            *eno5np0rdma* | *hca_shared_rails*)
                say "kube-system/$map names the resources already; left as it is"
                skip_fabric=1
                ;;
            *)
                problem "kube-system/$map is there, with other resources" \
                    "add those of k8s/admin/$fabric/configmap.yaml to it by hand"
                ;;
            esac
        fi
        ;;
    esac
}

skip_fabric='' scc=''
if [ -n "$dry_run" ]; then
    if [ "$mode" = rdma ]; then fabric=${fabric:-openshift-sriov}; fi
    if [ "$fabric" = openshift-sriov ] && [ "$memlock" = caps ]; then scc=1; fi
else
    look_at_cluster
    if [ "$memlock" = caps ] && served $sccs; then scc=1; fi
    if [ -n "$delete" ]; then
        if [ "$networks" = operator ] && [ -n "$admin" ]; then networks_of_others; fi
    else
        if [ -n "$admin" ]; then check_for_admin; else check_for_pods; fi
    fi
    [ "$problems" -eq 0 ] || fail "nothing was changed"
    if [ -n "$skip_fabric" ] && [ -z "$scc" ]; then exit 0; fi
fi

# ---- the kustomization -------------------------------------------------------------------------------

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
ln -s "$here" "$tmp/k8s" # kustomize takes relative paths only

# An image in the form of kustomize's `images:`.
image_entry() { # NAME IMAGE
    echo "  - name: $1"
    rest=$2
    case $rest in
    *@*)
        echo "    digest: ${rest#*@}"
        rest=${rest%%@*}
        case ${rest##*/} in *:*) rest=${rest%:*} ;; esac
        ;;
    *)
        case ${rest##*/} in
        *:*) echo "    newTag: \"${rest##*:}\"" ;;
        *) wrong "$2 has no tag" ;;
        esac
        rest=${rest%:*}
        ;;
    esac
    echo "    newName: $rest"
}

write_admin() {
    echo 'resources:'
    if [ -z "$skip_fabric" ]; then echo "  - k8s/admin/$fabric"; fi
    if [ -n "$scc" ]; then echo '  - k8s/admin/scc'; fi
    if [ "$networks" = operator ]; then echo '  - k8s/admin/openshift-sriov-networks'; fi
    echo 'patches:'
    [ -z "$scc" ] || cat <<EOF
  - target:
      kind: RoleBinding
    patch: |
      - op: replace
        path: /metadata/namespace
        value: "$namespace"
      - op: replace
        path: /subjects/0/namespace
        value: "$namespace"
EOF
    [ "$networks" = operator ] || return 0
    cat <<EOF
  - target:
      kind: SriovNetwork
    patch: |
      - op: replace
        path: /spec/networkNamespace
        value: "$namespace"
EOF
}

write_pods() {
    echo "namespace: \"$namespace\""
    echo 'resources:'
    case $run in
    training) echo '  - k8s/base' ;;
    allreduce) echo '  - k8s/bench' ;;
    doctor | preflight) echo "  - k8s/$run" ;;
    esac
    echo 'components:'
    case $run,$inject in
    doctor,* | preflight,* | *,env-file | *,none) ;;
    *) echo "  - k8s/components/$inject" ;;
    esac
    if [ "$mode" = tcp ]; then
        if [ "$inject" != none ]; then echo '  - k8s/components/tcp'; fi
    else
        if [ "$memlock" = caps ]; then echo '  - k8s/components/caps'; fi
        case $inject in entrypoint | image) echo '  - k8s/components/rdma' ;; esac
        echo "  - k8s/components/fabric/$fabric"
        if [ "$networks" = operator ]; then echo '  - k8s/components/networks-by-operator'; fi
        if [ "$inject" = env-file ]; then echo '  - k8s/components/env-file'; fi
    fi
    echo 'patches:'
    echo '  - target: {labelSelector: app.kubernetes.io/component=worker}'
    echo '    patch: |'
    if [ "$run" = training ]; then
        patch replace /spec/replicas "$pods"
    else
        patch replace /spec/completions "$pods"
        patch replace /spec/parallelism "$pods"
    fi
    if [ "$run" = preflight ]; then
        patch test /spec/template/spec/containers/0/env/0/name NCCLINIT_RANKS
        patch replace /spec/template/spec/containers/0/env/0/value "\"$pods\""
    fi
    if [ -n "$alone" ]; then
        if [ "${gpus:-0}" != 0 ]; then
            patch add /spec/template/spec/containers/0/resources/limits/nvidia.com~1gpu "\"$gpus\""
        fi
    else
        patch test /spec/template/spec/containers/0/env/0/name NNODES
        patch replace /spec/template/spec/containers/0/env/0/value "\"$pods\""
        if [ -n "$gpus" ]; then
            patch replace /spec/template/spec/containers/0/resources/limits/nvidia.com~1gpu "\"$gpus\""
            if [ "$inject" = env-file ]; then
                patch replace /spec/template/spec/initContainers/0/resources/limits/nvidia.com~1gpu "\"$gpus\""
            fi
        fi
    fi
    if [ -n "$nodes" ]; then
        patch add /spec/template/spec/affinity/nodeAffinity "
          requiredDuringSchedulingIgnoredDuringExecution:
            nodeSelectorTerms:$(for node in $(echo "$nodes" | tr , ' '); do
            printf '\n              - matchFields: [{key: metadata.name, operator: In, values: ["%s"]}]' "$node"
        done)"
    fi
    if [ -n "$image$init_image" ]; then
        echo 'images:'
        if [ -n "$image" ]; then image_entry nvcr.io/nvidia/pytorch "$image"; fi
        if [ -n "$init_image" ]; then image_entry ghcr.io/nccl-init/nccl-init "$init_image"; fi
    fi
}

patch() { # OP PATH [VALUE]
    echo "      - op: $1"
    echo "        path: $2"
    if [ $# -gt 2 ]; then echo "        value: $3"; fi
}

pods=$count
if [ "$pods" = 0 ]; then
    pods=2
    if [ -n "$alone" ]; then
        if [ -z "$dry_run" ]; then
            pods=$(kube get nodes -l nvidia.com/gpu.present=true -o name | grep -c . || true)
            [ "$pods" -gt 0 ] || fail "no node has the label nvidia.com/gpu.present=true; name them: --nodes"
        fi
    elif [ "$type" = single ]; then
        pods=1
    fi
fi

{
    echo 'apiVersion: kustomize.config.k8s.io/v1beta1'
    echo 'kind: Kustomization'
    echo "labels: [{pairs: {$label: nccl-init}}]"
    if [ -n "$admin" ]; then write_admin; else write_pods; fi
} >"$tmp/kustomization.yaml"
render "$tmp" >"$tmp/objects.yaml" || fail "the manifests do not render; kustomize 5 or kubectl 1.27 is needed"

if [ -n "$dry_run" ]; then
    cat "$tmp/objects.yaml"
    exit 0
fi

# ---- act ---------------------------------------------------------------------------------------------

# Of the objects: what deploy.sh wrote, and what no other namespace needs.
delete_objects() {
    left=0
    kube get --ignore-not-found --no-headers -f "$tmp/objects.yaml" -o "custom-columns=A:.kind,B:.metadata.name,\
C:.metadata.namespace,D:.metadata.labels.app\\.kubernetes\\.io/managed-by" >"$tmp/live" || left=1 # a kind that the cluster does not have any more, a right that is missing
    others=''
    if [ -n "$admin" ] && served $sccs; then
        granted=$(kube get rolebindings -A \
            -o 'jsonpath={range .items[?(@.roleRef.name=="nccl-rdma-scc")]}{.metadata.namespace}{"\n"}{end}') ||
            fail "cannot see which namespaces use the SCC; nothing was deleted"
        others=$(printf '%s\n' "$granted" | grep -vx -e "$namespace" -e '' | tr '\n' ' ' || true)
        [ -z "$others" ] || say "the rest stays, for the other namespaces that have the SCC: $others"
    fi
    while read -r kind name space by; do
        [ -n "$kind" ] || continue
        if [ "$by" != nccl-init ]; then
            say "left: $kind $name in $space: deploy.sh did not write it, it lacks the label $label=nccl-init"
            left=1
        elif [ -z "$others" ] || [ "$kind" = RoleBinding ] || [ "$kind" = SriovNetwork ]; then
            echo "$kind $name"
        fi >&3
    done 3>"$tmp/ours" <"$tmp/live"
    # kustomize writes the kind and the name of an object at the same depth always
    awk '
        function end() { if ((kind " " name) in ours) printf "---\n%s", text; kind = name = text = "" }
        NR == FNR { ours[$0] = 1; next }
        $0 == "---" { end(); next }
        { text = text $0 "\n" }
        /^[a-z]/ { top = $1 }
        /^kind: / { kind = $2 }
        top == "metadata:" && /^  name: / { name = $2 }
        END { end() }' "$tmp/ours" "$tmp/objects.yaml" >"$tmp/gone.yaml"
    if [ -s "$tmp/gone.yaml" ]; then kube delete --ignore-not-found -f "$tmp/gone.yaml"; fi
    [ "$left" = 0 ] || fail "not all was deleted"
}

say "cluster: $(kube config current-context 2>/dev/null || echo unknown)"

case $run in
training) job='' ;;
*)
    job=nccl-$run
    logs="$KUBECTL logs -n $namespace --tail=-1 -l"
    logs="$logs app.kubernetes.io/name=$job,batch.kubernetes.io/job-completion-index=0"
    ;;
esac

# What a user would ask for next when pods do not come up.
explain() {
    kube get pods -n "$namespace" -l "app.kubernetes.io/name=${job:-trainer}" \
        -o 'jsonpath={range .items[*]}{.metadata.name}: {.status.phase} {.spec.nodeName}{"\n"}{end}' >&2 || true
    kube get events -n "$namespace" --field-selector reason=FailedScheduling --sort-by=.metadata.creationTimestamp \
        -o 'jsonpath={range .items[*]}{.involvedObject.name}: {.message}{"\n"}{end}' 2>/dev/null |
        grep -e "^${job:-trainer}-" | tail -n 1 >&2 || true
    if grep -q 'image: nvcr.io/nvidia/pytorch:25.06-py3$' "$tmp/objects.yaml"; then
        say "the training image is still the placeholder: --image"
    fi
    if grep -q 'image: ghcr.io/nccl-init/nccl-init:' "$tmp/objects.yaml"; then
        say "nccl-init's image is still the placeholder: --nccl-init-image"
    fi
    trainer_holds_gpus
}

# The benchmark asks for GPUs that the training pods may have.
trainer_holds_gpus() {
    [ "$run" = allreduce ] || return 0
    holding=$(kube get statefulset trainer -n "$namespace" -o 'jsonpath={.status.replicas}' 2>/dev/null || true)
    if [ "${holding:-0}" != 0 ]; then
        say "the training pods hold GPUs; scale them down first: \
$KUBECTL scale statefulset/trainer -n $namespace --replicas=0"
    fi
}

if [ -n "$delete" ]; then
    if [ -n "$job" ] && [ -z "$admin" ]; then # account and networks stay: the training pods have the same
        kube delete jobs,services,configmaps -n "$namespace" -l "app.kubernetes.io/name=$job"
    else
        delete_objects
    fi
    exit 0
fi
# A job's pods cannot be changed: a new run is a new job.
if [ -n "$job" ] && [ -z "$admin" ]; then
    kube delete job "$job" -n "$namespace" --ignore-not-found
fi
if [ -z "$admin" ]; then trainer_holds_gpus; fi
kube apply -f "$tmp/objects.yaml"
[ -z "$admin" ] || exit 0

if [ -n "$wait" ]; then
    if [ -z "$job" ]; then
        if ! kube rollout status statefulset/trainer -n "$namespace" --timeout="${wait}s"; then
            explain
            fail "the pods do not run after $wait s"
        fi
    else
        end=$(($(date +%s) + wait))
        while :; do
            ended=$(kube get job "$job" -n "$namespace" -o 'jsonpath={.status.conditions[?(@.status=="True")].type}')
            case " $ended " in
            *' Complete '*) break ;;
            *' Failed '*)
                # which is a result: a node, or a rail between nodes, is not healthy
                [ -z "$alone" ] || break
                explain
                fail "the job failed: $logs"
                ;;
            esac
            if [ "$(date +%s)" -ge "$end" ]; then
                explain
                fail "the job $job has not ended after $wait s"
            fi
            sleep 2
        done
    fi
fi
case $run in
training)
    next="$KUBECTL logs -n $namespace trainer-0"
    if [ "$inject" != none ]; then next="$next | grep nccl-init"; fi
    say "next: $next"
    ;;
allreduce | preflight) say "next: $logs" ;;
doctor) say "next: $here/fleet --namespace $namespace" ;;
esac
