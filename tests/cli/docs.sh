#!/bin/sh
# Holds documents, program and golden tests together: findings, rules, checks, options, links. Samples: guides.sh.
# SPDX-License-Identifier: Apache-2.0
set -euf

program=${NCCL_INIT:-$PWD/build/static/nccl-init}
case $program in
/*) ;;
*) program=$PWD/$program ;;
esac
cd "$(dirname "$0")/../.."

man=docs/reference/nccl-init.8

# What no golden output names by its id: "ID|FILE|PATTERN|why". The pattern must stand in a golden case's FILE or, if FILE
# is a path, in that file.
not_in_goldens='
net.transport|expected.values|^schema.* transport=tcp |its decision is a member of the plan, which names no rule
ib.pkey|expected.values|^findings id=ib\.pkey|it decides nothing, its findings are checked one by one
user.values|expected.values|^findings id=user\.|it decides nothing, its findings are checked one by one
caps.command|expected.values|^findings id=caps\.|it sets no variable, its findings are checked one by one
gpu.hcas|expected.values|^gpus [0-9]* use hca=|its decision is the member use of a GPU, which names no rule
require|expected.values|^schema.* refuse=\.\.\.|its decision is a member of the plan, which names no rule
memlock.raise|expected.values|^schema.* memlock.soft_raised_to=[-0-9]|its decision is a member of the plan, which names no rule
exec.no-room|tests/exec/no-room.sh|exec.no-room|only a command that is started can show it, and a golden case starts none
job.key.host|tests/cli/preflight.sh|job.key.host|only pods that meet can show it
job.key.name|tests/cli/preflight.sh|job.key.name|only pods that meet can show it
job.refused|tests/unit/preflight/test_strangers.c|NI_F_JOB_REFUSED[^A-Z_]|only pods that meet can show it
wait.over|tests/unit/cli/test_wait.c|NI_F_WAIT_OVER|only a live root is waited for, and a golden case has a recorded one
memlock.elsewhere|tests/cli/doctor.sh|memlock.elsewhere|only a file of settings shows it, and a golden case writes none
verbs.dmabuf.none|tests/unit/selftest/test_trials.c|NI_F_VERBS_DMABUF[^A-Z_]|only a device can say so, and a golden case has none
verbs.gid|tests/unit/selftest/test_trials.c|NI_F_VERBS_GID[^A-Z_]|only a device can say so, and a golden case has none
verbs.memlock|tests/unit/selftest/test_trials.c|NI_F_VERBS_MEMLOCK[^A-Z_]|only a device can say so, and a golden case has none
gdr.tried.bytes|tests/unit/selftest/test_gpu.c|NI_F_GDR_TRIED_BYTES[^A-Z_]|only a GPU and an HCA that are tried can show it, and a golden case has none
gdr.tried.failed|tests/unit/selftest/test_gpu.c|NI_F_GDR_TRIED_FAILED[^A-Z_]|only a GPU and an HCA that are tried can show it, and a golden case has none
gdr.tried.late|tests/unit/selftest/test_gpu.c|NI_F_GDR_TRIED_LATE[^A-Z_]|only a GPU and an HCA that are tried can show it, and a golden case has none
gdr.tried.left|tests/unit/selftest/test_gpu.c|NI_F_GDR_TRIED_LEFT[^A-Z_]|only a GPU and an HCA that are tried can show it, and a golden case has none
gdr.tried.slow|tests/unit/selftest/test_gpu.c|NI_F_GDR_TRIED_SLOW[^A-Z_]|only a GPU and an HCA that are tried can show it, and a golden case has none
gdr.untried|tests/unit/selftest/test_gpu.c|NI_F_GDR_UNTRIED[^A-Z_]|only a GPU and an HCA that are tried can show it, and a golden case has none
require.gdr-tried|tests/try/gpu.sh|require=gdr-tried|only a GPU and an HCA that are tried can show it, and a golden case has none
image.abi|tests/unit/selftest/test_image.c|NI_F_IMAGE_ABI[^A-Z_]|only libraries that are loaded say so, and a golden case has none
image.load|tests/unit/selftest/test_image.c|NI_F_IMAGE_LOAD[^A-Z_]|only libraries that are loaded say so, and a golden case has none
image.nccl.failed|tests/unit/selftest/test_nccl.c|NI_F_IMAGE_NCCL_FAILED[^A-Z_]|only libraries that are loaded say so, and a golden case has none
image.nccl.plugin|tests/unit/selftest/test_nccl.c|NI_F_IMAGE_NCCL_PLUGIN[^A-Z_]|only libraries that are loaded say so, and a golden case has none
image.nccl.sums|tests/unit/selftest/test_nccl.c|NI_F_IMAGE_NCCL_SUMS[^A-Z_]|only libraries that are loaded say so, and a golden case has none
image.nccl.untried|src/selftest/nccl.c|NI_F_IMAGE_NCCL_UNTRIED[^A-Z_]|only libraries that are loaded say so, and a golden case has none
image.open|tests/unit/selftest/test_image.c|NI_F_IMAGE_OPEN[^A-Z_]|only libraries that are loaded say so, and a golden case has none
image.untried|tests/unit/selftest/test_image.c|NI_F_IMAGE_UNTRIED[^A-Z_]|only libraries that are loaded say so, and a golden case has none
verbs.none|tests/cli/selftest.sh|verbs.none|only a live root is tried, and a golden case has a recorded one
verbs.open|tests/unit/selftest/test_trials.c|NI_F_VERBS_OPEN[^A-Z_]|only a device can say so, and a golden case has none
verbs.port|tests/unit/selftest/test_trials.c|NI_F_VERBS_PORT[^A-Z_]|only a device can say so, and a golden case has none
verbs.process|tests/unit/selftest/test_trials.c|NI_F_VERBS_PROCESS[^A-Z_]|only a device can say so, and a golden case has none
verbs.protection|tests/unit/selftest/test_trials.c|NI_F_VERBS_PROTECTION[^A-Z_]|only a device can say so, and a golden case has none
verbs.provider|tests/unit/selftest/test_trials.c|NI_F_VERBS_PROVIDER[^A-Z_]|only a device can say so, and a golden case has none
verbs.resources|tests/unit/selftest/test_trials.c|NI_F_VERBS_RESOURCES[^A-Z_]|only a device can say so, and a golden case has none
verbs.transfer|tests/unit/selftest/test_trials.c|NI_F_VERBS_TRANSFER[^A-Z_]|only a device can say so, and a golden case has none
'
# Options of other programs that the documents name.
foreign_options='--env-file --ulimit --init --bless --preset --shell --device --cap --no-cap --env --user'
foreign_options="$foreign_options --type --dry-run --now --op --report --arch --no-caps --from --platform --build-arg"
foreign_options="$foreign_options --check --dirty --tag --repo --install --prefix --strip-components --list --wrap"
foreign_options="$foreign_options --push --disaggregation-ib-device --map-by --no-python --ntasks-per-node"
foreign_options="$foreign_options --pid --tail --nnodes --node-rank --nproc-per-node --master-addr"

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
bad=0

complain() {
	echo "docs: $1"
	bad=1
}

# same WHAT LEFT RIGHT: two sorted lists; names what only one of them has (a name twice counts as such)
same() {
	if ! [ -s "$tmp/$2" ]; then
		complain "$1: nothing found"
	fi
	diff "$tmp/$2" "$tmp/$3" >"$tmp/diff" || {
		complain "$1:"
		sed -n "s/^</  only in $2:/p; s/^>/  only in $3:/p" "$tmp/diff"
	}
}

# ids in headings of the form "## `id`"
headings() {
	# shellcheck disable=SC2016 # the backquotes are Markdown's
	sed -n 's/^## `\(.*\)`$/\1/p' "$1"
}

# ---- the bounds that fact.truncated names are those of the code

sed -n 's/^ *NI_\(MAX_HCA\|MAX_NETDEV\|MAX_PORT\|MAX_GID\|GID_TABLE\|MAX_ROUTE\|MAX_GPU\|MAX_CONF\|MAX_ADDR\) = \([0-9]*\).*/\2/p' \
	include/nccl_init/inventory.h include/nccl_init/gpu.h include/nccl_init/net.h include/nccl_init/rdma.h | sort >"$tmp/bounds"
