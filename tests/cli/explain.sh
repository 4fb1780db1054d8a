#!/bin/sh
# What explain knows of texts: tests/cli/explain.texts, which were written down before they were tried.
# SPDX-License-Identifier: Apache-2.0
set -u
# shellcheck source=/dev/null
. "$(dirname -- "$0")/lib"
bin=$(program)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
unset COLUMNS NO_COLOR

# ---- texts of public threads -----------------------------------------------------------------

# begins LINE ENTRY...: the line begins with one of the entries
begins() {
    line=$1
    shift
    for entry; do
        case $line in "$entry" | "$entry "* | "$entry:"*) return 0 ;; esac
    done
    return 1
}

n=0
while IFS= read -r line; do
    case $line in '#'*) continue ;; esac
    entries=${line%% : *} text=${line#* : } sure=yes
    case $entries in '? '*) sure=no entries=${entries#??} ;; -) sure=no entries= ;; esac
    first=$("$bin" explain "$text" 2>"$dir/err" | head -n 1)
    is_sure=yes
    case $first in "perhaps "*) is_sure=no first=${first#perhaps } ;; '') is_sure=no ;; esac
    same "sure: $text" "$sure" "$is_sure"
    n=$((n + 1))
    [ -n "$entries" ] || continue
    saved=$IFS
    IFS='|'
    # shellcheck disable=SC2086 # an entry each
    set -- $entries
    IFS=$saved
    begins "$first" "$@" || fail "$text" "expected $entries, got '$first'"
done <"$(dirname -- "$0")/explain.texts"
[ "$n" -ge 60 ] || fail "texts" "only $n"

# ---- forms -----------------------------------------------------------------------------------

same "words without quotes are one text" "$("$bin" explain 'ibv_reg_mr_iova2 failed with error Cannot allocate memory')" \
    "$("$bin" explain ibv_reg_mr_iova2 failed with error Cannot allocate memory)"
out=$("$bin" explain NCCL_IB_HCA)
matches "a variable" "*Unset: NCCL uses each ACTIVE port*The rule ?hca.list?*Decides: *docs/reference/rules.md*" "$out"
matches "a variable of a library" "*The rule ?for.libraries?*" "$("$bin" explain UCX_NET_DEVICES)"
matches "the cause stands in another line" "log.pinned*" "$("$bin" explain "unhandled system error
node1:215:330 [0] NCCL WARN Call to ibv_create_cq failed with error Cannot allocate memory")"
matches "what follows from others says so" "*usually follows from a fault of another process*" "$("$bin" explain unhandled system error)"
matches "what other lines may excuse says so" "*Alone it may be harmless*" "$("$bin" explain "UCX ERROR mlx5dv_devx_obj_create(CQ) failed, syndrome 0x0")"
same "at most three" yes "$([ "$("$bin" explain memory registration limit of the container | grep -c '^perhaps ')" -le 3 ] && echo yes)"
"$bin" explain >"$dir/all"
same "all: groups" 6 "$(grep -c '^[A-Z]' "$dir/all")"
same "all: short lines" 0 "$(grep -c '^.\{101\}' "$dir/all")"
same "all: short lines of a narrow terminal" 0 "$(COLUMNS=60 "$bin" explain | grep '^  ' | grep -c '^.\{61\}')"

# each heading of the document leads to its section
# shellcheck disable=SC2016 # the backquotes are Markdown's
sed -n 's/^### `\(.*\)`$/\1/p' docs/guides/troubleshooting.md >"$dir/headings"
same "headings" yes "$([ "$(wc -l <"$dir/headings")" -gt 80 ] && echo yes)"
while IFS= read -r heading; do
    "$bin" explain "$heading" | grep -qFx "\`$heading\`" || fail "heading" "$heading"
done <"$dir/headings"

# ---- what holds here -------------------------------------------------------------------------

# here GOLDEN-CASE TEXT: what explain says with that recording and that pod's variables, on one line
here() {
    # shellcheck disable=SC2046 # a variable each
    env -i $(cat "tests/golden/$1/env") "$bin" explain --root="tests/nodes/$(sed -n 's/^node //p' "tests/golden/$1/case").tree" "$2" |
        sed -n '/^On that node/,$p' | tr -s '\n ' ' '
}
matches "a variable of the user's" \
    "*user.gid-index.wrong: mlx5_0/1:*NCCL_IB_GID_INDEX=3 (your environment)*mlx5_0/1: this pod's GID is at index 7: *" \
    "$(here user-gid-wrong NCCL_IB_GID_INDEX)"
matches "an error of libibverbs" "*user.gid-index.wrong: mlx5_0/1:*this pod's GID is at index 7: *" \
    "$(here user-gid-wrong "NCCL WARN Call to ibv_modify_qp failed with error Invalid argument")"
matches "a finding that holds" "*error: user.gid-index.wrong: mlx5_0/1:*" "$(here user-gid-wrong user.gid-index.wrong)"
matches "a finding that does not" "*doctor? does not report it. " "$(here user-gid-wrong gid.v1-only)"
matches "a fault whose causes are not here" "*reports none of its usual causes: memlock.too-low, memlock.low " \
    "$(here user-gid-wrong "Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory")"
matches "a rule" "*NCCL_IB_HCA==mlx5_0:1: *" "$(here user-gid-wrong hca.list)"
same "a preflight's finding is of no node" "" "$(here user-gid-wrong job.missing)"
"$bin" explain --root="$dir/none" NCCL_IB_HCA >"$dir/out" 2>"$dir/err" && status=0 || status=$?
same "no such root" "125 0" "$status $(wc -c <"$dir/out" | tr -d ' ')"

# ---- hostile texts ---------------------------------------------------------------------------

# unknown NAME TEXT: status 1, one line that can be printed on stderr, nothing on stdout
unknown() {
    out=$("$bin" explain "$2" 2>"$dir/err") && status=0 || status=$?
    same "$1: status" "1 " "$status $out"
    same "$1: lines" 1 "$(wc -l <"$dir/err" | tr -d ' ')"
    same "$1: bytes that print" 0 "$(LC_ALL=C tr -d '\n -~' <"$dir/err" | wc -c | tr -d ' ')"
    same "$1: short" yes "$([ "$(wc -c <"$dir/err")" -lt 900 ] && echo yes)"
}
unknown "words that nothing has" "zyzzyva quixotic"
unknown "an empty text" ""
unknown "blanks" "   "
unknown "10 kB" "$(head -c 10000 /dev/zero | tr '\0' q)"
unknown "10 kB of blanks and signs" "$(head -c 10000 /dev/zero | tr '\0' '%')"
unknown "control characters" "$(printf '\033[31m\001\002\r\177\n\t\b')"
unknown "UTF-8" "Gerät weg 設備がない 🚫"
unknown "no UTF-8" "$(printf '\377\376\200')"
unknown "formats" "%s%n%d%x"
matches "a line between 10 kB" "log.pinned*" "$("$bin" explain "$(head -c 5000 /dev/zero | tr '\0' x) NCCL WARN Call to ibv_reg_mr_iova2 failed with error Cannot allocate memory $(head -c 5000 /dev/zero | tr '\0' y)")"
out=$("$bin" explain "$(printf 'NCCL WARN Call to ibv_create_qp failed with error Cannot allocate memory \033[31m\001')" | LC_ALL=C tr -d '\n -~' | wc -c | tr -d ' ')
same "nothing of the text is shown as it is" 0 "$out"
"$bin" explain unhandled system error >/dev/full 2>"$dir/err" && status=0 || status=$?
same "a full disk" 1 "$status"
finish
