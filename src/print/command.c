/* SPDX-License-Identifier: Apache-2.0 */
/* Commands that people paste. The catalogue has those of the findings, with places for names of this
   pod; a name goes in only if a shell takes it as it is. */
#include "print/command.h"

#include <string.h>

#include "nccl_init/base.h"
#include "nccl_init/inventory.h"
#include "nccl_init/net.h"
#include "nccl_init/plan.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"
#include "print/devices.h"

/* Puts the text in single quotes. */
static void put_in_quotes(struct ni_text *out, const char *s)
{
    ni_put(out, "'");
    for (; *s; s++) {
        if (*s == '\'')
            ni_put(out, "'\\''");
        else
            ni_putn(out, s, 1);
    }
    ni_put(out, "'");
}

void ni_put_export(struct ni_text *out, const char *name, const char *value)
{
    ni_putf(out, "export %s=", name);
    put_in_quotes(out, value);
    ni_put(out, "\n");
}

/* Returns true if the word begins like no option, and a shell takes it as it is. */
static bool is_plain(const char *s)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                  "._/:@%+,-=";

    /* zsh expands a word that begins with `=` */
    return *s && *s != '-' && *s != '=' && s[strspn(s, letters)] == '\0';
}

/* Returns true for a letter that a terminal shows: no control character, and none that is not seen or
   turns the letters about it round (Unicode 15.0, 23.2). */
static bool is_seen(uint32_t c)
{
    static const struct {
        uint32_t first, last;
    } unseen[] = {{0, 0x1f},        {0x7f, 0x9f},     {0xad, 0xad},     {0x61c, 0x61c},
                  {0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f}, {0xfeff, 0xfeff}};

    for (unsigned i = 0; i < NI_COUNT(unseen); i++) {
        if (c >= unseen[i].first && c <= unseen[i].last)
            return false;
    }
    return true;
}

/* Returns true if the text is UTF-8, and a terminal shows all letters. */
static bool is_shown(const char *s)
{
    while (*s) {
        uint32_t c;
        const size_t n = ni_utf8(s, &c);

        if (n == 0 || !is_seen(c))
            return false;
        s += n;
    }
    return true;
}

/* Puts the word as a shell takes it. */
static bool put_shell_word(struct ni_text *out, const char *word)
{
    if (!is_shown(word))
        return false;
    if (is_plain(word))
        ni_put(out, word);
    else
        put_in_quotes(out, word);
    return !out->cut;
}

bool ni_put_path(struct ni_text *out, const char *path)
{
    const bool is_option = path[0] == '-' && path[1] != '\0';
    struct ni_text word = NI_TEXT(4096 + 2); /* PATH_MAX */

    ni_putf(&word, "%s%s", is_option ? "./" : "", path);
    ni_put(out, " ");
    return !word.cut && put_shell_word(out, word.buf);
}

bool ni_put_option(struct ni_text *out, const char *name, const char *value)
{
    ni_putf(out, " --%s", name);
    if (!value)
        return !out->cut;
    ni_put(out, "=");
    return put_shell_word(out, value);
}

bool ni_put_again(struct ni_text *out, const struct ni_view *view, enum ni_verb_again verb)
{
    const struct ni_again *given = view->again;

    if (given && given->unsaid)
        return false;
    if (given)
        ni_put(out, verb == NI_SAME_VERB ? given->own : given->shared);
    if (strcmp(view->root, "/") == 0)
        return !out->cut;
    ni_put(out, " --root");
    return ni_put_path(out, view->root);
}

/* ---- the names of this pod ---- */

/* Puts the word if it can stand in a command. */
static bool put_word(struct ni_text *out, const char *word)
{
    if (!word || !is_plain(word))
        return false;
    ni_put(out, word);
    return true;
}

/* Returns the HCA that the subject is, "mlx5_6", or whose port it is, "mlx5_6/1"; NULL. */
static const struct ni_hca *hca_of(const struct ni_view *view, const char *subject)
{
    const struct ni_span name = {subject, strcspn(subject, "/")};

    for (unsigned i = 0; i < view->inv->n_hca; i++) {
        if (ni_span_is(name, view->inv->hca[i].name))
            return &view->inv->hca[i];
    }
    return NULL;
}

static bool put_hca(struct ni_text *out, const struct ni_view *view, const char *subject)
{
    const struct ni_hca *hca = hca_of(view, subject);

    return hca && put_word(out, hca->name);
}

