#!/bin/bash
# k8s/check on a real API server: it finds nothing where all is there, and each of what is then taken away; it needs no more
# rights than k8s/charts/nccl-init/check-role.yaml has.
# seconds: 35
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # tmp comes from lib
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../lib"

foreign_kinds
check() { # ARG...: its status in $status, its output in $said
    k8s/check "$@" >"$tmp/out" 2>&1 && status=0 || status=$?
    said=$(tr -s ' \n' ' ' <"$tmp/out")
}

# ---- a cluster where all is there ---------------------------------------------------------------------------------------

# Four nodes with GPUs and VFs, as an SR-IOV operator would show them.
a_node() { # N: what it has
    kubectl patch node "node-$1" --type=merge --patch "{\"metadata\": {\"labels\": {\"feature.node.kubernetes.io/network-sriov.capable\": \"true\"}},
        \"spec\": {\"taints\": [{\"key\": \"nvidia.com/gpu\", \"effect\": \"NoSchedule\"}], \"podCIDR\": \"10.244.$1.0/24\", \"podCIDRs\": [\"10.244.$1.0/24\"]}}" &&
        kubectl patch node "node-$1" --subresource=status --type=merge --patch "{\"status\": {
            \"allocatable\": {\"nvidia.com/gpu\": \"8\", \"openshift.io/eno5np0rdma\": \"4\", \"openshift.io/eno6np0rdma\": \"4\"},
            \"addresses\": [{\"type\": \"InternalIP\", \"address\": \"192.168.0.1$1\"}]}}" &&
        kubectl create --filename - <<END
apiVersion: sriovnetwork.openshift.io/v1
kind: SriovNetworkNodeState
metadata: {name: node-$1, namespace: openshift-sriov-network-operator}
END
}
state_status() {
    cat <<END
{"status": {"syncStatus": "Succeeded", "interfaces": [
 {"name": "eno5np0", "pciAddress": "0000:03:00.0", "vendor": "15b3", "deviceID": "1021", "totalvfs": 16},
 {"name": "eno6np0", "pciAddress": "0000:23:00.0", "vendor": "15b3", "deviceID": "1021", "totalvfs": 16},
 {"name": "eno1", "pciAddress": "0000:63:00.0", "vendor": "8086", "deviceID": "1592", "totalvfs": 64}]}}
END
}
trainer() { # KIND REPLICAS-KEY
    cat <<END
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: trainer, namespace: ml}
spec:
  replicas: 4
  serviceName: trainer
  selector: {matchLabels: {app: trainer}}
  template:
    metadata:
      labels: {app: trainer, nccl-init.io/inject: conf}
      annotations: {k8s.v1.cni.cncf.io/networks: "eno5np0-network, eno6np0-network", openshift.io/required-scc: nccl-rdma-scc}
    spec:
      serviceAccountName: trainer
      tolerations: [{key: nvidia.com/gpu, operator: Exists}]
      affinity:
        podAntiAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            - {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {app: trainer}}}
      containers:
        - name: train
          image: nvcr.io/nvidia/pytorch:26.06-py3
          securityContext: {capabilities: {add: [IPC_LOCK, SYS_RESOURCE]}}
          resources: {limits: {nvidia.com/gpu: "8", openshift.io/eno5np0rdma: "1", openshift.io/eno6np0rdma: "1"}}
END
}
for name in ml openshift-sriov-network-operator; do works "namespace $name" kubectl create namespace $name; done
pretended_nodes 4 nvidia.com/gpu openshift.io/eno5np0rdma openshift.io/eno6np0rdma
for n in 0 1 2 3; do
    works "... node-$n has GPUs and VFs" a_node $n
    works "... and NICs" kubectl patch sriovnetworknodestate node-$n --namespace openshift-sriov-network-operator \
        --subresource=status --type=merge --patch "$(state_status)"
