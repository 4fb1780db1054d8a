#!/bin/sh
# The installer of a release, from a web server on this machine: as root and as nobody, over an older version, away again;
# what is not the release's file is not installed.
# SPDX-License-Identifier: Apache-2.0
set -u
# shellcheck source=/dev/null
. "$(dirname -- "$0")/../cli/lib"
top=$(cd -- "$(dirname -- "$0")/../.." && pwd)
bin=$(program)
dir=$(mktemp -d)
server=''
trap '[ -z "$server" ] || kill "$server"; rm -rf "$dir"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
umask 022
chmod 755 "$dir"
command -v curl >/dev/null || skip_all "curl is not installed"

# ---- a release of two versions, by the recipe of the release -----------------------------------

release() { # VERSION: its files in $dir/www/VERSION; the one for arm64 is another file, which is enough for its checksum
    mkdir -p "$dir/www/$1" "$dir/tree"
    rm -rf "$dir/tree/nccl-init-$1-linux-amd64"
    cmake --install "$(dirname "$bin")" --prefix "$dir/tree/nccl-init-$1-linux-amd64" >"$dir/log" 2>&1 || fail "made" "$(cat "$dir/log")"
    mkdir -p "$dir/tree/nccl-init-$1-linux-amd64/share/doc/nccl-init/licenses/musl"
    echo "$1" >"$dir/tree/nccl-init-$1-linux-amd64/share/doc/nccl-init/licenses/musl/copyright"
    [ "$1" != 0.0.9 ] || echo old >"$dir/tree/nccl-init-$1-linux-amd64/share/doc/nccl-init/of-old-alone"
    tar -czf "$dir/www/$1/nccl-init-$1-linux-amd64.tar.gz" -C "$dir/tree" "nccl-init-$1-linux-amd64"
    echo arm64 >"$dir/www/$1/nccl-init-$1-linux-arm64.tar.gz"
    "$top/.dev/installer" "$1" "$dir/www/$1/nccl-init-$1-linux-amd64.tar.gz" "$dir/www/$1/nccl-init-$1-linux-arm64.tar.gz" \
        >"$dir/www/$1/nccl-init-install.sh"
}
release 0.0.9
release 0.1.0
same "nothing of the recipe is left" "" "$(grep -n '@[A-Z0-9]*@' "$dir/www/0.1.0/nccl-init-install.sh")"
matches "where it looks by itself" "*url=?{NCCL_INIT_URL:-https://*/releases/download/v0.1.0}*" "$(cat "$dir/www/0.1.0/nccl-init-install.sh")"

python3 -u -m http.server --bind 127.0.0.1 --directory "$dir/www" 0 >"$dir/served" 2>&1 &
server=$!
for _ in $(seq 100); do
    port=$(sed -n 's/.*port \([0-9]*\).*/\1/p' "$dir/served")
    [ -z "$port" ] || break
    sleep 0.1
done
web=http://127.0.0.1:$port

# as USER VERSION ARG...: the one line, with a mirror's address
as() {
    user=$1 wanted=$2
    shift 2
    set -- env -i PATH="$PATH" HOME="$dir/home" NCCL_INIT_URL="$web/$wanted" \
        sh -c "curl -fsSL '$web/$wanted/nccl-init-install.sh' | sh -s -- \"\$@\"" sh "$@"
    if [ "$user" = nobody ]; then set -- setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; fi
    "$@" >"$dir/out" 2>"$dir/err"
    status=$?
}
listing() { (cd "$1" && find . | LC_ALL=C sort); }

# ---- install, over an older one, uninstall -----------------------------------------------------

