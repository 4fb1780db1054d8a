/* SPDX-License-Identifier: Apache-2.0 */
/* Sets each attribute that execve inherits to something unusual, then executes a command with an unusual environment.
   usage: setall [-c FD]... [-d] [-n] [-s] DIR COMMAND [ARG...]
   -c FD: closed in the command. -d: signals unblocked and at their defaults instead. -n: no_new_privs. -s: with a seccomp filter that allows everything.
   What a process without privileges may not set stays as it is: the same for both runs of a comparison. */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

static void handle(int sig, bool ignored)
{
    struct {
        void *handler;
        unsigned long flags;
        void *restorer;
        uint64_t mask;
    } action = {.handler = ignored ? (void *)1 : NULL};

    (void)syscall(SYS_rt_sigaction, sig, &action, NULL, sizeof(action.mask));
}

static void default_signals(void)
{
    const uint64_t none = 0;

    for (int i = 1; i <= 64; i++)
        handle(i, false);
    (void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof(none));
}

static void set_signals(void)
{
    static const int ignored[] = {SIGHUP, SIGPIPE, SIGCHLD, SIGTTOU, SIGSEGV, SIGWINCH, 33, 34, 40};
    const uint64_t all = ~UINT64_C(0);

    for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++)
        handle(ignored[i], true);
    (void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, sizeof(all));
    /* Pending: one for the process, one for the thread, and one that libc would keep for itself. */
    (void)kill(getpid(), SIGUSR2);
    (void)syscall(SYS_tgkill, getpid(), getpid(), SIGUSR1);
    (void)kill(getpid(), 32);
}

static void lower(int resource, rlim_t soft, rlim_t hard)
{
    struct rlimit limit = {soft, hard};

    (void)syscall(SYS_prlimit64, 0, resource, &limit, NULL);
}

static void set_limits(void)
{
    lower(RLIMIT_CORE, 4096, 8192);
    lower(RLIMIT_FSIZE, (rlim_t)1 << 40, (rlim_t)1 << 41);
    lower(RLIMIT_NOFILE, 777, 1234);
    lower(RLIMIT_SIGPENDING, 555, 666);
    lower(RLIMIT_MSGQUEUE, 4321, 5432);
    lower(RLIMIT_STACK, 8200 * 1024, 8300 * 1024);
    lower(RLIMIT_LOCKS, 99, 100);
    lower(RLIMIT_RTPRIO, 0, 0);
    lower(RLIMIT_NICE, 3, 3);
    lower(RLIMIT_MEMLOCK, 64 * 1024, 128 * 1024);
}

static void set_scheduling(void)
{
    const struct itimerval timer = {.it_value = {.tv_sec = 1000}};
    const struct sched_param param = {.sched_priority = 0};
    const uint64_t cpu = 1, node = 1;
    const int best_effort_6 = 2 << 13 | 6, interleave = 3;

    (void)setpriority(PRIO_PROCESS, 0, 5);
    (void)syscall(SYS_ioprio_set, 1, 0, best_effort_6);
    (void)syscall(SYS_sched_setscheduler, 0, SCHED_BATCH, &param);
    (void)syscall(SYS_sched_setaffinity, 0, sizeof(cpu), &cpu);
    (void)syscall(SYS_set_mempolicy, interleave, &node, 64UL);
    (void)setitimer(ITIMER_REAL, &timer, NULL);
    (void)prctl(PR_SET_TIMERSLACK, 77777, 0, 0, 0);
    (void)prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGWINCH, 0, 0, 0);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    (void)personality(ADDR_NO_RANDOMIZE);
}

static void set_privileges(bool no_new_privs, bool seccomp)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {{0}};

    (void)prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP, 0, 0, 0);
    (void)prctl(PR_CAPBSET_DROP, CAP_SYS_BOOT, 0, 0, 0);
    if (syscall(SYS_capget, &head, data) == 0 && (data[0].permitted & 1U << CAP_NET_RAW) != 0) {
        data[0].inheritable |= 1U << CAP_NET_RAW;
        (void)syscall(SYS_capset, &head, data);
    }
    if (no_new_privs)
        (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (seccomp) {
        struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
        struct sock_fprog program = {.len = 1, .filter = &allow};

        (void)prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
    }
}

