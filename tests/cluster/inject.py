#!/usr/bin/python3
"""What the policies of k8s/charts/nccl-init do to pods. The API server of KUBECONFIG admits each as a dry run; the scenario
`inject` has installed the chart, but for `before`.

usage: inject.py before FILE   keep what pods without the label are without the chart
       inject.py judge FILE [ANSWERS]
                               all cases; FILE is what `before` kept. ANSWERS is written: each pod as it was admitted, or the
                               sentence, without what two requests for one pod differ in, nor whose answer it is
       inject.py webhook       the cases in which network-resources-injector acts after the policy
       inject.py unheard       the same after Kyverno's webhook, which is not called again
       inject.py examples FILE...
                               each pod in each file, as a Pod: FILE KIND WHERE: what its containers got, or why it is refused
Before Kubernetes 1.35 there is no `env`, before 1.34 there are no claims, and the cases are without them.
A line for each check: ok: NAME, or FAILED: NAME: REASON. Exit status 1: one has failed.
"""

# SPDX-License-Identifier: Apache-2.0
import copy
import json
import os
import re
import sys

from api import Server, as_pod, objects_of, pods_of

GPU, RAIL = "nvidia.com/gpu", "example.com/rail"
DEVICES = {"requests": {"cpu": "4", "memory": "1Gi"}, "limits": {"memory": "1Gi", GPU: "2", RAIL: "1"}}
MODES = ("env", "conf", "wrap")
failures = 0
answers = []
server = None
minor = 0  # of its version


def check(name, good, why=""):
    global failures
    if good:
        print(f"ok: {name}")
    else:
        failures += 1
        print(f"FAILED: {name}: {why}")


def same(name, expected, actual):
    check(name, expected == actual, f"expected {json.dumps(expected)}, got {json.dumps(actual)}")


def container(name="train", **more):
    return {"name": name, "image": "example.com/train:1", **more}


def pod(mode, *containers, notes=None, **spec):
    """A pod with the label, or without one where mode is None."""
    labels = {"app": "x"}
    if mode:
        labels["nccl-init.io/inject"] = mode
    metadata = {"name": "one", "labels": labels, "annotations": notes or {}}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": list(containers), **spec}}


def create(obj, namespace="team", real=False):
    """The pod as it is admitted, or a sentence."""
    path = f"/api/v1/namespaces/{namespace}/pods?fieldValidation=Strict{'' if real else '&dryRun=All'}"
    status, said, _ = server.ask("POST", path, obj)
    return (said, "") if status == 201 else (None, said.get("message", ""))


def asked(name, obj, namespace):
    """The same, kept with its name."""
    made, why = create(obj, namespace)
    # the API server's own policies and Kyverno's webhook have other words before the sentence
    sentence = re.sub(r".*( denied request: | denied the request: Policy \S+ failed: )", "", why, flags=re.DOTALL)
    answers.append({"name": name, "namespace": namespace, "pod": made and essence(made), "sentence": sentence.strip()})
    return made, why


def essence(made):
    kept = {key: value for key, value in made["metadata"].items() if key not in ("uid", "creationTimestamp", "managedFields")}
    spec = json.loads(settled(made))
    # After a webhook, such as Kyverno's, the API server mounts the account's token into containers that are new; after its own
    # policies it does not.
    for part in ours({"spec": spec}):
        part["volumeMounts"] = mounts(part)
    return {**made, "metadata": kept, "spec": spec}


def admitted(name, obj, namespace="team"):
    made, why = asked(name, obj, namespace)
    check(f"{name}: is admitted", made is not None, why)
    return made or {"metadata": {}, "spec": {"containers": [{}]}}


def refused(name, sentence, obj, namespace="team"):
    made, why = asked(name, obj, namespace)
    check(f"{name}: is refused", made is None and sentence in why, why or "it is admitted")


def inits(made):
    return made["spec"].get("initContainers", [])


def ours(made):
    return [c for c in inits(made) if c["name"].startswith("nccl-init-")]


def mounts(part):
    """What was asked for: the API server adds the account's token."""
    return [m for m in part.get("volumeMounts", []) if not m["name"].startswith("kube-api-access")]


def settled(made):
    """What decides how a pod runs: two requests for one pod differ in the name of a token's volume."""
    text = json.dumps(made["spec"], sort_keys=True)
    for volume in made["spec"].get("volumes", []):
        if volume["name"].startswith("kube-api-access-"):
            text = text.replace(volume["name"], "kube-api-access")
    return text


