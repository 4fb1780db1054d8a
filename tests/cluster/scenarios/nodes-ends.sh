#!/bin/bash
# How pods end and come again, on nodes: deleted while nccl-init waits, while it tests, and when the command runs; refused, with
# the reason where kubectl shows it; a container that starts again, a pod that is replaced while the others run.
# nodes: 2x2
# by hand: ./dev cluster; the shard nodes has no time for it
# seconds: 350
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # tmp comes from lib
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../lib"
# shellcheck source=/dev/null
. tests/cluster/node/pods

nodes_with_rails
works "the chart nccl-init is installed" helm install nccl-init k8s/charts/nccl-init --namespace nccl-init --create-namespace \
    --set image=nccl-init.test/nccl-init:1

# ---- deleted ------------------------------------------------------------------------------------------------------------------

# ending NAME NODE MORE WORD...: a pod of a minute's grace with these words of nccl-init's command line; MORE: of its spec
ending() {
    local words
    words=$(printf ', "%s"' "${@:4}")
    create "the pod $1" <<END
apiVersion: v1
kind: Pod
metadata:
  name: $1
  annotations: {k8s.v1.cni.cncf.io/networks: "rail0,rail1"}
spec:
  nodeSelector: {kubernetes.io/hostname: $2}
  terminationGracePeriodSeconds: 60
  restartPolicy: Never
  $3
  containers:
    - name: main
      image: nccl-init.test/trainer:1
      command: [/usr/bin/nccl-init${words}]
      resources: $rails
END
}
processes() { inside "$1" sh -c 'pidof nccl-init | wc -w'; }
several() { [ "$(processes "$1")" -ge 2 ]; }
# seconds_to_go POD: it is deleted
seconds_to_go() {
    local begin=$SECONDS
    gone "pod/$1" >&2
    echo $((SECONDS - begin))
}

ending meets node0 '' --preflight=require --rank=1 --ranks=2 --peers=10.98.0.200 --job=one --within=600 -- true
ending tests node1 '' --selftest=require --size=1M --bytes=64G --deadline=600 -- true
runs_soon meets
runs_soon tests
works "the self-test is on" wait_for 60 several tests
seconds=$(seconds_to_go meets)
works "a pod that waits for others ends at once when it is deleted: $seconds s" test "$seconds" -lt 40
seconds=$(seconds_to_go tests)
works "a pod that tests itself, too: $seconds s" test "$seconds" -lt 40

ending first node0 '' -- sleep 100000
ending shared node1 'shareProcessNamespace: true' -- sleep 100000
runs_soon first
runs_soon shared
seconds=$(seconds_to_go shared)
works "a command that is not PID 1 ends at once: $seconds s" test "$seconds" -lt 40
seconds=$(seconds_to_go first)
works "a command that is PID 1 and knows no SIGTERM has the whole grace period, as docs/reference/usage.md says: $seconds s" test "$seconds" -ge 60

# ---- refused ------------------------------------------------------------------------------------------------------------------

# refusing NAME LABEL LINE...: a pod that asks for four rails and is given two
refusing() {
    create "the pod $1" <<END
apiVersion: v1
kind: Pod
metadata:
  name: $1
  labels: {$2}
  annotations: {k8s.v1.cni.cncf.io/networks: "rail0,rail1", nccl-init.io/require: rails=4}
spec:
  terminationGracePeriodSeconds: 1
  restartPolicy: OnFailure
  nodeSelector: {kubernetes.io/hostname: $3}
  containers:
    - name: main
      image: nccl-init.test/trainer$4
      resources: $rails
END
}
refusing direct '' node0 ':1
      command: [/usr/bin/nccl-init, --require=rails=4, --, echo, the command runs]'
refusing conf 'nccl-init.io/inject: conf' node1 '-own:1
      args: [echo, the command runs]'
