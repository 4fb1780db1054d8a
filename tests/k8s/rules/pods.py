# Rules about pods, whatever makes them.
# SPDX-License-Identifier: Apache-2.0
import re

from . import Change, Rule, find, in_container, in_pod
from .forms import APART, EXEC, NODES, among, amount, qualified

# What the Downward API gives (core ValidEnvDownwardAPIFieldPathExpressions, and the same for volumes).
FIELDS_OF_ENV = {
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
}
FIELDS_OF_FILE = {"metadata.name", "metadata.namespace", "metadata.uid", "metadata.annotations", "metadata.labels"}
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


def twice(spec, at):
    names = [c.get("name") for _, c in at.pod.containers()]
    for name in {n for n in names if names.count(n) > 1}:
        yield ("containers",), f"{name} stands twice"


def no_image(container, at):
    if not at.pod.partial and not container.get("image"):
        yield ("image",), "no image"


def mounted_volume(container, at):
    volumes = {v.get("name") for v in at.pod.spec.get("volumes") or []}
    for path, name in find(container, "volumeMounts[*].name"):
        if name not in volumes:
            yield path, f"mounts {name}, which is no volume"


def used_volume(spec, at):
    used = {n for _, c in at.pod.containers() for _, n in find(c, "volumeMounts[*].name")}
    used |= {n for _, c in at.pod.containers() for _, n in find(c, "env[*].valueFrom.fileKeyRef.volumeName")}
    for path, name in find(spec, "volumes[*].name"):
        if name not in used and not at.pod.partial:
            yield path, f"no container mounts {name}"


def file_variable(container, at):
    volumes = {v["name"]: v for v in at.pod.spec.get("volumes") or []}
    for path, name in find(container, "env[*].valueFrom.fileKeyRef.volumeName"):
        if "emptyDir" not in volumes.get(name, {}):
            yield path, f"fileKeyRef needs an emptyDir, and {name} is none"


def downward(path, known, keys):
    match = re.fullmatch(r"metadata\.(labels|annotations)\['([^']+)'\]", path)
    if match and match[1] in keys:
        return qualified(match[2].lower() if match[1] == "annotations" else match[2])
    return None if path in known else f"{path} is no field that a pod can read"


def downward_variable(container, _):
    for path, field in find(container, "env[*].valueFrom.fieldRef.fieldPath"):
        fault = downward(field, FIELDS_OF_ENV, ("labels", "annotations"))
        if fault:
            yield path, fault


def downward_file(spec, _):
    for path, field in find(spec, "volumes[*].downwardAPI.items[*].fieldRef.fieldPath"):
        fault = downward(field, FIELDS_OF_FILE, ("labels", "annotations"))
        if fault:
            yield path, fault


def resource_variable(container, at):
    names = {c["name"] for _, c in at.pod.containers()}
    for path, field in find(container, "env[*].valueFrom.resourceFieldRef"):
        if not re.fullmatch(r"(limits|requests)\.(cpu|memory|ephemeral-storage|hugepages-.+)", field["resource"]):
            yield path, f"{field['resource']} is no resource that a variable can have"
        if field.get("containerName", container["name"]) not in names:
            yield path, f"no container {field['containerName']}"


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


STANDARD = {"cpu", "memory", "ephemeral-storage"}


def each_resource(container):
    resources = container.get("resources") or {}
    for part in ("limits", "requests"):
        for name, value in (resources.get(part) or {}).items():
            yield part, name, amount(value)


def resource_name(container, _):
    for part, name, _ in each_resource(container):
        if "/" not in name and name not in STANDARD and not name.startswith("hugepages-"):
            yield ("resources", part, name), "is neither a standard resource nor one with a domain"
        if name.split("/")[0].endswith("kubernetes.io") and "/" in name:
            yield ("resources", part, name), "the domain kubernetes.io is not for extended resources"


def request_limit(container, _):
    limits = {name: value for part, name, value in each_resource(container) if part == "limits"}
    for part, name, value in each_resource(container):
        if part == "requests" and name in limits and value > limits[name]:
            yield ("resources", part, name), "is more than its limit"


def extended_equal(container, _):
    limits = {name: value for part, name, value in each_resource(container) if part == "limits"}
    for part, name, value in each_resource(container):
        if part == "requests" and name not in STANDARD and limits.get(name) != value:
            yield ("resources", part, name), "an extended resource is not overcommitted: its limit is to be the same"


