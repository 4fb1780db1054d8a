# Rules that are tables: what form a value has, which of several fields may be there, what may not stand twice.
# SPDX-License-Identifier: Apache-2.0
"""Sources, all of Kubernetes 1.36: meta is k8s.io/apimachinery pkg/util/validation, core, apps, batch, rbac and so on
are k8s.io/kubernetes pkg/apis/GROUP/validation. A server takes more names of variables since 1.34, and more names of
Services behind a gate; the stricter form of the older ones is checked."""
import decimal
import ipaddress
import re

from . import Change, choice_rule, form_rule, in_container, in_pod, unique_rule

LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
SUBDOMAIN = rf"{LABEL}(\.{LABEL})*"
QUALIFIED = r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?"


def form(pattern, most, what):
    def fault(value):
        if not isinstance(value, str) or len(value) > most or not re.fullmatch(pattern, value):
            return f"{value!r} is no {what} of at most {most} characters"
        return None

    return fault


def among(least, most):
    def fault(value):
        return None if isinstance(value, int) and least <= value <= most else f"{value} is not {least} to {most}"

    return fault


def each(of_one, part=None):
    """Of each key of a mapping, of each value with PART."""

    def fault(value):
        return next(filter(None, (of_one(one) for one in (value.values() if part else value))), None)

    return fault


def qualified(value):
    prefix, slash, name = value.rpartition("/")
    return (subdomain(prefix) if slash else None) or form(QUALIFIED, 63, "qualified name")(name)


def port(value):
    return among(1, 65535)(value) if isinstance(value, int) else port_name(value)


def port_name(value):
    if not re.search("[a-z]", value):
        return f"{value!r}: a port's name has a letter"
    return form(r"[a-z0-9]+(-[a-z0-9]+)*", 15, "port name")(value)


AMOUNT = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]+)?")
UNITS = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}


def amount(text):
    """The number that a quantity is, or None."""
    match = AMOUNT.fullmatch(str(text))
    if not match:
        return None
    number, unit = decimal.Decimal(match[1]), match[2] or ""
    if unit.endswith("i"):
        return number * 1024 ** ("KMGTPE".index(unit[0]) + 1)
    return number * 10 ** decimal.Decimal(UNITS[unit] if unit in UNITS else int(unit[1:]))


def quantity(value):
    number = amount(value)
    if number is None:
        return f"{value!r} is no quantity"
    return f"{value!r} is negative" if number < 0 else None


def inside(value):
    """A path that stays in its volume."""
    wrong = not value or value.startswith("/") or ".." in value.split("/")
    return f"{value!r} is not a path within the volume" if wrong else None


def network(value):
    try:
        ipaddress.ip_network(value, strict=True)
    except ValueError as error:
        return str(error)
    return None


def image(value):
    if "{{" in value:  # a template of KServe's
        return None
    name, at, digest = value.partition("@")
    tag = re.search(r":([^/:]+)$", name)
    if at and not re.fullmatch(r"sha256:[0-9a-f]{64}", digest):
        return f"{value}: the digest is malformed"
    if not tag and not at:
        return f"{value} has no tag"
    if tag and tag[1] == "latest":
        return f"{value}: latest is no version"
    path = re.sub(r"^[A-Za-z0-9.-]+(:[0-9]+)?/", "", re.sub(r":[^/:]+$", "", name))
    wrong = not re.fullmatch(r"[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*", path)
    return f"{value} is no image's name" if wrong else None


def part_of_nodes(value):
    text = str(value)
    wrong = not re.fullmatch(r"[0-9]+%?", text) or text.endswith("%") and int(text[:-1]) > 100
    return f"{value!r} is neither a number of nodes nor a part of them" if wrong else None


