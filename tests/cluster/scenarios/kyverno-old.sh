#!/bin/bash
# The chart nccl-init on Kubernetes 1.33, which has no policies of its own that change pods: with inject.engine: kyverno `conf` and
# `wrap` are as on the newest, and `env`, which it has not, is refused with a sentence.
# API server: kubernetes-1.33
# seconds: 90
# SPDX-License-Identifier: Apache-2.0
# shellcheck disable=SC2154 # tmp comes from lib, chart from injection
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../lib"
# shellcheck source=/dev/null
. tests/cluster/injection

values=(--namespace nccl-init --create-namespace --set inject.defaults.wait=20 --set inject.defaults.memlock=keep)
with_kyverno
namespaces
judge before "$tmp/before"
refused "without Kyverno the chart is refused" '*has no MutatingAdmissionPolicy; use inject.engine: kyverno*' \
    helm install nccl-init "$chart" "${values[@]}"
checked() { # what k8s/check says of the injection
    k8s/check -n team 2>&1 | tr -s ' \n' ' ' | grep -oE 'error: (The cluster|nccl-init is not|The injection)[^.]*'
}
works "a workload with the label" kubectl --namespace team create --filename - <<'END'
apiVersion: apps/v1
kind: Deployment
metadata: {name: trainer}
spec:
  replicas: 1
  selector: {matchLabels: {app: trainer}}
  template:
    metadata: {labels: {app: trainer, nccl-init.io/inject: conf}}
    spec: {containers: [{name: main, image: none}]}
END
same "k8s/check: the chart is not there" "error: nccl-init is not installed: no MutatingPolicy is its own" "$(checked)"
by_kyverno "${values[@]}"
same "k8s/check: the chart is there" "" "$(checked)"
finish
