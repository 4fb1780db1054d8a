#!/bin/bash
# The label nccl-init.io/inject: env, on nodes: what the kubelet makes of fileKeyRef. Images with an ENTRYPOINT, with variables,
# without a shell; containers beside it, a container that starts again, a pod that is replaced; names that are the user's; demands
# and refusals. UCX, NCCL and PyTorch say what they take. Before that helm install waits for its trial Job, and at the end an
# ephemeral container watches traffic.
# nodes: 2x2 env
# seconds: 400
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2034,SC2154 # space is for node/pods; tmp comes from lib
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../lib"
# shellcheck source=/dev/null
. tests/cluster/node/pods

nodes_with_rails

# ---- helm install ends when the policies act ---------------------------------------------------------------------------------

chart() { # helm install|upgrade, with the trial
    TRIAL=1 helm "$1" nccl-init k8s/charts/nccl-init --namespace nccl-init --create-namespace \
        --set image=nccl-init.test/nccl-init:1 --set inject.trial.image=nccl-init.test/kubectl:1 "${@:2}"
}
begin=$SECONDS
works "helm install ends with its trial Job, on a node" chart install --timeout 400s
echo "helm install: $((SECONDS - begin)) s"
matches "... NOTES say that it has waited" '*Helm has waited, but with --no-hooks, until ten trial pods in a row were injected*' \
    "$(tr '\n' ' ' <"$tmp/said")"
trial_events() {
    kubectl get events --namespace nccl-init -o json |
        jq -r '.items[] | select(.involvedObject.kind == "Job" and .involvedObject.name == "nccl-init-trial") | .reason' | sort -u | xargs
}
completed() { [[ $(trial_events) == *Completed* ]]; }
works "... the Job has come to its end" wait_for 60 completed
same "... and is gone" '' "$(kubectl get jobs --namespace nccl-init -o name)"

# ---- pods ----------------------------------------------------------------------------------------------------------------------

k create configmap of-the-user --from-literal=NCCL_NET_GDR_LEVEL=LOC >"$tmp/said"

# own INDENT: a pod's template. Its image has an ENTRYPOINT and a USER; two names are the container's own, by env and by envFrom.
# It ends when it finds a file; a container beside it has no device.
own() {
    sed "s/^/$(printf '%*s' "$1" '')/" <<END
metadata:
  labels: {nccl-init.io/inject: env, nccl-init.test/own: "yes"}
  annotations: {k8s.v1.cni.cncf.io/networks: "default/rail0,default/rail1"}
spec:
  terminationGracePeriodSeconds: 40
  volumes: [{name: kept, emptyDir: {}}]
  containers:
    - name: beside
      image: nccl-init.test/trainer:1
      command: [sleep, "100000"]
    - name: main
      image: nccl-init.test/trainer-own:1
      args: [sh, -c, "until [ -e /kept/end ]; do sleep 1; done; rm /kept/end; exit 3"]
      volumeMounts: [{name: kept, mountPath: /kept}]
      env: [{name: NCCL_CROSS_NIC, value: "2"}]
      envFrom: [{configMapRef: {name: of-the-user}}]
      resources: $rails
END
}
{
    printf 'apiVersion: batch/v1\nkind: Job\nmetadata: {name: job}\nspec:\n  template:\n'
    own 4
    printf '      restartPolicy: OnFailure\n      nodeSelector: {kubernetes.io/hostname: node0}\n'
} | create "the Job"

# bare NAME LINE MORE: a pod of an image without a shell, whose ENV has NCCL_IB_HCA; its log is its environment. MORE: of the container
bare() {
    create "the pod $1" <<END
apiVersion: v1
kind: Pod
metadata:
  name: $1
  labels: {nccl-init.io/inject: env}
  annotations: {$2}
spec:
  terminationGracePeriodSeconds: 1
  restartPolicy: Never
  nodeSelector: {kubernetes.io/hostname: node1}
  containers: [{name: main, image: nccl-init.test/bare:1, $3}]
END
}
bare bare 'k8s.v1.cni.cncf.io/networks: "rail0,rail1"' "resources: $rails"

