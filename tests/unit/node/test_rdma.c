/* SPDX-License-Identifier: Apache-2.0 */
/* RDMA devices and their ports, and where they sit on the PCI tree. */
#include "findings/device.h"
#include "lib/node_tree.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/inventory.h"
#include "nccl_init/known.h"
#include "nccl_init/pci.h"
#include "nccl_init/rdma.h"
#include "nccl_init/text.h"

static void begin(const char *env)
{
    pod_reset(NULL);
    fib("");
    set_env(env);
}

/* "0000:00:01.0 0000:03:00.2" */
static const char *chain(const struct ni_pci *pci)
{
    static char buf[1024];
    struct ni_text t = ni_text_on(buf, sizeof(buf));
    for (unsigned i = 0; i < pci->depth; i++) {
        char bdf[NI_BDF_TEXT];
        ni_putf(&t, "%s%s", i ? " " : "", ni_bdf_text(pci->at[i], bdf));
    }
    return buf;
}

/* Whether something unreadable has that in its path. */
static bool said_of(const char *part)
{
    for (unsigned i = 0; i < pod.f.n; i++) {
        if (pod.f.at[i].id == NI_F_FACT_UNREADABLE && strstr(pod.f.at[i].subject, part))
            return true;
    }
    return false;
}

static void test_port(void **state)
{
    (void)state;
    begin("PCIDEVICE_A=0000:03:00.2");
    rdma("0000:03:00.2", "rocep3s0f2");
    active("InfiniBand", "400 Gb/sec (4X NDR)");
    line("d sys/devices/pci0000:00/0000:00:01.0/0000:03:00.2/infiniband/rocep3s0f2/ports/2");
    line("f ./state 1: DOWN");
    line("f ./link_layer Ethernet");
    line("f ./rate 10 Gb/sec (4X SDR)");
    line("d sys/devices/pci0000:00/0000:00:01.0/0000:03:00.2/infiniband/rocep3s0f2/ports/junk");
    line("d sys/devices/pci0000:00/0000:00:01.0/0000:03:00.2/infiniband/rocep3s0f2/ports/0");
    line("d sys/devices/pci0000:00/0000:00:01.0/0000:03:00.2/infiniband/rocep3s0f2/ports/4");
    line("f ./state 4: ACTIVE"); /* behind a gap, which the kernel does not make */
    pod.needs = NI_NEED_RATES;
    gather();
    assert_int_equal(pod.inv.n_hca, 1);
    assert_int_equal(pod.inv.n_port, 2);
    assert_string_equal(pod.inv.hca[0].name, "rocep3s0f2");
    assert_int_equal(pod.inv.hca[0].n_port, 2);
    assert_int_equal(pod.inv.port[0].num, 1);
    assert_int_equal(pod.inv.port[0].state.v, NI_PORT_ACTIVE);
    assert_int_equal(pod.inv.port[0].link, NI_LINK_IB);
    assert_int_equal(pod.inv.port[1].num, 2);
    assert_int_equal(pod.inv.port[1].state.v, NI_PORT_DOWN);
    assert_int_equal(pod.inv.port[1].mbps.v, 10000);
    assert_int_equal(pod.inv.allocation[0].hca, 0);
    assert_int_equal(pod.f.n, 0);
}

static void test_rate(void **state)
{
    static const struct {
        const char *line;
        enum ni_known known;
        int64_t mbps;
    } cases[] = {
        {"f ./rate 400 Gb/sec (4X NDR)", NI_KNOWN, 400000},
        {"f ./rate 2.5 Gb/sec (1X SDR)", NI_KNOWN, 2500},
        {"f ./rate 0 Gb/sec", NI_KNOWN, 0},
        {"f ./rate 1600 Gb/sec (8X XDR)", NI_KNOWN, 1600000},
        {"f ./rate 400", NI_BAD, 0},
        {"f ./rate garbage", NI_BAD, 0},
        {"f ./rate ", NI_BAD, 0},
        {"f ./rate -1 Gb/sec", NI_BAD, 0},
        {"f ./rate 2. Gb/sec", NI_BAD, 0},
        {"f ./rate 2.55 Gb/sec", NI_BAD, 0},
        {"f ./rate 99999999999999999999 Gb/sec", NI_BAD, 0},
        {"f ./rate 400 Mb/sec", NI_BAD, 0},
        {"e ./rate EINVAL", NI_DENIED, 0},
        {"# none", NI_ABSENT, 0},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        begin("PCIDEVICE_A=0000:03:00.2");
        pod.ask.all = true; /* else it is read only where it decides */
        rdma("0000:03:00.2", "mlx5_6");
        line("f ./state 4: ACTIVE");
        line("f ./link_layer Ethernet");
        line("%s", cases[i].line);
        gather();
        const struct ni_num *n = &pod.inv.port[0].mbps;
        if (n->known != cases[i].known || (n->known == NI_KNOWN && n->v != cases[i].mbps))
            fail_msg("`%s`: %d, %lld", cases[i].line, (int)n->known, (long long)n->v);
    }
}