def extended_whole(container, _):
    for part, name, value in each_resource(container):
        if name not in STANDARD and value != int(value):
            yield ("resources", part, name), f"{value} is not a whole number of devices"


def huge_pages(container, _):
    names = {name for part, name, _ in each_resource(container)}
    if any(n.startswith("hugepages-") for n in names) and not names & {"cpu", "memory"}:
        yield ("resources",), "huge pages need cpu or memory beside them"


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


def probe_times(container, _):
    for probe in PROBES:
        part = container.get(probe) or {}
        for key, value in part.items():
            if key.endswith(("Seconds", "Threshold")) and value < 0:
                yield (probe, key), "is negative"
        if probe != "readinessProbe" and part.get("successThreshold", 1) != 1:
            yield (probe, "successThreshold"), "is 1 for such a probe"


def probe_action(container, _):
    for probe in PROBES:
        if (container.get(probe) or {}).get("exec", {"command": ["x"]}).get("command", []) == []:
            yield (probe, "exec"), "has no command"
    if "terminationGracePeriodSeconds" in (container.get("readinessProbe") or {}):
        yield ("readinessProbe", "terminationGracePeriodSeconds"), "such a probe ends nothing"


def probe_of_init(container, at):
    if at.key[0] == "initContainers" and container.get("restartPolicy") != "Always":
        for key in (*PROBES, "lifecycle"):
            if container.get(key):
                yield (key,), "an init container that ends has none"


def tolerations(spec, _):
    for path, part in find(spec, "tolerations[*]"):
        operator = part.get("operator", "Equal")
        if not part.get("key") and operator != "Exists":
            yield path, "without a key the operator is Exists"
        if operator == "Exists" and part.get("value"):
            yield path, "Exists has no value"
        if part.get("tolerationSeconds") is not None and part.get("effect") != "NoExecute":
            yield path, "tolerationSeconds is for NoExecute"
        if part.get("key") and qualified(part["key"]):
            yield path, qualified(part["key"])


def node_terms(spec, _):
    for path, part in find(spec, NODES + "[*]"):
        for at, need in find(part, "matchExpressions[*]"):
            yield from ((path + at, fault) for fault in requirement(need))


def requirement(need):
    values = need.get("values") or []
    if need["operator"] in ("In", "NotIn") and not values:
        yield f"{need['operator']} needs values"
    if need["operator"] in ("Exists", "DoesNotExist") and values:
        yield f"{need['operator']} has no values"
    if need["operator"] in ("Gt", "Lt") and (len(values) != 1 or not values[0].lstrip("-").isdigit()):
        yield f"{need['operator']} needs one number"
    if qualified(need["key"]):
        yield qualified(need["key"])


def selector(part, _):
    for path, need in find(part, "matchExpressions[*]"):
        yield from ((path, fault) for fault in requirement(need))


def own_labels(spec, at):
    """Anti-affinity that does not mean the pod's own kind keeps nothing apart."""
    for path, labels in find(spec, "affinity.podAntiAffinity.[*][*].labelSelector.matchLabels"):
        if not set(labels.items()) <= set(at.pod.labels.items()) and at.pod.labels:
            yield path, "selects other pods than its own"


def claims(container, at):
    known = {c.get("name") for c in at.pod.spec.get("resourceClaims") or []}
    for path, name in find(container, "resources.claims[*].name"):
        if name not in known:
            yield path, f"claims {name}, which the pod does not have"


def used_claims(spec, at):
    used = {n for _, c in at.pod.containers() for _, n in find(c, "resources.claims[*].name")}
    for path, name in find(spec, "resourceClaims[*].name"):
        if name not in used:
            yield path, f"no container claims {name}"


def default_container(spec, at):
    name = at.pod.notes.get("kubectl.kubernetes.io/default-container")
    if name and name not in [c["name"] for c in spec["containers"]]:
        yield (), f"its default container {name} is not there"


def host_ports(container, at):
    if at.pod.spec.get("hostNetwork"):
        for path, port in find(container, "ports[*]"):
            if port.get("hostPort", port["containerPort"]) != port["containerPort"]:
                yield path, "on the host's network both ports are the same"


