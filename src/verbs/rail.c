/* SPDX-License-Identifier: Apache-2.0 */
/* One rail of this pod and the same rail of two others: it writes to, and reads from, one of them,
   and lets the other do so. In the rail's own process, which is killed where it hangs. */
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "nccl_init/verbs.h"
#include "queue.h"

enum {
    PAGE = 4096,
    WINDOW = 1 << 20,
    CHUNK_MIN = 8192, /* larger than any path MTU, so that a large packet is seen on each pair */
    CHUNK_FIRST = 65536,
    DEPTH_MIN = 4,
    FLIGHT_NS = 3000000,
    SMALL_AT = PAGE / 2, /* where small writes go */
    WARM_MS = 30,
    DISCARD_PORT = 9,
    /* While bulk moves: what is in flight lasts longer, and a pod may have fewer processors than
       rails, or a quota of them. */
    NAP_NS = 20000
};
#define SECOND INT64_C(1000000000)

/* What the other end reads first: who wrote it here. */
struct identity {
    uint64_t magic, session;
    uint32_t rank, number, partner, zero;
    uint8_t gid[NI_GID_BYTES];
};

/* What the peer may write and read: the identity, small writes, then the window. */
struct target {
    union {
        struct identity identity;
        uint8_t page[PAGE];
    };
    uint8_t window[WINDOW];
};

struct memory {
    struct target target;
    uint8_t out[WINDOW], back[WINDOW];
};

struct rail {
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_mr *target, *own; /* the peer's rights are on the first alone */
    struct ibv_device_attr device;
    struct ibv_port_attr port;
    union ibv_gid gid;
    struct memory *memory;
    struct ibv_cq *cq;
    struct ibv_qp *qp[NI_ROLES];
};

/* ---- the device ---- */

static int mtu_bytes(enum ibv_mtu mtu)
{
    return 128 << mtu;
}

static int ask_port(struct rail *r, const struct ni_rail *rail)
{
    int err = ibv_query_port(r->context, (uint8_t)rail->port, &r->port);

    if (err != 0)
        return err;
    return r->port.state == IBV_PORT_ACTIVE ? 0 : ENETDOWN;
}

