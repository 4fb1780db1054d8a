/* SPDX-License-Identifier: Apache-2.0 */
/* Plays the pods of a job on recorded nodes: reads the facts of each, decides, describes, compares,
   tries the rails on a fabric that is not there, and writes what came out. usage: job CASE; the form
   of a case is told by tests/preflight/run. */
#include <ctype.h>
#include <unistd.h>

#define FABRIC_PODS 1100
#include "cli/context.h"
#include "cli/look.h"
#include "fabric.h"
#include "main.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/ip.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "node/gather.h"
#include "node/read.h"
#include "preflight/align.h"
#include "preflight/compare.h"
#include "preflight/describe.h"
#include "preflight/job.h"
#include "preflight/report.h"
#include "preflight/report_json.h"
#include "preflight/report_svg.h"
#include "preflight/verdict.h"
#include "print/layout.h"
#include "print/words.h"
#include "rail/step.h"
#include "sysroot/root.h"

enum { WORDS = 8, LINES = 200, LINE = 1024, ENTRIES = 200 };

static char lines[LINES][LINE];
static unsigned n_line;
static char *entries[ENTRIES + 1], text[65536], added[LINES][LINE];
static struct ni_pod_setting settings[MOST_PODS][NI_MAX_POD_SETTINGS];
static struct ni_context ctx;
static char first_case[MOST_PODS][LINE]; /* what the pod was described by */

static void die(const char *what, const char *of)
{
    fprintf(stderr, "job: %s: %s\n", what, of);
    exit(2);
}

/* The words of a line; the last one takes what is left. */
static unsigned words(const char *line, char buf[LINE], char *word[], unsigned most)
{
    unsigned n = 0;
    snprintf(buf, LINE, "%s", line);
    for (char *p = buf; *p && n < most;) {
        word[n++] = p;
        p += n < most ? strcspn(p, " ") : strlen(p);
        while (*p == ' ')
            *p++ = '\0';
    }
    return n;
}

static void read_case(const char *name)
{
    FILE *f = fopen(name, "re");
    if (!f)
        die("cannot be read", name);
    while (n_line < LINES && fgets(lines[n_line], LINE, f)) {
        lines[n_line][strcspn(lines[n_line], "\n")] = '\0';
        n_line += lines[n_line][0] && lines[n_line][0] != '#';
    }
    fclose(f);
}

/* The environment of that golden case, and what `set` adds for this pod, which comes first. */
static void read_env(const char *golden, const char *host)
{
    char path[600], buf[LINE], *word[WORDS];
    size_t n = 0;
    unsigned k = 0;
    for (unsigned i = 0; i < n_line; i++) {
        if (words(lines[i], buf, word, 3) == 3 && strcmp(word[0], "set") == 0 &&
            (strcmp(word[1], host) == 0 || strcmp(word[1], "all") == 0))
            entries[k++] = strcpy(added[i], word[2]);
    }
    snprintf(path, sizeof(path), "tests/golden/%s/env", golden);
    FILE *f = fopen(path, "re");
    n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
    if (f)
        fclose(f);
    text[n] = '\0';
    for (char *p = strtok(text, "\n"); p && k < ENTRIES; p = strtok(NULL, "\n"))
        entries[k++] = p;
    entries[k] = NULL;
}

