/* SPDX-License-Identifier: Apache-2.0 */
/* Prints all that a process inherits through execve, one attribute per line, in a form that depends on nothing else.
   usage: PROBE_OUT=FILE probe [ARG...]. Without PROBE_OUT the dump goes to standard output.
   PROBE_PID, PROBE_PPID and PROBE_SID are what setall saw of itself. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

enum { FDS = 64, SIGNALS = 64, CAPS = 41, GROUPS = 64 };

static FILE *out;

/* What the kernel's rt_sigaction fills; libc's would hide signals 32 to 34. */
struct kernel_sigaction {
    void *handler;
    unsigned long flags;
    void *restorer;
    uint64_t mask;
};

static void print_text(const char *s)
{
    for (; *s; s++) {
        if (*s > ' ' && *s < 0x7f && *s != '\\')
            fputc(*s, out);
        else
            fprintf(out, "\\x%02x", (unsigned)(unsigned char)*s);
    }
    fputc('\n', out);
}

static void print_long(const char *name, long value)
{
    if (value < 0 && errno != 0)
        fprintf(out, "%s: errno %d\n", name, errno);
    else
        fprintf(out, "%s: %ld\n", name, value);
    errno = 0;
}

/* What the variable recorded is still so. */
static void print_same(const char *name, const char *variable, long now)
{
    const char *then = getenv(variable);

    fprintf(out, "%s: %s\n", name,
            !then ? "not recorded" : (strtol(then, NULL, 10) == now ? "same" : "different"));
}

static void print_signals(void)
{
    uint64_t blocked = 0, pending = 0, ignored = 0, handled = 0;

    syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &blocked, sizeof(blocked));
    syscall(SYS_rt_sigpending, &pending, sizeof(pending));
    for (int i = 1; i <= SIGNALS; i++) {
        struct kernel_sigaction action = {.handler = NULL};

        if (syscall(SYS_rt_sigaction, i, NULL, &action, sizeof(action.mask)) != 0)
            continue;
        if (action.handler == (void *)1)
            ignored |= UINT64_C(1) << (i - 1);
        else if (action.handler)
            handled |= UINT64_C(1) << (i - 1);
    }
    fprintf(out, "signals blocked: %016llx\n", (unsigned long long)blocked);
    fprintf(out, "signals pending: %016llx\n", (unsigned long long)pending);
    fprintf(out, "signals ignored: %016llx\n", (unsigned long long)ignored);
    fprintf(out, "signals handled: %016llx\n", (unsigned long long)handled);
}

static void print_identity(void)
{
    gid_t groups[GROUPS];
    uid_t r, e, s;
    int n;

    print_same("pid", "PROBE_PID", getpid());
    print_same("ppid", "PROBE_PPID", getppid());
    print_same("session", "PROBE_SID", getsid(0));
    print_same("LISTEN_PID", "LISTEN_PID", getpid());
    fprintf(out, "leads its group: %d\n", getpgrp() == getpid());
    print_long("foreground group of a tty on 0", tcgetpgrp(0));
    getresuid(&r, &e, &s);
    fprintf(out, "uids: %u %u %u\n", r, e, s);
    getresgid(&r, &e, &s);
    fprintf(out, "gids: %u %u %u\n", r, e, s);
    n = getgroups(GROUPS, groups);
    fprintf(out, "groups:");
    for (int i = 0; i < n; i++)
        fprintf(out, " %u", groups[i]);
    fprintf(out, "\nfsuid: %ld\n", syscall(SYS_setfsuid, -1));
}

static void print_capabilities(void)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {{0}};
    uint64_t bounding = 0, ambient = 0;

    syscall(SYS_capget, &head, data);
    for (unsigned i = 0; i < CAPS; i++) {
        if (prctl(PR_CAPBSET_READ, i, 0, 0, 0) == 1)
            bounding |= UINT64_C(1) << i;
        if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, i, 0, 0) == 1)
            ambient |= UINT64_C(1) << i;
    }
    fprintf(out, "caps inheritable: %08x%08x\n", data[1].inheritable, data[0].inheritable);
    fprintf(out, "caps permitted: %08x%08x\n", data[1].permitted, data[0].permitted);
    fprintf(out, "caps effective: %08x%08x\n", data[1].effective, data[0].effective);
    fprintf(out, "caps bounding: %016llx\n", (unsigned long long)bounding);
    fprintf(out, "caps ambient: %016llx\n", (unsigned long long)ambient);
    errno = 0;
    print_long("securebits", prctl(PR_GET_SECUREBITS, 0, 0, 0, 0));
    print_long("keepcaps", prctl(PR_GET_KEEPCAPS, 0, 0, 0, 0));
    print_long("no_new_privs", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
    print_long("seccomp", prctl(PR_GET_SECCOMP, 0, 0, 0, 0));
    print_long("dumpable", prctl(PR_GET_DUMPABLE, 0, 0, 0, 0));
    fprintf(out, "AT_SECURE: %lu\n", getauxval(AT_SECURE));
}

static void print_limits(void)
{
    for (int i = 0; i <= 15; i++) { /* RLIMIT_RTTIME is the last one */
        struct rlimit limit = {0, 0};

        if (syscall(SYS_prlimit64, 0, i, NULL, &limit) == 0)
            fprintf(out, "rlimit %s: %llu %llu\n", i == RLIMIT_MEMLOCK ? "memlock" : "other",
                    (unsigned long long)limit.rlim_cur, (unsigned long long)limit.rlim_max);
    }
}