label = form(LABEL, 63, "DNS label")
subdomain = form(SUBDOMAIN, 253, "DNS subdomain")
label_value = form(rf"({QUALIFIED})?", 63, "label value")
config_key = form(r"(?!\.\.?$)(?!\.\.)[-._a-zA-Z0-9]+", 253, "key")
variable = form(r"[A-Za-z_][A-Za-z0-9_]*", 253, "variable's name")
capability = form(r"(?!CAP_)[A-Z]+(_[A-Z]+)*", 63, "capability without CAP_")
interface = form(r"(?!\.\.?$)[^/:\s]+", 15, "interface's name")
resource_name = form(r"[A-Za-z0-9]([-A-Za-z0-9_]*[A-Za-z0-9])?", 63, "resource's name")
mode = among(0, 0o777)
uid = among(0, 2**31 - 1)
count = among(0, 2**31 - 1)

APART = "affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution"
NODES = "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"
EXEC = {"exec": {"command": ["true"]}}

# fmt: off
RULES = [
    # names, labels, annotations
    form_rule("meta.name", "meta", "name", subdomain, Change("StatefulSet", "metadata.name", "Trainer"),
        "meta NameIsDNSSubdomain"),
    form_rule("meta.namespace", "meta", "namespace", label, Change("RoleBinding", "metadata.namespace", "a.b"),
        "core ValidateNamespaceName"),
    form_rule("meta.label-key", "meta", "labels", each(qualified), Change("Pod", "metadata.labels['a/b/c']", "x"),
        "meta IsQualifiedName"),
    form_rule("meta.label-value", "meta", "labels", each(label_value, 1), Change("Pod", "metadata.labels['x']", "a b"),
        "meta IsValidLabelValue"),
    form_rule("meta.annotation-key", "meta", "annotations", each(lambda key: qualified(key.lower())),
        Change("Pod", "metadata.annotations['-x']", "x"), "apimachinery pkg/api/validation ValidateAnnotations"),
    form_rule("meta.annotation-size", "meta", "annotations",
        lambda notes: "more than 256 KiB" if sum(len((k + v).encode()) for k, v in notes.items()) > 2**18 else None,
        Change("Pod", "metadata.annotations['x']", "x" * 2**18),
        "apimachinery pkg/api/validation TotalAnnotationSizeLimitB"),
    form_rule("selector.label-value", "selector", "matchLabels", each(label_value, 1),
        in_pod(APART + "[0].labelSelector.matchLabels['x']", "-"), "meta IsValidLabelValue"),
    form_rule("service.name", "Service", "metadata.name", form(r"[a-z]([-a-z0-9]*[a-z0-9])?", 63, "RFC 1035 label"),
        Change("Service", "metadata.name", "1st"), "core ValidateServiceName"),
    form_rule("config.key", "ConfigMap", "data", each(config_key), Change("ConfigMap", "data['a/b']", "x"),
        "meta IsConfigMapKey"),
    form_rule("config.size", "ConfigMap", "data",
        lambda data: None if sum(map(len, data.values())) <= 2**20 else "more than 1 MiB",
        Change("ConfigMap", "data['x']", "x" * 2**20), "core ValidateConfigMap, MaxSecretSize"),
    # pods
    form_rule("pod.volume-name", "pod", "volumes[*].name", label, in_pod("volumes[0].name", "Shm"),
        "core ValidateVolumes"),
    form_rule("pod.claim-name", "pod", "resourceClaims[*].name", label, in_pod("resourceClaims[0].name", "Rails"),
        "core validatePodResourceClaims"),
    form_rule("pod.account-name", "pod", "serviceAccountName", subdomain, in_pod("serviceAccountName", "tr_ainer"),
        "core ValidatePodSpec"),
    form_rule("pod.subdomain", "pod", "subdomain", label, in_pod("subdomain", "a.b"), "core ValidatePodSpec"),
    form_rule("pod.hostname", "pod", "hostname", label, in_pod("hostname", "a.b"), "core ValidatePodSpec"),
    form_rule("pod.priority-class", "pod", "priorityClassName", subdomain, in_pod("priorityClassName", "A"),
        "core ValidatePriorityClassName"),
    form_rule("pod.node-selector", "pod", "nodeSelector", each(qualified), in_pod("nodeSelector", {"a b": "x"}),
        "core ValidatePodSpec"),
    form_rule("pod.node-selector-value", "pod", "nodeSelector", each(label_value, 1),
        in_pod("nodeSelector", {"a": "x y"}), "core ValidatePodSpec"),
    form_rule("pod.grace", "pod", "terminationGracePeriodSeconds", count, in_pod("terminationGracePeriodSeconds", -1),
        "core ValidatePodSpec"),
    form_rule("pod.deadline", "pod", "activeDeadlineSeconds", among(1, 2**31 - 1), in_pod("activeDeadlineSeconds", 0),
        "core ValidatePodSpec"),
    form_rule("pod.topology-key", "pod", APART + "[*].topologyKey", qualified, in_pod(APART + "[0].topologyKey", ""),
        "core validatePodAffinityTerm"),
    form_rule("pod.gid", "pod", "securityContext.fsGroup", uid, in_pod("securityContext.fsGroup", -1),
        "core validatePodSpecSecurityContext"),
    form_rule("pod.uid", "pod", "securityContext.runAsUser", uid, in_pod("securityContext.runAsUser", -1),
        "core validatePodSpecSecurityContext"),
    form_rule("pod.node-value", "pod", NODES + "[*].matchExpressions[*].values[*]", label_value,
        in_pod(NODES + "[0].matchExpressions[0].values[0]", "a b"), "core ValidateNodeSelectorRequirement"),
    form_rule("pod.node-field", "pod", NODES + "[*].matchFields[*].key", form("metadata.name", 13, "field of a node"),
        in_pod(NODES + "[0].matchFields", [{"key": "x", "operator": "In", "values": ["x"]}]),
        "core ValidateNodeFieldSelectorRequirement"),
    form_rule("volume.mode", "pod", "volumes[*].[*].defaultMode", mode,
        in_pod("volumes[configMap].configMap.defaultMode", 1000), "core validateVolumeSource"),
    form_rule("volume.config-path", "pod", "volumes[*].configMap.items[*].path", inside,
        in_pod("volumes[configMap].configMap.items", [{"key": "train.py", "path": "../x"}]), "core validateKeyToPath"),
    form_rule("volume.info-path", "pod", "volumes[*].downwardAPI.items[*].path", inside,
        in_pod("volumes[downwardAPI].downwardAPI.items[0].path", "../x"), "core validateDownwardAPIVolumeFile"),
    form_rule("volume.size", "pod", "volumes[*].emptyDir.sizeLimit", quantity,
        in_pod("volumes[emptyDir].emptyDir.sizeLimit", "16K"), "core validateEmptyDirVolumeSource"),
    # containers
    form_rule("container.name", "container", "name", label, in_container("name", "Train"),
        "core validateContainerCommon"),
    form_rule("container.image", "container", "image", image, in_container("image", "nvcr.io/nvidia/pytorch:latest"),
        "ours: a version, and a name that a registry has"),
    form_rule("container.port-number", "container", "ports[*].containerPort", among(1, 65535),
        in_container("ports[0].containerPort", 65536), "core validateContainerPorts"),
    form_rule("container.port-name", "container", "ports[*].name", port_name,
        in_container("ports[0].name", "rendezvous-port1"), "meta IsValidPortName"),
    form_rule("container.variable", "container", "env[*].name", variable, in_container("env[0].name", "NCCL-DEBUG"),
        "meta IsEnvVarName; a shell can name it"),
    form_rule("container.file-key", "container", "env[*].valueFrom.fileKeyRef.key", variable,
        in_container("env[valueFrom.fileKeyRef].valueFrom.fileKeyRef.key", "A-B"), "core: KEP 3721"),
    form_rule("container.sleep", "container", "lifecycle.[*].sleep.seconds", among(0, 3600),
        in_container("lifecycle", {"preStop": {"sleep": {"seconds": -1}}}), "core validateSleepAction"),
    form_rule("container.workdir", "container", "workingDir",
        lambda v: None if v.startswith("/") else f"{v!r} is not absolute", in_container("workingDir", "work"),
        "runc libcontainer/specconv: cwd is absolute"),
    form_rule("container.mount-path", "container", "volumeMounts[*].mountPath",
        lambda v: None if re.fullmatch("/[^:]*", v) else f"{v!r} is no absolute path without a colon",
        in_container("volumeMounts[0].mountPath", "/a:b"), "core ValidateVolumeMounts"),
    form_rule("container.sub-path", "container", "volumeMounts[*].subPath", inside,
        in_container("volumeMounts[0].subPath", "../x"), "core validateLocalDescendingPath"),
    form_rule("container.capability", "container", "securityContext.capabilities.add", each(capability),
        in_container("securityContext.capabilities.add", ["CAP_IPC_LOCK"]), "containerd and CRI-O put CAP_ in front"),
    form_rule("container.uid", "container", "securityContext.runAsUser", uid,
        in_container("securityContext.runAsUser", -1), "core ValidateSecurityContext"),
    form_rule("container.selinux", "container", "securityContext.seLinuxOptions.type",
        form("[a-z0-9_]+_t", 253, "type"), in_container("securityContext.seLinuxOptions", {"type": "container"}),
        "policies of Fedora and RHEL: types end so"),
    form_rule("container.limit-name", "container", "resources.limits", each(qualified),
        in_container("resources.limits['a.b/c/d']", "1"), "core validateContainerResourceName"),
    form_rule("container.limit", "container", "resources.limits", each(quantity, 1),
        in_container("resources.limits['memory']", "1KB"), "core ValidateResourceQuantityValue"),
    form_rule("container.request", "container", "resources.requests", each(quantity, 1),
        in_container("resources.requests['memory']", "-1"), "core ValidateResourceQuantityValue"),
    # objects
    form_rule("statefulset.replicas", "StatefulSet", "spec.replicas", count, Change("StatefulSet", "spec.replicas", -1),
        "apps ValidateStatefulSetSpec"),
    form_rule("service.port", "Service", "spec.ports[*].port", among(1, 65535),
        Change("Service", "spec.ports[0].port", 0), "core validateServicePort"),
    form_rule("service.port-name", "Service", "spec.ports[*].name", label,
        Change("Service", "spec.ports[0].name", "a_b"), "core validateServicePort"),
    form_rule("service.target", "Service", "spec.ports[*].targetPort", port,
        Change("Service", "spec.ports[0].targetPort", "-"), "core validateServicePort"),
    form_rule("job.completions", "job", "completions", count, Change("Job", "spec.completions", -1),
        "batch validateJobSpec"),
    form_rule("job.parallelism", "job", "parallelism", among(0, 100000), Change("Job", "spec.parallelism", 100001),
        "batch maxParallelismForIndexedJob"),
    form_rule("job.backoff", "job", "backoffLimit", count, Change("Job", "spec.backoffLimit", -1),
        "batch validateJobSpec"),
    form_rule("job.ttl", "job", "ttlSecondsAfterFinished", count, Change("Job", "spec.ttlSecondsAfterFinished", -1),
        "batch validateJobSpec"),
    form_rule("job.backoff-index", "job", "backoffLimitPerIndex", count, Change("Job", "spec.backoffLimitPerIndex", -1),
        "batch validateJobSpec"),
    *[form_rule(f"cronjob.{key}", "CronJob", f"spec.{key}", count, Change("CronJob", f"spec.{key}", -1),
        "batch validateCronJobSpec")
        for key in ("startingDeadlineSeconds", "successfulJobsHistoryLimit", "failedJobsHistoryLimit")],
    form_rule("binding.namespace", "RoleBinding", "subjects[*].namespace", label,
        Change("RoleBinding", "subjects[0].namespace", "a.b"), "core ValidateNamespaceName"),
    form_rule("role.verb", "ClusterRole", "rules[*].verbs[*]", form(r"[a-z]+|\*", 20, "verb"),
        Change("ClusterRole", "rules[0].verbs[0]", "Use"), "ours: such a rule allows nothing"),
    form_rule("role.group", "ClusterRole", "rules[*].apiGroups[*]", lambda name: subdomain(name) if name else None,
        Change("ClusterRole", "rules[0].apiGroups[0]", "a_b"), "ours: such a rule allows nothing"),
    form_rule("role.resource", "ClusterRole", "rules[*].resources[*]", form("[a-z-]+(/[a-z]+)?", 253, "resource"),
        Change("ClusterRole", "rules[0].resources[0]", "SCC"), "ours: such a rule allows nothing"),
    form_rule("policy.port", "NetworkPolicy", "spec.[*].[*].ports[*].port", port,
        Change("NetworkPolicy", "spec.egress[ports].ports[0].port", 65536), "networking ValidateNetworkPolicyPort"),
    form_rule("policy.range", "NetworkPolicy", "spec.[*].[*].[*].[*].ipBlock.cidr", network,
        Change("NetworkPolicy", "spec.ingress[0].from[0]", {"ipBlock": {"cidr": "10.0.0.1/24"}}),
        "networking ValidateIPBlock"),
    form_rule("claim.request-name", "ResourceClaimTemplate", "spec.spec.devices.requests[*].name", label,
        Change("ResourceClaimTemplate", "spec.spec.devices.requests[0].name", "Rail"),
        "resource validateDeviceRequest"),
    form_rule("claim.class", "ResourceClaimTemplate", "spec.spec.devices.requests[*].exactly.deviceClassName",
        subdomain, Change("ResourceClaimTemplate", "spec.spec.devices.requests[0].exactly.deviceClassName", "a_b"),
        "resource validateDeviceClass"),
    form_rule("claim.driver", "ResourceClaimTemplate", "spec.spec.devices.config[*].opaque.driver", subdomain,
        Change("ResourceClaimTemplate", "spec.spec.devices.config[0].opaque.driver", "a_b"),
        "resource validateDriverName"),
    form_rule("claim.count", "ResourceClaimTemplate", "spec.spec.devices.requests[*].exactly.count",
        among(1, 2**31 - 1), Change("ResourceClaimTemplate", "spec.spec.devices.requests[0].exactly.count", 0),
        "resource validateDeviceAllocationMode"),
    # rails
    form_rule("sriov.node-selector", "SriovNetworkNodePolicy", "spec.nodeSelector", each(qualified),
        Change("SriovNetworkNodePolicy", "spec.nodeSelector", {"a b": "x"}), "meta IsQualifiedName"),
    form_rule("sriov.node-value", "SriovNetworkNodePolicy", "spec.nodeSelector", each(label_value, 1),
        Change("SriovNetworkNodePolicy", "spec.nodeSelector", {"a": "x y"}), "meta IsValidLabelValue"),
    form_rule("sriov.interface", "SriovNetworkNodePolicy", "spec.nicSelector.pfNames[*]",
        lambda name: interface(name.partition("#")[0]),
        Change("SriovNetworkNodePolicy", "spec.nicSelector.pfNames[0]", "a/b"), "linux net/core/dev.c dev_valid_name"),
    form_rule("sriov.network-namespace", "SriovNetwork", "spec.networkNamespace", label,
        Change("SriovNetwork", "spec.networkNamespace", "a.b"), "core ValidateNamespaceName"),
    form_rule("sriov.network-resource", "SriovNetwork", "spec.resourceName", resource_name,
        Change("SriovNetwork", "spec.resourceName", "a/b"), "sriov-network-operator validateResourceName"),
    form_rule("sriov.unavailable", "SriovNetworkPoolConfig", "spec.maxUnavailable", part_of_nodes,
        Change("SriovNetworkPoolConfig", "spec.maxUnavailable", "many"), "sriov-network-operator MaxUnavailable"),
    form_rule("dra.interface", "SriovResourcePolicy", "spec.configs[*].resourceFilters[*].pfNames[*]", interface,
        Change("SriovResourcePolicy", "spec.configs[0].resourceFilters[0].pfNames[0]", "a/b"), "dev_valid_name"),
    form_rule("dra.vendor", "SriovResourcePolicy", "spec.configs[*].resourceFilters[*].vendors[*]",
        form("[0-9a-f]{4}", 4, "vendor"),
        Change("SriovResourcePolicy", "spec.configs[0].resourceFilters[0].vendors[0]", "0x15b3"),
        "its field's comment"),
    form_rule("scc.profile", "SecurityContextConstraints", "seccompProfiles[*]",
        form(r"\*|unconfined|runtime/default|localhost/.+", 253, "seccomp profile"),
        Change("SecurityContextConstraints", "seccompProfiles[0]", "RuntimeDefault"), "security/v1/types.go"),

    # which of several
    choice_rule("volume.type", "pod", "volumes[*]", None, 1, 1, in_pod("volumes[emptyDir].secret", {"secretName": "x"}),
        "core ValidateVolumes"),
    choice_rule("env.value", "container", "env[*]", {"value", "valueFrom"}, 1, 1,
        in_container("env[valueFrom].value", "x"), "core validateEnvVarValueFrom; ours: one of them"),
    choice_rule("env.source", "container", "env[*].valueFrom", None, 1, 1,
        in_container("env[valueFrom].valueFrom.secretKeyRef", {"name": "a", "key": "b"}),
        "core validateEnvVarValueFrom"),
    *[choice_rule(f"probe.{kind}", "container", f"{kind}Probe", {"exec", "grpc", "httpGet", "tcpSocket"}, 1, 1,
        Change("StatefulSet", f"spec.template.spec.containers[0].{kind}Probe", {**EXEC, "tcpSocket": {"port": 1}}),
        "core validateHandler") for kind in ("startup", "liveness", "readiness")],
    choice_rule("pod.claim-source", "pod", "resourceClaims[*]", {"resourceClaimName", "resourceClaimTemplateName"}, 1,
        1, in_pod("resourceClaims[0].resourceClaimName", "x"), "core validatePodResourceClaim"),
    choice_rule("policy.peer", "NetworkPolicy", "spec.ingress[*].from[*]", {"ipBlock", "podSelector"}, 0, 1,
        Change("NetworkPolicy", "spec.ingress[0].from[0].ipBlock", {"cidr": "10.0.0.0/8"}),
        "networking ValidateNetworkPolicyPeer"),
    choice_rule("claim.request", "ResourceClaimTemplate", "spec.spec.devices.requests[*]",
        {"exactly", "firstAvailable"}, 1, 1,
        Change("ResourceClaimTemplate", "spec.spec.devices.requests[0].firstAvailable", []),
        "resource validateDeviceRequest"),
    # what stands once
    unique_rule("volume.twice", "pod", "volumes[*]", ["name"], in_pod("volumes[+]", {"name": "shm", "emptyDir": {}}),
        "core ValidateVolumes"),
    unique_rule("pod.claim-twice", "pod", "resourceClaims[*]", ["name"],
        in_pod("resourceClaims[+]", {"name": "rails", "resourceClaimTemplateName": "rails"}),
        "core validatePodResourceClaims"),
    unique_rule("mount.twice", "container", "volumeMounts[*]", ["mountPath"],
        in_container("volumeMounts[+]", {"name": "shm", "mountPath": "/dev/shm"}), "core ValidateVolumeMounts"),
    unique_rule("env.twice", "container", "env[*]", ["name"],
        [in_container("env[+]", {"name": "X", "value": ""}), in_container("env[+]", {"name": "X", "value": ""})],
        "ours: the last one counts"),
    unique_rule("container.port-name-twice", "container", "ports[*]", ["name"],
        in_container("ports[+]", {"name": "rendezvous", "containerPort": 1}), "core validateContainerPorts"),
    unique_rule("container.port-twice", "container", "ports[*]", ["containerPort", "protocol"],
        [in_container("ports[+]", {"containerPort": 7}), in_container("ports[+]", {"containerPort": 7})],
        "the key of server-side apply"),
    unique_rule("service.port-twice", "Service", "spec.ports[*]", ["port", "protocol"],
        Change("Service", "spec.ports[+]", {"name": "x", "port": 29500}), "core ValidateService"),
    unique_rule("service.port-name-twice", "Service", "spec.ports[*]", ["name"],
        Change("Service", "spec.ports", [{"name": "x", "port": 1}, {"name": "x", "port": 2}]),
        "core validateServicePort"),
    unique_rule("claim.request-twice", "ResourceClaimTemplate", "spec.spec.devices.requests[*]", ["name"],
        Change("ResourceClaimTemplate", "spec.spec.devices.requests", lambda rows: rows + rows[:1]),
        "resource validateDeviceClaim"),
]