# shellcheck disable=SC2016 # the backquotes are Markdown's
sed -n '/^## `fact.truncated`/,/The rest is ignored/p' docs/reference/findings.md | grep -ow '[0-9][0-9,]*' | tr -d , | sort >"$tmp/told"
same "bounds in findings.md" bounds told

# ---- findings and rules have a heading each, and only they ---------------------------------------

# "NAME id severity cost", from the rows of the catalogue and its table of costs
subjects=$(find src/findings -name '[!c]*.c')
for rows in $subjects; do
	sed -n 's/^        \.id = "\(.*\)",$/\1/p' "$rows" | LC_ALL=C sort -c || complain "$rows: not in the order of the ids"
done
# shellcheck disable=SC2086 # words
awk '/^    \[NI_COST_/ {
         cost = $1; gsub(/[][]/, "", cost)
         severity = tolower($3); gsub(/[{,]|ni_/, "", severity)
         words = $0; sub(/^[^"]*"/, "", words); sub(/".*/, "", words)
         is[cost] = severity " " words
     }
     /^        \.number = NI_F_/ { name = $3; gsub(/NI_F_|,/, "", name) }
     /^        \.id = "/ { id = $3; gsub(/[",]/, "", id) }
     /^        \.cost = / { cost = $3; sub(/,/, "", cost); print name, id, is[cost] }' \
	src/findings/catalogue.c $subjects | LC_ALL=C sort -k 2,2 >"$tmp/catalogue"
