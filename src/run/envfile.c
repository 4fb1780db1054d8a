/* SPDX-License-Identifier: Apache-2.0 */
/* The settings as an environment file. Each format writes only values that its readers give back
   byte for byte; all settings are checked before the first byte is written. */
#include "run/envfile.h"

#include <assert.h>
#include <string.h>

#include "nccl_init/base.h"
#include "nccl_init/inventory.h"
#include "nccl_init/plan.h"
#include "nccl_init/text.h"
#include "print/command.h"
#include "print/devices.h"
#include "print/json_write.h"
#include "print/words.h"

/* Kubernetes reads files of at most 64 KiB (KEP-3721). The longest line is NAME='VALUE' and a
   newline. */
static_assert(NI_MAX_SETTING * (NI_VALUE + NI_DEV_NAME + 4) <= 65536, "env file beyond 64 KiB");

static bool is_utf8_text(const char *s)
{
    uint32_t c;
    size_t n = 1;

    while (*s && n > 0) {
        n = ni_utf8(s, &c);
        s += n;
    }
    return n > 0;
}

/* Returns true for printable ASCII that neither begins nor ends with a byte which a reader takes
   off. */
static bool is_plain_value(const char *s)
{
    size_t n = strlen(s);

    for (size_t i = 0; i < n; i++)
        if (s[i] < ' ' || s[i] > '~')
            return false;
    return n == 0 || (!strchr(" '\"", s[0]) && !strchr(" \\", s[n - 1]));
}

/* Returns true if the readers of the format give the value back. */
static bool carries(enum ni_format format, const struct ni_setting *s)
{
    switch (format) {
    case NI_FMT_SH:
        /* Inside single quotes a POSIX shell takes every byte but the quote, written '\''. */
        return true;
    case NI_FMT_K8S:
        /* kubernetes pkg/kubelet/util/env ParseEnv, 1.35 and later: everything up to the next
           single quote, over line ends too, and no way to write that quote. Go's line scanner drops
           a CR before a line end. The value then goes through a protobuf string, which is UTF-8. */
        return !strchr(s->value, '\'') && !strstr(s->value, "\r\n") && is_utf8_text(s->value);
    case NI_FMT_DOCKER:
        /* Values that docker run and podman (the bytes after '=' up to the line end), kubectl, and
           Kubernetes 1.34 (trimmed, in Unicode's sense; a backslash at the end joins lines) all
           read alike. docker/cli pkg/kvfile refuses what is no UTF-8, and some readers take off a
           pair of quotes. */
        return is_plain_value(s->value);
    case NI_FMT_CONF:
        /* NCCL 2.30.7 misc/param.cc setEnvFile: value up to 1023 bytes, the line end and a CR
           before it are taken off, nothing else. Older ones keep the CR, so none is written. NCCL
           puts every name into the environment, but only when it starts: too late for other
           libraries. */
        return ni_has_prefix(s->name, "NCCL_") && strlen(s->value) < NI_CONF_VALUE &&
               !strpbrk(s->value, "\r\n");
    case NI_FMT_JSON:
        return is_utf8_text(s->value);
    }
    return false;
}

const struct ni_setting *ni_put_env(struct ni_text *out, const struct ni_view *view,
                                    enum ni_format format)
{
    const struct ni_plan *plan = view->plan;

    for (unsigned i = 0; i < plan->n_setting; i++) {
        const struct ni_setting *s = &plan->setting[i];

        if (s->origin == NI_FROM_RULE && !carries(format, s))
            return s;
    }
    struct ni_json j = ni_json_on(out, NI_JSON_INDENTED);
    if (format == NI_FMT_JSON)
        ni_json_object(&j, NULL);
    for (unsigned i = 0; i < plan->n_setting; i++) {
        const struct ni_setting *s = &plan->setting[i];

        if (s->origin != NI_FROM_RULE)
            continue;
        if (format == NI_FMT_JSON)
            ni_json_text(&j, s->name, s->value);
        else if (format == NI_FMT_SH)
            ni_put_export(out, s->name, s->value);
        else
            ni_putf(out, format == NI_FMT_K8S ? "%s='%s'\n" : "%s=%s\n", s->name, s->value);
    }
    /* for a launcher that gives each process the ports of its GPU: no variable has a name in lower
       case */
    if (format == NI_FMT_JSON && view->inv->n_gpu > 0)
        ni_json_list(&j, "gpus", view, 0, view->inv->n_gpu, ni_json_gpu);
    if (format == NI_FMT_JSON)
        ni_json_end(&j);
    return NULL;
}
