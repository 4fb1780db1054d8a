/* SPDX-License-Identifier: Apache-2.0 */
/* DRA device metadata (KEP-5304): where the files are, the objects in them, what of a device counts. */
#include "findings/device.h"
#include "lib/node_tree.h"
#include "nccl_init/allocation.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/text.h"

#define BASE    "var/run/kubernetes.io/dra-device-attributes"
#define CLAIMS  BASE "/resourceclaims"
#define DRAFT   "var/run/dra-device-attributes"
#define FILE_OF "/rdma/rail/nic.example-metadata.json"
#define SHOWN   "resourceclaims" FILE_OF

#define PCI_ID  "resource.kubernetes.io/pciBusID"
#define DRIVERS "sriovnetwork.k8snetworkplumbingwg.io/pciAddress"
#define CNI_ID  "k8s.cni.cncf.io/deviceID"

#define ATTRIBUTE(key, value) "\"attributes\":{\"" key "\":" value "}"
#define NETDEV(name)          "\"networkData\":{\"interfaceName\":\"" name "\",\"ips\":[\"10.0.1.6/24\"]}"
#define DEVICE(key, value)    "{" ATTRIBUTE(key, value) "}"
#define AT(bdf)               DEVICE(PCI_ID, "{\"string\":\"" bdf "\"}")
#define OBJECT(version, rest) \
    "{\"kind\":\"DeviceMetadata\",\"apiVersion\":\"metadata.resource.k8s.io/" version "\"," rest "}"