static bool put_port(struct ni_text *out, const struct ni_view *view, const char *subject)
{
    const char *slash = strchr(subject, '/');

    (void)view;
    return put_word(out, slash ? slash + 1 : "1");
}

/* Puts the interface that the subject is, or that its HCA has. */
static bool put_netdev(struct ni_text *out, const struct ni_view *view, const char *subject)
{
    const struct ni_hca *hca = hca_of(view, subject);
    const struct ni_netdev *dev = ni_find_netdev(view->inv, subject);

    if (!dev && hca && hca->netdev >= 0)
        dev = &view->inv->netdev[hca->netdev];
    return dev && put_word(out, dev->name);
}

static bool put_subject(struct ni_text *out, const struct ni_view *view, const char *subject)
{
    (void)view;
    return put_word(out, subject);
}

static bool put_file(struct ni_text *out, const struct ni_view *view, const char *subject)
{
    (void)view;
    if (!is_plain(subject))
        return false;
    ni_putf(out, "%s%s", subject[0] == '/' ? "" : "/", subject);
    return true;
}

static bool put_node(struct ni_text *out, const struct ni_view *view, const char *subject)
{
    (void)subject;
    return put_word(out, view->node);
}

static bool put_namespace(struct ni_text *out, const struct ni_view *view, const char *subject)
{
    (void)subject;
    return put_word(out, view->space);
}

/* Puts the path of the nccl.conf that sets the variable. */
static bool put_conf(struct ni_text *out, const struct ni_view *view, const char *subject)
{
    const struct ni_conf_entry *e = ni_find_conf(view->inv, subject);

    return e && put_word(out, e->file);
}

/* Returns true for the name of a variable of NCCL's. */
static bool is_variable(const char *s)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";

    return ni_has_prefix(s, "NCCL_") && s[strspn(s, letters)] == '\0';
}

/* Puts the variable if the environment sets it: what an nccl.conf sets cannot be unset. */
static bool put_user(struct ni_text *out, const struct ni_view *view, const char *subject)
{
    const struct ni_setting *s = ni_plan_get(view->plan, subject);

    if (!is_variable(subject) || (s && s->origin != NI_FROM_USER))
        return false;
    return (s || !ni_find_conf(view->inv, subject)) && put_word(out, subject);
}

static bool put_root(struct ni_text *out, const struct ni_view *view, const char *subject)
{
    (void)subject;
    return ni_put_again(out, view, NI_OTHER_VERB);
}

static const struct {
    const char *name;
    bool (*put)(struct ni_text *out, const struct ni_view *view, const char *subject);
} places[] = {
    {"{conf}", put_conf},           {"{file}", put_file}, {"{hca}", put_hca},
    {"{namespace}", put_namespace}, {"{node}", put_node}, {"{netdev}", put_netdev},
    {"{port}", put_port},           {"{root}", put_root}, {"{subject}", put_subject},
    {"{user}", put_user},
};

/* Puts what stands for the place at *form, and moves behind it. false: nothing is known for it. */
static bool put_place(struct ni_text *out, const struct ni_view *view, const char *subject,
                      const char **form)
{
    for (unsigned i = 0; i < NI_COUNT(places); i++) {
        if (!ni_has_prefix(*form, places[i].name))
            continue;
        *form += strlen(places[i].name);
        return places[i].put(out, view, subject);
    }
    return false;
}

/* Puts one form of a command. false: a name is not known. */
static bool put_form(struct ni_text *out, const struct ni_view *view, const char *subject,
                     const char *form)
{
    while (*form && *form != '\n') {
        if (*form == '{') {
            if (!put_place(out, view, subject, &form))
                return false;
        } else {
            ni_putn(out, form, 1);
            form++;
        }
    }
    return !out->cut;
}

bool ni_put_command(struct ni_text *out, const struct ni_view *view, const struct ni_finding *f)
{
    const char *form = f->no_command ? NULL : ni_finding_kind(f->id)->command;

    while (form) {
        struct ni_text command = NI_TEXT(1024);
        const char *next = strchr(form, '\n');

        if (put_form(&command, view, f->subject, form)) {
            ni_put(out, command.buf);
            return true;
        }
        form = next ? next + 1 : NULL;
    }
    return false;
}
