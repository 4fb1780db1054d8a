/* SPDX-License-Identifier: Apache-2.0 */
/* GPUs and what GPUDirect needs, the process, and nccl.conf. */
#include "findings/device.h"
#include "findings/setting.h"
#include "lib/node_tree.h"
#include "nccl_init/base.h"
#include "nccl_init/findings.h"
#include "nccl_init/gpu.h"
#include "nccl_init/inventory.h"
#include "nccl_init/known.h"
#include "nccl_init/number.h"
#include "nccl_init/pci.h"
#include "nccl_init/process.h"
#include "nccl_init/text.h"
#include "node/read.h"

/* ---- lines ---- */

static void test_lines(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"one\n\n\nfour\nfive", "one|||four|five|"}, {"a\n", "a|"}, {"\n", "|"}, {"", ""}};
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        char text[64], got[64];
        struct ni_text out = ni_text_on(got, sizeof(got));
        ni_copy(text, sizeof(text), cases[i][0]);
        for (char *rest = text, *of; ni_line(&rest, &of);)
            ni_putf(&out, "%s|", of);
        assert_string_equal(got, cases[i][1]);
    }
}

/* ---- GPUs ---- */

/* Eight GPUs on the host, minors against the order of addresses; one HCA, since only then anybody
   asks. */
static const char *model = "NVIDIA H100 80GB HBM3";

static void eight_gpus(void)
{
    pod_reset(NULL);
    fib("10.0.1.6");
    set_env("PCIDEVICE_A=0000:03:00.2");
    roce("0000:03:00.2", "mlx5_6");
    for (unsigned i = 0; i < 8; i++) {
        line("f proc/driver/nvidia/gpus/0000:%02x:00.0/information Model: \\t\\t %s\\nIRQ:   \\t "
             "1\\nDevice Minor: \\t %u\\nGPU Excluded:\\t No",
             0x10 + i, model, 7 - i);
        line("l sys/bus/pci/devices/0000:%02x:00.0 ../../../devices/pci0000:00/0000:00:02.0/"
             "0000:%02x:00.0",
             0x10 + i, 0x10 + i);
        line("f sys/devices/pci0000:00/0000:00:02.0/0000:%02x:00.0/numa_node 0", 0x10 + i);
    }
    line("f dev/nvidiactl");
    line("f dev/nvidia-uvm");
    line("f dev/nvidia-caps/nvidia-cap1");
}

static void all_nodes(void)
{
    for (unsigned i = 0; i < 8; i++)
        line("f dev/nvidia%u", i);
}

static void test_two_of_eight(void **state)
{
    (void)state;
    eight_gpus();
    line("f dev/nvidia0");
    line("f dev/nvidia5");
    gather();
    assert_int_equal(pod.inv.n_gpu, 2);
    assert_int_equal(pod.inv.gpu[0].bdf.bus, 0x12); /* minor 5 */
    assert_int_equal(pod.inv.gpu[0].minor, 5);
    assert_int_equal(pod.inv.gpu[1].bdf.bus, 0x17); /* minor 0 */
    assert_int_equal(pod.inv.gpu[1].minor, 0);
    assert_int_equal(pod.inv.gpu[0].pci.known, NI_KNOWN);
    assert_int_equal(pod.inv.gpu[0].pci.depth, 2);
}

static void test_no_and_all_gpus(void **state)
{
    (void)state;
    eight_gpus();
    gather();
    assert_int_equal(pod.inv.n_gpu, 0); /* the host's are not the pod's */
    all_nodes();
    gather();
    assert_int_equal(pod.inv.n_gpu, 8);
    for (unsigned i = 1; i < 8; i++)
        assert_true(ni_bdf_cmp(pod.inv.gpu[i - 1].bdf, pod.inv.gpu[i].bdf) < 0);
}

/* Without /proc/driver the driver's directory in sysfs tells the addresses, among other things. */
static void test_gpus_from_sysfs(void **state)
{
    (void)state;
    pod_reset(NULL);
    pod.ask.all = true;
    line("f dev/nvidia0");
    line("f sys/bus/pci/drivers/nvidia/bind");
    line("f sys/bus/pci/drivers/nvidia/new_id");
    line("d sys/bus/pci/drivers/nvidia/0000:19:00.0");
    gather();
    assert_int_equal(pod.inv.n_gpu, 1);
    assert_int_equal(pod.inv.gpu[0].bdf.bus, 0x19);
    assert_int_equal(pod.inv.gpu[0].pci.known, NI_ABSENT);
}

