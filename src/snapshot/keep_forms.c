/* SPDX-License-Identifier: Apache-2.0 */
/* Forms of words in a masked recording: numbers, addresses, ids, names of devices, and lists of
   them. */
#include "snapshot/keep_forms.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#include "nccl_init/base.h"
#include "nccl_init/ip.h"
#include "nccl_init/number.h"
#include "nccl_init/pci.h"
#include "nccl_init/text.h"
#include "snapshot/mask.h"

/* Words of known options' values, compared without regard to case. */
static const char words[] =
    " 2xnccl abort ace af_inet af_inet6 aff aligned all allgather alloc allreduce alltoall and "
    "anp any auto bootstrap broadcast call cc coll collnet collnetchain collnetdirect cpu "
    "cuda dc default devx disabled dmabuf docker doorbell enabled env error eth ethernet "
    "false gdr gdrcopy gpu graph group host ib ibdevx ibgda ibrc infiniband info init int k "
    "keep libfabric ll ll128 lo loc m max min mnnvl mpi net no none nvb nvhca nvl nvls "
    "nvlstree nvshmem_hca_list off on p2c p2p parallel pat pci_bus_id phb pix plugin pmi pod "
    "profile proxy pxb pxn rail ras rc rdma reduce reducescatter reg require ring roce rocm "
    "rocm-ib rocr sharp shm simple socket sockets spcx sym sys tcp tcpx topology trace tree "
    "true tuning uct ucx ucx_net_devices uid v1 v2 verbs version warn yes ";

bool ni_keeps_word(struct ni_span s)
{
    const char *list = words;
    struct ni_span word;

    while (ni_split(&list, ' ', &word))
        if (word.n > 0 && word.n == s.n && strncasecmp(word.p, s.p, s.n) == 0)
            return true;
    return false;
}

bool ni_is_number(struct ni_span s)
{
    const size_t sign = s.n > 0 && (*s.p == '-' || *s.p == '+');
    const bool hex = s.n > sign + 2 && s.p[sign] == '0' && (s.p[sign + 1] | 0x20) == 'x';
    size_t i = hex ? sign + 2 : sign;
    const size_t most = i + (hex ? 16 : 20);

    while (i < s.n && (hex ? ni_hex_digit(s.p[i]) >= 0 : ni_is_digit(s.p[i])))
        i++;
    if (i == sign || i > most)
        return false;
    return i == s.n || (!hex && i + 1 == s.n && strchr("kKmMgG", s.p[i]));
}

bool ni_is_address(struct ni_span s)
{
    const char *slash = memchr(s.p, '/', s.n);
    const struct ni_span ip = {s.p, slash ? (size_t)(slash - s.p) : s.n};
    uint8_t bytes[NI_GID_BYTES];
    char text[NI_IP_TEXT];

    if (slash && !ni_is_number((struct ni_span){slash + 1, s.n - ip.n - 1}))
        return false;
    return ni_parse_ipv4(ip, bytes) == 0 || (ni_copyn(text, sizeof(text), ip.p, ip.n) && ip.n > 0 &&
                                             inet_pton(AF_INET6, text, bytes) == 1);
}

bool ni_is_bdf(struct ni_span s)
{
    struct ni_bdf bdf;

    return ni_parse_bdf(s, &bdf) == 0;
}

bool ni_is_gpu_uuid(struct ni_span s)
{
    const size_t uuid = 4 + 36;

    if (s.n != uuid || (memcmp(s.p, "GPU-", 4) != 0 && memcmp(s.p, "MIG-", 4) != 0))
        return false;
    for (size_t i = 4; i < s.n; i++)
        if (ni_hex_digit(s.p[i]) < 0 && s.p[i] != '-')
            return false;
    return true;
}

void ni_keep_unknown(struct ni_mask *m, struct ni_span s, struct ni_text *ret)
{
    ni_put(ret, "?");
    ni_mask_name(m, s, ret);
}

void ni_keep_device(struct ni_mask *m, struct ni_span name, struct ni_text *ret)
{
    const char *shown = ni_mask_shown(m, name);

    if (!ni_is_name(name, NI_DEV_NAME))
        ni_keep_unknown(m, name, ret);
    else if (shown)
        ni_mask_device(m, shown, name.n, ret);
    else if (ni_keeps_word(name))
        ni_putn(ret, name.p, name.n);
    else
        ni_mask_name(m, name, ret);
}

void ni_keep_items(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span s,
                   const char *separators, ni_keep_item_fn *put_item, struct ni_text *ret)
{
    while (s.n > 0) {
        size_t n = 0;

        while (n < s.n && !(s.p[n] && strchr(separators, s.p[n])))
            n++;
        if (n > 0)
            put_item(k, m, (struct ni_span){s.p, n}, ret);
        if (n < s.n)
            ni_putn(ret, s.p + n, 1);
        n += n < s.n;
        s = (struct ni_span){s.p + n, s.n - n};
    }
}

/* Puts an id. An auxiliary device that the record does not show gets another name. */
static void put_id(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span s,
                   struct ni_text *ret)
{
    (void)k;
    if (ni_is_bdf(s) || (ni_is_aux_id(s) && ni_mask_shown(m, s))) {
        ni_putn(ret, s.p, s.n);
    } else if (ni_is_aux_id(s)) {
        ni_mask_name(m, s, ret);
        ni_put(ret, ".sf.0");
    } else {
        ni_keep_unknown(m, s, ret);
    }
}

void ni_keep_ids(const struct ni_keep_facts *k, struct ni_mask *m, struct ni_span s,
                 struct ni_text *ret)
{
    (void)k;
    ni_keep_items(k, m, s, ",; \t", put_id, ret);
}
