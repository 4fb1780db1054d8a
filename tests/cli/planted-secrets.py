#!/usr/bin/env python3
"""
planted-secrets.py NCCL-INIT NODES DIR: secrets of kinds that strange-secrets.py does not have, one recording for each:
digits alone, two letters, known words, other spellings and encodings, numbers and addresses that nobody asked for.
Forty were written before their author had read what the program keeps, the others when one of these was found. Each secret stands in a recording without
--mask, or the place is marked as one that is not even read.

SPDX-License-Identifier: Apache-2.0
"""
import os
import re
import subprocess
import sys

BIN, NODES, WORK = sys.argv[1:4]
DIGITS = "4539148803436467"  # as on a card
SMALL = "739201"  # a PIN
VF = "sys/devices/pci0000:3a/0000:3a:01.0/0000:3b:00.2"
DRA = "var/run/kubernetes.io/dra-device-attributes/resourceclaims"
MOUNT = "proc/self/mountinfo"
ROOT_MOUNT = "1432 1291 0:412 / / rw,relatime - overlay overlay rw,lowerdir=/l/1,upperdir=/u,workdir=/w\n"


def status(device, more=""):
    """NETWORK_STATUS, with members of an interface, and of its device."""
    return ('[{"name":"a/b","interface":"net1","ips":["10.103.0.6"],%s"device-info":{"type":"pci","version":"1.1.0",'
            '"pci":{"pci-address":"0000:3b:00.2",%s}}}]' % (more, device))


def metadata(attributes, network='"interfaceName":"net1"'):
    return ('{"kind":"DeviceMetadata","apiVersion":"metadata.resource.k8s.io/v1beta1","metadata":{"name":"c"},"requests":'
            '[{"name":"r","devices":[{"name":"d","driver":"e","pool":"f","attributes":{"resource.kubernetes.io/pciBusID":'
            '{"string":"0000:3b:00.2"},%s},"networkData":{%s}}]}]}' % (attributes, network))


def mounts(line):
    return {MOUNT: ROOT_MOUNT + line + "\n"}


CONF = "etc/nccl.conf"