static int register_memory(struct rail *r)
{
    r->memory =
        mmap(NULL, sizeof(*r->memory), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (r->memory == MAP_FAILED)
        return errno;
    errno = 0;
    r->target =
        ibv_reg_mr(r->pd, &r->memory->target, sizeof(r->memory->target),
                   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ);
    if (r->target)
        r->own = ibv_reg_mr(r->pd, r->memory->out, 2 * WINDOW, IBV_ACCESS_LOCAL_WRITE);
    return r->own ? 0 : errno != 0 ? errno : EIO;
}

static int open_rail(struct ni_rail_task *task, struct rail *r)
{
    struct ni_rail *rail = &task->rail;
    struct ibv_device *device;
    __be16 pkey = 0;
    int err = ni_find_device(rail->hca, &device);

    if (err == ENODEV)
        (void)ni_format(rail->untried, sizeof(rail->untried),
                        "nccl-init has no provider for this device");
    else if (err == 0 && device->transport_type == IBV_TRANSPORT_IWARP)
        (void)ni_format(rail->untried, sizeof(rail->untried),
                        "iWARP connects by the connection manager, which is not used here");
    if (err == 0 && rail->untried[0] != '\0')
        err = EOPNOTSUPP;
    if (err == 0)
        err = ni_open_device(device, &r->context);
    if (err == 0)
        err = ibv_query_device(r->context, &r->device);
    if (err != 0)
        return err;
    err = ask_port(r, rail);
    if (err == 0 || err == ENETDOWN) {
        rail->asked = true;
        rail->path_mtu = (unsigned)mtu_bytes(r->port.active_mtu);
        rail->lid = r->port.lid;
        (void)ibv_query_pkey(r->context, (uint8_t)rail->port, task->pkey_index, &pkey);
        rail->pkey = ntohs(pkey);
        (void)ni_copyn(rail->firmware, sizeof(rail->firmware), r->device.fw_ver,
                       strnlen(r->device.fw_ver, sizeof(rail->firmware) - 1));
    }
    if (err != 0)
        return err;
    errno = 0;
    r->pd = ibv_alloc_pd(r->context);
    return r->pd ? register_memory(r) : errno != 0 ? errno : EIO;
}

static void close_rail(struct rail *r)
{
    if (r->context)
        (void)ibv_close_device(r->context); /* the kernel takes back what hangs on it */
    if (r->memory && r->memory != MAP_FAILED)
        (void)munmap(r->memory, sizeof(*r->memory));
    free(r);
}

/* ---- queue pairs ---- */

static void drop_queues(struct rail *r)
{
    for (int i = 0; i < NI_ROLES; i++) {
        if (r->qp[i])
            (void)ibv_destroy_qp(r->qp[i]);
        r->qp[i] = NULL;
    }
    if (r->cq)
        (void)ibv_destroy_cq(r->cq);
    r->cq = NULL;
}

/* An index of the table that a queue pair carries, with an entry. */
static int ask_gid(struct rail *r, const struct ni_rail *rail)
{
    struct ibv_gid_entry entry = {.gid_index = 0};
    const bool roce = rail->link != NI_LINK_IB;
    int err;

    if (rail->index > UINT8_MAX || (roce && rail->index < 0))
        return ERANGE;
    err = ibv_query_gid_ex(r->context, rail->port, rail->index < 0 ? 0 : (uint32_t)rail->index,
                           &entry, 0);
    r->gid = entry.gid;
    return err != 0 ? err : roce && ni_ip_is_zero(entry.gid.raw) ? ENODATA : 0;
}

static uint32_t random_psn(void)
{
    uint32_t psn = 0;

    if (getrandom(&psn, sizeof(psn), GRND_NONBLOCK) != sizeof(psn))
        psn = (uint32_t)ni_now_ns();
    return psn & 0xffffff;
}

static void describe_end(const struct ni_rail_task *task, const struct rail *r, enum ni_role role,
                         struct ni_rail_end *ret)
{
    const uint8_t answers = ni_most_reads(r->device.max_qp_rd_atom);
    const uint8_t starts = ni_most_reads(r->device.max_qp_init_rd_atom);

    *ret = (struct ni_rail_end){
        .qpn = r->qp[role]->qp_num,
        .psn = random_psn(),
        .rkey = r->target->rkey,
        .address = (uintptr_t)&r->memory->target,
        .length = sizeof(r->memory->target),
        .lid = r->port.lid,
        .path_mtu = (uint16_t)mtu_bytes(r->port.active_mtu),
        .most_reads = answers < starts ? answers : starts,
        .global = task->rail.link != NI_LINK_IB || (r->port.flags & IBV_QPF_GRH_REQUIRED) != 0,
    };
    memcpy(ret->gid, r->gid.raw, NI_GID_BYTES);
}

/* What stands in this pod's memory when its rail `number` was asked by `partner`. */
static struct identity identity_of(uint64_t session, uint32_t rank, uint32_t number,
                                   uint32_t partner, const uint8_t gid[NI_GID_BYTES])
{
    struct identity it = {.magic = UINT64_C(0x6e63636c2d696e69), /* "nccl-ini" */
                          .session = session,
                          .rank = rank,
                          .number = number,
                          .partner = partner};

    memcpy(it.gid, gid, NI_GID_BYTES);
    return it;
}

static int make_queues(struct ni_rail_task *task, struct rail *r, enum ni_role role)
{
    int err;

    errno = 0;
    if (!r->cq)
        r->cq = ibv_create_cq(r->context, 2 * NI_QUEUE_DEPTH, NULL, NULL, 0);
    if (!r->cq)
        return errno != 0 ? errno : EIO;
    err = ni_make_queue(r->pd, r->cq, &r->qp[role]);
    if (err != 0)
        return err;
    describe_end(task, r, role, &task->own[role]);
    if (role == NI_ROLE_TO) {
        /* nothing of an earlier round may pass for what this one writes */
        memset(&r->memory->target, 0, sizeof(r->memory->target));
        r->memory->target.identity =
            identity_of(task->session, task->rank, task->number, task->partner[role], r->gid.raw);
    }
    return 0;
}

/* ---- connecting ---- */

/* The kernel waits a second for a neighbour that it does not know, also if the answer comes at once
   (Linux 6.1 drivers/infiniband/core/addr.c, seen in the lab). A datagram to the discard port makes
   it known before. From the rail's own interface: a pod has many. */
static void warm(const struct ni_rail *rail, const uint8_t gid[NI_GID_BYTES])
{
    const bool v4 = ni_ip_is_v4(gid);
    struct sockaddr_in to4 = {.sin_family = AF_INET, .sin_port = htons(DISCARD_PORT)};
    struct sockaddr_in6 to6 = {.sin6_family = AF_INET6, .sin6_port = htons(DISCARD_PORT)};
    const void *to = v4 ? (const void *)&to4 : &to6;
    int fd = socket(v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0)
        return;
    memcpy(&to4.sin_addr, gid + NI_GID_BYTES - sizeof(to4.sin_addr), sizeof(to4.sin_addr));
    memcpy(&to6.sin6_addr, gid, sizeof(to6.sin6_addr));
    /* without CAP_NET_RAW since Linux 5.7 */
    if (setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, rail->netdev,
                   (socklen_t)strlen(rail->netdev)) == 0)
        (void)sendto(fd, "", 1, MSG_DONTWAIT, to, v4 ? sizeof(to4) : sizeof(to6));
    (void)close(fd);
}

