/* SPDX-License-Identifier: Apache-2.0 */
/* Protects: whatever the pods of a job tell, comparing, judging and the three reports end, and what
   they write is text, JSON and XML, of a bounded number of findings; an outcome has one byte and one
   word. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>

#include "../preflight/fabric.h"
#include "lib/trials.h"
#include "nccl_init/base.h"
#include "nccl_init/known.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "preflight/compare.h"
#include "preflight/job.h"
#include "preflight/report.h"
#include "preflight/report_json.h"
#include "preflight/report_svg.h"
#include "preflight/rounds.h"
#include "preflight/verdict.h"
#include "print/layout.h"
#include "print/words.h"
#include "rail/step.h"
#include "rules/job_settings.h"

enum { MOST = 70 };

static struct ni_pod_setting setting[MOST][4];
static struct ni_text report;

static void any_text(char *to, size_t cap)
{
    static const char *const some[] = {"",         "pod-1",  "<b>&\"'", "\x1b[31m", "]]>",
                                       "\xff\xfe", "a\nb\t", "%s%n",    "--",       "{\"a\":1}"};
    if (draw(4)) {
        snprintf(to, cap, "%s", some[draw(NI_COUNT(some))]);
        return;
    }
    size_t n = draw((unsigned)cap);
    for (size_t i = 0; i < n; i++)
        to[i] = (char)(1 + draw(255));
    to[n] = '\0';
}

static struct ni_num any_num(void)
{
    static const int64_t some[] = {0, -1, 1500, 9000, 400000, INT64_MAX, INT64_MIN, 2500};
    return (struct ni_num){some[draw(NI_COUNT(some))], (enum ni_known)draw(NI_KNOWN + 1)};
}

static void any_bytes(uint8_t *to, size_t n)
{
    for (size_t i = 0; i < n; i++)
        to[i] = (uint8_t)draw(draw(2) ? 2 : 256);
}

static void any_rail(struct ni_rail *r)
{
    *r = (struct ni_rail){.port = draw(70000), .link = (enum ni_link)draw(3)};
    any_text(r->hca, sizeof(r->hca));
    any_text(r->netdev, sizeof(r->netdev));
    any_text(r->firmware, sizeof(r->firmware));
    if (draw(5) == 0)
        any_text(r->untried, sizeof(r->untried));
    r->index = (int)draw(300) - 1;
    any_bytes(r->gid, sizeof(r->gid));
    r->v2 = draw(2);
    r->netdev_mtu = any_num();
    r->mbps = any_num();
    r->n_subnet = draw(NI_MAX_SUBNETS + 1);
    for (unsigned i = 0; i < r->n_subnet; i++) {
        any_bytes(r->subnet[i].ip, NI_GID_BYTES);
        r->subnet[i].bits = (uint8_t)draw(129);
    }
    r->path_mtu = draw(5000);
    r->pkey = (uint16_t)draw(65536);
}

static void any_job(void)
{
    const uint32_t seed = w.seed;
    memset(&w, 0, sizeof(w));
    w.seed = seed;
    w.job = (struct ni_job){.ranks = 1 + draw(MOST),
                            .source = "peers",
                            .pod = w.pod,
                            .missing = w.missing,
                            .result = w.result,
                            .circle = w.circle,
                            .tally = w.tally};
    for (unsigned p = 0; p < w.job.ranks; p++) {
        struct ni_pod *pod = &w.pod[p];
        w.missing[p] = (uint8_t)(draw(5) ? NI_POD_CAME : draw(3));
        *pod = (struct ni_pod){.here = w.missing[p] != NI_POD_NEVER_CAME};
        pod->rail = w.rail[p];
        pod->setting = setting[p];
        pod->transport = (enum ni_transport)draw(NI_NET_OTHER + 1);
        pod->n_rail = draw(MOST_RAILS + 1);
        pod->n_setting = draw(5);
        any_text(pod->host, sizeof(pod->host));
        any_text(pod->node, sizeof(pod->node));
        any_text(pod->leaf, sizeof(pod->leaf));
        for (unsigned i = 0; i < pod->n_rail; i++)
            any_rail(&pod->rail[i]);
        for (unsigned i = 0; i < pod->n_setting; i++) {
            snprintf(pod->setting[i].name, sizeof(pod->setting[i].name), "%s",
                     ni_job_settings[draw(NI_N_JOB_SETTING)].name);
            any_text(pod->setting[i].value, sizeof(pod->setting[i].value));
        }
        if (pod->here && pod->n_rail > w.job.n_rail)
            w.job.n_rail = pod->n_rail;
    }
}

static void any_results(void)
{
    for (unsigned first = 0; ni_next_round(&w.job); first = w.job.n_result) {
        must(w.job.rounds <= ROUNDS);
        must(w.job.n_result + MOST_PODS * MOST_RAILS <= RESULTS);
        for (unsigned i = first; i < w.job.n_result; i++) {
            struct ni_pair_result *x = &w.result[i];
            x->step = draw(3) ? NI_PAIR_DONE : (enum ni_pair_step)draw(NI_PAIR_DONE + 1);
            x->at_to = draw(2);
            x->silent = draw(4) == 0;
            x->err = draw(3) ? 0 : (int)draw(200);
            x->wc = draw(3) ? 0 : (int)draw(30);
            x->latency_ns = (int64_t)draw(1000000) * (draw(9) ? 1 : INT64_C(1) << 40);
            x->slowest_ns = x->latency_ns;
            x->write_mbps = draw(9) ? draw(400000) : INT32_MAX;
            x->read_mbps = draw(9) ? draw(400000) : 0;
            x->n_queue = draw(5) ? NI_MAX_QUEUES : 0;
            for (unsigned q = 0; q < x->n_queue; q++) {
                x->queue[q].step = draw(4) ? NI_PAIR_DONE : (enum ni_pair_step)draw(NI_PAIR_DONE);
                x->queue[q].wc = (int)draw(30);
                x->queue[q].slowest_ns = (int64_t)draw(1000000) * (draw(9) ? 1 : 1000);
                x->queue[q].write_mbps = draw(9) ? draw(100000) : 0;
                x->queue[q].read_mbps = draw(9) ? draw(100000) : 0;
            }
        }
        if (draw(4) == 0)
            w.missing[draw(w.job.ranks)] = NI_POD_WENT_AWAY;
    }
}

enum form { TEXT, SCREEN, JSON, SVG };

static const struct ni_inventory no_inventory;
static const struct ni_plan no_plan;

static void put_report(enum form form)
{
    struct ni_verdict verdict = {.outcome = (enum ni_outcome)draw(NI_JOB_OUTCOMES), .job = &w.job};
    struct ni_text line = ni_text_on(verdict.line, sizeof(verdict.line));
    const struct ni_view view = {
        .inv = &no_inventory, .plan = &no_plan, .findings = &w.f, .root = "/", .colour = draw(2)};
    ni_put_verdict(&line, &w.job, &w.f, verdict.outcome);
    ni_free_text(&report);
    report = ni_long_text();
    if (form == TEXT)
        ni_put_preflight(&report, &view, &verdict);
    else if (form == SCREEN)
        ni_put_preflight_answer(&report, &view, &verdict);
    else if (form == JSON)
        ni_put_preflight_json(&report, &view, &verdict);
    else
        ni_put_preflight_svg(&report, &verdict);
    assert_false(report.cut);
    assert_int_equal(strlen(report.buf), report.len);
}

/* Each tag that is opened is closed, in turn; of text only what XML allows. */
static void check_xml(void)
{
    static char open_tags[16][16];
    unsigned depth = 0;
    for (const char *c = report.buf; *c; c++) {
        assert_true((*c >= 0x20 && *c < 0x7f) || *c == '\n');
        if (*c == '&') {
            assert_int_equal(c[1], '#');
            continue;
        }
        assert_int_not_equal(*c, '>');
        if (*c != '<')
            continue;
        const char *end = strchr(c, '>');
        assert_non_null(end);
        if (c[1] == '/') {
            assert_true(depth > 0);
            depth--;
            assert_int_equal(strncmp(c + 2, open_tags[depth], (size_t)(end - c - 2)), 0);
        } else if (end[-1] != '/') {
            assert_true(depth < NI_COUNT(open_tags));
            snprintf(open_tags[depth++], sizeof(open_tags[0]), "%.*s", (int)strcspn(c + 1, " >"),
                     c + 1);
        }
        c = end;
    }
    assert_int_equal(depth, 0);
}

