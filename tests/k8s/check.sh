#!/bin/sh
# k8s/check on a recording of a cluster where all is there (tests/k8s/check.json; tests/cluster/scenarios/check.sh makes it):
# each of what is then changed is found, in a sentence that says what, what it costs and who does what; any JSON is survived.
# SPDX-License-Identifier: Apache-2.0
set -u
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../cli/lib"
cd "$(dirname -- "$0")/../.." || exit 1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

check() { # ARG...: the status in $status, the output in $said
    k8s/check "$@" >"$tmp/out" 2>&1 && status=0 || status=$?
    said=$(tr -s ' \n' '  ' <"$tmp/out" | sed 's/ $//')
}
well="0 ml: 0 errors, 0 warnings; 4 pods with the label in 1 workload"

# ---- what is changed is found --------------------------------------------------------------------------------------------

of_python() { # VERB ARG...: it says `ok: NAME` or `FAILED: NAME: WHY` itself
    /usr/bin/python3 tests/k8s/check.py "$@" || failures=$((failures + 1))
}
of_python cases "$tmp"

# ---- forms ---------------------------------------------------------------------------------------------------------------

check -n ml --from - <tests/k8s/check.json
same "from standard input" "$well" "$status $said"
check -n ml --from tests/k8s/check.json --record
/usr/bin/python3 -c 'import json, sys; a, b = (json.load(open(f)) for f in sys.argv[1:]); sys.exit(a != b)' "$tmp/out" tests/k8s/check.json ||
    fail "a recording of a recording" "it is another one"
check -n ml --from "$tmp/network-missing.json" --json
same "--json" "1 1 ['cost', 'severity', 'what', 'who'] error" "$status $(/usr/bin/python3 -c 'import json, sys
d = json.load(open(sys.argv[1])); print(d["schema"], sorted(d["findings"][0]), d["findings"][0]["severity"])' "$tmp/out")"
check -n ml --from "$tmp/network-missing.json"
same "lines are not too long" "" "$(awk 'length > 100' "$tmp/out")"
check -n ml --from "$tmp/one-node-without.json"
same "k8s/README.md: the sample" "$(sed 's/^/    /; s/^ *$//' "$tmp/out")" \
    "$(sed -n '/^    ml: 1 error/,/^    *for fewer pods/p' k8s/README.md)"
check -n ml --from /dev/null
matches "nothing" "1 check: there is no object of Kubernetes in it" "$status $said"
check -n ml --from "$tmp/none"
matches "no file" "1 check: *: No such file or directory" "$status $said"
check --from /dev/null
matches "no namespace: wrong usage" "2 *-n*" "$status $said"
check -n ml --from - --planned - </dev/null
matches "standard input twice: wrong usage" "2 *cannot both*" "$status $said"
head -c 1000 tests/k8s/check.json >"$tmp/cut.json"
check -n ml --from "$tmp/cut.json"
matches "a file that is cut off" "1 check: this is no JSON: *" "$status $said"
KUBECTL=$tmp/none check -n ml
matches "no kubectl" "1 check: no answer from the cluster: *" "$status $said"

# what may hold secrets is not recorded
cat >"$tmp/kubectl" <<'END'
#!/bin/sh
case "$*" in
"api-resources --no-headers") echo "pods po v1 true Pod" ;;
"get --raw /version") echo '{"major": "1", "minor": "37+"}' ;;
*) echo '{"kind": "List", "items": [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "ml", "uid": "u"},
    "spec": {"containers": [{"name": "a", "env": [{"name": "TOKEN", "value": "hunter2"}], "args": ["hunter2"], "command": ["hunter2"]}]}}]}' ;;
esac
END
chmod +x "$tmp/kubectl"
KUBECTL=$tmp/kubectl check -n ml --record
matches "a recording" '0 *"minor": "37+"*"name": "a"*' "$status $said"
same "... has no variable and no argument" "" "$(grep hunter2 "$tmp/out")"

# ---- any JSON ------------------------------------------------------------------------------------------------------------

of_python odd
finish
