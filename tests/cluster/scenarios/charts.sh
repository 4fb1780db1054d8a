#!/bin/bash
# Each chart: lint is clean; each value meets each other value, and the API server accepts what comes out; a wrong value is
# answered by a sentence with its name. Upgrade, rollback and uninstall leave no object behind, and helm test runs doctor.
# seconds: 120
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # tmp comes from lib
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../lib"

foreign_kinds
# what the program has, for the table of options
nccl_init=${NCCL_INIT:-build/static/nccl-init}

for folder in k8s/charts/*/; do
    chart=$(basename "$folder")
    works "$chart: lint" helm lint --strict "$folder"
    [ -f "tests/cluster/charts/$chart.yaml" ] || continue
    for verb in wrong pairs; do
        works "$chart: $verb" /usr/bin/python3 tests/cluster/charts.py $verb "$chart"
        tail -n 1 "$tmp/said"
    done
done

# ---- one table of options: the program, both policies, the schema ------------------------------------------------------------

table() { sed -n 's/^- {name: \([a-z-]*\)[,}].*/\1/p' k8s/charts/nccl-init/options.yaml | sort; }
options_of() { # VERB
    "$nccl_init" help "$1" | sed -n 's/^  \(-., \)\{0,1\}--\([a-z-]*\).*/\2/p' | sort
}
# of another value in each pod, or for a person at a terminal
unfit='busy
rank
report
root
snapshot-on-refusal
svg
termination-log'
same "the table has what run has" "$(options_of run | grep -vxF "$unfit" | grep -vx help)" "$(table)"
same "... and without wrap what env has" \
    "$(options_of env | grep -vxF "$unfit" | grep -vx -e help -e format -e output -e memlock -e keep-caps -e drop-caps -e nccl)" \
    "$(sed -n 's/^- {name: \([a-z-]*\)}$/\1/p' k8s/charts/nccl-init/options.yaml | sort)"