cut -d ' ' -f 2,3 "$tmp/catalogue" >"$tmp/severities"
cut -d ' ' -f 1 "$tmp/severities" >"$tmp/findings.h"
headings docs/reference/findings.md >"$tmp/findings.md"
same "findings, in the order of the ids" findings.h findings.md
"$program" explain | sed -n 's/^  \([a-z0-9]*\.[a-z0-9.-]*\)  *[a-z]*  .*$/\1/p' | LC_ALL=C sort >"$tmp/listed"
same "findings, in the list of explain" findings.h listed

"$program" plan --rules | grep '^[a-z]' | sort >"$tmp/rules.c"
headings docs/reference/rules.md | sort >"$tmp/rules.md"
same "rules" rules.c rules.md

# explain has the page of each: all words of the document, in its order
# shellcheck disable=SC2046 # a word each
"$program" explain $(cat "$tmp/findings.h") >"$tmp/pages"
sed -n 's/^\([a-z0-9.-]*\) (\(info\|warning\|error\))$/\1 \2/p' "$tmp/pages" >"$tmp/explain"
same "the pages of explain" severities explain
# a link keeps its words, unless they are a page's name; the places behind them are compared below
places='s/ \((docs|k8s)\/[^ )]*\)//g; s/: (docs|k8s)\/[^ )]*\)/)/g; s/(docs|k8s)\/[^ ),;]*//g'
tr -s '[:space:]' ' ' <"$tmp/pages" | sed -E "$places" | tr ' ' '\n' | grep -vx -e '(\(info\|warning\|error\))' -e '' >"$tmp/explained"
# shellcheck disable=SC2016 # the backquotes are Markdown's
sed -n '/^## `/,$p' docs/reference/findings.md | sed -e '/^Severity: /d' -e 's/^## `\(.*\)`$/\1/' | tr -s '[:space:]' ' ' |
	sed -E -e 's/\[[^]]*\]\((https?:[^)]*)\)/\1/g' -e 's/\[[^]]*\.md\]\([^)]*\)/docs\/x/g' -e 's/\[([^]]*)\]\([^)]*\)/\1/g' -e "$places" |
	tr ' ' '\n' | sed '/^$/d' >"$tmp/written"
