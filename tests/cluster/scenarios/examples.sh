#!/bin/bash
# k8s/examples: the API server accepts each object, and the label does what the file says: pods that their controllers make, and
# where a controller is not here the pods of the template, are injected and become ready, or are as they were.
# seconds: 60
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # tmp comes from lib
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../lib"

foreign_kinds
api() { /usr/bin/python3 tests/cluster/api.py "$@"; }
kubectl create namespace team >"$tmp/said" || fail "a namespace" "$(cat "$tmp/said")"
works "the chart is installed" helm install nccl-init k8s/charts/nccl-init --namespace nccl-init --create-namespace
acts() {
    kubectl --namespace team run probe --image=none --labels=nccl-init.io/inject=conf --dry-run=server --output name &&
        ! kubectl --namespace team run probe --image=none --labels=nccl-init.io/inject=other --dry-run=server
}
works "its policies act" wait_for 120 acts

# ---- each object, each pod ---------------------------------------------------------------------------------------------------

api apply k8s/examples/*.yaml >"$tmp/judged" || fail "objects" "they cannot be judged"
same "each object is accepted" "" "$(grep -v ': \(pod \)\?accepted$' "$tmp/judged")"
matches "... of so many kinds" "1[0-9]" "$(sed -n 's/^[^ ]* \([A-Za-z]*\)\/.*: accepted$/\1/p' "$tmp/judged" | sort -u | wc -l)"
/usr/bin/python3 tests/cluster/inject.py examples k8s/examples/*.yaml >"$tmp/pods" || fail "pods" "$(tail -n 1 "$tmp/pods")"
expected='by-hand.yaml StatefulSet spec.template.spec: as it is
deployment-vllm.yaml Deployment spec.template.spec: nccl-init-env vllm
job.yaml Job spec.template.spec: nccl-init-wrap train
jobset.yaml JobSet spec.replicatedJobs.0.template.spec.template.spec: nccl-init-wrap train
kserve-llminferenceserviceconfig.yaml LLMInferenceServiceConfig spec.template: as it is
leaderworkerset.yaml LeaderWorkerSet spec.leaderWorkerTemplate.workerTemplate.spec: nccl-init-wrap vllm
llminferenceservice.yaml LLMInferenceService spec.template: nccl-init-conf main
llminferenceservice.yaml LLMInferenceService spec.worker: nccl-init-conf main
mpijob.yaml MPIJob spec.mpiReplicaSpecs.Launcher.template.spec: as it is
mpijob.yaml MPIJob spec.mpiReplicaSpecs.Worker.template.spec: nccl-init-conf worker
pytorchjob.yaml PyTorchJob spec.pytorchReplicaSpecs.Master.template.spec: nccl-init-wrap pytorch
pytorchjob.yaml PyTorchJob spec.pytorchReplicaSpecs.Worker.template.spec: nccl-init-wrap pytorch
raycluster.yaml RayCluster spec.headGroupSpec.template.spec: as it is
raycluster.yaml RayCluster spec.workerGroupSpecs.0.template.spec: nccl-init-env ray-worker
statefulset.yaml StatefulSet spec.template.spec: nccl-init-env serve
trainjob.yaml ClusterTrainingRuntime spec.template.spec.replicatedJobs.0.template.spec.template.spec: nccl-init-env node'
same "each pod gets what its file says" "$expected" "$(cat "$tmp/pods")"

# ---- a preflight never waits for itself -----------------------------------------------------------------------------------------

# A headless Service that hides pods which are not ready, or a startup probe, and a preflight would wait for each other.
/usr/bin/python3 - k8s/examples/*.yaml >"$tmp/waits" <<'END' || fail "what waits" "$(tail -n 1 "$tmp/waits")"
import sys
sys.path.insert(0, "tests/cluster")
from api import objects_of, pods_of
for path in sys.argv[1:]:
    objects = list(objects_of(path))
    asks = any(m.get("annotations", {}).get("nccl-init.io/preflight") for o in objects for _, m, _ in pods_of(o))
    for obj in objects:
        if obj["kind"] == "Service" and not obj["spec"].get("publishNotReadyAddresses"):
            print(f"{path}: the Service {obj['metadata']['name']} hides pods that are not ready")
        for where, _, spec in pods_of(obj):
            if asks and any("startupProbe" in c or "readinessProbe" in c for c in spec["containers"]):
                print(f"{path}: {where} has a probe")
            if asks and obj["kind"] == "Job" and spec.get("subdomain") not in [o["metadata"]["name"] for o in objects if o["kind"] == "Service"]:
                print(f"{path}: no Service gives its pods names")
END
same "no example waits for itself" "" "$(cat "$tmp/waits")"

# ---- what controllers make of them ----------------------------------------------------------------------------------------------

pretended_nodes 4 nvidia.com/gpu openshift.io/rail0rdma openshift.io/rail1rdma
made() { # NAMESPACE: of each pod its init containers, the wrapped command, and if it is ready
    kubectl --namespace "$1" get pods --output 'jsonpath={range .items[*]}{.spec.initContainers[*].name} {.spec.containers[0].command[0]} {.status.conditions[?(@.type=="Ready")].status}{"\n"}{end}'
}
two_pods() { [ "$(made "$1" | sort | uniq -c | sed 's/^ *//')" = "$2" ]; }
run() { # NAME FILE EXPECTED
    works "$1: a namespace" kubectl create namespace "$1"
    # twice, where a webhook wants what stands below
    kubectl --namespace "$1" apply --server-side --filename "k8s/examples/$2" >"$tmp/said" 2>&1 || tail -n 1 "$tmp/said"
    works "$1: is applied" kubectl --namespace "$1" apply --server-side --filename "k8s/examples/$2"
    works "$1: its pods are injected, scheduled and ready" wait_for 200 two_pods "$1" "$3"
    two_pods "$1" "$3" || made "$1"
}
env='2 nccl-init-env  True'
wrap='2 nccl-init-wrap /nccl-init/nccl-init True'
run job job.yaml "$wrap"
run statefulset statefulset.yaml "$env"
run deployment deployment-vllm.yaml "$env"
with() { # CONTROLLER ARGUMENT... -- NAME FILE EXPECTED: nothing where that controller is not there
    local program=$1 arguments=()
    shift
    while [ "$1" != -- ]; do
        arguments+=("$1")
        shift
    done
    shift
    controller "$program" "${arguments[@]}"
    ! have "$program" || run "$@"
}
with jobset -- jobset jobset.yaml "$wrap"
with lws -- lws leaderworkerset.yaml "$wrap"
with trainer -- trainjob trainjob.yaml '2 nccl-init-env torchrun True'
with training-operator --port=PORT -- pytorchjob pytorchjob.yaml '1 init-pytorch nccl-init-wrap /nccl-init/nccl-init True
1 nccl-init-wrap /nccl-init/nccl-init True'
with mpi-operator -- mpijob mpijob.yaml '1  mpirun True
2 nccl-init-conf /usr/sbin/sshd True'
with kuberay --port=PORT -- raycluster raycluster.yaml '1  /bin/bash True
2 wait-gcs-ready nccl-init-env /bin/bash True'

