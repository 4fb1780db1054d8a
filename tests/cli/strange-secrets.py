#!/usr/bin/env python3
"""
strange-secrets.py NCCL-INIT MKTREE NODES DIR [PART]: plants secrets in every file and variable that a masked recording
can hold, takes recordings, and searches them. Written without having read what the program keeps: only the manual,
SECURITY.md, docs/reference/tree.md, and what a recording without --mask shows. PART: of nodes, forms and options one in so many.

SPDX-License-Identifier: Apache-2.0
"""
import base64
import os
import re
import subprocess
import sys
import urllib.parse

BIN, MKTREE, NODES, WORK = sys.argv[1:5]
PART = int(sys.argv[5]) if len(sys.argv) > 5 else 1

planted = {}  # secret -> place
# what a secret that is no word has in it
MARKERS = ("-beef-4bad-", "c0ffee", "deadc0de", "02:aa:bb:", "b8ce:f6", "b8:ce:f6", "02:de:ad:be", "02:be:ef:ca", "b8cef6")
failures = 0
recordings = 0
host = "\n\n\n\n\n\n\n"  # the name of this machine, where it counts


def secret(place):
    """A word that is nowhere else, and valid as a name of nearly anything."""
    word = f"zq{len(planted):04x}wv"
    planted[word] = place
    return word


def also(place, text):
    """A secret of a form of its own: a GUID, a MAC address, a serial number."""
    text = str(text)
    assert any(marker in text.lower() for marker in MARKERS), text
    planted[text.lower()] = place
    return text


def fail(text):
    global failures
    failures += 1
    print(f"FAILED: {text}")


# ---- reading a recording ----

def unescape(line):
    simple = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}

    def one(m):
        return chr(int(m[1][1:], 16)) if m[1][0] == "x" else simple.get(m[1], m[1])

    return re.sub(r"\\(x[0-9a-fA-F]{2}|.)", one, line)


def forms_of(text):
    """The text, and what somebody could decode it to."""
    plain = "\n".join(unescape(line) for line in text.split("\n"))
    yield text
    yield plain
    yield urllib.parse.unquote(plain)
    yield re.sub(r"\\(?:x([0-9a-fA-F]{2})|([0-7]{3}))",
                 lambda m: chr(int(m[1], 16) if m[1] else int(m[2], 8) & 255), plain)
    yield re.sub(r"\\u([0-9a-fA-F]{4})", lambda m: chr(int(m[1], 16)), plain)
    yield plain[::-1]
    for word in re.findall(r"[A-Za-z0-9+/]{8,}={0,2}", plain):
        try:
            yield base64.b64decode(word + "=" * (-len(word) % 4)).decode("latin-1")
        except ValueError:
            pass
    for word in re.findall(r"(?:[0-9a-fA-F]{2}){6,}", plain):
        yield bytes.fromhex(word).decode("latin-1")


def search(text, what):
    global recordings
    recordings += 1
    if not text.strip():
        fail(f"{what}: nothing was recorded")
        return
    found = {}
    for form in forms_of(text):
        form = form.lower()
        for word in re.findall(r"zq[0-9a-f]{4,5}wv", form):
            found[word] = True
        for marker in MARKERS:
            if marker in form:
                found[marker] = True
        if host in form:
            found[host] = True
    for word in found:
        lines = [line for line in text.split("\n") if word in unescape(line).lower()]
        fail(f"{what}: planted in {planted.get(word, 'another')}: {lines[0][:400] if lines else 'encoded: ' + word}")


def clean_env(env):
    env = {k: v for k, v in env.items() if "\0" not in v}
    for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "LLVM_PROFILE_FILE", "GCOV_PREFIX"):
        if name in os.environ:
            env[name] = os.environ[name]
    return env


def snapshot(what, env, *args, mask=True):
    """The recording; the empty text if the program refused to take one."""
    output = os.path.join(WORK, "recording.tree")
    if os.path.exists(output):
        os.unlink(output)
    command = [BIN, "snapshot", "-o", output, *(["--mask"] if mask else []), *args]
    done = subprocess.run(command, env=clean_env(env), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=120, check=False)
    if done.returncode not in (0, 125):
        fail(f"{what}: status {done.returncode}: {done.stderr.decode(errors='replace')[:300]}")
    if not os.path.exists(output):
        return ""
    with open(output, encoding="latin-1") as file:
        return file.read()


