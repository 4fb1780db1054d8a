#!/bin/sh
# The packages of .dev/pack: as the linters of Debian and Fedora want them, the same bytes twice, without scripts.
# Installed, they work; removed, they leave nothing.
# SPDX-License-Identifier: Apache-2.0
set -u
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../cli/lib"
top=$(cd -- "$(dirname -- "$0")/../.." && pwd)
bin=$(program)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export SOURCE_DATE_EPOCH=1700000000 NCCL_INIT_COMMIT=0123456789012345678901234567890123456789
version=$(sed -n 's/^project(.*VERSION \([0-9.]*\).*/\1/p' "$top/CMakeLists.txt")

case $(readelf -h "$bin") in
*AArch64*) arch=arm64 machine=aarch64 emulator=qemu-aarch64-static ;;
*) arch=amd64 machine=x86_64 emulator=env ;;
esac
for needed in rpm lintian rpmlint $emulator; do
    command -v "$needed" >/dev/null || skip_all "$needed is not installed"
done

mkdir "$dir/out" "$dir/another-folder"
if ! "$top/.dev/pack" "$arch" "$(dirname "$bin")" "$version" "$dir/out" >"$dir/log" 2>&1; then
    fail "made" "$(cat "$dir/log")"
    exit 1
fi
(umask 077 && TZ=Pacific/Kiritimati "$top/.dev/pack" "$arch" "$(dirname "$bin")" "$version" "$dir/another-folder")
same "the same bytes twice" "" "$(diff -r "$dir/out" "$dir/another-folder" 2>&1)"
cd "$dir/out" || exit
same "what is made" "$arch
nccl-init-$version-1.$machine.rpm
nccl-init-$version-linux-$arch
nccl-init-$version-linux-$arch.spdx.json
nccl-init-hook-$version-1.$machine.rpm
nccl-init-hook-$version-linux-$arch
nccl-init-hook-$version-linux-$arch.spdx.json
nccl-init-hook_${version}_$arch.deb
nccl-init-try-$version-linux-$arch
nccl-init_${version}_$arch.deb" "$(LC_ALL=C ls)"
same "the bare program" "" "$(cmp "$bin" "nccl-init-$version-linux-$arch" 2>&1)"
same "the bare helper" "" "$(cmp "$bin-try" "nccl-init-try-$version-linux-$arch" 2>&1)"
same "the bare hook" "" "$(cmp "$bin-hook" "nccl-init-hook-$version-linux-$arch" 2>&1)"

same "lintian" "" "$(lintian --fail-on none ./*.deb 2>&1 | grep -v '^running with root')"
matches "rpmlint" "*; 0 errors, 0 warnings, *" "$(rpmlint -c "$top/.dev/rpmlint.toml" ./*.rpm 2>&1)"

# ---- what is in them -------------------------------------------------------------------------

# Mode, owner and name of each file, but for licences, changes and what is for lintian.
listed() {
    awk '$1 !~ /^d/ { sub(/^\.?\//, "", $NF); print $1, $2, $NF }' | LC_ALL=C sort -k 3 |
        grep -v -e '/doc/.*/\(licenses/\|LICENSE\|CHANGELOG\|changelog\|copyright\)' -e '/lintian/'
}
files() { # ZSH'S FOLDER
    cat <<EOT
-rwxr-xr-x root/root usr/bin/nccl-init
-rwxr-xr-x root/root usr/bin/nccl-init-try
-rwxr-xr-x root/root usr/libexec/oci/hooks.d/nccl-init-hook
-rw-r--r-- root/root usr/share/bash-completion/completions/nccl-init
-rw-r--r-- root/root usr/share/containers/oci/hooks.d/50-nccl-init.json
-rw-r--r-- root/root usr/share/doc/nccl-init-hook/hook.md
-rw-r--r-- root/root usr/share/doc/nccl-init-hook/nccl-init-hook.spdx.json
-rw-r--r-- root/root usr/share/doc/nccl-init/README.md
-rw-r--r-- root/root usr/share/doc/nccl-init/nccl-init.spdx.json
-rw-r--r-- root/root usr/share/fish/vendor_completions.d/nccl-init.fish
-rw-r--r-- root/root usr/share/man/man8/nccl-init-hook.8.gz
-rw-r--r-- root/root usr/share/man/man8/nccl-init.8.gz
-rw-r--r-- root/root usr/share/zsh/$1/_nccl-init
EOT
}
same "files in .deb" "$(files vendor-completions)" "$(for file in *.deb; do dpkg-deb -c "$file"; done | listed)"
same "files in .rpm" "$(files site-functions)" \
    "$(rpm -qp --qf '[%{FILEMODES:perms} %{FILEUSERNAME}/%{FILEGROUPNAME} %{FILENAMES}\n]' ./*.rpm | listed)"
