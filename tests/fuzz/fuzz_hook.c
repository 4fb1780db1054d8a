/* SPDX-License-Identifier: Apache-2.0 */
/* What nccl-init-hook reads: the state up to the first line's end, then config.json. What it takes of
   them is bounded and plain; only an RDMA device of the node raises a limit, and none does after a
   rule that takes every device away. */
#include "lib/fuzz.h"

#include "hook/container.h"
#include "nccl_init/text.h"
#include "sysroot/root.h"
#include "sysroot/tree.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const char node[] = "l sys/dev/char/231:192/subsystem ../../../../class/infiniband_verbs\n"
                           "l sys/dev/char/510:3/subsystem ../../../../class/infiniband_verbs\n"
                           "l sys/dev/char/231:0/subsystem ../../../../class/infiniband_mad\n"
                           "l sys/dev/char/1:3/subsystem ../../../../class/mem\n";

static const struct ni_root *recorded(void)
{
    static struct ni_root root = {.kind = NI_ROOT_TREE, .fd = -1};
    unsigned line;

    if (!root.tree) {
        char *text = strdup(node);
        root.tree = calloc(1, sizeof(*root.tree));
        FUZZ_CHECK(text && root.tree && ni_tree_parse(root.tree, text, strlen(text), &line) == 0,
                   "the node");
        free(text);
    }
    return &root;
}

static void check_plain(const char *s)
{
    for (; *s; s++)
        FUZZ_CHECK(*s >= ' ' && *s < 127, "a byte %d is said", *s);
}

static void check_state(const char *text)
{
    struct ni_text why = NI_TEXT(500);
    struct ni_hook_container c;
    enum ni_hook_answer answer = ni_hook_state(text, false, &c, &why);

    check_plain(c.id);
    check_plain(why.buf);
    FUZZ_CHECK((answer == NI_HOOK_YES) == (why.len == 0), "%s", why.buf);
    FUZZ_CHECK(answer != NI_HOOK_YES || (c.pid > 1 && c.bundle[0] == '/'), "%d %s", c.pid,
               c.bundle);
}

static enum ni_hook_answer judge(const char *text, bool privileged)
{
    const struct ni_dir top = ni_dir_top(recorded());
    struct ni_text why = NI_TEXT(500);
    struct ni_hook_container c = {.listed = -1};
    enum ni_hook_answer answer = ni_hook_config(&top, text, privileged, &c, &why);

    check_plain(why.buf);
    FUZZ_CHECK((answer == NI_HOOK_YES) == (why.len == 0), "%s", why.buf);
    FUZZ_CHECK(answer != NI_HOOK_YES || (c.major == 231 && c.minor == 192) ||
                   (c.major == 510 && c.minor == 3),
               "%d:%d", c.major, c.minor);
    FUZZ_CHECK(c.listed >= -1, "%lld", (long long)c.listed);
    return answer;
}

/* The same with a last rule that denies all. */
static void check_denied(const char *text)
{
    json_t *top = json_loads(text, JSON_DECODE_INT_AS_REAL, NULL);
    json_t *rules =
        json_object_get(json_object_get(json_object_get(top, "linux"), "resources"), "devices");

    if (json_array_append_new(rules, json_pack("{s:b, s:s}", "allow", 0, "access", "rwm")) == 0) {
        char *denied = json_dumps(top, JSON_REAL_PRECISION(17));
        FUZZ_CHECK(denied && judge(denied, true) != NI_HOOK_YES, "%s", denied);
        free(denied);
    }
    json_decref(top);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input in = {(const char *)data, size < FUZZ_MAX ? size : FUZZ_MAX};
    struct ni_span state;

    if (!fuzz_piece(&in, '\n', &state))
        return 0;
    char *first = fuzz_text(state.p, state.n), *second = fuzz_text(in.p, in.n);
    check_state(first);
    if (judge(second, false) == NI_HOOK_YES)
        FUZZ_CHECK(judge(second, true) == NI_HOOK_YES, "privileged takes it away");
    if (judge(second, true) == NI_HOOK_YES)
        check_denied(second);
    free(first);
    free(second);
    return 0;
}