def again(made):
    """The same pod, as somebody would copy it."""
    kept = {k: made["metadata"].get(k) for k in ("labels", "annotations")}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "two", **kept}, "spec": copy.deepcopy(made["spec"])}


def bystanders():
    """Pods without the label."""
    yield "plain", pod(None, container())
    yield "with devices", pod(None, container(resources=DEVICES, command=["sh", "-c", "true"]))
    yield "with annotations only", pod(None, container(resources=DEVICES), notes={"nccl-init.io/require": "rails=4"})
    yield "with init containers", pod(None, container(), initContainers=[container("early", command=["true"])])
    yield "two with devices", pod(
        None, container("a", resources=DEVICES), container("b", resources=DEVICES), hostNetwork=True
    )


def before(path):
    with open(path, "w", encoding="utf-8") as file:
        json.dump({name: json.loads(settled(admitted(name, obj))) for name, obj in bystanders()}, file)


# ---- conf ------------------------------------------------------------------------------------------------------------


def conf():
    env = [
        {"name": "NCCL_DEBUG", "value": "INFO"},
        {"name": "WHO", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
    ]
    sources = [{"configMapRef": {"name": "more", "optional": True}, "prefix": "X_"}]
    one = container(resources=DEVICES, env=env, envFrom=sources, args=["train.py"])
    plain = admitted("conf, the twin without the label", pod(None, one))
    made = admitted("conf", pod("conf", one))
    part = ours(made)[0] if ours(made) else {}
    same("conf: one init container", ["nccl-init-conf"], [c["name"] for c in inits(made)])
    same(
        "conf: it has the resources of its container, whole",
        made["spec"]["containers"][0].get("resources"),
        part.get("resources"),
    )
    same("conf: and its env", plain["spec"]["containers"][0]["env"], part.get("env"))
    same("conf: and its envFrom", sources, part.get("envFrom"))
    same(
        "conf: it writes a file",
        ["/nccl-init", "env", "--format=nccl.conf", "--output=/run/nccl-init/nccl.conf", "--wait=20"],
        part.get("command"),
    )
    expected = [{"name": "nccl-init-conf", "mountPath": "/etc/nccl.conf", "subPath": "nccl.conf", "readOnly": True}]
    same("conf: which the container has as /etc/nccl.conf", expected, mounts(made["spec"]["containers"][0]))
    stripped = copy.deepcopy(json.loads(settled(made)))
    stripped.pop("initContainers", None)
    stripped["volumes"] = [v for v in stripped.get("volumes", []) if v["name"] != "nccl-init-conf"]
    for c in stripped["containers"]:
        c["volumeMounts"] = [m for m in c.get("volumeMounts", []) if m["name"] != "nccl-init-conf"]
    same("conf: nothing else is another", settled(plain), json.dumps(stripped, sort_keys=True))
    same("conf: the QoS class stays", plain["status"]["qosClass"], made["status"]["qosClass"])
    same("conf: twice is once", settled(made), settled(admitted("conf, once more", again(made))))

    made = admitted("conf, no mounts, no token", pod("conf", container(), automountServiceAccountToken=False))
    same(
        "conf, no mounts: the first container has the file",
        ["/etc/nccl.conf"],
        [m["mountPath"] for m in mounts(made["spec"]["containers"][0])],
    )
    made = admitted("conf, devices of the second", pod("conf", container("log"), container("train", resources=DEVICES)))
    same(
        "conf, devices of the second: it has the file",
        [[], ["/etc/nccl.conf"]],
        [[m["mountPath"] for m in mounts(c)] for c in made["spec"]["containers"]],
    )
    same(
        "conf, devices of the second: and the init container",
        [made["spec"]["containers"][1].get("resources")],
        [c["resources"] for c in ours(made)],
    )
    made = admitted(
        "conf, a container by name",
        pod("conf", container("log"), container("train"), notes={"nccl-init.io/container": "train"}),
    )
    same("conf, a container by name: it has the file", [0, 1], [len(mounts(c)) for c in made["spec"]["containers"]])
    huge = {"limits": {"memory": "1Gi", "hugepages-2Mi": "2Mi"}, "requests": {"memory": "1Gi"}}
    made = admitted(
        "conf, huge pages are no device", pod("conf", container("a", resources=huge), container("b", resources=DEVICES))
    )
    same("conf, huge pages are no device: b has the file", [0, 1], [len(mounts(c)) for c in made["spec"]["containers"]])
    zero = {"limits": {GPU: "0"}}
    admitted("conf, none of a device", pod("conf", container("a", resources=zero), container("b", resources=DEVICES)))


# ---- env -------------------------------------------------------------------------------------------------------------

NCCL_KEYS = [
    "NCCL_IB_DISABLE",
    "NCCL_IB_HCA",
    "NCCL_IB_GID_INDEX",
    "NCCL_IB_ADDR_FAMILY",
    "NCCL_IB_ADDR_RANGE",
    "NCCL_SOCKET_IFNAME",
    "NCCL_CROSS_NIC",
    "NCCL_IB_MERGE_VFS",
    "NCCL_IB_MERGE_NICS",
    "NCCL_NET_MERGE_LEVEL",
    "NCCL_NET_GDR_LEVEL",
]
UCX_KEYS = ["UCX_NET_DEVICES", "UCX_IB_GID_INDEX", "UCX_MAX_HCA_PER_GPU"]


def keys(part, path="env"):
    """What the container takes from that file."""
    found = []
    for entry in part.get("env", []):
        ref = entry.get("valueFrom", {}).get("fileKeyRef")
        if ref:
            expected = {"volumeName": "nccl-init-env", "path": path, "key": entry["name"], "optional": True}
            same(f"env: {entry['name']} is asked for by its name, and may be absent", expected, ref)
            found.append(entry["name"])
    return found


def plain_env(part):
    return [e for e in part.get("env", []) if "fileKeyRef" not in e.get("valueFrom", {})]


def env():
    own = [
        {"name": "NCCL_DEBUG", "value": "INFO"},
        {"name": "NCCL_IB_HCA", "value": "mine"},
        {"name": "WHO", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "spec.nodeName"}}},
    ]
    one = container(resources=DEVICES, env=own, args=["train.py"])
    plain = admitted("env, the twin without the label", pod(None, one))
    made = admitted("env", pod("env", one))
    main, part = made["spec"]["containers"][0], ours(made)[0] if ours(made) else {}
    same("env: one init container", ["nccl-init-env"], [c["name"] for c in inits(made)])
    same(
        "env: it writes a file",
        ["/nccl-init", "env", "--format=k8s", "--output=/run/nccl-init/env", "--wait=20"],
        part.get("command"),
    )
    same("env: it has the resources of its container, whole", main.get("resources"), part.get("resources"))
    same("env: and its env", own, part.get("env"))
    same("env: the container's own names stay", [k for k in NCCL_KEYS if k != "NCCL_IB_HCA"], keys(main))
    same("env: ... and their values", own, plain_env(main))
    same("env: no mount", mounts(plain["spec"]["containers"][0]), mounts(main))
    stripped = copy.deepcopy(json.loads(settled(made)))
    stripped.pop("initContainers", None)
    stripped["volumes"] = [v for v in stripped.get("volumes", []) if v["name"] != "nccl-init-env"]
    for c in stripped["containers"]:
        c["env"] = plain_env(c)
    same("env: nothing else is another", settled(plain), json.dumps(stripped, sort_keys=True))
    same("env: twice is once", settled(made), settled(admitted("env, once more", again(made))))

    made = admitted("env, nothing of its own", pod("env", container()))
    same("env, nothing of its own: NCCL's", NCCL_KEYS, keys(made["spec"]["containers"][0]))
    same("env, nothing of its own: twice is once", settled(made), settled(admitted("env, bare, once more", again(made))))
    changed = again(made)
    changed["metadata"]["labels"]["nccl-init.io/inject"] = "conf"
    made = admitted("env, then conf", changed)
    same("env, then conf: nothing is asked for", [], keys(made["spec"]["containers"][0]))

    made = admitted("env, for two", pod("env", container(), notes={"nccl-init.io/for": "nccl, ucx"}))
    same("env, for two: the keys of both", NCCL_KEYS + UCX_KEYS, keys(made["spec"]["containers"][0]))
    mine = [{"name": "NCCLINIT_FOR", "value": "ucx"}]
    made = admitted("env, for one by itself", pod("env", container(env=mine), notes={"nccl-init.io/for": "nccl"}))
    same("env, for one by itself: its keys", UCX_KEYS, keys(made["spec"]["containers"][0]))
    sources = [{"configMapRef": {"name": "more", "optional": True}}]
    made = admitted("env, for what a ConfigMap says", pod("env", container(envFrom=sources)))
    check(
        "env, for what a ConfigMap says: all keys",
        len(keys(made["spec"]["containers"][0])) > len(NCCL_KEYS + UCX_KEYS),
        "not all",
    )
    same("env, for what a ConfigMap says: it has it", [sources], [c.get("envFrom") for c in ours(made)])

    part = {"resourceClaims": [{"name": n, "resourceClaimTemplateName": n} for n in ("x", "y")]}
    both = [container(n, resources={"claims": [{"name": n}]}) for n in ("x", "y")]
    made = admitted("env, claims", pod("env", *both, **part))
    same("env, claims: an init container each", ["nccl-init-env", "nccl-init-env-1"], [c["name"] for c in inits(made)])
    for c, path in zip(made["spec"]["containers"], ("env", "env-1")):
        same(f"env, claims: {c['name']} has a file of its own", NCCL_KEYS, keys(c, path))