# ---- a label in five minutes -------------------------------------------------------------------------------------------------------

# As k8s/README begins: a StatefulSet that is there already.
works "a StatefulSet without the label" kubectl --namespace team create --filename - <<'END'
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: mine}
spec:
  selector: {matchLabels: {app: mine}}
  serviceName: mine
  template:
    metadata: {labels: {app: mine}}
    spec: {containers: [{name: main, image: none, resources: {limits: {nvidia.com/gpu: 1, openshift.io/rail0rdma: 1}}}]}
END
plain() { kubectl --namespace team wait --for=condition=Ready pod mine-0 --timeout=1s; }
works "... its pod is ready" wait_for 60 plain
same "... and has no init container" "" "$(kubectl --namespace team get pod mine-0 -o 'jsonpath={.spec.initContainers[*].name}')"
patch=$(sed -n "s/.*--patch '\(.*\)'.*/\1/p" k8s/README.md | head -n 1)
matches "k8s/README has the patch" '*nccl-init.io/inject*' "$patch"
works "kubectl patch" kubectl --namespace team patch statefulset mine --type=merge --patch "$patch"
has_it() { [ "$(kubectl --namespace team get pod mine-0 -o 'jsonpath={.spec.initContainers[*].name}')" = nccl-init-env ]; }
works "... its next pod has it" wait_for 60 has_it
finish