# fmt: off
RULES = [
    Rule("pod.container-twice", "pod", twice, "core validateContainers", in_pod("initContainers[0].name", "train")),
    Rule("container.no-image", "container", no_image, "core validateContainers", in_container("image", None)),
    Rule("mount.volume", "container", mounted_volume, "core ValidateVolumeMounts",
        in_container("volumeMounts[0].name", "shmm")),
    Rule("volume.unused", "pod", used_volume, "ours: what is not used is a leftover",
        in_pod("volumes[+]", {"name": "x", "emptyDir": {}})),
    Rule("env.file", "container", file_variable, "core: KEP 3721",
        in_container("env[valueFrom.fileKeyRef].valueFrom.fileKeyRef.volumeName", "podinfo")),
    Rule("env.field", "container", downward_variable, "core validateObjectFieldSelector",
        in_container("env[valueFrom].valueFrom.fieldRef.fieldPath", "spec.node")),
    Rule("volume.field", "pod", downward_file, "core validateDownwardAPIVolumeFile",
        in_pod("volumes[downwardAPI].downwardAPI.items[0].fieldRef.fieldPath", "status.podIP")),
    Rule("env.resource", "container", resource_variable, "core validateContainerResourceFieldSelector",
        in_container("env[+]", {"name": "X", "valueFrom": {"resourceFieldRef": {"resource": "limits.gpu"}}})),
    Rule("env.reference", "container", expanded, "k8s.io/kubernetes third_party/forked/golang/expansion",
        in_container("args[0]", "$(NODE)")),
    Rule("resource.name", "container", resource_name, "core validateContainerResourceName",
        in_container("resources.limits['gpu']", "1")),
    Rule("resource.request", "container", request_limit, "core ValidateContainerResourceRequirements",
        in_container("resources.requests['memory']", "1Ti")),
    Rule("resource.equal", "container", extended_equal, "core ValidateContainerResourceRequirements",
        in_container("resources.requests['nvidia.com/gpu']", "2")),
    Rule("resource.whole", "container", extended_whole, "core ValidateResourceQuantityValue",
        in_container("resources.limits['nvidia.com/gpu']", "500m")),
    Rule("resource.huge-pages", "container", huge_pages, "core ValidateContainerResourceRequirements",
        in_container("resources", {"limits": {"hugepages-2Mi": "2Mi"}, "requests": {"hugepages-2Mi": "2Mi"}})),
    Rule("volume.memory", "pod", shared_memory, "ours: the kernel kills who writes more",
        in_pod("volumes[emptyDir.medium].emptyDir.sizeLimit", "1Pi")),
    Rule("probe.port", "container", probe_port, "core validateTCPSocketAction",
        Change("StatefulSet", "spec.template.spec.containers[0].startupProbe", {"tcpSocket": {"port": "http"}})),
    Rule("probe.times", "container", probe_times, "core validateProbe, validateLivenessProbe",
        Change("StatefulSet", "spec.template.spec.containers[0].startupProbe", {**EXEC, "successThreshold": 2})),
    Rule("probe.action", "container", probe_action, "core validateExecAction, validateReadinessProbe",
        Change("StatefulSet", "spec.template.spec.containers[0].readinessProbe", {"exec": {}})),
    Rule("probe.init", "container", probe_of_init, "core validateInitContainers",
        in_pod("initContainers[0].startupProbe", EXEC)),
    Rule("pod.toleration", "pod", tolerations, "core ValidateTolerations", in_pod("tolerations[0].value", "x")),
    Rule("pod.node-term", "pod", node_terms, "core ValidateNodeSelectorRequirement",
        in_pod(NODES + "[0].matchExpressions[0].values", [])),
    Rule("selector.values", "selector", selector,
        "apimachinery pkg/apis/meta/v1/validation ValidateLabelSelectorRequirement",
        in_pod(APART + "[0].labelSelector.matchExpressions", [{"key": "a", "operator": "In"}])),
    Rule("pod.anti-affinity", "pod", own_labels, "ours: two pods of a job are to be on two nodes",
        in_pod(APART + "[0].labelSelector.matchLabels['app.kubernetes.io/name']", "x")),
    Rule("container.claim", "container", claims, "core validateResourceClaimNames",
        in_container("resources.claims[0].name", "rail")),
    Rule("pod.claim-unused", "pod", used_claims, "ours: a claim that no container has gives it no device",
        in_pod("resourceClaims[+]", {"name": "x", "resourceClaimTemplateName": "rails"})),
    Rule("pod.default-container", "pod", default_container, "kubectl exec refuses it",
        Change("Pod", "metadata.annotations['kubectl.kubernetes.io/default-container']", "x")),
    Rule("container.host-port", "container", host_ports, "core validateHostNetwork",
        [in_pod("hostNetwork", True), in_container("ports[0].hostPort", 1)]),
]