def init_containers():
    early = container("early", command=["true"])
    side = container("side", restartPolicy="Always")
    probe = {"exec": {"command": ["true"]}, "initialDelaySeconds": 7, "periodSeconds": 3}
    side["startupProbe"] = probe
    made = admitted("init containers", pod("conf", container(resources=DEVICES), initContainers=[early, side]))
    same("init containers: ours is the last", ["early", "side", "nccl-init-conf"], [c["name"] for c in inits(made)])
    once = admitted("init containers, once more", again(made))
    same("init containers: twice is once", settled(made), settled(once))
    mixed = again(made)
    mixed["spec"]["initContainers"].append(container("late"))
    once = admitted("init containers, one after ours", mixed)
    same(
        "init containers, one after ours: ours is the last",
        ["early", "side", "late", "nccl-init-conf"],
        [c["name"] for c in inits(once)],
    )
    same("init containers: a number stays one", 7, inits(once)[1]["startupProbe"]["initialDelaySeconds"])

    hand = container(
        "nccl-init",
        command=["/nccl-init", "install", "/shared"],
        volumeMounts=[{"name": "nccl-init", "mountPath": "/shared"}],
    )
    main = container(
        command=["/shared/nccl-init", "--", "train"], volumeMounts=[{"name": "nccl-init", "mountPath": "/nccl"}]
    )
    volume = {"name": "nccl-init", "emptyDir": {}}
    for mode in ("conf", "wrap"):
        made = admitted(
            f"a pod that had nccl-init by hand, {mode}", pod(mode, main, initContainers=[hand], volumes=[volume])
        )
        same(
            f"a pod that had nccl-init by hand, {mode}: both are there",
            ["nccl-init", f"nccl-init-{mode}"],
            [c["name"] for c in inits(made)],
        )
    taken = {"name": "nccl-init-conf", "configMap": {"name": "x"}}
    refused("a volume of our name", "something else by the name nccl-init-conf", pod("conf", container(), volumes=[taken]))
    refused(
        "an init container of our name",
        "something else by the name nccl-init-conf",
        pod("conf", container(), initContainers=[container("nccl-init-conf")]),
    )
    refused(
        "a container of our name",
        "something else by the name nccl-init-wrap",
        pod("wrap", container("nccl-init-wrap", command=["x"])),
    )
    own = {"name": "mine", "configMap": {"name": "x"}}
    mounted = container(volumeMounts=[{"name": "mine", "mountPath": "/etc/nccl.conf", "subPath": "nccl.conf"}])
    refused(
        "its own /etc/nccl.conf",
        f"train has a mount of its own at /etc/nccl.conf; use nccl-init.io/inject: {'env' if 'env' in MODES else 'wrap'}",
        pod("conf", mounted, volumes=[own]),
    )
    mounted = container(command=["x"], volumeMounts=[{"name": "mine", "mountPath": "/nccl-init"}])
    refused(
        "its own /nccl-init",
        "train has a mount of its own at /nccl-init; mount it elsewhere",
        pod("wrap", mounted, volumes=[own]),
    )