pods() { k get pods -l "job-name=$1" --sort-by=.metadata.creationTimestamp -o 'jsonpath={range .items[*]}{.metadata.name}{"\n"}{end}'; }
some() { pods job | grep .; }
works "the Job makes its pod" wait_for 60 some
one=$(pods job | head -n 1)
runs_soon "$one"
runs_soon bare

# as_it_should POD: settings by the kubelet, and all else as without them
as_it_should() {
    local part
    settings_of variable "$1"
    same "$1: the ENTRYPOINT of the image is called" called "$(variable "$1" OF_THE_ENTRYPOINT)"
    same "$1: the command is that of the pod" sh "$(inside "$1" cat /proc/1/comm)"
    same "$1: no mount" '' "$(inside "$1" sed -n /nccl-init/p /proc/mounts)"
    same "$1: its own variable stays" 2 "$(variable "$1" NCCL_CROSS_NIC)"
    same "$1: ... also that of a ConfigMap" LOC "$(variable "$1" NCCL_NET_GDR_LEVEL)"
    part=$(k exec "$1" --container beside -- sh -c "tr '\\0' '\\n' </proc/1/environ | grep -c ^NCCL_")
    same "$1: the container without devices has no variable" 0 "$part"
}
as_it_should "$one"
k logs "$one" --container nccl-init-env >"$tmp/log"
matches "its init container says what was decided" "*NCCL_IB_HCA=$(variable "$one" NCCL_IB_HCA) *" "$(cat "$tmp/log")"
matches "... and that the image's ENV loses" "*by fileKeyRef these win over what the job's image sets by ENV, which is not seen here*" "$(cat "$tmp/log")"

# ---- an image without a shell, whose ENV has one of the names --------------------------------------------------------------------

of_log() { k logs "$1" --container main | sed -n "s/^$2=//p"; } # POD NAME
# The HCAs in the pod's network, which are its own: rdma-cni moves them. An ephemeral container sees them.
in_network() { # POD
    k debug "$1" --image=nccl-init.test/trainer:1 --profile=general --container=looks --attach=false -- \
        sh -c 'cd /sys/class/infiniband && echo *' >"$tmp/said" 2>&1
    wait_for 60 looked "$1"
    k logs "$1" --container=looks | tr ' ' '\n' | sort | sed 's/$/:1/' | paste -sd, | sed 's/^/=/'
}
looked() { k get pod "$1" -o 'jsonpath={.status.ephemeralContainerStatuses[0].state.terminated.reason}' | grep Completed; }
same "bare: the HCAs in its network, and not what its image sets" "$(in_network bare)" "$(of_log bare NCCL_IB_HCA)"
same "bare: what else the image sets stays" kept "$(of_log bare OF_THE_IMAGE)"
gone pod/bare

bare idle 'nccl-init.io/mode: "off"' 'command: [/pause, env]'
runs_soon idle
same "mode off: the file is there, with nothing in it: the pod starts, and the image's value stays" of-the-image "$(of_log idle NCCL_IB_HCA)"
gone pod/idle

# ---- what libraries say, in a pod that runs beside the others: it takes minutes ------------------------------------------------

if [ -n "${NCCL_INIT_CLUSTER_LIBRARIES-}" ]; then
    create "the pod words" <<END
apiVersion: v1
kind: Pod
metadata:
  name: words
  labels: {nccl-init.io/inject: env}
  annotations:
    k8s.v1.cni.cncf.io/networks: "rail0,rail1"
    nccl-init.io/for: nccl,ucx,gloo
    nccl-init.io/sockets: rails
spec:
  terminationGracePeriodSeconds: 1
  restartPolicy: Never
  nodeSelector: {kubernetes.io/hostname: node1}
  volumes:
    - {name: programs, hostPath: {path: /programs, type: Directory}}
    - {name: libraries, hostPath: {path: /libraries, type: Directory}}
  containers:
    - name: main
      image: nccl-init.test/trainer:1
      command: [/programs/words]
      volumeMounts:
        - {name: programs, mountPath: /programs, readOnly: true}
        - {name: libraries, mountPath: /libraries, readOnly: true}
      resources: $rails
