#!/bin/sh
# Completion in bash (with its package and without), zsh and fish, on real shells, against the program's own help.
# SPDX-License-Identifier: Apache-2.0
set -u
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../cli/lib"
here=$(cd -- "$(dirname -- "$0")" && pwd)
bin=$(program)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/bin"
ln -s "$bin" "$dir/bin/nccl-init"
export PATH="$dir/bin:$PATH" NCCL_INIT_LAB=1

# What --help says, read in another way than the completions read it: "--name values", or "--name".
options() { # VERB
    "$bin" "$1" --help | grep -o -e '^  .*(NCCLINIT' | grep -o -e '--[^ ]*' | sed -e 's/=N//' -e 's/=/ /'
}

# "LINE|CANDIDATE...": of a candidate what stands behind the last of = , and /, for shells differ in what they replace.
{
    cat <<'LINES'
nccl-init pl|plan
nccl-init s|schema selftest snapshot
nccl-init completion |bash fish zsh
nccl-init |-- completion doctor env explain help install log plan preflight run schema selftest snapshot topo version watch
nccl-init help pl|plan
nccl-init explain iommu.t|iommu.translated
nccl-init help s|schema selftest snapshot
nccl-init plan --j|--json
nccl-init plan --format=|
nccl-init env --format=|docker json k8s nccl.conf sh
nccl-init env --format |docker json k8s nccl.conf sh
nccl-init env --mode=rdma --format n|nccl.conf
nccl-init --mode=r|rdma
nccl-init --require=rdma,g|gdr gdr-tried gpus
nccl-init run --require gdr,ra|rails
nccl-init run --for ucx,|all gloo mooncake nccl nixl nvshmem torchcomms vllm
nccl-init --sockets=l|lo
nccl-init --hcas=mlx5_1|mlx5_1 mlx5_10
nccl-init --hcas mlx5_0,|mlx5_0 mlx5_1 mlx5_10
nccl-init --hcas=mlx5_0:1,mlx5_10|mlx5_10
nccl-init doctor --network-status NCCL_INIT_LA|NCCL_INIT_LAB
nccl-init plan --root=/etc/hostn|hostname
nccl-init topo --root /etc/hostn|hostname
nccl-init env -o /etc/hostn|hostname
nccl-init snapshot --output=/etc/hostn|hostname
nccl-init install /etc/hostn|hostname
nccl-init plan --wait=|
nccl-init --wait 5 --mode=o|off
nccl-init -- prlimi|prlimit
nccl-init --mode=off --wait 3 -- prlimi|prlimit
nccl-init run prlimi|prlimit
nccl-init run --mode off -- prlimi|prlimit
nccl-init -- cat /etc/hostn|hostname
nccl-init run cat /etc/hostn|hostname
nccl-init --wait 3 -- nccl-init --mode=tc|tcp
nccl-init run nccl-init --mode=tc|tcp
LINES
    "$bin" --help | sed -n 's/^  \([a-z]*\)$/\1/p' | while read -r verb; do
        echo "nccl-init $verb --|$(options "$verb" | sed 's/ .*//' | { cat && echo --help; } | sort | xargs)"
    done
    options run | grep -v '[A-Z]\{2\}' | while read -r option values; do
        [ -z "$values" ] || echo "nccl-init $option=|$(echo "${values%,...}" | tr '|' '\n' | sort | xargs)"
    done
    options run | grep -e '--gdr' | while read -r option values; do
        echo "nccl-init run $option=|$(echo "$values" | tr '|' '\n' | LC_ALL=C sort | xargs)"
    done
} >"$dir/table"
[ "$(grep -c -e ' --|' "$dir/table")" -ge 8 ] || fail "the table" "$("$bin" --help) has few verbs"
cut -d '|' -f 1 "$dir/table" >"$dir/lines"

# Without devices the names would not be told from none: a /sys/class of our own, where that is allowed.
cat >"$dir/with-devices" <<'EOT'
mount -t tmpfs none /sys/class && mkdir -p /sys/class/infiniband/mlx5_0 /sys/class/infiniband/mlx5_1 \
    /sys/class/infiniband/mlx5_10 /sys/class/net/lo || exit
