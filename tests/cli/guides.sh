#!/bin/sh
# Holds the guides in docs/ to what they say: shell blocks parse, samples (here and in the other documents) are what the
# program prints, the ids of findings, rules and checks exist, manifests are there and helm's commands run, each guide has
# its sections.
# SPDX-License-Identifier: Apache-2.0
set -u
# shellcheck source=/dev/null
. "$(dirname -- "$0")/lib"
program=$(program)
withenv=$(tool withenv)
cd "$(dirname -- "$0")/../.." || exit 1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

changing='openshift iommu memlock sriov softroce drivers gpudirect passthrough migrate preflight'
guides="$changing verify fleet watch troubleshooting"

# ---- sections, and the way to each guide from docs/README.md -----------------------------------------

for guide in $guides; do
    file=docs/guides/$guide.md
    wrong=
    for words in '**For whom**' 'When it is wrong'; do
        case $guide-$words in
        troubleshooting-When*) continue ;; # all of it is
        esac
        grep -qF "$words" "$file" || wrong="$wrong no '$words';"
    done
    case " $changing " in
    *" $guide "*)
        grep -q '^## .*Verify' "$file" || wrong="$wrong no section Verify;"
        grep -q '^## Roll back' "$file" || wrong="$wrong no section Roll back;"
        ;;
    esac
    grep -qF "(guides/$guide.md)" docs/README.md || wrong="$wrong no link in docs/README.md;"
    same "$file: sections" "" "$wrong"
done

# ---- blocks ----------------------------------------------------------------------------------------