static void test_state(void **state)
{
    static const struct {
        const char *line;
        enum ni_known known;
        int64_t v;
        bool finding;
    } cases[] = {
        {"f ./state 4: ACTIVE", NI_KNOWN, 4, false},
        {"f ./state 1: DOWN", NI_KNOWN, 1, false},
        {"f ./state 5: ACTIVE_DEFER", NI_KNOWN, 5, false},
        {"f ./state ACTIVE", NI_BAD, 0, true},
        {"f ./state 4", NI_BAD, 0, true},
        {"f ./state 44: ACTIVE", NI_BAD, 0, true},
        {"f ./state : ACTIVE", NI_BAD, 0, true},
        {"f ./state  4: ACTIVE", NI_BAD, 0, true},
        {"f ./state ", NI_BAD, 0, true},
        {"f ./state 4: \\0ACTIVE", NI_BAD, 0, true},
        {"e ./state EACCES", NI_DENIED, 0, true},
        {"e ./state EIO", NI_DENIED, 0, true},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        begin("PCIDEVICE_A=0000:03:00.2");
        rdma("0000:03:00.2", "mlx5_6");
        line("f ./link_layer InfiniBand");
        line("%s", cases[i].line);
        gather();
        assert_int_equal(pod.inv.n_port, 1);
        const struct ni_num *n = &pod.inv.port[0].state;
        if (n->known != cases[i].known || (n->known == NI_KNOWN && n->v != cases[i].v) ||
            found(NI_F_FACT_UNREADABLE) != cases[i].finding)
            fail_msg("`%s`: %d, %lld", cases[i].line, (int)n->known, (long long)n->v);
        if (cases[i].finding)
            assert_non_null(strstr(subject_of(NI_F_FACT_UNREADABLE), "/ports/1/state"));
    }
    begin("PCIDEVICE_A=0000:03:00.2"); /* no state: no port */
    rdma("0000:03:00.2", "mlx5_6");
    line("f ./link_layer InfiniBand");
    gather();
    assert_int_equal(pod.inv.n_hca, 1);
    assert_int_equal(pod.inv.n_port, 0);
    assert_int_equal(pod.f.n, 1);
    assert_true(said_of("mlx5_6/ports/1"));
}

static void test_unreadable_directories(void **state)
{
    (void)state;
    begin("PCIDEVICE_A=0000:03:00.2,0000:04:00.2");
    line("e sys/bus/pci/devices/0000:03:00.2/infiniband EACCES");
    line("d sys/bus/pci/devices/0000:04:00.2/infiniband/mlx5_7");
    line("e sys/bus/pci/devices/0000:04:00.2/infiniband/mlx5_7/ports EACCES");
    gather();
    assert_int_equal(pod.inv.n_hca, 1);
    assert_true(said_of("0000:03:00.2/infiniband"));
    /* Whether there is a second port cannot be told; that there is a first is sure. */
    assert_int_equal(pod.inv.n_port, 1);
    assert_int_equal(pod.inv.port[0].num, 1);
    assert_int_equal(pod.inv.port[0].state.known, NI_DENIED);
    assert_true(said_of("mlx5_7/ports/1/state"));
    assert_false(said_of("mlx5_7/ports/2"));
    assert_false(found(NI_F_FACT_TRUNCATED));
}

/* A name that NCCL's list cannot carry, beside one that it can. */
static void test_names(void **state)
{
    (void)state;
    begin("PCIDEVICE_A=0000:03:00.2");
    line("d sys/bus/pci/devices/0000:03:00.2/infiniband/mlx5,6/ports/1");
    line("d sys/bus/pci/devices/0000:03:00.2/infiniband/mlx5_7/ports/1");
    gather();
    assert_int_equal(pod.inv.n_hca, 1);
    assert_string_equal(pod.inv.hca[0].name, "mlx5_7");
    assert_string_equal(subject_of(NI_F_HCA_NAME_INVALID), "0000:03:00.2");
}

/* ---- the place on the PCI tree ---- */

