#!/bin/sh
# Nonsense in the environment: a finding each, and the command runs. One string of an environment has at most 128 KiB
# (MAX_ARG_STRLEN), so that is how long a value gets.
# SPDX-License-Identifier: Apache-2.0
set -u
# shellcheck source=/dev/null
. "$(dirname -- "$0")/lib"
bin=$(program)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1

# survives NAME FINDING VARIABLE=VALUE...: run says FINDING (a pattern; * for none) and starts the command, which finds
# the variables as they were; plan and env end well
survives() {
    name=$1 pattern=$2
    shift 2
    out=$(env "$@" "$bin" --log-level=debug -- sh -c 'env | cksum; echo ran' 2>err) &&
        status=0 || status=$?
    same "$name: the command runs" "0 ran" "$status $(echo "$out" | tail -n 1)"
    # shellcheck disable=SC2254 # a pattern is wanted
    case $(cat err) in
    $pattern) pass "$name: finding" ;;
    *) fail "$name: finding" "no '$pattern' in: $(head -c 2000 err)" ;;
    esac
    same "$name: only printable bytes are said" 0 "$(LC_ALL=C tr -d '\n -~' <err | wc -c)"
    same "$name: no line is longer than a pipe takes at once" 0 "$(awk 'length > 4096' err | wc -l)"
    env "$@" "$bin" plan >/dev/null 2>err && status=0 || status=$?
    same "$name: plan" "0 " "$status $(cat err)"
    env "$@" "$bin" env >/dev/null 2>err && status=0 || status=$?
    same "$name: env" 0 "$status"
}

repeat() { # TEXT TIMES
    awk -v s="$1" -v n="$2" 'BEGIN { while (n-- > 0) printf "%s", s }'
}
bad='*alloc.id.invalid: PCIDEVICE_X*'
json='*alloc.info.invalid: PCIDEVICE_X_INFO*'
newline='
'

survives "path as address" "$bad" PCIDEVICE_X=../../../etc/passwd
survives "path behind an address" "$bad" PCIDEVICE_X=0000:00:00.0/../../x
survives "absolute path" "$bad" PCIDEVICE_X=/dev/zero
survives "newline in an address" "$bad" "PCIDEVICE_X=0000:03:00.2${newline}0000:03:00.3"
survives "control bytes" "$bad" "PCIDEVICE_X=$(printf '\033[2J\007\177\377')"
survives "format characters" "$bad" PCIDEVICE_X='%s%s%s%n%999999d'
survives "a long word" "$bad" PCIDEVICE_X="$(repeat a 130000)"
survives "commas only" '*' PCIDEVICE_X="$(repeat , 130000)"
survives "empty" '*' PCIDEVICE_X=
survives "an address that is not here" "*alloc.no-device: *" PCIDEVICE_X=fffe:ff:1f.7
survives "8,000 addresses" "*" \
    PCIDEVICE_X="$(awk 'BEGIN { for (i = 0; i < 8000; i++) printf "%s%04x:%02x:1f.7", i ? "," : "", 61440 + i / 256, i % 256 }')"
survives "truncated JSON" "$json" PCIDEVICE_X_INFO='{"0000:03:00.2":{"generic":{'
survives "deep nesting" "*alloc.i*.invalid: PCIDEVICE_X_INFO*" PCIDEVICE_X_INFO="$(repeat '[' 65000)"
survives "deep objects" "$json" PCIDEVICE_X_INFO="$(repeat '{"a":' 20000)"
survives "duplicate keys" "$json" PCIDEVICE_X_INFO='{"0000:03:00.2":{},"0000:03:00.2":{}}'
survives "JSON that is no object" "*alloc.i*.invalid: PCIDEVICE_X_INFO*" PCIDEVICE_X_INFO='"0000:03:00.2"'
survives "NUL in JSON" "*" PCIDEVICE_X_INFO='{"0000:03:00.2\u0000":{"rdma":{"rdma_dev":"mlx5\u0000_1"}}}'
survives "bytes that are no UTF-8" "$json" PCIDEVICE_X_INFO="$(printf '{"\377":1}')"
survives "long JSON string" "*" PCIDEVICE_X_INFO="{\"$(repeat x 130000)\":{}}"
survives "DRA path" "*" SRIOVNETWORK_PCI_ADDRESSES=../..,,,0000 SRIOVNETWORK_VF_DEVICE_../x=y
survives "network status" "*" NETWORK_STATUS='[{"device-info":{"pci":{"pci-address":"../../x"}}}]'
survives "user's own values" "*" NCCL_IB_HCA="$(repeat '=^:,' 30000)" NCCL_IB_GID_INDEX=99999999999 \
    NCCL_SOCKET_IFNAME="$(printf '\001%s' "$(repeat , 1000)")" NCCL_NET_GDR_LEVEL=
survives "conf files" "*" NCCL_CONF_FILE=/dev/zero HOME="$(repeat /.. 40000)"
survives "conf file is a directory" "*" NCCL_CONF_FILE=/
survives "a long name of a conf file" "*conf.unreadable: /xxx*: ENAMETOOLONG (*)*" NCCL_CONF_FILE="/$(repeat x 5000)"
# What a pipe holds is for NCCL, however its name is spelt.
mkfifo fifo
exec 3<>fifo
echo NCCL_IB_DISABLE=1 >&3
for path in fifo "$dir/fifo" /proc/self/cwd/fifo "/proc/self/root$dir/fifo" "/sys/..$dir/fifo" /dev/fd/3; do
    survives "a pipe: $path" "*conf.unreadable: *: *" NCCL_CONF_FILE="$path"
    survives "a pipe for a topology: $path" "*" NCCL_TOPO_FILE="$path" NCCLINIT_NETWORK_STATUS="$path"
done
same "pipes are left full" NCCL_IB_DISABLE=1 "$(timeout 60 head -n 1 <&3)"
exec 3<&-
out=$(env NCCLINIT_GDR="$(repeat x 130000)" NCCLINIT_"$(repeat A 1000)"=1 "$bin" -- echo ran 2>err)
same "own options: the command runs" "0 ran" "$? $out"
same "own options: finding" 1 "$(grep -c 'option.invalid: NCCLINIT_GDR: ' err)"
out=$(env NCCLINIT_MODE="$(repeat x 130000)" NCCLINIT_STRICT="$(printf 'a\nb')" NCCLINIT_MODES="$(repeat '%n' 1000)" \
    "$bin" -- echo ran 2>err)
same "demands: refused, in one line" "125 1 " "$? $(wc -l <err) $out"
set --
i=0
while [ "$i" -lt 600 ]; do
    set -- "$@" "PCIDEVICE_R$i=x$i"
    i=$((i + 1))
done
survives "600 variables" "*alloc.id.invalid: PCIDEVICE_R*" "$@"
# Four times as many names of NCCL's form take about four times as long, of a processor's time.
for value in x ''; do
    growth=$(/usr/bin/python3 -c '
import resource, subprocess, sys
def seconds(n):
    names = {f"NCCL_V{i}": sys.argv[2] for i in range(n)}
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run([sys.argv[1], "--", "/bin/true"], env=names, stderr=subprocess.DEVNULL, check=True)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
few, many = seconds(10000), seconds(40000)
print("linear" if many < 8 * few + 0.2 else f"{few:.2f} s, {many:.2f} s")' "$bin" "$value")
    same "40,000 variables of NCCL's form, '$value'" linear "$growth"
done
printf '# big\n%s=1\n' "$(repeat A 100000)" >conf
survives "a conf file with a long line" "*" NCCL_CONF_FILE="$dir/conf"

finish
