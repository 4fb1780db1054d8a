/* SPDX-License-Identifier: Apache-2.0 */
/* The process of the container, by the pid of the state. A pidfd shows if the process still lives:
   as long as it does, no other process has its pid. */
#include "hook/process.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hook/container.h"
#include "nccl_init/base.h"
#include "nccl_init/errno.h"
#include "nccl_init/number.h"
#include "nccl_init/text.h"
#include "sysroot/files.h"
#include "sysroot/root.h"

/* Returns the parent of a process, from "123 (name) S 45 ..." (fs/proc/array.c do_task_stat; the
   name may have any character). 0: unknown. pid 0: this process, for which %.0d puts nothing. */
static int parent_of(const struct ni_dir *top, int pid)
{
    char stat[1024];
    struct ni_span word;
    uint64_t parent = 0;
    ssize_t n = ni_read(top, stat, sizeof(stat), "proc/%s%.0d/stat", pid ? "" : "self", pid);
    const char *rest = n < 0 ? NULL : strrchr(stat, ')');

    if (rest && ni_word(&rest, &word) && ni_word(&rest, &word) && ni_word(&rest, &word))
        (void)ni_parse_u64(word, INT32_MAX, &parent);
    return (int)parent;
}

/* Returns true if the process belongs to the runtime that started this program. Its parent is our
   parent, the runtime (runc, youki, crun), or a process further up that adopted it (crun with a
   shared PID namespace; conmon and containerd's shim are subreapers). A process that is above us
   did not come from the runtime: Kata Containers names its shim or hypervisor. */
static bool is_of_our_runtime(const struct ni_dir *top, int pid)
{
    enum { GENERATIONS = 8 };
    int parent = parent_of(top, pid), above = parent_of(top, 0);
    bool ours = false;

    for (int i = 0; i < GENERATIONS && above > 0 && above != pid; i++) {
        ours = ours || (above == parent && (i == 0 || above > 1)); /* init adopts any process */
        above = parent_of(top, above);
    }
    return ours && above != pid;
}

/* Checks that the process is of a container, of the runtime that started this program. */
static enum ni_hook_answer check(const struct ni_dir *top, int pid, bool dry, struct ni_text *why)
{
    char exe[NI_PAGE] = "", theirs[64] = "", ours[64] = "";

    if (ni_readlink(top, exe, sizeof(exe) - 1, "proc/%d/exe", pid) < 0 ||
        ni_readlink(top, theirs, sizeof(theirs) - 1, "proc/%d/ns/mnt", pid) < 0 ||
        ni_readlink(top, ours, sizeof(ours) - 1, "proc/self/ns/mnt") < 0)
        return ni_hook_say(NI_HOOK_WRONG, why, "/proc/%d cannot be read", pid);
    if (strrchr(exe, '/') && ni_has_prefix(strrchr(exe, '/'), "/runsc"))
        return ni_hook_say(NI_HOOK_NO, why, "process %d is a sandbox of gVisor", pid);
    if ((!dry && !is_of_our_runtime(top, pid)) || strcmp(theirs, ours) == 0)
        return ni_hook_say(NI_HOOK_WRONG, why,
                           "process %d is not in a container of the runtime that started this hook",
                           pid);
    return NI_HOOK_YES;
}

static bool has_ended(int pidfd)
{
    struct pollfd p = {.fd = pidfd, .events = POLLIN};

    return poll(&p, 1, 0) != 0;
}

enum ni_hook_answer ni_hook_raise(const struct ni_dir *top, rlim_t want, bool dry,
                                  struct ni_hook_container *c, struct ni_text *why)
{
    const bool live = top->root->kind == NI_ROOT_LIVE;
    int pidfd = live ? (int)syscall(SYS_pidfd_open, c->pid, 0) : -1; /* ends with this program */
    struct rlimit limit;

    if (live && (pidfd < 0 || prlimit(c->pid, RLIMIT_MEMLOCK, NULL, &limit) < 0))
        return ni_hook_say(NI_HOOK_WRONG, why, "process %d: %s", c->pid, NI_ERRNO(errno));
    enum ni_hook_answer answer = check(top, c->pid, dry, why);
    if (!live || answer != NI_HOOK_YES)
        return answer;
    if (limit.rlim_cur >= want && limit.rlim_max >= want)
        return ni_hook_say(NI_HOOK_NO, why, "it is already that high");
    c->before = limit.rlim_cur > INT64_MAX ? NI_UNLIMITED : (int64_t)limit.rlim_cur;
    limit.rlim_cur = limit.rlim_cur > want ? limit.rlim_cur : want;
    limit.rlim_max = limit.rlim_max > want ? limit.rlim_max : want;
    /* prlimit takes no pidfd. While the process lives the pid is its own; and it lives, because it
       waits for the runtime, which waits for this program. */
    if (!dry && !has_ended(pidfd) && prlimit(c->pid, RLIMIT_MEMLOCK, &limit, NULL) < 0)
        return ni_hook_say(NI_HOOK_WRONG, why, "raising it: %s", NI_ERRNO(errno));
    if (has_ended(pidfd))
        return ni_hook_say(NI_HOOK_WRONG, why, "process %d has ended", c->pid);
    return NI_HOOK_YES;
}
