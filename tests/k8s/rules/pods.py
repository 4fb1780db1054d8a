# Rules about pods, whatever makes them.
# SPDX-License-Identifier: Apache-2.0
import re

from . import Change, Rule, find, in_container, in_pod
from .forms import APART, among, amount

# What the controllers of these kinds set in their pods.
INDEX = {"JOB_COMPLETION_INDEX"}  # pkg/controller/job/indexed_job_utils.go
SET_BY = {
    "Job": INDEX,
    "CronJob": INDEX,
    "JobSet": INDEX,
    "LeaderWorkerSet": {"LWS_LEADER_ADDRESS", "LWS_GROUP_SIZE", "LWS_WORKER_INDEX"},
    "PyTorchJob": {"MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE"},
}  # lws pkg/utils/pod  # training-operator pkg/controller.v1/pytorch
PROBES = ("startupProbe", "livenessProbe", "readinessProbe")


def used_volume(spec, at):
    used = {n for _, c in at.pod.containers() for _, n in find(c, "volumeMounts[*].name")}
    used |= {n for _, c in at.pod.containers() for _, n in find(c, "env[*].valueFrom.fileKeyRef.volumeName")}
    for path, name in find(spec, "volumes[*].name"):
        if name not in used and not at.pod.partial:
            yield path, f"no container mounts {name}"


def expanded(container, at):
    """A reference to a variable that is not there, or stands further below, stays as it is written."""
    if at.pod.partial:
        return
    known = set().union(SET_BY.get(at.obj["kind"], ()))
    if container.get("envFrom"):
        return
    places = [(("env", i, "value"), e.get("value") or "", e["name"]) for i, e in enumerate(container.get("env") or [])]
    places += [((key, i), word, None) for key in ("command", "args") for i, word in enumerate(container.get(key) or [])]
    for path, text, name in places:
        for wanted in re.findall(r"(?<!\$)\$\(([A-Za-z_][A-Za-z0-9_.-]*)\)", text):
            if wanted not in known and "\n" not in text:  # a script has substitutions of its own
                yield path, f"$({wanted}) names no variable that stands above"
        known.add(name)


def shared_memory(spec, at):
    """Pages of an emptyDir in memory count against the limits of the containers that write them (cgroup v2 memory)."""
    for path, volume in find(spec, "volumes[*]"):
        folder = volume.get("emptyDir") or {}
        if folder.get("medium") != "Memory":
            continue
        users = [c for _, c in at.pod.containers() if volume["name"] in [n for _, n in find(c, "volumeMounts[*].name")]]
        limits = [amount(n) for c in users for _, n in find(c, "resources.limits.memory")]
        if not folder.get("sizeLimit"):
            yield path, "has no sizeLimit: half of the node's memory"
        elif limits and amount(folder["sizeLimit"]) > max(limits):
            yield path, f"{volume['name']} has more room than its containers have memory"


def probe_port(container, _):
    names = {p.get("name") for p in container.get("ports") or []}
    for probe in PROBES:
        for path, port in [x for kind in ("httpGet", "tcpSocket") for x in find(container, f"{probe}.{kind}.port")]:
            if isinstance(port, int) and among(1, 65535)(port):
                yield path, among(1, 65535)(port)
            elif isinstance(port, str) and port not in names:
                yield path, f"no port of this container is called {port}"


def own_labels(spec, at):
    """Anti-affinity that does not mean the pod's own kind keeps nothing apart."""
    for path, labels in find(spec, "affinity.podAntiAffinity.[*][*].labelSelector.matchLabels"):
        if not set(labels.items()) <= set(at.pod.labels.items()) and at.pod.labels:
            yield path, "selects other pods than its own"


def used_claims(spec, at):
    used = {n for _, c in at.pod.containers() for _, n in find(c, "resources.claims[*].name")}
    for path, name in find(spec, "resourceClaims[*].name"):
        if name not in used:
            yield path, f"no container claims {name}"


def default_container(spec, at):
    name = at.pod.notes.get("kubectl.kubernetes.io/default-container")
    if name and name not in [c["name"] for c in spec["containers"]]:
        yield (), f"its default container {name} is not there"


# fmt: off
RULES = [
    Rule("volume.unused", "pod", used_volume, "ours: what is not used is a leftover",
        in_pod("volumes[+]", {"name": "x", "emptyDir": {}})),
    Rule("env.reference", "container", expanded, "k8s.io/kubernetes third_party/forked/golang/expansion",
        in_container("args[0]", "$(NODE)")),
    Rule("volume.memory", "pod", shared_memory, "ours: the kernel kills who writes more",
        in_pod("volumes[emptyDir.medium].emptyDir.sizeLimit", "1Pi")),
    Rule("probe.port", "container", probe_port, "core validateTCPSocketAction",
        Change("StatefulSet", "spec.template.spec.containers[0].startupProbe", {"tcpSocket": {"port": "http"}})),
    Rule("pod.anti-affinity", "pod", own_labels, "ours: two pods of a job are to be on two nodes",
        in_pod(APART + "[0].labelSelector.matchLabels['app.kubernetes.io/name']", "x")),
    Rule("pod.claim-unused", "pod", used_claims, "ours: a claim that no container has gives it no device",
        in_pod("resourceClaims[+]", {"name": "x", "resourceClaimTemplateName": "rails"})),
    Rule("pod.default-container", "pod", default_container, "kubectl exec refuses it",
        Change("Pod", "metadata.annotations['kubectl.kubernetes.io/default-container']", "x")),
]
