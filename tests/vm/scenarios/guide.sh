#!/bin/bash
# The commands of docs/guides/softroce.md, as they stand there: a guide that does not work is worse than none.
# hardware: nics=1
# seconds: 25
# SPDX-License-Identifier: Apache-2.0
# shellcheck source=/dev/null disable=SC2016 # backquotes of Markdown
. /lab/lib

guide() { # PATTERN: that line of the guide, less its comment
    local line
    line=$(sed -n '/^```sh$/,/^```$/p' /lab/softroce.md | grep -E "$1" | sed 's/ *#.*//')
    if [ -z "$line" ] || [ "$(wc -l <<<"$line")" -ne 1 ]; then
        echo "the guide has not one line like $1: '$line'" >&2
        return 1
    fi
    echo "$line"
}

follow() { # PATTERN: what it says works
    local line
    line=$(guide "$1")
    # shellcheck disable=SC2086 # the guide's words
    works "$line" $line
}

served() { # by ib_write_bw, or by rping
    [ -n "$(ss -Hltn 'sport = :18515')" ] || rdma resource show cm_id | grep -q 'state LISTEN'
}

# two PATTERN1 PATTERN2: a server, and its client; the other machine is this one
two() {
    local server client
    server=$(guide "$1")
    client=$(guide "$2")
    # shellcheck disable=SC2086
    timeout 60 $server >/tmp/server 2>&1 &
    wait_for 60 served
    # shellcheck disable=SC2086
    works "$server; $client" timeout 60 $client
    works "and its server" wait $!
}

# the address that the guide takes; what rdma-core's services load at boot
up eth0 192.168.100.1/24
modprobe -a ib_uverbs rdma_ucm

section "do this"
follow '^modprobe'
follow '^rdma link add'
follow '^rdma link$'
matches "the device is there, as the guide calls it" "*link rxe_eth0/1 state ACTIVE*" "$(</tmp/said)"

section "verify"
follow '^nccl-init selftest'
passes "it was tried" 1 "$P" selftest --all
same "RoCE v2 is at the index that the guide gives" "$(gid_index rxe_eth0 ::ffff:192.168.100.1 v2 eth0)" \
    "$(guide '^ib_write_bw .* -x [0-9]+ *#.*on one' | sed 's/.* -x //')"
two '^rping -s' '^rping -c'
two '^ib_write_bw .* -x [0-9]+ *#' '^ib_write_bw .* 192'

section "roll back"
follow '^rdma link delete'
same "it is gone" "" "$(rdma link)"
finish