def claims():
    part = {
        "resourceClaims": [
            {"name": "rails", "resourceClaimTemplateName": "rails"},
            {"name": "more", "resourceClaimName": "more"},
        ]
    }
    a = container("a", resources={"claims": [{"name": "rails"}], "limits": {"memory": "1Gi"}})
    b = container("b", resources={"claims": [{"name": "more", "request": "nic"}]})
    made = admitted("claims", pod("conf", a, container("log"), b, **part))
    same("claims: an init container each", ["nccl-init-conf", "nccl-init-conf-1"], [c["name"] for c in inits(made)])
    same(
        "claims: with the claims of its container",
        [a["resources"]["claims"], b["resources"]["claims"]],
        [c["resources"].get("claims") for c in inits(made)],
    )
    same(
        "claims: and a file of its own",
        ["/run/nccl-init/nccl.conf", "/run/nccl-init/nccl-1.conf"],
        [c["command"][3].partition("=")[2] for c in inits(made)],
    )
    same(
        "claims: which it has",
        [["nccl.conf"], [], ["nccl-1.conf"]],
        [[m["subPath"] for m in mounts(c)] for c in made["spec"]["containers"]],
    )
    same("claims: twice is once", settled(made), settled(admitted("claims, once more", again(made))))
    a["resources"]["limits"][GPU] = "1"
    made = admitted("a claim, and devices in one container", pod("conf", a, b, **part))
    same("a claim, and devices in one container: two init containers", 2, len(inits(made)))