diff "$tmp/written" "$tmp/explained" >"$tmp/diff" || {
	complain "explain does not show the words of docs/reference/findings.md:"
	head -n 5 "$tmp/diff"
}
# ... and the places of its links, in their order
places_of() { tr -s '[:space:]' ' ' | grep -oE '(docs|k8s)/[A-Za-z0-9_./-]*[A-Za-z0-9]'; }
places_of <"$tmp/pages" >"$tmp/places.explained"
sed -n '/^## `/,$p' docs/reference/findings.md | tr -s '[:space:]' ' ' |
	sed -E -e 's|\[[^]]*\]\(#[^)]*\)|docs/reference/findings.md|g' -e 's|\[[^]]*\]\(\.\./\.\./([^)#]*)[^)]*\)|\1|g' \
		-e 's|\[[^]]*\]\(\.\./([^)#]*)[^)]*\)|docs/\1|g' -e 's|\[[^]]*\]\(([a-z][^):#]*)[^):]*\)|docs/reference/\1|g' |
	places_of >"$tmp/places.written"
diff "$tmp/places.written" "$tmp/places.explained" >"$tmp/diff" || {
	complain "explain does not show the places of the links of docs/reference/findings.md:"
	head -n 5 "$tmp/diff"
}

# each setting that a rule makes in a golden case is one that the rule says it sets
"$program" plan --rules | awk '/^[a-z]/ { rule = $1 } /^    sets / { print rule, $0 }' >"$tmp/sets"
find tests/golden -name expected.values -exec sed -n 's/^settings name=\([^ ]*\) .*origin=rule rule=\([^ ]*\) .*/\2 \1/p' {} + |
	sort -u >"$tmp/made"
[ -s "$tmp/made" ] || complain "no setting in the golden cases"
while read -r rule name; do
	grep -q "^$rule .*\b$name\b" "$tmp/sets" || complain "the rule $rule sets $name, and plan --rules does not say so"
done <"$tmp/made"

# the table of rules.md: a row for each rule, in the rules' order, and NCCL's variables that each sets
"$program" plan --rules | awk '
	/^[a-z]/ { rule = $1; print rule }
	/^    sets / { while (match($0, /NCCL_[A-Z0-9_]*/)) { print rule, substr($0, RSTART, RLENGTH); $0 = substr($0, RSTART + RLENGTH) } }' |
	sort >"$tmp/rules-set"
awk -F '|' '
	/^\| rule \| variable \|/ { on = 1; getline; next }
	on && !NF { exit }
	on && match($2, /`[^`]*`/) { rule = substr($2, RSTART + 1, RLENGTH - 2); print rule }
	on { while (match($3, /NCCL_[A-Z0-9_]*/)) { print rule, substr($3, RSTART, RLENGTH); $3 = substr($3, RSTART + RLENGTH) } }' \
	docs/reference/rules.md >"$tmp/table"
grep -v ' ' "$tmp/table" >"$tmp/rules-table"
"$program" plan --rules | grep '^[a-z]' >"$tmp/rules-order"
same "the table of rules.md, in the rules' order" rules-order rules-table
sort "$tmp/table" >"$tmp/rules-table"
same "variables in the table of rules.md" rules-set rules-table

# NCCL's variables that rules may set: each of these lists has them all
grep -o '\bNCCL_[A-Z0-9_]*' "$tmp/sets" | sort -u >"$tmp/variables"
for list in src/rules/left_unset.c docs/reference/usage.md; do
	while read -r name; do
		grep -qw "$name" "$list" || complain "$list does not list $name, which a rule may set"
	done <"$tmp/variables"
done

# the checks in the order of the table, "check NAME id" of each row
checks=$(find src/doctor -name 'check_*.c')
# shellcheck disable=SC2086 # words
sed -n -e 's/^const struct ni_check ni_check_\([a-z0-9_]*\) = {$/\1/p' -e 's/^    \.id = "\(.*\)",$/\1/p' $checks | paste -d ' ' - - >"$tmp/rows"
grep -o '&ni_check_[a-z0-9_]*' src/doctor/checks.c | cut -c 11- |
	awk 'NR == FNR { id[$1] = $2; next } { print id[$1] }' "$tmp/rows" - >"$tmp/check.c"
# shellcheck disable=SC2016 # the backquotes are Markdown's
sed -n '/^## Checks/,$ s/^| `\([a-z0-9.-]*\)` | .*/\1/p' docs/reference/rules.md >"$tmp/checks.md"
same "doctor's checks" check.c checks.md
# shellcheck disable=SC2016
sed -n '/^## Checks/,$ s/^- `\([a-z0-9.-]*\)`: `.*/\1/p' docs/reference/rules.md >"$tmp/checks.md"
same "the findings of doctor's checks" check.c checks.md