schema() { /usr/bin/python3 -c '
import json, sys
part = json.load(open("k8s/charts/nccl-init/values.schema.json"))
for name in sys.argv[1:]:
    part = part["properties"][name]
print(*sorted(part["properties"]), sep="\n")' "$@"; }
same "... and the schema, for all pods" "$(table)" "$(schema inject defaults)"
same "... and for a TrainJob's" "$(table)" "$(schema trainer options)"

# ---- releases come and go ----------------------------------------------------------------------------------------------------

objects() { # RELEASE: in the API, but for helm's own records
    kubectl api-resources --verbs=list --output name | grep -v '^events' | while read -r kind; do
        kubectl get "$kind" --all-namespaces --selector="app.kubernetes.io/instance=$1" --output name 2>/dev/null
    done | sort
}
listed() { # RELEASE NAMESPACE: what helm says that it has
    helm get manifest "$1" --namespace "$2" | /usr/bin/python3 -c '
import sys, yaml
for one in yaml.safe_load_all(sys.stdin):
    if one:
        kind, name, group = one["kind"].lower(), one["metadata"]["name"], one["apiVersion"].rpartition("/")[0]
        print(f"{kind}.{group}/{name}" if group else f"{kind}/{name}")' | sort
}
all_there() { [ -n "$(listed "$1" "$2")" ] && [ "$(listed "$1" "$2" | xargs kubectl --namespace "$2" get --output name | sort)" != '' ]; }

pretended_nodes 3 nvidia.com/gpu example.com/rail
all=(--set hook.enabled=true --set 'hook.nodeSelector=null' --set 'doctor.schedule=17 */6 * * *' --set preflight.enabled=true
    --set nodeProblemDetector.enabled=true --set trainer.enabled=true --set doctor.resources.limits.example\\.com/rail=1
    --set 'check.subjects[0].kind=Group' --set 'check.subjects[0].name=ml')
works "nccl-init: everything is installed" helm install everything k8s/charts/nccl-init --namespace all --create-namespace "${all[@]}"
works "... and is there" all_there everything all
before=$(listed everything all)
matches "... the hook's DaemonSet, doctor's CronJob, a runtime" \
    '*clustertrainingruntime*cronjob*daemonset.apps/everything-hook*daemonset.apps/everything-node-problem-detector*' "$(echo "$before" | tr '\n' ' ')"
refused "the hook by a second release" '*the release everything in the namespace all installs the hook already*' \
    helm install second k8s/charts/nccl-init --namespace second --create-namespace --set inject.enabled=false --set check.enabled=false \
    --set hook.enabled=true
same "the check's account may list nodes" yes "$(kubectl auth can-i list nodes --as=somebody --as-group=ml 2>"$tmp/said")"
same "... and read no secret" no "$(kubectl auth can-i get secrets --as=somebody --as-group=ml --namespace all)"
works "nccl-init: an upgrade with less" helm upgrade everything k8s/charts/nccl-init --namespace all --set hook.enabled=false
gone() { # KIND/NAME...
    ! kubectl --namespace all get "$@" 2>/dev/null | grep -q .
}
works "... removes its objects" wait_for 60 gone daemonset/everything-hook cronjob/nccl-doctor \
    clustertrainingruntime/torch-distributed-nccl-init clusterrolebinding/everything.nccl-init.io:check
works "nccl-init: a rollback" helm rollback everything 1 --namespace all
same "... brings them back" "$before" "$(listed everything all)"
works "... in the API" all_there everything all

# ---- helm test ------------------------------------------------------------------------------------------------------------------

# No kubelet ends a pod here: what it would say of one that has ended is written by hand.
end_pods() { # SELECTOR EXIT
    local pod
    while kill -0 "$testing" 2>/dev/null; do
        kubectl --namespace all get pods --selector "$1" --output name 2>/dev/null | while read -r pod; do
            kubectl --namespace all patch "$pod" --subresource=status --patch "{\"status\": {\"phase\": \"$2\"}}" >/dev/null 2>&1
        done
        sleep 0.5
    done
}
run_test() { # EXIT
    helm test everything --namespace all --timeout 60s >"$tmp/tested" 2>&1 &
    testing=$!
    end_pods 'app.kubernetes.io/name in (nccl-doctor, nccl-preflight)' "$1"
    wait $testing
}
works "helm test: all nodes are healthy" run_test Succeeded
matches "... doctor and preflight have run" '*everything-doctor*everything-preflight*' "$(tr '\n' ' ' <"$tmp/tested")"
same "... and are gone" "" "$(kubectl --namespace all get jobs --selector=app.kubernetes.io/component=doctor --output name)"
refused "helm test: a node is not healthy" '*' run_test Failed
same "... the Job stays, to be read" job.batch/everything-doctor \
    "$(kubectl --namespace all get jobs --selector=app.kubernetes.io/component=doctor --output name)"
works "... until somebody deletes it, or a day is over" kubectl --namespace all delete job everything-doctor

works "nccl-init: is uninstalled" helm uninstall everything --namespace all
nothing() { [ -z "$(objects "$1")" ]; }
works "... and nothing is left" wait_for 60 nothing everything
nothing everything || objects everything

works "job: the command of the issue" helm install once k8s/charts/job --namespace all --set mode=tcp,pods=1
refused "job: a Job cannot be upgraded in place" '*field is immutable*' helm upgrade once k8s/charts/job --namespace all --set mode=tcp,pods=2
works "job: is uninstalled" helm uninstall once --namespace all
secret() { kubectl --namespace all get secret "$1-preflight" --output 'jsonpath={.data.secret}' | base64 --decode; }
works "job: with a preflight" helm install once k8s/charts/job --namespace all --set mode=tcp,pods=2,preflight=require
first=$(secret once)
same "... it has a secret of 43 letters" 43 "$(printf %s "$first" | wc -c)"
works "job: an upgrade that changes no pod" helm upgrade once k8s/charts/job --namespace all --set mode=tcp,pods=2,preflight=require
same "... keeps the secret" "$first" "$(secret once)"
works "job: another one" helm install twice k8s/charts/job --namespace all --set mode=tcp,pods=2,preflight=require
same "... has another secret" 1 "$(secret twice | grep -vcxF "$first")"
works "job: is uninstalled" helm uninstall once twice --namespace all
works "... and nothing is left" wait_for 60 nothing twice
works "... and nothing is left" wait_for 60 nothing once
finish