# ---- wrap ------------------------------------------------------------------------------------------------------------


def wrap():
    one = container(command=["torchrun"], args=["train.py"], resources=DEVICES, env=[{"name": "SECRET", "value": "x"}])
    made = admitted("wrap", pod("wrap", one, notes={"nccl-init.io/preflight": "require", "nccl-init.io/log-level": "warn"}))
    main = made["spec"]["containers"][0]
    part = ours(made)[0] if ours(made) else {}
    same(
        "wrap: the command",
        ["/nccl-init/nccl-init", "--wait=20", "--log-level=warn", "--memlock=keep", "--preflight=require", "--", "torchrun"],
        main.get("command"),
    )
    same("wrap: its arguments stay", ["train.py"], main.get("args"))
    same("wrap: its variables stay", one["env"], main.get("env"))
    same(
        "wrap: the program is in a volume",
        [{"name": "nccl-init-wrap", "mountPath": "/nccl-init", "readOnly": True}],
        mounts(main),
    )
    same("wrap: which the init container fills", ["/nccl-init", "install", "/run/nccl-init"], part.get("command"))
    same("wrap: it has the resources, whole", main.get("resources"), part.get("resources"))
    same("wrap: and no variable", None, part.get("env"))
    same("wrap: twice is once", settled(made), settled(admitted("wrap, once more", again(made))))
    both = [container(n, command=[n], resources=DEVICES) for n in ("a", "b")]
    made = admitted("wrap, two with devices", pod("wrap", *both))
    same("wrap, two with devices: both", ["/nccl-init/nccl-init"] * 2, [c["command"][0] for c in made["spec"]["containers"]])
    same("wrap, two with devices: one init container", 1, len(inits(made)))
    side = container("side", command=["x"], resources=DEVICES, restartPolicy="Always")
    admitted("wrap, a sidecar with devices", pod("wrap", container(command=["x"]), initContainers=[side]))
    refused(
        "wrap, no command",
        "there is nothing to wrap: the container train has no command",
        pod("wrap", container(args=["x"])),
    )


# ---- users, rights, options, sentences -------------------------------------------------------------------------------


def users():
    def context(name, obj, namespace="team"):
        made = admitted(name, obj, namespace)
        part = ours(made)[0].get("securityContext", {}) if ours(made) else {}
        rest = {k: v for k, v in part.items() if not k.startswith("runAs")}
        expected = {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"},
        }
        same(f"{name}: the rest of restricted", expected, rest)
        return {k: v for k, v in part.items() if k.startswith("runAs")}

    same("root: nothing is said", {}, context("root", pod("conf", container())))
    stated = {"runAsUser": 1000, "runAsGroup": 1000700000, "runAsNonRoot": True}
    same("its own user: the same", stated, context("its own user", pod("conf", container(securityContext=stated))))
    same(
        "privileged: not ours",
        {},
        context(
            "privileged", pod("conf", container(securityContext={"privileged": True, "capabilities": {"add": ["IPC_LOCK"]}}))
        ),
    )
    same(
        "the pod's user: from the pod",
        {},
        context("the pod's user", pod("conf", container(), securityContext={"runAsUser": 1000, "runAsNonRoot": True})),
    )
    same(
        "the image's user, not root: one of ours",
        {"runAsNonRoot": True, "runAsUser": 65532},
        context("the image's user, not root", pod("conf", container(securityContext={"runAsNonRoot": True}))),
    )
    same(
        "the pod says not root: one of ours",
        {"runAsUser": 65532},
        context("the pod says not root", pod("conf", container(), securityContext={"runAsNonRoot": True})),
    )
    same(
        "OpenShift, not root: one of the namespace",
        {"runAsNonRoot": True, "runAsUser": 1000700000},
        context("OpenShift, not root", pod("conf", container(securityContext={"runAsNonRoot": True})), "openshift"),
    )
    same("OpenShift: left to it", {}, context("OpenShift", pod("conf", container()), "openshift"))
    strict = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
        "runAsNonRoot": True,
    }
    for mode in MODES:
        admitted(f"restricted, {mode}", pod(mode, container(command=["x"], securityContext=strict)), "restricted")