# "CHECK FINDING", from the rows and the names of the catalogue
cut -d ' ' -f 1,2 "$tmp/catalogue" >"$tmp/ids"
# shellcheck disable=SC2086 # words
awk 'NR == FNR { id[$1] = $2; next }
     /^    \.id = "/ { check = $3; gsub(/[",]/, "", check) }
     /^    \.(findings|beside) = / { inside = 1 }
     inside {
         while (match($0, /NI_F_[A-Z0-9_]+/)) {
             print check, id[substr($0, RSTART + 5, RLENGTH - 5)]
             $0 = substr($0, RSTART + RLENGTH)
         }
     }
     /^};/ { inside = 0 }' "$tmp/ids" $checks | sort >"$tmp/row.findings"
# shellcheck disable=SC2016
sed -n '/^## Checks/,$ s/^- `\([a-z0-9.-]*\)`: `/\1 `/p' docs/reference/rules.md |
	awk '{ check = $1; while (match($0, /`[a-z0-9-]*\.[a-z0-9.-]*`/)) {
		id = substr($0, RSTART + 1, RLENGTH - 2); $0 = substr($0, RSTART + RLENGTH)
		if (id in is) print check, id } }
	     NR == FNR { is[$2] }' "$tmp/ids" - | sort >"$tmp/checks.md"
same "the findings of each check" row.findings checks.md

# the severity and the cost of each
awk '/^## `/ { id = substr($2, 2, length($2) - 2) }
     /^Severity: / { print id, substr($0, 11) }' docs/reference/findings.md >"$tmp/findings.md"
sed 's/^[^ ]* \([^ ]*\) \([^ ]*\) \(.*\)/\1 \2 (\3)/' "$tmp/catalogue" >"$tmp/findings.c"
same "severities and costs" findings.c findings.md

# one rule for the severity: the cost, which each section names behind it, has one severity in the table
sed -n '/^## Severity$/,/^## `/ s/^| \([a-zA-Z ]*\) | \(error\|warning\|info\) | .*/\2 (\1)/p' docs/reference/findings.md |
	sort -u >"$tmp/costs"
sed -n 's/^Severity: //p' docs/reference/findings.md | sort -u >"$tmp/costs.md"
same "costs of the findings" costs costs.md

# the index has a row for each, in their order: a link, the severity, the cost
awk '/^## `/ { id = substr($2, 2, length($2) - 2) }
     /^Severity: / {
         at = id
         gsub(/\./, "", at)
         cost = $0
         sub(/^.*\(/, "", cost)
         sub(/\)$/, "", cost)
         print "| [`" id "`](#" at ") | " $2 " | " cost " |"
     }' docs/reference/findings.md >"$tmp/index"
sed -n '/^## Index$/,/^## `/ s/^| \[.*/&/p' docs/reference/findings.md >"$tmp/index.md"
same "the index of findings.md" index index.md

# ---- preflight.md lists the findings of a job with their severities, and the settings that are compared

grep '^job\.' "$tmp/severities" >"$tmp/job.h"
# shellcheck disable=SC2016 # the backquotes are Markdown's
sed -n 's/^| `\(job\.[a-z.]*\)` | \([a-z]*\) | .*/\1 \2/p' docs/reference/preflight.md >"$tmp/preflight.md"
same "findings in preflight.md" job.h preflight.md
sed -n '/ni_job_settings\[/,/^};/p' src/rules/job_settings.c | grep -o 'NCCL_[A-Z0-9_]*' >"$tmp/settings.c"
sed -n '/^## Settings that must/,/^`NCCL_IB_DISABLE/p' docs/reference/preflight.md | sed -n '/^- /,/^$/p' |
	grep -o 'NCCL_[A-Z0-9_]*' >"$tmp/settings.md"
same "settings in preflight.md" settings.c settings.md

# ---- the program's options are the manual's ------------------------------------------------------

