#!/bin/sh
# kubectl nccl-init: which program of a pod is run, with which options and status; what is said where there is none.
# kubectl is a stand-in here: a pod is a folder, whose files stand for those of its container. What a real API server and a
# real kubelet say is tried by tests/cluster/scenarios/nodes-pages.sh.
# SPDX-License-Identifier: Apache-2.0
set -u
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../cli/lib"
top=$(cd -- "$(dirname -- "$0")/../.." && pwd)
bin=$(program)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/bin" "$dir/pods"

cat >"$dir/bin/kubectl" <<'EOT'
#!/bin/sh
# exec POD [-c C] -- PROGRAM ARG..., logs POD, get pods -l SELECTOR: in $PODS
echo "$*" >>"$PODS.calls"
[ "$1" != --namespace ] || shift 2
verb=$1
shift
case $verb in
get)
    [ "$3" = job=train ] || exit 0
    ls "$PODS"
    exit
    ;;
esac
[ "$1" != -i ] || shift
pod=$1
shift
[ -d "$PODS/$pod" ] || {
    echo "Error from server (NotFound): pods \"$pod\" not found" >&2
    exit 1
}
if [ "$verb" = logs ]; then
    cat "$PODS/$pod/log"
    exit
fi
[ "$1" != -c ] || shift 2
shift
program=$1
shift
if [ "$program" = sh ]; then
    [ -e "$PODS/$pod/has-sh" ] || program=/none
    [ "$program" = /none ] || exec env PATH=/usr/bin:/bin sh "$1" "$(echo "$2" | sed "s|\$0|$PODS/$pod/tmp/nccl-init|g")"
fi
case $program in
/*) file=$PODS/$pod$program ;;
*) file=$PODS/$pod/usr/bin/$program ;;
esac
[ -x "$file" ] || {
    echo "error: Internal error occurred: error executing command in container: failed to exec in container: OCI runtime exec" \
        "failed: exec failed: unable to start container process: exec: \"$program\": stat $program: no such file or directory" >&2
    exit 1
}
"$file" "$@" || {
    status=$?
    echo "command terminated with exit code $status" >&2
    exit $status
}
EOT
chmod +x "$dir/bin/kubectl"
PODS=$dir/pods PATH=$dir/bin:$PATH
export PODS PATH

pod() { # NAME [PLACE]: a pod with the program there
    mkdir -p "$PODS/$1/tmp"
    [ $# -lt 2 ] || install -D "$bin" "$PODS/$1$2"
}
# plugin ARG...: its output and status
plugin() {
    NCCL_INIT="${ours-$bin}" "$top/k8s/kubectl-nccl_init" "$@" >"$dir/out" 2>"$dir/err" </dev/null
    status=$?
}

pod shared /nccl-init/nccl-init
pod path /usr/bin/nccl-init
pod image /nccl-init
pod bare
pod shell
touch "$PODS/shell/has-sh"
root=$top/tests/nodes/h100-pod.tree

for name in shared path image; do
    plugin plan -n train $name --root "$root" --json
    same "$name: status" 0 "$status"
    same "$name: the verb's own output" "$(cd "$top" && "$bin" plan --root "$root" --json | cksum)" "$(cksum <"$dir/out")"
done
matches "the namespace" "--namespace train exec shared -- /nccl-init/nccl-init plan --root *" "$(grep -e ' plan ' "$PODS.calls" | head -n 1)"
plugin doctor shared --root /nowhere
same "the verb's status" 125 "$status"
plugin doctor -c main shared --root "$root" --brief
matches "the container" "exec shared -c main -- /nccl-init/nccl-init doctor *" "$(tail -n 1 "$PODS.calls")"

plugin doctor bare
same "no program: status" 3 "$status"
matches "no program: what to do" "*bare has no nccl-init. Start the pod again with the label nccl-init.io/inject*--copy bare*" "$(cat "$dir/err")"
plugin doctor bare --copy
same "no program, no shell" 3 "$status"
plugin plan --copy shell --root "$root" --json
same "copied" "0 $(cksum <"$bin")" "$status $(cksum <"$PODS/shell/tmp/nccl-init")"
plugin doctor none
same "no such pod: status" 3 "$status"
matches "no such pod: why" "*pods \"none\" not found*" "$(cat "$dir/err")"
same "no such pod: one look" 1 "$(grep -c 'exec none' "$PODS.calls")"

for words in "" "doktor shared" "doctor" "doctor shared image" "doctor -n" "doctor -l job=train" "doctor ../x" "doctor a;b"; do
    # shellcheck disable=SC2086 # words
    plugin $words
    same "wrong usage: '$words'" 2 "$status"
done

# ---- krew: its archive, and a link in PATH -----------------------------------------------------

"$top/.dev/krew" 0.1.0 "$dir" && mkdir "$dir/store" "$dir/krew-bin" && tar -xzf "$dir/nccl-init-kubectl-0.1.0.tar.gz" -C "$dir/store"
ln -s ../store/kubectl-nccl_init "$dir/krew-bin/kubectl-nccl_init"
ln -s "$dir/krew-bin/kubectl-nccl_init" "$dir/bin/kubectl-nccl_init"
same "by a link" "$("$top/k8s/fleet" --help | cksum)" "$(kubectl-nccl_init fleet --help | cksum)"
same "the manifest has the archive's sum" 2 "$(grep -c "sha256: $(sha256sum <"$dir/nccl-init-kubectl-0.1.0.tar.gz" | cut -d ' ' -f 1)\$" "$dir/nccl-init.krew.yaml")"

# ---- log -------------------------------------------------------------------------------------

rm -rf "$PODS/bare" "$PODS/shell" "$PODS/path"
n=0
for name in shared image; do
    printf 'node%s:1:1 [0] NCCL INFO NCCL version 2.28.9+cuda13.0\nnode%s:1:1 [0] NCCL WARN Call to ibv_reg_mr failed with error Cannot allocate memory\n' \
        $n $n >"$PODS/$name/log"
    n=$((n + 1))
done
plugin log -l job=train --json
same "log: of this machine" "1 log.pinned" "$status $(jq -r '.findings[0].id' "$dir/out")"
# shellcheck disable=SC2016 # the stand-in expands it
printf '#!/bin/sh\necho "in $POD_NAMESPACE"\n' >"$dir/told" && chmod +x "$dir/told"
ours=$dir/told plugin log -n team-a -l job=train
same "log: commands have the namespace" "in team-a" "$(cat "$dir/out")"
ours=$dir/none plugin log shared image --json
same "log: of a pod" "1 log.pinned" "$status $(jq -r '.findings[0].id' "$dir/out")"
plugin log -l job=other
same "log: no pods" 3 "$status"
rm "$PODS/shared/nccl-init/nccl-init" "$PODS/image/nccl-init"
ours=$dir/none plugin log shared
same "log: no program anywhere" 3 "$status"
finish
