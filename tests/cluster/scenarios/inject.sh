#!/bin/bash
# The chart nccl-init: by its policies any pod with the label gets the settings, or is refused with a sentence; other pods are
# as they are without it. What network-resources-injector adds afterwards is heard.
# seconds: 90
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # tmp comes from lib
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../lib"
# shellcheck source=/dev/null
. tests/cluster/injection

namespaces

# ---- without the chart, and with it -------------------------------------------------------------------------------------

judge before "$tmp/before"
trial_pod
refused "without the chart its trial pod is refused" '*volumeMounts*Not found: "nccl-init-env"*' "${trial[@]}"
works "the chart is installed" helm install nccl-init "$chart" --namespace nccl-init --create-namespace \
    --set inject.defaults.wait=20 --set inject.defaults.memlock=keep

# The policies act a moment after they are there.
works "its policies act" wait_for 120 acts
works "... and its trial pod is admitted" "${trial[@]}"
for kind in mutatingadmissionpolicy validatingadmissionpolicy; do
    same "$kind: the types are right" "" "$(kubectl get $kind nccl-init.nccl-init.io -o 'jsonpath={.status.typeChecking.expressionWarnings}')"
done
judge judge "$tmp/before"

# ---- network-resources-injector after the policy -------------------------------------------------------------------------

webhook webhook
webhook_ends

# ---- what controllers make ----------------------------------------------------------------------------------------------

pretended_nodes 2 nvidia.com/gpu example.com/rail
workload() { # KIND NAME: with a pod a node
    local api=apps/v1 spec="selector: {matchLabels: {app: $2}}" policy=Always
    case $1 in
    Job) api=batch/v1 spec='completions: 2, parallelism: 2, completionMode: Indexed' policy=Never ;;
    StatefulSet) spec="serviceName: $2, replicas: 2, $spec" ;;
    Deployment) spec="replicas: 2, $spec" ;;
    esac
    kubectl --namespace team create --filename - <<END
apiVersion: $api
kind: $1
metadata: {name: $2}
spec: {$spec, template: {metadata: {labels: {app: $2, nccl-init.io/inject: conf}}, spec: {restartPolicy: $policy, containers: [{
  name: main, image: none, resources: {requests: {cpu: "1"}, limits: {memory: 1Gi, nvidia.com/gpu: 1, example.com/rail: 1}}}]}}}
END
}
injected_pods() { # NAME: their init containers, if they are ready
    kubectl --namespace team get pods --selector="app=$1" --output \
        'jsonpath={range .items[*]}{.spec.initContainers[*].name} {.spec.initContainers[0].resources.limits.example\.com/rail} {.status.conditions[?(@.type=="Ready")].status}{"\n"}{end}'
}
two_are() { [ "$(injected_pods "$1")" = 'nccl-init-conf 1 True
nccl-init-conf 1 True' ]; }
for kind in Deployment StatefulSet DaemonSet Job; do
    name=${kind,,}
    works "$kind: is created" workload $kind "$name"
    works "$kind: two pods are injected, scheduled and ready" wait_for 120 two_are "$name"
    two_are "$name" || injected_pods "$name"
done

# ---- by hand --------------------------------------------------------------------------------------------------------------

works "a pod of nobody" kubectl --namespace team run alone --image=none --labels=nccl-init.io/inject=conf
pod=pod/alone
wait_for 60 kubectl --namespace team wait --for=condition=Ready $pod --timeout=1s
works "kubectl debug: another container in a running pod" kubectl --namespace team debug "$pod" --image=none --attach=false -- true
works "kubectl debug: a copy" kubectl --namespace team debug "$pod" --copy-to=copy --keep-labels --image=none --container=more --attach=false -- true
same "... has the init container once" nccl-init-conf "$(kubectl --namespace team get pod copy -o 'jsonpath={.spec.initContainers[*].name}')"
works "a dry run by server-side apply" bash -c "kubectl --namespace team get $pod -o json | kubectl --namespace team apply \
    --server-side --force-conflicts --dry-run=server --filename -"
existing=$(kubectl --namespace team get pod copy -o 'jsonpath={.spec}')
works "the label on a pod that runs" kubectl --namespace team label pod copy nccl-init.io/inject=wrap --overwrite
same "... changes nothing" "$existing" "$(kubectl --namespace team get pod copy -o 'jsonpath={.spec}')"

# ---- the label in the wrong place, and locked memory by an annotation ------------------------------------------------------

labelled() { # LABELS-OF-TEMPLATE
    kubectl --namespace team create --dry-run=server --filename - 2>&1 <<END
{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a", "labels": {"nccl-init.io/inject": "conf"}}, "spec": {
 "selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"$1}}, "spec": {"containers": [{
  "name": "main", "image": "none"}]}}}}
END
}
matches "the label on a workload alone: a warning" "Warning: *belongs on the pods' template*created*" "$(labelled '')"
same "... on its template too: none" 'deployment.apps/a created (server dry run)' "$(labelled ', "nccl-init.io/inject": "conf"')"

works "locked memory by an annotation" helm upgrade nccl-init "$chart" --namespace nccl-init --set inject.memlockAnnotation=true
noted() {
    probe conf >"$tmp/noted" && [ "$(grep -c '"ulimits.*/container.\(main\|nccl-init-conf\)": "- {type: RLIMIT_MEMLOCK' "$tmp/noted")" = 4 ]
}
works "... of the container and of the init container, by both names of the plugin" wait_for 60 noted

# ---- a policy that cannot be evaluated stops pods with the label, and no others ------------------------------------------

plain() { kubectl --namespace team run plain --image=none --dry-run=server; }
break_policy() { # KIND
    kubectl patch "$1" nccl-init.nccl-init.io --type=json \
        --patch '[{"op": "add", "path": "/spec/matchConditions/-", "value": {"name": "broken", "expression": "object.spec.none == 1"}}]'
}
works "the mutating policy is broken" break_policy mutatingadmissionpolicy
no_such() { ! probe conf && grep -q 'no such key: none' "$tmp/waited"; }
works "... a pod with the label is stopped" wait_for 60 no_such
works "... one without is not" plain
works "failurePolicy=Ignore" helm upgrade nccl-init "$chart" --namespace nccl-init --set inject.failurePolicy=Ignore
starts() { probe conf | grep -q '"main"' && ! probe conf | grep -q nccl-init-conf; }
works "... lets it start without settings" wait_for 60 starts

works "failurePolicy=Fail again" helm upgrade nccl-init "$chart" --namespace nccl-init --set inject.failurePolicy=Fail
works "... and the mutating policy is called no more" kubectl delete mutatingadmissionpolicybinding nccl-init.nccl-init.io
not_there() { ! probe conf && grep -q 'the init container nccl-init-conf is not there' "$tmp/waited"; }
works "... a pod with the label is stopped, with a sentence" wait_for 60 not_there
refused "... and the trial pod is refused" '*nccl-init-env*' "${trial[@]}"
works "... one without is not" plain

# ---- nothing is left -------------------------------------------------------------------------------------------------------

works "the chart is uninstalled" helm uninstall nccl-init --namespace nccl-init
policies=mutatingadmissionpolicies,mutatingadmissionpolicybindings,validatingadmissionpolicies,validatingadmissionpolicybindings
same "... no policy is left" "" "$(kubectl get $policies --output name | grep nccl-init)"
finish
