/* SPDX-License-Identifier: Apache-2.0 */
/* Names of capabilities, as people write them in a pod's securityContext. */
#include <errno.h>
#include <strings.h>

#include "nccl_init/core.h"

/* By number (include/uapi/linux/capability.h). */
static const char names[] =
    "CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP "
    "LINUX_IMMUTABLE NET_BIND_SERVICE NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER "
    "SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN SYS_BOOT SYS_NICE "
    "SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP "
    "MAC_OVERRIDE MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND AUDIT_READ PERFMON BPF "
    "CHECKPOINT_RESTORE";

int ni_parse_cap(struct ni_span s, unsigned *ret)
{
    const char *rest = names;
    struct ni_span name;

    for (unsigned cap = 0; ni_word(&rest, &name); cap++) {
        if (name.n == s.n && strncasecmp(name.p, s.p, s.n) == 0) {
            *ret = cap;
            return 0;
        }
    }
    return -EINVAL;
}

void ni_put_caps(struct ni_text *t, uint64_t set)
{
    const char *rest = names, *before = "";
    struct ni_span name;

    for (unsigned cap = 0; ni_word(&rest, &name); cap++) {
        if (!ni_has_cap(set, cap))
            continue;
        ni_putf(t, "%sCAP_%.*s", before, (int)name.n, name.p);
        before = ", ";
    }
}