/* The tree of that golden case, with what `edit` changes for this pod; the path. */
static const char *write_tree(const char *golden, const char *host)
{
    static char path[] = "/tmp/job-XXXXXX.tree";
    char from[LINE + 32], *line = NULL, buf[LINE], *word[WORDS], node[LINE] = "", dir[LINE] = "";

    size_t cap = 0;
    snprintf(from, sizeof(from), "tests/golden/%s/case", golden);
    FILE *f = fopen(from, "re");
    while (f && getline(&line, &cap, f) > 0) {
        if (sscanf(line, "node %100s", node) == 1)
            break;
    }
    if (f)
        fclose(f);
    snprintf(from, sizeof(from), "tests/nodes/%s.tree", node);
    f = fopen(from, "re");
    snprintf(path, sizeof(path), "/tmp/job-XXXXXX.tree");
    FILE *to = f ? fdopen(mkstemps(path, 5), "w") : NULL;
    if (!to)
        die("no such golden case", golden);
    while (getline(&line, &cap, f) > 0) {
        bool done = false;
        char path_here[2 * LINE] = "";
        if (sscanf(line, "d %500s", dir) != 1 && sscanf(line, "f %500s", path_here) == 1 &&
            ni_has_prefix(path_here, "./"))
            snprintf(path_here, sizeof(path_here), "%s%.*s", dir, (int)strcspn(line + 3, " "),
                     line + 3);
        for (unsigned i = 0; i < n_line; i++) {
            if (words(lines[i], buf, word, 4) != 4 || strcmp(word[0], "edit") != 0 ||
                strcmp(word[1], host) != 0)
                continue;
            if (strcmp(path_here, word[2]) != 0)
                continue;
            fprintf(to, "f %s %s\n", word[2], word[3]);
            done = true;
        }
        if (!done)
            fputs(line, to);
    }
    free(line);
    fclose(f);
    fclose(to);
    return path;
}

static void describe(unsigned p, const char *golden)
{
    struct ni_pod *pod = &w.pod[p];
    const struct ni_ask ask = {.all = true, .health = true};
    const char *tree;
    unsigned line;
    bool own = false;
    char buf[LINE], *word[WORDS];
    for (unsigned i = 0; i < n_line; i++)
        own = own || (words(lines[i], buf, word, 3) > 2 && strcmp(word[1], pod->host) == 0 &&
                      strcmp(word[0], "pod") != 0);
    if (!own)
        snprintf(first_case[p], LINE, "%s", golden);
    for (unsigned k = 0; !own && k < p; k++) {
        if (strcmp(first_case[k], golden) != 0)
            continue;
        const struct ni_pod it = *pod;
        *pod = w.pod[k]; /* the same, but for its names and addresses */
        memcpy(pod->host, it.host, sizeof(it.host));
        memcpy(pod->node, it.node, sizeof(it.node));
        pod->rail = w.rail[p];
        pod->setting = settings[p];
        memcpy(w.rail[p], w.rail[k], sizeof(w.rail[p]));
        memcpy(settings[p], settings[k], sizeof(settings[p]));
        return;
    }
    memset(&ctx, 0, sizeof(ctx));
    read_env(golden, pod->host);
    tree = write_tree(golden, pod->host);
    ni_context_init(&ctx, &ni_main_program, entries);
    ctx.opened = true;
    must(ni_root_open(tree, &ctx.root, &line) == 0);
    ni_look(&ctx, &ask);
    ni_gather_more(&ctx.root, &ctx.env, &ask, NI_NEED_ROUTES6, &ctx.inventory, &ctx.findings);
    (void)unlink(tree);
    ni_describe_pod(&ctx.work, pod, w.rail[p], settings[p]);
    ni_root_close(&ctx.root);
    must(pod->n_rail <= MOST_RAILS);
    for (unsigned r = 0; r < pod->n_rail; r++) {
        pod->rail[r].pkey = 0xffff;
        if (pod->rail[r].link == NI_LINK_IB)
            memcpy(pod->rail[r].gid, (uint8_t[2]){0xfe, 0x80}, 2);
        pod->rail[r].path_mtu = pod->rail[r].netdev_mtu.v >= 4200 ? 4096 : 1024;
    }
}

static unsigned rank_of(const char *host)
{
    for (unsigned p = 0; p < w.job.ranks; p++) {
        if (strcmp(w.pod[p].host, host) == 0)
            return p;
    }
    die("no such pod", host);
    return 0;
}