def limits():
    made = admitted("a limit range", pod("conf", container()), "ranged")
    same(
        "a limit range: the default is the init container's, too",
        made["spec"]["containers"][0].get("resources"),
        ours(made)[0]["resources"] if ours(made) else None,
    )
    check("a limit range: it has given one", "limits" in made["spec"]["containers"][0].get("resources", {}), "no limits")
    full = {part: {"cpu": "4", "memory": "1Gi", GPU: "2", RAIL: "1"} for part in ("requests", "limits")}
    for mode in MODES:
        made = admitted(f"a quota, {mode}", pod(mode, container(command=["x"], resources=full)), "quota")
        same(f"a quota, {mode}: Guaranteed stays", "Guaranteed", made.get("status", {}).get("qosClass"))
    over = copy.deepcopy(full)
    over["requests"]["cpu"] = over["limits"]["cpu"] = "9"
    refused("more than the quota", "exceeded quota", pod("conf", container(resources=over)), "quota")
    admitted("host network", pod("conf", container(resources=DEVICES), hostNetwork=True, hostIPC=True))


def options():
    def told(mode, env, notes):
        obj = pod(mode, container(command=["x"], env=env), notes={f"nccl-init.io/{k}": v for k, v in notes.items()})
        made = admitted(f"options {mode} {notes}", obj)
        if mode == "conf":
            return ours(made)[0]["command"][4:] if ours(made) else None
        return made["spec"]["containers"][0].get("command", [])[1:-2]

    # the scenario's values: wait 20 and memlock keep
    same("options: the chart's, of conf", ["--wait=20"], told("conf", [], {}))
    same("options: the chart's, of wrap", ["--wait=20", "--memlock=keep"], told("wrap", [], {}))
    same(
        "options: the pod's win",
        ["--require=rails=4,gdr", "--wait=5"],
        told("conf", [], {"wait": "5", "require": "rails=4,gdr"}),
    )
    mine = [{"name": "NCCLINIT_WAIT", "value": "1"}]
    same("options: the container's own variables win over both", [], told("conf", mine, {"wait": "5"}))
    same("options: ... with wrap, too", ["--memlock=keep"], told("wrap", mine, {}))
    same(
        "options: a name with hyphens",
        ["--wait=20", "--memlock=keep", "--keep-caps=ipc_lock"],
        told("wrap", [], {"keep-caps": "ipc_lock"}),
    )
    same("options: one without a value", ["--wait=20", "--memlock=keep", "--strict"], told("wrap", [], {"strict": "true"}))
    same("options: ... not wanted", ["--wait=20", "--memlock=keep"], told("wrap", [], {"strict": "false"}))
    quoted = "a\"b'c\\d $(X) <&> \u00e9"
    same("options: any text", [f"--hcas={quoted}", "--wait=20"], told("conf", [], {"hcas": quoted}))


def sentences():
    note = lambda key, value="x": {f"nccl-init.io/{key}": value}  # noqa: E731
    known = "env, conf or wrap" if "env" in MODES else "conf or wrap; env needs Kubernetes 1.35, and this was v1."
    refused("another label", f"the label nccl-init.io/inject is yes; it is {known}", pod("yes", container()))
    if "env" not in MODES:
        refused("env, which this cluster has not", f"the label nccl-init.io/inject is env; it is {known}", pod("env", container()))
    refused(
        "an unknown annotation",
        "there is no annotation nccl-init.io/requier; nccl-init knows container, mode,",
        pod("conf", container(), notes=note("requier")),
    )
    refused(
        "a container that is not there",
        "the pod has no container b",
        pod("conf", container("a"), notes=note("container", "a, b")),
    )
    refused(
        "a preflight with conf",
        "nccl-init.io/preflight needs nccl-init.io/inject: wrap",
        pod("conf", container(), notes=note("preflight", "warn")),
    )
    refused(
        "a demand that conf cannot hold",
        "nccl-init.io/require: rails=2,selftest needs nccl-init.io/inject: wrap",
        pod("conf", container(), notes=note("require", "rails=2,selftest")),
    )
    file = MODES[0]
    refused(
        "a demand for what another container has",
        f"nccl-init.io/require: memlock needs nccl-init.io/inject: wrap; with {file} nccl-init does not start the command",
        pod(file, container(), notes=note("require", "memlock")),
    )
    refused(
        f"locked memory with {file}",
        "nccl-init.io/memlock needs nccl-init.io/inject: wrap",
        pod(file, container(), notes=note("memlock", "max")),
    )
    refused(
        "strict, perhaps",
        "nccl-init.io/strict is true or false",
        pod("wrap", container(command=["x"]), notes=note("strict", "maybe")),
    )
    two = [container("a", resources=DEVICES), container("log"), container("b", resources={"limits": {RAIL: "1"}})]
    refused(
        "two with devices",
        "the containers a and b both ask for devices of a device plugin, and no init container sees those of both; use nccl-init.io/inject: wrap",
        pod("conf", *two),
    )
    refused(f"two with devices, {file}", "a and b both ask", pod(file, *two))
    refused("two with devices, one by name", "a and b both ask", pod("conf", *two, notes=note("container", "a")))
    side = container("side", resources=DEVICES, restartPolicy="Always")
    refused(
        "a sidecar with devices",
        "the sidecar side asks for devices of a device plugin",
        pod("conf", container(), initContainers=[side]),
    )
    own = {"initContainers": [container("own", resources=DEVICES)]}
    admitted("an init container of its own with devices", pod("conf", container(resources=DEVICES), **own))