END
    runs_soon words
    given_to_words=$(given words)
    rail_of_words=$(inside words ip -4 -o addr show net1 | sed 's|.*inet \([0-9.]*\)/.*|\1|')
fi

# ---- a container starts again ------------------------------------------------------------------------------------------------

before=$(variable "$one" NCCL_IB_HCA)
inside "$one" touch /kept/end
restarted() { [ "$(k get pod "$1" -o 'jsonpath={.status.containerStatuses[?(@.name=="main")].restartCount}')" = 1 ] && inside "$1" true; }
works "$one: its container starts again" wait_for 100 restarted "$one"
same "... with the same HCAs" "$before" "$(variable "$one" NCCL_IB_HCA)"
as_it_should "$one"

# ---- a pod is replaced, while its VFs are still its own ------------------------------------------------------------------------

works "$one is deleted" k delete pod "$one" --wait=false
another() { pods job | grep -vx "$one"; }
works "... and replaced" wait_for 100 another
two=$(another)
runs_soon "$two"
as_it_should "$two"
works "... with other HCAs: $before, then $(variable "$two" NCCL_IB_HCA)" test "$before" != "$(variable "$two" NCCL_IB_HCA)"

# ---- demands, refusals -------------------------------------------------------------------------------------------------------

bare demand 'k8s.v1.cni.cncf.io/networks: "rail0,rail1", nccl-init.io/require: "rails=4"' "resources: $rails"
works "demand: the pod fails" k wait --for=jsonpath='{.status.phase}'=Failed pod/demand --timeout=200s
matches "demand: its status says why" '*require.rails*' \
    "$(k get pod demand -o 'jsonpath={.status.initContainerStatuses[0].state.terminated.message}')"
matches "demand: kubectl describe, too" '*Message:*require.rails*' "$(k describe pod demand)"
same "demand: the container was never started" '' "$(k get pod demand -o 'jsonpath={.status.containerStatuses[0].state.terminated.startedAt}')"
gone pod/demand
for option in preflight=require selftest=warn memlock=max require=memlock; do
    refused "$option is refused, with a sentence" '*nccl-init.io/*needs nccl-init.io/inject: wrap; with env nccl-init does not start the command*' \
        k run refused --image=nccl-init.test/bare:1 --labels=nccl-init.io/inject=env --annotations="nccl-init.io/$option"
done

# ---- a JobSet ----------------------------------------------------------------------------------------------------------------

of_jobset() { k get pods -l jobset.sigs.k8s.io/jobset-name=set -o 'jsonpath={.items[*].metadata.name}' | grep .; }
if have jobset; then
    foreign_kinds jobset
    controller jobset
    jobset() {
        {
            printf 'apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: set}\nspec:\n  replicatedJobs:\n'
            printf '    - name: workers\n      template:\n        spec:\n          template:\n'
            own 12
            printf '              restartPolicy: Never\n              nodeSelector: {kubernetes.io/hostname: node1}\n'
        } | k create --filename -
    }
    works "the JobSet" wait_for 60 jobset
    works "... makes its pod" wait_for 60 of_jobset
    set=$(of_jobset)
    runs_soon "$set"
    as_it_should "$set"
else
    skip "jobset" "$(why_not jobset)"
    set=alone
    {
        printf 'apiVersion: v1\nkind: Pod\n'
        own 0 | sed 's/^metadata:/&\n  name: alone/'
        printf '  nodeSelector: {kubernetes.io/hostname: node1}\n'
    } | create "the pod alone"
    runs_soon "$set"
    as_it_should "$set"
fi

# ---- traffic with these settings, which an ephemeral container watches ---------------------------------------------------------

traffic variable "$two" "$set"

# as docs/guides/watch.md has it
page_commands docs/guides/watch.md -e "s/ -n NS\\>/ -n default/; s/\\<POD\\>/$set/; s|REGISTRY/nccl-init|nccl-init.test/nccl-init:1|" |
    tr '\0' '\n' | grep -m 1 '^kubectl debug' >"$tmp/watch"