#define REQUESTS(devices) "\"requests\":[{\"name\":\"rail\",\"devices\":[" devices "]}]"
#define ALPHA(devices)    OBJECT("v1alpha1", REQUESTS(devices))
#define BETA(devices)     OBJECT("v1beta1", REQUESTS(devices))
#define GENERATION(n, devices) \
    OBJECT("v1beta1", "\"metadata\":{\"generation\":" #n "}," REQUESTS(devices))

static const char *hcas(void)
{
    static char buf[1024];
    struct ni_text t = ni_text_on(buf, sizeof(buf));
    for (unsigned i = 0; i < pod.inv.n_hca; i++) {
        if (pod.inv.hca[i].allocation >= 0)
            ni_putf(&t, "%s%s", t.len ? " " : "", pod.inv.hca[i].name);
    }
    return buf;
}

static void node(void)
{
    pod_reset(NULL);
    fib("10.0.1.6");
    roce("0000:03:00.2", "mlx5_9");
    roce("0000:a3:00.2", "mlx5_6");
    line("d sys/devices/pci0000:00/0000:00:01.0/0000:1b:00.0"); /* a GPU */
    line(
        "l sys/bus/pci/devices/0000:1b:00.0 ../../../devices/pci0000:00/0000:00:01.0/0000:1b:00.0");
}

static void write_at(const char *path, const char *json)
{
    line("f %s %s", path, json);
}

static void assert_given(const char *want)
{
    gather();
    assert_string_equal(hcas(), want);
    assert_int_equal(pod.inv.source, want[0] ? NI_SRC_DRA : NI_SRC_NONE);
}

/* ---- where ---- */

static void test_folders(void **state)
{
    static const char *const files[] = {
        CLAIMS FILE_OF,
        BASE "/resourceclaimtemplates" FILE_OF,
        DRAFT FILE_OF,
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(files); i++) {
        node();
        write_at(files[i], BETA(AT("0000:a3:00.2")));
        assert_given("mlx5_6");
        assert_int_equal(pod.f.n, 0);
    }
    node(); /* folders of nobody we know */
    write_at(BASE "/resourceslices" FILE_OF, BETA(AT("0000:a3:00.2")));
    write_at(BASE FILE_OF, BETA(AT("0000:a3:00.2")));
    assert_given("");
}

/* What the plan prints is the claim, the request and the driver, not the folder that all have. */
static void test_from(void **state)
{
    (void)state;
    node();
    write_at(CLAIMS FILE_OF, BETA(AT("0000:a3:00.2")));
    gather();
    assert_string_equal(pod.inv.allocation[0].from, SHOWN);
}

/* In most images /var/run is a link. */
static void test_var_run_is_a_link(void **state)
{
    static const char *const targets[] = {"/run", "../run"};
    (void)state;
    for (size_t i = 0; i < NI_COUNT(targets); i++) {
        node();
        line("l var/run %s", targets[i]);
        write_at("run/kubernetes.io/dra-device-attributes/resourceclaims" FILE_OF,
                 BETA(AT("0000:a3:00.2")));
        assert_given("mlx5_6");
    }
}

/* All files of all claims and requests; other files are not opened. */
static void test_files(void **state)
{
    (void)state;
    node();
    write_at(CLAIMS "/claim-a/req-1/a-metadata.json", BETA(AT("0000:a3:00.2")));
    line("e " CLAIMS "/claim-a/req-1/notes.json EIO");
    line("e " CLAIMS "/claim-a/req-1/-metadata.json EACCES"); /* no driver's name */
    write_at(CLAIMS "/claim-a/req-2/a-metadata.json", BETA(AT("0000:03:00.2")));
    write_at(CLAIMS "/claim-a/req-2/b-metadata.json", BETA(AT("0000:03:00.2")));
    write_at(CLAIMS "/claim-b/req-1/b-metadata.json", BETA(AT("0000:03:00.2")));
    line("f " CLAIMS "/claim-c not a directory");
    line("d " CLAIMS "/claim-d/req-1");
    assert_given("mlx5_9 mlx5_6");
    assert_int_equal(pod.inv.n_allocation, 2); /* a device of two requests is one */
    assert_int_equal(pod.f.n, 0);
}

/* A weaker source must not decide in the place of a file that cannot be read. */
static void test_unreadable(void **state)
{
    static const char *const paths[] = {CLAIMS FILE_OF, CLAIMS "/rdma", CLAIMS};
    (void)state;
    for (size_t i = 0; i < NI_COUNT(paths); i++) {
        node();
        line("e %s EACCES", paths[i]);
        line("f proc/sys/net/core/netdev_max_backlog 1000"); /* a host network has all HCAs */
        assert_given("");
        assert_string_equal(subject_of(NI_F_FACT_UNREADABLE), paths[i]);
        assert_true(pod.inv.source_unread);
    }
}

static void test_too_much(void **state)
{
    (void)state;
    node();
    for (unsigned i = 0; i < 300; i++)
        line("f " CLAIMS "/rdma/rail/%03u-metadata.json " BETA(AT("0000:a3:00.2")), i);
    assert_given("mlx5_6");
    assert_true(found(NI_F_FACT_TRUNCATED));
    node();
    ni_put(&pod.t, "f " CLAIMS FILE_OF " ");
    for (unsigned i = 0; i < 1 << 20; i += 16)
        ni_put(&pod.t, "                ");
    ni_put(&pod.t, BETA(AT("0000:a3:00.2")) "\n");
    assert_false(pod.t.cut);
    assert_given("");
    assert_true(found(NI_F_ALLOC_INFO_INVALID));
    assert_int_equal(pod.f.n, 1);
}

/* ---- the stream of objects ---- */

enum verdict { GOOD, INVALID, PENDING };

struct content {
    const char *json, *want;
    enum verdict verdict;
};

static void check(const struct content *c)
{
    node();
    write_at(CLAIMS FILE_OF, c->json);
    gather();
    if (strcmp(hcas(), c->want) != 0 || found(NI_F_ALLOC_INFO_INVALID) != (c->verdict == INVALID) ||
        found(NI_F_ALLOC_METADATA_PENDING) != (c->verdict == PENDING) ||
        (pod.inv.pending[0] != '\0') != (c->verdict == PENDING))
        fail_msg("`%s`: `%s`, %u findings: %s", c->json, hcas(), pod.f.n, pod.f.at[0].message);
    if (c->verdict != GOOD)
        assert_string_equal(pod.f.at[0].subject, SHOWN);
}

static void test_stream(void **state)
{
    static const struct content cases[] = {
        {BETA(AT("0000:a3:00.2")), "mlx5_6", GOOD},
        {ALPHA(AT("0000:a3:00.2")), "mlx5_6", GOOD},
        {BETA(AT("0000:a3:00.2")) "\\n" ALPHA(AT("0000:a3:00.2")) "\\n", "mlx5_6", GOOD},
        {BETA(AT("0000:a3:00.2")) ALPHA(AT("0000:a3:00.2")), "mlx5_6", GOOD},
        /* the first that is known, whatever follows it */
        {BETA(AT("0000:a3:00.2")) ALPHA(AT("0000:03:00.2")), "mlx5_6", GOOD},
        {ALPHA(AT("0000:03:00.2")) BETA(AT("0000:a3:00.2")), "mlx5_9", GOOD},
        {BETA(AT("0000:a3:00.2")) "\\n}x{", "mlx5_6", GOOD},
        {OBJECT("v2", "\"requests\":7") "\\n" BETA(AT("0000:a3:00.2")), "mlx5_6", GOOD},
        {OBJECT("v2", "\"requests\":7") "\\n", "", INVALID},
        {OBJECT("v2", "\"requests\":7") "\\n}", "", INVALID},
        {"{\"apiVersion\":\"v1\",\"kind\":\"Pod\"}" BETA(AT("0000:a3:00.2")), "mlx5_6", GOOD},
        {"x" BETA(AT("0000:a3:00.2")), "", INVALID},
        {"{\"kind\":\"DeviceMetadata\"," REQUESTS(AT("0000:a3:00.2")) "}", "", INVALID},
        {"{\"kind\":\"DeviceMetadata\",\"apiVersion\":7}", "", INVALID},
        {"{\"kind\":\"Other\",\"apiVersion\":\"metadata.resource.k8s.io/v1beta1\"}", "", INVALID},
        {"{\"apiVersion\":\"metadata.resource.k8s.io/v1beta1\"}", "", INVALID},
        {"{\"kind\":\"DeviceMetadata\",\"apiVersion\":\"\"}", "", INVALID},
        {"[]", "", INVALID},
        {"{}", "", INVALID},
        {"7", "", INVALID},
        {BETA("{\"attributes\":{},\"attributes\":{}}"), "", INVALID}, /* a key twice */
        {BETA("[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]"), "", INVALID},      /* too deep */
        /* being written, or not yet */
        {"", "", PENDING},
        {"\\n \\n", "", PENDING},
        {"{", "", PENDING},
        {"{\"kind\":\"DeviceMeta", "", PENDING},
        {OBJECT("v2", "\"requests\":7") "{\"kind\":", "", PENDING},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++)
        check(&cases[i]);
    node(); /* a file of nothing but newer versions has an end, too */
    ni_put(&pod.t, "f " CLAIMS FILE_OF " ");
    for (unsigned i = 0; i < 20000; i++)
        ni_put(&pod.t, OBJECT("v9", "\"requests\":[]"));
    ni_put(&pod.t, "\n");
    assert_given("");
    assert_string_equal(subject_of(NI_F_ALLOC_INFO_INVALID), SHOWN);
    assert_int_equal(pod.f.n, 1);
}

/* ---- devices ---- */

static void test_devices(void **state)
{
    static const struct content cases[] = {
        {BETA(DEVICE(DRIVERS, "{\"string\":\"0000:A3:00.2\"}")), "mlx5_6", GOOD},
        {BETA(DEVICE(CNI_ID, "{\"string\":\"0000:a3:00.2\"}")), "mlx5_6", GOOD},
        {BETA(DEVICE(CNI_ID, "{\"string\":\"/run/vhost\"}")), "", GOOD}, /* Multus has others */
        {BETA(AT("0000:03:00.2") "," AT("0000:a3:00.2")), "mlx5_9 mlx5_6", GOOD},
        {OBJECT(
             "v1beta1",
             "\"requests\":[{\"name\":\"a\",\"devices\":[" AT(
                 "0000:03:00.2") "]},{\"name\":\"b/fast\",\"devices\":[" AT("0000:a3:00.2") "]}]"),
         "mlx5_9 mlx5_6", GOOD},
        {BETA("{\"attributes\":{\"" PCI_ID "\":{\"string\":\"0000:03:00.2\"},\"" DRIVERS
              "\":{\"string\":\"0000:a3:00.2\"}}}"),
         "mlx5_9", GOOD}, /* one device, the standard name first */
        {BETA(DEVICE(PCI_ID, "{\"strings\":[\"0000:a3:00.2\"]}")), "mlx5_6", GOOD},
        {BETA(DEVICE(PCI_ID, "{\"strings\":[\"0000:03:00.2\",\"0000:a3:00.2\"]}")), "mlx5_9 mlx5_6",
         GOOD},
        {BETA("{\"attributes\":{\"x/a\":{\"ints\":[1]},\"x/b\":{\"bools\":[true]},\"x/c\":{"
              "\"versions\":[\"1.0.0\"]},\"" PCI_ID "\":{\"string\":\"0000:a3:00.2\"}}}"),
         "mlx5_6", GOOD},
        {OBJECT("v1beta1", "\"requests\":null"), "", GOOD},
        {OBJECT("v1beta1", "\"requests\":[]"), "", GOOD},
        {OBJECT("v1beta1", "\"requests\":[{\"name\":\"r\",\"devices\":null}]"), "", GOOD},
        {BETA(DEVICE("model", "{\"string\":\"LATEST-GPU-MODEL\"}")), "", GOOD},
        /* not of the form: the rest of the file counts */
        {BETA(DEVICE(PCI_ID, "{\"int\":3}") "," AT("0000:a3:00.2")), "mlx5_6", INVALID},
        {BETA(DEVICE(PCI_ID, "{\"strings\":\"x\"}") "," AT("0000:a3:00.2")), "mlx5_6", INVALID},
        {BETA(DEVICE(PCI_ID, "{\"strings\":[3,\"0000:a3:00.2\"]}")), "mlx5_6", INVALID},
        {BETA(DEVICE(PCI_ID, "{\"strings\":[]}")), "", INVALID},
        {BETA(DEVICE(PCI_ID, "\"0000:03:00.2\"")), "", INVALID},
        {BETA("1,null,[]," AT("0000:a3:00.2")), "mlx5_6", INVALID},
        {BETA("{\"attributes\":7}," AT("0000:a3:00.2")), "mlx5_6", INVALID},
        {BETA("{\"networkData\":[]}," AT("0000:a3:00.2")), "mlx5_6", INVALID},
        {OBJECT("v1beta1", "\"requests\":{}"), "", INVALID},
        {OBJECT("v1beta1", "\"requests\":[{\"devices\":{}},7]"), "", INVALID},
        {BETA(AT("0000:a3:00.2") "," AT("0000:A3:00.2")), "mlx5_6", INVALID}, /* twice */
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++)
        check(&cases[i]);
    node();
    write_at(CLAIMS FILE_OF, BETA(AT("eth0")));
    assert_given("");
    assert_true(found(NI_F_ALLOC_ID_INVALID));
}

/* Identity alone, generation 1: what the kubelet plugin library writes before the driver knows more. */
static void test_deferred(void **state)
{
    static const struct content cases[] = {
        {GENERATION(1, "{\"driver\":\"d\",\"pool\":\"p\",\"name\":\"n\"}"), "", PENDING},
        {GENERATION(1, "{\"name\":\"n\",\"attributes\":{}},{\"name\":\"m\",\"attributes\":{}}"), "",
         PENDING},
        {BETA("{\"name\":\"n\"}"), "", PENDING},
        {GENERATION(2, "{\"name\":\"n\"}"), "", GOOD}, /* the driver had no more to say */
        {GENERATION(1, "{\"name\":\"n\"}," AT("0000:a3:00.2")), "mlx5_6", PENDING},
        {GENERATION(1, "{\"attributes\":{\"model\":{\"string\":\"x\"}}}"), "", GOOD},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++)
        check(&cases[i]);
    node(); /* nobody waits for what does not decide */
    pod.ask.all = true;
    set_env("PCIDEVICE_A=0000:a3:00.2");
    write_at(CLAIMS FILE_OF, "");
    gather();
    assert_int_equal(pod.inv.source, NI_SRC_PCIDEVICE);
    assert_false(found(NI_F_ALLOC_METADATA_PENDING));
    assert_string_equal(pod.inv.pending, "");
}

/* GPUs and what else has a driver of DRA are no rails, and no contradiction to what the pod was given. */
static void test_others(void **state)
{
    (void)state;
    node();
    write_at(CLAIMS FILE_OF, BETA(AT("0000:a3:00.2")));
    write_at(CLAIMS "/gpu/gpu/gpu.example-metadata.json",
             BETA(AT("0000:1b:00.0") ",{\"attributes\":{\"uuid\":{\"string\":\"GPU-1\"}}}"));
    assert_given("mlx5_6");
    assert_string_equal(subject_of(NI_F_ALLOC_NOT_RDMA), "0000:1b:00.0");
    assert_int_equal(pod.f.n, 1);
    node();
    pod.ask.all = true;
    set_env("PCIDEVICE_A=0000:a3:00.2");
    write_at(CLAIMS "/gpu/gpu/gpu.example-metadata.json", BETA(AT("0000:1b:00.0")));
    gather();
    assert_int_equal(pod.inv.source, NI_SRC_PCIDEVICE);
    assert_false(found(NI_F_ALLOC_SOURCES_DIFFER));
}

/* doctor takes a NIC without an RDMA device for one that another network namespace has. */
static void test_not_a_nic(void **state)
{
    static const struct {
        const char *class;
        bool nic;
    } cases[] = {
        {"0x030200", false}, {"0x120000", false}, {"0x010802", false}, {"0x020000", true},
        {"0x020700", true},  {"0x0c0600", true},  {NULL, true},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        node();
        if (cases[i].class)
            line("f sys/devices/pci0000:00/0000:00:01.0/0000:1b:00.0/class %s", cases[i].class);
        write_at(CLAIMS FILE_OF, BETA(AT("0000:1b:00.0")));
        assert_given("");
        assert_string_equal(subject_of(NI_F_ALLOC_NOT_RDMA), "0000:1b:00.0");
        assert_int_equal(pod.inv.allocation[0].not_rdma, cases[i].nic);
    }
}

/* ---- networkData ---- */

static void interface(const char *name, const char *device)
{
    netdev(name, "up");
    if (device)
        line("l sys/class/net/%s/device ../../../%s", name, device);
}

static void test_interface(void **state)
{
    (void)state;
    node(); /* of a PCI function */
    interface("net1", "0000:a3:00.2");
    write_at(CLAIMS FILE_OF, BETA("{" NETDEV("net1") "}"));
    assert_given("mlx5_6");
    assert_int_equal(pod.f.n, 0);
    node(); /* of a sub-function */
    line("l sys/bus/auxiliary/devices/mlx5_core.sf.4 "
         "../../../devices/pci0000:00/0000:00:01.0/0000:03:00.2/mlx5_core.sf.4");
    line("d "
         "sys/devices/pci0000:00/0000:00:01.0/0000:03:00.2/mlx5_core.sf.4/infiniband/mlx5_7/ports/"
         "1");
    active("Ethernet", "400 Gb/sec (4X NDR)");
    interface("net1", "mlx5_core.sf.4");
    write_at(CLAIMS FILE_OF, BETA("{" NETDEV("net1") "}"));
    assert_given("mlx5_7");
    assert_string_equal(pod.inv.hca[0].aux, "mlx5_core.sf.4");
}

static void soft_roce(const char *name, const char *ndev)
{
    line("d sys/devices/virtual/infiniband/%s/ports/1", name);
    active("Ethernet", "2.5 Gb/sec (1X SDR)");
    gid(0, V4("0a00:0106"), "RoCE v2", ndev);
    line("l sys/class/infiniband/%s ../../devices/virtual/infiniband/%s", name, name);
}

/* An interface of no function: the RDMA device has a GID of it that is an address of ours. */
static void test_interface_of_no_function(void **state)
{
    (void)state;
    node();
    soft_roce("rxe0", "eth0");
    soft_roce("rxe1", "net1");
    interface("net1", NULL);
    write_at(CLAIMS FILE_OF, BETA("{" NETDEV("net1") "}"));
    assert_given("rxe1");
    node();                         /* macvlan: the HCA's table has the entries of all pods */
    usual(V4("0a00:0205"), "net1"); /* another pod's net1, of mlx5_6 */
    roce("0000:b3:00.2", "mlx5_7");
    usual(V4("0a00:0205"), "net2");
    gid(9, V4("0a00:0106"), "RoCE v2", "net1");
    line("e ./gids/4 EINVAL");
    for (unsigned i = 5; i < 9; i++)
        line("f ./gids/%u " EMPTY_GID, i);
    interface("net1", NULL);
    write_at(CLAIMS FILE_OF, BETA("{" NETDEV("net1") "}"));
    assert_given("mlx5_7");
    node(); /* an address of IPv6 alone */
    line("f proc/net/if_inet6 fd000000000000000000000000000006 03 40 00 80     net1");
    line("d sys/devices/virtual/infiniband/rxe0/ports/1");
    active("Ethernet", "2.5 Gb/sec (1X SDR)");
    gid(0, "fd00:0000:0000:0000:0000:0000:0000:0006", "RoCE v2", "net1");
    line("l sys/class/infiniband/rxe0 ../../devices/virtual/infiniband/rxe0");
    interface("net1", NULL);
    write_at(CLAIMS FILE_OF, BETA("{" NETDEV("net1") "}"));
    assert_given("rxe0");
    assert_false(found(NI_F_ALLOC_NOT_RDMA));
}

static void test_interface_of_nothing(void **state)
{
    static const char *const odd[] = {
        "{\"networkData\":{\"interfaceName\":\"../../x\"}}",
        "{\"networkData\":{\"interfaceName\":\"a-name-longer-than-any-interface\"}}",
        "{\"networkData\":{\"interfaceName\":7}}",
    };
    (void)state;
    node();
    write_at(CLAIMS FILE_OF, BETA("{" NETDEV("net1") "}")); /* not in this namespace */
    assert_given("");
    assert_string_equal(subject_of(NI_F_ALLOC_NO_DEVICE), "net1");
    node();
    interface("net1", NULL);
    write_at(CLAIMS FILE_OF, BETA("{" NETDEV("net1") "}"));
    assert_given("");
    assert_string_equal(subject_of(NI_F_ALLOC_NOT_RDMA), "net1");
    node();
    interface("net1", "virtio0"); /* neither PCI address nor auxiliary name */
    write_at(CLAIMS FILE_OF, BETA("{" NETDEV("net1") "}"));
    assert_given("");
    assert_string_equal(subject_of(NI_F_ALLOC_NOT_RDMA), "net1");
    for (size_t i = 0; i < NI_COUNT(odd); i++) {
        node();
        line("f " CLAIMS FILE_OF " " BETA("%s"), odd[i]);
        assert_given("");
        assert_true(found(NI_F_ALLOC_INFO_INVALID));
    }
    node(); /* an address is enough */
    write_at(CLAIMS FILE_OF,
             BETA("{" ATTRIBUTE(PCI_ID, "{\"string\":\"0000:a3:00.2\"}") "," NETDEV("net1") "}"));
    assert_given("mlx5_6");
    assert_int_equal(pod.f.n, 0);
}

/* Address and interface of a device are compared where people look. */
static void test_interface_differs(void **state)
{
    (void)state;
    for (int all = 0; all <= 1; all++) {
        for (int same = 0; same <= 1; same++) {
            node();
            pod.ask.all = all;
            interface("net1", same ? "0000:a3:00.2" : "0000:03:00.2");
            write_at(CLAIMS FILE_OF,
                     BETA("{" ATTRIBUTE(PCI_ID,
                                        "{\"string\":\"0000:a3:00.2\"}") "," NETDEV("net1") "}"));
            assert_given("mlx5_6");
            assert_int_equal(found(NI_F_ALLOC_SOURCES_DIFFER), all && !same);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_folders),
        cmocka_unit_test(test_from),
        cmocka_unit_test(test_var_run_is_a_link),
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_unreadable),
        cmocka_unit_test(test_too_much),
        cmocka_unit_test(test_stream),
        cmocka_unit_test(test_devices),
        cmocka_unit_test(test_deferred),
        cmocka_unit_test(test_others),
        cmocka_unit_test(test_not_a_nic),
        cmocka_unit_test(test_interface),
        cmocka_unit_test(test_interface_of_no_function),
        cmocka_unit_test(test_interface_of_nothing),
        cmocka_unit_test(test_interface_differs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
