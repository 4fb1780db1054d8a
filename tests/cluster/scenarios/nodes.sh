#!/bin/bash
# Pods with real RDMA under the real kubelet: two nodes, two rails, VFs from the SR-IOV device plugin, Multus, whereabouts and
# rdma-cni. What nccl-init says in a pod is compared with what the kernel says there; traffic flows with exactly these settings.
# nodes: 2x2
# seconds: 240
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # tmp comes from lib
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../lib"

foreign_kinds multus whereabouts
# Multus and whereabouts act on the node as this user; their own manifests give an account such rights.
kubectl create clusterrolebinding cni --clusterrole=cluster-admin --user=cni >"$tmp/said"
for rail in 0 1; do
    kubectl create --filename - >"$tmp/said" <<EOF || fail "the network rail$rail" "$(cat "$tmp/said")"
apiVersion: k8s.cni.cncf.io/v1
kind: NetworkAttachmentDefinition
metadata:
  name: rail$rail
  annotations: {k8s.v1.cni.cncf.io/resourceName: nccl-init.test/rail$rail}
spec:
  config: |
    {"cniVersion": "1.0.0", "name": "rail$rail", "plugins": [
      {"type": "host-device", "ipam": {"type": "whereabouts", "range": "10.5.$rail.0/24"}}, {"type": "rdma"}]}
EOF
done

# ---- nodes --------------------------------------------------------------------------------------------------------------

have_devices() { # all that the device plugin should offer
    [ "$(kubectl get nodes -o 'jsonpath={range .items[*]}{.status.allocatable.nccl-init\.test/rail0} {.status.allocatable.nccl-init\.test/rail1} {end}')" = "2 2 2 2 " ]
}
works "the nodes have their devices" wait_for 600 have_devices
works "... and are ready" kubectl wait --for=condition=Ready node --all --timeout=60s

# ---- the image's ENTRYPOINT ------------------------------------------------------------------------------------------------

rails='{limits: {nccl-init.test/rail0: 1, nccl-init.test/rail1: 1}}'
# inside POD COMMAND...
inside() { kubectl exec "$1" --container main -- "${@:2}"; }
# variable POD NAME: of the first process, whose environment nccl-init made
variable() { inside "$1" sh -c "tr '\\0' '\\n' </proc/1/environ | sed -n 's/^$2=//p'"; }

# Not by a shell: the variables of resources with a hyphen, PCIDEVICE_NCCL-INIT_TEST_RAIL0, are lost in it.
planned() { # POD FILTER
    inside "$1" nccl-init plan --json | jq -c -r "$2"
}

# What the kernel says, in the pod: the HCAs of the functions that the device plugin gave, in the order of their addresses.
given() { # POD
    # shellcheck disable=SC2016 # for that shell
    inside "$1" sh -c 'for bdf in $(tr "\0" "\n" </proc/1/environ | sed -n "s/^PCIDEVICE_[^=]*[0-9]=\([0-9a-f:.,]*\)$/\1/p" | tr , "\n" | sort); do
        for hca in /sys/bus/pci/devices/$bdf/infiniband/*; do printf "%s:1," "${hca##*/}"; done
    done'
}
# The index of the RoCE v2 entry of an interface's IPv4 address
index_of() { # POD HCA INTERFACE
    # shellcheck disable=SC2016
    inside "$1" sh -c 'address=$(ip -4 -o addr show "$2" | sed "s/.*inet \([0-9.]*\).*/\1/")
        ibv_devinfo -v -d "$1" | sed -n "s/^[[:space:]]*GID\[ *\([0-9]*\)\]:[[:space:]]*::ffff:$address, RoCE v2/\1/p"' sh "$2" "$3"
}
first_hca() { variable "$1" NCCL_IB_HCA | sed 's/^=//; s/:.*//'; }
address() { inside "$1" sh -c "ip -4 -o addr show $2 | sed 's/.*inet \\([0-9.]*\\).*/\\1/'"; }