/* pod HOST NODE GOLDEN; pods HOST- N NODE- GOLDEN */
static void add_pods(char *word[], bool many)
{
    const unsigned n = many ? (unsigned)atoi(word[2]) : 1;
    for (unsigned i = 0; i < n; i++) {
        const unsigned p = w.job.ranks++;
        must(p < MOST_PODS);
        w.pod[p] = (struct ni_pod){.here = true};
        if (many) {
            snprintf(w.pod[p].host, NI_POD_NAME, "%s%u", word[1], i);
            snprintf(w.pod[p].node, NI_POD_NAME, "%s%u", word[3], i);
        } else {
            snprintf(w.pod[p].host, NI_POD_NAME, "%s", word[1]);
            snprintf(w.pod[p].node, NI_POD_NAME, "%s", strcmp(word[2], "-") == 0 ? "" : word[2]);
        }
        describe(p, word[many ? 4 : 3]);
        for (unsigned r = 0; r < w.pod[p].n_rail; r++) { /* recorded once: an address for each */
            w.rail[p][r].gid[15] = (uint8_t)(100 + p % 150);
            w.rail[p][r].mac = 0x020000000000 | p << 8 | r;
            if (!ni_ip_is_v4(w.rail[p][r].gid))
                w.rail[p][r].gid[14] = (uint8_t)(1 + r);
        }
        w.job.n_rail = w.pod[p].n_rail > w.job.n_rail ? w.pod[p].n_rail : w.job.n_rail;
    }
}

/* The networks of two ports are those of each other. */
static void cross(struct ni_rail *a, struct ni_rail *b)
{
    const struct ni_rail was = *a;
    memcpy(a->gid, b->gid, sizeof(a->gid));
    memcpy(a->subnet, b->subnet, sizeof(a->subnet));
    a->n_subnet = b->n_subnet;
    memcpy(b->gid, was.gid, sizeof(b->gid));
    memcpy(b->subnet, was.subnet, sizeof(b->subnet));
    b->n_subnet = was.n_subnet;
}

/* rail HOST N WHAT VALUE: what only a device says */
static void change_rail(char *word[])
{
    const unsigned p = rank_of(word[1]), r = (unsigned)atoi(word[2]);
    struct ni_rail *rail = &w.rail[p][r];
    must(r < w.pod[p].n_rail);
    if (strcmp(word[3], "pkey") == 0)
        rail->pkey = (uint16_t)strtoul(word[4], NULL, 0);
    else if (strcmp(word[3], "path_mtu") == 0)
        rail->path_mtu = (unsigned)atoi(word[4]);
    else if (strcmp(word[3], "gid") == 0)
        must(ni_parse_gid(ni_span_of(word[4]), rail->gid) == 0);
    else if (strcmp(word[3], "firmware") == 0)
        snprintf(rail->firmware, sizeof(rail->firmware), "%s", word[4]);
    else if (strcmp(word[3], "software") == 0)
        rail->software = true;
    else if (strcmp(word[3], "untried") == 0)
        snprintf(rail->untried, sizeof(rail->untried), "%s", word[4]);
    else if (strcmp(word[3], "crossed") == 0)
        cross(rail, &w.rail[p][atoi(word[4])]);
    else
        die("no such fact of a rail", word[3]);
}

/* fault KIND HOST RAIL [HOST [PERCENT]] */
static void add_fault(char *word[], unsigned n)
{
    static const char *const kinds[FAULT_KINDS] = {
        "port",        "path",         "switch",        "slow-in",      "slow-out",  "dies",
        "own",         "silent",       "flaky",         "down",         "slow-all",  "queue-slow",
        "queue-lossy", "queue-broken", "queue-once",    "pair-slow",    "resent",    "stranger",
        "starved",     "cable",        "router",        "cut",          "slow-leaf", "slow-rail",
        "half-port",   "thin",         "queue-resends", "cable-resends"};
    struct fault *k = &w.fault[w.n_fault++];
    must(n > 3 && w.n_fault <= NI_COUNT(w.fault));
    while (k->kind < FAULT_KINDS && strcmp(kinds[k->kind], word[1]) != 0)
        k->kind++;
    if (k->kind == FAULT_KINDS)
        die("no such fault", word[1]);
    k->a = rank_of(word[2]);
    k->rail = (unsigned)atoi(word[3]);
    k->b = n > 4 && isalpha((unsigned char)word[4][0]) ? rank_of(word[4]) : 0;
    k->percent = n > 5 ? atoi(word[5]) : n > 4 ? atoi(word[4]) : 0;
}

