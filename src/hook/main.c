/* SPDX-License-Identifier: Apache-2.0 */
/* nccl-init-hook. In every case it reads all of standard input (crun 1.8.1 and 1.21 die of a
   hook that does not), ends in time, and ends with status 0: a hook that fails makes the
   container fail. The pod chooses texts of the state and of config.json: before their first byte
   is read, the hook drops all capabilities but two. */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

#include "hook/container.h"
#include "hook/install.h"
#include "hook/process.h"
#include "nccl_init/base.h"
#include "nccl_init/caps.h"
#include "nccl_init/errno.h"
#include "nccl_init/guess.h"
#include "nccl_init/number.h"
#include "nccl_init/text.h"
#include "sysroot/files.h"
#include "sysroot/root.h"
#include "system/caps.h"

enum {
    STATE_MAX = 4 << 20,   /* it has the annotations: 256 KiB, which CRI-O quotes several times */
    CONFIG_MAX = 16 << 20, /* it also has the command and the environment */
    PATIENCE_MS = 4000,    /* the wait for more of standard input */
    SECONDS_MAX = 5        /* of the whole run; below the timeout in the hook's file (install.c) */
};

static const char help[] =
    "usage: nccl-init-hook [OPTION...], --help, --version\n"
    "An OCI createRuntime hook: with an RDMA device, the container gets more locked memory.\n\n"
    "  --memlock=max|BYTES  the new limit (default: max, no limit); K, M, G count 1024\n"
    "  --privileged         also for privileged containers: they may use every device\n"
    "  --strict             exits with 1 if something is wrong: the container does not start\n"
    "  --dry-run            says what it would do, and why; reads the state from stdin\n"
    "  --root=DIR|FILE      says what the hook would do on a recorded node, and why\n"
    "  --install[=DIR]      copies itself to PATH, then writes " NI_HOOK_FILE " with the other\n"
    "                       options into DIR (default: /usr/share/containers/oci/hooks.d)\n"
    "  --remove[=DIR]       removes both files\n"
    "  --program=PATH       default: /usr/libexec/oci/hooks.d/nccl-init-hook\n";

static struct {
    int strict, privileged, dry;
    int64_t memlock;
    const char *memlock_text, *root, *folder, *program;
    const char *wrong; /* an argument that cannot be used; NULL: none */
} options = {
    .memlock = NI_UNLIMITED,
    .memlock_text = "max",
    .root = "/",
    .folder = "/usr/share/containers/oci/hooks.d",
    .program = "/usr/libexec/oci/hooks.d/nccl-init-hook",
};

/* Writes a line to the journal or to syslog. It never waits; the line is lost if nobody listens. */
static void log_line(int priority, const char *text)
{
    const struct sockaddr_un to = {.sun_family = AF_UNIX, .sun_path = "/dev/log"};
    struct ni_text t = NI_TEXT(1200);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    ni_putf(&t, "<%d>nccl-init-hook[%d]: %s", LOG_DAEMON | priority, (int)getpid(), text);
    (void)sendto(fd, t.buf, t.len, MSG_NOSIGNAL, (const void *)&to, sizeof(to));
    (void)close(fd);
}

/* Reports a failure. Returns the exit status: 1 with --strict, else 0. runc shows stderr if the
   hook fails. crun appends it to a file that an annotation of the container names
   (run.oci.hooks.stderr): so stderr is written only with --strict, and with --dry-run, which people
   start. */
static int fail_hook(const char *text)
{
    log_line(LOG_WARNING, text);
    if (options.strict || options.dry)
        (void)dprintf(STDERR_FILENO, "nccl-init-hook: %s\n", text);
    return options.strict;
}

static void give_up(int signal)
{
    (void)signal;
    _exit(options.strict);
}

/* Reads all of standard input. Returns true if it ended, and is a text that fits into the buffer.
   */
