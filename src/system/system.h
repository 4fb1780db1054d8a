/* SPDX-License-Identifier: Apache-2.0 */
/* act: the only code that changes the process: limits, environment, exec. */
#ifndef NCCL_INIT_ACT_H
#define NCCL_INIT_ACT_H

#include <signal.h>
#include <sys/types.h>

#include "nccl_init/caps.h"
#include "nccl_init/env.h"
#include "nccl_init/findings.h"
#include "nccl_init/plan.h"
#include "nccl_init/text.h"

/* Raises RLIMIT_MEMLOCK as the plan says, never lowers it. *ret is the soft limit in force then, in
   bytes, NI_UNLIMITED, or -1 if it cannot be read. A limit that cannot be raised is a finding. 0, or
   -errno: the capability that was raised for it is still effective, and the program must end. */
int ni_memlock_raise(const struct ni_plan *plan, struct ni_findings *f, int64_t *ret);

/* Makes a permitted capability effective. false: it was so already, or cannot be. */
bool ni_cap_raise(unsigned cap);
/* Makes the capability ineffective. 0, or -errno: it may still be effective. */
int ni_cap_lower(unsigned cap);
/* Makes all capabilities ineffective; permitted ones stay. 0, or -errno: some may be effective. */
int ni_caps_disable(void);
/* Keeps and drops capabilities as the plan says. A refusal of the kernel is a finding. 0, or -errno:
   the capability that was raised for it is still effective, and the program must end. */
int ni_caps_apply(const struct ni_caps *want, const struct ni_cap_names *names,
                  struct ni_findings *f);
/* For good: of all sets only `keep` remains; no execve gives more (no_new_privs). 0 or -errno. */
int ni_caps_forsake(uint64_t keep);
/* Whether the command will have the capability as an effective one. */
bool ni_command_has_cap(unsigned cap);
/* The number of the capability whose name is `word` in any case, without "CAP_"; its whole name goes
   into `names`. 0, -EINVAL: libcap knows no such name, or -ENOMEM. */
int ni_cap_by_name(struct ni_span word, struct ni_cap_names *names, unsigned *ret);

/* Milliseconds of CLOCK_MONOTONIC; without a clock INT64_MAX: every deadline is over. */
int64_t ni_now_ms(void);

/* Waiting, also as PID 1, until one of SIGHUP, SIGINT, SIGQUIT, SIGTERM comes, those that are
   ignored or blocked already apart. What must poll(2) gives `blocked` to signalfd(2). */
struct ni_wait {
    sigset_t blocked; /* from begin to end, and not before */
    int signal;       /* that came first; 0: none */
};

void ni_wait_begin(struct ni_wait *w);
/* Sleeps so long at most. true: a signal came, now or earlier: clean up and call ni_wait_end. */
bool ni_wait_ms(struct ni_wait *w, int64_t ms);
/* All is as before ni_wait_begin. Ends the program by the signal that came; as PID 1 by 128+n. */
void ni_wait_end(struct ni_wait *w);
/* In a child: signals end it again. */
void ni_wait_unblock(const struct ni_wait *w);

/* Children of the time between begin and end, which leave nothing to the command. */
struct ni_children {
    bool pending, dead; /* SIGCHLD was pending, a child of others waited to be reaped */
};

void ni_children_begin(struct ni_children *c);
/* Ends what is left of the group that ni_fork_group started (-1: there is none), and waits for it, a
   second at most: one may hang in the kernel even then. No other child is reaped. Then all is as before
   ni_children_begin; a SIGCHLD of those that ended is not pending. */
void ni_children_end(const struct ni_children *c, pid_t group);

/* fork(2); the child dies with its parent. */
pid_t ni_fork(void);
/* The same; the child leads a process group of its own. */
pid_t ni_fork_group(void);
/* The same for work that may hang or crash. The child leaves no core, and holds no descriptor of the
   pod's but `keep` (-1: none): standard input, output and error are /dev/null. */
pid_t ni_fork_worker(int keep);

/* The command's environment: every entry of env in its order, byte for byte, duplicates and entries
   without '=' too, less NCCLINIT_*; then the plan's own settings (plan NULL: none). Points into env;
   its memory is never given back. NULL: no memory. */
char *const *ni_command_env(const struct ni_env *env, const struct ni_plan *plan);

enum { NI_EXIT_REFUSED = 125, NI_EXIT_NOT_EXECUTABLE = 126, NI_EXIT_NOT_FOUND = 127 };

/* Replaces the process by the command, looked up in PATH of envp as execvp(3) does, but never
   through a shell. Returns only on failure: 126 or 127; *why then holds one line without newline:
   what, why and what to do. *too_big: arguments and environment are more than the kernel takes, so that
   less may do. Nothing of the process is changed before the execve. */
int ni_exec(char *const argv[], char *const envp[], struct ni_text *why, bool *too_big);

/* 0 or -errno; all or, after an error, a part. */
int ni_write_all(int fd, const char *p, size_t n);
/* For ni_replace_file's `write`: a struct ni_text, -ENOMEM: it is cut; this program's file. */
int ni_write_text(int fd, void *text);
#define NI_SELF "/proc/self/exe"
int ni_write_self(int fd, void *nothing);
/* Makes the directories that lead to the file at the path, which is not "". 0 or -errno. */
int ni_make_folders(const char *path);
/* Replaces the file at path by what `write` writes. The new file becomes visible as a whole, with that
   mode, settled on the disk. A symbolic link there is replaced itself. On an error the old file stays,
   nothing is left beside it, and the result is -errno of the failing step; -ENOTBLK: what is there is
   neither a file nor a link. Only a kill leaves a file .nccl-init.XXXXXX. A path to a descriptor of our
   own (/dev/stdout, /dev/fd/3) is written to; NULL is standard output, which is closed then. */
int ni_replace_file(const char *path, mode_t mode, int (*write)(int fd, void *ctx), void *ctx);

/* Writes text to the pod's termination log if that file exists (terminationMessagePath), cut to what
   Kubelet shows (pkg/kubelet/container/runtime.go MaxContainerTerminationMessageLength). 0 or -errno. */
enum { NI_TERMINATION_MAX = 4096 };
int ni_termination_log(const char *path, const char *text);

#endif
