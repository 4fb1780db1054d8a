/* SPDX-License-Identifier: Apache-2.0 */
/* inject [--share=N [--turn=K]] [--list] [--compare=FILE | --bless=FILE] [CASE...]: each golden case,
   each read, each fault, each as a run of the program of its own; prints the table of what came of
   them. 0: nothing wrong. --share: one fault in N, and of each case one of the four ways to run it;
   other ones with another K. --list: each that is wrong, not the first 60 only. --compare, --bless:
   the table is that of the document, or is put there. NCCL_INIT_QUICK=1: one case in four.

   A child process for each case and verb does the runs: what crashes or hangs one is counted, and
   the next child goes on behind it. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/context.h"
#include "cli/dispatch.h"
#include "doctor/checks.h"
#include "inject.h"
#include "main.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/text.h"
#include "rules/decide.h"
#include "system/exec.h"

enum { HANG_S = 20, MAX_CASES = 512, SHOWN = 60 };

/* Of a run with more reads than MANY, the ids of 600 devices, only one fault in FEW. */
enum { MANY = 700, FEW = 32 };

/* How each case is run: its own arguments, then these. */
static const struct {
    const char *name, *verb;
    bool demands; /* with --require of all that holds on the node without a fault */
} modes[] = {
    {"env", "env", false},
    {"env --require", "env", true},
    {"plan", "plan", false},
    {"doctor", "doctor", false},
};

/* Shared with the children. */
struct tally {
    unsigned long count[FAULTS][VERDICTS];
    unsigned long reads, crashes, hangs, shown;
    unsigned at; /* the injection that a child is at: read * FAULTS + fault */
    bool done;
};

static struct ni_context *context;
static struct tally *tally;
static struct truth truth;
static struct result clean;
static struct golden golden;
static unsigned share = 1, turn, offset;
static bool list_all;

/* ---- one run ---- */

struct ni_diagnosis diagnosis;

/* doctor's checks once more, of the facts that it had: the program keeps none. */
static void diagnose(const char *verb)
{
    static struct ni_findings unused;
    struct ni_work work = context->work;

    memset(&diagnosis, 0, sizeof(diagnosis));
    if (strcmp(verb, "doctor") != 0)
        return;
    unused = context->findings;
    work.f = &unused;
    ni_diagnose(&work, &diagnosis);
}

static int run(const char *verb, const char *demands)
{
    static char program[] = "nccl-init", root[] = "--root", format[] = "--format=docker";
    char verb_arg[16], demands_arg[128], *argv[MAX_ARGS + 8];
    int n = 0;

    /* Back to zeroes: only the pages that were touched cost anything. */
    if (madvise(context, sizeof(*context), MADV_DONTNEED) < 0)
        abort();
    (void)ni_copy(verb_arg, sizeof(verb_arg), verb);
    argv[n++] = program;
    argv[n++] = verb_arg;
    argv[n++] = root;
    argv[n++] = golden.tree;
    if (strcmp(verb, "env") == 0)
        argv[n++] = format;
    for (unsigned i = 0; i < golden.n_arg; i++)
        argv[n++] = golden.arg[i];
    if (demands && ni_copy(demands_arg, sizeof(demands_arg), demands))
        argv[n++] = demands_arg;
    argv[n] = NULL;
    const int status = ni_main(context, &ni_main_program, n, argv, golden.env);

    diagnose(verb);
    return status;
}

static void keep(struct result *ret, int status)
{
    ret->status = status;
    ret->plan = context->plan;
    ret->findings = context->findings;
    ret->diagnosis = diagnosis;
}

/* --require of each demand that holds by itself. false: none does. */
static bool find_demands(char *buf, size_t cap)
{
    static const char *const words[] = {"rdma", "gpus", "gdr", "roce-v2", "memlock", "rails=2"};
    struct ni_text t = ni_text_on(buf, cap);
    bool any = false;

    ni_put(&t, "--require=");
    for (unsigned i = 0; i < NI_COUNT(words); i++) {
        char one[64];
        snprintf(one, sizeof(one), "--require=%s", words[i]);
        door_note();
        if (run("env", one) != 0)
            continue;
        ni_putf(&t, "%s%s", any ? "," : "", words[i]);
        any = true;
    }
    return any;
}

/* ---- one case in one mode ---- */

static void show(const char *mode, const struct passed *at, enum fault f, const char *why)
{
    if (!list_all && tally->shown++ >= SHOWN)
        return;
    printf("WRONG %s: %s: %s: %s: %s\n", golden.name, mode, at->path, fault_name(f), why);
    (void)fflush(stdout);
}

static bool is_equal(const struct result *a, const struct ni_context *b, int status)
{
    return a->status == status && a->findings.n == b->findings.n &&
           memcmp(a->findings.at, b->findings.at, a->findings.n * sizeof(a->findings.at[0])) == 0 &&
           memcmp(&a->plan, &b->plan, sizeof(a->plan)) == 0;
}