static void test_amd(void **state)
{
    (void)state;
    for (int kfd = 0; kfd <= 1; kfd++) {
        pod_reset(NULL);
        pod.ask.all = true;
        line("d sys/bus/pci/drivers/amdgpu/0000:9a:00.0"); /* before 10 as people count */
        line("d sys/bus/pci/drivers/amdgpu/0000:10:00.0");
        if (kfd)
            line("f dev/kfd");
        gather();
        assert_int_equal(pod.inv.n_gpu, kfd ? 2 : 0);
    }
    assert_true(pod.inv.gpu[0].amd);
    assert_int_equal(pod.inv.gpu[0].bdf.bus, 0x10);
}

#define UUID "GPU-5f3a8e0c-1b2d-4c6e-9f70-8192a3b4c5d"

#define MODEL "NVIDIA RTX PRO 6000 Blackwell Workstation Edition" /* 49 bytes */

/* Read only when a launcher's number is to be understood. */
static void test_gpu_ids(void **state)
{
    static const struct {
        const char *a, *b; /* "information" of two GPUs; AMD's render nodes */
        bool amd, unordered;
    } cases[] = {
        {"Model: \\t H100\\nGPU UUID: \\t " UUID "a", "Model: H100\\nGPU UUID: " UUID "b", false,
         false},
        {"Model: H100\\nGPU UUID: " UUID "a", "Model: H200\\nGPU UUID: " UUID "b", false, true},
        {"Model: H100\\nGPU UUID: " UUID "a", "GPU UUID: " UUID "b", false, true},
        {"Model: " MODEL "\\nGPU UUID: " UUID "a", "Model: " MODEL "\\nGPU UUID: " UUID "b", false,
         false},
        {"renderD128", "renderD129", true, false},
        {"renderD128", "card0", true, true},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        const bool amd = cases[i].amd;
        pod_reset(NULL);
        pod.ask.gpus = true;
        line(amd ? "f dev/kfd" : "f dev/nvidia0");
        line(amd ? "# " : "f dev/nvidia1");
        line(amd ? "d sys/bus/pci/drivers/amdgpu/0000:10:00.0" : "# ");
        line(amd ? "d sys/bus/pci/drivers/amdgpu/0000:9a:00.0" : "# ");
        line(amd ? "f dev/dri/%s" : "f proc/driver/nvidia/gpus/0000:10:00.0/information %s",
             cases[i].a);
        line(amd ? "f dev/dri/%s" : "f proc/driver/nvidia/gpus/0000:11:00.0/information %s",
             cases[i].b);
        gather();
        assert_int_equal(pod.inv.n_gpu, 2);
        assert_string_equal(pod.inv.gpu[0].uuid, "");
        pod.needs = NI_NEED_GPU_IDS;
        gather();
        assert_int_equal(pod.inv.gdr.gpus_unordered, cases[i].unordered);
        assert_string_equal(pod.inv.gpu[1].uuid, amd ? "" : UUID "b");
        if (strstr(cases[i].b, MODEL))
            assert_string_equal(pod.inv.gpu[1].model, MODEL);
    }
}