done
cat >"$tmp/rails.yaml" <<'END'
rails:
  - {pf: eno5np0, subnet: 10.0.103.0/24}
  - {pf: eno6np0, subnet: 10.0.104.0/24}
scc: {create: true, accounts: [trainer]}
END
works "rails" helm install rails k8s/charts/rails --namespace ml --values "$tmp/rails.yaml"
# the injection, as far as k8s/check looks at it
cat >"$tmp/inject.yaml" <<'END'
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: nccl-init.nccl-init.io}
spec:
  reinvocationPolicy: IfNeeded
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
    objectSelector: {matchExpressions: [{key: nccl-init.io/inject, operator: Exists}]}
  mutations: [{patchType: JSONPatch, jsonPatch: {expression: "[JSONPatch{op: 'add', path: '/spec/initContainers', value: [{'name': 'nccl-init-conf', 'image': 'none'}]}]"}}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: nccl-init.nccl-init.io}
spec:
  policyName: nccl-init.nccl-init.io
  matchResources: {namespaceSelector: {matchExpressions: [{key: no-nccl-init, operator: DoesNotExist}]}}
END
works "an account" kubectl create serviceaccount trainer --namespace ml
works "the injection" kubectl apply --server-side --filename "$tmp/inject.yaml"
acts() { kubectl run probe --namespace ml --image=none --labels=nccl-init.io/inject=conf --dry-run=server -o yaml | grep nccl-init-conf; }
works "... acts" wait_for 60 acts
trainer >"$tmp/trainer.yaml"
works "four pods" kubectl apply --server-side --filename "$tmp/trainer.yaml"
wait_for 60 kubectl get pod trainer-3 --namespace ml

check -n ml
same "all is there" "0 ml: 0 errors, 0 warnings; 4 pods with the label in 1 workload" "$status ${said% }"
check -n ml --release rails
same "... of the release, too" "0 ml/rails: 0 errors, 0 warnings; 0 pods with the label in 0 workloads" "$status ${said% }"
check -n ml --release none
matches "a release that is not there" "1 check: there is no object of the release none*" "$status $said"
k8s/check -n ml --record >"$tmp/recording.json"
[ -z "${NCCL_INIT_CHECK_RECORD-}" ] || cp "$tmp/recording.json" "$NCCL_INIT_CHECK_RECORD"
check -n ml --from "$tmp/recording.json"
matches "a recording says the same" "0 ml: 0 errors, 0 warnings; 4 pods *" "$status $said"
kubectl get statefulsets,pods,nodes --all-namespaces --output=json >"$tmp/plain.json"
check -n ml --from "$tmp/plain.json"
matches "... and what kubectl printed, as far as it goes" "0 ml: 0 errors, 0 warnings; 4 pods *" "$status $said"

# ---- rights -------------------------------------------------------------------------------------------------------------

works "the rights" kubectl apply --server-side --filename k8s/charts/nccl-init/check-role.yaml
works "... of an account" kubectl create clusterrolebinding check --clusterrole=nccl-init-check --serviceaccount=ml:reader
cat >"$tmp/kubectl" <<END
#!/bin/sh
exec $(command -v kubectl) --as=system:serviceaccount:ml:reader "\$@"
END
chmod +x "$tmp/kubectl"
check_as() { KUBECTL=$tmp/kubectl check "$@"; }
check_as -n ml
same "with these rights all is judged" "0 ml: 0 errors, 0 warnings; 4 pods with the label in 1 workload" "$status ${said% }"
works "a right less" kubectl patch clusterrole nccl-init-check --type=json --patch '[{"op": "remove", "path": "/rules/0/resources/0"}]'
check_as -n ml
matches "... is named" "0 ml: 0 errors*Not judged, for want of the right to read: nodes: *nodes is forbidden*" "$status $said"
works "no right" kubectl delete clusterrolebinding check
check_as -n ml
matches "... is an error" "1 check: nothing can be read: *" "$status $said"

# ---- what is taken away is found ----------------------------------------------------------------------------------------