# A runtime that cannot start a hook starts no container: files are put there in this order and removed in the other.
ordered() { grep -o -e 'hooks.d/nccl-init-hook' -e 'hooks.d/50-nccl-init.json' | xargs; }
for list in "$(dpkg-deb -c nccl-init-hook_*.deb | ordered)" "$(rpm -qpl nccl-init-hook-*.rpm | ordered)"; do
    same "the program before what starts it" "hooks.d/nccl-init-hook hooks.d/50-nccl-init.json" "$list"
done
for file in *.deb; do
    same "no scripts in $file" "control md5sums " \
        "$(dpkg-deb --ctrl-tarfile "$file" | tar -t | sed -n 's|^\./||; /./p' | sort | tr '\n' ' ')"
    case $file in
    *-hook_*) holders="Petri Lehtinen Rich Felker " ;;
    *) holders="Mellanox Technologies Petri Lehtinen Rich Felker Thomas Graf " ;;
    esac
    same "holders of rights in $file" "$holders" \
        "$(dpkg-deb --fsys-tarfile "$file" | tar -xO --wildcards './usr/share/doc/*/copyright' | tr '\n' ' ' |
            grep -o -e "Thomas Graf" -e "Mellanox Technologies" -e "Petri Lehtinen" -e "Rich Felker" | sort -u | tr '\n' ' ')"
    matches "changes of $file" "*  \* \`run\` (the default)*" "$(dpkg-deb --fsys-tarfile "$file" |
        tar -xO --wildcards './usr/share/doc/*/changelog.gz' | gzip -d)"
done
for file in *.rpm; do
    same "no scripts in $file" "" "$(rpm -qp --scripts --triggers "$file")"
    same "no file capabilities in $file" "" "$(rpm -qp --qf '[%{FILECAPS}]' "$file")"
    matches "licence of $file" "*/LICENSE" "$(rpm -qpL "$file")"
    matches "changes of $file" "*- \`run\` (the default)*" "$(rpm -qp --changelog "$file")"
done

# ---- installed, used, removed ----------------------------------------------------------------

if [ "$(id -u)" != 0 ]; then
    skip "installed" "only root may"
    finish
    exit
fi
tree() { (cd "$1" && find . -path ./var -prune -o -printf '%m %u %g %P\n' | LC_ALL=C sort -k 4); }
used() { # ROOT: what was installed there does its work
    matches "--version, $1" "nccl-init $version*" "$("$emulator" "$root/usr/bin/nccl-init" --version 2>&1)"
    matches "plan, $1" "*NCCL_IB_DISABLE  *1*" "$("$emulator" "$root/usr/bin/nccl-init" plan --all --mode=tcp 2>&1)"
    matches "the hook's --version, $1" "nccl-init-hook $version*" \
        "$("$emulator" "$root/usr/libexec/oci/hooks.d/nccl-init-hook" --version 2>&1)"
    same "enabled as by --install, $1" "$(cat "$dir/enabled")" \
        "$(cat "$root/usr/share/containers/oci/hooks.d/50-nccl-init.json" 2>&1)"
    matches "the manual, $1" "*nccl-init*" "$(gzip -d <"$root/usr/share/man/man8/nccl-init.8.gz")"
}

# The path of the program in the hook's own file is the place where packages have it.
"$emulator" "$bin-hook" --install="$dir/hooks.d" --program="$dir/usr/libexec/oci/hooks.d/nccl-init-hook"
sed "s|$dir||" "$dir/hooks.d/50-nccl-init.json" >"$dir/enabled"

root=$dir/debian
mkdir -p "$root/usr/bin" "$root/usr/share/doc" "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates"
touch "$root/var/lib/dpkg/status" "$root/usr/bin/other" "$root/usr/share/doc/other" # dpkg removes empty folders
before=$(tree "$root")
debian() { dpkg --root="$root" --force-architecture --log=/dev/null "$@" >"$dir/log" 2>&1 || fail "dpkg $1" "$(cat "$dir/log")"; }
debian --install ./*.deb
used .deb
same "as they were packed" "" "$(dpkg --root="$root" --verify 2>&1)"
debian --purge nccl-init nccl-init-hook
same "nothing is left of .deb" "$before" "$(tree "$root")"

# What the package `filesystem` has in each system with rpm.
root=$dir/fedora
mkdir -p "$root/usr/bin" "$root/usr/libexec" "$root/usr/share/doc" "$root/usr/share/man/man8"
before=$(tree "$root")
fedora() { rpm --root="$root" --dbpath=/var/lib/rpm "$@" >"$dir/log" 2>&1 || fail "rpm $1" "$(cat "$dir/log")"; }
fedora --install --ignorearch ./*.rpm
used .rpm
fedora --verify --all
fedora --erase nccl-init nccl-init-hook
same "nothing is left of .rpm" "$before" "$(tree "$root")"
finish