static void test_gdr_facts(void **state)
{
    static const struct {
        const char *line;
        enum ni_known peermem, open_driver;
        unsigned major, minor;
    } cases[] = {
        {"f sys/module/nvidia_peermem/version 580.1", NI_KNOWN, NI_UNSET, 0, 0},
        {"f sys/kernel/mm/memory_peers/nv_mem/version 1.2", NI_KNOWN, NI_ABSENT, 0, 0},
        {"f sys/kernel/mm/memory_peers/nv_mem_nc/version 1.2", NI_KNOWN, NI_ABSENT, 0, 0},
        {"e sys/kernel/mm/memory_peers EACCES", NI_DENIED, NI_ABSENT, 0, 0},
        {"# none", NI_ABSENT, NI_ABSENT, 0, 0},
        {"e sys/module/nvidia_peermem/version EACCES", NI_KNOWN, NI_UNSET, 0, 0}, /* it is there */
        {"e sys/module/nvidia_peermem EACCES", NI_DENIED, NI_ABSENT, 0, 0},
        {"f proc/driver/nvidia/version NVRM version: NVIDIA UNIX Open Kernel Module for x86_64",
         NI_ABSENT, NI_KNOWN, 0, 0},
        {"f proc/driver/nvidia/version NVRM version: NVIDIA UNIX x86_64 Kernel Module", NI_ABSENT,
         NI_ABSENT, 0, 0},
        {"e proc/driver/nvidia/version EACCES", NI_ABSENT, NI_DENIED, 0, 0},
        {"f proc/sys/kernel/osrelease 5.14.0-570.76.1.el9_6.x86_64", NI_ABSENT, NI_ABSENT, 5, 14},
        {"f proc/sys/kernel/osrelease 6.8", NI_ABSENT, NI_ABSENT, 6, 8},
        {"f proc/sys/kernel/osrelease 6", NI_ABSENT, NI_ABSENT, 0, 0},
        {"f proc/sys/kernel/osrelease garbage", NI_ABSENT, NI_ABSENT, 0, 0},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        eight_gpus();
        all_nodes();
        line("%s", cases[i].line);
        if (cases[i].open_driver != NI_UNSET) /* else the one way is enough */
            pod.needs = NI_NEED_ALL_GDR;
        gather();
        const struct ni_gdr *g = &pod.inv.gdr;
        if (g->peermem != cases[i].peermem || g->open_driver != cases[i].open_driver ||
            pod.inv.self.kernel_major != cases[i].major ||
            pod.inv.self.kernel_minor != cases[i].minor)
            fail_msg("`%s`: %d %d %u.%u", cases[i].line, (int)g->peermem, (int)g->open_driver,
                     pod.inv.self.kernel_major, pod.inv.self.kernel_minor);
        bool odd = strstr(cases[i].line, "osrelease") && cases[i].major == 0;
        assert_int_equal(found(NI_F_FACT_UNREADABLE),
                         odd || (cases[i].line[0] == 'e' && g->peermem != NI_KNOWN));
    }
}

static void test_c2c(void **state)
{
    static const char path[] = "sys/devices/system/cpu/cpu0/regs/identification/midr_el1";
    static const struct {
        const char *midr, *model;
        bool c2c;
    } cases[] = {
        {"0x00000000410fd4f0", "NVIDIA GH200 480GB", true},
        {"0x00000000411fd4f3", "NVIDIA GB300", true},
        {"0x000000004e0f0100", "NVIDIA VR200", true},
        {"0x00000000410fd4f0", "", true}, /* not known: it may be */
        {"0x00000000410fd4f0", "NVIDIA H100 PCIe", false},
        {"0x00000000410fd4f0", "NVIDIA RTX PRO 6000 Blackwell Server Edition", false},
        {"0x00000000410fd4f0", "NVIDIA L40S", false},
        {"0x00000000410fd4f0", "NVIDIA GeForce RTX 4090", false},
        {"0x00000000410fd4f0", "G", false},
        {"0x00000000410fd401", "NVIDIA GH200 480GB", false},
        {"0x00000000610fd4f0", "NVIDIA GH200 480GB", false},
        {"410fd4f0", "NVIDIA GH200 480GB", false},
        {"0x", "NVIDIA GH200 480GB", false},
        {"", "NVIDIA GH200 480GB", false},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        const char *usual = model;
        model = cases[i].model;
        eight_gpus();
        model = usual;
        all_nodes();
        line("f %s %s", path, cases[i].midr);
        gather();
        if (pod.inv.gdr.c2c != cases[i].c2c)
            fail_msg("%s %s", cases[i].midr, cases[i].model);
    }
}

/* ---- the process ---- */

