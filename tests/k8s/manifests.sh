#!/bin/sh
# Every kustomization and example renders to objects that the schemas and the rules accept; a fault in one is seen.
# SPDX-License-Identifier: Apache-2.0
set -u
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../cli/lib"
cd "$(dirname -- "$0")/../.." || exit 1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
# shellcheck source=/dev/null
. tests/k8s/lib

.dev/k8s render-all "$tmp/all" || fail "all render" "see above"
for file in "$tmp"/all/*.yaml; do
    valid "$(basename "$file" .yaml)" "$file"
done
cat "$tmp"/all/*.yaml >"$tmp/everything"
same "no privileged container, host path or host namespace" "" \
    "$(grep -E '^ *-? *(privileged: true|hostPath:|host(Network|PID|IPC): true)' "$tmp/everything")"

# ---- k8s/README.md --------------------------------------------------------------------------------------

same "README: no long line" "" "$(awk 'length($0) > 120 { print FNR }' k8s/README.md)"
sed -n 's/\](/\n](/gp' k8s/README.md | sed -n 's/^](\([^)#]*\)[)#].*/\1/p' >"$tmp/links"
sed -n 's/^\[[0-9]\]: //p' k8s/README.md >>"$tmp/links"
while IFS= read -r link; do
    [ -e "k8s/$link" ] || fail "README: $link" "is not there"