# (what, files of the root, variables, what must not be in the recording: a regular expression, case does not matter)
# A name of a file that ends in "->" is a link. {} of variables: none.
PLANTED = [
    # digits alone: "numbers stay" is not for these
    ("a card as a host's id", {}, {"NCCL_HOSTID": DIGITS}, DIGITS),
    ("a staff number as the home", {f"home/{DIGITS}/.nccl.conf": "NCCL_IB_TC=7"}, {"HOME": f"/home/{DIGITS}"}, DIGITS),
    ("a short one", {}, {"HOME": "/home/4711"}, "4711"),
    ("a phone number in a path", {}, {"NCCL_DEBUG_FILE": "/tmp/+4915112345678.log"}, "4915112345678"),
    ("digits as a host, with a port", {}, {"NCCL_COMM_ID": f"{DIGITS}:29500"}, DIGITS),
    ("digits as the port of an HCA", {}, {"NCCL_IB_HCA": f"mlx5_2:{DIGITS}"}, DIGITS),
    ("digits in the path of a nccl.conf", {f"opt/{SMALL}/nccl.conf": "NCCL_IB_TC=7"},
     {"NCCL_CONF_FILE": f"/opt/{SMALL}/nccl.conf"}, SMALL),
    ("a number of a limit that nobody asked for",
     {"proc/self/limits": f"Max locked memory  65536  65536  bytes\nMax processes  {DIGITS}  {DIGITS}  processes"}, {}, DIGITS),
    ("the groups of the process",
     {"proc/self/status": f"Uid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\nGroups:\t4711 {SMALL} \nCapEff:\t0000000000000000"}, {}, SMALL),
    ("the user who owns a mount, as a number", mounts(f"1436 1432 0:417 / /dev/shm rw - tmpfs shm rw,size=65536k,uid={SMALL}"),
     {}, SMALL),
    ("a tag of a mount, digits", mounts(f"1436 1432 0:417 / /dev/shm rw shared:{DIGITS} - tmpfs shm rw,size=65536k"), {}, DIGITS),
    ("a serial number as the type of an HCA", {f"{VF}/infiniband/mlx5_2/hca_type": f"MT{DIGITS}"}, {}, DIGITS),
    ("a number as a name in JSON", {}, {"NETWORK_STATUS": status(f'"rdma-device":{DIGITS}')}, DIGITS),
    ("a pin among the parameters of a driver", {"proc/cmdline": f"iommu=pt pin={SMALL} luks.key={DIGITS}"}, {}, f"{SMALL}|{DIGITS}"),
    # short, or a word that the program knows
    ("a user of two letters", {"home/jd/.nccl.conf": "NCCL_IB_TC=7"}, {"HOME": "/home/jd"}, r"home/jd\b"),
    ("a user who is called like a word of NCCL", {}, {"NCCL_DEBUG_FILE": "/home/ring/x"}, r"home/ring\b"),
    ("a user who is called like a folder", {"home/etc/.nccl.conf": "NCCL_IB_TC=7"}, {"HOME": "/home/etc"}, r"home/etc\b"),
    ("a word that begins with a known one", {}, {"NCCL_DEBUG": "INFOrmant", "NCCL_PROTO": "Simpleton", "NCCL_ALGO": "Ringworm"},
     "informant|simpleton|ringworm"),
    ("a key of capitals, as NCCL's words are", {}, {"NCCL_ALGO": "AKIAIOSFODNN7EXAMPLE", "NCCL_NET": "JBSWY3DPEHPK3PXP"},
     "AKIAIOSF|JBSWY3DP"),
    ("a known word and a host, by a dot", {"proc/sys/kernel/osrelease": "5.14.0-acmecorp+"}, {}, "acmecorp"),
    # MAC addresses and GUIDs in other spellings
    ("a MAC address with dashes", {}, {"NETWORK_STATUS": status('"rdma-device":"mlx5_2"', '"mac":"b8-ce-f6-a1-b2-c3",')},
     "b8.?ce.?f6.?a1.?b2.?c3"),
    ("a MAC address in a global address", {"proc/net/if_inet6": "20010db800010002b8cef6fffea1b2c3 14 40 00 80     net1"}, {},
     "b8cef6fffea1b2c3"),
    ("a MAC address in a global GID", {f"{VF}/infiniband/mlx5_2/ports/1/gids/0": "2001:0db8:0001:0002:b8ce:f6ff:fea1:b2c3"}, {},
     "f6ff:fea1:b2c3"),
    ("an interface called after its MAC address",
     {"sys/class/net/enxb8cef6a1b2c3->": "../../devices/virtual/net/enxb8cef6a1b2c3",
      "sys/devices/virtual/net/enxb8cef6a1b2c3/operstate": "up",
      "sys/devices/virtual/net/enxb8cef6a1b2c3/mtu": "1500"}, {}, "b8cef6a1b2c3"),
    ("a UUID in capitals, without dashes", {}, {"NCCL_HOSTID": "8F3C12AB90DE4455A1B2C3D4E5F60718"}, "8F3C12AB90DE4455"),
    ("a GPU's UUID in the old form of MIG", {}, {"CUDA_VISIBLE_DEVICES": "MIG-GPU-8F3C12AB-90DE-4455-A1B2-C3D4E5F60718/7/0"},
     "8F3C12AB"),
    ("an RDMA device called after its GUID",
     {"sys/class/infiniband/rocexb8cef60300a1b2c3->": "../../devices/virtual/infiniband/rocexb8cef60300a1b2c3",
      "sys/devices/virtual/infiniband/rocexb8cef60300a1b2c3/ports/1/state": "4: ACTIVE"}, {}, "b8cef60300a1b2c3"),
    ("the beginning of such a name", {"sys/class/net/enxb8cef6a1b2c3->": "../../devices/virtual/net/enxb8cef6a1b2c3",
                                      "sys/devices/virtual/net/enxb8cef6a1b2c3/operstate": "up"},
     {"NCCL_SOCKET_IFNAME": "enxb8cef6a1"}, "b8cef6a1"),
    # other encodings
    ("a word of another script", {CONF: "NCCL_NET=пароль-бериллий"}, {}, "пароль|бериллий"),
    ("a word in UTF-16", {CONF: "NCCL_NET=h\0u\0n\0t\0e\0r\0002\0"}, {}, "h.?u.?n.?t.?e.?r.?2"),
    ("a user in a mount point, all octal",
     {**mounts(r"1436 1432 0:417 / /home/\141\154\151\143\145/bin rw,nosuid - nfs x:/ rw"),
      "proc/self/exe->": "/home/alice/bin/nccl-init"}, {}, r"alice|\\+141\\+154"),
    ("a name escaped in JSON", {}, {"NETWORK_STATUS": status(r'"rdma-device":"\u0068unter2"')}, "hunter2|u0068"),
    ("a path with percent signs", {}, {"NCCL_TOPO_FILE": "/home/%61lice/topo.xml"}, "alice|%61lice"),
    # where lines and files end
    ("a line that goes on", {CONF: "NCCL_IB_TC=7\\\nhunter2"}, {}, "hunter2"),
    ("behind a NUL", {f"{VF}/net/net1/operstate": "up\0hunter2"}, {}, "hunter2"),
    ("behind a page of blanks", {f"{VF}/net/net1/mtu": "9000" + " " * 5000 + "hunter2"}, {}, "hunter2"),
    ("a member given twice", {}, {"NETWORK_STATUS": status('"rdma-device":"mlx5_2","rdma-device":"hunter2"')}, "hunter2"),
    # addresses that the plan does not need
    ("the address of another host", {"etc/hosts": "10.128.2.26 me\n203.0.113.77 database", "proc/sys/kernel/hostname": "me",
                                     "etc/hostname": "me"}, {}, r"203\.0\.113\.77"),
    ("a name server", {}, {"NETWORK_STATUS": status('"rdma-device":"mlx5_2"', '"dns":{"nameservers":["203.0.113.78"]},')},
     r"203\.0\.113\.78"),
    # links, and names of entries
    ("a group of the IOMMU that is none", {f"{VF}/iommu_group->": "../../../../kernel/iommu_groups/hunter2",
                                           "sys/kernel/iommu_groups/hunter2/type": "identity"}, {}, "hunter2"),
    ("a namespace that is none", {"proc/self/ns/user->": "user:[4026531837]hunter2"}, {}, "hunter2"),
    ("a file beside the metadata of DRA", {f"{DRA}/c/r/hunter2.txt": "x", f"{DRA}/c/r/e-metadata.json":
                                           metadata('"k8s.cni.cncf.io/resourceName":{"string":"alice.example/rail"}')}, {},
     "hunter2|alice"),
    # a variable of the user's own choosing
    ("the name of a variable", {}, {"NCCLINIT_NETWORK_STATUS": "HUNTER2_STATUS", "HUNTER2_STATUS": status('"rdma-device":"mlx5_2"')},
     "hunter2"),
    # found later, by a reader
    ("the MAC address in the UUID of an interface of Azure's",
     {"sys/class/net/eth7->": "../../devices/VMBUS:00/000d3a5b-5b5c-000d-3a5b-5b5c000d3a5b/net/eth7",
      "sys/devices/VMBUS:00/000d3a5b-5b5c-000d-3a5b-5b5c000d3a5b/net/eth7/mtu": "1500",
      "sys/devices/VMBUS:00/000d3a5b-5b5c-000d-3a5b-5b5c000d3a5b/net/eth7/operstate": "up"}, {}, "000d|3a5b|5b5c"),
    ("a MAC address in the name of an RDMA device",
     {"sys/class/infiniband/rdma-b8:ce:f6:a1:b2:c3->": "../../devices/virtual/infiniband/rdma-b8:ce:f6:a1:b2:c3",
      "sys/devices/virtual/infiniband/rdma-b8:ce:f6:a1:b2:c3/ports/1/state": "4: ACTIVE"}, {}, "b8:ce|f6:a1|b2:c3"),
    ("a secret instead of its file, a number", {}, {"NCCLINIT_JOB_SECRET": DIGITS}, DIGITS),
    ("a secret instead of its file, hexadecimal", {}, {"NCCLINIT_JOB_SECRET": "0xdeadbeefcafebabe"}, "deadbeef"),
    ("a secret instead of its file, with a dot", {}, {"NCCLINIT_JOB_SECRET": "1111.2222"}, "1111|2222"),
    ("a secret instead of its file, a word", {}, {"NCCLINIT_JOB_SECRET": "ring"}, r"secret=ring"),
    ("the magic number of a job", {}, {"NCCL_SOCKET_MAGIC": DIGITS}, DIGITS),
    ("... in nccl.conf", {CONF: f"NCCL_SOCKET_MAGIC={DIGITS}"}, {}, DIGITS),
    ("... under a misspelt name", {}, {"NCCL_SOCKET_MAGICK": DIGITS}, DIGITS),
    ("the number of a rack", {}, {"NCCL_MNNVL_UUID": "0x1234567890abcdef"}, "1234567890abcdef"),
    ("... in nccl.conf ", {CONF: "NCCL_MNNVL_UUID=0x1234567890abcdef"}, {}, "1234567890abcdef"),
    ("a number behind a word of paths", {}, {"NCCL_TOPO_FILE": f"/opt/cuda{DIGITS}/topo.xml"}, DIGITS),
]
# Not even read, so that a recording without --mask does not have them either.
UNREAD = set()