static void test_memlock(void **state)
{
    static const struct {
        const char *soft, *hard;
        struct ni_num want_soft, want_hard;
    } cases[] = {
        {"8388608", "unlimited", {8388608, NI_KNOWN}, {NI_UNLIMITED, NI_KNOWN}},
        {"0", "0", {0, NI_KNOWN}, {0, NI_KNOWN}},
        {"9223372036854775807", "x", {INT64_MAX, NI_KNOWN}, {0, NI_BAD}},
        {"9223372036854775808", "-1", {0, NI_BAD}, {0, NI_BAD}},
        {"", "", {0, NI_BAD}, {0, NI_BAD}},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        pod_reset(NULL);
        line("f proc/self/limits Limit                     Soft Limit           Hard Limit\\n"
             "Max file locks            1                    2                    locks\\n"
             "Max locked memory         %s    %s%s",
             cases[i].soft, cases[i].hard, cases[i].hard[0] ? "     bytes     " : "");
        gather();
        const struct ni_self *s = &pod.inv.self;
        assert_int_equal(s->memlock_soft.known, cases[i].want_soft.known);
        assert_int_equal(s->memlock_hard.known, cases[i].want_hard.known);
        if (s->memlock_soft.known == NI_KNOWN)
            assert_int_equal(s->memlock_soft.v, cases[i].want_soft.v);
        if (s->memlock_hard.known == NI_KNOWN)
            assert_int_equal(s->memlock_hard.v, cases[i].want_hard.v);
    }
    pod_reset(NULL);
    line("e proc/self/limits EACCES");
    gather();
    assert_int_equal(pod.inv.self.memlock_hard.known, NI_DENIED);
    assert_string_equal(subject_of(NI_F_FACT_UNREADABLE), "proc/self/limits");
}

static void test_caps(void **state)
{
    (void)state;
    pod_reset(NULL);
    line("f proc/self/status Name:\\tCapEff:\\t1\\nCapInh:\\t0000000000000001\\n"
         "CapPrm:\\t00000000a80425fb\\nCapEff:\\t0000000001004000\\nCapBnd:\\tffffffffffffffff");
    gather();
    assert_int_equal(pod.inv.self.caps_known, NI_KNOWN);
    assert_true(pod.inv.self.cap_eff == 0x1004000);
    assert_true(pod.inv.self.cap_prm == 0xa80425fb);
    assert_true(pod.inv.self.cap_bnd == UINT64_MAX);
    pod_reset(NULL);
    pod.bare = true;
    gather();
    assert_int_equal(pod.inv.self.caps_known, NI_ABSENT);
    assert_true(found(NI_F_FACT_UNREADABLE));
}

/* ---- nccl.conf ---- */

/* "A=1 B=2" of what the files say. */
static const char *conf(void)
{
    static char buf[2048];
    struct ni_text t = ni_text_on(buf, sizeof(buf));
    for (unsigned i = 0; i < pod.inv.n_conf; i++)
        ni_putf(&t, "%s%s=%s", i ? "|" : "", pod.inv.conf[i].name, pod.inv.conf[i].value);
    return buf;
}

static void test_conf_syntax(void **state)
{
    static const struct {
        const char *text, *conf;
        unsigned odd; /* names that NCCL does not know, though they look right */
    } cases[] = {
        {"NCCL_A=1\\nNCCL_B=2", "NCCL_A=1|NCCL_B=2", 0},
        {"NCCL_A=1\\nNCCL_A=2", "NCCL_A=1", 0}, /* the first definition wins */
        {"#NCCL_A=1\\nNCCL_B=2", "NCCL_B=2", 0},
        {" #NCCL_A=1\\nNCCL_B=2", "NCCL_B=2", 0}, /* a variable ` #A` to NCCL: not one of its own */
        {"NCCL_A=1 # not a comment", "NCCL_A=1 # not a comment", 0},
        {"NCCL_A=1\\r\\nNCCL_B=2\\r", "NCCL_A=1|NCCL_B=2", 0},
        {"NCCL_A=\\r\\nNCCL_B", "NCCL_A=", 1},
        {"NCCL_A==eth0=", "NCCL_A==eth0=", 0},
        {"NCCL_A=  \\\"q\\\" ", "NCCL_A=  \"q\" ", 0},
        {"export NCCL_A=1\\nNCCL_B=2", "NCCL_B=2", 1},
        {" NCCL_A=1\\nNCCL_B =2\\nNCCL_C=3", "NCCL_C=3", 2},
        {"\\texport  NCCL_A=1\\nexportNCCL_B=2\\nexport UCX_A=1", "", 1},
        {"=1\\nNCCL_B=2\\n\\n", "NCCL_B=2", 0},
        {"NCCL_A", "", 1},
        {"NCCL_A: 1\\nNCCL_B 2\\nwords\\nUCX_A: 1", "", 2}, /* no `=`: NCCL skips the line */
        {"UCX_A=1\\nNCCL_B=2", "NCCL_B=2", 0},              /* read too late for others */
        {"", "", 0},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        pod_reset(NULL);
        line("f etc/nccl.conf %s", cases[i].text);
        gather();
        if (strcmp(conf(), cases[i].conf) != 0)
            fail_msg("`%s`: `%s`", cases[i].text, conf());
        assert_int_equal(found(NI_F_USER_NAME_MISSPELT), cases[i].odd > 0);
        assert_int_equal(pod.f.n, found(NI_F_CONF_CRLF) + cases[i].odd);
    }
}