static bool read_state(char *buf, size_t cap)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    char rest[1 << 14];
    size_t len = 0;
    ssize_t n = 1;

    if (cap > 0)
        buf[0] = '\0';
    while (n > 0 && poll(&input, 1, PATIENCE_MS) > 0) {
        n = len < cap ? read(STDIN_FILENO, buf + len, cap - len)
                      : read(STDIN_FILENO, rest, sizeof(rest));
        len += n > 0 && len < cap ? (size_t)n : 0;
    }
    if (n != 0 || len == cap)
        return false;
    buf[len] = '\0';
    return strlen(buf) == len;
}

/* Reads the bundle's config.json. On the live machine it must be a regular file, not a link, and
   belong to root or to the user of a rootless runtime. */
static ssize_t read_config(const struct ni_dir *top, const char *bundle, char *buf, size_t cap)
{
    struct stat st;

    if (top->root->kind == NI_ROOT_LIVE) {
        (void)ni_format(buf, cap, "%s/config.json", bundle);
        if (lstat(buf, &st) < 0)
            return -errno;
        if (!S_ISREG(st.st_mode) || (st.st_uid != 0 && st.st_uid != geteuid()))
            return -EPERM;
    }
    return ni_read(top, buf, cap, "%s/config.json", bundle + 1);
}

/* Does all steps, from the text of the state to the raised limits. The memory of `state` goes on
   with room for config.json. */
static enum ni_hook_answer decide(const struct ni_dir *top, char *state,
                                  struct ni_hook_container *c, struct ni_text *why)
{
    char *config = state + STATE_MAX;
    const rlim_t want = options.memlock == NI_UNLIMITED ? RLIM_INFINITY : (rlim_t)options.memlock;
    enum ni_hook_answer answer = ni_hook_state(state, options.dry, c, why);

    if (answer != NI_HOOK_YES)
        return answer;
    ssize_t n = read_config(top, c->bundle, config, CONFIG_MAX);
    if (n < 0)
        return ni_hook_say(NI_HOOK_WRONG, why, "config.json: %s", NI_ERRNO((int)n));
    answer = ni_hook_config(top, config, options.privileged, c, why);
    return answer == NI_HOOK_YES ? ni_hook_raise(top, want, options.dry, c, why) : answer;
}

/* Puts a sentence about the limits that were raised. */
static void describe(const struct ni_dir *top, const struct ni_hook_container *c, bool dry,
                     struct ni_text *t)
{
    char name[NI_DEV_NAME] = "";

    ni_put(t, dry ? "would raise locked memory" : "raised locked memory");
    if (c->before >= 0) {
        ni_put(t, " from ");
        ni_put_bytes(t, c->before);
    }
    ni_put(t, " to ");
    ni_put_bytes(t, options.memlock);
    ni_put(t, ": RDMA device ");
    if (ni_read(top, name, sizeof(name), "sys/dev/char/%d:%d/ibdev", c->major, c->minor) > 0)
        ni_quote(t, name);
    ni_putf(t, "%s(%d:%d)", name[0] ? " " : "", c->major, c->minor);
    if (c->listed >= 0 && c->listed < options.memlock) {
        ni_put(t, "; config.json lists RLIMIT_MEMLOCK ");
        ni_put_bytes(t, c->listed);
        ni_put(t, ", which runc sets after this hook");
    }
}

/* Drops all capabilities but two. SYS_RESOURCE raises the hard limit of another process
   (kernel/sys.c do_prlimit, in the first user namespace). SYS_PTRACE reads /proc/PID/exe and ns/mnt
   of a process that has more capabilities than this one, or is not dumpable, as runc's init
   (kernel/ptrace.c __ptrace_may_access). The bundle belongs to root, so reading it needs no
   capability. 0 or -errno. */
static int keep_two_capabilities(void)
{
    return ni_caps_forsake(ni_cap_bit(CAP_SYS_RESOURCE) | ni_cap_bit(CAP_SYS_PTRACE));
}

enum task { HOOK, WORD, INSTALL, REMOVE, HELP, VERSION, MEMLOCK, ROOT, PROGRAM };