def escape(text):
    """As a .tree file has it."""
    simple = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\\": "\\\\", "\0": "\\x00"}
    return "".join(simple.get(c, c) for c in text)


def unescape(line):
    simple = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}
    plain = re.sub(r"\\(x[0-9a-fA-F]{2}|.)", lambda m: chr(int(m[1][1:], 16)) if m[1][0] == "x" else simple.get(m[1], m[1]),
                   line)
    return plain.encode("latin-1", errors="replace").decode("utf-8", errors="replace")


def base_tree():
    """The lines of the node, each with its whole path."""
    lines = []
    directory = ""
    with open(os.path.join(NODES, "dra-metadata.tree"), encoding="utf-8") as file:
        for line in file:
            kind, _, rest = line.rstrip("\n").partition(" ")
            path, blank, value = rest.partition(" ")
            if path.startswith("./"):
                path = directory + path[1:]
            if kind == "d":
                directory = path
            elif kind in "fle" and kind:
                lines.append((kind, path, blank + value))
    return lines


def write_tree(name, files, variables):
    paths = {path.removesuffix("->") for path in files} | {"proc/self/environ"}
    # Metadata would win over the variables.
    skipped = DRA if "NETWORK_STATUS" in " ".join(variables) or any(path.startswith(DRA) for path in files) else "?"
    with open(name, "w", encoding="utf-8") as file:
        for kind, path, value in BASE:
            if path not in paths and not path.startswith(skipped):
                file.write(f"{kind} {path}{value}\n")
        for path, value in files.items():
            kind = "l" if path.endswith("->") else "f"
            file.write(f"{kind} {path.removesuffix('->')} {escape(value)}\n")
        environ = "".join(f"{name}={value}\0" for name, value in variables.items())
        file.write(f"f proc/self/environ {escape(environ)}\n")


