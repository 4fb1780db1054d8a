/* SPDX-License-Identifier: Apache-2.0 */
/* user.values: what the user set is never changed, only held against reality. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "rule.h"

/* A value that NCCL would take as set: check_names tells of empty ones. */
static const char *value_of(const struct ni_work *w, const char *name)
{
    const char *v = ni_user_value(w, name);
    return v && *v ? v : NULL;
}

/* ---- misspelt names ---- */

enum { MAX_NAME = 64 };

/* The names that NCCL reads from its environment, less "NCCL_": 2.30.7 (its NCCL_PARAM and
   ncclGetEnv calls), 2.31.2 (its library's strings, as others list them), 2.32.3 (user guide, release
   notes). Versions differ, so a name that is not here is only spoken of when it is one or two letters
   off. */
static const char known[] =
    "ALGO ALLGATHERV_ENABLE ALLOC_P2P_NET_LL_BUFFERS BUFFSIZE CE_COLL_AG_MULTICAST_THRESHOLD "
    "CFT_ENABLE CGA_CLUSTER_SIZE CHECKS_DISABLE CHECK_MODE CHECK_POINTERS CHUNK_SIZE "
    "COLLNET_ENABLE COLLNET_NODE_THRESHOLD COMM_BLOCKING COMM_ID COMM_SHRINK_SHARE_RESOURCES "
    "COMM_SPLIT_SHARE_RESOURCES CONF_FILE CONNECT_ROUND_MAX_PEERS CROSS_NIC CTA_POLICY "
    "CUMEM_ENABLE CUMEM_HOST_ENABLE DEBUG DEBUG_FILE DEBUG_LEVELS DEBUG_SUBSYS "
    "DEBUG_TIMESTAMP_FORMAT DEBUG_TIMESTAMP_LEVELS DEV_API_JIT DIAGNOSTICS_ECC_THRESHOLD "
    "DISABLE_MEM_MANAGER DMABUF_ENABLE ELASTIC_BUFFER_REGISTER ENABLE_VERSION_CHECK "
    "ENQUEUE_REARCH_ENABLE ENV_PLUGIN GDAKI_USE_RELIABLE_DB GDRCOPY_ENABLE GDRCOPY_FIFO_ENABLE "
    "GDRCOPY_FLUSH_ENABLE GDRCOPY_SYNC_ENABLE GDRCOPY_USE_INTERNAL_DMABUF GDR_FLUSH_DISABLE "
    "GIN_CONNECTION_RAIL GIN_ENABLE GIN_ERROR_QUERY_SEC GIN_GDAKI_MAX_DEST_RD_ATOMIC "
    "GIN_GDAKI_MAX_QP_RD_ATOMIC GIN_GDAKI_NIC_HANDLER GIN_GDAKI_QP_DEPTH GIN_IB_OOO_OPT GIN_IB_TC "
    "GIN_NCONNECTIONS GIN_PLUGIN GIN_PLUGIN_REF_COUNT GIN_PROXY_NTHREADS GIN_PROXY_POLL_BATCH "
    "GIN_PROXY_QUEUE_SIZE GIN_TYPE GRAPH_DUMP_FILE GRAPH_DUMP_FILE_RANK GRAPH_FILE "
    "GRAPH_HELPER_DISABLE GRAPH_MIXING_SUPPORT GRAPH_REGISTER GRAPH_STREAM_ORDERING "
    "GROUP_CUDA_STREAM HIER_CE_COLL_AG_RAIL_RING_ENABLE HIER_CE_COLL_NUM_CTX HOSTID IBVERBS_LIB "
    "IB_ADAPTIVE_ROUTING IB_ADDR_FAMILY IB_ADDR_RANGE IB_AR_THRESHOLD IB_CUDA_SUPPORT "
    "IB_DATA_DIRECT IB_DEVICE_PCI_ORDER IB_DISABLE IB_ECE_ENABLE IB_EVENT_BASED_LB "
    "IB_EVENT_BASED_LB_REMOTE IB_FIFO_TC IB_GID_INDEX IB_HCA IB_MERGE_NICS IB_MERGE_VFS "
    "IB_MQP_RETRY_ALL IB_MQP_RETRY_CNT IB_MQP_RETRY_SLEEP_MSEC IB_OOO_RQ IB_PCI_RELAXED_ORDERING "
    "IB_PKEY IB_PKEY_VALUE IB_PREPOST_RECEIVE_WORK_REQUESTS IB_QPS_PER_CONNECTION "
    "IB_QUERY_PORT_SPEED IB_RAIL_POLICY IB_RECEIVER_SIDE_MATCHING_SCHEME "
    "IB_RESILIENCY_PORT_FAILOVER IB_RESILIENCY_PORT_FAILOVER_MAX_ATTEMPTS "
    "IB_RESILIENCY_PORT_FAILOVER_PROBE_DELAY IB_RESILIENCY_PORT_RECOVERY "
    "IB_RESILIENCY_PORT_RECOVERY_ACK_TIMEOUT IB_RESILIENCY_PORT_RECOVERY_ALIVE_MSG_BATCH_INTERVAL "
    "IB_RESILIENCY_PORT_RECOVERY_ALIVE_MSG_BATCH_SIZE "
    "IB_RESILIENCY_PORT_RECOVERY_ALIVE_MSG_SEQUENCE_SIZE "
    "IB_RESILIENCY_PORT_RECOVERY_ALIVE_MSG_TIMEOUT IB_RESILIENCY_PORT_RECOVERY_ATTEMPTS_MAX "
    "IB_RESILIENCY_PORT_RECOVERY_START_DELAY IB_RETRY_CNT IB_RETURN_ASYNC_EVENTS "
    "IB_ROCE_VERSION_NUM IB_ROUTABLE_FLID_GID_INDEX IB_SL IB_SPLIT_DATA_ON_QPS "
    "IB_SUBNET_AWARE_ROUTING IB_SUBNET_PREFIX_LEN IB_TC IB_TIMEOUT IB_USE_INLINE "
    "IB_WARN_RAIL_LOCAL IB_WQE_LATENCY_REPORT IB_WQE_LATENCY_THRESHOLD_NS IGNORE_COLLNET_MISMATCH "
    "IGNORE_CPU_AFFINITY IGNORE_DISABLED_P2P IGNORE_NET_MISMATCH IPC_USE_ABSTRACT_SOCKET "
    "L1_SHARED_MEMORY_CARVEOUT LAUNCH_MODE LAUNCH_ORDER_IMPLICIT LAUNCH_RACE_FATAL "
    "LEGACY_CUDA_REGISTER LL128_BUFFSIZE LL128_C2C LL128_NTHREADS LL_BUFFSIZE LL_THRESHOLD "
    "LOCAL_REGISTER LSA_TEAM_SIZE MAX_CTAS MAX_NCHANNELS MAX_NRINGS MAX_P2P_NCHANNELS "
    "MEM_SYNC_DOMAIN MIN_CTAS MIN_NCHANNELS MIN_NRINGS MIN_P2P_NCHANNELS MLOPART_RDMA_ENABLE "
    "MNNVL_CLIQUE_ID MNNVL_CROSS_CLIQUE MNNVL_ENABLE MNNVL_RAIL_PER_HOST MNNVL_SCATTER_NETS_ENABLE "
    "MNNVL_UUID MULTI_RANK_GPU_ENABLE MULTI_SEGMENT_REGISTER NCHANNELS_PER_NET_PEER NET "
    "NETDEVS_POLICY NET_DISABLE_INTRA NET_FORCE_FLUSH NET_FORCE_MERGE NET_GDR_C2C NET_GDR_LEVEL "
    "NET_GDR_MLOPART NET_GDR_READ NET_MERGE_LEVEL NET_MERGE_POLICY NET_OPTIONAL_RECV_COMPLETION "
    "NET_OVERHEAD NET_PLUGIN NET_PLUGIN_REF_COUNT NET_SHARED_BUFFERS NET_SHARED_COMMS NO_CACHE "
    "NSOCKS_PERTHREAD NTHREADS NUM_RMA_CTX NUM_RMA_INT_CTX NVB_DISABLE NVB_PRECONNECT "
    "NVLINK_UTIL_CENTRIC_SCHED_ENABLE NVLSTREE_MAX_CHUNKSIZE NVLS_CHUNKSIZE NVLS_ENABLE "
    "NVLS_NCHANNELS NVTX_DISABLE OOB_NET_ENABLE OOB_NET_IFNAME P2P_DIRECT_DISABLE P2P_DISABLE "
    "P2P_EPOCH_ENABLE P2P_LEVEL P2P_LL_THRESHOLD P2P_MAX_PEERS P2P_NET_CHUNKSIZE P2P_NVL_CHUNKSIZE "
    "P2P_PCI_CHUNKSIZE P2P_PER_CHANNEL_NET_BW P2P_PER_CHANNEL_REG_NET_BW P2P_PXN_LEVEL "
    "P2P_READ_ENABLE P2P_SCHEDULE_GROUP_SIZE P2P_USE_CUDA_MEMCPY PARAM_DUMP_ALL PAT_ENABLE "
    "PROFILER_PLUGIN PROGRESS_APPENDOP_FREQ PROTO PROXY_APPEND_BATCH_SIZE PROXY_CPUSET "
    "PROXY_DUMP_SIGNAL PXN_C2C PXN_DISABLE RAS_ADDR RAS_ENABLE RAS_TIMEOUT_FACTOR "
    "REPORT_CONNECT_PROGRESS RMA_DISABLE RMA_EAGER_INIT RMA_MULTI_CTX_THRESHOLD RMA_PLUGIN "
    "RMA_PLUGIN_REF_COUNT RMA_PROXY_DUMP_SIGNAL RMA_PROXY_QUEUE_SIZE RUNTIME_CONNECT "
    "RUN_DIAGNOSTICS RUN_RAS_DIAGNOSTICS SET_CPU_STACK_SIZE SET_STACK_SIZE SET_THREAD_NAME "
    "SHADOW_MEMPOOL_MAX_SIZE SHM_DISABLE SHM_LOCALITY SINGLE_PROC_MEM_REG_ENABLE "
    "SINGLE_RING_THRESHOLD SOCKET_FAMILY SOCKET_IFNAME SOCKET_INLINE SOCKET_MAGIC "
    "SOCKET_MIN_TASKSIZE SOCKET_NTHREADS SOCKET_POLL_TIMEOUT_MSEC SOCKET_RCVBUF SOCKET_RETRY_CNT "
    "SOCKET_RETRY_SLEEP_MSEC SOCKET_SNDBUF SYM_CE_THRESHOLD SYM_CTAS SYM_GIN_KERNELS_ENABLE "
    "SYM_KERNEL SYM_NOWIN_ENABLE SYM_REUSE_SYSMEM_HANDLES SYM_RS_GIN_CHUNK_SIZE SYM_TMA_ENABLE "
    "THREAD_THRESHOLDS TOPO_DUMP_FILE TOPO_DUMP_FILE_RANK TOPO_FILE TOPO_SCATTER_START_NET "
    "TOPO_SPLIT_MLOPART TREE_THRESHOLD TUNER_PLUGIN UID_STAGGER_RATE UID_STAGGER_THRESHOLD "
    "UNPACK_DOUBLE_NCHANNELS WARN_ENABLE_DEBUG_INFO WIN_ENABLE WIN_STRIDE WORK_ARGS_BYTES "
    "WORK_FIFO_BYTES";

