#!/bin/sh
# What `nccl-init doctor` said on each node: results.sh --namespace NS [--all]
# One line per node, and below it the ids of its findings and whether GPUs were checked; --all adds what findings say.
# Exit status 1 when a node has an error or no result. Reads the logs of the Job nccl-doctor, which deploy.sh --run doctor starts.
# SPDX-License-Identifier: Apache-2.0
set -eu

namespace='' all=''
while [ $# -gt 0 ]; do
    case $1 in
    --namespace) namespace=${2:-} && shift ;;
    --all) all=1 ;;
    *)
        sed -n '2,4s/^# //p' "$0" >&2
        exit 2
        ;;
    esac
    shift
done
if [ -z "$namespace" ]; then
    echo "results.sh: --namespace is missing" >&2
    exit 2
fi
if [ -z "${KUBECTL:-}" ]; then
    if command -v kubectl >/dev/null; then KUBECTL=kubectl; else KUBECTL=oc; fi
fi

pods=$("$KUBECTL" get pods -n "$namespace" -l app.kubernetes.io/name=nccl-doctor \
    -o 'jsonpath={range .items[*]}{.metadata.name} {.status.phase} {.spec.nodeName}{"\n"}{end}')
if [ -z "$pods" ]; then
    echo "results.sh: no pod of nccl-doctor in $namespace; start it: deploy.sh --namespace $namespace --run doctor" >&2
    exit 1
fi

# doctor's JSON has one member per line; a finding begins with its id.
table() {
    awk -v node="$1" -v all="$all" '
        function value(line) { sub(/^[^:]*: "?/, "", line); sub(/"?,?$/, "", line); return line }
        /^  "errors":/ { errors = value($0); known = 1 }
        /^  "warnings":/ { warnings = value($0) }
        /^  "findings":/ { inside = 1 }
        /^  "checks":/ { inside = 0; checks = 1 }
        checks && /^      "id":/ { id = value($0) }
        checks && /^      "outcome":/ && id == "gdr.driver" { gpus = value($0) }
        inside && /^      "id":/ { id = value($0) }
        inside && /^      "severity":/ { severity = value($0) }
        inside && /^      "subject":/ { subject = value($0) }
        inside && /^      "message":/ {
            if (severity != "info" || all)
                text = text sprintf("    %-8s %s: %s\n", severity, id, subject) (all ? "             " value($0) "\n" : "")
        }
        END {
            if (!known) { printf "%-32s no result\n", node; exit 1 }
            printf "%-32s %s error%s, %s warning%s\n%s", node, errors, errors == 1 ? "" : "s",
                warnings, warnings == 1 ? "" : "s", text
            print "    GPU checks: " (gpus == "idle" ? "not made, no GPU in the pod: --gpus" : gpus == "" ? "unknown" : "made")
            exit errors > 0
        }'
}

bad=0
while read -r pod phase node; do
    case $phase in
    Succeeded | Failed) "$KUBECTL" logs -n "$namespace" "$pod" 2>/dev/null | table "$node" || bad=1 ;;
    *)
        printf '%-32s %s\n' "${node:-(no node)}" "$phase: $KUBECTL describe pod -n $namespace $pod"
        bad=1
        ;;
    esac
done <<EOF
$pods
EOF
exit "$bad"
