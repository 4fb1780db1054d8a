#!/usr/bin/python3
# Random descriptions of clusters for k8s/new, a file each. usage: describe.py SEED COUNT FOLDER
# SPDX-License-Identifier: Apache-2.0
import os
import random
import sys

FABRICS = ["openshift-sriov", "sriov-device-plugin", "shared-device-plugin", "dra", "none"]
WORKLOADS = ["job", "statefulset", "jobset", "leaderworkerset", "trainjob", "pytorchjob", "mpijob"]
RAILS = [
    ["  - pf: eth[0-{n}]", "    subnet: 10.7.0.0/24"],
    ["  - pf: [a{n}_f0, B1.f1]", "    subnet: 10.3.0.0/22", "  - {{pf: 'ens{{1,2}}', subnet: 10.9.0.0/16, range: 10.9.1.0-10.9.200.0}}"],
    ["- {{pf: ib{n}x, subnet: 192.168.1.0/24}}"],
]
FOR_ALL = ["qos: guaranteed", "queue: q", "network-policy: true", "hosts: [n1, n2, n3, n4, n5, n6, n7]", "env: {e}"]


def describe(r):
    fabric, workload, inject = r.choice(FABRICS), r.choice(WORKLOADS), r.choice(["entrypoint", "image", "env-file", "none"])
    pods = r.choice([1, 2, 7])
    lines = ["namespace: ml", f"fabric: {fabric}", "nccl-init-image: r.lab/nccl-init:1", "image: r.lab/t:1"]
    lines += [f"workload: {workload}", f"gpus: {r.choice([0, 1, 8])}", f"pods: {pods}", f"inject: {inject}"]
    if fabric != "none":
        lines += ["rails:"] + [line.format(n=r.randint(0, 8)) for line in r.choice(RAILS)]
        lines += {"openshift-sriov": ["vfs: 8"], "shared-device-plugin": ["shares: 20"]}.get(fabric, [])
        lines += r.choice([[], ['device: "15b3:1021"']]) + r.choice([[], ["memlock: node"], ["user: 1000"]])
    if fabric == "openshift-sriov":
        lines += r.choice([[], ["networks: operator"]]) + r.choice([[], ["unavailable: 3", "mtu: 9000"]])
    if pods > 1 and inject in ("entrypoint", "image"):
        lines += r.choice([[], ["preflight: require"]])
    if workload == "mpijob" or r.random() < 0.4:
        lines += ["command: [python3, 'a b', \"it's\"]"]
    chosen = [line for line in FOR_ALL if r.random() < 0.4]
    return "\n".join(lines + chosen).replace("env: {e}", "env:\n  A: 'x y'\n  STEPS: 4") + "\n"


chance = random.Random(int(sys.argv[1]))
for number in range(int(sys.argv[2])):
    with open(os.path.join(sys.argv[3], f"{number}.yaml"), "w", encoding="utf-8") as file:
        file.write(describe(chance))