/* Letters to insert, remove or replace (Levenshtein), row by row. */
static unsigned edits(struct ni_span a, struct ni_span b)
{
    unsigned row[MAX_NAME + 1];
    for (unsigned k = 0; k <= b.n; k++)
        row[k] = k;
    for (unsigned i = 1; i <= a.n; i++) {
        unsigned diagonal = row[0];
        row[0] = i;
        for (unsigned k = 1; k <= b.n; k++) {
            const unsigned above = row[k];
            const unsigned other = above < row[k - 1] ? above + 1 : row[k - 1] + 1;
            const unsigned same = diagonal + (a.p[i - 1] != b.p[k - 1]);
            row[k] = same < other ? same : other;
            diagonal = above;
        }
    }
    return row[b.n];
}

struct ni_span ni_near_name(struct ni_span name)
{
    static const char prefix[] = "NCCL_";
    const size_t head = sizeof(prefix) - 1;
    struct ni_span near = {NULL, 0}, word;
    if (name.n <= head + 3 || name.n - head > MAX_NAME || memcmp(name.p, prefix, head) != 0)
        return near;
    const struct ni_span rest = {name.p + head, name.n - head};
    unsigned best = rest.n >= 10 ? 3 : 2; /* fewer letters, fewer slips */
    for (const char *cursor = known; ni_split(&cursor, ' ', &word);) {
        const size_t gap = word.n > rest.n ? word.n - rest.n : rest.n - word.n;
        const unsigned d = gap < best ? edits(rest, word) : best;
        if (d == 0)
            return (struct ni_span){NULL, 0};
        if (d < best) {
            best = d;
            near = word;
        }
    }
    return near;
}