# ---- a root ----

def make_root(name, node):
    root = os.path.join(WORK, name)
    subprocess.run([MKTREE, os.path.join(NODES, node + ".tree"), root], check=True)
    return root


def write(root, path, text):
    path = os.path.join(root, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.lexists(path):
        os.unlink(path)
    with open(path, "w", encoding="latin-1") as file:
        file.write(text)


def link(root, path, target):
    path = os.path.join(root, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.lexists(path):
        os.unlink(path)
    os.symlink(target, path)


def read(root, path):
    try:
        with open(os.path.join(root, path), encoding="latin-1") as file:
            return file.read()
    except OSError:
        return ""


def uuid(place):
    n = len(planted)
    return also(place, f"d0d0{n:04x}-beef-4bad-9bad-c0ffee{n:06x}")


def long_id(place):
    return also(place, f"{len(planted):04x}c0ffee" * 6 + "beef")


CONF_NAMES = """NCCL_HOSTID NCCL_DEBUG_FILE NCCL_TOPO_FILE NCCL_TOPO_DUMP_FILE NCCL_GRAPH_FILE NCCL_SOCKET_IFNAME NCCL_NET
NCCL_NET_PLUGIN NCCL_IB_HCA NCCL_COMM_ID NCCL_TUNER_PLUGIN NCCL_TUNER_CONFIG_FILE NCCL_PROFILER_PLUGIN NCCL_CONF_FILE
NCCL_DEBUG NCCL_DEBUG_SUBSYS NCCL_ALGO NCCL_PROTO NCCL_IB_GID_INDEX NCCL_IB_MERGE_NICS NCCL_IB_DISABLE
NCCL_NETDEVS_POLICY NCCL_CROSS_NIC NCCL_IB_ADDR_RANGE NCCL_IB_ADDR_FAMILY NCCL_RAS_ADDR NCCL_OOB_NET_IFNAME
NCCL_IB_OOO_RQ NCCL_COLLNET_ENABLE NCCL_NET_MERGE_LEVEL NCCL_NET_FORCE_MERGE NCCL_CUMEM_ENABLE NCCL_IB_PCI_RELAXED_ORDERING
NCCL_SOCKET_FAMILY NCCL_LAUNCH_MODE NCCL_IB_TC NCCL_IB_SL NCCL_IB_FIFO_TC NCCL_IB_TIMEOUT NCCL_IB_PKEY NCCL_GIN_PLUGIN
NCCL_ENV_PLUGIN NCCL_MNNVL_UUID NCCL_MNNVL_CLIQUE_ID NCCL_NET_ID NCCL_INSPECTOR_DUMP_DIR NCCL_INSPECTOR_ENABLE
NCCL_RAS_ENABLE NCCL_SHM_LOCALITY NCCL_DMABUF_ENABLE NCCL_NET_GDR_LEVEL NCCL_P2P_LEVEL NCCL_IB_QPS_PER_CONNECTION
RCCL_MSCCL_ENABLE NVSHMEM_BOOTSTRAP NVSHMEM_HCA_LIST NVSHMEM_DEBUG_FILE NVSHMEM_BOOTSTRAP_UID_SESSION_ID""".split()


def texts(place):
    """What a value could be, each with a secret of its own."""
    def w(form):
        return secret(f"{place}, as {form}")

    return [
        w("a word"),
        f"/home/{w('a user')}/{w('a file')}.so",
        f"https://{w('a login')}:{w('a password')}@{w('a host')}.example.org/{w('a path')}?token={w('a token')}",
        f"{w('a host')}.{w('a namespace')}.svc.{w('a cluster')}.local:29500",
        f"mlx5_2:1,{w('a device')}:1,^{w('an excluded device')}",
        f"0000:3b:00.2,{w('a second address')}",
        f"=eth0,{w('an interface')}",
        f"^net1,={w('an interface')}",
        f'{{"name":"{w("a member")}","{w("a key")}":1}}',
        f"1 {w('after a number')}",
        f"INFO,{w('after a known word')}",
        f"/etc/{w('below /etc')}/x",
        f"/var/run/{w('below /var/run')}/{w('a name')}",
        f"/lib64/../home/{w('below ..')}/x",
        f"{w('a mail user')}@example.org",
        f"10.0.103.6 # {w('a comment')}",
        f"10.103.0.6:{w('a port')}",
        f"fe80::1%{w('a zone')}",
        f"0x{also(place + ', as hex', f'{len(planted):05x}deadc0de{len(planted):05x}')}",
        uuid(f"{place}, as UUID"),
        long_id(f"{place}, as the id of a container"),
        also(f"{place}, as MAC", f"02:aa:bb:{len(planted) >> 8 & 255:02x}:{len(planted) & 255:02x}:5d"),
        also(f"{place}, as GUID", f"b8ce:f603:00{len(planted) & 255:02x}:{len(planted) & 0xffff:04x}"),
        f"net1\n{w('a second line')}",
        f"net1\t{w('after a tab')}",
        f"'{w('in quotes')}' \"{w('in double quotes')}\"",
        base64.b64encode(f"{w('base64')}".encode()).decode(),
        f"$({w('a command')})",
        f"{w('with an equal sign')}={w('value')}",
        f"rail{w('after a word of ours')}",
        f"mlx5_{w('after mlx5_')}",
        f"eth0{w('after eth0')}",
        f"ring;{w('a list')},tree:{w('a list')}",
    ]


def plant_files(root):
    """Each file in its own form: valid, with secrets in each place that the form has."""
    def s(place):
        return secret(place)

    write(root, "proc/cmdline",
          f"BOOT_IMAGE=(hd0,gpt2)/{s('cmdline image')} root=UUID={uuid('cmdline root')} ro iommu=pt intel_iommu=on "
          f"nfsroot={s('cmdline nfs server')}:/{s('cmdline nfs path')} ip=10.1.1.1::10.1.1.2:255.0.0.0:{s('cmdline host')}:eth0 "
          f"iommu.{s('cmdline iommu key')}=1 iommu={s('cmdline iommu value')} amd_iommu=on,{s('cmdline amd_iommu')} "
          f"iommu.passthrough={s('cmdline passthrough')} iommu.strict={s('cmdline strict')} pci={s('cmdline pci')} "
          f"iommu=pt,{s('cmdline second')} token={s('cmdline token')} {s('cmdline word')} "
          f"systemd.setenv=\"PW={s('cmdline quoted')} iommu=off\" -- {s('cmdline of init')}\n")
    write(root, "proc/1/comm", s("comm of PID 1") + "\n")
    pod = uuid("pod uid in mountinfo")
    write(root, "proc/self/mountinfo", "".join(line + "\n" for line in [
        f"1432 1291 0:412 / / rw,relatime shared:{s('mount tag')} - overlay {s('mount overlay')} rw,lowerdir=/var/lib/{s('lowerdir')},"
        f"upperdir=/x/{long_id('upperdir')}/fs,workdir=/home/{s('workdir')}",
        "1433 1432 0:415 / /proc rw,nosuid - proc proc rw",
        f"1434 1432 0:416 /{s('dev root')} /dev rw,nosuid - tmpfs {s('dev source')} rw,size=65536k,mode=755,{s('dev option')}",
        f"1435 1434 0:417 /{s('shm root')} /dev/shm rw,{s('shm option')},nosuid - tmpfs {s('shm source')} "
        f"rw,size=65536k,uid=1000,context={s('shm context')},{s('shm super')}=64k",
        f"1436 1432 0:50 /{s('nfs root')} /home/{s('nfs mount point')} rw - nfs4 {s('nfs server')}.example:/{s('nfs export')} "
        f"rw,addr=10.9.9.9,clientaddr=10.9.9.8,username={s('nfs user')},password={s('nfs password')}",
        f"1437 1432 8:1 /var/lib/kubelet/pods/{pod}/volumes/{s('volume')} /etc/podinfo ro - ext4 /dev/{s('volume device')} rw",
        f"1438 1432 8:1 /{long_id('hosts container')}/hosts /etc/hosts rw - ext4 /dev/mapper/{s('hosts device')} rw",
        f"1439 1432 0:60 / /usr/local/{s('image mount')} ro,nosuid - fuse {s('fuse source')} rw",
        f"1440 1432 0:61 / /home/{s('mount of the user')}/bin rw - lustre 10.1.1.1@o2ib:/{s('lustre')} rw,{s('lustre option')}",
    ]))
    write(root, "proc/self/limits", read(root, "proc/self/limits").rstrip("\n") +
          f"\nMax {s('limit name')}  7  8  {s('limit unit')}\n{s('limit line')}\n")
    status = read(root, "proc/self/status").rstrip("\n")
    status = re.sub(r"(?m)^Name:.*", f"Name:\t{s('status name')}", status)
    write(root, "proc/self/status", f"{status}\nKthread:\t{s('status value')}\n{s('status key')}:\t1\n")
    link(root, "proc/self/exe", f"/home/{s('exe user')}/{s('exe directory')}/nccl-init")
    link(root, "proc/self/cwd", f"/home/{s('cwd user')}/{s('cwd')}")
    host, domain = s("host name"), s("domain")
    write(root, "proc/sys/kernel/hostname", host + "\n")
    write(root, "proc/sys/kernel/osrelease", f"5.14.0-570.{s('osrelease')}.x86_64\n")
    write(root, "etc/hostname", host + "\n")
    write(root, "etc/hosts",
          f"# {s('hosts comment')}\n127.0.0.1 localhost {s('hosts of localhost')}\n"
          f"10.128.2.26 {host}.{domain} {host} {s('hosts alias')} # {s('hosts trailing comment')}\n"
          f"10.128.2.27 {s('another host')}\n::1 {s('hosts v6')}\n{s('hosts odd line')}\n")
    write(root, "etc/resolv.conf", f"search {s('resolv search')}\n")
    write(root, "etc/passwd",
          f"root:{s('passwd hash')}:0:0:{s('gecos')},{s('room')}:/home/{s('passwd home')}:/bin/{s('shell')}\n"
          f"{s('passwd user')}:x:1000:1000:{s('gecos')}:/home/{s('passwd home')}:/bin/sh\n")
    conf = [f"# {s('conf comment')}", f"{s('conf line')}", f"MY_{s('conf key').upper()}={s('conf foreign')}",
            f"NCCL_{s('conf unknown name').upper()}=1", f"  # NCCL_DEBUG={s('conf indented comment')}",
            f"NCCL_DEBUG=INFO # {s('conf trailing comment')}", f"NCCL_IB_TIMEOUT=22;{s('conf semicolon')}",
            f"NCCL_IB_TC {s('conf no sign')}", f"AWS_SECRET={s('conf aws')}", f"export NCCL_DEBUG={s('conf export')}"]
    for path in ("etc/nccl.conf", "etc/rccl.conf", "etc/nvshmem.conf"):
        lines = list(conf)
        for i, name in enumerate(CONF_NAMES):
            values = texts(f"{path} {name}")
            lines.append(f"{name}={values[i % len(values)]}")
            lines.append(f"{name}={values[(i * 7 + 3) % len(values)]}")
        write(root, path, "\n".join(lines) + "\n")
        write(root, f"home/zqhomezz/.{os.path.basename(path)}", "\n".join(lines) + "\n")
    for path in ("etc/topology.xml", "var/run/nvidia-topologyd/virtualTopology.xml"):
        write(root, path,
              f'<?xml version="1.0"?><!-- {s("topology comment")} -->\n<system version="1">\n'
              f'<cpu numaid="0" affinity="ffff" arch="x86_64" vendor="{s("topology vendor")}" host_hash="0xc0ffee1234beef01">\n'
              f'<pci busid="0000:3b:00.2" class="0x020000" vendor="0x15b3" link_speed="{s("topology speed")}">\n'
              f'<nic><net name="{s("topology net")}" dev="0" guid="0x{also("topology guid", "b8cef60300c0ffee")}"/></nic></pci>\n'
              f'{s("topology text")}</cpu></system>\n')
    status = []
    for i, net in enumerate(("net1", "net2")):
        status.append(
            f'{{"name":"{s("status namespace")}/{s("status network")}","interface":"{net}","ips":["10.103.0.{6 + i}"],'
            f'"mac":"{also("status mac", f"02:de:ad:be:ef:{i:02x}")}","mtu":9000,"default":{"false"},'
            f'"dns":{{"nameservers":["10.7.7.7"],"domain":"{s("status domain")}","search":["{s("status search")}"]}},'
            f'"{s("status key")}":"{s("status value")}","gateway":["{s("status gateway")}"],'
            f'"device-info":{{"type":"pci","version":"1.1.0","{s("device key")}":"{s("device value")}",'
            f'"pci":{{"pci-address":"0000:{"3b" if i == 0 else "5d"}:00.2","rdma-device":"mlx5_{2 + i}","{s("pci key")}":"{s("pci value")}"}}}}}}')
    network_status = f"[{','.join(status)}]"
    write(root, "etc/podinfo/network-status", network_status)
    for i, bdf in enumerate(("0000:3b:00.2", "0000:5d:00.2")):
        write(root, f"var/run/kubernetes.io/dra-device-attributes/resourceclaims/{s('claim folder')}/{s('request folder')}/"
                    f"{s('driver folder')}-metadata.json",
              f'{{"apiVersion":"metadata.resource.k8s.io/v1beta9{s("api version")}","kind":"DeviceMetadata"}}\n'
              f'{{"apiVersion":"metadata.resource.k8s.io/v1beta1","kind":"DeviceMetadata","{s("dra key")}":["{s("dra value")}"],'
              f'"metadata":{{"name":"{s("claim name")}","namespace":"{s("claim namespace")}","uid":"{uuid("claim uid")}",'
              f'"generation":2,"annotations":{{"{s("annotation")}":"{s("annotation value")}"}}}},"podClaimName":"{s("pod claim")}",'
              f'"requests":[{{"name":"{s("request")}/{s("subrequest")}","devices":[{{"name":"{s("dra device")}","driver":"{s("dra driver")}",'
              f'"pool":"{s("dra pool, a node")}","attributes":{{"resource.kubernetes.io/pciBusID":{{"string":"{bdf}"}},'
              f'"{s("attribute domain")}/{s("attribute")}":{{"string":"{s("attribute value")}"}},'
              f'"k8s.cni.cncf.io/deviceID":{{"string":"{s("deviceID")}"}},'
              f'"resource.kubernetes.io/pcieRoot":{{"strings":["{s("pcie root")}"]}}}},'
              f'"networkData":{{"interfaceName":"net{1 + i}","hardwareAddress":"{also("dra mac", f"02:be:ef:ca:fe:{i:02x}")}",'
              f'"ips":["10.103.0.6/24"],"{s("network key")}":"{s("network value")}"}}}}]}}]}}\n{s("after the objects")}\n')
    write(root, "proc/driver/nvidia/version", f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  {s('nvrm builder')}@{s('nvrm host')}\n"
                                              f"GCC version: {s('gcc')}\n")
    write(root, "proc/driver/nvidia/params", f"EnableMSI: 1\n{s('param')}: 1\nRegistryDwords: \"{s('registry')}\"\nRmMsg: \"{s('rmmsg')}\"\n")
    write(root, "proc/driver/nvidia/gpus/0000:17:00.0/information",
          f"Model: {s('gpu model')}\nGPU UUID: GPU-{uuid('gpu uuid')}\nBus Location: 0000:17:00.0\n")
    write(root, "sys/fs/cgroup/rdma.max", f"mlx5_2 hca_handle=max hca_object={s('rdma.max')}\n{s('rdma.max device')} hca_handle=1\n")
    for module in ("mlx5_core/version", "nvidia/version", "nvidia_peermem/version", "ib_core/parameters/netns_mode"):
        write(root, f"sys/module/{module}", f"1.0-{s(module)}\n")
    for n, (directory, _, files) in enumerate(os.walk(os.path.join(root, "sys"))):
        where = os.path.relpath(directory, root)
        for name in files:
            path = f"{where}/{name}"
            if name == "node_desc":
                write(root, path, f"{s('node_desc, host')} mlx5_{n}\n")
            elif name in ("board_id", "fw_ver", "hca_type", "vpd", "serial_number", "ifalias", "phys_port_name"):
                write(root, path, f"{s(path)}\n")
            elif name in ("node_guid", "sys_image_guid"):
                write(root, path, also(path, f"b8ce:f6{n & 255:02x}:0{n >> 8 & 15:x}11:c0de") + "\n")
            elif name == "address":
                write(root, path, also(path, f"b8:ce:f6:{n >> 8 & 255:02x}:{n & 255:02x}:1e") + "\n")
        if where.endswith("/device") or "/0000:" in where and os.path.exists(os.path.join(directory, "vendor")):
            write(root, f"{where}/vpd", f"\x82\x05\0{s('vpd name')}\x90\x20\0SN\x08{s('vpd serial')}V0\x08{s('vpd vendor')}\n")
            write(root, f"{where}/label", s("pci label") + "\n")
    # the lower half of a link-local GID is the GUID of the port, or made of its MAC address
    gid = "fe80:0000:0000:0000:b8ce:f6ff:fe77:1e5d"
    also("a MAC address in a GID", "b8ce:f6ff:fe77:1e5d")
    also("a MAC address in if_inet6", "b8cef6fffe771e5e")
    for directory, _, files in os.walk(os.path.join(root, "sys")):
        if os.path.basename(directory) == "gids" and "0" in files:
            write(root, os.path.relpath(os.path.join(directory, "0"), root), gid + "\n")
    write(root, "proc/net/if_inet6", read(root, "proc/net/if_inet6") +
          "fe80000000000000b8cef6fffe771e5e 14 40 20 80     net1\n" + f"{s('if_inet6 line')}\n")
    write(root, "proc/net/route", read(root, "proc/net/route") + f"{s('route line')}\tzz\n")
    write(root, "proc/net/fib_trie", read(root, "proc/net/fib_trie") + f"{s('fib_trie table')}:\n  +-- {s('fib_trie line')}\n")
    return network_status


def option_names():
    manual = os.path.join(NODES, "..", "..", "docs", "reference", "nccl-init.8")
    with open(manual, encoding="utf-8") as file:
        return sorted(set(re.findall(r"NCCLINIT_[A-Z_]*[A-Z]", file.read())))


FOREIGN = """HOSTNAME USER LOGNAME MAIL PATH PWD KUBECONFIG KUBERNETES_SERVICE_HOST KUBERNETES_PORT SLURM_JOB_ID SLURM_JOB_USER
SLURM_NODELIST SLURM_LOCALID SLURM_STEP_TASKS_PER_NODE SLURMD_NODENAME OMPI_COMM_WORLD_LOCAL_RANK OMPI_COMM_WORLD_LOCAL_SIZE
OMPI_MCA_orte_hnp_uri PMIX_NAMESPACE PMIX_RANK MPI_LOCALRANKID MPI_LOCALNRANKS MV2_COMM_WORLD_LOCAL_RANK
MV2_COMM_WORLD_LOCAL_SIZE PALS_LOCAL_RANKID PALS_LOCAL_SIZE LOCAL_RANK LOCAL_WORLD_SIZE RANK WORLD_SIZE MASTER_ADDR
MASTER_PORT CUDA_VISIBLE_DEVICES CUDA_DEVICE_ORDER HIP_VISIBLE_DEVICES ROCR_VISIBLE_DEVICES NVIDIA_VISIBLE_DEVICES
AWS_SECRET_ACCESS_KEY HF_TOKEN WANDB_API_KEY DATABASE_URL UCX_NET_DEVICES UCX_TLS UCX_IB_GID_INDEX NVSHMEM_HCA_LIST
NVSHMEM_BOOTSTRAP NVSHMEM_ENABLE_NIC_PE_MAPPING GLOO_SOCKET_IFNAME TP_SOCKET_IFNAME MPI_HOME OMPI_MCA_btl_tcp_if_include
MLX5_DEBUG_FILE VERBS_LOG_FILE TERM NO_COLOR LD_PRELOAD LD_LIBRARY_PATH RCCL_MSCCL_ENABLE TORCH_NCCL_DEBUG_INFO_TEMP_FILE
COLUMNS FI_PROVIDER FI_EFA_USE_DEVICE_RDMA SHARP_COLL_LOG_FILE MELLANOX_VISIBLE_DEVICES NIXL_PLUGIN_DIR MOONCAKE_DEVICE
VLLM_HOST_IP SGLANG_HOST_IP NCCL_CONF_FILE HOME""".split()
FORS = "ucx,nvshmem,gloo,torchcomms"


def plain_variables(index):
    env = {}
    for name in FOREIGN + CONF_NAMES:
        values = texts(f"variable {name}")
        env[name] = values[index % len(values)]
    env["LD_PRELOAD"] = env["LD_LIBRARY_PATH"] = ""  # the program would not start
    env[f"NCCL_{secret('name of a variable').upper()}"] = "1"
    env["NCCL_FOO_BAR_BAZ"] = texts("variable NCCL_FOO_BAR_BAZ")[index]
    return env


def device_variables(network_status):
    s = secret
    info = (f'{{"0000:3b:00.2":{{"generic":{{"deviceID":"0000:3b:00.2","{s("generic key")}":"{s("generic value")}"}},"netdevice":{{'
            f'"{s("netdevice")}":1}},"rdma":{{"uverbs":"/dev/infiniband/uverbs2","rdma_cm":"/dev/{s("rdma_cm")}",'
            f'"{s("rdma key")}":"{s("rdma value")}"}},"{s("info kind")}":{{"a":"{s("info member")}"}}}}}}')
    return {
        "PCIDEVICE_VENDOR_COM_RAIL1": f"0000:3b:00.2,{s('address in a list')}",
        "PCIDEVICE_VENDOR_COM_RAIL1_INFO": info,
        "PCIDEVICE_VENDOR_COM_RAIL2": "0000:5d:00.2",
        "PCIDEVICE_VENDOR_COM_RAIL2_INFO": f'{{"{s("info address")}":{{"generic":{{"deviceID":"{s("device")}"}}}}}}',
        "PCIDEVICE_VENDOR_COM_RAIL3": s("no address"),
        "PCIDEVICE_VENDOR_COM_RAIL3_INFO": s("no json"),
        "SRIOVNETWORK_VF_A": s("sriovnetwork"),
        "SRIOVNETWORK_RAIL_DEVICE_0": f"0000:3b:00.2,{s('sriovnetwork')}",
        "SRIOVNETWORK_PF_NAME": s("sriovnetwork pf"),
        "SRIOVNETWORK_" + s("sriovnetwork name").upper(): "0000:3b:00.2",
        "NETWORK_STATUS": network_status,
    }


# ---- the tests ----

def test_files():
    """Valid files, and the devices of the pod by each source in turn."""
    for node in ("dra-metadata", "network-status", "h100-12dev", "mi300x-bnxt", "conf-crlf", "hgx-ib")[::(PART + 3) // 4]:
        root = make_root(f"valid-{node}", node)
        network_status = plant_files(root)
        devices = device_variables(network_status)
        for name, env in (("no variables", {}), ("HOME", {"HOME": "/home/zqhomezz"}), ("devices", devices),
                          ("status", {"NETWORK_STATUS": network_status}),
                          ("broken status", {"NETWORK_STATUS": network_status[:-40] + secret("broken status")})):
            what = f"files of {node}, {name}"
            text = snapshot(what, env, "--root", root)
            search(text, what)
            whole = snapshot(what, env, "--root", root, mask=False)
            bare = len(set(re.findall(r"zq[0-9a-f]{4,5}wv", unescape(whole))))
            if bare < 100:
                fail(f"{what}: only {bare} of the secrets are in a recording without --mask")
            tree = os.path.join(WORK, "whole.tree")
            with open(tree, "w", encoding="latin-1") as file:
                file.write(whole)
            search(snapshot(what, {}, "--root", tree), what + ", masked afterwards")


def test_each_file():
    """Whatever a recording has, with something foreign in it: instead of it, behind it, on a line of its own, as a part."""
    for node in ("dra-metadata", "h100-12dev", "mi300x-bnxt", "nccl-conf")[::(PART + 3) // 4]:
        root = make_root(f"each-{node}", node)
        whole = snapshot(node, {}, "--root", root, mask=False)
        paths = []
        directory = ""
        for line in whole.split("\n"):
            kind, _, rest = line.partition(" ")
            path = unescape(rest.partition(" ")[0])
            if kind == "d":
                directory = path
            elif kind == "f" and "{" not in path:
                paths.append(directory + path[1:] if path.startswith("./") else path)
        paths = [p for p in dict.fromkeys(paths) if os.path.isfile(os.path.join(root, p)) and not p.endswith("environ")]
        old = {p: read(root, p) for p in paths}
        if len(paths) < 50:
            fail(f"{node}: only {len(paths)} files to plant in")
        for form in range(8):
            for turn in range(5):
                for i, path in enumerate(paths):
                    was = old[path].rstrip("\n")
                    word = secret(f"{path}, form {form}")
                    new = [word, f"{was} {word}", f"{was}\n{word}", f"{was}-{word}", f"{was},{word}", f"{was}.{word}.example",
                           f"{word}{was}", f"{was}{word}"][form]
                    write(root, path, new + "\n" if i % 5 == turn else old[path])
                what = f"{node}, form {form}, turn {turn}"
                search(snapshot(what, {}, "--root", root), what)


def test_variables():
    root = make_root("variables", "dra-metadata")
    number = len(texts("to count"))
    for i in range(0, number, PART):
        env = plain_variables(i)
        what = f"variables, form {i}"
        search(snapshot(what, env, "--root", root), what)
        search(snapshot(what, env, "--root", root, f"--for={FORS}"), what + ", --for")


def test_options():
    """One at a time: a wrong one is refused, and then there is no recording."""
    root = make_root("options", "dra-metadata")
    taken = 0
    for name in option_names():
        if name in ("NCCLINIT_ROOT", "NCCLINIT_OUTPUT"):
            continue
        for i, value in enumerate(texts(f"variable {name}")):
            if (i + len(name)) % PART != 0:  # not the same ones of each name
                continue
            text = snapshot(f"{name}, form {i}", {name: value}, "--root", root)
            if text:
                taken += 1
                search(text, f"{name}, form {i}")
    if taken * PART < 20:
        fail(f"only {taken} options could be recorded")


DEMANDS = ("NCCLINIT_MODE", "NCCLINIT_REQUIRE", "NCCLINIT_PREFLIGHT", "NCCLINIT_SELFTEST", "NCCLINIT_STRICT")


def refuse(what, env, *args):
    output = os.path.join(WORK, "refused.tree")
    if os.path.exists(output):
        os.unlink(output)
    done = subprocess.run([BIN, "run", f"--snapshot-on-refusal={output}", "--require=rails=16", *args, "--", "true"],
                          env=clean_env(env), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=120, check=False)
    # A demand that cannot be understood ends the program before it reads anything of the node.
    unclear = any(f"command not started: {name}: ".encode() in done.stderr for name in DEMANDS if name in env)
    if done.returncode == 125 and unclear:
        if os.path.exists(output):
            fail(f"{what}: recorded, although the demand could not be understood")
        return
    if not os.path.exists(output):
        fail(f"{what}: no recording of the refusal")
        return
    with open(output, encoding="latin-1") as file:
        search(file.read(), what)


def test_refusal():
    """This machine: files cannot be planted, but variables, conf files and a home can."""
    home = os.path.join(WORK, secret("home of the user"))
    os.makedirs(home)
    conf = [f"# {secret('conf of the home')}", f"NCCL_HOSTID={secret('host id in a conf')}", f"FOO={secret('foreign in a conf')}"]
    write(home, ".nccl.conf", "\n".join(conf) + "\n")
    write(home, "named.conf", "\n".join(conf) + "\n")
    global host
    if len(os.uname().nodename) > 5:
        host = os.uname().nodename.lower()
    for i in range(0, len(texts("to count")), PART):
        env = plain_variables(i) | device_variables("[]") | {"HOME": home, "NCCL_CONF_FILE": home + "/named.conf"}
        refuse(f"refusal, form {i}", env)
    for name in option_names():
        if name in ("NCCLINIT_ROOT", "NCCLINIT_SNAPSHOT_ON_REFUSAL", "NCCLINIT_ONCE", "NCCLINIT_WAIT"):
            continue
        values = texts(f"variable {name}")
        for i in (0, 1, 2, 3, 12, 23)[len(name) % PART::PART]:
            refuse(f"refusal, {name}, form {i}", {name: values[i], "HOME": home})


os.chdir(WORK)
only = os.environ.get("ONLY", "test_")
for test in (t for t in (test_files, test_each_file, test_variables, test_options, test_refusal) if only in t.__name__):
    before = failures
    test()
    if failures == before:
        print(f"ok: {test.__name__}: {recordings} recordings so far, {len(planted)} secrets")
sys.exit(1 if failures else 0)
