/* SPDX-License-Identifier: Apache-2.0 */
/* Variables in a masked recording: those that the program reads. The part of a value that has the
   form its reader knows is kept. */
#include "snapshot/keep_env.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/option.h"
#include "cli/program.h"
#include "nccl_init/base.h"
#include "nccl_init/caps.h"
#include "nccl_init/env.h"
#include "nccl_init/findings.h"
#include "nccl_init/text.h"
#include "rules/transport.h"
#include "rules/user.h"
#include "snapshot/keep_forms.h"
#include "snapshot/keep_json.h"
#include "snapshot/mask.h"
#include "system/caps.h"

/* ---- lists ---- */

/* Puts a known word or a number as it is. Of any other text it keeps the number at its beginning,
   because NCCL reads that much, and replaces the whole. */
static void put_word(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span s,
                     struct ni_text *ret)
{
    enum { MOST = 4 }; /* more digits before a text may be an id */
    size_t digits = s.n > 0 && *s.p == '-';

    (void)k;
    if (ni_keeps_word(s) || ni_is_number(s)) {
        ni_putn(ret, s.p, s.n);
        return;
    }
    while (digits < s.n && ni_is_digit(s.p[digits]))
        digits++;
    if (digits <= MOST && ni_is_number((struct ni_span){s.p, digits}))
        ni_putn(ret, s.p, digits);
    ni_keep_unknown(m, s, ret);
}

static void put_masked_value(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span s,
                             struct ni_text *ret)
{
    if (ni_is_bdf(s) || ni_is_address(s) || ni_is_gpu_uuid(s))
        ni_putn(ret, s.p, s.n);
    else
        ni_keep_items(k, m, s, ":.", put_word, ret);
}

static void put_masked_name(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span s,
                            struct ni_text *ret)
{
    enum { MOST = 5 }; /* a longer number is no port, and may be an id */
    static const char no_port[] = "99999";

    (void)k;
    if (!ni_is_number(s))
        ni_keep_device(m, s, ret);
    else if (s.n <= MOST)
        ni_putn(ret, s.p, s.n);
    else
        ni_put(ret, no_port);
}

static void put_device(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span s,
                       struct ni_text *ret)
{
    if (ni_is_bdf(s))
        ni_putn(ret, s.p, s.n);
    else
        ni_keep_items(k, m, s, ":", put_masked_name, ret);
}

/* ---- the forms of values ---- */

static void keep_words(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span s,
                       struct ni_text *ret)
{
    (void)k;
    ni_keep_items(k, m, s, ",;=^@|()[] \t\r", put_masked_value, ret);
}

/* Keeps a list of HCAs, ports or interfaces, with its separators. */
static void keep_devices(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span s,
                         struct ni_text *ret)
{
    (void)k;
    ni_keep_items(k, m, s, ",;=^ \t\r", put_device, ret);
}

static void keep_path(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span s,
                      struct ni_text *ret)
{
    (void)k;
    ni_mask_path(m, s, ret);
}

/* Keeps a word or a number as it is; masks another text. */
static void keep_name(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span s,
                      struct ni_text *ret)
{
    (void)k;
    if (ni_keeps_word(s) || ni_is_number(s))
        ni_putn(ret, s.p, s.n);
    else if (s.n > 0)
        ni_mask_name(m, s, ret);
}

/* Keeps a text of the user's under another name, even if it is a number or a known word: a job's
   key, a host's id. */
static void keep_key(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span s,
                     struct ni_text *ret)
{
    (void)k;
    if (s.n > 0)
        ni_mask_name(m, s, ret);
}

/* Keeps of a secret only that there is one: people put it where its file's name belongs. */
static void keep_secret(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span s,
                        struct ni_text *ret)
{
    (void)k;
    (void)m;
    if (s.n > 0)
        ni_put(ret, "masked");
}

/* Keeps of a number that is a job's key how NCCL takes it: as a number of 64 bits, as one that is
   too large, as a number with a text behind it, as none (2.30.7 misc/param.cc ncclLoadParam). */
