#!/bin/bash
# The chart nccl-init with inject.engine: kyverno. The real Kyverno, with the rights and the configuration that its own chart gives
# it, makes of each pod of `inject` what the API server's own policies make of it, and refuses with the same sentences.
# seconds: 150
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # tmp comes from lib, chart and trial from injection
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../lib"
# shellcheck source=/dev/null
. tests/cluster/injection

values=(--namespace nccl-init --create-namespace --set inject.defaults.wait=20 --set inject.defaults.memlock=keep)
with_kyverno
namespaces
judge before "$tmp/before"

# ---- the API server's own policies, then Kyverno's -------------------------------------------------------------------------

works "the API server's own policies: the chart is installed" helm install nccl-init "$chart" "${values[@]}"
works "... and they act" wait_for 120 acts
judge judge "$tmp/before" "$NCCL_INIT_CLUSTER/logs/kubernetes.json"
works "... it is uninstalled" helm uninstall nccl-init --namespace nccl-init
gone() { probe conf >"$tmp/gone" && ! grep -q nccl-init-conf "$tmp/gone"; }
works "... and they act no more" wait_for 60 gone

by_kyverno "${values[@]}"
for engine in kubernetes kyverno; do
    jq -S . "$NCCL_INIT_CLUSTER/logs/$engine.json" >"$tmp/$engine.answers"
done
same "all pods and sentences are those of the API server's own policies" "" \
    "$(diff "$tmp/kubernetes.answers" "$tmp/kyverno.answers" | head -n 40)"
# ---- a webhook after Kyverno's: what it adds, Kyverno does not see ------------------------------------------------------------

kyverno_chart() { helm upgrade nccl-init "$chart" "${values[@]}" --set inject.engine=kyverno "$@"; }
webhook unheard
if have network-resources-injector; then
    works "failurePolicy=Ignore" kyverno_chart --set inject.failurePolicy=Ignore
    ignores() {
        kubectl get validatingwebhookconfigurations --output \
            'jsonpath={range .items[*].webhooks[*]}{.failurePolicy} {.clientConfig.url}{"\n"}{end}' >"$tmp/hooks" &&
            grep -q '^Ignore .*/vpol/.*nccl-init' "$tmp/hooks" && ! grep -q '^Fail .*/vpol/.*nccl-init' "$tmp/hooks"
    }
    works "... acts" wait_for 60 ignores
    judge unheard
    works "failurePolicy=Fail again" kyverno_chart
    webhook_ends
fi

# ---- helm waits for the trial ----------------------------------------------------------------------------------------------

trial_pods() { kubectl --namespace nccl-init get pods --selector=app.kubernetes.io/component=trial --output name | grep .; }
# What its containers do, with their account; no kubelet runs them. Then their pod has succeeded, or failed.
run_trial() {
    local i pod phase=Succeeded account=$tmp/trial.kubeconfig
    wait_for 60 trial_pods
    kubectl --namespace nccl-init get configmap nccl-init-trial --output 'jsonpath={.data.pod\.yaml}' >"$tmp/trial-of-helm.yaml"
    cp "$KUBECONFIG" "$account"
    kubectl --kubeconfig="$account" config set-credentials trial \
        --token="$(kubectl --namespace nccl-init create token nccl-init-trial)" >"$tmp/said"
    kubectl --kubeconfig="$account" config set-context --current --user=trial >"$tmp/said"
    for ((i = 0; i < 10; i++)); do
        kubectl --kubeconfig="$account" create --dry-run=server --filename="$tmp/trial-of-helm.yaml" >>"$tmp/tried" 2>&1 || phase=Failed
    done
    for pod in $(trial_pods); do
        kubectl --namespace nccl-init patch "$pod" --subresource=status --patch "{\"status\": {\"phase\": \"$phase\"}}" >"$tmp/said"
    done
}
trial_of_helm() {
    TRIAL=1 helm upgrade nccl-init "$chart" "${values[@]}" --set inject.engine=kyverno --timeout 60s >"$tmp/upgraded" 2>&1 &
    local upgrade=$!
    run_trial
    wait $upgrade
}
works "the trial of helm upgrade" trial_of_helm
same "... ten pods were injected" 10 "$(grep -c 'pod/nccl-init-trial created (server dry run)' "$tmp/tried")"