static void play(void)
{
    char buf[LINE], *word[WORDS];
    for (unsigned i = 0; i < n_line; i++) {
        const unsigned n = words(lines[i], buf, word, WORDS);
        if (strcmp(word[0], "pod") == 0 && n == 4)
            add_pods(word, false);
        else if (strcmp(word[0], "pods") == 0 && n == 5)
            add_pods(word, true);
        else if (strcmp(word[0], "rail") == 0 && words(lines[i], buf, word, 5) == 5)
            change_rail(word);
        else if (strcmp(word[0], "cpu") == 0 && words(lines[i], buf, word, 3) == 3)
            ni_add_setting(&w.pod[rank_of(word[1])], "CPU", word[2]);
        else if (strcmp(word[0], "leaf") == 0 && n == 3)
            snprintf(w.pod[rank_of(word[1])].leaf, NI_POD_NAME, "%s", word[2]);
        else if (strcmp(word[0], "absent") == 0 && n == 2)
            w.missing[rank_of(word[1])] = NI_POD_NEVER_CAME;
        else if (strcmp(word[0], "need") == 0 && n == 2)
            w.job.need = (unsigned)atoi(word[1]);
        else if (strcmp(word[0], "source") == 0 && n == 2)
            w.job.source = strcmp(word[1], "slurm") == 0 ? "slurm" : "pet";
        else if (strcmp(word[0], "require") == 0)
            w.policy.require = NI_REQUIRE_RDMA;
        else if (strcmp(word[0], "fault") == 0)
            add_fault(word, n);
        else if (strcmp(word[0], "set") != 0 && strcmp(word[0], "edit") != 0)
            die("a line that is none of a case", lines[i]);
    }
    for (unsigned p = 0; p < w.job.ranks; p++) {
        w.pod[p].here = w.missing[p] == NI_POD_CAME;
        if (w.missing[p] == NI_POD_NEVER_CAME)
            w.pod[p].host[0] = '\0'; /* nobody has told it */
    }
}

static void put_screen(struct ni_text *out, const struct ni_view *view,
                       const struct ni_verdict *verdict)
{
    ni_set_columns(80);
    ni_put_preflight_answer(out, view, verdict);
}

int main(int argc, char **argv)
{
    const char *how = argc > 2 ? argv[2] : "findings";
    if (argc < 2)
        die("usage", "job CASE [findings|text|screen|json|svg]");
    read_case(argv[1]);
    w.job = (struct ni_job){.source = "pet",
                            .pod = w.pod,
                            .missing = w.missing,
                            .result = w.result,
                            .circle = w.circle,
                            .tally = w.tally,
                            .drop = w.drop};
    play();
    ni_align_rails(&w.job, &w.f);
    ni_compare_pods(&w.job, &w.policy, &w.f);
    run();
    ni_find_kept(&w.job);
    struct ni_verdict verdict = {.outcome = ni_outcome_of(&w.job, &w.f, false), .job = &w.job};
    struct ni_text line = ni_text_on(verdict.line, sizeof(verdict.line));
    ni_put_verdict(&line, &w.job, &w.f, verdict.outcome);
    const struct ni_view view = {
        .inv = &ctx.inventory, .plan = &ctx.plan, .findings = &w.f, .root = "/"};
    const bool screen = strcmp(how, "screen") == 0;
    const bool plain = strcmp(how, "text") == 0, json = strcmp(how, "json") == 0;

    if (plain || screen || json || strcmp(how, "svg") == 0) {
        struct ni_text report = ni_long_text();

        if (plain)
            ni_put_preflight(&report, &view, &verdict);
        else if (screen)
            put_screen(&report, &view, &verdict);
        else if (json)
            ni_put_preflight_json(&report, &view, &verdict);
        else
            ni_put_preflight_svg(&report, &verdict);
        const bool cut = report.cut;
        fputs(report.buf, stdout);
        ni_free_text(&report);
        return cut;
    }
    if (w.job.need > 0)
        printf("%s: verdict: need: %s\n", ni_outcome_forms[verdict.outcome].word,
               strchr(verdict.line, ' ') + 1);
    for (unsigned i = 0; i < w.f.n; i++) {
        const struct ni_finding *it = &w.f.at[i];
        printf("%s: %s: %s%s%s\n", ni_severity_text(ni_finding_severity(it->id)),
               ni_finding_id(it->id), it->subject, it->subject[0] ? ": " : "", it->message);
    }
    return 0;
}