/* Names that NCCL does not read, and empty values. Of one name the first entry counts; told by name,
   whatever the order of the environment. */
static void check_names(const struct ni_work *w)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    const unsigned before = w->f->n;
    for (char *const *e = w->env->entry; *e; e++) {
        struct ni_span name;
        const char *value;
        char text[NI_DEV_NAME];
        if (!ni_has_prefix(*e, "NCCL_") || !ni_env_split(*e, &name, &value) ||
            !ni_copyn(text, sizeof(text), name.p, name.n) || ni_env_get(w->env, text) != value)
            continue;
        const struct ni_span near = ni_near_name(name);
        if (near.n)
            ni_report(w->f, NI_F_USER_NAME_MISSPELT, text,
                      "NCCL reads no such variable; did you mean NCCL_%.*s?", (int)near.n, near.p);
        else if (text[strspn(text, plain)])
            ni_report(w->f, NI_F_USER_NAME_MISSPELT, text,
                      "NCCL reads no such variable: the name has an odd character");
        else if (strcmp(text, "NCCL_IB_CUDA_SUPPORT") == 0 ||
                 strcmp(text, "NCCL_IB_GDR_LEVEL") == 0)
            ni_report(w->f, NI_F_USER_NAME_OBSOLETE, text, "without effect since NCCL 2.4");
        if (!*value && !ni_plan_get(w->plan, text)) /* else told where it was decided */
            ni_report(w->f, NI_F_USER_VALUE_EMPTY, text, "set but empty, and left so");
    }
    ni_findings_sort(w->f, before);
}

