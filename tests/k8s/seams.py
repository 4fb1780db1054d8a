#!/usr/bin/python3
# The seams between manifests and program: what the one names, the other has.
# usage: seams.py PROGRAM FOLDER-OF-RENDERED-FILES     (from the project's top folder)
# SPDX-License-Identifier: Apache-2.0
import glob
import os
import re
import subprocess
import sys
import tempfile
import urllib.parse

import yaml

PROGRAM, RENDERED = os.path.abspath(sys.argv[1]), sys.argv[2]
NODE = "tests/nodes/h100-12dev.tree"
failures = 0


def check(name, expected, actual):
    global failures
    if expected == actual:
        print(f"ok: {name}")
    else:
        failures += 1
        print(f"FAILED: {name}: expected {expected!r}, got {actual!r}")


def run(*args, env=None):
    done = subprocess.run(
        [PROGRAM, *args], env={"PATH": os.environ["PATH"], **(env or {})}, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


def text(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


objects = []  # (file, object)
for path in sorted(glob.glob(os.path.join(RENDERED, "*.yaml"))):
    objects += [(os.path.basename(path)[:-5], o) for o in yaml.load_all(text(path), yaml.CSafeLoader) if o]


def walk(part):
    if isinstance(part, dict):
        yield part
        for value in part.values():
            yield from walk(value)
    elif isinstance(part, list):
        for value in part:
            yield from walk(value)


pods = [(f, p) for f, o in objects for p in walk(o) if isinstance(p.get("containers"), list)]
containers = [(f, p, c) for f, p in pods for c in (p.get("initContainers") or []) + p["containers"]]
if len(pods) < 10:
    raise SystemExit(f"seams: {len(pods)} pods in {RENDERED}: not what was expected")


def of(name):
    """The pod and its first container of one rendered file."""
    return next((p, p["containers"][0]) for f, p in pods if f == name)


# ---- variables ----------------------------------------------------------------------------------------

usage = "".join(run(verb, "--help")[1] for verb in ("run", "env", "doctor", "plan", "preflight"))
known = set(re.findall(r"\((NCCLINIT_[A-Z_]+)\)", usage))
named = set()
settings = set()
for _, _, container in containers:
    for entry in container.get("env") or []:
        if entry["name"].startswith("NCCLINIT_"):
            named.add(entry["name"])
            settings.add((entry["name"], entry.get("value")))
sources = glob.glob("k8s/**/*", recursive=True)
for path in sources:
    if os.path.isfile(path):
        named |= set(re.findall(r"NCCLINIT_[A-Z_]+", text(path)))
check("each NCCLINIT_ variable is one of the program's", set(), named - known)
check("some are used", True, len(settings) >= 3)
for name, value in sorted(settings):
    # other verbs than run refuse a value that the option does not take
    status, _, err = run("plan", f"--root={NODE}", env={name: value})
    check(f"{name}={value} is taken", (0, ""), (status, err if "NCCLINIT" in err else ""))

# ---- commands -----------------------------------------------------------------------------------------

commands = set()
for _, _, container in containers:
    words = (container.get("command") or []) + (container.get("args") or [])
    for i, word in enumerate(words):
        if word.rsplit("/", 1)[-1] == "nccl-init":
            commands.add(tuple(words[i:]))
trainers = [t for _, o in objects if o["kind"] == "TrainJob" for t in [o["spec"]["trainer"]]]
commands |= {tuple(t["command"] + t.get("args", [])) for t in trainers}
for words in sorted(commands):
    shown = " ".join(words[:5]).replace("\n", " ")
    if "--" in words:
        options = words[1 : words.index("--")]
        check(f"{shown}: a command follows", True, len(words) > words.index("--") + 1)
        status, _, _ = run("run", *options, "--help")
        check(f"{shown}: options", 0, status)
    elif words[1] == "install":
        with tempfile.TemporaryDirectory() as folder:
            run("install", folder)
            copy = os.path.join(folder, "nccl-init")
            check(f"{shown}: an executable copy", True, os.access(copy, os.X_OK))
    elif words[1] == "preflight":
        # of one pod there is nothing to meet; the options are read all the same
        status, _, _ = run(*words[1:], env={"NCCLINIT_RANKS": "1", "NCCLINIT_RANK": "0", "NCCLINIT_PEERS": "localhost"})
        check(f"{shown}: a result", True, status in (0, 1))
    elif "-o" in words:
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "file")
            options = [out if word.startswith("/") else word for word in words[1:]]
            status, _, _ = run(*options, f"--root={NODE}")
            check(f"{shown}: status and file", (0, True), (status, os.path.exists(out)))
    else:
        status, out, _ = run(*words[1:], f"--root={NODE}")
        check(f"{shown}: a result", (True, True), (status in (0, 1), out.startswith("{")))

# ---- the image ------------------------------------------------------------------------------------------

recipe = text("container/Containerfile").rpartition("\nFROM ")[2]  # the last stage: what the image has
shipped = ["/" + os.path.basename(p) for l in re.findall(r"^COPY --\S+ (.*) /$", recipe, re.MULTILINE) for p in l.split()]
entry = re.findall(r'^ENTRYPOINT \["([^"]+)"', recipe, re.MULTILINE)
check("the image has its entry point and the hook", [*entry, "/nccl-init-hook"], shipped)
OURS = re.compile(r"^\S+/nccl-init[:@]")
own = [(f, c) for f, _, c in containers if OURS.match(c.get("image", ""))]
check("containers of the image", True, len(own) >= 10)
for file, container in own:
    check(f"{file}: {container['name']} starts what the image has", True, container.get("command", entry)[0] in shipped)
recipes = [p for p in sources if os.path.basename(p) == "Dockerfile"] + ["k8s/README.md", "docs/usage.md"]
for path in recipes:
    copied = re.findall(r"^COPY --from=(?:nccl-init|ghcr\.io/nccl-init/\S+) (\S+) ", text(path), re.MULTILINE)
    check(f"{path} copies what the image has", set(entry), set(copied))

for path in [p for p in sources if p.endswith((".yaml", ".md"))] + ["README.md", *glob.glob("docs/*.md")]:
    names = set(re.findall(r"command: \[(\S*nccl-init), (?:install|env|doctor|preflight)\b", text(path)))
    if names:
        check(f"{path}: commands of the image", set(entry), names)

# ---- the volume with the program ----------------------------------------------------------------------

for file, pod, container in containers:
    words = container.get("command") or []
    if words[:1] and words[0].endswith("/nccl-init") and not OURS.match(container.get("image", "")):
        folder = os.path.dirname(words[0])
        mount = next((m for m in container["volumeMounts"] if m["mountPath"] == folder), {})
        init = [c for c in pod.get("initContainers", []) if c["command"] == [*entry, "install", folder]]
        volume = [m["name"] for c in init for m in c["volumeMounts"] if m["mountPath"] == folder]
        check(f"{file}: {words[0]} is where the init container installs it", [mount.get("name")], volume)
        check(f"{file}: and is not for writing", True, mount.get("readOnly", False))

# ---- KServe's shell -------------------------------------------------------------------------------------

_, main = of("examples-kserve-llminferenceserviceconfig")
shell = main["command"][main["command"].index("--") + 1 :]
shell = [re.sub(r"{{.*?}}", "x", word) for word in shell]
extra = "--additional '{\"a\": [1, 2]}'"
with tempfile.TemporaryDirectory() as folder:
    vllm = os.path.join(folder, "vllm")
    with open(vllm, "w", encoding="utf-8") as file:
        file.write('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    os.chmod(vllm, 0o755)
    env = {"PATH": folder + ":" + os.environ["PATH"], "VLLM_ADDITIONAL_ARGS": extra}
    out = subprocess.run([*shell, "--seed", "'a  b'"], env=env, capture_output=True, text=True, check=False).stdout
check("KServe: quotes in VLLM_ADDITIONAL_ARGS and args count", ["--additional", '{"a": [1, 2]}', "--seed", "a  b"], out.splitlines()[-4:])

# ---- the environment file -----------------------------------------------------------------------------

writable = set()
for decides in re.findall(r"^- Decides:.*?\n\n", text("docs/rules.md"), re.MULTILINE | re.DOTALL):
    writable |= set(re.findall(r"`(NCCL_[A-Z_]+)", decides))
pod, main = of("inject-env-file")
keys = [e["valueFrom"]["fileKeyRef"] for e in main["env"] if "fileKeyRef" in (e.get("valueFrom") or {})]
check("fileKeyRef names each variable that a rule sets", sorted(writable), sorted(k["key"] for k in keys))
check("each is optional", {True}, {k.get("optional") for k in keys})
check("and named like its key", [], [e for e in main["env"] if e.get("valueFrom", {}).get("fileKeyRef", {}).get("key", e["name"]) != e["name"]])
init = pod["initContainers"][0]
folders = {m["name"]: m["mountPath"] for m in init["volumeMounts"]}
out = init["command"][init["command"].index("-o") + 1]
check("the file is the one that is written", {out}, {os.path.join(folders[k["volumeName"]], k["path"]) for k in keys})
check("both containers ask for the same devices", main["resources"], init["resources"])
for case in sorted(os.listdir("tests/golden")):
    env = os.path.join("tests/golden", case, "expected.env")
    if os.path.exists(env):
        extra = set(re.findall(r"^(?:export )?(NCCL_[A-Z_]+)=", text(env), re.MULTILINE)) - {k["key"] for k in keys}
        check(f"golden case {case}: no variable that the manifest lacks", set(), extra) if extra else None

# ---- devices ------------------------------------------------------------------------------------------

_, main = of("workload-statefulset")
resources = sorted(r for r in main["resources"]["limits"] if r.startswith("openshift.io/"))
golden = dict(line.split("=", 1) for line in text("tests/golden/h100-12dev/env").splitlines() if "=" in line)
wanted = sorted(k for k in golden if k.startswith("PCIDEVICE_") and not k.endswith("_INFO"))
check("resources are those of the recorded pod", wanted, ["PCIDEVICE_" + re.sub(r"[./]", "_", r).upper() for r in resources])
policies = sorted("openshift.io/" + o["spec"]["resourceName"] for f, o in objects if f == "workload-job-admin" and o["kind"] == "SriovNetworkNodePolicy")
check("resources are those of the policies", policies, resources)
status, out, _ = run("env", "--format=k8s", "--mode=rdma", "--require=rails=4", f"--root={NODE}", env=golden)
check("such a pod on the recorded node: four rails", (0, True), (status, "NCCL_IB_HCA='=mlx5_6:1," in out))

default = re.search(r"--network-status=.*?else\s+(\S+)", usage, re.DOTALL)[1]
for name in ("workload-statefulset", "doctor"):
    pod, main = of(name)
    at = {m["name"]: m["mountPath"] for m in main["volumeMounts"]}["podinfo"]
    item = next(v for v in pod["volumes"] if v["name"] == "podinfo")["downwardAPI"]["items"][0]["path"]
    check(f"{name}: network-status is where the program looks", default, os.path.join(at, item))

# ---- rights -------------------------------------------------------------------------------------------

scc = next(o for _, o in objects if o["kind"] == "SecurityContextConstraints")
need = sorted(scc["allowedCapabilities"])
setcap = re.search(r"setcap (\S+)=p", text("docs/findings.md"))[1]
check("the SCC allows what the program's documents ask for", sorted(c[4:].upper() for c in setcap.split(",")), need)
for path in ("k8s/examples/image/Dockerfile", "k8s/bench/nccl-tests/Dockerfile"):
    check(f"{path} gives the binary the same", [setcap], re.findall(r"setcap (\S+)=p", text(path)))
with_rights = ("workload-job", "workload-statefulset", "inject-env-file", "inject-image", "cluster-eight-rails")
for name in (*with_rights, "cluster-shared-devices", "cluster-dra"):
    _, main = of(name)
    check(f"{name}: the container asks for them", need, sorted(main["securityContext"]["capabilities"].get("add", [])))
for name in ("cluster-sockets", "memlock-node", "cluster-one-rail"):
    _, main = of(name)
    check(f"{name}: no capability", None, main["securityContext"]["capabilities"].get("add"))

# ---- the rest -----------------------------------------------------------------------------------------

version = run("--version")[1].split()[1]
ours = set()
for path in sources:
    if os.path.isfile(path):
        ours |= set(re.findall(r"ghcr\.io/nccl-init/nccl-init:([0-9.]+)", text(path)))
check("the image's tag is the program's version", {version}, ours)
memlock = next(o for f, o in objects if f == "node-memlock")["spec"]["config"]["storage"]["files"][0]
check(
    "crio-memlock.conf is in its MachineConfig",
    text("k8s/node/memlock/crio-memlock.conf"),
    urllib.parse.unquote(memlock["contents"]["source"].partition(",")[2]),
)
iommu = {f: o["spec"]["kernelArguments"] for f, o in objects if f.startswith("node-iommu")}
check("iommu=pt on both", [True, True], ["iommu=pt" in args for args in iommu.values()])

sys.exit(failures > 0)
