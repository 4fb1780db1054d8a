/* SPDX-License-Identifier: Apache-2.0 */
/* The helper: found beside this program only, never by PATH; known by its SHA-256; started without
   rights, and killed at its deadline. */
#include "system/helper.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <sha2.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "nccl_init/base.h"
#include "nccl_init/number.h"
#include "nccl_init/text.h"
#include "system/caps.h"
#include "system/process.h"
#include "system/replace.h"

/* ---- the file ---- */

/* Puts the path of the helper beside this program. 0, or -errno. */
static int put_path(struct ni_text *path)
{
    char own[PATH_MAX];
    const ssize_t n = readlink(NI_SELF, own, sizeof(own) - 1);

    if (n < 0)
        return -errno;
    own[n] = '\0';
    char *slash = strrchr(own, '/');
    if (!slash)
        return -ENOENT;
    slash[1] = '\0';
    ni_putf(path, "%s%s", own, NI_HELPER);
    return path->cut ? -ENAMETOOLONG : 0;
}

/* Finds the version that a helper's file names (try/main.c). */
static void find_version(const char *file, size_t n, char ret[32])
{
    static const char mark[] = NI_HELPER " version ";
    const char *at = memmem(file, n, mark, strlen(mark));

    ret[0] = '\0';
    if (!at)
        return;
    at += strlen(mark);
    const char *end = memchr(at, ';', n - (size_t)(at - file));
    if (end && end - at < 32 && ni_is_name((struct ni_span){at, (size_t)(end - at)}, 32))
        (void)ni_copyn(ret, 32, at, (size_t)(end - at));
}

/* Reads n bytes of a file. 0 or -errno. */
static int read_whole(int fd, char *to, size_t n)
{
    for (size_t at = 0; at < n;) {
        const ssize_t r = pread(fd, to + at, n - at, (off_t)at);

        if (r < 0)
            return -errno;
        if (r == 0)
            return -EIO; /* it has become shorter */
        at += (size_t)r;
    }
    return 0;
}

/* Checks that the open file is the helper that belongs to this program. */
static bool is_own(int fd, const struct ni_helper_task *task, struct ni_helper_result *ret)
{
    uint8_t sum[NI_SHA256_BYTES];
    SHA2_CTX sha;
    struct stat st;

    ret->state = NI_HELPER_UNREAD;
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size <= 0 ||
        st.st_size > NI_HELPER_FILE_MAX) {
        ret->err = ENOEXEC;
        return false;
    }
    const size_t n = (size_t)st.st_size;
    char *file = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (file == MAP_FAILED) {
        ret->err = errno;
        return false;
    }
    const int r = read_whole(fd, file, n);
    ret->err = -r;
    if (r == 0) {
        SHA256Init(&sha);
        SHA256Update(&sha, (const uint8_t *)file, n);
        SHA256Final(sum, &sha);
        ret->state = NI_HELPER_OTHER;
        find_version(file, n, ret->version);
    }
    (void)munmap(file, n);
    return r == 0 && memcmp(sum, task->sha256, sizeof(sum)) == 0;
}

/* Opens the helper. -1: *ret says why not. */
static int open_helper(const struct ni_helper_task *task, struct ni_helper_result *ret)
{
    char name[PATH_MAX];
    struct ni_text path = ni_text_on(name, sizeof(name));
    int r = 0, fd = -1;

    if (task->folder)
        ni_putf(&path, "%s/%s", task->folder, NI_HELPER);
    else
        r = put_path(&path);
    if (r == 0) {
        fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        r = fd < 0 ? -errno : 0;
    }
    ret->err = -r;
    ret->state = r == -ENOENT ? NI_HELPER_MISSING : NI_HELPER_UNREAD;
    if (fd < 0 || is_own(fd, task, ret))
        return fd;
    (void)close(fd);
    return -1;
}

/* What is said has much room, of which only as much is touched as is used. */
static void clear(struct ni_helper_result *ret)
{
    ret->state = NI_HELPER_MISSING;
    ret->err = 0;
    ret->cut = false;
    ret->version[0] = ret->words[0] = ret->errors[0] = '\0';
}

int ni_open_helper(enum ni_helper_state *state)
{
    const struct ni_helper_task task = {.sha256 = ni_try_sha256};
    struct ni_helper_result *result = calloc(1, sizeof(*result));
    int fd = -1;

    *state = NI_HELPER_UNREAD;
    if (result) {
        fd = open_helper(&task, result);
        *state = result->state;
    }
    free(result);
    return fd;
}

/* ---- the process ---- */

enum { HIGH = 16 }; /* above the descriptors that the helper's process has */