/* Returns true for an absolute path of printable ASCII that JSON does not escape. */
static bool is_plain_path(const char *path)
{
    for (const char *s = path; *s; s++)
        if (*s < ' ' || *s > '~' || *s == '"' || *s == '\\')
            return false;
    return path[0] == '/';
}

/* Sets options.wrong if a value cannot be used. changes: the number of --install and --remove on
   the command line: at most one, and none with --dry-run or for another root. */
static void check_values(int changes)
{
    const bool only_shows = options.dry || strcmp(options.root, "/") != 0;

    if (!is_plain_path(options.program))
        options.wrong = options.program;
    if (options.folder[0] != '/')
        options.wrong = options.folder;
    if (strcmp(options.memlock_text, "unlimited") == 0)
        options.memlock_text = "max";
    if (strcmp(options.memlock_text, "max") != 0 &&
        ni_parse_bytes(options.memlock_text, 0, NI_UNLIMITED - 1, &options.memlock) < 0)
        options.wrong = options.memlock_text;
    if (changes > 1 || (changes == 1 && only_shows))
        options.wrong = "--install, --remove and --dry-run or --root exclude each other";
}

static const struct option table[] = {
    {"strict", no_argument, &options.strict, true},
    {"privileged", no_argument, &options.privileged, true},
    {"dry-run", no_argument, &options.dry, true},
    {"memlock", required_argument, NULL, MEMLOCK},
    {"root", required_argument, NULL, ROOT},
    {"program", required_argument, NULL, PROGRAM},
    {"install", optional_argument, NULL, INSTALL},
    {"remove", optional_argument, NULL, REMOVE},
    {"help", no_argument, NULL, HELP},
    {"version", no_argument, NULL, VERSION},
    {NULL, 0, NULL, 0},
};

/* Says which word is wrong, and which option may be meant. */
static int refuse_arguments(void)
{
    struct ni_span word = ni_span_of(options.wrong);
    struct ni_text hint = NI_TEXT(64);
    struct ni_guess guess;

    if (ni_has_prefix(options.wrong, "--")) {
        word.p += 2;
        word.n = strcspn(word.p, "=");
    }
    guess = ni_guess_of(word);
    for (const struct option *option = table; option->name; option++)
        ni_guess_try(&guess, ni_span_of(option->name));
    if (guess.edits > 0) /* else it is an option's own name, with a wrong value */
        ni_put_guess(&hint, &guess, "--");
    (void)fprintf(stderr, "nccl-init-hook: error: wrong arguments: %s%s\n", options.wrong,
                  hint.buf);
    return 1;
}

/* Reads the command line into options; options.wrong is a word that cannot be used. Returns the
   task. */
static enum task parse(int argc, char *argv[])
{
    static const char **const values[] = {
        [INSTALL] = &options.folder,       [REMOVE] = &options.folder,   [ROOT] = &options.root,
        [MEMLOCK] = &options.memlock_text, [PROGRAM] = &options.program,
    };
    enum task task = HOOK;
    int changes = 0;

    /* with "-" getopt returns each operand as WORD; a wrong word is the one before optind */
    opterr = 0;
    for (;;) {
        const int at = optind;
        int found = -1;
        const int option = getopt_long(argc, argv, "-", table, &found);

        if (option == -1)
            break;
        changes += option == INSTALL || option == REMOVE;
        if (option == '?' || option == WORD)
            options.wrong = argv[optind > at ? optind - 1 : at];
        else if (strcspn(argv[at] + 2, "=") != strlen(table[found].name))
            options.wrong = argv[at]; /* getopt takes beginnings of names, too */
        else if (option > (int)task && option <= VERSION)
            task = (enum task)option;
        if (option >= INSTALL && option <= PROGRAM && optarg)
            *values[option] = optarg;
    }
    if (optind < argc)
        options.wrong = argv[optind];
    check_values(changes);
    return task;
}

/* Reports wrong arguments, to the person who started the hook by hand or to the runtime. state: the
   text of standard input; NULL: not known. Returns the exit status. */