for user in root nobody; do
    if [ "$user" = nobody ] && ! setpriv --reuid=65534 --regid=65534 --clear-groups true 2>/dev/null; then
        skip "as nobody" "this is not root"
        continue
    fi
    rm -rf "${dir:?}/home" "$dir/a prefix"
    mkdir -p "$dir/home" "$dir/a prefix/bin"
    echo mine >"$dir/a prefix/bin/mine"
    [ "$user" = root ] || chown -R 65534 "$dir/home" "$dir/a prefix"
    before=$(listing "$dir/a prefix")
    as "$user" 0.0.9 --prefix "$dir/a prefix"
    same "$user: installed" "0 yes" "$status $([ -f "$dir/a prefix/share/doc/nccl-init/of-old-alone" ] && echo yes)"
    as "$user" 0.1.0 --prefix "$dir/a prefix"
    same "$user: over an older one" 0 "$status"
    same "$user: what only the older one had is gone" no "$([ -e "$dir/a prefix/share/doc/nccl-init/of-old-alone" ] || echo no)"
    same "$user: the program" "" "$(cmp "$bin" "$dir/a prefix/bin/nccl-init" 2>&1)"
    same "$user: its mode" 755 "$(stat -c %a "$dir/a prefix/bin/nccl-init")"
    matches "$user: it says that it is not in PATH" "*is not in PATH*" "$(cat "$dir/out")"
    as "$user" 0.1.0 --prefix "$dir/a prefix" --uninstall
    same "$user: uninstalled" "0 mine" "$status $(cat "$dir/a prefix/bin/mine")"
    same "$user: no file of ours is left" "" "$(find "$dir/a prefix" -name '*nccl-init*' | head -n 3)"
    same "$user: no file is lost" "" "$(printf '%s\n' "$before" | while IFS= read -r file; do
        [ -e "$dir/a prefix/$file" ] || echo "$file"
    done)"
    as "$user" 0.1.0 --prefix "$dir/a prefix" --uninstall
    same "$user: nothing to uninstall" 1 "$status"
done
if [ "$(id -u)" != 0 ] || setpriv --reuid=65534 --regid=65534 --clear-groups true 2>/dev/null; then
    mkdir -p "$dir/home"
    [ "$(id -u)" != 0 ] || chown -R 65534 "$dir/home"
    as nobody 0.1.0
    same "below the home" "0 yes" "$status $([ -x "$dir/home/.local/bin/nccl-init" ] && echo yes)"
    as nobody 0.1.0 --prefix "$dir/www"
    same "a folder of somebody else" 1 "$status"
    matches "... says another way" "*--prefix DIR*" "$(cat "$dir/err")"
fi

# ---- what is not the release's -----------------------------------------------------------------

rm -rf "$dir/p"
cp "$dir/www/0.1.0/nccl-init-0.1.0-linux-amd64.tar.gz" "$dir/good"
printf x >>"$dir/www/0.1.0/nccl-init-0.1.0-linux-amd64.tar.gz"
as root 0.1.0 --prefix "$dir/p"
same "a byte more" "1 no" "$status $([ -e "$dir/p" ] || echo no)"
matches "... says so" "*SHA-256*nothing was installed*" "$(cat "$dir/err")"
rm "$dir/www/0.1.0/nccl-init-0.1.0-linux-amd64.tar.gz"
as root 0.1.0 --prefix "$dir/p"
same "no such file" "1 no" "$status $([ -e "$dir/p" ] || echo no)"
cp "$dir/good" "$dir/www/0.1.0/nccl-init-0.1.0-linux-amd64.tar.gz"
size=$(wc -c <"$dir/www/0.1.0/nccl-init-install.sh")
for part in 10 50 90 99; do
    head -c $((size * part / 100)) "$dir/www/0.1.0/nccl-init-install.sh" | NCCL_INIT_URL=$web/0.1.0 sh -s -- --prefix "$dir/p" \
        >"$dir/out" 2>&1
    same "$part % of the script" no "$([ -e "$dir/p" ] || echo no)"
done
as root 0.1.0 --prefix "$dir/p"
same "the right one" 0 "$status"
printf '../../outside\n' >"$dir/p/share/nccl-init/installed"
touch "$dir/outside"
as root 0.1.0 --prefix "$dir/p" --uninstall
same "a list that names what is not ours" "1 yes" "$status $([ -e "$dir/outside" ] && echo yes)"
as root 0.1.0 --prefx "$dir/p"
same "a wrong option" 2 "$status"
finish
