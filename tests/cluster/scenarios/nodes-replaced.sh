#!/bin/bash
# A pod of a running Job, JobSet and LeaderWorkerSet is deleted, on nodes: each with the way that docs/reference/preflight.md
# names for it, so that the job goes on.
# nodes: 2x2
# by hand: ./dev cluster; the shard nodes has no time for it
# seconds: 400
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # tmp comes from lib
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../lib"
# shellcheck source=/dev/null
. tests/cluster/node/pods

nodes_with_rails
foreign_kinds jobset lws
controller jobset
controller lws
finish || exit # each object would wait for a webhook that does not answer

# template INDENT RESTART-POLICY MORE ENV...: of pods of which each node has one; MORE: of its spec
template() {
    local indent=$1 restart=$2 more=$3 variable
    sed "s/^/$(printf '%*s' "$indent" '')/" <<END
metadata:
  labels: {nccl-init.test/job: "$job"}
  annotations: {k8s.v1.cni.cncf.io/networks: "rail0,rail1"}
spec:
  $restart
  $more
  terminationGracePeriodSeconds: 1
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: DoNotSchedule
      labelSelector: {matchLabels: {nccl-init.test/job: "$job"}}
  volumes: [{name: kept, emptyDir: {}}]
  containers:
    - name: main
      image: nccl-init.test/trainer-entrypoint:1
      args: [sh, -c, "sleep 100000"]
      volumeMounts: [{name: kept, mountPath: /kept}]
      resources: $rails
      env:
        - {name: NCCLINIT_PREFLIGHT, value: require}
        - {name: NCCLINIT_SECONDS, value: "0"}
$(for variable in "${@:4}"; do echo "        - $variable"; done)
END
}
pods() { kubectl get pods -l "nccl-init.test/job=$job" --sort-by=.metadata.name -o "jsonpath={range .items[*]}{$1}{'\n'}{end}"; }
command_runs() { [ "$(inside "$1" sh -c 'cat /proc/1/comm')" = sleep ] || [ "$(inside "$1" cat /proc/1/comm)" = sh ]; }
all_run() {
    local pod
    [ "$(pods .metadata.name | wc -l)" = 2 ] || return
    for pod in $(pods .metadata.name); do
        command_runs "$pod" || return
    done
}
begins() {
    works "$job: both commands run" wait_for 300 all_run
    all_run || kubectl describe pods -l "nccl-init.test/job=$job" | tail -n 40
    same "$job: after a good preflight" "2" "$(kubectl logs -l "nccl-init.test/job=$job" --tail=-1 | grep -c 'preflight: good')"
    uids=$(pods .metadata.uid)
}
# deleted POD: and the job has two pods that run, of which NEW are others
deleted() { # POD NEW
    local begin=$SECONDS
    works "$job: $1 is deleted" kubectl delete pod "$1" --wait --timeout=180s
    others() { all_run && [ "$(comm -13 <(sort <<<"$uids") <(pods .metadata.uid | sort) | wc -l)" = "$2" ]; }
    works "$job: both commands run again" wait_for 400 others "$1" "$2"
    seconds=$((SECONDS - begin))
    echo "$job: after $seconds s"
    others "$1" "$2" || kubectl describe pods -l "nccl-init.test/job=$job" | tail -n 40
    kubectl logs -l "nccl-init.test/job=$job" --prefix --tail=-1 >"$NCCL_INIT_CLUSTER/logs/$job"
}

# ---- a Job: another pod comes late, the others go on ------------------------------------------------------------------------------

job=job
create "the Job" <<END
apiVersion: v1
kind: Service
metadata: {name: job}
spec: {clusterIP: None, publishNotReadyAddresses: true, selector: {job-name: job}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: job}
spec:
  completionMode: Indexed
  completions: 2
  parallelism: 2
  template:
$(template 4 'restartPolicy: OnFailure' 'subdomain: job' '{name: NCCLINIT_RANKS, value: "2"}' '{name: NCCLINIT_PEERS, value: job-0.job}' \
    '{name: NCCLINIT_ONCE, value: /kept/verdict}' '{name: NCCLINIT_LATE, value: selftest}' '{name: NCCLINIT_WITHIN, value: "60"}' \
    '{name: NCCLINIT_SIZE, value: 1M}')
END
begins
deleted "$(pods .metadata.name | tail -n 1)" 1
works "job: the new pod has looked for the others for a minute" test "$seconds" -ge 60
same "job: no container has started again" "0 0" "$(pods '.status.containerStatuses[0].restartCount' | xargs)"
gone job/job

# ---- a JobSet: all pods come anew --------------------------------------------------------------------------------------------------

job=jobset
create "the JobSet" <<END
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: set}
spec:
  failurePolicy: {maxRestarts: 2}
  network: {enableDNSHostnames: true, publishNotReadyAddresses: true}
  replicatedJobs:
    - name: workers
      template:
        spec:
          completionMode: Indexed
          completions: 2
          parallelism: 2
          backoffLimit: 0
          template:
$(template 12 'restartPolicy: Never' '' '{name: NCCLINIT_RANKS, value: "2"}' '{name: NCCLINIT_PEERS, value: set-workers-0-0.set}' \
    "{name: UID, valueFrom: {fieldRef: {fieldPath: \"metadata.labels['jobset.sigs.k8s.io/jobset-uid']\"}}}" \
    "{name: ATTEMPT, valueFrom: {fieldRef: {fieldPath: \"metadata.labels['jobset.sigs.k8s.io/restart-attempt']\"}}}" \
    "{name: NCCLINIT_JOB, value: \$(UID)-\$(ATTEMPT)}" '{name: NCCLINIT_WITHIN, value: "200"}')
END
begins
deleted "$(pods .metadata.name | tail -n 1)" 2
same "jobset: after another good preflight of both" "2" "$(kubectl logs -l nccl-init.test/job=jobset --tail=-1 | grep -c 'preflight: good')"
gone jobset/set

# ---- a LeaderWorkerSet: so does the group -------------------------------------------------------------------------------------------

job=lws
create "the LeaderWorkerSet" <<END
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: group}
spec:
  replicas: 1
  startupPolicy: LeaderCreated
  leaderWorkerTemplate:
    size: 2
    restartPolicy: RecreateGroupOnPodRestart
    workerTemplate:
$(template 6 '' '' '{name: NCCLINIT_WITHIN, value: "200"}')
END
begins
deleted group-0-1 2
same "lws: after another good preflight of both" "2" "$(kubectl logs -l nccl-init.test/job=lws --tail=-1 | grep -c 'preflight: good')"
gone leaderworkerset/group
finish