/* NCCL before 2.30.3 keeps the CR; NCCL before 2.23.4 does not read NCCL_CONF_FILE. Each is told once, and
   only of a file that sets something. */
static void test_conf_of_other_versions(void **state)
{
    static const struct {
        const char *env, *text;
        bool crlf, old;
    } cases[] = {
        {"X=", "NCCL_A=1\\nNCCL_B=2", false, false},
        {"X=", "NCCL_A=1\\r\\nNCCL_B=2\\r", true, false},
        {"X=", "NCCL_A=1\\nNCCL_B=\\r", true, false},
        {"X=", "# NCCL_A=1\\r\\nOTHER=1\\r", false, false},
        {"NCCL_CONF_FILE=/etc/nccl.conf", "NCCL_A=1\\nNCCL_B=2", false, true},
        {"NCCL_CONF_FILE=/etc/nccl.conf", "# nothing", false, false},
        {"NCCL_CONF_FILE=/etc/nccl.conf", "NCCL_A=1\\r", true, true},
        {"NCCL_CONF_FILE=", "NCCL_A=1", false, false},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        pod_reset(NULL);
        set_env(cases[i].env);
        line("f etc/nccl.conf %s", cases[i].text);
        gather();
        if (found(NI_F_CONF_CRLF) != cases[i].crlf || found(NI_F_CONF_FILE_OLD) != cases[i].old)
            fail_msg("%s `%s`", cases[i].env, cases[i].text);
    }
}

static void test_conf_too_long(void **state)
{
    static char value[5000];
    (void)state;
    memset(value, 'v', sizeof(value) - 1);
    pod_reset(NULL);
    line("f etc/nccl.conf NCCL_A=%s\\nNCCL_B=%.1023s\\nNCCL_C=1", value, value);
    gather();
    assert_int_equal(pod.inv.n_conf, 3);
    assert_int_equal(strlen(pod.inv.conf[0].value), NI_CONF_VALUE - 1);
    assert_int_equal(strlen(pod.inv.conf[1].value), 1023);
    assert_string_equal(pod.inv.conf[2].name, "NCCL_C");
    pod_reset(NULL);
    ni_put(&pod.t, "f etc/nccl.conf ");
    for (unsigned i = 0; i < NI_MAX_CONF + 2; i++)
        ni_putf(&pod.t, "NCCL_V%u=1\\n", i);
    line("%s", "");
    gather();
    assert_int_equal(pod.inv.n_conf, NI_MAX_CONF);
    assert_true(found(NI_F_FACT_TRUNCATED));
}

static void test_conf_files(void **state)
{
    static const struct {
        const char *env1, *env2, *want;
    } cases[] = {
        {"X=", "X=", "NCCL_A=etc|NCCL_E=1"},
        {"HOME=/root", "X=", "NCCL_A=home|NCCL_H=1|NCCL_E=1"},
        {"HOME=", "X=", "NCCL_A=etc|NCCL_E=1"},
        {"HOME=/nobody", "X=", "NCCL_A=etc|NCCL_E=1"},
        {"NCCL_CONF_FILE=/opt/my.conf", "X=", "NCCL_A=mine|NCCL_E=1"},
        {"NCCL_CONF_FILE=/opt/my.conf", "HOME=/root", "NCCL_A=mine|NCCL_E=1"},
        {"NCCL_CONF_FILE=my.conf", "HOME=/root", "NCCL_A=cwd|NCCL_E=1"},
        {"NCCL_CONF_FILE=", "HOME=/root", "NCCL_A=home|NCCL_H=1|NCCL_E=1"},
        {"NCCL_CONF_FILE=/missing", "HOME=/root",
         "NCCL_A=etc|NCCL_E=1"}, /* replaces the home file even so */
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        pod_reset(NULL);
        set_env(cases[i].env1);
        set_env(cases[i].env2);
        line("f etc/nccl.conf NCCL_A=etc\\nNCCL_E=1");
        line("f root/.nccl.conf NCCL_A=home\\nNCCL_H=1");
        line("f opt/my.conf NCCL_A=mine");
        line("l proc/self/cwd /job");
        line("f job/my.conf NCCL_A=cwd");
        gather();
        if (strcmp(conf(), cases[i].want) != 0)
            fail_msg("%s %s: %s", cases[i].env1, cases[i].env2, conf());
    }
}