static void nonsense(void **state)
{
    (void)state;
    for (unsigned trial = 0; trial < TRIALS(150); trial++) {
        json_error_t error;
        w.seed = trial;
        any_job();
        ni_compare_pods(&w.job, &w.policy, &w.f);
        any_results();
        ni_judge_rails(&w.job, &w.f);
        put_report(TEXT);
        put_report(SCREEN);
        for (const char *c = report.buf; *c; c++)
            assert_true((*c >= 0x20 && *c < 0x7f) || *c == '\n' || *c == '\033');
        put_report(JSON);
        json_t *json = json_loadb(report.buf, report.len, JSON_REJECT_DUPLICATES, &error);
        assert_non_null(json);
        assert_int_equal(json_integer_value(json_object_get(json, "schema")), 1);
        assert_int_equal(json_integer_value(json_object_get(json, "ranks")), w.job.ranks);
        json_decref(json);
        put_report(SVG);
        check_xml();
    }
    ni_free_text(&report);
}

/* Each outcome is found again by what stands for it; what ends no preflight stands for none. */
static void outcomes(void **state)
{
    (void)state;
    for (unsigned i = 0; i <= NI_JOB_LATE; i++)
        assert_int_equal(ni_outcome_of_byte(ni_outcome_forms[i].byte), i);
    for (unsigned i = 0; i < NI_JOB_OUTCOMES; i++)
        assert_int_equal(ni_outcome_of_word(ni_outcome_forms[i].word), i);
    assert_int_equal(ni_outcome_of_byte('\0'), NI_JOB_UNTOLD);
    assert_int_equal(ni_outcome_of_byte('w'), NI_JOB_UNTOLD);
    assert_int_equal(ni_outcome_of_word(""), NI_JOB_UNTOLD);
    assert_int_equal(ni_outcome_of_word("late"), NI_JOB_UNTOLD);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(nonsense), cmocka_unit_test(outcomes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