kubectl create --filename - >"$tmp/said" <<EOF || fail "pods with an ENTRYPOINT" "$(cat "$tmp/said")"
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: entry}
spec:
  serviceName: entry
  replicas: 2
  podManagementPolicy: Parallel
  selector: {matchLabels: {app: entry}}
  template:
    metadata:
      labels: {app: entry}
      annotations: {k8s.v1.cni.cncf.io/networks: "rail0,rail1"}
    spec:
      terminationGracePeriodSeconds: 5
      topologySpreadConstraints:
        - {maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: entry}}}
      containers:
        - name: main
          image: nccl-init.test/trainer-entrypoint:1
          args: [sleep, "100000"]
          resources: $rails
EOF
works "two pods run, each on a node" kubectl rollout status statefulset entry --timeout=600s
same "... on both nodes" "node0 node1" "$(kubectl get pods -l app=entry -o 'jsonpath={.items[*].spec.nodeName}' | tr ' ' '\n' | sort | xargs)"
for pod in entry-0 entry-1; do
    same "$pod: the source" pcidevice "$(planned $pod .source)"
    expected=$(given $pod)
    same "$pod: the HCAs that it was given" "=${expected%,}" "$(variable $pod NCCL_IB_HCA)"
    same "$pod: there are two" 2 "$(tr , '\n' <<<"${expected%,}" | wc -l)"
    same "$pod: the GID index is the kernel's" "$(index_of $pod "$(first_hca $pod)" net1)" "$(variable $pod NCCL_IB_GID_INDEX)"
    same "$pod: sockets on the pods' network" =eth0 "$(variable $pod NCCL_SOCKET_IFNAME)"
    same "$pod: the limit of locked memory is the runtime's" "$(inside $pod sh -c 'ulimit -l')" \
        "$(inside $pod sed -n 's/^Max locked memory *\([0-9]*\).*/\1/p' /proc/1/limits | awk '{ print $1 / 1024 }')"
done
inside entry-0 ib_write_bw -F -s 4096 -n 20 -d "$(first_hca entry-0)" -x "$(variable entry-0 NCCL_IB_GID_INDEX)" >"$tmp/server" 2>&1 &
server=$!
# shellcheck disable=SC2016 # for that shell
wait_for 60 inside entry-0 sh -c "ss -Hltn 'sport = :18515' | grep -q ."
works "ib_write_bw between two nodes with these settings" inside entry-1 timeout 60 ib_write_bw -F -s 4096 -n 20 \
    -d "$(first_hca entry-1)" -x "$(variable entry-1 NCCL_IB_GID_INDEX)" "$(address entry-0 net1)"
works "... the other end says so, too" wait $server
record() { # POD: what it sees, for a golden case
    mkdir -p build/cluster/recorded
    inside "$1" nccl-init snapshot --mask >"build/cluster/recorded/$1.tree"
}
works "what a pod sees can be recorded" record entry-0
same "... and the recording has the same plan" "$(planned entry-0 '[.source, (.settings[] | [.name, .value])]')" \
    "$(env -i "${NCCL_INIT:-build/static/nccl-init}" plan --json --root build/cluster/recorded/entry-0.tree |
        jq -c '[.source, (.settings[] | [.name, .value])]')"

# ---- locked memory --------------------------------------------------------------------------------------------------------

# limit NAME SECURITY-CONTEXT: the hard limit, in KiB, of what nccl-init started
limit() {
    kubectl run "$1" --image=nccl-init.test/trainer-entrypoint:1 --restart=Never --overrides='{"spec": {"containers": [{
        "name": "main", "image": "nccl-init.test/trainer-entrypoint:1", "args": ["sh", "-c", "ulimit -l"], "securityContext": '"$2"'}]}}' \
        >"$tmp/said" 2>&1
    kubectl wait --for=jsonpath='{.status.phase}'=Succeeded "pod/$1" --timeout=300s >"$tmp/said" 2>&1
    kubectl logs "$1" | tail -n 1
}
same "with CAP_SYS_RESOURCE: no limit" unlimited "$(limit raised '{"capabilities": {"add": ["SYS_RESOURCE"]}}')"
same "without: the runtime's" "$(inside entry-0 sh -c 'ulimit -l')" "$(limit kept '{}')"
same "as a restricted pod: the runtime's" "$(inside entry-0 sh -c 'ulimit -l')" "$(limit restricted '{"runAsNonRoot": true,
    "runAsUser": 1000, "allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]}, "seccompProfile": {"type": "RuntimeDefault"}}')"

