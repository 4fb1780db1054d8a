#!/bin/bash
# The commands of the pages that need a process in a pod, word for word and in their order, on nodes: logs, exec, and a program that
# is copied into a running pod. What a page leaves open is filled in from one list. `pages` runs the others.
# nodes: 2x2
# by hand: ./dev cluster; the shard nodes has no time for it
# seconds: 200
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2034,SC2154 # space is for node/pods, tmp comes from lib
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../lib"
# shellcheck source=/dev/null
. tests/cluster/node/pods

# What a page leaves open, and what it is here.
fill=(
    -e 's/ -n NS\>/ -n default/g'
    -e 's/\<POD\>/pod-0/'
    -e 's|REGISTRY/nccl-init:0.1.0|nccl-init.test/nccl-init:1|'
    -e 's|docker.io/library/debian:bookworm|nccl-init.test/trainer:1|'
    -e 's/: NETWORK$/: rail0/'
    -e 's|^\( *\)RESOURCE: |\1nccl-init.test/rail0: |'
)
program=$(realpath "$NCCL_INIT")
reader=$tmp/reader
mkdir -p "$reader"
ln -s "$program" "$reader/nccl-init"

# page FILE PATTERN...: runs those of its commands; what each writes is in $tmp/said.N
page() {
    local command file=$1 pattern status tried=0
    shift
    page_commands "$file" "${fill[@]}" >"$tmp/commands"
    while IFS= read -r -d '' command; do
        for pattern in "$@"; do
            # shellcheck disable=SC2053 # a pattern
            [[ $command == $pattern ]] || continue
            tried=$((tried + 1))
            bash -c "cd '$reader' && $command" </dev/null >"$tmp/said.$tried" 2>&1 && status=0 || status=$?
            [ "$status" -le "${bad_is_right:-0}" ] || fail "$file: ${command%%$'\n'*}" "status $status: $(cat "$tmp/said.$tried")"
            echo "ok: $file: ${command%%$'\n'*}"
            break
        done
    done <"$tmp/commands"
    matches "$file: commands" '[1-9]*' "$tried"
}

nodes_with_rails
works "the chart nccl-init is installed" helm install nccl-init k8s/charts/nccl-init --namespace nccl-init --create-namespace \
    --set image=nccl-init.test/nccl-init:1

# ---- a first pod ------------------------------------------------------------------------------------------------------------

bad_is_right=1 # doctor finds that locked memory is limited
page docs/start/first-pod.md 'cat >*' 'kubectl *'
matches "its log has the settings" '*NCCL_IB_HCA==mlx5_*:1*' "$(cat "$tmp/said.6")"
matches "plan says what was decided" '*NCCL_IB_HCA*' "$(cat "$tmp/said.7")"
matches "doctor says what is wrong" '*memlock.too-low*' "$(cat "$tmp/said.8")"

# ---- a workload that is there --------------------------------------------------------------------------------------------------

create "a StatefulSet" <<END
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: trainer}
spec:
  serviceName: trainer
  selector: {matchLabels: {app: trainer}}
  template:
    metadata:
      labels: {app: trainer}
      annotations: {k8s.v1.cni.cncf.io/networks: "rail0,rail1"}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
        - name: trainer
          image: nccl-init.test/trainer:1
          command: [sleep, "100000"]
          resources: $rails
END
bad_is_right=0
# the page's other way, a patch, does not go together with the label
page docs/start/workload.md '*inject": "env"*' '*rollout status*' '* logs *' '* exec *'
matches "the log of the init container" '*auto-detected RDMA*by fileKeyRef these win*' "$(cat "$tmp"/said.*)"
matches "the variables" $'*\nNCCL_IB_HCA==mlx5_*' "$(cat "$tmp"/said.*)"
page k8s/README.md '*logs trainer-0*' '*exec trainer-0*'
page docs/start/workload.md '*rollout undo*' '*inject": null*'
gone statefulset/trainer

# ---- pods that run -----------------------------------------------------------------------------------------------------------------