/* ---- values ---- */

static void check_gdr_level(const struct ni_work *w)
{
    static const char name[] = "NCCL_NET_GDR_LEVEL";
    const char *v = value_of(w, name);
    if (!v)
        return;
    const enum ni_distance level = ni_parse_level(v);
    if (level == NI_DIST_UNKNOWN)
        ni_report(w->f, NI_F_USER_VALUE_IGNORED, name,
                  "`%.40s` is no level: NCCL ignores it silently", v);
    else if (level < NI_DIST_PIX)
        ni_report(w->f, NI_F_USER_GDR_OFF, name,
                  "%.40s switches GPUDirect RDMA off: no GPU is that near to an HCA", v);
    else if (w->inv->gdr.c2c && level < NI_DIST_P2C)
        ni_report(w->f, NI_F_USER_GDR_C2C, name,
                  "%.40s switches GPUDirect over NVLink-C2C off (NCCL 2.29.2)", v);
}

/* Integers are read by strtoll: garbage is 0, which for a GID index is a value (misc/param.cc). */
static void check_numbers(const struct ni_work *w)
{
    static const char *const names[] = {
        "NCCL_IB_GID_INDEX", "NCCL_IB_DISABLE",    "NCCL_DMABUF_ENABLE", "NCCL_CROSS_NIC",
        "NCCL_IB_MERGE_VFS", "NCCL_IB_MERGE_NICS", "NCCL_IB_TIMEOUT",    "NCCL_IB_TC"};
    for (unsigned i = 0; i < NI_COUNT(names); i++) {
        const char *v = value_of(w, names[i]);
        char *end;
        if (!v)
            continue;
        const long long n = strtoll(v, &end, 0);
        if (end == v || *end)
            ni_report(w->f, NI_F_USER_VALUE_IGNORED, names[i],
                      "`%.40s` is no number: NCCL reads %lld", v, n);
    }
    const char *family = value_of(w, "NCCL_SOCKET_FAMILY");
    if (family && strcmp(family, "AF_INET") != 0 && strcmp(family, "AF_INET6") != 0)
        ni_report(w->f, NI_F_USER_VALUE_IGNORED, "NCCL_SOCKET_FAMILY",
                  "`%.40s` is neither AF_INET nor AF_INET6", family);
}

