# shellcheck shell=sh
# shellcheck disable=SC2154 # the names are deploy.sh's, and the keys of the description
# What the cluster lacks for what deploy.sh is about to do; deploy.sh reads this. Each lack is told with who can mend it.
# SPDX-License-Identifier: Apache-2.0

problems=0
problem() { # WHAT, and what to do about it
    say "$1"
    say "  $2"
    problems=$((problems + 1))
}
served() { printf '%s\n' "$api" | grep -qx -e "$1"; }
# The cluster says that it is not there. Where this account may not know, nothing is said.
missing() { # KIND NAME [ARG...]
    if answer=$(kube get "$@" -o name 2>&1); then return 1; fi
    case $answer in *NotFound* | *'not found'*) ;; *) return 1 ;; esac
}
need_api() { served "$1" || problem "the cluster has no $2" "$3"; } # API KIND REMEDY
need() { # WHAT REMEDY KIND NAME [ARG...]
    what=$1 remedy=$2
    shift 2
    if missing "$@"; then problem "$what" "$remedy"; fi
}
of_nics() { printf '%s\n' "$rails" | cut -d ' ' -f "$1"; } # 2: interfaces, 3: resources, 4: networks

by_admin="an administrator runs: deploy.sh $file --run admin"
operator='-n openshift-sriov-network-operator'
nads='network-attachment-definitions.k8s.cni.cncf.io'
sccs=securitycontextconstraints.security.openshift.io

check_for_pods() {
    case "$image $nccl_init_image" in *example.com/*)
        problem "an image is of example.com, which has none" "put yours into $file: image, nccl-init-image"
        ;;
    esac
    minor=$(kube get --raw /version 2>/dev/null | sed -n 's/.*"minor": *"\([0-9]*\).*/\1/p')
    needed=28 # a pod's index as a label
    case $run,$inject in
    *,env-file) needed=35 ;; # fileKeyRef
    doctor,*) needed=30 ;; # postStart sleeps
    preflight,*) needed=29 ;; # backoffLimitPerIndex
    esac
    if [ "${minor:-$needed}" -lt $needed ]; then problem "the cluster has Kubernetes 1.$minor" "these pods need 1.$needed"; fi
    [ -z "$queue" ] || need "Kueue has no LocalQueue $queue in $namespace" \
        "an administrator applies the folder queue that k8s/new writes" localqueue "$queue" -n "$namespace"
}

check_for_rails() {
    need_api $nads NetworkAttachmentDefinition "an administrator installs Multus and its CRD"
    if [ "$networks" != pods ]; then
        for network in $(of_nics 4); do
            space=$namespace
            case $network in */*) space=${network%/*} ;; esac
            need "there is no network $network in $space" "$by_admin" $nads "${network##*/}" -n "$space"
        done
    elif [ "$(kube auth can-i create $nads -n "$namespace" 2>/dev/null)" = no ]; then
        problem "this account may not create a NetworkAttachmentDefinition in $namespace" \
            "an administrator runs the same, or applies k8s/admin/network-editors; or networks: operator in $file"
    fi
    if [ "$memlock" = caps ]; then
        if served $sccs; then
            need "the SCC nccl-rdma-scc is missing" "$by_admin" $sccs nccl-rdma-scc
            need "the SCC nccl-rdma-scc is not granted in $namespace" "$by_admin" rolebinding nccl-rdma-scc -n "$namespace"
        fi
        level=$(kube get namespace "$namespace" -o 'jsonpath={.metadata.labels.pod-security\.kubernetes\.io/enforce}' 2>/dev/null || true)
        case $level in baseline | restricted)
            problem "$namespace enforces the pod security level $level, which knows neither IPC_LOCK nor SYS_RESOURCE" \
                "label it pod-security.kubernetes.io/enforce=privileged, or let the nodes set the limit: memlock: node"
            ;;
        esac
    fi
    if [ "$fabric" = dra ]; then
        need_api resourceclaimtemplates.resource.k8s.io ResourceClaimTemplate "dynamic resource allocation needs Kubernetes 1.34"
        need "the DeviceClass sriovnetwork.k8snetworkplumbingwg.io is missing" "an administrator installs dra-driver-sriov" \
            deviceclass sriovnetwork.k8snetworkplumbingwg.io
    elif capacity=$(kube get nodes -o 'jsonpath={range .items[*]}{.status.allocatable}{"\n"}{end}' 2>/dev/null); then
        for resource in $(of_nics 3 | sort -u); do
            printf '%s\n' "$capacity" | grep -q "\"$resource\":\"[1-9]" ||
                problem "no node offers $resource" "$by_admin; or looks at the device plugin"
        done
    fi
}

# What the cluster's part needs, and what it must not take away from others.
check_for_admin() {
    if [ "$policies" = existing ]; then return 0; fi
    case $fabric in
    openshift-sriov)
        need_api sriovnetworknodepolicies.sriovnetwork.openshift.io SriovNetworkNodePolicy "install the SR-IOV Network Operator first"
        # Two policies for one PF: the operator takes the one of higher priority, or refuses.
        # shellcheck disable=SC2086 # words
        kube get sriovnetworknodepolicies $operator -o "jsonpath={range .items[*]}{.metadata.labels.app\\.kubernetes\\.io/managed-by}|\
{.metadata.name}|{.spec.nicSelector.pfNames}{\"\\n\"}{end}" >"$tmp/policies" 2>/dev/null || true
        while IFS='|' read -r by policy pfs; do
            for nic in $([ "$by" = nccl-init ] || of_nics 2); do
                case "$policy $pfs" in "$nic-rdma "* | *"\"$nic\""* | *"\"$nic#"*)
                    problem "the SriovNetworkNodePolicy $policy is not of deploy.sh, and is for $nic or has our name" \
                        "use its resource: policies: existing; or hand it over: $KUBECTL label sriovnetworknodepolicy $policy $operator $ours=nccl-init"
                    ;;
                esac
            done
        done <"$tmp/policies"
        ;;
    dra)
        need_api sriovresourcepolicies.sriovnetwork.k8snetworkplumbingwg.io SriovResourcePolicy "install dra-driver-sriov first"
        ;;
    *)
        map=rdma-devices # one configuration for all nodes
        if [ "$fabric" = sriov-device-plugin ]; then map=sriovdp-config; fi
        if config=$(kube get configmap $map -n kube-system -o yaml 2>/dev/null); then
            case $config in *"$ours: nccl-init"*) ;; *)
                problem "kube-system/$map is there, and not of deploy.sh" \
                    "add the resources to it by hand, deploy.sh $file --run admin --dry-run has them; then say policies: existing"
                ;;
            esac
        fi
        ;;
    esac
}

need "the namespace $namespace does not exist" "make it: $KUBECTL create namespace $namespace" namespace "$namespace"
if [ "$run,$networks" = admin,operator ]; then
    for network in $(of_nics 4); do # a SriovNetwork serves one namespace
        # shellcheck disable=SC2086 # words
        other=$(kube get sriovnetwork "$network" $operator -o 'jsonpath={.spec.networkNamespace}' 2>/dev/null || true)
        if [ -n "$other" ] && [ "$other" != "$namespace" ]; then
            problem "the SriovNetwork $network belongs to $other, which would lose it" "networks: pods, or another network: in $file"
        fi
    done
fi
if [ -z "$delete" ]; then
    for host in $hosts; do
        need "there is no node $host" "their names: $KUBECTL get nodes" node "$host"
    done
    if [ "$run" = admin ]; then
        check_for_admin
    else
        check_for_pods
        if [ "$fabric" != none ]; then check_for_rails; fi
    fi
fi