watched() { bash "$tmp/watch" </dev/null >"$tmp/watched" 2>&1; }
writes() { # POD [ADDRESS]: for two minutes, over its first rail
    inside "$1" timeout 150 ib_write_bw -F -s 65536 -D 120 -d "$(first_hca "$(variable "$1" NCCL_IB_HCA)")" \
        -x "$(variable "$1" NCCL_IB_GID_INDEX)" "${@:2}" >"$NCCL_INIT_CLUSTER/logs/writes.$1" 2>&1
}
works "watch by kubectl debug, without traffic" watched
matches "... says that nothing carries data" 'nothing carries data: no rail and no interface reaches 1 MB/s' "$(tail -n 1 "$tmp/watched")"
writes "$two" &
wait_for 60 inside "$two" sh -c "ss -Hltn 'sport = :18515' | grep -q ."
writes "$set" "$(k get pod "$two" -o 'jsonpath={.status.podIP}')" &
sleep 10
works "watch by kubectl debug, with traffic" watched
cp "$tmp/watched" "$NCCL_INIT_CLUSTER/logs/"
cat "$tmp/watched"
first=$(first_hca "$(variable "$set" NCCL_IB_HCA)") second=$(hca_at "$(variable "$set" NCCL_IB_HCA)" 1)
matches "... one of its two rails carries data" "1 of 2 rails carries data, *$second/1 carries none*" "$(tail -n 1 "$tmp/watched")"
matches "... it is the first" "*$first/1 *ACTIVE*B/s*" "$(cat "$tmp/watched")"
k delete job/job --wait=false >"$tmp/said" 2>&1
k delete jobset/set --wait=false >"$tmp/said" 2>&1
works "all are deleted" k delete pods -l nccl-init.test/own=yes --grace-period=1 --timeout=180s
wait

# ---- what the libraries said ---------------------------------------------------------------------------------------------------

heard() { # NAME PATTERN: a whole line of the log of words
    if grep -qE "$2" "$NCCL_INIT_CLUSTER/logs/words"; then pass "$1"; else fail "$1" "no line has $2"; fi
}
if [ -n "${NCCL_INIT_CLUSTER_LIBRARIES-}" ]; then
    ended() { [[ $(phase words) == Succeeded || $(phase words) == Failed ]]; }
    works "UCX, NCCL and PyTorch have spoken" wait_for 1200 ended
    k logs words >"$NCCL_INIT_CLUSTER/logs/words"
    of_words() { sed -n "s/^$1=//p" "$NCCL_INIT_CLUSTER/logs/words" | head -n 1; }
    same "words: the HCAs that it was given" "$given_to_words" "$(of_words NCCL_IB_HCA)"
    hcas=$(of_words NCCL_IB_HCA) index=$(of_words NCCL_IB_GID_INDEX) ucx=$(of_words UCX_NET_DEVICES)
    heard "UCX has its devices from the environment" "UCX_\\* env variables: .*UCX_NET_DEVICES=$ucx( |$)"
    heard "... and takes one of them" "ep_cfg.*rc_verbs/($(tr , '|' <<<"${hcas#=}"))"
    if [ -f "$NCCL_INIT_CLUSTER_LIBRARIES/libnccl.so.2" ]; then
        heard "NCCL has its HCAs" "NCCL_IB_HCA set to $hcas$"
        heard "... takes them and no others" "NET/IB : Using \\[0\\]$(hca_at "$hcas" 0):1/RoCE \\[1\\]$(hca_at "$hcas" 1):1/RoCE \\["
        heard "... has the index" "NCCL_IB_GID_INDEX set by environment to $index\\.$"
        heard "... and the interfaces" "NCCL_SOCKET_IFNAME set by environment to =net1,net2$"
        for rail in 0 1; do
            heard "NCCL connects its device $rail" "^connection $rail 0 True$"
        done
        heard "... with this index" "Port 1 qpn [0-9]* mtu [0-9]* GID $index "
    else
        skip "NCCL" "tests/nccl/run --fetch 2.28.9 gets it"
    fi
    heard "PyTorch's Gloo is on the rail's interface" "^connected from $rail_of_words$"
else
    skip "UCX, NCCL, PyTorch" "their packages cannot be had here"
fi
finish