/* ---- NCCL_IB_HCA ---- */

static const char hca_list[] = "NCCL_IB_HCA";

/* Whether the list takes an HCA of the pod; port: one of its ports. */
static bool takes_given(const struct ni_inventory *inv, const char *list, bool port)
{
    for (unsigned i = 0; i < inv->n_hca; i++) {
        const struct ni_hca *h = &inv->hca[i];
        bool takes = ni_is_given(h) && !port && ni_nccl_match(list, h->name, -1);
        for (unsigned k = 0; ni_is_given(h) && port && k < h->n_port; k++)
            takes =
                takes || ni_nccl_match(list, h->name, (int)inv->port[h->first_port + (int)k].num);
        if (takes)
            return true;
    }
    return false;
}

/* A prefix that ends in a digit and takes a longer number: mlx5_1 and mlx5_10. NULL: none. */
static const char *longer_match(const struct ni_inventory *inv, const char *prefix)
{
    const size_t n = strlen(prefix);
    if (n == 0 || !ni_is_digit(prefix[n - 1]))
        return NULL;
    for (unsigned i = 0; i < inv->n_hca; i++) {
        const char *name = inv->hca[i].name;
        if (ni_is_given(&inv->hca[i]) && strncmp(name, prefix, n) == 0 && ni_is_digit(name[n]))
            return name;
    }
    return NULL;
}

/* One entry of the user's list, as a list of its own: `=name`, `name`, each with `:port`. */
static void check_hca_entry(const struct ni_work *w, struct ni_span e, bool exact)
{
    const struct ni_inventory *inv = w->inv;
    const enum ni_finding_id foreign = NI_F_USER_HCA_FOREIGN;
    char name[NI_DEV_NAME + 8], whole[NI_DEV_NAME + 16];
    const char *colon = memchr(e.p, ':', e.n);
    const size_t n = colon ? (size_t)(colon - e.p) : e.n;
    if (n == 0 || !ni_format(name, sizeof(name), "%s%.*s", exact ? "=" : "", (int)n, e.p) ||
        !ni_format(whole, sizeof(whole), "%s%.*s", exact ? "=" : "", (int)e.n, e.p))
        return;
    const char *longer = exact ? NULL : longer_match(inv, name);
    if (memchr(e.p, ' ', e.n) || memchr(e.p, '\t', e.n))
        ni_report(w->f, foreign, hca_list, "`%s` has a blank, which NCCL takes as part of the name",
                  name);
    else if (longer)
        ni_report(w->f, NI_F_USER_HCA_PREFIX, hca_list, "`%s` without '=' also takes %s", name,
                  longer);
    else if (!takes_given(inv, name, false))
        ni_report(w->f, foreign, hca_list, "`%s` names no HCA of this pod", name);
    else if (!takes_given(inv, whole, true))
        ni_report(w->f, foreign, hca_list, "`%s` names no port of this pod", whole);
    else if (n + 1 == e.n || (colon && colon[1] == ':'))
        ni_report(w->f, foreign, hca_list,
                  "`%s` has no port behind the colon: NCCL before 2.30.7 reads port 0, which no "
                  "HCA has",
                  whole);
}

