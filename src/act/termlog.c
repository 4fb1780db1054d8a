/* SPDX-License-Identifier: Apache-2.0 */
/* The termination log: what `kubectl describe pod` shows as the reason. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nccl_init/act.h"

int ni_termination_log(const char *path, const char *text)
{
    size_t n = strlen(text);
    struct stat st;
    int r = 0;
    /* Appended, as kubelet shows the end of the file. Never created: a file there is the sign that
       somebody reads it. Non-blocking, so that a FIFO put there cannot hold us. */
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW);

    if (fd < 0)
        return -errno;
    if (n > NI_TERMINATION_MAX)
        n = NI_TERMINATION_MAX;
    if (fstat(fd, &st) != 0)
        r = -errno;
    else if (!S_ISREG(st.st_mode))
        r = -EINVAL;
    if (r == 0)
        r = ni_write_all(fd, text, n);
    if (close(fd) != 0 && r == 0)
        r = -errno;
    return r;
}