def judge(path, keep=None):
    with open(path, encoding="utf-8") as file:
        kept = json.load(file)
    for name, obj in bystanders():
        made = admitted(f"without the label, {name}", obj)
        same(
            f"without the label, {name}: the spec is that without the chart",
            json.dumps(kept[name], sort_keys=True),
            settled(made),
        )
    for part in (conf, env, init_containers, claims, wrap, users, limits, options, sentences):
        if minor >= {env: 35, claims: 34}.get(part, 0):
            part()
    if keep:
        with open(keep, "w", encoding="utf-8") as file:
            json.dump(answers, file, indent=1, sort_keys=True)


# ---- after a webhook -------------------------------------------------------------------------------------------------


def webhook():
    def resources(made):
        return made["spec"]["containers"][0].get("resources", {})

    def rails(made):
        return [c["resources"]["limits"].get(RAIL) for c in ours(made)]

    def files(made):
        volumes = [v["downwardAPI"] for v in made["spec"].get("volumes", []) if v["name"] == "podnetinfo"]
        return [item["path"] for volume in volumes for item in volume["items"]]

    net = {"k8s.v1.cni.cncf.io/networks": "rail-0"}
    for mode in MODES:
        made = admitted(
            f"a webhook, {mode}", pod(mode, container(command=["x"], resources={"limits": {GPU: "2"}}), notes=net)
        )
        limits = resources(made).get("limits", {})
        same(f"a webhook, {mode}: it has added a rail", ["2", "1"], [limits.get(r) for r in (GPU, RAIL)])
        same(f"a webhook, {mode}: which the init container has, too", [resources(made)], [c["resources"] for c in ours(made)])
        same(
            f"a webhook, {mode}: it has added a mount",
            ["/etc/podnetinfo"],
            [m["mountPath"] for m in mounts(made["spec"]["containers"][0]) if m["name"] == "podnetinfo"],
        )
        same(
            f"a webhook, {mode}: of the labels and annotations",
            ["labels", "annotations"],
            files(made),
        )
        same(f"a webhook, {mode}: one init container", 1, len(inits(made)))
        same(
            f"a webhook, {mode}: twice is once",
            settled(made),
            settled(admitted(f"a webhook, {mode}, once more", again(made))),
        )
    made = admitted("a webhook, nothing asked for", pod("conf", container(), notes=net))
    same(
        "a webhook, nothing asked for: the rail reaches the init container",
        [{"limits": {RAIL: "1"}, "requests": {RAIL: "1"}}],
        [c["resources"] for c in ours(made)],
    )
    refused(
        "a webhook, devices in the second",
        "a and b both ask",
        pod("conf", container("a"), container("b", resources=DEVICES | {"limits": {GPU: "1"}}), notes=net),
    )
    refused(
        "a webhook, a network that is not there",
        "could not find network attachment definition 'team/none'",
        pod("conf", container(), notes={"k8s.v1.cni.cncf.io/networks": "none"}),
    )

    # a network whose definition names the nodes that have it, twice
    made = admitted("a webhook, two of one kind", pod("conf", container(), notes={"k8s.v1.cni.cncf.io/networks": "here,here"}))
    same("a webhook, two of one kind: two rails", ["2"], rails(made))
    same("a webhook, two of one kind: nodes that have it", {"network": "here"}, made["spec"].get("nodeSelector"))

    huge = {"limits": {"memory": "1Gi", "hugepages-2Mi": "2Mi"}, "requests": {"memory": "1Gi", "hugepages-2Mi": "2Mi"}}
    for mode in ("conf", "wrap"):
        made = admitted(f"a webhook, huge pages, {mode}", pod(mode, container(command=["x"], resources=huge), notes=net))
        name = [{"name": "CONTAINER_NAME", "value": "train"}]
        same(f"a webhook, huge pages, {mode}: a variable", name, made["spec"]["containers"][0].get("env"))
        same(
            f"a webhook, huge pages, {mode}: which the init container has where it has the others",
            [name if mode == "conf" else None],
            [c.get("env") for c in ours(made)],
        )
        same(
            f"a webhook, huge pages, {mode}: the init container has them, and a rail",
            [resources(made)],
            [c["resources"] for c in ours(made)],
        )
        same(
            f"a webhook, huge pages, {mode}: the volume has four files",
            ["labels", "annotations", "hugepages_2M_request_train", "hugepages_2M_limit_train"],
            files(made),
        )

    # networks by a label of the administrator's, and no annotation
    obj = pod("conf", container(), notes={"nccl-init.io/log-level": "warn"})
    obj["metadata"]["labels"]["on-rails"] = "true"
    made = admitted("a webhook, networks by a label", obj)
    same(
        "a webhook, networks by a label: both annotations",
        {**net, "nccl-init.io/log-level": "warn"},
        made["metadata"].get("annotations"),
    )
    same("a webhook, networks by a label: the rail reaches the init container", ["1"], rails(made))