/* Descriptors of the process that becomes the helper, and their other ends. */
struct ends {
    int file;
    int words[2], errors[2], status[2]; /* pipes; status: the errno, if there is no helper */
};

/* Puts what the helper has at its place, and closes all else. 0 or -errno. */
static int arrange(const struct ends *e)
{
    const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    const int from[] = {null, e->words[1], e->errors[1], e->file, e->status[1]};
    int high[NI_COUNT(from)];

    for (unsigned i = 0; i < NI_COUNT(from); i++) {
        high[i] = fcntl(from[i], F_DUPFD_CLOEXEC, HIGH);
        if (high[i] < 0)
            return -errno;
    }
    for (unsigned i = 0; i < NI_COUNT(from); i++) {
        const int flags = i > STDERR_FILENO ? O_CLOEXEC : 0;

        if (dup3(high[i], (int)i, flags) < 0)
            return -errno;
    }
    ni_close_from(NI_COUNT(from));
    return 0;
}

/* Becomes the helper. */
static _Noreturn void become(const struct ends *e, const struct ni_helper_task *task)
{
    static const struct rlimit no_core = {1, 1}; /* 0 would not stop a piped core (fs/coredump.c) */
    enum { FILE_AT = 3, STATUS_AT = 4 };
    int status = e->status[1];
    int r = arrange(e);

    if (r == 0) {
        status = STATUS_AT;
        (void)setrlimit(RLIMIT_CORE, &no_core); /* a core would take too long */
        r = ni_caps_forsake(0);
    }
    if (r == 0) {
        (void)syscall(SYS_execveat, FILE_AT, "", task->argv, task->envp, AT_EMPTY_PATH);
        r = -errno;
    }
    r = -r;
    (void)!write(status, &r, sizeof(r));
    _exit(1);
}

