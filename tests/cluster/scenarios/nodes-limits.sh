#!/bin/bash
# Rails with IPv6 alone, and locked memory of restricted pods, on nodes: what the kernel gives, with the runtime's limit, with
# nccl-init-hook, with a capability.
# nodes: 2x2
# seconds: 200
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2034,SC2154 # space is for node/pods; tmp comes from lib
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../lib"
# shellcheck source=/dev/null
. tests/cluster/node/pods

nodes_with_rails

# ---- rails with IPv6 alone ------------------------------------------------------------------------------------------------------

networks six fd00:5:N::/64
for node in node0 node1; do
    sleeping "six-$node" "$node" six0,six1
done
for pod in six-node0 six-node1; do
    runs_soon $pod
    same "$pod: its rail has no IPv4 address" "" "$(inside $pod ip -4 -o addr show net1)"
done
settings_of variable six-node0 six-node1
traffic variable six-node0 six-node1
record six-node0 six
gone pod/six-node0 pod/six-node1

# ---- locked memory ----------------------------------------------------------------------------------------------------------------

create "the runtime with the hook" <<'END'
{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: hook}, handler: hook}
END
space=team
kubectl create namespace team >"$tmp/said"
wait_for 60 k get serviceaccount default

# locking NAME ARGUMENTS SECURITY-CONTEXT LINE: a pod whose command says what it may lock, after a self-test
locking() {
    create "the pod $1" <<END
apiVersion: v1
kind: Pod
metadata:
  name: $1
  annotations: {k8s.v1.cni.cncf.io/networks: "default/rail0,default/rail1"}
spec:
  $4
  restartPolicy: Never
  terminationGracePeriodSeconds: 1
  containers:
    - name: main
      image: nccl-init.test/trainer-entrypoint:1
      command: [/usr/bin/nccl-init, --selftest=warn$2, --, sh, -c, "ulimit -l"]
      resources: $rails
      securityContext: $3
END
    works "$1: ends" k wait --for=jsonpath='{.status.phase}'=Succeeded "pod/$1" --timeout=200s
    k logs "$1" >"$tmp/$1"
    cp "$tmp/$1" "$NCCL_INIT_CLUSTER/logs/"
    gone "pod/$1"
}
restricted='{runAsNonRoot: true, runAsUser: 1000, allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}, seccompProfile: {type: RuntimeDefault}}'

locking capability '' '{capabilities: {add: [SYS_RESOURCE]}}' ''
same "capability: root with SYS_RESOURCE has no limit" unlimited "$(tail -n 1 "$tmp/capability")"
matches "... and registers 64 MiB for each port" '*self-test: 2 of 2 ports passed*' "$(cat "$tmp/capability")"

kubectl label namespace team pod-security.kubernetes.io/enforce=restricted >"$tmp/said"
locking none '' "$restricted" ''
same "none: a restricted pod has the runtime's limit, in KiB" 8192 "$(tail -n 1 "$tmp/none")"
matches "... its self-test says that the limit is in the way, and blames no port" \
    '*self-test: 0 of 2 ports passed, 2 not tried: 64 MiB to register, and only 8 MiB can be locked*verbs.memlock*' "$(cat "$tmp/none")"
locking small ', --size=1M' "$restricted" ''
matches "small: within the limit the ports pass" '*self-test: 2 of 2 ports passed*' "$(cat "$tmp/small")"
locking hook '' "$restricted" 'runtimeClassName: hook'
same "hook: a restricted pod has no limit" unlimited "$(tail -n 1 "$tmp/hook")"
matches "... and registers 64 MiB for each port" '*self-test: 2 of 2 ports passed*' "$(cat "$tmp/hook")"

create "a pod without a device" <<END
apiVersion: v1
kind: Pod
metadata: {name: no-device}
spec:
  runtimeClassName: hook
  restartPolicy: Never
  containers:
    - name: main
      image: nccl-init.test/trainer:1
      command: [sh, -c, "ulimit -l"]
      securityContext: $restricted
END
works "no-device: ends" k wait --for=jsonpath='{.status.phase}'=Succeeded pod/no-device --timeout=100s
same "no-device: the hook leaves it alone" 8192 "$(k logs no-device)"
finish