/* $HOME is the home to NCCL 2.30.3 and later, the user database's to older ones: both count. */
static void test_conf_homes(void **state)
{
    static const struct {
        const char *home, *passwd, *want, *told;
    } cases[] = {
        {"HOME=/root", "u:x:7:7::/home/u:/bin/sh", "NCCL_A=root|NCCL_A=u|NCCL_B=1", "NCCL_A"},
        {"HOME=/home/u", "u:x:7:7::/home/u:/bin/sh", "NCCL_A=u|NCCL_B=1", ""},
        {"HOME=/home/u/", "u:x:7:7::/home/u:/bin/sh", "NCCL_A=u|NCCL_B=1", ""},
        {"HOME=", "u:x:7:7::/home/u:/bin/sh", "NCCL_A=u|NCCL_B=1", "NCCL_A"},
        {"HOME=/none", "u:x:7:7::/home/u:/bin/sh", "NCCL_A=u|NCCL_B=1", "NCCL_A"},
        {"HOME=/mnt/u", "u:x:7:7::/home/u:/bin/sh", "NCCL_A=u|NCCL_B=1|NCCL_A=u|NCCL_B=1", ""},
        {"HOME=/same", "u:x:7:7::/home/u:/bin/sh", "NCCL_B=1|NCCL_A=u|NCCL_A=u|NCCL_B=1", ""},
        {"HOME=/part", "u:x:7:7::/home/u:/bin/sh", "NCCL_A=u|NCCL_A=u|NCCL_B=1", "NCCL_B"},
        {"HOME=/home/u", "u:x:7:7::/part:/bin/sh", "NCCL_A=u|NCCL_B=1|NCCL_A=u", "NCCL_B"},
        {"HOME=/none", "u:x:7:7::/nowhere:/bin/sh", "", ""},
        {"HOME=/root", "u:x:7:7::/home/none:/bin/sh", "NCCL_A=root", "NCCL_A"},
        {"HOME=", "v:x:77:7::/root:/x\\nu:x:7:7::/home/u:\\nw:x:7:7::/root:/x", "NCCL_A=u|NCCL_B=1",
         "NCCL_A"},
        {"HOME=", "u:x:7:7::/home/u", "", ""}, /* no line of a user database */
        {"HOME=", "u:x:-7:7::/home/u:/x\\n::::::::\\n+::::::\\n", "", ""},
        {"HOME=", "", "", ""},
    };
    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        pod_reset(NULL);
        set_env(cases[i].home);
        line("f proc/self/status Uid:\\t7\\t0\\t0\\t0\\n");
        line("f root/.nccl.conf NCCL_A=root");
        line("f home/u/.nccl.conf NCCL_A=u\\nNCCL_B=1");
        line("l mnt /home");
        line("f same/.nccl.conf NCCL_B=1\\nNCCL_A=u");
        line("f part/.nccl.conf NCCL_A=u");
        line("f etc/passwd %s", cases[i].passwd);
        gather();
        if (strcmp(conf(), cases[i].want) != 0 ||
            strcmp(subject_of(NI_F_CONF_HOME_DIFFERS), cases[i].told) != 0)
            fail_msg("%zu: %s", i, conf());
    }
}

/* NVSHMEM's syntax and order are its own: the last definition counts, and blanks do not. */
static void test_conf_nvshmem(void **state)
{
    (void)state;
    pod_reset(NULL);
    pod.ask.nvshmem = true;
    set_env("HOME=/root");
    set_env("NVSHMEM_CONF_FILE=/opt/my.conf");
    line("f etc/nvshmem.conf  NVSHMEM_A = 1 2 # words\\nNVSHMEM_B=b#c\\r\\n# "
         "NVSHMEM_C=1\\nNCCL_A=1");
    line("f root/.nvshmem.conf NVSHMEM_B=home\\nNVSHMEM_D=#");
    line("f opt/my.conf NVSHMEM_D=4\\nNVSHMEM_D=5");
    gather();
    assert_string_equal(conf(), "NVSHMEM_A=1 2|NVSHMEM_B=home|NVSHMEM_D=5");
    assert_string_equal(ni_find_overriding_conf(&pod.inv, "NVSHMEM_B")->file,
                        "/root/.nvshmem.conf");
    assert_null(ni_find_overriding_conf(&pod.inv, "NVSHMEM_C"));
}

