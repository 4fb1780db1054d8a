#!/bin/bash
# The scripts of release.yml that publish, with stand-ins for what they call: in which order, what a second run does, and
# what stops them. Only a tag on GitHub runs the real ones.
# SPDX-License-Identifier: Apache-2.0
set -u
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../cli/lib"
top=$(cd -- "$(dirname -- "$0")/../.." && pwd)
/usr/bin/python3 -c 'import yaml' 2>/dev/null || skip_all "python3-yaml is not installed"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/bin" "$dir/work"

cat >"$dir/bin/stand-in" <<'EOT'
#!/bin/bash
case "${0##*/} $1" in
"skopeo inspect" | "helm show") ;;
*) echo "${0##*/} $*" >>"$TEST/called" ;;
esac
case "${0##*/} $1 $2 ${*: -1}" in
"skopeo inspect "*docker://*) cat "$TEST/registry" 2>/dev/null ;;
"skopeo inspect "*) cat image.tar ;;
"skopeo copy "*) cp image.tar "$TEST/registry" ;;
"cosign sign-blob "*) touch SHA256SUMS.sigstore.json ;;
"gh release view "*) cat "$TEST/draft" 2>/dev/null ;;
"helm show "*) grep -qxF "$3" "$TEST/pushed" 2>/dev/null ;;
"helm push "*) echo "$3/$(basename "$2" -1.2.3.tgz)" >>"$TEST/pushed" ;;
charts*) mkdir -p "$3" && touch "$3/rails-$1.tgz" ;;
esac
EOT
chmod 755 "$dir/bin/stand-in"
for name in docker skopeo cosign gh helm; do ln -s stand-in "$dir/bin/$name"; done

# As GitHub runs the scripts of a job, each in a shell of its own; up to the first that fails.
run() { # JOB: sets said
    : >"$dir/called"
    rm -f "$dir"/step.*
    /usr/bin/python3 - "$top/.github/workflows/release.yml" "$1" "$dir/step" <<'EOT'
import sys, yaml
steps = yaml.safe_load(open(sys.argv[1]))["jobs"][sys.argv[2]]["steps"]
for n, step in enumerate(steps):
    if "run" in step:
        open(f"{sys.argv[3]}.{n}", "w").write(step["run"])
EOT
    for step in "$dir"/step.*; do
        (cd "$dir/work" && env -i PATH="$dir/bin:$PATH" TEST="$dir" IMAGE=ghcr.io/me/it TOKEN=secret DIGEST=sha256:d \
            GITHUB_ACTOR=me GITHUB_REPOSITORY=me/it GITHUB_SERVER_URL=https://github.com GITHUB_REF_NAME=v1.2.3 \
            GITHUB_WORKFLOW_REF=me/it/release.yml@refs/tags/v1.2.3 GITHUB_OUTPUT="$dir/output" RUNNER_TEMP="$dir" \
            bash --noprofile --norc -eo pipefail "$step" >"$dir/log" 2>&1) || {
            echo "stopped" >>"$dir/called"
            break
        }
    done
    said=$(cut -d ' ' -f 1-3 "$dir/called" | tr '\n' ';')
}

cd "$dir/work" || exit
echo one >image.tar
touch nccl-init-1.2.3-linux-amd64
sha256sum nccl-init* >SHA256SUMS

run image
same "the image" "docker login ghcr.io;skopeo copy --all;cosign sign --yes;" "$said"
same "its digest" "digest=sha256:$(sha256sum <image.tar | cut -d ' ' -f 1)" "$(cat "$dir/output")"
matches "under its version" "*docker://ghcr.io/me/it:1.2.3*" "$(cat "$dir/called")"
run image
same "again: it is there" "docker login ghcr.io;cosign sign --yes;" "$said"
echo two >image.tar
run image
same "another of that version" "docker login ghcr.io;stopped;" "$said"

mkdir .dev
ln -s "$dir/bin/stand-in" .dev/charts
push="helm push $dir/charts/rails-1.2.3.tgz;"
sign="cosign sign --yes;"
begin="docker login ghcr.io;helm registry login;charts 1.2.3 ghcr.io/me/it:1.2.3@sha256:d;"
run charts
same "the charts, with the image by its digest" "$begin$push$sign" "$said"
matches "signed by their digest" "*cosign sign --yes ghcr.io/me/it/charts/rails@sha256:*" "$(cat "$dir/called")"
run charts
same "again: they are there" "$begin$sign" "$said"

publish="cosign sign-blob --yes;cosign verify-blob --bundle;gh release view"
run publish
same "the release" "$publish;gh release create;gh release edit;" "$said"
matches "a draft of all files" "*create v1.2.3 --draft *nccl-init-1.2.3-linux-amd64 SHA256SUMS SHA256SUMS.sigstore.json*" \
    "$(cat "$dir/called")"
echo true >"$dir/draft"
run publish
same "again: the draft goes" "$publish;gh release delete;gh release create;gh release edit;" "$said"
echo false >"$dir/draft"
run publish
same "what is public stays" "$publish;gh release create;gh release edit;" "$said"
echo other >nccl-init-1.2.3-linux-amd64
run publish
same "another file than was built" "stopped;" "$said"
finish
