/* SPDX-License-Identifier: Apache-2.0 */
#include "rail/resent.h"

#include <fcntl.h>
#include <stddef.h>
#include <unistd.h>

#include "nccl_init/base.h"
#include "nccl_init/number.h"
#include "nccl_init/text.h"

enum { PATH = 192, NUMBER = 32 };

/* Counters of the end that asks, so that they belong to the pair whose data it moves. mlx5: Linux
   6.12 drivers/infiniband/hw/mlx5/counters.c; bnxt_re: hw_counters.c; rxe: rxe_hw_counters.c. */
static const char *const counters[] = {
    "local_ack_timeout_err", "packet_seq_err",    "roce_adp_retrans",
    "to_retransmits",        "seq_err_naks_rcvd", "completer_retry_err",
};

/* Returns the number in the file, which a newline follows; -1: there is none. */
static int64_t read_counter(const char *path)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    char text[NUMBER];
    uint64_t value;
    ssize_t n;

    if (fd < 0)
        return -1;
    n = read(fd, text, sizeof(text) - 1);
    (void)close(fd);
    if (n <= 0 || text[n - 1] != '\n')
        return -1;
    text[n - 1] = '\0';
    return ni_parse_u64(ni_span_of(text), INT64_MAX, &value) == 0 ? (int64_t)value : -1;
}

int64_t ni_count_resent(const char *hca, unsigned port)
{
    int64_t sum = -1;

    for (size_t i = 0; i < NI_COUNT(counters); i++) {
        struct ni_text path = NI_TEXT(PATH);
        int64_t n;

        ni_putf(&path, "/sys/class/infiniband/%s/ports/%u/hw_counters/%s", hca, port, counters[i]);
        n = read_counter(path.buf);
        if (n < 0)
            continue;
        sum = sum < 0 ? n : sum + n;
    }
    return sum;
}

/* Counters begin anew where the device is reset, and are gone where it is. */
int64_t ni_resent_since(int64_t before, int64_t after)
{
    return before >= 0 && after > before ? after - before : 0;
}
