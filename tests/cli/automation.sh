#!/bin/sh
# completion and schema: what scripts and agents ask for is what the program takes.
# SPDX-License-Identifier: Apache-2.0
set -u
# shellcheck source=/dev/null
. "$(dirname -- "$0")/lib"
bin=$(program)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$(dirname -- "$0")/../.." || exit

# ---- completion ------------------------------------------------------------------------------

for shell in bash zsh fish; do
    script=src/completions/nccl-init.$shell
    [ "$shell" != zsh ] || script=src/completions/_nccl-init
    "$bin" completion "$shell" >"$dir/script"
    same "$shell: the script, byte by byte" "$(cksum <"$script")" "$(cksum <"$dir/script")"
done
for words in "" "sh" "bash zsh" "../bash"; do
    # shellcheck disable=SC2086 # words
    "$bin" completion $words >"$dir/out" 2>"$dir/err" && status=0 || status=$?
    same "completion '$words'" "125 0 1" "$status $(wc -c <"$dir/out" | tr -d ' ') $(wc -l <"$dir/err" | tr -d ' ')"
done
"$bin" completion bash >/dev/full 2>"$dir/err" && status=0 || status=$?
same "a full disk" 1 "$status"

# ---- schema ----------------------------------------------------------------------------------

"$bin" schema >"$dir/schema"
jq -r '.verbs[].name' "$dir/schema" | sort >"$dir/verbs"
"$bin" --help | sed -n 's/^  \([a-z]*\)$/\1/p' | sort >"$dir/verbs-of-help"
same "verbs" "$(cat "$dir/verbs-of-help")" "$(cat "$dir/verbs")"

# "verb --option=values (VARIABLE)", from the schema and from the help of each verb
jq -r '.options[] | . as $o | .verbs[] | . + " " + $o.name + (if $o.value then "=" + $o.value else "" end) + " (" + $o.variable + ")"' \
    "$dir/schema" | sort >"$dir/options"
while read -r verb; do
    "$bin" "$verb" --help | sed -n "s/^  \(-o, \)*\(--.*\)  \((NCCLINIT_.*)\)\$/$verb \2 \3/p"
done <"$dir/verbs" | sort >"$dir/options-of-help"
same "options of each verb" "" "$(diff "$dir/options-of-help" "$dir/options" | head -n 5)"
same "many options" yes "$([ "$(wc -l <"$dir/options")" -gt 100 ] && echo yes)"

jq -r '.findings[] | .id + " " + .severity' "$dir/schema" >"$dir/findings"
"$bin" explain | sed -n 's/^  \([a-z0-9]*\.[a-z0-9.-]*\)  *\(info\|warning\|error\) .*$/\1 \2/p' | LC_ALL=C sort >"$dir/findings-of-explain"
same "findings" "" "$(LC_ALL=C sort "$dir/findings" | diff "$dir/findings-of-explain" - | head -n 5)"
same "each finding and rule has its page" 0 "$(jq '[.findings[], .rules[] | select(.page == null)] | length' "$dir/schema")"
"$bin" plan --rules | grep -v '^ \|^$' >"$dir/rules"
same "rules" "$(cat "$dir/rules")" "$(jq -r '.rules[].id' "$dir/schema")"

# a variable of the schema is one that the plan decides by that rule
"$bin" plan --for=all --json --root=tests/nodes/h100-pod.tree | jq -r '.settings[] | .name + " " + .rule' | sort >"$dir/decided"
jq -r '.variables[] | .name + " " + .rule' "$dir/schema" | sort >"$dir/variables"
same "each decided variable is in the schema" "" "$(comm -23 "$dir/decided" "$dir/variables")"

# the page has each member, and no other
jq -r 'paths | map(if type == "number" then "[]" else . end) | join(".") | gsub("\\.\\[\\]"; "[]")' "$dir/schema" |
    grep -v ']$' | sort -u >"$dir/members"
jq -r 'to_entries[] | select(.value | type == "array") | .key' "$dir/schema" >>"$dir/members"
sort -u -o "$dir/members" "$dir/members"
# shellcheck disable=SC2016 # the backquotes are Markdown's
sed -n '/^## Members of/,$s/^| `\([^`]*\)` .*/\1/p' docs/reference/automation.md | sort -u >"$dir/members-of-page"
same "members" "$(cat "$dir/members-of-page")" "$(cat "$dir/members")"
# shellcheck disable=SC2016 # the backquotes are Markdown's
jq -r '.verbs[] | .effect + " " + .name' "$dir/schema" | sort >"$dir/effects"
# shellcheck disable=SC2016 # the backquotes are Markdown's
sed -n 's/^| `\(reads\|file\|uses\|starts\)` | \([^|]*\) |.*/\1 \2/p' docs/reference/automation.md |
    tr -d '`,' | awk '{ for (i = 2; i <= NF; i++) print $1, $i }' | sort >"$dir/effects-of-page"
same "effects" "$(cat "$dir/effects-of-page")" "$(cat "$dir/effects")"

# ---- what reads changes nothing --------------------------------------------------------------

mkdir "$dir/empty"
for verb in plan doctor explain schema version help "completion bash"; do
    # shellcheck disable=SC2086 # words
    (cd "$dir/empty" && env -i HOME="$dir/empty" TMPDIR="$dir/empty" "$bin" $verb >/dev/null 2>&1)
    same "$verb leaves no file" "" "$(ls -A "$dir/empty")"
done
finish