if [ -x "$program" ]; then
	"$program" --help >"$tmp/help"
	verbs=$(sed -n 's/^  \([a-z]*\)$/\1/p' "$tmp/help")
	[ -n "$verbs" ] || complain "$program --help names no verb"
	for verb in $verbs; do
		"$program" "$verb" --help >"$tmp/help-verb"
		cat "$tmp/help-verb" >>"$tmp/help"
		sed -n 's/^  \(.*--.*\)  \((NCCLINIT_.*)\)$/\1\2/p' "$tmp/help-verb" | sed "s/ //g; s/$/ $verb/" >>"$tmp/help-table"
		grep -q "^\.B nccl-init $verb\$" "$man" || complain "$man: the synopsis lacks $verb"
	done
	# "-o,--output=FILE(NCCLINIT_OUTPUT) For env and snapshot", of the help and of the manual's headings
	awk -v count="$(echo "$verbs" | wc -w)" '
		{ n[$1]++; verbs[$1] = verbs[$1] (n[$1] > 1 ? ", " : "") $2 }
		$1 ~ /^--hcas=/ { node = verbs[$1] } # each verb that reads the node takes it
		$1 ~ /^--mode=/ { deciding = verbs[$1] } # each verb that decides
		END {
			for (option in n) {
				who = verbs[option]
				sub(/, [a-z]*$/, " and&", who)
				sub(/ and, /, " and ", who)
				if (n[option] == count) who = "every verb"
				if (verbs[option] == node) who = "every verb that reads the node"
				if (verbs[option] == deciding) who = "every verb that decides"
				print option " For " who
			}
		}' "$tmp/help-table" | sort >"$tmp/help-options"
	# shellcheck disable=SC2016 # `\f.` is roff's
	awk '/^\.SS / { sub(/^\.SS /, ""); group = $0 }
		previous == ".TP" && /NCCLINIT_[A-Z]/ {
			gsub(/^\.[BI]R? |\\f[BIRP]|\\\||\\:|[ "]/, "")
			gsub(/\\-/, "-")
			print $0 " " group
		}
		{ previous = $0 }' "$man" | sort >"$tmp/man-options"
	same "options, their values, variables and verbs" help-options man-options
	{ "${program%/*}/nccl-init-hook" --help && k8s/fleet --help && k8s/check --help; } | cat "$tmp/help" - | grep -o -e '--[a-z][a-z-]*' |
		sort -u >"$tmp/help-options"

	# in a block of code only lines with nccl-init count; helm's options are guides.sh's
	find README.md CHANGELOG.md SECURITY.md docs -name '*.md' -exec awk '
		FNR == 1 { block = 0 }
		/^ *```/ { block = !block }
		(!block || /nccl-init/) && !/deploy\.sh|helm|^    --set|^| `--/' {} + |
		grep -ohE -e '(^|[^a-z-])--[a-z][a-z-]*' | grep -o -e '--[a-z-]*' | sort -u >"$tmp/used"
	while read -r option; do
		case " $foreign_options " in
		*" $option "*) ;;
		*) grep -qxF -e "$option" "$tmp/help-options" || complain "the documents name $option, which is no option" ;;
		esac
	done <"$tmp/used"
else
	complain "$program is not there: build it, or set NCCL_INIT"
fi

# ---- the tour's stops exist ------------------------------------------------------------------------

# "FILE FUNCTION", from [FILE](../FILE): `FUNCTION`, `FUNCTION`.
tr '\n' ' ' <docs/dev/tour.md | sed 's/  */ /g; s/\[src\//\n[src\//g' >"$tmp/tour"
# shellcheck disable=SC2016 # the backquotes are Markdown's
sed -n 's/^\[\(src[^]]*\)\][^:]*: \(`[^.]*`\)\..*/\1 \2/p' "$tmp/tour" |
	awk '{ gsub(/[`,]/, ""); for (i = 2; i <= NF; i++) print $1, $i }' >"$tmp/stops"
[ -s "$tmp/stops" ] || complain "docs/dev/tour.md: no stop found"

