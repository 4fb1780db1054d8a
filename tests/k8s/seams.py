#!/usr/bin/python3
# The seams between manifests and program: what the one names, the other has.
# usage: seams.py PROGRAM FOLDER-OF-RENDERED-FILES [all]    (from the project's top folder); all: also what takes seconds
# SPDX-License-Identifier: Apache-2.0
import glob
import json
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
    """The pod and its first container of one rendered file; or of the container's name behind it."""
    return next((p, p["containers"][0]) for f, p in pods if name in (f, f"{f}-{p['containers'][0]['name']}"))


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
check("each NCCLINIT_ variable is one of the program's", set(), named - known - {"NCCLINIT_NAME"})  # as texts call any
check("some are used", True, len(settings) >= 2)
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
for words in sorted(commands):
    shown = " ".join(words[:5]).replace("\n", " ")
    if "--" in words:
        options = words[1 : words.index("--")]
        check(f"{shown}: a command follows", True, len(words) > words.index("--") + 1)
        status, _, _ = run("run", *options, "--help")
        check(f"{shown}: options", 0, status)
    elif len(words) == 1 or words[1] == "install":
        with tempfile.TemporaryDirectory() as folder:
            run("install", folder)
            copy = os.path.join(folder, "nccl-init")
            check(f"{shown}: an executable copy", True, os.access(copy, os.X_OK))
    elif words[1] == "preflight":
        # of one pod there is nothing to meet; the options are read all the same
        status, _, _ = run(*words[1:], env={"NCCLINIT_RANKS": "1", "NCCLINIT_RANK": "0", "NCCLINIT_PEERS": "localhost"})
        check(f"{shown}: a result", True, status in (0, 1))
    elif words[1] == "env":
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "file")
            options = [f"--output={out}" if word.startswith("--output=") else word for word in words[1:]]
            status, _, _ = run(*options, f"--root={NODE}")
            check(f"{shown}: status and file", (0, True), (status, os.path.exists(out)))
    else:
        status, out, _ = run(*words[1:], f"--root={NODE}")
        check(f"{shown}: a result", (True, True), (status in (0, 1), out.startswith("{")))

# ---- the image ------------------------------------------------------------------------------------------

recipe = text("container/Containerfile").rpartition("\nFROM ")[2]  # the last stage: what the image has
shipped = ["/" + os.path.basename(p) for l in re.findall(r"^COPY --\S+ (.*) /$", recipe, re.MULTILINE) for p in l.split()]
entry = re.findall(r'^ENTRYPOINT \["([^"]+)"', recipe, re.MULTILINE)
check("the image has its entry point, the helper and the hook", [*entry, "/nccl-init-try", "/nccl-init-hook"], shipped)
OURS = re.compile(r"^\S+/nccl-init[:@]")
own = [(f, c) for f, _, c in containers if OURS.match(c.get("image", ""))]
check("containers of the image", True, len(own) >= 8)
for file, container in own:
    check(f"{file}: {container['name']} starts what the image has", True, container.get("command", entry)[0] in shipped)
recipes = [p for p in sources if os.path.basename(p) == "Dockerfile"] + ["docs/start/install.md"]
for path in recipes:
    copied = re.findall(r"^COPY --from=(?:nccl-init|(?:ghcr\.io/nccl-init|REGISTRY)/\S+) (\S+) ", text(path), re.MULTILINE)
    check(f"{path} copies what the image has", set(entry), set(copied))

for path in [p for p in sources if p.endswith((".yaml", ".md"))] + ["README.md", *glob.glob("docs/**/*.md", recursive=True)]:
    names = set(re.findall(r"command: \[(\S*nccl-init), (?:install|env|doctor|preflight)\b", text(path)))
    if names:
        check(f"{path}: commands of the image", set(entry), names)

# ---- the keys of `env` ---------------------------------------------------------------------------------

table = yaml.safe_load(text("k8s/charts/nccl-init/keys.yaml"))
keys = {key["name"] for key in table}
check("the policy has these keys", keys, set(re.findall(r"'name': '([A-Z_]+)', 'for'", text(f"{RENDERED}/release-nccl-init.yaml"))))


def may_set(library, tree):
    """What the program may set for the library, also what it leaves unset on this node."""
    _, out, _ = run("plan", "--json", f"--for={library}", f"--root={tree}")
    return {setting["name"] for setting in json.loads(out)["settings"]} if out else set()


if sys.argv[3:] == ["all"]:
    seen, telling = set(), []  # the recorded nodes, and those of them that together have all names
    for tree in sorted(glob.glob("tests/nodes/*.tree")):
        new = may_set("all", tree) - seen
        seen |= new
        telling += [tree] if new else []
    check("keys.yaml has what may be set for all", seen, keys)
    for library in re.search(r"--for=(\S+)\|all,\.\.\.", usage)[1].split("|"):
        listed = {key["name"] for key in table if library in key["for"]}
        check(f"keys.yaml has what may be set for {library}", set().union(*(may_set(library, tree) for tree in telling)), listed)

# ---- the volume with the program ----------------------------------------------------------------------