done <"$tmp/links"
for dir in k8s/overlays/* k8s/admin/* k8s/node/*; do
    grep -qxF "${dir#k8s/}" "$tmp/links" || fail "README: ${dir#k8s/}" "is not named"
done
for dir in k8s/components/*; do
    grep -q "^|.*\`${dir##*/}[\`/]" k8s/README.md || fail "README: ${dir##*/}" "is not named"
done

# ---- components that no overlay has ------------------------------------------------------------------

compose() { # NAME COMPONENT...
    mkdir -p "$tmp/$1"
    [ -e "$tmp/$1/k8s" ] || ln -s "$PWD/k8s" "$tmp/$1/k8s"
    printf 'apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [k8s/base]\ncomponents:\n' \
        >"$tmp/$1/kustomization.yaml"
    name=$1
    shift
    printf '  - k8s/components/%s\n' "$@" >>"$tmp/$name/kustomization.yaml"
    .dev/k8s render "$tmp/$name" >"$tmp/$name.yaml"
    valid "$name" "$tmp/$name.yaml"
}
compose non-root entrypoint caps rdma fabric/sriov-device-plugin non-root
compose image image caps rdma fabric/openshift-sriov
compose without-caps entrypoint rdma fabric/openshift-sriov
compose by-operator entrypoint caps rdma fabric/openshift-sriov networks-by-operator
compose preflight entrypoint caps rdma preflight network-policy fabric/openshift-sriov
same "by-operator: no network" 0 "$(grep -c '^kind: NetworkAttachmentDefinition' "$tmp/by-operator.yaml")"
for dir in k8s/components/*/ k8s/components/fabric/*/; do
    name=${dir#k8s/components/}
    name=${name%/}
    [ "$name" = fabric ] || grep -rqE "components/$name\$" k8s/overlays "$tmp"/*/kustomization.yaml ||
        fail "component $name" "is in nothing that is rendered here"
done

# ---- faults that must be seen --------------------------------------------------------------------------

pods=$tmp/all/overlays-openshift-sriov.yaml
policies=$tmp/all/admin-openshift-sriov.yaml
admin=$tmp/all/admin-scc.yaml
same "the SCC comes without policies" 0 "$(grep -c '^kind: SriovNetworkNodePolicy' "$admin")"
refused "an unknown field" "$pods" 's/^  serviceName: trainer$/&\n  serviceNam: trainer/' "'serviceNam' was unexpected"
refused "an unknown field in a container" "$pods" 's/^        terminationMessagePolicy:/        terminationPolicy:/' "'terminationPolicy' was unexpected"
refused "an unknown kind" "$pods" 's/^kind: Service$/kind: Servic/' "is no kind"
refused "an old API version" "$pods" 's/^apiVersion: apps\/v1$/apiVersion: apps\/v1beta2/' "is no kind"
refused "a number as text" "$pods" 's/^  replicas: 2$/  replicas: "2"/' "is not of type 'integer'"
refused "a quantity as a number" "$pods" 's/nvidia.com\/gpu: "4"/nvidia.com\/gpu: 4/' "4 is not of type 'string'"
refused "a variable as a number" "$pods" 's/value: "20"/value: 20/' "20 is not of type 'string'"
refused "a missing field" "$pods" '/^        mountPath: \/dev\/shm$/d; s/^        - mountPath: \/dev\/shm$/        - readOnly: true/' "'mountPath' is a required property"
refused "a value outside of its list" "$pods" 's/podManagementPolicy: Parallel/podManagementPolicy: parallel/' "'parallel' is not one of"
refused "a key twice" "$pods" 's/^  replicas: 2$/&\n  replicas: 2/' "stands twice"
refused "an image without a tag" "$pods" 's/\(image: nvcr.io[^:]*\):.*/\1/' "has no tag"
refused "latest" "$pods" 's/\(image: nvcr.io[^:]*\):.*/\1:latest/' "latest is no version"
refused "a privileged container" "$pods" 's/^          runAsUser: 0$/&\n          privileged: true/' "is privileged"
refused "a missing capability" "$pods" '/^            - SYS_RESOURCE$/d' "IPC_LOCK without SYS_RESOURCE"
refused "one capability more" "$pods" 's/^            - SYS_RESOURCE$/&\n            - SYS_ADMIN/' "adds SYS_ADMIN"
refused "capabilities of a user" "$pods" 's/^          runAsUser: 0$/          runAsUser: 1000/' "they are not effective"
refused "capabilities that are not dropped" "$pods" 's/^            - ALL$/            - KILL/' "does not drop ALL"
refused "no seccomp profile" "$pods" 's/type: RuntimeDefault/type: Unconfined/' "without seccompProfile"
refused "the host's network" "$pods" 's/^      serviceAccountName: trainer$/&\n      hostNetwork: true/' "hostNetwork: is set"
refused "a host path" "$pods" 's/^      volumes:$/&\n      - name: h\n        hostPath:\n          path: \//' "h is a hostPath"
refused "a mount of no volume" "$pods" 's/^          name: shm$/          name: shmm/' "mounts shmm"
refused "another network" "$pods" 's/networks: eno5np0-network,/networks: eno4np0-network,/' "attaches eno4np0-network"
refused "a rail without its device" "$pods" '/^            openshift.io\/eno7np0rdma/d' "does not ask for one openshift.io/eno7np0rdma"
refused "a network that is no JSON" "$pods" '0,/"type": "sriov",/ s/"type": "sriov",/"type": "sriov"/' "no JSON"
refused "a network without addresses" "$pods" '0,/"ipam"/s/"ipam"/"iparn"/' "lacks ipam"
refused "NNODES and replicas" "$pods" 's/^  replicas: 2$/  replicas: 3/' "NNODES is 2"
refused "a Service of other pods" "$pods" '/^  selector:$/,/^---$/ s/^    app.kubernetes.io\/name: trainer/    app.kubernetes.io\/name: train/' "Service selects other labels"
refused "another account" "$pods" 's/serviceAccountName: trainer/serviceAccountName: train/' "runs as train,"
refused "an SCC with one capability more" "$admin" 's/^- SYS_RESOURCE$/&\n- SYS_ADMIN/' "other than IPC_LOCK, SYS_RESOURCE"
refused "an SCC with privileged containers" "$admin" 's/allowPrivilegedContainer: false/allowPrivilegedContainer: true/' "False was expected"
refused "an SCC with host paths" "$admin" 's/^- emptyDir$/&\n- hostPath/' "'hostPath' is not one of"
refused "an SCC without a field it needs" "$admin" '/^priority: null$/d' "'priority' is a required property"
refused "a binding to nothing" "$admin" '/^roleRef:/,/^subjects/ s/name: nccl-rdma-scc/name: nccl-scc/' "binds nccl-scc"
refused "a policy's unknown field" "$policies" 's/isRdma: true/isRDMA: true/' "'isRDMA' was unexpected"
refused "a policy's wrong type" "$policies" 's/isRdma: true/isRdma: "true"/' "is not of type 'boolean'"
refused "a policy's vendor as a number" "$policies" "s/vendor: 15b3/vendor: 1583/" "1583 is not of type 'string'"
refused "the PF's name in the singular" "$policies" 's/pfNames:/pfName:/' "'pfName' was unexpected"
refused "a claim of another class field" "$tmp/all/overlays-dra.yaml" 's/deviceClassName:/deviceClass:/' "'deviceClass' was unexpected"
refused "a VF's unknown parameter" "$tmp/all/overlays-dra.yaml" 's/ifName:/interface:/' "'interface' was unexpected"
refused "a claim that is not there" "$tmp/all/overlays-dra.yaml" 's/resourceClaimTemplateName: rails/resourceClaimTemplateName: rail/' "claims rail,"
refused "kernel arguments in one word" "$tmp/all/node-iommu-intel.yaml" 's/- iommu=pt/- iommu=pt amd/' "does not match"
refused "a MachineConfig without a role" "$tmp/all/node-memlock.yaml" 's/configuration.openshift.io\/role/configuration.openshift.io\/rol/' "no pool takes it"
refused "an octal mode" "$tmp/all/node-memlock.yaml" 's/mode: 420/mode: 644/' "greater than the maximum"
refused "fileKeyRef without its key" "$tmp/all/overlays-openshift-sriov-env-file.yaml" '0,/^ *key: NCCL_IB_DISABLE$/ { /^ *key: NCCL_IB_DISABLE$/d }' "'key' is a required property"
refused "fileKeyRef outside of the volume" "$tmp/all/overlays-openshift-sriov-env-file.yaml" 's/path: env$/path: ..\/env/' "does not match"
job=$tmp/all/preflight.yaml
refused "preflight: NCCLINIT_RANKS and completions" "$job" 's/^  completions: 2$/  completions: 3/' "NCCLINIT_RANKS is 2"
refused "preflight: another pod 0" "$job" 's/nccl-preflight-0.nccl-preflight/nccl-preflight-1.nccl-preflight/' "its pod 0 is not"
refused "preflight: another subdomain" "$job" 's/subdomain: nccl-preflight/subdomain: preflight/' "its Service preflight is not there"
refused "a policy of other pods" "$tmp/preflight.yaml" '/^kind: NetworkPolicy$/,$ s/part-of: nccl-init/part-of: nccl/' "selects other pods"
refused "a policy's unknown field" "$tmp/preflight.yaml" 's/podSelector:/podsSelector:/' "'podsSelector' was unexpected"
refused "JobSet: a Job's field" "$tmp/all/examples-jobset.yaml" 's/completionMode:/completionsMode:/' "'completionsMode' was unexpected"
refused "JobSet: a field of its own" "$tmp/all/examples-jobset.yaml" 's/replicatedJobs:/replicatedJob:/' "'replicatedJob' was unexpected"
for example in jobset leaderworkerset mpijob pytorchjob trainjob; do
    refused "$example: no account" "$tmp/all/examples-$example.yaml" '/serviceAccountName:/d' "does not run as trainer"
    refused "$example: another account" "$tmp/all/examples-$example.yaml" 's/serviceAccountName: .*/serviceAccountName: train/' "runs as train,"
    refused "$example: no SCC" "$tmp/all/examples-$example.yaml" 's/required-scc:.*/other-scc: x/' "not for the SCC nccl-rdma-scc"
done
refused "TrainJob" "$tmp/all/examples-trainjob.yaml" 's/numProcPerNode: 4/numProcPerNode: gpu/' "is not of type 'integer'"
refused "PyTorchJob" "$tmp/all/examples-pytorchjob.yaml" 's/pytorchReplicaSpecs/replicaSpecs/' "'replicaSpecs' was unexpected"
mpijob=$tmp/all/bench-nccl-tests.yaml
refused "an MPI launcher without an account" "$mpijob" '0,/serviceAccountName:/ { /serviceAccountName:/d }' "uid 1000, but does not run as trainer"
refused "an MPI launcher without an SCC" "$mpijob" '0,/required-scc:/ s/required-scc:.*/other-scc: x/' "uid 1000, but not for the SCC"
refused "three rails of four" "$pods" 's/value: rails=4/value: rails=3/' "not its 4 rails"
refused "no demand for the rails" "$tmp/all/examples-jobset.yaml" 's/--require=rails=4, //' "not its 4 rails"
refused "MPIJob" "$tmp/all/examples-mpijob.yaml" 's/slotsPerWorker: 4/slotsPerWorker: "4"/' "is not of type 'integer'"
refused "LeaderWorkerSet" "$tmp/all/examples-leaderworkerset.yaml" 's/workerTemplate:/workersTemplate:/' "'workersTemplate' was unexpected"
refused "KServe" "$tmp/all/examples-kserve-llminferenceserviceconfig.yaml" 's/^  template:/  podTemplate:/' "'podTemplate' was unexpected"

judge
finish