static void keep_number_key(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span s,
                            struct ni_text *ret)
{
    char text[64], *end = text;

    (void)k;
    if (s.n == 0)
        return;
    errno = 0;
    if (ni_copyn(text, sizeof(text), s.p, s.n))
        (void)strtoll(text, &end, 0);
    if (errno == ERANGE)
        ni_put(ret, "99999999999999999999");
    else if (end != text)
        ni_put(ret, "1");
    if (end == text || *end)
        ni_keep_unknown(m, s, ret);
}

/* Returns true for a name that is made of words that plugins' files have. */
static bool is_plugin_file(struct ni_span name)
{
    static const char *const parts[] = {
        "anp",     "aws",     "cast", "env",   "gib",  "hpcx",   "ib",       "ibext", "libnccl",
        "librccl", "mscclpp", "nccl", "net",   "none", "ofi",    "profiler", "rccl",  "rdma",
        "plugin",  "plugins", "rocm", "sharp", "so",   "socket", "spcx",     "tcpx",  "tuner",
        "ucx",     "uct",     "v6",   "v7",    "v8",   "v9",     "v10",      "v11",
    };
    size_t n;

    for (size_t at = 0; at <= name.n; at += n + 1) {
        char part[16];

        n = 0;
        while (at + n < name.n && !strchr("-_.", name.p[at + n]))
            n++;
        if (n == 0 || !ni_copyn(part, sizeof(part), name.p + at, n))
            return false;
        for (char *c = part; *c; c++)
            *c = (char)(*c >= 'A' && *c <= 'Z' ? *c | 0x20 : *c);
        if (!ni_is_any(part, parts, NI_COUNT(parts)))
            return false;
    }
    return true;
}

/* Keeps the name of a plugin, or its file: "ofi", "libnccl-net-ofi.so", "/opt/.../libnccl-net.so".
   The name stays if plugins' files have such words. Behind another name stands whether it was that
   of a plugin that reads the variables of NCCL's InfiniBand code. */
static void keep_plugin(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span s,
                        struct ni_text *ret)
{
    const char *slash = memrchr(s.p, '/', s.n);
    const size_t dir = slash ? (size_t)(slash - s.p) + 1 : 0;
    const struct ni_span name = {s.p + dir, s.n - dir};
    const size_t before = ret->len;
    char plugin[NI_PAGE];

    ni_mask_path(m, (struct ni_span){s.p, dir}, ret);
    if (is_plugin_file(name))
        ni_putn(ret, name.p, name.n);
    else
        keep_name(k, m, name, ret);
    const bool is_ib = ni_copyn(plugin, sizeof(plugin), s.p, s.n) && ni_is_ib_plugin(plugin);
    if (is_ib && !ni_is_ib_plugin(ret->buf + before))
        ni_put(ret, "-sharp");
}

/* Returns true if the text is one of the words of an option. Case does not count. */
static bool has_word(const char *words, struct ni_span s)
{
    while (words && *words) {
        const size_t n = strcspn(words, "|,.=[]");

        if (n == s.n && strncasecmp(words, s.p, n) == 0)
            return true;
        words += n + (words[n] != '\0');
    }
    return false;
}

/* Returns true if the text is a number and a unit, as options take them: "20s", "8GiB". */
static bool is_quantity(struct ni_span s)
{
    static const char *const units[] = {"s",  "m",  "h",   "k",   "g",  "ki",
                                        "mi", "gi", "kib", "mib", "gib"};
    size_t digits = 0;

    while (digits < s.n && ni_is_digit(s.p[digits]))
        digits++;
    for (size_t i = 0; digits > 0 && i < NI_COUNT(units); i++) {
        if (strlen(units[i]) == s.n - digits &&
            strncasecmp(s.p + digits, units[i], s.n - digits) == 0)
            return true;
    }
    return false;
}