def unheard():
    net = {"k8s.v1.cni.cncf.io/networks": "rail-0"}
    for mode in MODES:
        unstated = pod(mode, container(command=["x"], resources={"limits": {GPU: "2"}}), notes=net)
        # if it is admitted, Kyverno is called again: kyverno/kyverno#17282 is solved, and k8s/README.md is to say so
        refused(
            f"a webhook after Kyverno, {mode}",
            "has not the devices of its container: the policy nccl-init.nccl-init.io was not called, or a webhook changed the pod "
            "after it; write what it adds to the resources into the container",
            unstated,
        )
        stated = container(command=["x"], resources={"limits": {GPU: "2", RAIL: "1"}})
        made = admitted(f"a webhook after Kyverno, {mode}, its resources are there already", pod(mode, stated, notes=net))
        main = made["spec"]["containers"][0]
        same(f"a webhook after Kyverno, {mode}: the same", [main.get("resources")], [c["resources"] for c in ours(made)])
        same(f"a webhook after Kyverno, {mode}: one rail", "1", main.get("resources", {}).get("limits", {}).get(RAIL))
        check(
            f"a webhook after Kyverno, {mode}: it has come",
            any(m["name"] == "podnetinfo" for m in mounts(main)),
            "it has added no mount",
        )


def examples(*files):
    for path in files:
        for obj in objects_of(path):
            for where, metadata, spec in pods_of(obj):
                # KServe writes what is above its pods into them, KubeRay and MPI take a pod as it is
                if obj["kind"] == "LLMInferenceService":
                    metadata = obj["spec"]
                one = as_pod(metadata, {**spec, "restartPolicy": spec.get("restartPolicy", "Never")})
                one["metadata"]["name"] = "one"
                made, why = create(one)
                label = f"{os.path.basename(path)} {obj['kind']} {where}"
                if not made:
                    print(f"{label}: refused: {why}")
                    continue
                got = [
                    c["name"]
                    for c in made["spec"]["containers"]
                    if any(m["name"].startswith("nccl-init-") for m in mounts(c)) or plain_env(c) != c.get("env", [])
                ]
                print(f"{label}: {' '.join([c['name'] for c in ours(made)] + got) or 'as it is'}")


def main():
    global server, minor, MODES
    if len(sys.argv) < 2 or sys.argv[1] not in ("before", "judge", "webhook", "unheard", "examples"):
        sys.exit(__doc__)
    server = Server(os.environ["KUBECONFIG"])
    minor = int(re.match("[0-9]+", server.ask("GET", "/version")[1]["minor"]).group())
    if minor < 35:
        MODES = MODES[1:]
    verbs = {"before": before, "judge": judge, "webhook": webhook, "unheard": unheard, "examples": examples}
    verbs[sys.argv[1]](*sys.argv[2:])
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