static void test_chains(void **state)
{
    static const struct {
        const char *target; /* below sys/devices/ */
        const char *want;
        uint32_t domain;
        uint8_t bus;
    } cases[] = {
        {"pci0000:00/0000:00:01.0/0000:03:00.2", "0000:00:01.0 0000:03:00.2", 0, 0},
        {"pci0000:ff/0000:ff:05.0", "0000:ff:05.0", 0, 0xff},
        /* VMD: a host bridge below a function */
        {"pci0000:00/0000:00:0e.0/pci10000:e0/10000:e0:06.0/10000:e1:00.0",
         "10000:e0:06.0 10000:e1:00.0", 0x10000, 0xe0},
        /* Hyper-V: a host bridge below the VM bus */
        {"LNXSYSTM:00/LNXSYBUS:00/ACPI0004:00/VMBUS:00/47505500-0001/pci1e5e:00/1e5e:00:02.0",
         "1e5e:00:02.0", 0x1e5e, 0},
        {"platform/soc/pci0001:01/0001:01:00.0/0001:02:00.0", "0001:01:00.0 0001:02:00.0", 1, 1},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        char entry[64];
        const char *bdf = strrchr(cases[i].target, '/') + 1;
        snprintf(entry, sizeof(entry), "PCIDEVICE_A=%s", bdf);
        begin(entry);
        pod.ask.all = true;
        line("l sys/bus/pci/devices/%s ../../../devices/%s", bdf, cases[i].target);
        line("f sys/devices/%s/numa_node 1", cases[i].target);
        line("d sys/devices/%s/infiniband/mlx5_0/ports/1", cases[i].target);
        gather();
        const struct ni_pci *pci = &pod.inv.hca[0].pci;
        assert_int_equal(pci->known, NI_KNOWN);
        assert_string_equal(chain(pci), cases[i].want);
        assert_int_equal(pci->root_domain, cases[i].domain);
        assert_int_equal(pci->root_bus, cases[i].bus);
        assert_int_equal(pci->numa.v, 1);
    }
}

static void test_subfunction(void **state)
{
    static const char parent[] = "sys/devices/pci0000:00/0000:00:01.0/0000:03:00.0";
    (void)state;
    begin("PCIDEVICE_A=mlx5_core.sf.10,mlx5_core.sf.4");
    pod.ask.all = true;
    for (unsigned sf = 4; sf <= 10; sf += 6) {
        line("l sys/bus/auxiliary/devices/mlx5_core.sf.%u ../../../devices/pci0000:00/0000:00:01.0/"
             "0000:03:00.0/mlx5_core.sf.%u",
             sf, sf);
        line("d %s/mlx5_core.sf.%u/infiniband/mlx5_%u/ports/1", parent, sf, 20 - sf);
        active("Ethernet", "100 Gb/sec (4X EDR)");
    }
    line(
        "l sys/bus/pci/devices/0000:03:00.0 ../../../devices/pci0000:00/0000:00:01.0/0000:03:00.0");
    line("f %s/numa_node -1", parent);
    gather();
    assert_int_equal(pod.inv.n_hca, 2);
    assert_string_equal(pod.inv.hca[0].name, "mlx5_16"); /* sf.4 before sf.10 */
    assert_string_equal(pod.inv.hca[0].aux, "mlx5_core.sf.4");
    assert_string_equal(chain(&pod.inv.hca[0].pci), "0000:00:01.0 0000:03:00.0");
    assert_true(pod.inv.hca[0].has_bdf);
    assert_int_equal(pod.inv.hca[0].bdf.bus, 3);
    assert_int_equal(pod.inv.hca[0].pci.numa.known, NI_KNOWN);
    assert_int_equal(pod.inv.hca[0].pci.numa.v, -1);
    assert_int_equal(pod.inv.port[0].mbps.v, 100000);
}

/* The function beside the GPU, found by the UUID of the vital product data. */
static void test_data_direct(void **state)
{
    static const char one[] = "\\x90\\x05\\0V3\\x02u1x", other[] = "\\x90\\x05\\0V3\\x02u2x";
    static const struct {
        const char *device, *vpd, *function; /* NULL: no such file; "": it cannot be read */
        enum ni_known want;
    } cases[] = {
        {"0x1023", one, one, NI_KNOWN},
        {"0x1025", one, one, NI_KNOWN},
        {"0x1023", one, other, NI_ABSENT},
        {"0x1021", one, one, NI_ABSENT}, /* a ConnectX-7 has none */
        {"0x1023", one, NULL, NI_DENIED},
        {"0x1023", "", one, NI_DENIED},
        {"0x1023", NULL, other, NI_DENIED},
        {"0x1023", "\\x90", one, NI_DENIED},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        for (int bound = 0; bound <= 1; bound++) {
            begin("PCIDEVICE_A=0000:03:00.0");
            pod.needs = NI_NEED_DATA_DIRECT;
            roce("0000:03:00.0", "mlx5_0");
            line("f sys/devices/pci0000:00/0000:00:01.0/0000:03:00.0/device %s", cases[i].device);
            const char *vpd[] = {cases[i].vpd, cases[i].function};
            static const char *const path[] = {
                "sys/devices/pci0000:00/0000:00:01.0/0000:03:00.0/vpd",
                "sys/devices/pci0000:00/0000:00:02.0/0000:08:00.0/vpd"};
            line("l sys/bus/pci/devices/0000:08:00.0 "
                 "../../../devices/pci0000:00/0000:00:02.0/0000:08:00.0");
            line("d sys/devices/pci0000:00/0000:00:02.0/0000:08:00.0");
            if (bound)
                line("l sys/bus/pci/drivers/mlx5_ib/0000:08:00.0 "
                     "../../../../devices/pci0000:00/0000:00:02.0/0000:08:00.0");
            for (unsigned k = 0; k < NI_COUNT(vpd); k++) {
                if (vpd[k] && !*vpd[k])
                    line("e %s EACCES", path[k]);
                else if (vpd[k])
                    line("f %s %s", path[k], vpd[k]);
            }
            gather();
            const struct ni_pci *direct = &pod.inv.hca[0].data_direct;
            if (direct->known != (bound ? cases[i].want : NI_UNSET))
                fail_msg("case %zu, %d: %d", i, bound, (int)direct->known);
            if (direct->known == NI_KNOWN)
                assert_string_equal(chain(direct), "0000:00:02.0 0000:08:00.0");
        }
    }
}