# template INDENT: of a pod that has the program in a volume
template() {
    sed "s/^/$(printf '%*s' "$1" '')/" <<END
metadata:
  annotations: {k8s.v1.cni.cncf.io/networks: "default/rail0,default/rail1"}
spec:
  terminationGracePeriodSeconds: 1
  restartPolicy: Never
  volumes: [{name: nccl-init, emptyDir: {}}]
  initContainers:
    - name: nccl-init
      image: nccl-init.test/nccl-init:1
      args: [install, /run/nccl-init] # the image has a file /nccl-init
      volumeMounts: [{name: nccl-init, mountPath: /run/nccl-init}]
  containers:
    - name: main
      image: nccl-init.test/trainer:1
      command: [/nccl-init/nccl-init, --, sleep, "100000"]
      volumeMounts: [{name: nccl-init, mountPath: /nccl-init}]
      resources: $rails
END
}
for pod in idle-0 pod-0; do
    { printf 'apiVersion: v1\nkind: Pod\n' && template 0 | sed "s/^metadata:/&\n  name: $pod/"; } | create "the pod $pod"
    runs_soon $pod
done
bad_is_right=1
page docs/start/need.md '*exec *'
matches "need.md: plan in a running pod" '*NCCL_IB_HCA*' "$(cat "$tmp/said.2")"
matches "need.md: what the command has" '*NCCL_IB_HCA==mlx5_*' "$(cat "$tmp/said.5")"
works "need.md: the recording is one" "$program" plan --root "$reader/node.tree"
page docs/reference/usage.md '*exec *idle-0*'
page k8s/README.md '*exec *idle-0*'
page docs/guides/memlock.md '*exec *'

# ---- kubectl nccl-init: what a real API server and a real runtime answer (tests/k8s/plugin.sh has a stand-in) -----------------

# kubectl itself says on standard error which container it takes
plugin() { NCCL_INIT=$program bash -c 'exec k8s/kubectl-nccl_init "$@"' plugin "$@" >"$tmp/plugin" 2>"$tmp/plugin.said" </dev/null; }
plugin plan -n default idle-0 --json && status=0 || status=$?
same "plugin: plan, its output is JSON alone" '0 NCCL_IB_HCA' "$status $(jq -r '.settings[] | select(.name == "NCCL_IB_HCA").name' "$tmp/plugin")"
plugin doctor idle-0 --brief && status=0 || status=$?
matches "plugin: the verb's status" '1 *memlock*' "$status $(cat "$tmp/plugin")"
create "a pod without the program" <<END
apiVersion: v1
kind: Pod
metadata: {name: bare}
spec:
  terminationGracePeriodSeconds: 1
  containers: [{name: main, image: nccl-init.test/trainer:1, command: [sh, -c, "rm /usr/bin/nccl-init; echo NCCL WARN Call to ibv_reg_mr failed with error Cannot allocate memory; sleep 100000"]}]
END
runs_soon bare
plugin plan bare && status=0 || status=$?
matches "plugin: no program" '3 *bare has no nccl-init*' "$status $(cat "$tmp/plugin.said")"
plugin plan bare --copy --json && status=0 || status=$?
matches "plugin: copied" '0 {*settings*' "$status $(cat "$tmp/plugin")"
plugin doctor nobody && status=0 || status=$?
matches "plugin: no such pod" '3 *pods "nobody" not found*' "$status $(cat "$tmp/plugin.said")"
plugin log bare --json && status=0 || status=$?
matches "plugin: log" '1 *log.pinned*' "$status $(cat "$tmp/plugin")"
gone pod/idle-0 pod/pod-0 pod/bare

works "namespace training" kubectl create namespace training
space=training
{ printf 'apiVersion: batch/v1\nkind: Job\nmetadata: {name: train}\nspec:\n  template:\n' && template 4; } | create "the Job train"
ready() { [ "$(k get job train -o 'jsonpath={.status.ready}')" = 1 ]; }
works "its pod runs" wait_for 300 ready
page docs/guides/openshift.md 'kubectl *exec job/train*' 'kubectl *logs job/train*'
gone job/train
finish