/* A word of an option's values, a capability, a finding. */
static bool is_of_option(const struct ni_keep_facts *k, struct ni_span s)
{
    struct ni_cap_names names = {0};
    unsigned cap;

    for (unsigned i = 0; i < ni_options_count(k->program); i++) {
        const struct ni_option *option = ni_option_at(k->program, i);

        if (has_word(option->arg, s) || has_word(option->also, s))
            return true;
    }
    return ni_finding_named(s) != NI_F_NONE || is_quantity(s) ||
           ni_cap_by_name(s, &names, &cap) == 0;
}

static void put_masked_option(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span s,
                              struct ni_text *ret)
{
    if (is_of_option(k, s))
        ni_putn(ret, s.p, s.n);
    else
        put_masked_value(k, m, s, ret);
}

static void keep_option(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span s,
                        struct ni_text *ret)
{
    (void)k;
    if (s.n > NI_PAGE)
        ni_keep_unknown(m, s, ret); /* no option takes so long a value */
    else
        ni_keep_items(k, m, s, ",=", put_masked_option, ret);
}

/* Masks NAME or NAME:PORT of another machine; the port stays. */
static void keep_host(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span s,
                      struct ni_text *ret)
{
    const char *colon = memrchr(s.p, ':', s.n);
    const size_t n = colon ? (size_t)(colon - s.p) : s.n;
    const bool port = colon && s.n - n <= sizeof(":65535") - 1 &&
                      ni_is_number((struct ni_span){colon + 1, s.n - n - 1});

    (void)k;
    ni_mask_name(m, (struct ni_span){s.p, port ? n : s.n}, ret);
    if (port)
        ni_putn(ret, colon, s.n - n);
}

/* Keeps the value of NCCLINIT_NETWORK_STATUS: the name of a variable, by which the recording has it,
   or a path, masked. */
static void keep_status_name(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span s,
                             struct ni_text *ret)
{
    if (k->renames_status && ni_span_is(s, k->network_status))
        ni_put(ret, NI_STATUS_RENAMED);
    else if (k->network_status && ni_span_is(s, k->network_status))
        ni_putn(ret, s.p, s.n);
    else
        ni_mask_path(m, s, ret);
}

/* Keeps a PCIDEVICE_* variable: JSON about devices, or a list of addresses. */
static void keep_pcidevice(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span s,
                           struct ni_text *ret)
{
    const struct ni_span text = ni_trim(s);

    if (text.n > 0 && *text.p == '{')
        ni_keep_json(k, m, s, ret);
    else
        ni_keep_ids(k, m, s, ret);
}

/* ---- the variables ---- */