static void check_hca_list(const struct ni_work *w)
{
    const char *list = value_of(w, hca_list);
    if (!list || *list == '^' || w->plan->transport != NI_NET_RDMA)
        return;
    const bool exact = *list == '=', any_chosen = w->plan->n_chosen > 0;
    unsigned n = 0;
    struct ni_span e;
    for (list += exact; ni_split(&list, ',', &e); n += e.n > 0) {
        if (any_chosen) /* else hca.ports has told of the list as a whole */
            check_hca_entry(w, e, exact);
    }
    if (!exact && any_chosen)
        w->plan->wants |= NI_WANT_USERS_FOREIGN_HCA;
    if (!exact && any_chosen && w->inv->users_foreign_hca[0])
        ni_report(w->f, NI_F_USER_HCA_PREFIX, hca_list,
                  "without '=' the list also takes %s, which is not this pod's",
                  w->inv->users_foreign_hca);
    if (n > NI_MAX_CHOSEN)
        ni_report(w->f, NI_F_USER_HCA_FOREIGN, hca_list,
                  "%u names; NCCL drops those beyond %d silently", n, NI_MAX_CHOSEN);
}

void ni_rule_user(const struct ni_work *w)
{
    const struct ni_inventory *inv = w->inv;
    const char *topo = value_of(w, "NCCL_TOPO_FILE"), *plugin = value_of(w, "NCCL_ENV_PLUGIN");
    struct ni_text foreign = NI_TEXT(160);
    check_names(w);
    check_gdr_level(w);
    check_numbers(w);
    check_hca_list(w);
    if (ni_put_foreign(w, &foreign))
        ni_report(w->f, NI_F_USER_HCA_LEFT_OUT, hca_list,
                  "it takes HCAs that were not given to this pod, but open in it, and NCCL uses "
                  "them: %s",
                  foreign.buf);
    for (int i = 0; i < (int)inv->n_port; i++) {
        if (ni_takes_left_out(w, i))
            ni_report(w->f, NI_F_USER_HCA_LEFT_OUT, ni_port_name(inv, i).text,
                      "left out (%s), but your NCCL_IB_HCA takes it: NCCL uses it if it can",
                      w->plan->port[i].why);
    }
    ni_check_user_sockets(w);
    if (topo && inv->topo_file != NI_KNOWN && inv->topo_file != NI_UNSET)
        ni_report(w->f, NI_F_USER_TOPO_UNREADABLE, "NCCL_TOPO_FILE",
                  "`%.120s` is %s: NCCL goes on without it", topo, ni_known_text(inv->topo_file));
    /* NCCL 2.28.7 and later ask the plugin alone: NULL is unset, whatever the environment has
       (misc/param.cc ncclGetEnv, 2.30.7). */
    if (plugin && strcasecmp(plugin, "none") != 0)
        ni_report(w->f, NI_F_USER_ENV_PLUGIN, "NCCL_ENV_PLUGIN",
                  "NCCL asks `%.100s` for each variable: a setting made here counts only if that "
                  "library passes it on",
                  plugin);
}