again() { [ "$(k get pod "$1" -o "jsonpath={.status.$2[0].restartCount}")" -ge 1 ]; }
works "direct: it starts again and again" wait_for 200 again direct containerStatuses
works "conf: the init container does" wait_for 200 again conf initContainerStatuses
matches "direct: kubectl describe says why" '*Message:*require.rails*' "$(k describe pod direct)"
matches "conf: kubectl describe says why" '*Message:*require.rails*' "$(k describe pod conf)"
same "direct: the exit status" 125 "$(k get pod direct -o 'jsonpath={.status.containerStatuses[0].lastState.terminated.exitCode}')"
same "conf: the container was never started" '' "$(k logs conf --container=main 2>"$tmp/said")"
gone pod/direct pod/conf

# ---- started again, and replaced ----------------------------------------------------------------------------------------------

# As docs/reference/preflight.md has it for a StatefulSet; the file that keeps the verdict is for a container that starts again.
create "pods with a preflight" <<END
apiVersion: v1
kind: Service
metadata: {name: late}
spec: {clusterIP: None, publishNotReadyAddresses: true, selector: {app: late}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: late}
spec:
  serviceName: late
  replicas: 2
  podManagementPolicy: Parallel
  selector: {matchLabels: {app: late}}
  template:
    metadata:
      labels: {app: late}
      annotations: {k8s.v1.cni.cncf.io/networks: "rail0,rail1"}
    spec:
      terminationGracePeriodSeconds: 1
      topologySpreadConstraints:
        - {maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchLabels: {app: late}}}
      volumes: [{name: kept, emptyDir: {}}]
      containers:
        - name: main
          image: nccl-init.test/trainer-entrypoint:1
          args: [sh, -c, "until [ -e /kept/end ]; do sleep 1; done; rm /kept/end; exit 3"]
          volumeMounts: [{name: kept, mountPath: /kept}]
          env:
            - {name: NCCLINIT_PREFLIGHT, value: require}
            - {name: NCCLINIT_PEERS, value: late-0.late}
            - {name: NCCLINIT_RANKS, value: "2"}
            - {name: NCCLINIT_RANK, valueFrom: {fieldRef: {fieldPath: "metadata.labels['apps.kubernetes.io/pod-index']"}}}
            - {name: NCCLINIT_SECONDS, value: "0"}
            - {name: NCCLINIT_LATE, value: selftest}
            - {name: NCCLINIT_WITHIN, value: "60"}
            - {name: NCCLINIT_SIZE, value: 1M} # the runtime limits locked memory to 8 MiB
            - {name: NCCLINIT_ONCE, value: /kept/verdict}
          resources: $rails
END
command_runs() { [ "$(inside "$1" cat /proc/1/comm)" = sh ]; }
restarts() { k get pod "$1" -o 'jsonpath={.status.containerStatuses[0].restartCount}'; }
for pod in late-0 late-1; do
    works "$pod: the command runs" wait_for 300 command_runs $pod
    matches "$pod: after a good preflight" '*good*' "$(k logs $pod)"
done

inside late-1 touch /kept/end
restarted() { [ "$(restarts late-1)" = 1 ]; }
works "late-1: its container starts again" wait_for 60 restarted
begin=$SECONDS
works "... and the command, without another preflight" wait_for 60 command_runs late-1
works "... at once: $((SECONDS - begin)) s" test $((SECONDS - begin)) -lt 40
same "... after its own exit status" 3 "$(k get pod late-1 -o 'jsonpath={.status.containerStatuses[0].lastState.terminated.exitCode}')"
settings_of variable late-1

old=$(k get pod late-1 -o 'jsonpath={.metadata.uid}')
gone pod/late-1
replaced() { [ "$(k get pod late-1 -o 'jsonpath={.metadata.uid}')" != "$old" ] && command_runs late-1; }
begin=$SECONDS
works "late-1 is replaced while the other one runs, and the command starts" wait_for 400 replaced
seconds=$((SECONDS - begin))
works "... after it has looked for the others for a minute: $seconds s" test $seconds -ge 60
matches "... with a warning" '*warning*' "$(k logs late-1)"
k logs late-1 >"$NCCL_INIT_CLUSTER/logs/late"
settings_of variable late-1
same "... and late-0 knows nothing of it" 0 "$(restarts late-0)"
finish