exec "$@"
EOT
set --
if unshare -m sh "$dir/with-devices" true 2>/dev/null; then
    set -- unshare -m sh "$dir/with-devices"
else
    skip "names of HCAs" "mounting over /sys/class is refused"
fi

for shell in bash bash-completion zsh fish; do
    if ! command -v "${shell%-*}" >/dev/null ||
        { [ $shell = bash-completion ] && ! [ -r /usr/share/bash-completion/bash_completion ]; }; then
        skip "$shell" "it is not installed"
        continue
    fi
    if ! "$@" "$here/complete.py" $shell <"$dir/lines" >"$dir/said" 2>"$dir/err"; then
        fail "$shell" "$(cat "$dir/err")"
        continue
    fi
    while IFS='|' read -r line expected && IFS= read -r said <&3; do
        [ $# -gt 0 ] || case $line in *mlx5*) continue ;; esac
        # bash alone completes file names behind a command, and no more
        [ $shell != bash ] || case $line in *nccl-init*nccl-init*) continue ;; esac
        # one that is an option of the line's kind, not the dashes; a command's name may have others beside it
        said=$(printf '%s\n' "$said" | tr ' ' '\n' | sed -e 's/=$//' -e 's/.*[=,/]//' | LC_ALL=C sort -u | xargs)
        case $line in *' --') said=$(printf '%s\n' "$said" | sed -e 's/^-- //' -e 's/ *--version//') ;; esac
        same "$shell: $line" "$(printf '%s\n' "$expected" | tr ' ' '\n' | LC_ALL=C sort | xargs)" "$said"
    done <"$dir/table" 3<"$dir/said"
    same "$shell: lines" "$(wc -l <"$dir/table")" "$(wc -l <"$dir/said")"
done

# ---- names that a shell would carry out ----------------------------------------------------------

# Interfaces, HCAs, files and commands whose names are code. What Tab puts is carried out with Return: nothing of it may run.
cat >"$dir/with-code" <<'EOT'
mount -t tmpfs none /sys/class && mkdir /sys/class/net /sys/class/infiniband && mkdir bin || exit
printf '%s\n' 'a$(>ran)' 'b`>ran`' 'c;>ran' "$(printf 'd\001$(>ran)')" "e'\$(>ran)'" 'f"$(>ran)' 'g&>ran' >names
while IFS= read -r name; do
    mkdir "/sys/class/net/$name" "/sys/class/infiniband/$name" "file-$name" && : >"bin/command-$name" &&
        chmod +x "bin/command-$name" || exit
done <names
# It knows its options, and does nothing.
printf '#!/bin/sh\ncase " $* " in *" --help "*) exec %s "$@" ;; esac\n' "$real" >bin/nccl-init
chmod +x bin/nccl-init
PATH=$PWD/bin:$PATH exec "$@"
EOT
{
    for name in a b c d e f g; do
        printf '%s\n' "nccl-init plan --sockets=$name" "nccl-init run --hcas lo,$name" "nccl-init run command-$name" \
            "nccl-init --root=file-$name"
    done
    # a quote stays open, and fish goes on with the line
    printf '%s\n' 'nccl-init plan --sockets="a' 'nccl-init plan --hcas "d' "nccl-init run --sockets='e" 'nccl-init run "command-a'
} >"$dir/code"
for shell in bash bash-completion zsh fish; do
    if [ $# -eq 0 ] || ! command -v "${shell%-*}" >/dev/null; then
        skip "$shell: names that are code" "it is not installed, or mounting is refused"
        continue
    fi
    [ $shell != fish ] || sed -i "/['\"]/d" "$dir/code"
    rm -rf "$dir/cwd"
    mkdir "$dir/cwd"
    (cd "$dir/cwd" && real=$bin unshare -m sh "$dir/with-code" "$here/complete.py" $shell enter) <"$dir/code" >"$dir/said" 2>&1 ||
        fail "$shell: names that are code" "$(cat "$dir/said")"
    same "$shell: names that are code: lines" "$(wc -l <"$dir/code")" "$(wc -l <"$dir/said")"
    same "$shell: names that are code" "no" "$([ -e "$dir/cwd/ran" ] && cat "$dir/said" || echo no)"
done
finish
