#!/bin/sh
# The workflows are as .dev/lint wants them, and each of its rules refuses what it is there for.
# SPDX-License-Identifier: Apache-2.0
set -u
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../cli/lib"
cd "$(dirname -- "$0")/../.." || exit
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
for needed in shellcheck openssl; do
    command -v $needed >/dev/null || skip_all "$needed is not installed"
done
/usr/bin/python3 -c 'import yaml' 2>/dev/null || skip_all "python3-yaml is not installed"

said=$(.dev/lint workflows 2>&1)
matches "as they should be" "*lint: workflows ok*" "$said"
parser=build/workflow-parser.tgz
case $said in
*"no schema of workflows"*) parser= ;;
esac

refused() { # NAME FILE SED PATTERN: after this edit these words are said
    sed "$3" ".github/workflows/$2.yml" >"$dir/$2.yml"
    if cmp -s ".github/workflows/$2.yml" "$dir/$2.yml"; then
        fail "$1" "the edit changes nothing"
    else
        # shellcheck disable=SC2254 # a pattern is wanted
        matches "$1" "*$4*" "$(tests/lint/workflows.py ${parser:+--schema "$parser"} "$dir/$2.yml" 2>&1)"
    fi
}

# our rules
refused "an action by its tag" ci 's|checkout@[0-9a-f]* .*|checkout@v7|' "not pinned by a commit"
refused "an action of no known version" ci 's|\(checkout@[0-9a-f]*\) .*|\1|' "no comment says which version"
refused "credentials that stay" ci 's/persist-credentials: false/fetch-depth: 1/' "keeps its credentials"
refused "credentials that are to stay" ci 's/persist-credentials: false/persist-credentials: true/' "keeps its credentials"
refused "permissions for all jobs" release 's/^permissions: {}/permissions: {contents: write}/' \
    "permissions: jobs that list none get more"
refused "a job without permissions" ci '/^    permissions:/,+1d' "its permissions are not listed"
refused "all permissions" release '/^  build:/,/^  image:/{/^    permissions:/{N;s/.*/    permissions: write-all/}}' \
    "jobs.build: its permissions are not listed"
refused "writing for strangers" ci 's/^      contents: read/      contents: write/' "contents: write, in what pull_request starts"
refused "strangers' code with our rights" ci 's/^  pull_request:/  pull_request_target:/' "strangers' code"
# shellcheck disable=SC2016 # GitHub expands it
refused "an expression in a script" release 's/sign --yes "\$IMAGE/sign --yes "${{ env.IMAGE }}/' "an expression in a script"
# shellcheck disable=SC2016 # a pattern of sed
refused "a script that shellcheck refuses" ci 's/"\$GITHUB_WORKSPACE"/$GITHUB_WORKSPACE/' "Double quote to prevent globbing"
refused "a container by its tag" ci 's/bookworm@sha256:[0-9a-f]*/bookworm/' "not pinned by a digest"
refused "a job without end" ci '/timeout-minutes/d' "no timeout-minutes"
refused "a need of no job" release 's/needs: \[ci, night, build\]/needs: [tests, build]/' "needs tests, which is no job"
refused "an output of no job" release 's/needs.image.outputs.digest/needs.image.outputs.sha/' "there is no needs.image.outputs.sha"
refused "an output of a job not needed" release 's/needs: \[image, sbom, charts\]/needs: [build, sbom]/' "there is no needs.image.outputs"
refused "an output of no step" release 's/id: push/id: pushed/' "no step has the id push"
refused "a key twice" release 's/^name: release/name: release\nname: release/' "name twice"

# GitHub's schema
if [ -n "$parser" ]; then
    refused "a key that is none" release 's/timeout-minutes/timeout-minute/' "timeout-minute: no such key"
    refused "a permission that is none" release 's/attestations: write/attestation: write/' "attestation: no such key"
    refused "a level that is none" release 's/packages: write/packages: wrote/' "permissions.packages: wrote, not"
    refused "a trigger that is none" ci 's/^  pull_request:/  pull_requests:/' "on.pull_requests: no such key"
    refused "a job that runs nowhere" ci '/runs-on: ubuntu-24.04-arm/d' "runs-on is missing"
    refused "no number" ci 's/timeout-minutes: 30/timeout-minutes: half/' "timeout-minutes: half is no number"
    refused "neither true nor false" release 's/cancel-in-progress: false/cancel-in-progress: never/' "never is not true or false"
    # shellcheck disable=SC2016 # GitHub expands it
    refused "a context that is not there" release 's|ghcr.io/${{ github.repository }}|${{ env.OWNER }}|' "may not name env"
    refused "a step that does nothing" ci 's/^      - run: .ci.run/      - name: ci/' "is missing"
else
    skip "GitHub's schema" "no npm registry can be reached"
fi

same "one Debian for all" 1 "$(grep -rho 'debian:bookworm@.*' .github/workflows | sort -u | wc -l)"

# the project's name
# shellcheck disable=SC2016 # a pattern of sed
home=$(sed -n 's|^project(.*HOMEPAGE_URL https://\([^ ]*\).*|\1|p' CMakeLists.txt)
same "images have the repository's name" "ghcr.io/${home#*/}" \
    "$(grep -rhoE 'ghcr\.io/[a-z0-9-]+/nccl-init' k8s docs README.md | sort -u)"
same "links too" "$home" "$(grep -rhoE 'github\.com/[a-z0-9-]+/nccl-init' README.md SECURITY.md docs CMakeLists.txt | sort -u)"
finish