# blocks KIND FILE: the fenced blocks of that kind, without their indentation, each after a line "@ LINE"
blocks() {
    awk -v kind="$1" '
        match($0, /^ *```/) {
            if (on) { on = 0; next }
            if (!inside && substr($0, RLENGTH + 1) == kind) { on = 1; indent = RLENGTH - 3; print "@ " FNR; next }
            inside = !inside
            next
        }
        on { print substr($0, indent + 1) }' "$2"
}

parsed=0
for guide in $guides; do
    blocks sh "docs/guides/$guide.md" >"$tmp/blocks"
    [ -s "$tmp/blocks" ] || continue
    awk -v base="$tmp/block" '/^@ [0-9]+$/ { close(out); out = base "." $2; next } { print >out }' "$tmp/blocks"
    for block in "$tmp"/block.*; do
        parsed=$((parsed + 1))
        sh -n "$block" 2>"$tmp/err" || fail "docs/guides/$guide.md:${block##*.}: does not parse" "$(cat "$tmp/err")"
        rm "$block"
    done
done
matches "shell blocks that parse" "[1-9][0-9]*" "$parsed"

# A sample begins with "$ [NAME=VALUE...] nccl-init VERB [OPTION...] --root tests/nodes/NODE.tree", or with "$ nccl-init log
# [--all] tests/log/FILE", and ends at the next prompt or at the block's end. It is run with the environment of the golden case NODE
# and these variables; the sample is the whole output, but for empty lines. A line "..." stands for lines left out, " ..."
# at the end of a line for the rest of it.
for file in README.md docs/*.md docs/*/*.md; do
    blocks console "$file" >"$tmp/blocks"
    grep -e '^\$ .*nccl-init .*--root tests/nodes/' -e '^\$ nccl-init log \(--all \)*tests/log/' "$tmp/blocks" >"$tmp/samples"
    while read -r _ command; do
        node=${command##*tests/nodes/}
        case=tests/golden/${node%.tree}
        : >"$tmp/env"
        [ ! -e "$case/env" ] || cat "$case/env" >"$tmp/env"
        arguments=$command
        while :; do
            case $arguments in
            nccl-init\ *) break ;;
            [A-Z]*=*\ *)
                printf '%s\n' "${arguments%% *}" >>"$tmp/env"
                arguments=${arguments#* }
                ;;
            *) break ;;
            esac
        done
        # shellcheck disable=SC2086 # words
        "$withenv" "$tmp/env" "$program" ${arguments#nccl-init } >"$tmp/out" 2>&1
        awk -v command="\$ $command" '
            $0 == command { on = 1; next }
            on && (/^\$ / || /^@ /) { exit }
            on && NF { print }' "$tmp/blocks" >"$tmp/want"
        missing=$(grep -v '^ *$' "$tmp/out" | awk -v sample="$tmp/want" '
            function fits(line) { return cut ? index(line, want) == 1 : line == want }
            { output[++n] = $0 }
            END {
                while ((getline want <sample) > 0) {
                    if (want ~ /^ *\.\.\.$/) {
                        left_out = 1
                        continue
                    }
                    cut = sub(/ \.\.\.$/, " ", want)
                    at++
                    while (left_out && at <= n && !fits(output[at]))
                        at++
                    left_out = 0
                    if (!fits(output[at])) {
                        print "not the next line: " want
                        exit
                    }
                }
                if (!left_out && at < n)
                    print "left out: " output[at + 1]
            }')
        same "$file: $command" "" "$missing"
        [ -s "$tmp/want" ] || fail "$file: $command" "the sample is empty"
        echo "$file $command" >>"$tmp/sampled"
    done <"$tmp/samples"
done
for must in 'README.md nccl-init plan --root tests/nodes/h100-pod.tree' 'docs/reference/usage.md nccl-init doctor ' \
    'docs/reference/usage.md nccl-init topo ' 'docs/reference/findings.md nccl-init env '; do # the first is what `./dev demo` shows
    grep -q "^$must" "$tmp/sampled" || fail "samples" "none of $must"
done
# a finding's line is quoted in such a sample only; those of selftest.md come from a device
same "findings that are quoted by hand" "" "$(grep -nE '^ *nccl-init: (error|warning|info): [a-z0-9-]+\.[a-z0-9.-]+: ' README.md docs/*.md docs/*/*.md |
    grep -v -e '^docs/reference/selftest.md:' -e '^docs/reference/findings.md:[0-9]*:nccl-init: warning: hca.port.down: ')"

# ---- commands in pods --------------------------------------------------------------------------------

# `kubectl logs job/NAME` takes one of the job's pods, and not always that of rank 0, which has the table.
same "logs of the benchmark: those of rank 0" "" "$(grep -n 'job/all-reduce' README.md docs/*.md docs/*/*.md k8s/README.md)"
# Where the policy and the chart job have the program.
path=$(sed -n 's|^- \(/.*/nccl-init\)$|\1|p' k8s/charts/job/templates/_helpers.tpl)
same "exec into a pod: the program's place, or where it was copied" "$path
/tmp/nccl-init" \
    "$(cat README.md docs/*.md docs/*/*.md k8s/README.md | sed -n 's/^ *kubectl .*exec [^`]* -- \([^ ]*nccl-init\) .*/\1/p' | sort -u)"
# The way into a pod of today: the words after `--` are run here, with another place for /tmp.
mkdir "$tmp/pod" "$tmp/bin"
# shellcheck disable=SC2016 # the stub's
printf '#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n' >"$tmp/bin/kubectl"
chmod +x "$tmp/bin/kubectl"
cp "$program" "$tmp/pod/nccl-init"
for page in docs/guides/troubleshooting.md docs/start/need.md; do
    blocks sh "$page" | sed -n "\\|/tmp/nccl-init|s|/tmp/|$tmp/|gp" >"$tmp/into"
    (cd "$tmp/pod" && PATH=$tmp/bin:$PATH sh -e "$tmp/into") >"$tmp/out" 2>"$tmp/err"
    matches "$page: the program in a pod of today" "READY for *: *READY*: *" "$(cat "$tmp/out" "$tmp/err")"
done
[ -s "$tmp/pod/node.tree" ] || fail "docs/start/need.md: snapshot" "no recording"

# ---- ids ---------------------------------------------------------------------------------------------

sed -n 's/^        \.id = "\(.*\)",$/\1/p' src/findings/*.c >"$tmp/findings"
"$program" plan --rules | grep '^[a-z]' | cat - "$tmp/findings" >"$tmp/ids"
sed -n 's/^    \.id = "\(.*\)",$/\1/p' src/doctor/check_*.c >>"$tmp/ids"
areas=$(sed 's/\..*//' "$tmp/ids" | sort -u | tr '\n' '|')

# what stands in backquotes and begins like an id; rdma.max is a file of the cgroup
for guide in $guides; do
    # shellcheck disable=SC2016 # the backquotes are Markdown's
    grep -o '`[^`]*`' "docs/guides/$guide.md" | tr -d '`' |
        grep -E "^(${areas%|})\.[a-z0-9.-]+\$" | grep -vxF -e rdma.max | sort -u >"$tmp/used"
    same "docs/guides/$guide.md: ids that do not exist" "" "$(grep -vxF -f "$tmp/ids" "$tmp/used")"
done

# each entry of the index: the text, cause, findings or why none, what to do
awk '
    function done() {
        if (entry != "" && !(cause && findings && action))
            print entry ": " (cause ? "" : "no cause ") (findings ? "" : "no findings ") (action ? "" : "nothing to do")
    }
    /^##/ { done(); entry = "" }
    /^### / {
        entry = substr($0, 5)
        cause = findings = action = 0
        if (entry !~ /^`.*`$/) print entry ": not the text that people see"
    }
    /^Cause: ./ { cause = 1 }
    /^Findings: (none: .|`)/ { findings = 1 }
    /^Do: ./ { action = 1 }
    END { done() }' docs/guides/troubleshooting.md >"$tmp/entries"
same "docs/guides/troubleshooting.md: entries" "" "$(cat "$tmp/entries")"
# shellcheck disable=SC2016
grep '^Findings: `' docs/guides/troubleshooting.md | grep -o '`[^`]*`' | tr -d '`' | sort -u >"$tmp/used"
same "docs/guides/troubleshooting.md: what is no finding" "" "$(grep -vxF -f "$tmp/findings" "$tmp/used")"

