/* SPDX-License-Identifier: Apache-2.0 */
#include "preflight/fingerprint.h"

#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "nccl_init/text.h"
#include "preflight/job.h"
#include "preflight/launcher.h"
#include "preflight/secret.h"
#include "rail/step.h"
#include "system/process.h"

enum { WAIT_MS = 5000, FACTS = 32768 };

/* Puts what the verdict is about, but the secret itself. */
static void put_facts(struct ni_text *t, const struct ni_party *party, const struct ni_pod *pod,
                      bool secret)
{
    ni_putf(t, "%s %u %s\n", party->host, party->port, secret ? "secret" : "open");
    for (unsigned i = 0; i < pod->n_rail; i++)
        ni_putf(t, "%s/%u\n", pod->rail[i].hca, pod->rail[i].port);
    for (unsigned i = 0; i < pod->n_setting; i++)
        ni_putf(t, "%s=%s\n", pod->setting[i].name, pod->setting[i].value);
}

/* Is the child: writes the fingerprint, or nothing if the secret cannot be read. */
static _Noreturn void be_child(int fd, const char *file, const struct ni_text *facts)
{
    static struct ni_secret secret; /* without a file: zeros */
    struct ni_text why = NI_TEXT(512), print = NI_TEXT(NI_FINGERPRINT);
    uint8_t code[NI_CODE_BYTES];

    if (file && ni_read_secret(file, &secret, &why) < 0)
        _exit(1);
    ni_hmac(&secret, facts->buf, facts->len, "", 0, code);
    for (unsigned i = 0; i < NI_FINGERPRINT / 2; i++)
        ni_putf(&print, "%02x", code[i]);
    _exit(write(fd, print.buf, print.len) == (ssize_t)print.len ? 0 : 1);
}

void ni_fingerprint(const struct ni_party *party, const struct ni_pod *pod, const char *secret,
                    char ret[NI_FINGERPRINT])
{
    static char buf[FACTS];
    struct ni_text facts = ni_text_on(buf, sizeof(buf));
    struct ni_children children;
    struct pollfd p = {.events = POLLIN};
    int fd[2];
    pid_t pid;

    memset(ret, 0, NI_FINGERPRINT);
    if (pipe2(fd, O_CLOEXEC) < 0)
        return;
    put_facts(&facts, party, pod, secret != NULL);
    ni_children_begin(&children);
    pid = ni_fork_group();
    if (pid == 0)
        be_child(fd[1], secret, &facts);
    (void)close(fd[1]);
    p.fd = fd[0];
    if (pid < 0 || poll(&p, 1, WAIT_MS) != 1 ||
        read(fd[0], ret, NI_FINGERPRINT - 1) != NI_FINGERPRINT - 1)
        memset(ret, 0, NI_FINGERPRINT);
    ni_children_end(&children, pid);
    (void)close(fd[0]);
}