static void try_one(unsigned mode, const char *demands, const struct passed *at, unsigned n,
                    enum fault f)
{
    static struct result first;
    char buf[256];
    struct ni_text why = ni_text_on(buf, sizeof(buf));

    (void)alarm(HANG_S);
    door_fail(n, f);
    int status = run(modes[mode].verb, demands);
    enum verdict v = judge(&truth, &clean, context, status, at, f, &why);
    if (!door_failed()) {
        v = WRONG;
        ni_put(&why, "the read did not come");
    }
    if (v != WRONG && (n + (unsigned)f) % 16 == 0) {
        keep(&first, status);
        door_fail(n, f);
        status = run(modes[mode].verb, demands);
        if (!is_equal(&first, context, status)) {
            v = WRONG;
            ni_put(&why, "a second run came out otherwise");
        }
    }
    tally->count[f][v]++;
    if (v == WRONG)
        show(modes[mode].name, at, f, buf);
}

/* plan reads what env reads, and doctor what plan reads, and they decide the same by it (the golden
   tests), then more: only that is of interest there. */
static char plans[MAX_PASSED][96];
static unsigned n_plans;

static void remember(unsigned mode)
{
    const struct passed *all = door_passed(&n_plans);

    if (strcmp(modes[mode].verb, "env") == 0)
        n_plans = 0;
    for (unsigned i = 0; i < n_plans; i++)
        snprintf(plans[i], sizeof(plans[i]), "%d%s", (int)all[i].call, all[i].path);
}

static bool is_plans(const struct passed *at)
{
    char it[96];

    if (n_plans == 0)
        return false;
    snprintf(it, sizeof(it), "%d%s", (int)at->call, at->path);
    for (unsigned i = 0; i < n_plans; i++)
        if (strcmp(plans[i], it) == 0)
            return true;
    return false;
}

static bool has_options(void)
{
    for (unsigned i = 0; golden.env[i]; i++)
        if (ni_has_prefix(golden.env[i], "NCCLINIT_"))
            return true;
    return false;
}

static void child(unsigned mode, unsigned from)
{
    char demands[128];
    unsigned n;

    (void)alarm(HANG_S);
    if (door_open(golden.tree) < 0)
        _exit(3);
    door_measure();
    (void)run("plan", NULL);
    if (modes[mode].demands && !find_demands(demands, sizeof(demands))) {
        tally->done = true;
        _exit(0);
    }
    door_note();
    (void)run("plan", NULL);
    truth.inv = context->inventory;
    truth.plan = context->plan;
    if (strcmp(modes[mode].verb, "plan") == 0) {
        door_note();
        (void)run("env", NULL);
    }
    remember(mode);
    door_note();
    keep(&clean, run(modes[mode].verb, modes[mode].demands ? demands : NULL));
    const struct passed *all = door_passed(&n);
    if (clean.status == NI_EXIT_REFUSED && n == 0 && golden.n_arg == 0 && !has_options())
        _exit(3); /* a wrong command line of ours; of some cases it is meant */
    for (unsigned i = 0; from == 0 && i < n; i++)
        tally->reads += !is_plans(&all[i]);
    for (unsigned i = from; i < n * FAULTS; i++) {
        const struct passed *at = &all[i / FAULTS];
        enum fault f = (enum fault)(i % FAULTS);
        unsigned part = n > MANY && share < FEW ? FEW : share;
        tally->at = i;
        if (!is_plans(at) && (i / FAULTS + f) % part == offset % part && fault_can_happen(at, f))
            try_one(mode, modes[mode].demands ? demands : NULL, at, i / FAULTS, f);
    }
    tally->done = true;
    _exit(0);
}

static void count_dead(unsigned mode, int status)
{
    enum fault f = (enum fault)(tally->at % FAULTS);
    bool hang = WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM;

    *(hang ? &tally->hangs : &tally->crashes) += 1;
    tally->count[f][WRONG]++;
    printf("WRONG %s: %s: read %u: %s: %s\n", golden.name, modes[mode].name, tally->at / FAULTS,
           fault_name(f), hang ? "hangs" : "crashes");
}

/* false: the case cannot be run at all. */
static bool run_mode(unsigned mode)
{
    unsigned from = 0;

    tally->done = false;
    while (!tally->done) {
        int status;
        tally->at = UINT32_MAX;
        (void)fflush(stdout);
        pid_t pid = fork();
        if (pid == 0)
            child(mode, from);
        if (pid < 0 || waitpid(pid, &status, 0) != pid)
            return false;
        if (tally->done)
            break;
        if (tally->at == UINT32_MAX) {
            printf("WRONG %s: %s: does not run without a fault\n", golden.name, modes[mode].name);
            return false;
        }
        count_dead(mode, status);
        from = tally->at + 1;
    }
    return true;
}