# The table's names: "`NAME`, `NAME` in FILE", "`NAME` there" or alone, of the FILE before it. A FILE is below src/ or not.
awk -F '|' '
	function flush() { if (file != "") print file names; names = "" }
	/^## What is wrong/ { on = 1 }
	!on || !/^\|/ || /^\| (what|---)/ { next }
	{
		names = file = ""
		n = split($3, word, " ")
		for (i = 1; i <= n; i++) {
			w = word[i]
			sub(/[;:,.]*$/, "", w)
			if (w ~ /^`[A-Za-z_][A-Za-z0-9_]*`$/)
				names = names " " substr(w, 2, length(w) - 2)
			else if (w ~ /^[a-z0-9_]+(\/[a-z0-9_.]+)+$/) {
				if (word[i - 1] != "in" && file != "" && names != "") flush()
				file = w
				flush()
			}
		}
		flush()
	}' docs/dev/tour.md >"$tmp/places"
[ "$(wc -l <"$tmp/places")" -gt 60 ] || complain "docs/dev/tour.md: the table of what is wrong is not understood"
while read -r file names; do
	[ ! -e "src/$file" ] || file=src/$file
	[ -e "$file" ] || complain "docs/dev/tour.md: the table names $file, which does not exist"
	for name in $names; do
		echo "$file $name" >>"$tmp/stops"
	done
done <"$tmp/places"
while read -r file name; do
	case $file in
	src/* | include/*)
		# a function or a table begins a line with its name
		awk -v name="$name" '
			/^[a-z}]/ && !/\);$/ && $0 ~ ("(^|[ *])" name "[[(]") { found = 1 }
			END { exit !found }' "$file" 2>/dev/null || complain "docs/dev/tour.md: $file has no $name"
		;;
	*) grep -qw "$name" "$file" 2>/dev/null || complain "docs/dev/tour.md: $file has no $name" ;;
	esac
done <"$tmp/stops"

# ---- the lab's scenarios are those of its document -----------------------------------------------

find tests/vm/scenarios -name '*.sh' -exec basename {} .sh \; | sort >"$tmp/tests-vm"
# shellcheck disable=SC2016 # the backquotes are Markdown's
sed -n '/^## Scenarios/,/^## /s/^- \(`[^:]*`\): .*/\1/p' docs/dev/lab.md | tr -d '`' | tr ',' '\n' | tr -d ' ' |
	sort >"$tmp/lab.md"
same "the lab's scenarios" tests-vm lab.md

# ---- the fuzzing guide has a line for each harness, and only for them -----------------------------

# shellcheck disable=SC2016 # the backquotes are Markdown's
sed -n '/^## Harnesses/,/^## /s/^- `\([^:]*\)`: .*/\1/p' docs/dev/fuzzing.md | sort >"$tmp/fuzzing.md"
find tests/fuzz -name 'fuzz_*.c' | sed 's|.*/fuzz_\(.*\)\.c|\1|' | sort >"$tmp/harnesses"
same "the harnesses" harnesses fuzzing.md

# ---- the hook's options are its manual's --------------------------------------------------------

if [ -x "${program%/*}/nccl-init-hook" ]; then
	"${program%/*}/nccl-init-hook" --help | grep -o -e '--[a-z][a-z-]*' | sort -u >"$tmp/hook-help"
	sed -n '/^\.SH OPTIONS/,/^\.PP/p' docs/reference/nccl-init-hook.8 | tr -d '\134' | sed -n 's/^\.BR\{0,1\} \(--[a-z-]*\).*/\1/p' |
		sort -u >"$tmp/hook-man"
	same "the hook's options" hook-help hook-man
fi

# ---- the manual is clean roff --------------------------------------------------------------------

for page in "$man" docs/reference/nccl-init-hook.8; do
	grep -qF "\"nccl-init $(sed -n 's/^project(.*VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)\"" "$page" ||
		complain "$page: .TH has another version"
	if command -v groff >/dev/null; then
		LC_ALL=C.UTF-8 groff -man -Tutf8 -ww "$page" 2>&1 >/dev/null | sed 's/^/docs: /' >"$tmp/roff"
		cat "$tmp/roff"
		[ ! -s "$tmp/roff" ] || bad=1
	else
		echo "skipped: groff is not installed"
	fi
	if command -v mandoc >/dev/null; then
		mandoc -Tlint -W warning "$page" || bad=1
	else
		echo "skipped: mandoc is not installed"
	fi
done

# ---- links lead somewhere ------------------------------------------------------------------------

# The addresses of a page's headings, as GitHub makes them.
anchors() {
	awk '/^ *```/ { block = !block } !block && /^#+ / { sub(/^#+ /, ""); print }' "$1" | sed 's/](\([^)]*\))//g' |
		tr '[:upper:]' '[:lower:]' | tr ' ' - | tr -cd 'a-z0-9_\n-'
}