static void write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);

    if (fd < 0)
        return;
    (void)!write(fd, text, strlen(text));
    close(fd);
}

/* 3 and 7 are inherited, with an offset of their own; 9 is not. */
static void set_files(const char *dir)
{
    int fd;

    umask(0137);
    if (chdir(dir) != 0)
        exit(3);
    write_file("/proc/self/oom_score_adj", "321");
    write_file("/proc/self/coredump_filter", "0x7");
    fd = open("/", O_RDONLY | O_DIRECTORY);
    if (fd >= 0 && fd != 3) {
        (void)dup2(fd, 3);
        close(fd);
    }
    fd = open(dir, O_RDONLY | O_DIRECTORY | O_NONBLOCK);
    (void)dup2(fd, 7);
    (void)dup3(fd, 9, O_CLOEXEC);
    if (fd > 3 && fd != 7 && fd != 9)
        close(fd);
}

static char **environment(void)
{
    static char pid[32], ppid[32], sid[32], listen[32], out[4096 + 16], path[4096 + 8];
    static char own1[] = "NCCLINIT_LOG_LEVEL=error", own2[] = "NCCLINIT_MODE=auto";
    static char twice1[] = "TWICE=1", twice2[] = "TWICE=2", bare[] = "NO_EQUALS_SIGN";
    static char empty[] = "EMPTY=", nameless[] = "=nameless", bytes[] = "BYTES=\x01\xff\n\"'$ ";
    static char void_entry[] = "", prefix[] = "NCCLINIT", own_bare[] = "NCCLINIT_BARE";
    static char *list[] = {twice1, bare, own1, empty, nameless, bytes, void_entry, prefix, own_bare,
                           own2,   pid,  ppid, sid,   listen,   out,   path,       twice2, NULL};
    const char *value = getenv("PROBE_OUT");

    snprintf(pid, sizeof(pid), "PROBE_PID=%ld", (long)getpid());
    snprintf(ppid, sizeof(ppid), "PROBE_PPID=%ld", (long)getppid());
    snprintf(sid, sizeof(sid), "PROBE_SID=%ld", (long)getsid(0));
    snprintf(listen, sizeof(listen), "LISTEN_PID=%ld", (long)getpid());
    snprintf(out, sizeof(out), "PROBE_OUT=%s", value ? value : "/dev/null");
    value = getenv("PATH");
    snprintf(path, sizeof(path), "PATH=%s", value ? value : "/bin:/usr/bin");
    return list;
}

int main(int argc, char *argv[])
{
    bool no_new_privs = false, seccomp = false, defaults = false;
    unsigned close_mask = 0;
    char **env;
    int c;

    while ((c = getopt(argc, argv, "+c:dns")) != -1) {
        if (c == 'c')
            close_mask |= 1U << (strtoul(optarg, NULL, 10) & 31);
        else if (c == 'd')
            defaults = true;
        else if (c == 'n')
            no_new_privs = true;
        else if (c == 's')
            seccomp = true;
        else
            return 2;
    }
    if (argc - optind < 2)
        return 2;
    env = environment();
    set_files(argv[optind]);
    set_limits();
    set_scheduling();
    if (defaults)
        default_signals();
    else
        set_signals();
    set_privileges(no_new_privs, seccomp);
    for (int fd = 0; fd < 3; fd++)
        if ((close_mask & 1U << fd) != 0)
            close(fd);
    /* Refused to a session leader, who has one of his own. */
    (void)setpgid(0, 0);
    execvpe(argv[optind + 1], argv + optind + 1, env);
    fprintf(stderr, "setall: %s: %s\n", argv[optind + 1], strerror(errno));
    return 4;
}