/* ---- the table ---- */

static void put_row(struct ni_text *t, const char *name, const unsigned long count[VERDICTS])
{
    unsigned long all = 0;

    for (unsigned v = 0; v < VERDICTS; v++)
        all += count[v];
    ni_putf(t, "| %s | %lu", name, all);
    for (unsigned v = 0; v < VERDICTS; v++)
        ni_putf(t, " | %lu", count[v]);
    ni_put(t, " |\n");
}

/* Returns how many are wrong. */
static unsigned long put_table(struct ni_text *t, unsigned cases)
{
    unsigned long sum[VERDICTS] = {0};

    ni_putf(t, "%u cases, %lu reads:\n\n", cases, tally->reads);
    ni_put(t, "| fault | injected | same plan | less, and said | other, true and said "
              "| as without it | refused | wrong |\n"
              "| --- | --- | --- | --- | --- | --- | --- | --- |\n");
    for (unsigned f = 0; f < FAULTS; f++) {
        put_row(t, fault_name((enum fault)f), tally->count[f]);
        for (unsigned v = 0; v < VERDICTS; v++)
            sum[v] += tally->count[f][v];
    }
    put_row(t, "all", sum);
    return sum[WRONG];
}

/* The document with the table between its two marks; or only whether it is there. */
static bool use_document(const char *path, const char *table, bool write)
{
    static const char begin[] = "<!-- inject: begin -->\n", end[] = "<!-- inject: end -->\n";
    static char text[1 << 16];
    FILE *f = fopen(path, write ? "r+e" : "re");
    size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
    char *from = strstr(text, begin), *to = strstr(text, end);
    bool good = from && to && n < sizeof(text) - 1;

    if (good) {
        from += sizeof(begin) - 1;
        good = (size_t)(to - from) == strlen(table) && memcmp(from, table, strlen(table)) == 0;
        if (write) {
            rewind(f);
            good = fwrite(text, 1, (size_t)(from - text), f) == (size_t)(from - text) &&
                   fputs(table, f) >= 0 && fputs(to, f) >= 0 &&
                   ftruncate(fileno(f), (off_t)(n - (size_t)(to - from) + strlen(table))) == 0;
        }
    }
    if (f)
        good = fclose(f) == 0 && good;
    if (!good)
        printf("%s: %s\n", path, write ? "cannot be written" : "has another table: ./dev bless");
    return good;
}

static void *shared(size_t n, int flags)
{
    void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED)
        abort();
    return p;
}

int main(int argc, char **argv)
{
    static char names[MAX_CASES][64];
    static char table[8192];
    struct ni_text t = ni_text_on(table, sizeof(table));
    const char *document = NULL;
    unsigned n, cases = 0;
    bool good = true, bless = false, quick = getenv("NCCL_INIT_QUICK") != NULL;

    for (; argc > 1 && argv[1][0] == '-'; argc--, argv++) {
        if (ni_has_prefix(argv[1], "--share="))
            share = (unsigned)strtoul(argv[1] + 8, NULL, 10);
        else if (ni_has_prefix(argv[1], "--turn="))
            turn = (unsigned)strtoul(argv[1] + 7, NULL, 10);
        else if (strcmp(argv[1], "--list") == 0)
            list_all = true;
        else if (ni_has_prefix(argv[1], "--compare="))
            document = argv[1] + 10;
        else if (ni_has_prefix(argv[1], "--bless="))
            document = argv[1] + 8;
        else
            return 2;
        bless = bless || ni_has_prefix(argv[1], "--bless=");
    }
    if (share == 0)
        return 2;
    context = shared(sizeof(*context), MAP_PRIVATE);
    tally = shared(sizeof(*tally), MAP_SHARED);
    n = golden_names(names, MAX_CASES);
    for (unsigned i = 0; i < n; i++) {
        bool wanted = argc < 2;
        for (int k = 1; k < argc; k++)
            wanted = wanted || strcmp(argv[k], names[i]) == 0;
        if (!wanted)
            continue;
        if (!golden_read(names[i], &golden)) {
            printf("WRONG %s: cannot be read\n", names[i]);
            good = false;
            continue;
        }
        offset = i + turn;
        if (quick && offset / NI_COUNT(modes) % 4 != 0)
            continue;
        cases++;
        for (unsigned m = 0; m < NI_COUNT(modes); m++)
            if (share == 1 || m == offset % NI_COUNT(modes))
                good = run_mode(m) && good;
    }
    unsigned long wrong = put_table(&t, cases);
    (void)fputs(table, stdout);
    if (document)
        good = use_document(document, table, bless) && good;
    return good && wrong == 0 && cases > 0 ? 0 : 1;
}
