/* SPDX-License-Identifier: Apache-2.0 */
/* The container for which the runtime calls the hook: its state, and the config.json of its
   bundle. A pod chooses the annotations and paths in them, but neither the pid nor the bundle
   nor the device numbers. */
#include "hook/container.h"

#include <jansson.h>
#include <string.h>

#include "nccl_init/base.h"
#include "nccl_init/number.h"
#include "nccl_init/text.h"
#include "print/json_read.h"
#include "sysroot/files.h"
#include "sysroot/root.h"

/* Device numbers: ANY matches each number, BAD is not a number. */
enum { ANY = -1, BAD = -2 };

/* The annotation, of the container or its pod, and the value with which it keeps its limit. */
static const char opt_out[] = "nccl-init.io/memlock", keep[] = "keep";

enum ni_hook_answer ni_hook_say(enum ni_hook_answer a, struct ni_text *why, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    ni_vputf(why, fmt, ap);
    va_end(ap);
    return a;
}

static const char *json_text(const json_t *object, const char *key)
{
    const char *s = json_string_value(json_object_get(object, key));

    return s ? s : "";
}

/* Returns the number that the object has by that key; ANY if it has none. */
static int json_number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    double d = json_real_value(value);

    if (!value)
        return ANY;
    return json_is_real(value) && d >= ANY && d <= INT32_MAX && d == (double)(int)d ? (int)d : BAD;
}

enum ni_hook_answer ni_hook_state(const char *text, bool dry, struct ni_hook_container *ret,
                                  struct ni_text *why)
{
    static const char *const status[] = {"creating" /* runc */, "created" /* crun */, "running"};
    json_auto_t *top = ni_read_json_as_reals(text, why);

    *ret = (struct ni_hook_container){.listed = -1, .before = -1};
    struct ni_text id = ni_text_on(ret->id, sizeof(ret->id));
    ni_quote(&id, json_text(top, "id"));
    if (!top)
        return ni_hook_say(NI_HOOK_WRONG, why, " in the state");
    if (id.len && !json_text(top, "status")[0])
        return ni_hook_say(NI_HOOK_NO, why, "the state has no status, as with Kata Containers");
    ret->pid = json_number(top, "pid");
    if (!ni_is_any(json_text(top, "status"), status, dry ? 3 : 2) || ret->pid <= 1)
        return ni_hook_say(NI_HOOK_WRONG, why, "the state is not of the stage createRuntime");
    if (json_text(top, "bundle")[0] != '/' ||
        !ni_copy(ret->bundle, sizeof(ret->bundle), json_text(top, "bundle")))
        return ni_hook_say(NI_HOOK_WRONG, why, "bundle in the state is not an absolute path");
    return NI_HOOK_YES;
}

static bool is_character(const json_t *device)
{
    static const char *const types[] = {"c", "u"};

    return ni_is_any(json_text(device, "type"), types, NI_COUNT(types));
}

/* Returns true if the rules let the container read and write the character device: the last rule
   that matches counts. ANY, ANY: every device, also those that no rule names. A malformed rule
   allows nothing. */
static bool is_allowed(const json_t *rules, int major, int minor)
{
    bool may_read = false, may_write = false;
    json_t *rule;
    size_t i;

    json_array_foreach(rules, i, rule)
    {
        const int of_major = json_number(rule, "major");
        const int of_minor = json_number(rule, "minor");
        const char *type = json_text(rule, "type"), *access = json_text(rule, "access");

        if (of_major == BAD || of_minor == BAD)
            return false;
        if ((type[0] && strcmp(type, "a") != 0 && !is_character(rule)) ||
            (of_major != ANY && of_major != major) || (of_minor != ANY && of_minor != minor))
            continue;
        if (strchr(access, 'r'))
            may_read = json_is_true(json_object_get(rule, "allow"));
        if (strchr(access, 'w'))
            may_write = json_is_true(json_object_get(rule, "allow"));
    }
    return may_read && may_write;
}

/* Returns true if sysfs has the device in the class of verbs. The path of the device node does not
   count, because the pod may have chosen it. The class is the same in each network namespace
   (drivers/infiniband/core/uverbs_main.c uverbs_class). */
static bool is_verbs(const struct ni_dir *top, int major, int minor)
{
    char target[NI_PATH] = "";

    (void)ni_readlink(top, target, sizeof(target) - 1, "sys/dev/char/%d:%d/subsystem", major,
                      minor);
    const char *name = strrchr(target, '/');
    return name && strcmp(name, "/infiniband_verbs") == 0;
}

/* Finds an RDMA device that the container may use, among the devices that are listed and those that
   a rule names. Puts its numbers into *ret. */
static bool find_device_rule(const struct ni_dir *top, const json_t *devices, const json_t *rules,
                             struct ni_hook_container *ret)
{
    const json_t *const lists[] = {devices, rules};
    json_t *device;
    size_t i;

    for (size_t k = 0; k < NI_COUNT(lists); k++) {
        json_array_foreach(lists[k], i, device)
        {
            ret->major = json_number(device, "major");
            ret->minor = json_number(device, "minor");
            if (is_character(device) && ret->major >= 0 && ret->minor >= 0 &&
                is_verbs(top, ret->major, ret->minor) && is_allowed(rules, ret->major, ret->minor))
                return true;
        }
    }
    return false;
}

/* Returns the soft limit of locked memory that config.json lists; -1: none. */
static int64_t listed_limit(const json_t *rlimits)
{
    json_t *value;
    size_t i;

    json_array_foreach(rlimits, i, value)
    {
        /* it is a number of 64 bits without sign, and the largest one is unlimited */
        double soft = json_real_value(json_object_get(value, "soft"));

        if (strcmp(json_text(value, "type"), "RLIMIT_MEMLOCK") == 0 && soft >= 0)
            return soft < 0x1p63 ? (int64_t)soft : NI_UNLIMITED;
    }
    return -1;
}

enum ni_hook_answer ni_hook_config(const struct ni_dir *top, const char *text, bool privileged,
                                   struct ni_hook_container *ret, struct ni_text *why)
{
    json_auto_t *config = ni_read_json_as_reals(text, why);
    const json_t *of_linux = json_object_get(config, "linux");
    const json_t *rules = json_object_get(json_object_get(of_linux, "resources"), "devices");

    if (!of_linux)
        return ni_hook_say(NI_HOOK_WRONG, why,
                           config ? "config.json does not describe a Linux container"
                                  : " in config.json");
    if (strcmp(json_text(json_object_get(config, "annotations"), opt_out), keep) == 0)
        return ni_hook_say(NI_HOOK_NO, why, "the annotation %s is `%s`", opt_out, keep);
    if (!privileged && is_allowed(rules, ANY, ANY))
        return ni_hook_say(NI_HOOK_NO, why, "it may use every device, and --privileged is not set");
    if (!find_device_rule(top, json_object_get(of_linux, "devices"), rules, ret))
        return ni_hook_say(NI_HOOK_NO, why, "no RDMA device");
    ret->listed = listed_limit(json_object_get(json_object_get(config, "process"), "rlimits"));
    return NI_HOOK_YES;
}