# ---- where it does nothing, and where it warns ----------------------------------------------------------------------------

plain() { kubectl --namespace team run plain --image=none --dry-run=server; }
inits() { # NAMESPACE: of a pod with the label there
    kubectl --namespace "$1" run probe --image=none --labels=nccl-init.io/inject=conf --dry-run=server \
        --output 'jsonpath={.spec.initContainers[*].name}' 2>&1
}
for namespace in kyverno kube-system; do
    wait_for 60 kubectl --namespace $namespace get serviceaccount default
    same "in the namespace $namespace the label does nothing" "" "$(inits $namespace)"
done
refused "... and there is no trial there" '*inject.trial.namespace: Kyverno does not look at pods in kube-system*' \
    command helm template nccl-init "$chart" --namespace kube-system --set inject.engine=kyverno

workload() { # LABELS-OF-TEMPLATE
    kubectl --namespace team create --dry-run=server --output json --filename - 2>"$tmp/warned" <<END
{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a", "labels": {"nccl-init.io/inject": "conf"}}, "spec": {
 "selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"$1}}, "spec": {"containers": [{
  "name": "main", "image": "none"}]}}}}
END
}
works "a workload with the label, not on its template" workload ''
matches "... a warning" "Warning: *belongs on the pods' template*" "$(cat "$tmp/warned")"
works "a workload with the label on its template" workload ', "nccl-init.io/inject": "conf"'
same "... no warning" "" "$(cat "$tmp/warned")"
same "... and the template is as it was" "" "$(grep nccl-init-conf "$tmp/said")"

# ---- what fails, fails as with the API server's own policies -----------------------------------------------------------------

noted() {
    probe conf >"$tmp/noted" && [ "$(grep -c '"ulimits.*/container.\(main\|nccl-init-conf\)": "- {type: RLIMIT_MEMLOCK' "$tmp/noted")" = 4 ]
}
works "locked memory by an annotation" kyverno_chart --set inject.memlockAnnotation=true
works "... of the container and of the init container, by both names of the plugin" wait_for 60 noted
works "only some namespaces" kyverno_chart --set inject.namespaceSelector.matchLabels.rdma=yes
left() { [ -z "$(inits team)" ]; }
works "... another is left out" wait_for 60 left
kubectl label namespace team rdma=yes >"$tmp/said"
works "... until it has the label" wait_for 60 acts

break_policy() {
    kubectl patch mutatingpolicy nccl-init.nccl-init.io --type=json \
        --patch '[{"op": "add", "path": "/spec/matchConditions/-", "value": {"name": "broken", "expression": "object.spec.none == 1"}}]'
}
works "the mutating policy is broken" break_policy
no_such() { ! probe conf && grep -q 'no such key: none' "$tmp/waited"; }
works "... a pod with the label is stopped" wait_for 60 no_such
works "... one without is not" plain
works "failurePolicy=Ignore" kyverno_chart --set inject.failurePolicy=Ignore
kubectl get mutatingpolicy nccl-init.nccl-init.io --output yaml | grep -q 'name: broken' || break_policy >"$tmp/said"
starts() { probe conf | grep -q '"main"' && ! probe conf | grep -q nccl-init-conf; }
works "... lets it start without settings" wait_for 60 starts
works "failurePolicy=Fail, and not broken" kubectl delete mutatingpolicy nccl-init.nccl-init.io
works "... again" kyverno_chart
works "... the policies act" wait_for 60 acts

kill -KILL "$kyverno"
stopped() { ! probe conf && grep -q 'failed calling webhook.*connection refused' "$tmp/waited"; }
works "Kyverno ends: a pod with the label is stopped" wait_for 60 stopped
works "... one without is not" plain
serve_kyverno
works "... and starts again: the policies act" wait_for 180 acts

works "the mutating policy is taken away" kubectl delete mutatingpolicy nccl-init.nccl-init.io
not_there() { ! probe conf && grep -q 'the init container nccl-init-conf is not there' "$tmp/waited"; }
works "... a pod with the label is stopped, with a sentence" wait_for 60 not_there
works "... one without is not" plain

works "the chart is uninstalled" helm uninstall nccl-init --namespace nccl-init
same "... no policy is left" "" "$(kubectl get mutatingpolicies,validatingpolicies --output name)"
works "... and a pod with the label is as it is" wait_for 60 starts
finish