static void test_numa(void **state)
{
    static const struct {
        const char *line;
        enum ni_known known;
        int64_t v;
    } cases[] = {
        {"f %s 3", NI_KNOWN, 3},
        {"f %s -1", NI_KNOWN, -1},
        {"f %s x", NI_BAD, 0},
        {"f %s -", NI_BAD, 0},
        {"f %s ", NI_BAD, 0},
        {"e %s EACCES", NI_DENIED, 0},
        {"f %s 99999999999999999999", NI_BAD, 0},
        {"# %s", NI_ABSENT, 0},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        const char *rest = strchr(cases[i].line, 's') + 1;
        begin("PCIDEVICE_A=0000:03:00.2");
        pod.ask.all = true;
        line("l sys/bus/pci/devices/0000:03:00.2 ../../../devices/pci0000:00/0000:03:00.2");
        line("d sys/devices/pci0000:00/0000:03:00.2/infiniband/mlx5_0/ports/1");
        line("%c sys/devices/pci0000:00/0000:03:00.2/numa_node%s", cases[i].line[0], rest);
        gather();
        assert_int_equal(pod.inv.hca[0].pci.numa.known, cases[i].known);
        if (cases[i].known == NI_KNOWN)
            assert_int_equal(pod.inv.hca[0].pci.numa.v, cases[i].v);
    }
}

static void test_too_deep(void **state)
{
    char target[1024];
    (void)state;
    struct ni_text t = ni_text_on(target, sizeof(target));
    ni_put(&t, "pci0000:00");
    for (unsigned i = 0; i < NI_MAX_DEPTH; i++)
        ni_putf(&t, "/0000:%02x:00.0", i + 1);
    for (int more = 0; more <= 1; more++) {
        ni_put(&t, more ? "/0000:aa:00.0" : "");
        begin(more ? "PCIDEVICE_A=0000:aa:00.0" : "PCIDEVICE_A=0000:18:00.0");
        line("l sys/bus/pci/devices/%s ../../../devices/%s", more ? "0000:aa:00.0" : "0000:18:00.0",
             target);
        line("d sys/devices/%s/infiniband/mlx5_0/ports/1", target);
        gather();
        assert_int_equal(pod.inv.n_hca, 1);
        assert_int_equal(pod.inv.hca[0].pci.known, more ? NI_BAD : NI_KNOWN);
    }
}

static void test_visible_others(void **state)
{
    (void)state;
    begin("PCIDEVICE_A=0000:04:00.2");
    roce("0000:03:00.2", "mlx5_0");
    roce("0000:04:00.2", "mlx5_1");
    line("l sys/devices/pci0000:00/0000:00:01.0/0000:04:00.2/physfn ../0000:04:00.0");
    gather();
    assert_int_equal(pod.inv.n_hca, 1); /* cost follows what the pod was given */
    pod.ask.all = true;
    gather();
    assert_int_equal(pod.inv.n_hca, 2);
    assert_string_equal(pod.inv.hca[0].name, "mlx5_1"); /* the pod's first */
    assert_int_equal(pod.inv.hca[0].allocation, 0);
    assert_true(pod.inv.hca[0].is_vf);
    assert_int_equal(pod.inv.hca[0].pf.fn, 0);
    assert_int_equal(pod.inv.hca[1].allocation, -1);
    assert_false(pod.inv.hca[1].is_vf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_port),           cmocka_unit_test(test_rate),
        cmocka_unit_test(test_state),          cmocka_unit_test(test_unreadable_directories),
        cmocka_unit_test(test_names),          cmocka_unit_test(test_chains),
        cmocka_unit_test(test_subfunction),    cmocka_unit_test(test_data_direct),
        cmocka_unit_test(test_numa),           cmocka_unit_test(test_too_deep),
        cmocka_unit_test(test_visible_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
