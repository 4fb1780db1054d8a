/* SPDX-License-Identifier: Apache-2.0 */
#include "readers.h"

#include <errno.h>
#include <setjmp.h>
#include <spawn.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "../../unit/lib/report_readers.h"
#include "doctor/checks.h"
#include "doctor/report.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/number.h"
#include "nccl_init/plan.h"
#include "nccl_init/text.h"
#include "plan/answer.h"
#include "plan/report.h"
#include "plan/report_json.h"
#include "plan/topo.h"
#include "print/findings.h"
#include "print/json_write.h"
#include "print/layout.h"
#include "print/words.h"
#include "run/envfile.h"

bool reader_conf(const char *file, const char *name, char ret[NI_VALUE])
{
    text_len = strlen(file);
    FUZZ_CHECK(text_len < sizeof(text), "%zu bytes", text_len);
    memcpy(text, file, text_len + 1);
    value[0] = '\0';
    bool found = conf_read(name, true);
    memcpy(ret, value, sizeof(value));
    return found;
}

/* ---- the shell ---- */

/* One word of a POSIX shell (XCU 2.2) at *s into `value`; false: something in it is special. */
static bool sh_word(const char **s)
{
    size_t n = 0;

    for (char c; (c = **s) != '\0' && c != '\n' && c != ' ';) {
        if (c == '\'') {
            const char *end = strchr(*s + 1, '\'');
            size_t len = end ? (size_t)(end - *s) - 1 : 0;
            if (!end || n + len >= sizeof(value))
                return false;
            memcpy(value + n, *s + 1, len);
            n += len;
            *s = end + 1;
            continue;
        }
        if (c == '\\') {
            c = *++*s;
            if (c == '\0' || c == '\n')
                return false;
        } else if (strchr("\"$`|&;<>()*?[]#~{}!\t", c)) {
            return false;
        }
        if (n + 1 >= sizeof(value))
            return false;
        value[n++] = c;
        ++*s;
    }
    value[n] = '\0';
    return true;
}

/* Lines `export NAME=WORD`, and nothing else; *ret_lines of them. */
static bool sh_interpret(const char *name, unsigned *ret_lines)
{
    static const char command[] = "export ";
    static char kept[NI_VALUE];
    bool found = false;

    *ret_lines = 0;
    for (const char *s = text; *s; ++*ret_lines) {
        if (!ni_has_prefix(s, command))
            return false;
        s += sizeof(command) - 1;
        size_t n = strcspn(s, "=' \n");
        bool wanted = n == strlen(name) && memcmp(s, name, n) == 0;
        if (s[n] != '=')
            return false;
        s += n + 1;
        if (!sh_word(&s) || *s++ != '\n')
            return false;
        if (wanted)
            memcpy(kept, value, sizeof(value));
        found = found || wanted;
    }
    memcpy(value, kept, sizeof(value));
    return found;
}

/* A shell of this machine reads the file and prints each value, ended by a NUL. */
static void shell_reads(const char *shell, const struct ni_plan *plan)
{
    static char got[NI_MAX_SETTING * (NI_VALUE + 1)], script[NI_MAX_SETTING * (NI_DEV_NAME + 8)];
    struct ni_text t = ni_text_on(script, sizeof(script));
    int in = memfd_create("file", 0), out = memfd_create("values", MFD_CLOEXEC), status = -1;

    FUZZ_CHECK(in >= 0 && out >= 0 && write(in, text, text_len) == (ssize_t)text_len, "memfd");
    ni_putf(&t, "set -eu; . /proc/self/fd/%d; printf '%%s\\0'", in);
    for (unsigned i = 0; i < plan->n_setting; i++)
        if (plan->setting[i].origin == NI_FROM_RULE)
            ni_putf(&t, " \"$%s\"", plan->setting[i].name);
    char command[] = "-c", name[] = "sh", *argv[] = {name, command, script, NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid;
    FUZZ_CHECK(posix_spawn_file_actions_init(&actions) == 0 &&
                   posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO) == 0 &&
                   posix_spawn(&pid, shell, &actions, NULL, argv, environ) == 0,
               "%s: cannot be started", shell);
    posix_spawn_file_actions_destroy(&actions);
    FUZZ_CHECK(waitpid(pid, &status, 0) == pid && status == 0, "%s: status %d", shell, status);
    ssize_t n = pread(out, got, sizeof(got) - 1, 0);
    FUZZ_CHECK(n >= 0, "pread");
    got[n] = '\0';
    close(in);
    close(out);
    const char *p = got;
    for (unsigned i = 0; i < plan->n_setting; i++) {
        const struct ni_setting *s = &plan->setting[i];
        if (s->origin != NI_FROM_RULE)
            continue;
        FUZZ_CHECK(strcmp(p, s->value) == 0, "%s reads %s=`%s`, not `%s`", shell, s->name, p,
                   s->value);
        p += strlen(p) + 1;
    }
}

