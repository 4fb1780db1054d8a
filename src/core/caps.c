/* SPDX-License-Identifier: Apache-2.0 */
/* Names of capabilities, as people write them in a pod's securityContext. */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "nccl_init/core.h"

/* By number (include/uapi/linux/capability.h). */
static const char *const names[] = {
    "CHOWN",
    "DAC_OVERRIDE",
    "DAC_READ_SEARCH",
    "FOWNER",
    "FSETID",
    "KILL",
    "SETGID",
    "SETUID",
    "SETPCAP",
    "LINUX_IMMUTABLE",
    "NET_BIND_SERVICE",
    "NET_BROADCAST",
    "NET_ADMIN",
    "NET_RAW",
    "IPC_LOCK",
    "IPC_OWNER",
    "SYS_MODULE",
    "SYS_RAWIO",
    "SYS_CHROOT",
    "SYS_PTRACE",
    "SYS_PACCT",
    "SYS_ADMIN",
    "SYS_BOOT",
    "SYS_NICE",
    "SYS_RESOURCE",
    "SYS_TIME",
    "SYS_TTY_CONFIG",
    "MKNOD",
    "LEASE",
    "AUDIT_WRITE",
    "AUDIT_CONTROL",
    "SETFCAP",
    "MAC_OVERRIDE",
    "MAC_ADMIN",
    "SYSLOG",
    "WAKE_ALARM",
    "BLOCK_SUSPEND",
    "AUDIT_READ",
    "PERFMON",
    "BPF",
    "CHECKPOINT_RESTORE",
};
_Static_assert(NI_COUNT(names) == NI_CAPS, "a name for each");

int ni_parse_cap(struct ni_span s, unsigned *ret)
{
    for (unsigned i = 0; i < NI_COUNT(names); i++) {
        if (strlen(names[i]) == s.n && strncasecmp(names[i], s.p, s.n) == 0) {
            *ret = i;
            return 0;
        }
    }
    return -EINVAL;
}

void ni_put_caps(struct ni_text *t, uint64_t set)
{
    const char *before = "";
    for (unsigned i = 0; i < NI_COUNT(names); i++) {
        if ((set >> i & 1) == 0)
            continue;
        ni_putf(t, "%sCAP_%s", before, names[i]);
        before = ", ";
    }
}