static int report_wrong_arguments(const char *state)
{
    /* a runtime gives a JSON object; whatever else stands there, somebody started this by hand */
    const bool by_hand =
        options.dry || strcmp(options.root, "/") != 0 || (state && state[0] != '{');
    struct ni_text t = NI_TEXT(160);

    if (by_hand)
        return refuse_arguments();
    ni_putf(&t, "wrong arguments: %.99s", options.wrong);
    return fail_hook(t.buf);
}

/* Decides about the container of that state, raises its limits, and says so. Returns the exit
   status. */
static int answer_runtime(char *state)
{
    struct ni_text t = NI_TEXT(900), why = NI_TEXT(500);
    struct ni_hook_container c;
    struct ni_root root;
    unsigned line;

    if (ni_root_open(options.root, &root, &line) < 0)
        return fail_hook("--root cannot be opened");
    const struct ni_dir top = ni_dir_top(&root);
    const bool dry = options.dry || root.kind != NI_ROOT_LIVE;
    const enum ni_hook_answer answer = decide(&top, state, &c, &why);
    ni_putf(&t, "container %s: ", c.id[0] ? c.id : "of unknown id");
    if (answer == NI_HOOK_YES)
        describe(&top, &c, dry, &t);
    else
        ni_putf(&t, "locked memory stays as it is: %s", why.buf);
    ni_root_close(&root);
    if (dry)
        return printf("%s\n", t.buf) < 0 || (options.strict && answer == NI_HOOK_WRONG);
    if (answer == NI_HOOK_YES)
        log_line(LOG_INFO, t.buf);
    return answer == NI_HOOK_WRONG ? fail_hook(t.buf) : 0;
}

/* Takes the runtime's call: reads the container's state, refuses a wrong call, answers any other.
   Returns the exit status. */
static int hook(void)
{
    static char *state;
    const int kept = keep_two_capabilities();

    /* memory may be short: crun gives the container's limits to the hook, too */
    state = malloc(STATE_MAX + CONFIG_MAX);
    const bool whole = read_state(state, state ? STATE_MAX : 0);
    if (options.wrong)
        return report_wrong_arguments(state);
    if (kept < 0)
        return fail_hook("capabilities cannot be dropped");
    if (!state || !whole)
        return fail_hook("standard input is not a state");
    return answer_runtime(state);
}

static int change(enum task task)
{
    struct ni_text path = NI_TEXT(1024), args = NI_TEXT(128);

    ni_putf(&args, ", \"--memlock=%s\"", options.memlock_text);
    if (options.privileged)
        ni_put(&args, ", \"--privileged\"");
    if (options.strict)
        ni_put(&args, ", \"--strict\"");
    if (args.cut) {
        (void)fputs("nccl-init-hook: error: --memlock is too long\n", stderr);
        return 1;
    }
    int r = task == INSTALL ? ni_hook_install(options.folder, options.program, args.buf, &path)
                            : ni_hook_remove(options.folder, options.program, &path);
    if (r < 0)
        (void)fprintf(stderr, "nccl-init-hook: error: %s: %s\n", path.buf, NI_ERRNO(r));
    return r < 0;
}

int main(int argc, char *argv[])
{
    const enum task task = parse(argc, argv);
    sigset_t none;

    if (task == HELP || task == VERSION)
        return fputs(task == HELP ? help : "nccl-init-hook " NCCL_INIT_VERSION "\n", stdout) < 0;
    /* wrong arguments in the hook's file must not stop each container: hook() reports them later */
    if (options.wrong && (task != HOOK || isatty(STDIN_FILENO)))
        return refuse_arguments();
    if (task != HOOK)
        return change(task);
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    /* a write beyond RLIMIT_FSIZE is an error then, and does not kill: crun gives the container's
       limits to the hook */
    (void)signal(SIGXFSZ, SIG_IGN);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGALRM, give_up);
    (void)alarm(SECONDS_MAX);
    return hook();
}