static void close_end(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

static bool open_pipes(struct ends *e)
{
    return pipe2(e->words, O_CLOEXEC) == 0 && pipe2(e->errors, O_CLOEXEC) == 0 &&
           pipe2(e->status, O_CLOEXEC) == 0;
}

/* Takes what is there. false: the other end is closed. What has no room is left out; *full says so. */
static bool take(int fd, struct ni_text *to, bool *full)
{
    char buf[4096];
    const ssize_t n = read(fd, buf, sizeof(buf));

    if (n < 0)
        return errno == EINTR || errno == EAGAIN;
    ni_putn(to, buf, (size_t)n);
    *full = to->cut;
    return n > 0;
}

/* Waits for one of the descriptors, for LOOK_MS at most. false: the time is over, or a signal came. */
static bool look(struct pollfd *p, nfds_t n, int64_t until_ms, struct ni_wait *wait)
{
    enum { LOOK_MS = 100 };
    const int64_t left = until_ms - ni_now_ms();

    if (left <= 0 || ni_wait_ms(wait, 0))
        return false;
    (void)poll(p, n, (int)(left < LOOK_MS ? left : LOOK_MS));
    return true;
}

/* Waits until the process has become the helper. false: it has not, and *ret says why. */
static bool wait_for_exec(struct ends *e, int64_t until_ms, struct ni_wait *wait,
                          struct ni_helper_result *ret)
{
    struct pollfd p = {.fd = e->status[0], .events = POLLIN};
    int err = 0;

    while (p.revents == 0) {
        ret->state = NI_HELPER_LATE;
        if (!look(&p, 1, until_ms, wait))
            return false;
    }
    if (read(e->status[0], &err, sizeof(err)) != sizeof(err))
        return true; /* execve(2) has closed the other end, or the process is dead */
    ret->state = NI_HELPER_DENIED;
    ret->err = err;
    return false;
}

/* Takes the helper's words until it has closed both pipes, or must die. false: it must. */
static bool listen_to(struct ends *e, int64_t until_ms, struct ni_wait *wait,
                      struct ni_helper_result *ret)
{
    struct ni_text words = ni_text_on(ret->words, sizeof(ret->words));
    struct ni_text errors = ni_text_on(ret->errors, sizeof(ret->errors));
    bool full = false;

    while (e->words[0] >= 0 || e->errors[0] >= 0) {
        struct pollfd p[] = {{.fd = e->words[0], .events = POLLIN},
                             {.fd = e->errors[0], .events = POLLIN}};

        ret->state = NI_HELPER_LATE;
        if (!look(p, NI_COUNT(p), until_ms, wait))
            return false;
        if (p[0].revents != 0 && !take(e->words[0], &words, &full))
            close_end(&e->words[0]);
        if (p[1].revents != 0 && !take(e->errors[0], &errors, &ret->cut))
            close_end(&e->errors[0]);
        ret->state = NI_HELPER_BABBLES;
        if (full)
            return false;
    }
    return true;
}

/* Waits for the end of a process that has closed its pipes. */
static void wait_for_end(pid_t pid, int64_t until_ms, struct ni_wait *wait,
                         struct ni_helper_result *ret)
{
    int status = 0;
    pid_t ended = 0;
    bool over = false;

    while (ended == 0 && !over) {
        ended = waitpid(pid, &status, WNOHANG);
        if (ended == 0)
            over = ni_wait_ms(wait, 1) || ni_now_ms() >= until_ms;
    }
    ret->state = NI_HELPER_ENDED;
    if (ended == 0)
        ret->state = NI_HELPER_LATE;
    else if (ended > 0 && WIFSIGNALED(status))
        ret->state = NI_HELPER_DIED;
    ret->err = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

/* Returns true if the process of that number is of the group, and no zombie. */
static bool is_of_group(const char *number, pid_t group)
{
    char path[64], stat[512];
    struct ni_span state, parent, its;
    uint64_t of = 0;

    if (!ni_is_digit(number[0]) || !ni_format(path, sizeof(path), "/proc/%s/stat", number))
        return false;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? -1 : read(fd, stat, sizeof(stat) - 1);
    if (fd >= 0)
        (void)close(fd);
    if (n <= 0)
        return false;
    stat[n] = '\0';
    /* its name stands in parentheses and may have any letter (proc_pid_stat(5)) */
    const char *rest = strrchr(stat, ')');
    if (!rest)
        return false;
    rest++;
    return ni_word(&rest, &state) && ni_word(&rest, &parent) && ni_word(&rest, &its) &&
           ni_parse_u64(its, INT32_MAX, &of) == 0 && (pid_t)of == group &&
           !ni_span_is(state, "Z") && !ni_span_is(state, "X");
}

/* Returns true if a process of the group is left: one that hangs in the kernel. What only waits for its
   parent to take its status is not. */
static bool is_any_left(pid_t group)
{
    bool any = false;

    if (group <= 0 || kill(-group, 0) < 0)
        return false;
    DIR *proc = opendir("/proc");
    for (struct dirent *d = proc ? readdir(proc) : NULL; d && !any; d = readdir(proc))
        any = is_of_group(d->d_name, group);
    if (proc)
        (void)closedir(proc);
    return any;
}

/* Returns true if a process of the group is left when a driver had the time to tear it down: for eight
   processes with a GPU's context each this takes half a second and more. */
static bool stays(pid_t group)
{
    enum { TEAR_DOWN_MS = 5000 };
    static const struct timespec nap = {.tv_nsec = 10000000};
    const int64_t until = ni_now_ms() + TEAR_DOWN_MS;

    while (is_any_left(group)) {
        if (ni_now_ms() >= until)
            return true;
        (void)nanosleep(&nap, NULL);
    }
    return false;
}

/* Starts the helper and sees it through. */
static void run(struct ends *e, const struct ni_helper_task *task, struct ni_helper_result *ret)
{
    const int64_t until = ni_now_ms() + task->limit_ms;
    struct ni_children children;
    struct ni_wait wait;

    ni_wait_begin(&wait);
    ni_children_begin(&children);
    const pid_t pid = ni_fork_group();
    if (pid == 0) {
        ni_wait_unblock(&wait);
        become(e, task);
    }
    ret->state = NI_HELPER_DENIED;
    ret->err = pid < 0 ? errno : 0;
    close_end(&e->words[1]);
    close_end(&e->errors[1]);
    close_end(&e->status[1]);
    if (pid > 0 && wait_for_exec(e, until, &wait, ret) && listen_to(e, until, &wait, ret))
        wait_for_end(pid, until, &wait, ret);
    ni_children_end(&children, pid);
    ret->left = stays(pid);
    ni_wait_end(&wait); /* a signal that came meanwhile may end the program here */
}

void ni_run_helper(const struct ni_helper_task *task, struct ni_helper_result *ret)
{
    struct ends e = {.words = {-1, -1}, .errors = {-1, -1}, .status = {-1, -1}};

    clear(ret);
    e.file = open_helper(task, ret);
    if (e.file < 0)
        return;
    if (open_pipes(&e)) {
        run(&e, task, ret);
    } else {
        ret->state = NI_HELPER_DENIED;
        ret->err = errno;
    }
    for (unsigned i = 0; i < 2; i++) {
        close_end(&e.words[i]);
        close_end(&e.errors[i]);
        close_end(&e.status[i]);
    }
    (void)close(e.file);
}