static void shells_read(const struct ni_plan *plan)
{
    const char *shells = getenv("FUZZ_SHELLS");
    struct ni_span s;
    char path[128];

    while (shells && ni_split(&shells, ' ', &s))
        if (ni_copyn(path, sizeof(path), s.p, s.n))
            shell_reads(path, plan);
}

/* ---- environment files ---- */

static const char *const form_name[] = {[NI_FMT_SH] = "sh",
                                        [NI_FMT_K8S] = "k8s",
                                        [NI_FMT_DOCKER] = "docker",
                                        [NI_FMT_CONF] = "nccl.conf",
                                        [NI_FMT_JSON] = "json"};

/* Some forms have readers that differ. */
enum { WAYS = 3 };

static bool reads(enum ni_format format, const char *name, unsigned way)
{
    unsigned lines;

    switch (format) {
    case NI_FMT_SH:
        return sh_interpret(name, &lines);
    case NI_FMT_K8S:
        return k8s_read(name);
    case NI_FMT_DOCKER:
        return way == 2 ? k8s_134_read(name) : docker_read(name, way == 1);
    case NI_FMT_CONF:
        return conf_read(name, way == 1);
    case NI_FMT_JSON:
        return json_read(name);
    }
    return false;
}

/* How many settings the text has: what no reader may see is not there. */
static unsigned entries_in(enum ni_format format)
{
    unsigned n = 0;

    if (format == NI_FMT_JSON) {
        json_t *all = json_loadb(text, text_len, JSON_REJECT_DUPLICATES, NULL);
        n = (unsigned)json_object_size(all) - json_is_array(json_object_get(all, "gpus"));
        json_decref(all);
    } else if (format == NI_FMT_SH) {
        (void)sh_interpret("", &n);
    } else {
        for (const char *s = text; (s = strchr(s, '\n')) != NULL; s++)
            n++;
    }
    return n;
}

static void check_value(enum ni_format format, const struct ni_setting *s, unsigned way)
{
    value[0] = '\0';
    bool found = reads(format, s->name, way);
    FUZZ_CHECK(found, "%s is not found in form %s", s->name, form_name[format]);
    FUZZ_CHECK(strcmp(value, s->value) == 0, "form %s gives %s=`%s`, not `%s`", form_name[format],
               s->name, value, s->value);
}