policy = next(o for f, o in objects if f == "release-nccl-init" and o["kind"] == "MutatingAdmissionPolicy")
policy = yaml.dump(policy, width=10000)
for file, pod, container in containers:
    words = container.get("command") or []
    if words[:1] and words[0].endswith("/nccl-init") and not OURS.match(container.get("image", "")):
        folder = os.path.dirname(words[0])
        mount = next((m for m in container.get("volumeMounts", []) if m["mountPath"] == folder), None)
        installs = any(c.get("command", [])[1:2] == ["install"] for c in pod.get("initContainers", []))
        if mount is None and not installs:  # the policy puts it there
            check(f"{file}: {words[0]} is where the policy installs it", True, f"'{folder}'" in policy and f"'{words[0]}'" in policy)
            continue
        init = [m for c in pod.get("initContainers", []) if c["command"][1] == "install" for m in c["volumeMounts"] if m["mountPath"] == c["command"][2]]
        check(f"{file}: {words[0]} is where the init container installs it", [mount and mount["name"]], [m["name"] for m in init])
        check(f"{file}: and is not for writing", True, bool(mount) and mount.get("readOnly", False))
check("the policy starts what the image has", set(entry), set(re.findall(r"\['(/[^']*)', '(?:env|install)'", policy)) | set(entry))
written = re.findall(r"--output=([^']*)", policy)
check("the policy writes where it mounts", True, bool(written) and all(w.startswith("/run/nccl-init/") for w in written))
for words in re.findall(r"\['/nccl-init', ('env', '--format=[^']*)'", policy):
    status, _, _ = run(*re.findall(r"[^', ]+", words), f"--root={NODE}")
    check(f"the policy's {words}': a result", 0, status)

# ---- one set of expressions ------------------------------------------------------------------------------

def expressions(release, kind):
    """What its policies say, a line for each word, but for the fields that one engine alone has."""
    apart = ("autogen", "evaluation", "validationActions")
    said = {o["metadata"]["name"]: {k: v for k, v in o["spec"].items() if k not in apart}
            for f, o in objects if f == f"release-{release}" and o["kind"] == kind}
    return yaml.dump(said, width=10000).replace("nccl-init-kyverno", "nccl-init").splitlines()


for kind in ("Mutating", "Validating"):
    own, kyverno = expressions("nccl-init", f"{kind}AdmissionPolicy"), expressions("nccl-init-kyverno", f"{kind}Policy")
    check(f"{kind}Policy: Kyverno has what the API server has", [], [line for line in own if line not in kyverno][:3])
    check(f"{kind}Policy: and no more", [], [line for line in kyverno if line not in own][:3])
    check(f"{kind}Policy: in the same order, and expressions", [True, True], [own == kyverno, "  variables:" in "".join(own)])

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

# ---- devices ------------------------------------------------------------------------------------------

default = re.search(r"--network-status=.*?(/etc/\S+)", usage, re.DOTALL)[1]
for name in ("release-job-rdma", "release-nccl-init-doctor"):
    pod, main = of(name)
    at = {m["name"]: m["mountPath"] for m in main["volumeMounts"]}["podinfo"]
    item = next(v for v in pod["volumes"] if v["name"] == "podinfo")["downwardAPI"]["items"][0]["path"]
    check(f"{name}: network-status is where the program looks", default, os.path.join(at, item))

# ---- rights -------------------------------------------------------------------------------------------

scc = next(o for _, o in objects if o["kind"] == "SecurityContextConstraints")
need = sorted(scc["allowedCapabilities"])
setcap = re.search(r"setcap\s+(\S+)=p", text("docs/reference/findings.md"))[1]
check("the SCC allows what the program's documents ask for", sorted(c[4:].upper() for c in setcap.split(",")), need)
for path in ("k8s/examples/image/Dockerfile", "k8s/bench/nccl-tests/Dockerfile"):
    check(f"{path} gives the binary the same", [setcap], re.findall(r"setcap (\S+)=p", text(path)))
_, main = of("release-job-caps")
check("release-job-caps: the container asks for them", need, sorted(main["securityContext"]["capabilities"].get("add", [])))
for name in ("release-job-rdma", "release-job-tcp"):
    _, main = of(name)
    check(f"{name}: no capability", None, main["securityContext"]["capabilities"].get("add"))

# ---- the rest -----------------------------------------------------------------------------------------

version = run("--version")[1].split()[1]
ours = set()
for path in sources:
    if os.path.isfile(path):
        ours |= set(re.findall(r"ghcr\.io/nccl-init/nccl-init:([0-9.]+)", text(path)))
check("the image's tag is the program's version", {version}, ours)
charts = {v for path in glob.glob("k8s/charts/*/Chart.yaml") for v in re.findall(r"^(?:appV|v)ersion: (\S+)$", text(path), re.MULTILINE)}
check("so is that of the charts", {version}, {v.strip('"') for v in charts})
memlock = next(o for f, o in objects if f == "node-memlock")["spec"]["config"]["storage"]["files"][0]
check(
    "crio-memlock.conf is in its MachineConfig",
    text("k8s/node/memlock/crio-memlock.conf"),
    urllib.parse.unquote(memlock["contents"]["source"].partition(",")[2]),
)
iommu = {f: o["spec"]["kernelArguments"] for f, o in objects if f.startswith("node-iommu")}
check("iommu=pt on both", [True, True], ["iommu=pt" in args for args in iommu.values()])

sys.exit(failures > 0)