# ---- a job of two pods, all of whose rails are proven first ---------------------------------------------------------------

# job NAME: two pods, one on each node, that start a command only if all rails are good. Not two on a node: when rdma-cni moves
# two HCAs at the same time, the kernel may exchange the numbers of their uverbs nodes, of which each pod was given one before.
job() {
    kubectl create --filename - >"$tmp/said" <<EOF || fail "the job $1" "$(cat "$tmp/said")"
apiVersion: v1
kind: Service
metadata: {name: $1}
spec: {clusterIP: None, publishNotReadyAddresses: true, selector: {job-name: $1}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: $1}
spec:
  completionMode: Indexed
  completions: 2
  parallelism: 2
  backoffLimitPerIndex: 0
  template:
    metadata:
      annotations: {k8s.v1.cni.cncf.io/networks: "rail0,rail1"}
    spec:
      restartPolicy: Never
      subdomain: $1
      topologySpreadConstraints:
        - {maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {job-name: $1}}}
      containers:
        - name: main
          image: nccl-init.test/trainer-entrypoint:1
          args: [echo, the command runs]
          env:
            - {name: NCCLINIT_PREFLIGHT, value: require}
            - {name: NCCLINIT_RANKS, value: "2"}
            - {name: NCCLINIT_PEERS, value: $1-0.$1}
            - {name: NCCLINIT_SECONDS, value: "0"}
            - {name: NCCLINIT_WITHIN, value: "300"}
            - {name: NODE_NAME, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
          resources: $rails
EOF
}
ended() { [ "$(kubectl get pods -l "job-name=$1" -o 'jsonpath={.items[*].status.phase}' | tr ' ' '\n' | grep -cE 'Succeeded|Failed')" = 2 ]; }
kubectl delete statefulset entry >"$tmp/said" # it has the VFs
wait_for 120 sh -c '! kubectl get pods -l app=entry -o name | grep -q .'
job good
works "two pods end" wait_for 240 ended good
same "... their command has run in each" 2 "$(kubectl logs -l job-name=good --tail=-1 | grep -c '^the command runs$')"
# Its VFs are given away again before its sandboxes are gone: wait for these.
kubectl delete job good >"$tmp/said"
kubectl wait --for=delete pod -l job-name=good --timeout=120s >"$tmp/said" 2>&1

# the cable of node1's second rail
ip link set node1-rail1 nomaster
job broken
works "with a rail broken two pods end, too" wait_for 240 ended broken
same "... their command has run in none" 0 "$(kubectl logs -l job-name=broken --tail=-1 | grep -c '^the command runs$')"
kubectl describe pods -l job-name=broken >"$tmp/described"
cp "$tmp/described" "$NCCL_INIT_CLUSTER/logs/described"
for index in 0 1; do
    pod=$(kubectl get pods -l "job-name=broken,batch.kubernetes.io/job-completion-index=$index" -o 'jsonpath={.items[0].metadata.name}')
    matches "... and kubectl describe of pod $index names the rail, pods and nodes" \
        "*Message:*the preflight is bad: rail 1*broken-? (node?)*2 of 4 rails are good*" \
        "$(kubectl describe pod "$pod")"
done
ip link set node1-rail1 master rail1

# ---- a pod is deleted while nccl-init waits for others, and while its command runs --------------------------------------------

kubectl run waits --image=nccl-init.test/trainer-entrypoint:1 --restart=Never --overrides='{"spec": {"terminationGracePeriodSeconds": 100,
    "containers": [{"name": "main", "image": "nccl-init.test/trainer-entrypoint:1", "command": ["/usr/bin/nccl-init",
    "--preflight=warn", "--rank=1", "--ranks=2", "--peers=10.98.0.200", "--job=one", "--within=600", "--", "true"]}]}}' >"$tmp/said" 2>&1
works "a pod waits for others" wait_for 120 sh -c 'kubectl get pod waits -o "jsonpath={.status.phase}" | grep -q Running'
begin=$SECONDS
kubectl delete pod waits --wait --timeout=300s >"$tmp/said" 2>&1
works "... and ends at once when it is deleted" test $((SECONDS - begin)) -lt 60
finish