/* The writer's right to refuse: some value cannot be carried. */
static void check_refusal(const struct ni_setting *s, enum ni_format format)
{
    FUZZ_CHECK(text_len == 0, "refused after %zu bytes", text_len);
    FUZZ_CHECK(s->origin == NI_FROM_RULE, "refused, and nothing is bad");
    bool plain = s->value[0] != '\0' && ni_is_name(ni_span_of(s->value), NI_DEV_NAME);
    FUZZ_CHECK(!plain || !ni_has_prefix(s->name, "NCCL_") ||
                   s->name[strspn(s->name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_")],
               "%s=%s is refused in form %s", s->name, s->value, form_name[format]);
}

static void check_form(const struct ni_view *view, enum ni_format format)
{
    const struct ni_plan *plan = view->plan;
    struct ni_text t = ni_text_on(text, sizeof(text));
    const struct ni_setting *bad = ni_put_env(&t, view, format);
    unsigned want = 0, breaks = 0;

    text_len = t.len;
    if (bad) {
        check_refusal(bad, format);
        return;
    }
    FUZZ_CHECK(!t.cut, "form %s is cut", form_name[format]);
    for (unsigned i = 0; i < plan->n_setting; i++) {
        const struct ni_setting *s = &plan->setting[i];
        if (s->origin != NI_FROM_RULE)
            continue;
        want++;
        for (const char *c = s->value; (c = strchr(c, '\n')) != NULL; c++)
            breaks += format == NI_FMT_K8S;
        bool differ = format == NI_FMT_DOCKER || format == NI_FMT_CONF;
        for (unsigned way = 0; way < (differ ? WAYS : 1); way++)
            check_value(format, s, way);
    }
    unsigned n = entries_in(format);
    FUZZ_CHECK(n == want + breaks, "form %s has %u settings, not %u", form_name[format], n, want);
    if (format == NI_FMT_SH)
        shells_read(plan);
}

void reader_check_env(const struct ni_view *view)
{
    for (int f = NI_FMT_SH; f <= NI_FMT_JSON; f++)
        check_form(view, (enum ni_format)f);
}

/* ---- reports ---- */

static void check_printable(const char *s, size_t n, const char *what)
{
    for (size_t i = 0; i < n; i++)
        FUZZ_CHECK(s[i] == '\n' || (s[i] >= ' ' && s[i] <= '~'), "%s holds byte %02x at %zu", what,
                   (unsigned char)s[i], i);
    FUZZ_CHECK(n > 0 && s[n - 1] == '\n', "%s does not end in a line end", what);
}

static json_t *parse(const char *s, size_t n, const char *what)
{
    json_error_t error;
    json_t *v = json_loadb(s, n, JSON_REJECT_DUPLICATES, &error);

    check_printable(s, n, what);
    FUZZ_CHECK(json_is_object(v), "%s is no JSON: %s at byte %d", what, error.text, error.position);
    return v;
}

struct report {
    const char *name;
    ni_report_fn *put;
    bool json;
    bool doctor;
};

static const struct ni_diagnosis *diagnosed;

static const struct ni_who who = {.host = "pod", .time = "2026-11-23 08:30Z"};

static void put_doctor(struct ni_text *out, const struct ni_view *view)
{
    ni_put_doctor(out, view, &who, diagnosed, NULL);
}

static void put_doctor_answer(struct ni_text *out, const struct ni_view *view)
{
    ni_put_doctor_answer(out, view, &who, diagnosed, NULL);
}

static void put_doctor_json(struct ni_text *out, const struct ni_view *view)
{
    ni_put_doctor_json(out, view, &who, diagnosed, NULL);
}

static const struct report reports[] = {
    {"plan", ni_put_plan, false, false},
    {"plan JSON", ni_put_plan_json, true, false},
    {"topo", ni_put_topo, false, false},
    {"topo dot", ni_put_topo_dot, false, false},
    {"doctor", put_doctor, false, true},
    {"doctor JSON", put_doctor_json, true, true},
    {"plan's screen", ni_put_plan_answer, false, false},
    {"doctor's screen", put_doctor_answer, false, true},
};

/* The settings of the JSON are those of the plan. */
static void check_plan_json(const struct ni_view *view, json_t *j)
{
    const struct ni_plan *plan = view->plan;
    json_t *settings = json_object_get(j, "settings"), *findings = json_object_get(j, "findings");

    FUZZ_CHECK(json_array_size(settings) == plan->n_setting, "%zu settings",
               json_array_size(settings));
    for (unsigned i = 0; i < plan->n_setting; i++) {
        const struct ni_setting *s = &plan->setting[i];
        json_t *it = json_array_get(settings, i);
        const char *v = json_string_value(json_object_get(it, "value"));
        FUZZ_CHECK(strcmp(json_string_value(json_object_get(it, "name")), s->name) == 0, "%s",
                   s->name);
        if (s->origin == NI_FROM_RULE)
            FUZZ_CHECK(v && strcmp(v, s->value) == 0, "%s=%s", s->name, s->value);
    }
    FUZZ_CHECK(json_array_size(findings) == view->findings->n, "%zu findings",
               json_array_size(findings));
    FUZZ_CHECK(json_array_size(json_object_get(j, "hcas")) == view->inv->n_hca, "HCAs");
    FUZZ_CHECK(json_array_size(json_object_get(j, "gpus")) == view->inv->n_gpu, "GPUs");
}

/* DOT (graphviz.org/doc/info/lang.html): quotes are closed, braces match. */
static void check_dot(const char *s)
{
    int depth = 0;
    bool quoted = false;

    FUZZ_CHECK(strncmp(s, "strict graph ", 13) == 0, "no graph: %.20s", s);
    for (; *s; s++) {
        if (quoted && *s == '\\' && s[1])
            s++;
        else if (*s == '"')
            quoted = !quoted;
        else if (!quoted)
            depth += (*s == '{') - (*s == '}');
        FUZZ_CHECK(depth >= 0, "braces");
    }
    FUZZ_CHECK(depth == 0 && !quoted, "the graph is not closed");
}

static void check_summary(const struct ni_view *view)
{
    char out[16384];
    struct ni_text t = ni_text_on(out, sizeof(out));
    const int64_t memlock = NI_UNLIMITED;

    ni_put_summary(&t, view, &memlock);
    FUZZ_CHECK(!t.cut && !strchr(out, '\n'), "summary");
    ni_put(&t, "\n");
    check_printable(out, t.len, "summary");
}

/* One line, text or JSON. */
static void check_finding(const struct ni_finding *finding)
{
    for (int json = 0; json <= 1; json++) {
        char out[6144];
        struct ni_text t = ni_text_on(out, sizeof(out));
        struct ni_json j = ni_json_on(&t, NI_JSON_LINE);
        if (json)
            ni_json_finding(&j, finding);
        else
            ni_put_finding(&t, finding);
        check_printable(out, t.len, "finding");
        FUZZ_CHECK(!t.cut && strchr(out, '\n') == out + t.len - 1, "a finding is not a line");
        if (json)
            json_decref(parse(out, t.len, "finding"));
    }
}

static void check_report(const struct report *report, const struct ni_view *view)
{
    struct ni_text t = ni_long_text();

    report->put(&t, view);
    FUZZ_CHECK(!t.cut, "%s: no memory", report->name);
    check_printable(t.buf, t.len, report->name);
    if (report->put == ni_put_topo_dot)
        check_dot(t.buf);
    if (report->json) {
        json_t *j = parse(t.buf, t.len, report->name);
        FUZZ_CHECK(json_integer_value(json_object_get(j, "schema")) == NI_JSON_SCHEMA, "%s: schema",
                   report->name);
        if (report->put == ni_put_plan_json)
            check_plan_json(view, j);
        json_decref(j);
    }
    ni_free_text(&t);
}

void reader_check_reports(const struct ni_view *view, const struct ni_diagnosis *diagnosis)
{
    diagnosed = diagnosis;
    json_set_alloc_funcs(malloc, free);
    for (unsigned i = 0; i < NI_COUNT(reports); i++)
        if (!reports[i].doctor || diagnosis)
            check_report(&reports[i], view);
    check_summary(view);
    for (unsigned i = 0; i < view->findings->n && i < 16; i++)
        check_finding(&view->findings->at[i]);
}