# ---- manifests ---------------------------------------------------------------------------------------

for guide in $guides; do
    grep -oE '(^|[^A-Za-z0-9./-])k8s/[A-Za-z0-9@._/-]*[A-Za-z0-9]' "docs/guides/$guide.md" | grep -o 'k8s/.*' | sort -u |
        while read -r path; do [ -e "$path" ] || echo "$path"; done >"$tmp/missing"
    same "docs/guides/$guide.md: manifests that are not there" "" "$(cat "$tmp/missing")"
done

# What the guides tell people to type must run, as far as it needs no cluster: each release is rendered.
for file in README.md docs/*.md docs/*/*.md k8s/README.md; do
    blocks sh "$file" | sed -e :a -e '/\\$/N; s/\\\n//; ta' |
        sed -nE "s|^helm (install\|upgrade\|template) ([a-z-]+ k8s/.*)|$file \2|p" |
        sed -e 's/ [#|].*//' -e 's/--reuse-values//; s/--create-namespace//' -e 's|REGISTRY/|registry.example/|'
done >"$tmp/commands"
matches "commands of helm" "[1-9][0-9]*" "$(wc -l <"$tmp/commands" | tr -d ' ')"
if why=$(.dev/k8s tools 2>&1); then
    # the files of values that they write first
    mkdir "$tmp/values"
    cat docs/*.md docs/*/*.md k8s/README.md | awk -v folder="$tmp/values/" '
        /^cat >[a-z-]*\.yaml <</ { file = folder substr($2, 2); end = $3; gsub(/[<\047]/, "", end); next }
        file != "" && $0 == end { file = "" }
        file != "" { print >file }'
    while read -r file command; do
        echo "$command" | sed -E "s#(-f|--values) #&$tmp/values/#" | xargs .dev/k8s helm template >"$tmp/out" 2>"$tmp/err"
        same "$file: helm $command" "0 " "$? $(cat "$tmp/err")"
        grep -q '^kind: ' "$tmp/out" || fail "$file: helm $command" "it renders to nothing"
    done <"$tmp/commands"
    cat k8s/README.md docs/*.md docs/*/*.md | grep -oE -e '-k k8s/[A-Za-z0-9_/-]*' | sort -u >"$tmp/used"
    while read -r _ path; do
        .dev/k8s render "$path" >"$tmp/out" 2>"$tmp/err"
        same "-k $path" 0 "$?"
    done <"$tmp/used"
else
    skip "commands of helm, and what -k names" "$(printf '%s\n' "$why" | tail -n 1)"
fi

finish
