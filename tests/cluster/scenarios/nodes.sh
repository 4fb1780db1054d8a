#!/bin/bash
# Pods with real RDMA under the real kubelet: two nodes, two rails, VFs from the SR-IOV device plugin, Multus, whereabouts and
# rdma-cni. What nccl-init says in a pod is compared with what the kernel says there; traffic flows with exactly these settings.
# As the image's ENTRYPOINT, and by the label of the chart nccl-init, conf and wrap. A job of four pods, with all rails good and
# with one broken.
# nodes: 2x2
# seconds: 330
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2034,SC2154 # space is for node/pods; tmp comes from lib
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../lib"
# shellcheck source=/dev/null
. tests/cluster/node/pods

nodes_with_rails
works "the chart nccl-init is installed" helm install nccl-init k8s/charts/nccl-init --namespace nccl-init --create-namespace \
    --set image=nccl-init.test/nccl-init:1

# ---- the image's ENTRYPOINT ------------------------------------------------------------------------------------------------

create "pods with an ENTRYPOINT" <<END
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
      volumes:
        - name: podinfo
          downwardAPI:
            items: [{path: network-status, fieldRef: {fieldPath: "metadata.annotations['k8s.v1.cni.cncf.io/network-status']"}}]
      containers:
        - name: main
          image: nccl-init.test/trainer-entrypoint:1
          args: [sleep, "100000"]
          volumeMounts: [{name: podinfo, mountPath: /etc/podinfo, readOnly: true}]
          resources: $rails
END
works "two pods run, each on a node" kubectl rollout status statefulset entry --timeout=600s
same "... on both nodes" "node0 node1" "$(kubectl get pods -l app=entry -o 'jsonpath={.items[*].spec.nodeName}' | tr ' ' '\n' | sort | xargs)"
settings_of variable entry-0 entry-1
for pod in entry-0 entry-1; do
    same "$pod: the source" pcidevice "$(planned $pod .source)"
    same "$pod: Multus' annotation names the same" "$(planned $pod '[.claims[] | select(.source == "pcidevice").hca] | join(" ")')" \
        "$(planned $pod '[.claims[] | select(.source == "network-status").hca] | join(" ")')"
    same "$pod: the limit of locked memory is the runtime's" "$(inside $pod sh -c 'ulimit -l')" \
        "$(inside $pod sed -n 's/^Max locked memory *\([0-9]*\).*/\1/p' /proc/1/limits | awk '{ print $1 / 1024 }')"
done
traffic variable entry-0 entry-1
matches "a pod finds the API server by its Service's name" "*Address*10.96.0.1" \
    "$(inside entry-0 nslookup kubernetes.default.svc.cluster.local | xargs)"
works "... and reaches it at that address" inside entry-0 bash -c 'exec 3<>/dev/tcp/10.96.0.1/443'
works "what a pod sees can be recorded" record entry-0 entry
same "... and the recording has the same plan" "$(planned entry-0 '[.source, (.settings[] | [.name, .value])]')" \
    "$(env -i "${NCCL_INIT:-build/static/nccl-init}" plan --json --root build/cluster/recorded/entry.tree |
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
gone statefulset/entry # it has the VFs

# ---- by the label, in a namespace of restricted pods with a quota and a range ------------------------------------------------

space=team
kubectl create namespace team >"$tmp/said"
kubectl label namespace team pod-security.kubernetes.io/enforce=restricted >"$tmp/said"
k create quota all --hard=requests.memory=1Gi,limits.memory=1Gi,requests.nccl-init.test/rail0=2,requests.nccl-init.test/rail1=2 \
    >"$tmp/said"
create "a range" <<'END'
apiVersion: v1
kind: LimitRange
metadata: {name: all}
spec:
  limits: [{type: Container, default: {memory: 128Mi}, defaultRequest: {memory: 64Mi}, max: {memory: 256Mi}}]
END
wait_for 60 k get serviceaccount default
wait_for 60 sh -c 'kubectl --namespace team get quota all -o "jsonpath={.status.hard}" | grep -q rail1'

# labelled NAME NODE MODE LINE: an image with an ENTRYPOINT and a USER of its own; LINE: command or args
labelled() {
    create "the pod $1" <<END
apiVersion: v1
kind: Pod
metadata:
  name: $1
  labels: {nccl-init.io/inject: $3}
  annotations: {k8s.v1.cni.cncf.io/networks: "default/rail0,default/rail1"}
spec:
  terminationGracePeriodSeconds: 1
  nodeSelector: {kubernetes.io/hostname: $2}
  securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}
  containers:
    - name: main
      image: nccl-init.test/trainer-own:1
      $4
      resources: $rails
      securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
END
}
labelled conf node0 conf 'args: [sleep, "100000"]'
labelled wrap node1 wrap 'command: [/usr/bin/entrypoint, sleep, "100000"]'
runs_soon conf
runs_soon wrap
settings_of written conf
settings_of variable wrap
for pod in conf wrap; do
    same "$pod: the ENTRYPOINT of the image is called" called "$(variable $pod OF_THE_ENTRYPOINT)"
    same "$pod: as the image's user" 1000 "$(inside $pod id -u)"
    same "$pod: its init container is another user, of a pod without root" 65532 \
        "$(k get pod $pod -o 'jsonpath={.spec.initContainers[0].securityContext.runAsUser}')"
done
matches "conf: the log of its init container says what was decided" "*NCCL_IB_HCA=$(written conf NCCL_IB_HCA) *" \
    "$(k logs conf --container=nccl-init-conf)"