finds() { # WHAT SENTENCE: exactly this is wrong
    check -n ml
    matches "$1" "1 ml: 1 error, * error: $2*" "$status $said"
}
gone() { # KIND NAME [ARG...]: it is deleted; back brings it back
    kubectl get "$@" --output=json >"$tmp/gone.json"
    works "without $1 $2" kubectl delete "$@"
}
back() { works "... it is back" kubectl replace --force --filename "$tmp/gone.json"; }

gone network-attachment-definition eno6np0-network --namespace ml
finds "a network" "There is no network eno6np0-network in ml, which the pods of the StatefulSet trainer name.*Cluster admin: install k8s/charts/rails*"
back
gone rolebinding rails.ml.nccl-init.io:scc --namespace ml
finds "a binding" "The account trainer of ml may not use the SCC nccl-rdma-scc.*Cluster admin: add ml/trainer to scc.accounts*"
back
gone securitycontextconstraints nccl-rdma-scc
finds "the SCC" "There is no SCC nccl-rdma-scc*"
back
gone mutatingadmissionpolicybinding nccl-init.nccl-init.io
finds "the injection's binding" "The injection leaves ml out.*inject.namespaceSelector*"
idle() { ! acts; }
works "... the API server calls it no more" wait_for 60 idle
works "a pod that is made meanwhile" kubectl run early --namespace ml --image=none --labels=nccl-init.io/inject=conf \
    --overrides='{"spec": {"tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}]}}'
back
finds "... has no settings" "A pod has the label nccl-init.io/inject and not the settings: early.*User: delete them*"
works "... goes" kubectl delete pod early --namespace ml --force
works "a label that excludes the namespace" kubectl label namespace ml no-nccl-init=1
finds "... is seen" "The injection leaves ml out.*"
kubectl label namespace ml no-nccl-init- >"$tmp/said"
works "a level" kubectl label namespace ml pod-security.kubernetes.io/enforce=baseline
finds "PodSecurity" "ml enforces the pod security level baseline, which does not allow IPC_LOCK, SYS_RESOURCE; the StatefulSet trainer asks for it.*"
kubectl label namespace ml pod-security.kubernetes.io/enforce- >"$tmp/said"

works "a node less" kubectl cordon node-3
finds "enough nodes, not any" "The StatefulSet trainer wants 4 pods with 8 nvidia.com/gpu, 1 openshift.io/eno5np0rdma, 1 openshift.io/eno6np0rdma, \
and there is room for 3. node-3: it is cordoned.*"
kubectl uncordon node-3 >"$tmp/said"
works "no VF on one node" kubectl patch node node-2 --subresource=status --type=merge --patch '{"status": {"allocatable": {"openshift.io/eno6np0rdma": "0"}}}'
finds "... is named" "*there is room for 3. The others stay Pending*node-2 has 0 openshift.io/eno6np0rdma*"
kubectl patch node node-2 --subresource=status --type=merge --patch '{"status": {"allocatable": {"openshift.io/eno6np0rdma": "4"}}}' >"$tmp/said"

foreign() { # NAME SELECTOR
    kubectl apply --server-side --filename - <<END
apiVersion: sriovnetwork.openshift.io/v1
kind: SriovNetworkNodePolicy
metadata: {name: $1, namespace: openshift-sriov-network-operator}
spec: {resourceName: theirs, nodeSelector: {nvidia.com/gpu.present: "true"}, numVfs: 8, nicSelector: $2}
END
}
works "somebody's policy by vendor" foreign theirs '{vendor: "15b3"}'
check -n ml
matches "... is for both NICs" "1 ml: 2 errors*The policies eno5np0-rdma and theirs, which is not of the chart, are both for eno5np0 of node-0*\
policies: existing*eno6np0-rdma and theirs*" "$status $said"
works "somebody's policy by place" foreign theirs '{rootDevices: ["0000:23:00.0"]}'
finds "... is for one" "The policies eno6np0-rdma and theirs, which is not of the chart, are both for eno6np0 of node-0*"
works "somebody's policy for another NIC" foreign theirs '{vendor: "8086"}'
check -n ml
same "... is nobody's concern" 0 "$status"
kubectl delete sriovnetworknodepolicy theirs --namespace openshift-sriov-network-operator >"$tmp/said"

