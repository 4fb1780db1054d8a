#!/bin/sh
# log on real logs and extracts of such: tests/log/CASE has `case` (what it is and where it is from; `args ARG...`),
# *.log, and expected.values: what `log --json` says of them, without its sentences (tests/tools/values.py). If the case
# says `sentences`, expected.txt is the text for people (--all), and expected.screen the first screen, in 80 columns. tests/cli/log.sh --bless [CASE...] writes them anew.
# Then what a log cannot show: streams, statuses, odd bytes, memory.
# SPDX-License-Identifier: Apache-2.0
set -eu

program=${NCCL_INIT:-$PWD/build/static/nccl-init}
case $program in
/*) ;;
*) program=$PWD/$program ;;
esac
cd "$(dirname "$0")/../log"

bless=false
if [ "${1:-}" = --bless ]; then
	bless=true
	shift
fi
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
bad=0

complain() {
	echo "log: $1"
	bad=1
}

# expect STATUS ARG...: standard output in $tmp/out, both of it and the error in $tmp/all
expect() {
	want=$1
	shift
	status=0
	"$program" log "$@" >"$tmp/out" 2>"$tmp/err" || status=$?
	[ "$status" = "$want" ] || complain "log $*: status $status, not $want: $(head -c 300 "$tmp/err")"
}

compare() { # EXPECTED NOW
	if $bless; then
		cp "$2" "$1"
	else
		diff -u "$1" "$2" || complain "${1%/*}"
	fi
}

# ---- the cases -----------------------------------------------------------------------------------

[ $# -gt 0 ] || set -- *
for name in "$@"; do
	[ -d "$name" ] || continue
	args=$(sed -n 's/^args //p' "$name/case")
	status=0
	# shellcheck disable=SC2086 # words
	(cd "$name" && "$program" log $args --json -- *.log) >"$tmp/json" 2>"$tmp/err" || status=$?
	/usr/bin/python3 ../tools/values.py ${NCCL_INIT_SENTENCES:+--prose "$NCCL_INIT_SENTENCES"} \
		<"$tmp/json" >"$tmp/values" 2>>"$tmp/err" || complain "$name: $(cat "$tmp/err")"
	cp "$tmp/json" "$tmp/types.$name"
	echo "# exit $status" >>"$tmp/values"
	compare "$name/expected.values" "$tmp/values"
	grep -qx sentences "$name/case" || continue
	# shellcheck disable=SC2086 # words
	(cd "$name" && "$program" log --all $args -- *.log) >"$tmp/out" 2>&1 && status=0 || status=$?
	echo "# exit $status" >>"$tmp/out"
	compare "$name/expected.txt" "$tmp/out"
	# shellcheck disable=SC2086
	(cd "$name" && COLUMNS=80 "$program" log $args -- *.log) >"$tmp/out" 2>&1 && status=0 || status=$?
	echo "# exit $status" >>"$tmp/out"
	compare "$name/expected.screen" "$tmp/out"
done
/usr/bin/python3 ../tools/values.py --types "$tmp"/types.* 2>"$tmp/err" || complain "types: $(cat "$tmp/err")"
if $bless; then
	exit "$bad"
fi

# ---- jobs that ended in order ---------------------------------------------------------------------

grep -v '^#' in-order >"$tmp/in-order"
while read -r name but reason; do
	[ -z "$but" ] || [ -n "$reason" ] || complain "in-order: $name: $but has no reason"
	tail -n 1 "$name/expected.values" | grep -qx '# exit 0' || complain "in-order: $name: not status 0"
	grep -E 'severity=(error|warning)' "$name/expected.values" | grep -v "id=${but:-none} " >"$tmp/said" || true
	[ ! -s "$tmp/said" ] || complain "in-order: $name: $(cat "$tmp/said")"
done <"$tmp/in-order"
for values in */expected.values; do
	name=${values%/*}
	if tail -n 1 "$values" | grep -qx '# exit 0' && grep -q '^ranks .*state="ended in order"' "$values"; then
		grep -q "^$name\( \|\$\)" "$tmp/in-order" || complain "in-order: $name is not in the list"
	fi
done

# ---- streams and statuses ------------------------------------------------------------------------

cat sockets/*.log >"$tmp/both"
status=0
"$program" log <"$tmp/both" >"$tmp/out" || status=$?
[ "$status" = 0 ] || complain "from standard input: status $status"
grep -q '^2 ranks, NCCL 2.28.9, over sockets' "$tmp/out" || complain "from standard input: $(head -n 1 "$tmp/out")"
expect 1 --expect=rdma sockets/0.log
expect 1 --expect=gdr roce-8/0.log
expect 125 --expect=tcp sockets/0.log
expect 125 "$tmp/no-such-file"
grep -q 'ENOENT' "$tmp/err" || complain "a file that is not there: $(cat "$tmp/err")"
expect 125 "$tmp"
expect 125 --plan=none/0.log sockets/0.log
grep -q 'plan --json. writes: no JSON: ' "$tmp/err" || complain "a plan that is no JSON: $(cat "$tmp/err")"
echo '{"settings": {}}' >"$tmp/plan"
expect 125 --plan="$tmp/plan" sockets/0.log
expect 125 --plan="$tmp/no-such-file" sockets/0.log
expect 1 /dev/null
awk 'BEGIN { for (r = 0; r < 3000; r++) print "n" r ":1:1 [0] NCCL INFO comm 0x1 rank " r " nranks 3000 cudaDev 0 busId 1 - Init COMPLETE" }' >"$tmp/3000"
expect 0 --json "$tmp/3000"
[ "$(grep -c '"rank": [0-9]' "$tmp/out")" = 3000 ] || complain "3000 ranks: $(wc -c <"$tmp/out") bytes"
status=0
"$program" log --json "$tmp/3000" >/dev/full 2>"$tmp/err" || status=$?
[ "$status" = 1 ] || complain "a full disk: status $status"
grep -q 'ENOSPC' "$tmp/err" || complain "a full disk: $(cat "$tmp/err")"
status=0
"$program" log --json sockets/0.log >/dev/full 2>"$tmp/err" || status=$?
[ "$status" = 1 ] || complain "a full disk: status $status"

# ---- odd bytes -----------------------------------------------------------------------------------

# a line of a megabyte, NULs, no newline at the end: the lines beside them count
{
	cat sockets/0.log
	head -c 1048576 /dev/zero | tr '\0' x
	echo
	head -c 100000 /dev/zero
	printf '\n\033[31m'
	cat sockets/1.log
	printf 'no newline'
} >"$tmp/odd"
expect 0 "$tmp/odd"
grep -q '^2 ranks, NCCL 2.28.9, over sockets' "$tmp/out" || complain "odd bytes: $(head -n 1 "$tmp/out")"
# the program itself, and each cut of a log
head -c 2000000 "$program" >"$tmp/binary"
"$program" log "$tmp/binary" >"$tmp/out" 2>&1 || [ $? = 1 ] || complain "a binary: status $?"
! LC_ALL=C grep -q '[^ -~]' "$tmp/out" || complain "a binary: bytes that do not print"
for n in 1 10 100 1000 2000 3000; do
	head -c $n fake-hca/0.log >"$tmp/cut"
	"$program" log "$tmp/cut" >/dev/null 2>&1 || [ $? = 1 ] || complain "cut at $n: status $?"
done

# ---- more than was kept is not all ----------------------------------------------------------------

# 100,000 ranks are judged
awk 'BEGIN { for (r = 0; r < 100000; r++) {
	print "n" r ":1:1 [0] NCCL INFO Using network IB"
	print "n" r ":1:1 [0] NCCL INFO comm 0x1 rank " r " nranks 100000 cudaDev 0 busId 1 commId 0x1 - Destroy COMPLETE"
} }' >"$tmp/many"
expect 0 "$tmp/many"
grep -q '^100000 ranks, .*; all ended in order' "$tmp/out" || complain "100000 ranks: $(head -n 1 "$tmp/out")"
# one more than there is room for, the last one over sockets: it is not kept, so nothing good is said
awk 'BEGIN { for (r = 0; r < 131073; r++)
	print "n" r ":1:1 [0] NCCL INFO Using network " (r == 131072 ? "Socket" : "IB")
}' >"$tmp/more"
expect 1 "$tmp/more"
tr -s '\n ' ' ' <"$tmp/out" | grep -q '; not all of the log fitted' || complain "131073 processes: $(head -n 1 "$tmp/out")"
expect 1 --expect=rdma "$tmp/more"
rm "$tmp/many" "$tmp/more"
# the texts of one writer fill the room; what stands behind them is not judged as if it were not there
awk 'BEGIN { for (v = "x"; length(v) < 4000; v = v v); v = substr(v, 1, 4000)
	for (i = 0; i < 9000; i++) print "n0:1:1 [0] NCCL INFO NCCL_IB_HCA set to " i v }' >"$tmp/full"
cat "$tmp/full" sockets/0.log >"$tmp/hidden"
expect 1 "$tmp/hidden"

# ---- bounded memory, speed -----------------------------------------------------------------------

# 64 MiB of 512 ranks; the sanitizers' memory is their own
awk 'BEGIN {
	for (r = 0; r < 512; r++) {
		h = "trainer-" int(r / 8) ":" 100 + r % 8 ":7 [" r % 8 "] NCCL INFO "
		print h "Using network IB"
		print h "ncclCommInitRank comm 0x1 rank " r " nranks 512 cudaDev " r % 8 " nvmlDev 0 busId " r % 8 "a000 commId 0x2 - Init COMPLETE"
		for (c = 0; c < 16; c++)
			print h "Channel " c "/0 : " r "[0] -> " r + 1 "[0] [send] via NET/IB/" r % 4 "/GDRDMA"
		for (c = 0; c < 100; c++)
			print h "AllReduce: opCount " c " sendbuff 0x7fb201e00400 recvbuff 0x7fb201e00400 count 1 datatype 7 op 0 root 0 comm 0x1"
	}
}' >"$tmp/512"
cat "$tmp/512" "$tmp/512" "$tmp/512" "$tmp/512" "$tmp/512" "$tmp/512" "$tmp/512" "$tmp/512" >"$tmp/big"
mib=$(($(wc -c <"$tmp/big") / 1048576))
before=$(date +%s%N)
expect 0 "$tmp/big"
took=$((($(date +%s%N) - before) / 1000000))
grep -q '^512 ranks, RDMA set up on 4 HCAs of each node, GPUDirect on all' "$tmp/out" ||
	complain "big: $(head -n 1 "$tmp/out")"
echo "log: $mib MiB in $took ms"
if ! grep -qa __asan_init "$program"; then
	"$program" log --json - <"$tmp/big" >/dev/null &
	pid=$!
	peak=0
	while kb=$(sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' /proc/$pid/status 2>/dev/null) && [ -n "$kb" ]; do peak=$kb; done
	wait $pid || complain "big: status $?"
	if [ "$peak" -eq 0 ] || [ "$peak" -gt 8192 ]; then complain "$peak KiB of memory"; fi
	echo "log: $peak KiB resident"
fi

# The command for more reads the same file, or is not there.
mkdir "$tmp/names"
for name in "it's" -x 'two words' "$(printf 'new\nline')"; do
	cp ib-memlock/0.log "$tmp/names/$name.log"
	same=$name
	[ "$name" != -x ] || same=./-x
	(
		cd "$tmp/names" || exit
		"$program" log -- "$name.log" | sed -n "s|^All: *nccl-init|'$program'|p" >../command
		"$program" log --all -- "$same.log" >../all
		sh ../command </dev/null >../out
	) || true
	case $name in *line) : >"$tmp/all" ;; esac
	cmp -s "$tmp/all" "$tmp/out" || complain "All of $name.log: $(cat "$tmp/out")"
done

[ "$bad" = 0 ] && echo "log: $(find . -name case | wc -l) cases"
exit "$bad"