/* RCCL reads files of its own names, and none of NCCL's. */
static void test_conf_rccl(void **state)
{
    (void)state;
    for (int amd = 0; amd <= 1; amd++) {
        pod_reset(NULL);
        line("f etc/nccl.conf NCCL_A=nccl");
        line("f etc/rccl.conf NCCL_A=rccl");
        line("l sys/bus/pci/drivers/amdgpu/0000:05:00.0 "
             "../../../../devices/pci0000:00/0000:05:00.0");
        if (amd)
            line("f dev/kfd");
        gather();
        assert_string_equal(conf(), amd ? "NCCL_A=rccl" : "NCCL_A=nccl");
    }
}

static void test_conf_denied(void **state)
{
    (void)state;
    pod_reset(NULL);
    set_env("HOME=/root");
    line("e root/.nccl.conf EACCES");
    line("f etc/nccl.conf NCCL_A=1");
    gather();
    assert_string_equal(conf(), "NCCL_A=1");
    assert_string_equal(subject_of(NI_F_CONF_UNREADABLE), "/root/.nccl.conf");
    assert_string_equal(pod.inv.conf[0].file, "/etc/nccl.conf");
}

/* ---- the library that the user names ---- */

/* The version that the names of files show; nothing is loaded. */
static void test_named_nccl(void **state)
{
    static const struct {
        const char *named;
        int version;
    } cases[] = {
        {"/usr/lib/libnccl.so.2", 23102},     {"/usr/lib/libnccl.so.2.31.2", 23102},
        {"/opt/far/libnccl.so", 22809},       {"/opt/py/nvidia/nccl/lib/libnccl.so.2", 23007},
        {"/opt/loop/libnccl.so.2", 0},        {"/usr/lib/libnccl.so.2.x", 0},
        {"/none/nvidia/nccl/lib/libnccl", 0}, {"/opt/own/libnccl.so.2", 0},
    };

    (void)state;
    for (size_t i = 0; i < NI_COUNT(cases); i++) {
        pod_reset(NULL);
        line("f usr/lib/libnccl.so.2.31.2");
        line("l usr/lib/libnccl.so.2 libnccl.so.2.31.2");
        line("f usr/local/lib/libnccl.so.2.28.9");
        line("l opt/far/libnccl.so /usr/local/lib/libnccl.so.2.28.9");
        line("f opt/py/nvidia_nccl_cu13-2.30.7.dist-info/METADATA");
        line("f opt/py/nvidia/nccl/lib/libnccl.so.2");
        line("l opt/loop/libnccl.so.2 libnccl.so.2");
        line("f opt/own/libnccl.so.2");
        pod.ask.nccl = cases[i].named;
        gather();
        if (pod.inv.nccl_version != cases[i].version)
            fail_msg("%s: %d", cases[i].named, pod.inv.nccl_version);
    }
    pod.ask.nccl = NULL;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),           cmocka_unit_test(test_two_of_eight),
        cmocka_unit_test(test_no_and_all_gpus), cmocka_unit_test(test_gpus_from_sysfs),
        cmocka_unit_test(test_gpu_ids),         cmocka_unit_test(test_amd),
        cmocka_unit_test(test_gdr_facts),       cmocka_unit_test(test_c2c),
        cmocka_unit_test(test_memlock),         cmocka_unit_test(test_caps),
        cmocka_unit_test(test_conf_syntax),     cmocka_unit_test(test_conf_too_long),
        cmocka_unit_test(test_conf_files),      cmocka_unit_test(test_conf_homes),
        cmocka_unit_test(test_conf_nvshmem),    cmocka_unit_test(test_conf_rccl),
        cmocka_unit_test(test_conf_denied),     cmocka_unit_test(test_conf_of_other_versions),
        cmocka_unit_test(test_named_nccl),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