works "another Service network" kubectl apply --server-side --filename - <<'END'
apiVersion: networking.k8s.io/v1
kind: ServiceCIDR
metadata: {name: more}
spec: {cidrs: [10.0.96.0/20]}
END
check -n ml
matches "ranges of Services" "1 ml: 2 errors*The range 10.0.103.0/24 of the NetworkAttachmentDefinition eno5np0-network is also the cluster's for \
Services (ServiceCIDR more): 10.0.96.0/20.*give the rail another subnet*" "$status $said"
kubectl delete servicecidr more --wait=false >"$tmp/said"
kubectl patch servicecidr more --type=merge --patch '{"metadata": {"finalizers": null}}' >"$tmp/said" 2>&1
wait_for 60 bash -c '! kubectl get servicecidr more'

# the commonest mistake
works "a Job with the label" kubectl apply --server-side --filename - <<'END'
apiVersion: batch/v1
kind: Job
metadata: {name: wrong, namespace: ml, labels: {nccl-init.io/inject: conf}}
spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: a, image: none}]}}}
END
finds "the label on the Job" "The label nccl-init.io/inject is on the Job wrong, and not on its pods.*User: move the label to spec.template.metadata.labels.*"
kubectl delete job wrong --namespace ml >"$tmp/said"
works "a Job whose pods are refused" kubectl apply --server-side --filename - <<'END'
apiVersion: batch/v1
kind: Job
metadata: {name: refused, namespace: ml}
spec: {template: {metadata: {labels: {nccl-init.io/inject: conf}}, spec: {restartPolicy: Never, serviceAccountName: nobody, containers: [{name: a, image: none}]}}}
END
wait_for 60 bash -c 'kubectl get events --namespace ml | grep -q FailedCreate'
finds "what a controller says of its pods" "The Job refused cannot make its pods: *serviceaccount \"nobody\" not found*"
kubectl delete job refused --namespace ml >"$tmp/said"
kubectl delete events --all --namespace ml >"$tmp/said"
check -n ml
same "nothing of it is left" "0 ml: 0 errors, 0 warnings; 4 pods with the label in 1 workload" "$status ${said% }"

# ---- before it is there -------------------------------------------------------------------------------------------------

planned() { # RAIL...: what Helm would install
    { echo rails: && printf '  - %s\n' "$@"; } >"$tmp/planned.yaml"
    helm template more k8s/charts/rails --namespace ml --values "$tmp/planned.yaml" |
        kubectl create --dry-run=client --output=json --filename - >"$tmp/planned.json"
    check -n ml --release more --planned "$tmp/planned.json"
}
planned '{pf: eno1, subnet: 10.0.105.0/24}'
matches "planned: another vendor's NIC" "1 *No NIC of node-0, node-1, node-2, node-3 is what the policy eno1-rdma selects: 15b3, eno1.*" "$status $said"
planned '{pf: eno5np0, subnet: 10.0.105.0/24}'
matches "planned: what another release has" "1 *The NetworkAttachmentDefinition eno5np0-network is there already, and is not of the release more.*" "$status $said"
planned '{name: mine, pf: eno5np0, subnet: 10.0.105.0/24}'
matches "planned: a NIC that has its policy" "1 *The policies mine-rdma and eno5np0-rdma, which is not of this release, are both for eno5np0 of \
node-0*" "$status $said"
planned '{pf: eno9np9, vfs: 100, subnet: 192.168.0.0/24}'
matches "planned: the nodes' own subnet" "1 *The address 192.168.0.10 of the node node-0 is in the range 192.168.0.0/24*" "$status $said"
finish