set +f
for file in README.md CONTRIBUTING.md CHANGELOG.md SECURITY.md $(find docs -name '*.md') k8s/README.md; do
	sed -n 's/\](/\n](/gp' "$file" | sed -n 's/^](\([^)]*\)).*/\1/p' >"$tmp/links"
	sed -n 's/^\[[^]]*\]: \([^ ]*\)$/\1/p' "$file" >>"$tmp/links"
	while IFS= read -r link; do
		case $link in
		*://* | mailto:*) continue ;;
		'#'*) target=$file ;;
		*) target=$(dirname "$file")/${link%%#*} ;;
		esac
		[ -e "$target" ] || complain "$file: no $link"
		case $link in
		*.md'#'* | '#'*) anchors "$target" | grep -qxF -e "${link#*#}" || complain "$file: $link: no such heading" ;;
		esac
	done <"$tmp/links"
done

# ---- one door: each page has a line in docs/README.md, and says for whom it is ---------------------

for page in docs/*/*.md docs/*/*.8; do
	grep -qF "(${page#docs/})" docs/README.md || complain "docs/README.md does not name $page"
	case $page in
	*.md) grep -qF '**For whom**' "$page" || complain "$page does not say for whom it is" ;;
	esac
done
set -f

# ---- lines are not too long to read side by side with something else ------------------------------

find README.md CONTRIBUTING.md CHANGELOG.md SECURITY.md docs k8s/README.md -type f ! -name '*.svg' -exec awk '
	length($0) > 120 { print "docs: " FILENAME ":" FNR ": " length($0) " characters" }' {} + >"$tmp/long"
cat "$tmp/long"
[ ! -s "$tmp/long" ] || bad=1

# ---- each id occurs in a golden case --------------------------------------------------------------

find tests/golden tests/log -name expected.values -exec cat {} + >"$tmp/expected.values"
if [ -s "$tmp/expected.values" ]; then
	{
		sed -n 's/^findings id=\([^ ]*\) .*/\1/p' "$tmp/expected.values"
		grep -oE ' rule=[a-z.-]+' "$tmp/expected.values" | sed 's/.*=//'
		# the pods of a job: "error: job.link.differs: rail 2 ..."
		find tests/preflight -name expected -exec cat {} + | sed -nE 's/^(error|warning|info): ([^ :]+):.*/\2/p'
	} | sort -u >"$tmp/seen"
	cut -d ' ' -f 1 "$tmp/severities" | cat - "$tmp/rules.c" >"$tmp/ids"
	while read -r id; do
		exception=$(printf '%s' "$not_in_goldens" | grep "^$id|") || exception=
		if grep -qxF -e "$id" "$tmp/seen"; then
			[ -z "$exception" ] || complain "$id occurs in golden outputs: its exception is not needed"
		elif [ -z "$exception" ]; then
			complain "$id occurs in no golden case"
		fi
	done <"$tmp/ids"
	printf '%s' "$not_in_goldens" | sed '/^$/d' >"$tmp/exceptions"
	while IFS='|' read -r id file pattern why; do
		grep -qxF -e "$id" "$tmp/ids" || complain "an exception for $id, which does not exist"
		[ -n "$why" ] || complain "an exception for $id without a reason"
		case $file in
		*/*) ;;
		*) file=$tmp/$file ;;
		esac
		grep -qE -e "$pattern" "$file" || complain "$id: no line like '$pattern' in ${file#"$tmp/"}"
	done <"$tmp/exceptions"
else
	complain "no golden values: tests/golden/run --bless"
fi

[ "$bad" = 0 ] && echo "docs: $(wc -l <"$tmp/findings.h") findings, $(wc -l <"$tmp/rules.c") rules, $(wc -l <"$tmp/help-options") options"
exit "$bad"