static enum ibv_mtu smaller_mtu(enum ibv_mtu own, uint16_t peer)
{
    while (own > IBV_MTU_256 && mtu_bytes(own) > peer)
        own--;
    return own;
}

static int connect_role(const struct ni_rail_task *task, struct rail *r, enum ni_role role)
{
    const struct ni_rail_end *own = &task->own[role], *peer = &task->peer[role];
    const uint8_t reads =
        ni_most_reads(peer->most_reads < own->most_reads ? peer->most_reads : own->most_reads);
    struct ni_far_end to = {
        .port = (uint8_t)task->rail.port,
        .pkey_index = (uint16_t)task->pkey_index,
        .mtu = smaller_mtu(r->port.active_mtu, peer->path_mtu),
        .gid_index = (uint8_t)(task->rail.index < 0 ? 0 : task->rail.index),
        .lid = peer->lid,
        .service_level = (uint8_t)task->service_level,
        .traffic_class = (uint8_t)task->traffic_class,
        .qpn = peer->qpn,
        .psn = peer->psn,
        .own_psn = own->psn,
        .answers = reads,
        .starts = reads,
    };
    enum ibv_qp_state state;

    /* By GID on InfiniBand only where a router stands between (other subnet prefixes), or one of
       the ports wants it. */
    to.global = own->global || peer->global || memcmp(own->gid, peer->gid, NI_GID_BYTES / 2) != 0;
    memcpy(to.gid.raw, peer->gid, NI_GID_BYTES);
    return ni_connect_queue(r->qp[role], &to, &state);
}

/* ---- data ---- */

static uint64_t pattern_key(const struct ni_rail_task *task)
{
    const uint64_t words[] = {task->rank, task->partner[NI_ROLE_FROM], task->number};
    uint64_t key = task->session;

    for (size_t i = 0; i < NI_COUNT(words); i++) {
        key = (key ^ words[i]) * UINT64_C(0xff51afd7ed558ccd); /* of MurmurHash3's fmix64 */
        key ^= key >> 33;
    }
    return key;
}

static int64_t mbps(int64_t bytes, int64_t ns)
{
    return ns > 0 ? bytes * 8 * 1000 / ns : 0;
}

/* So that what is in flight takes FLIGHT_NS, however slow the rail is: it ends in time, and is
   acknowledged before it would be sent again. */
static void set_flight(struct ni_mover *m, int64_t first_ns)
{
    const int64_t flying = (int64_t)CHUNK_FIRST * FLIGHT_NS / (first_ns > 0 ? first_ns : 1);
    const int64_t chunk = flying / DEPTH_MIN / CHUNK_MIN * CHUNK_MIN;
    int64_t depth;

    m->chunk = chunk < CHUNK_MIN        ? CHUNK_MIN
               : chunk > NI_QUEUE_CHUNK ? NI_QUEUE_CHUNK
                                        : (size_t)chunk;
    depth = flying / (int64_t)m->chunk;
    m->depth = depth < DEPTH_MIN        ? DEPTH_MIN
               : depth > NI_QUEUE_DEPTH ? NI_QUEUE_DEPTH
                                        : (unsigned)depth;
}

/* There and back, and compared. */
static bool move_bulk(struct ni_rail_task *task, struct ni_mover *m)
{
    struct ni_pair_result *result = &task->result[NI_ROLE_FROM];
    const bool timed = task->bytes <= 0;
    const int64_t limit = timed ? (int64_t)task->move_ms * 1000000 : 3 * SECOND;
    const int64_t bytes = !timed ? task->bytes : task->move_ms > 0 ? INT64_MAX : CHUNK_FIRST;
    int64_t wrote, read, ns, first;

    ni_fill_pattern(m->out, WINDOW, pattern_key(task));
    memset(m->back, 0, WINDOW);
    m->remote = task->peer[NI_ROLE_FROM].address + PAGE;
    m->window = WINDOW;
    m->nap_ns = NAP_NS;
    m->chunk = CHUNK_FIRST;
    m->depth = 1;
    result->step = NI_PAIR_WRITE;
    if (!ni_stream(m, IBV_WR_RDMA_WRITE, CHUNK_FIRST, limit, &wrote, &first))
        return false;
    set_flight(m, first);
    if (!ni_stream(m, IBV_WR_RDMA_WRITE, bytes, limit, &wrote, &ns))
        return false;
    if (bytes > CHUNK_FIRST)
        result->write_mbps = mbps(wrote, ns);
    result->step = NI_PAIR_READ;
    if (!ni_stream(m, IBV_WR_RDMA_READ, bytes, limit, &read, &ns))
        return false;
    if (bytes > CHUNK_FIRST)
        result->read_mbps = mbps(read, ns);
    result->step = NI_PAIR_COMPARE;
    read = read < wrote ? read : wrote;
    return memcmp(m->out, m->back, read < WINDOW ? (size_t)read : WINDOW) == 0;
}