/* The variables and their forms. `*` in a name stands for any text. */
static const struct variable {
    const char *name;
    ni_form_fn *form;
} variables[] = {
    {"NCCLINIT_PEERS", keep_host},
    {"NCCLINIT_JOB", keep_key},
    {"NCCLINIT_JOB_SECRET", keep_secret},
    {"NCCLINIT_HCAS", keep_devices},
    {"NCCLINIT_SOCKETS", keep_devices},
    {"NCCLINIT_NETWORK_STATUS", keep_status_name},
    {"NCCLINIT_ONCE", keep_path},
    {"NCCLINIT_SVG", keep_path},
    {"NCCLINIT_ROOT", keep_path},
    {"NCCLINIT_OUTPUT", keep_path},
    {"NCCLINIT_PLAN", keep_path},
    {"NCCLINIT_TERMINATION_LOG", keep_path},
    {"NCCLINIT_SNAPSHOT_ON_REFUSAL", keep_path},
    {"PCIDEVICE_*", keep_pcidevice},
    {"SRIOVNETWORK_PCI_ADDRESSES", ni_keep_ids},
    {"SRIOVNETWORK_VF_DEVICE_*", ni_keep_ids},
    {"SRIOVNETWORK_*_RDMA_DEVICE", keep_devices},
    {"NETWORK_STATUS", ni_keep_json},
    {"HOME", keep_path},
    {"NCCL_COMM_ID", keep_host},
    {"NCCL_HOSTID", keep_key},
    {"NCCL_SOCKET_MAGIC", keep_number_key},
    {"NCCL_MNNVL_UUID", keep_number_key},
    {"NCCL_IB_HCA", keep_devices},
    {"NCCL_SOCKET_IFNAME", keep_devices},
    {"NCCL_OOB_NET_IFNAME", keep_devices},
    {"NCCL_NET", keep_plugin},
    {"NCCL_NET_PLUGIN", keep_plugin},
    {"NCCL_ENV_PLUGIN", keep_plugin},
    {"NCCL_TUNER_PLUGIN", keep_plugin},
    {"NCCL_CONF_FILE", keep_path},
    {"NCCL_TOPO_FILE", keep_path},
    {"NVSHMEM_CONF_FILE", keep_path},
    {"NVSHMEM_HCA_LIST", keep_devices},
    {"NVSHMEM_HCA_PE_MAPPING", keep_devices},
    {"NVSHMEM_HCA_PREFIX", keep_devices},
    {"NVSHMEM_IB_GID_INDEX", keep_words},
    {"NVSHMEM_IB_ADDR_RANGE", keep_words},
    {"NVSHMEM_BOOTSTRAP_UID_SOCK_IFNAME", keep_devices},
    {"NVSHMEM_BOOTSTRAP_UID_SOCK_FAMILY", keep_words},
    {"UCX_NET_DEVICES", keep_devices},
    {"UCX_IB_GID_INDEX", keep_words},
    {"UCX_IB_ROCE_SUBNETS", keep_words},
    {"UCX_IB_GPU_DIRECT_RDMA", keep_words},
    {"UCX_MAX_HCA_PER_GPU", keep_words},
    {"MC_TE_FILTERS", keep_devices},
    {"MC_IB_PORT", keep_words},
    {"MC_GID_INDEX", keep_words},
    {"GLOO_SOCKET_IFNAME", keep_devices},
    {"TP_SOCKET_IFNAME", keep_devices},
    {"VLLM_GPU_NIC_PCIE_MAPPING", keep_words},
    {"VLLM_NIC_SELECTION_VARS", keep_words},
    {"CUDA_VISIBLE_DEVICES", keep_words},
    {"CUDA_DEVICE_ORDER", keep_words},
    {"HIP_VISIBLE_DEVICES", keep_words},
    {"ROCR_VISIBLE_DEVICES", keep_words},
};

static bool is_like(struct ni_span name, const char *pattern)
{
    const char *star = strchr(pattern, '*');

    if (!star)
        return ni_span_is(name, pattern);
    const size_t head = (size_t)(star - pattern), tail = strlen(star + 1);
    return name.n >= head + tail && memcmp(name.p, pattern, head) == 0 &&
           memcmp(name.p + name.n - tail, star + 1, tail) == 0;
}

/* Returns true if the name has only letters, digits, '_', '-' and '.', as plugins make them. */
static bool is_plain_name(struct ni_span name)
{
    for (size_t i = 0; i < name.n; i++)
        if (!ni_is_name((struct ni_span){name.p + i, 1}, NI_DEV_NAME) && name.p[i] != '.')
            return false;
    return name.n > 0;
}

static bool is_own(const struct ni_keep_facts *k, struct ni_span name)
{
    for (unsigned i = 0; i < ni_options_count(k->program); i++) {
        struct ni_text text = NI_TEXT(64);

        ni_put_variable(&text, ni_option_at(k->program, i));
        if (ni_span_is(name, text.buf))
            return true;
    }
    return false;
}

ni_form_fn *ni_variable_form(const struct ni_keep_facts *k, struct ni_span name)
{
    if (ni_is_misspelt_nccl(name)) /* a finding reports the name; nobody reads the value */
        return keep_key;
    if (ni_is_launcher_variable(name))
        return keep_words;
    if (!is_plain_name(name))
        return NULL;
    for (size_t i = 0; i < NI_COUNT(variables); i++)
        if (is_like(name, variables[i].name))
            return variables[i].form;
    if (k && k->network_status && ni_span_is(name, k->network_status))
        return ni_keep_json;
    if (is_own(k, name))
        return keep_option;
    return ni_is_nccl_name(name) ? keep_words : NULL;
}