def record(tree, output, *args):
    done = subprocess.run([BIN, "snapshot", "--root", tree, "-o", output, *args], env=ENVIRONMENT, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120, check=False)
    if done.returncode != 0:
        return None, done.stderr.decode(errors="replace")
    with open(output, encoding="utf-8", errors="surrogateescape") as file:
        return file.read(), ""


BASE = base_tree()
ENVIRONMENT = {name: os.environ[name] for name in os.environ if name.endswith("SAN_OPTIONS") or name.endswith("PROFILE_FILE")}
ENVIRONMENT["NCCLINIT_LOG_LEVEL"] = "error"
os.chdir(WORK)
failures = 0
for what, files, variables, pattern in PLANTED:
    write_tree("planted.tree", files, variables)
    secret = re.compile(pattern, re.IGNORECASE)
    wrong = []
    whole, error = record("planted.tree", "whole.tree")
    masked, error_masked = record("planted.tree", "masked.tree", "--mask")
    if whole is None or masked is None:
        wrong.append(error + error_masked)
    else:
        if bool(secret.search(whole) or secret.search(unescape(whole))) == (what in UNREAD):
            wrong.append("it is read" if what in UNREAD else "a recording without --mask does not have it")
        for line in masked.splitlines():
            if secret.search(line) or secret.search(unescape(line)):
                wrong.append(line[:300])
    for reason in wrong:
        print(f"FAILED: {what}: {reason}")
    if not wrong:
        print(f"ok: {what}")
    failures += bool(wrong)
sys.exit(1 if failures else 0)