static bool move_all(struct ni_rail_task *task, struct rail *r, struct ni_mover *m)
{
    struct ni_pair_result *result = &task->result[NI_ROLE_FROM];
    const struct ni_rail_end *peer = &task->peer[NI_ROLE_FROM];
    const struct identity expected = identity_of(task->session, task->partner[NI_ROLE_FROM],
                                                 task->number, task->rank, peer->gid);

    result->step = NI_PAIR_SMALL;
    m->remote = peer->address + SMALL_AT;
    if (!ni_time_small(m, SECOND, &result->latency_ns, &result->slowest_ns))
        return false;
    result->step = NI_PAIR_IDENTITY;
    m->remote = peer->address;
    if (!ni_move_once(m, IBV_WR_RDMA_READ, sizeof(expected)))
        return false;
    if (memcmp(&expected, r->memory->back, sizeof(expected)) != 0)
        return false;
    return move_bulk(task, m);
}

static void move(struct ni_rail_task *task, struct rail *r)
{
    struct ni_pair_result *result = &task->result[NI_ROLE_FROM];
    struct ni_mover m = {
        .qp = r->qp[NI_ROLE_FROM],
        .cq = r->cq,
        .out = r->memory->out,
        .back = r->memory->back,
        .lkey = r->own->lkey,
        .rkey = task->peer[NI_ROLE_FROM].rkey,
        .patience_ns = 2 * SECOND, /* where the own side drops, there is no completion at all */
    };

    if (task->peer[NI_ROLE_FROM].length < sizeof(struct target))
        result->err = EMSGSIZE; /* another version's */
    else if (move_all(task, r, &m))
        result->step = NI_PAIR_DONE;
    else
        result->err = m.err;
    result->wc = m.wc_status;
}

/* ---- what is asked ---- */

static void end_step(struct ni_pair_result *result, int err, enum ni_pair_step next)
{
    if (err == 0)
        result->step = next;
    else
        result->err = err;
}

static void make_all_queues(struct ni_rail_task *task, struct rail *r)
{
    int err;

    drop_queues(r);
    err = ask_port(r, &task->rail);
    if (err == 0)
        err = ask_gid(r, &task->rail);
    for (enum ni_role i = 0; i < NI_ROLES; i++)
        if (task->has[i])
            end_step(&task->result[i], err != 0 ? err : make_queues(task, r, i), NI_PAIR_CONNECT);
}

static void connect_all(struct ni_rail_task *task, struct rail *r)
{
    const struct timespec answered = {.tv_nsec = WARM_MS * 1000000};
    bool ready[NI_ROLES], any = false;

    for (enum ni_role i = 0; i < NI_ROLES; i++) {
        ready[i] = task->has[i] && task->result[i].step == NI_PAIR_CONNECT && r->qp[i];
        if (!ready[i] || task->rail.link == NI_LINK_IB)
            continue;
        warm(&task->rail, task->peer[i].gid);
        any = true;
    }
    if (any)
        (void)nanosleep(&answered, NULL);
    for (enum ni_role i = 0; i < NI_ROLES; i++)
        if (ready[i])
            end_step(&task->result[i], connect_role(task, r, i), NI_PAIR_SMALL);
}

/* The device is opened by what comes first, and again by the next round where that failed. */
static struct rail *opened(struct ni_rail_task *task, void **state)
{
    struct rail *r = *state;
    int err = 0;

    if (!r) {
        r = calloc(1, sizeof(*r));
        err = r ? open_rail(task, r) : ENOMEM;
    }
    for (int i = 0; i < NI_ROLES; i++)
        if (task->result[i].step == NI_PAIR_START)
            end_step(&task->result[i], err, NI_PAIR_QUEUES);
    if (err != 0 && r) {
        close_rail(r);
        r = NULL;
    }
    *state = r;
    return r;
}

void ni_work_rail(struct ni_rail_task *task, enum ni_rail_work work, void **state)
{
    struct rail *r = *state;

    if (work == NI_WORK_OPEN || work == NI_WORK_QUEUES)
        r = opened(task, state);
    if (!r)
        return;
    if (work == NI_WORK_QUEUES)
        make_all_queues(task, r);
    else if (work == NI_WORK_CONNECT)
        connect_all(task, r);
    else if (work == NI_WORK_MOVE && task->has[NI_ROLE_FROM] && r->qp[NI_ROLE_FROM] &&
             task->result[NI_ROLE_FROM].step == NI_PAIR_SMALL)
        move(task, r);
    else if (work == NI_WORK_STOP)
        drop_queues(r);
}