static void print_scheduling(void)
{
    uint64_t cpus[16] = {0}, nodes[16] = {0};
    struct itimerval timer;
    int mode = 0, signal = 0, subreaper = 0;

    errno = 0;
    print_long("nice", getpriority(PRIO_PROCESS, 0));
    print_long("ioprio", syscall(SYS_ioprio_get, 1, 0));
    print_long("scheduler", sched_getscheduler(0));
    (void)syscall(SYS_sched_getaffinity, 0, sizeof(cpus), cpus);
    fprintf(out, "affinity: %016llx %016llx\n", (unsigned long long)cpus[0],
            (unsigned long long)cpus[1]);
    errno = 0;
    print_long("mempolicy", syscall(SYS_get_mempolicy, &mode, nodes, 1024UL, NULL, 0UL));
    fprintf(out, "mempolicy: %d %016llx\n", mode, (unsigned long long)nodes[0]);
    nodes[0] = 0;
    (void)syscall(SYS_get_mempolicy, NULL, nodes, 1024UL, NULL, 4UL); /* MPOL_F_MEMS_ALLOWED */
    fprintf(out, "mems allowed: %016llx\n", (unsigned long long)nodes[0]);
    getitimer(ITIMER_REAL, &timer);
    fprintf(out, "itimer: %s\n", timer.it_value.tv_sec > 0 ? "armed" : "off");
    print_long("timer slack", prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0));
    print_long("no huge pages", prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0));
    print_long("pdeathsig", prctl(PR_GET_PDEATHSIG, &signal, 0, 0, 0));
    fprintf(out, "pdeathsig: %d\n", signal);
    print_long("subreaper", prctl(PR_GET_CHILD_SUBREAPER, &subreaper, 0, 0, 0));
    fprintf(out, "subreaper: %d\n", subreaper);
    fprintf(out, "personality: %x\n", (unsigned)personality(0xffffffff));
}

static void print_file(const char *path)
{
    char buf[256] = "";
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd >= 0) {
        (void)!read(fd, buf, sizeof(buf) - 1);
        close(fd);
    }
    fprintf(out, "%s: ", path);
    print_text(fd >= 0 ? buf : "-");
}

static void print_files(void)
{
    static const char *const ns[] = {"cgroup", "ipc", "mnt", "net", "pid", "time", "user", "uts"};
    char buf[4096], path[64];
    struct stat st;
    mode_t mask = umask(0);

    umask(mask);
    fprintf(out, "umask: %04o\n", (unsigned)mask);
    fprintf(out, "cwd: ");
    print_text(getcwd(buf, sizeof(buf)) ? buf : "-");
    if (stat("/", &st) == 0)
        fprintf(out, "root: %llu:%llu\n", (unsigned long long)st.st_dev,
                (unsigned long long)st.st_ino);
    for (size_t i = 0; i < sizeof(ns) / sizeof(ns[0]); i++) {
        ssize_t n;

        snprintf(path, sizeof(path), "/proc/self/ns/%s", ns[i]);
        n = readlink(path, buf, sizeof(buf) - 1);
        buf[n > 0 ? n : 0] = '\0';
        fprintf(out, "namespace %s: %s\n", ns[i], buf);
    }
    print_file("/proc/self/oom_score_adj");
    print_file("/proc/self/coredump_filter");
    print_file("/proc/self/cgroup");
    print_file("/proc/self/comm");
}

/* Called before anything is opened. Not by /proc, which may not be there. */
static void print_descriptors(const int flags[FDS], const int status[FDS],
                              const struct stat st[FDS])
{
    for (int fd = 0; fd < FDS; fd++) {
        if (flags[fd] < 0)
            continue;
        fprintf(out, "fd %d: flags %x status %x inode %llu:%llu offset %lld\n", fd,
                (unsigned)flags[fd], (unsigned)status[fd], (unsigned long long)st[fd].st_dev,
                (unsigned long long)st[fd].st_ino, (long long)lseek(fd, 0, SEEK_CUR));
    }
}

static void print_arguments(int argc, char *argv[], char *envp[])
{
    const char *file = (const char *)getauxval(AT_EXECFN); /* NOLINT: the kernel hands it over so */

    fprintf(out, "execfn: ");
    print_text(file ? file : "-");
    fprintf(out, "argc: %d\n", argc);
    for (int i = 0; i < argc; i++) {
        fprintf(out, "arg: ");
        print_text(argv[i]);
    }
    for (; *envp; envp++) {
        if (strncmp(*envp, "PROBE_OUT=", strlen("PROBE_OUT=")) == 0)
            continue; /* differs by design */
        fprintf(out, "env: ");
        print_text(*envp);
    }
}

int main(int argc, char *argv[], char *envp[])
{
    const char *path = getenv("PROBE_OUT");
    static struct stat st[FDS];
    int flags[FDS], status[FDS], fd;

    for (int i = 0; i < FDS; i++) {
        flags[i] = fcntl(i, F_GETFD);
        status[i] = fcntl(i, F_GETFL);
        (void)fstat(i, &st[i]);
    }
    fd = path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : dup(1);
    out = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!out)
        return 1;
    print_descriptors(flags, status, st);
    errno = 0;
    print_signals();
    print_identity();
    print_capabilities();
    print_limits();
    print_scheduling();
    print_files();
    print_arguments(argc, argv, envp);
    return fclose(out) == 0 ? 0 : 1;
}
