/* SPDX-License-Identifier: Apache-2.0 */
/* nccl-init-try, the helper: a dynamic program beside the static one, which starts it. It loads what
   this image gives the job, does the steps that its arguments name, and says facts. It decides
   nothing. Its lines are those of nccl_init/tried.h. */
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "nccl_init/base.h"
#include "try/try.h"

/* By this text nccl-init finds the version in the file of another release. */
static const char marker[] = "nccl-init-try version " NCCL_INIT_VERSION ";";

/* Gives standard output to the image's libraries, as a second standard error: a banner of one must not
   stand among the lines that are said. */
static void keep_words_apart(void)
{
    const int words = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

    if (words >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) >= 0)
        ni_try_words = words;
}

void ni_try_die_with(pid_t parent)
{
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* it died before that was in force */
        _exit(1);
}

int main(int argc, char *argv[])
{
    static const char own[] = NCCL_INIT_VERSION;
    static const struct {
        const char *name;
        void (*work)(int n, char *const what[]);
    } trials[] = {
        {"image", ni_try_image},
        {"gpus", ni_try_gpus},
        {"gpu", ni_try_gpu},
        {"nccl", ni_try_nccl},
    };

    if (argc < 3) {
        (void)ni_try_say("%s", marker);
        return ni_try_say("nccl-init starts it: nccl-init selftest --try=all") ? 0 : 1;
    }
    keep_words_apart();
    (void)ni_try_say("version %s", own);
    for (unsigned i = 0; i < NI_COUNT(trials) && strcmp(argv[1], own) == 0; i++) {
        if (strcmp(argv[2], trials[i].name) != 0)
            continue;
        trials[i].work(argc - 3, argv + 3);
        return ni_try_say("end") ? 0 : 1;
    }
    return 2; /* another program's question */
}