matches "wrap: that of its init container says that the program has lost its file capabilities" '*without the file capabilities of this program*' \
    "$(k logs wrap --container=nccl-init-wrap)"
same "conf: the file is for any user" 644 "$(inside conf stat -c %a /etc/nccl.conf)"
same "conf: no variable is set" "" "$(variable conf NCCL_IB_HCA)"
same "wrap: the program that is installed plans the same" "$(variable wrap NCCL_IB_HCA)" \
    "$(inside wrap /nccl-init/nccl-init plan --json | jq -r '.settings[] | select(.name == "NCCL_IB_HCA") | .value')"
traffic setting_of conf wrap
same "each pod counts once against the quota" "2 2" \
    "$(k get quota all -o 'jsonpath={.status.used.requests\.nccl-init\.test/rail0} {.status.used.requests\.nccl-init\.test/rail1}')"
same "... its init container has the memory that the range gives" 128Mi \
    "$(k get pod conf -o 'jsonpath={.spec.initContainers[0].resources.limits.memory}')"
works "k8s/check finds nothing wrong" k8s/check --namespace team
record conf conf
gone pod/conf pod/wrap
space=default

# ---- a job of four pods, all of whose rails are proven first ---------------------------------------------------------------

# job NAME: four pods, two on each node, that start a command only if all rails are good. Two of one node must not come at the
# same time: when rdma-cni moves two HCAs at once, the kernel may exchange the numbers of their uverbs nodes, of which each pod was
# given one before. So each waits at a gate of the scheduler until the one before it runs.
job() {
    local index
    create "the job $1" <<END
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
  completions: 4
  parallelism: 4
  backoffLimitPerIndex: 0
  template:
    metadata:
      annotations: {k8s.v1.cni.cncf.io/networks: "rail0,rail1"}
    spec:
      restartPolicy: Never
      subdomain: $1
      schedulingGates: [{name: nccl-init.test/turn}]
      topologySpreadConstraints:
        - {maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {job-name: $1}}}
      containers:
        - name: main
          image: nccl-init.test/trainer-entrypoint:1
          args: [echo, the command runs]
          env:
            - {name: NCCLINIT_PREFLIGHT, value: require}
            - {name: NCCLINIT_RANKS, value: "4"}
            - {name: NCCLINIT_PEERS, value: $1-0.$1}
            - {name: NCCLINIT_SECONDS, value: "0"}
            - {name: NCCLINIT_WITHIN, value: "400"}
            - {name: NODE_NAME, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
          resources: $rails
END
    for index in 0 1 2 3; do
        wait_for 60 pod_of "$1" $index
        kubectl patch "$(pod_of "$1" $index)" --type=json --patch '[{"op": "remove", "path": "/spec/schedulingGates"}]' >"$tmp/said" 2>&1
        [ $index != 1 ] || wait_for 200 started "$1" 0 1
    done
}
pod_of() { # JOB INDEX
    kubectl get pods -l "job-name=$1,batch.kubernetes.io/job-completion-index=$2" -o name | grep .
}
started() { # JOB INDEX...
    local index
    for index in "${@:2}"; do
        [ "$(kubectl get "$(pod_of "$1" "$index")" -o 'jsonpath={.status.phase}')" != Pending ] || return 1
    done
}
ended() { [ "$(kubectl get pods -l "job-name=$1" -o 'jsonpath={.items[*].status.phase}' | tr ' ' '\n' | grep -cE 'Succeeded|Failed')" = 4 ]; }
places() { kubectl get pods -l "job-name=$1" -o 'jsonpath={.items[*].spec.nodeName}' | tr ' ' '\n' | sort | xargs; }
ran() { kubectl logs -l "job-name=$1" --tail=-1 | grep -c '^the command runs$'; }

job good
works "four pods end" wait_for 400 ended good
same "... two of each node" "node0 node0 node1 node1" "$(places good)"
same "... their command has run in each" 4 "$(ran good)"
[ "$(ran good)" = 4 ] || kubectl logs -l job-name=good --tail=30
gone job/good

# the cable of node1's second rail: a bucket into which no packet fits
tc qdisc add dev node1-rail1 root tbf rate 8bit burst 1 limit 1
job broken
works "with a rail broken four pods end, too" wait_for 400 ended broken
same "... their command has run in none" 0 "$(ran broken)"
kubectl describe pods -l job-name=broken >"$NCCL_INIT_CLUSTER/logs/described"
for index in 0 1 2 3; do
    matches "... and kubectl describe of pod $index names the rail, pods and nodes" \
        "*Message:*the preflight is bad: rail 1*broken-? (node?)*" "$(kubectl describe "$(pod_of broken $index)")"
done
tc qdisc del dev node1-rail1 root

# ---- a pod is deleted while nccl-init waits for others --------------------------------------------------------------------------

create "a pod that waits for others" <<'END'
apiVersion: v1
kind: Pod
metadata: {name: waits}
spec:
  terminationGracePeriodSeconds: 100
  restartPolicy: Never
  containers:
    - name: main
      image: nccl-init.test/trainer:1
      command: [/usr/bin/nccl-init, --preflight=warn, --rank=1, --ranks=2, --peers=10.98.0.200, --job=one, --within=600, --, "true"]
END
runs_soon waits
begin=$SECONDS
gone pod/waits
works "... at once" test $((SECONDS - begin)) -lt 60
finish
