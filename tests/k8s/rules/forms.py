# Rules that are a table: what form a value has.
# SPDX-License-Identifier: Apache-2.0
"""meta and core as sources are k8s.io/apimachinery pkg/util/validation and k8s.io/kubernetes pkg/apis/core/validation. A
server takes more names of variables since 1.34, and more names of Services since 1.37; the stricter form of the older ones
is checked."""
import decimal
import re

from . import Change, form_rule, in_container

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
variable = form(r"[A-Za-z_][A-Za-z0-9_]*", 253, "variable's name")
capability = form(r"(?!CAP_)[A-Z]+(_[A-Z]+)*", 63, "capability without CAP_")
interface = form(r"(?!\.\.?$)[^/:\s]+", 15, "interface's name")
resource_name = form(r"[A-Za-z0-9]([-A-Za-z0-9_]*[A-Za-z0-9])?", 63, "resource's name")

APART = "affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution"

# fmt: off
RULES = [
    # names, labels, annotations
    form_rule("service.name", "Service", "metadata.name", form(r"[a-z]([-a-z0-9]*[a-z0-9])?", 63, "RFC 1035 label"),
        Change("Service", "metadata.name", "1st"), "core ValidateServiceName"),
    # containers
    form_rule("container.image", "container", "image", image, in_container("image", "nvcr.io/nvidia/pytorch:latest"),
        "ours: a version, and a name that a registry has"),
    form_rule("container.variable", "container", "env[*].name", variable, in_container("env[0].name", "NCCL-DEBUG"),
        "meta IsEnvVarName; a shell can name it"),
    form_rule("container.file-key", "container", "env[*].valueFrom.fileKeyRef.key", variable,
        in_container("env[valueFrom.fileKeyRef].valueFrom.fileKeyRef.key", "A-B"), "core: KEP 3721"),
    form_rule("container.workdir", "container", "workingDir",
        lambda v: None if v.startswith("/") else f"{v!r} is not absolute", in_container("workingDir", "work"),
        "runc libcontainer/specconv: cwd is absolute"),
    form_rule("container.mount-path", "container", "volumeMounts[*].mountPath",
        lambda v: None if re.fullmatch("/[^:]*", v) else f"{v!r} is no absolute path without a colon",
        in_container("volumeMounts[0].mountPath", "/a:b"), "core/v1 types.go VolumeMount; the server does not look"),
    form_rule("container.capability", "container", "securityContext.capabilities.add", each(capability),
        in_container("securityContext.capabilities.add", ["CAP_IPC_LOCK"]), "containerd and CRI-O put CAP_ in front"),
    form_rule("container.selinux", "container", "securityContext.seLinuxOptions.type",
        form("[a-z0-9_]+_t", 253, "type"), in_container("securityContext.seLinuxOptions", {"type": "container"}),
        "policies of Fedora and RHEL: types end so"),
    # objects
    form_rule("binding.namespace", "RoleBinding", "subjects[*].namespace", label,
        Change("RoleBinding", "subjects[0].namespace", "a.b"), "ours: nobody is there"),
    form_rule("role.verb", "ClusterRole", "rules[*].verbs[*]", form(r"[a-z]+|\*", 20, "verb"),
        Change("ClusterRole", "rules[0].verbs[0]", "Use"), "ours: such a rule allows nothing"),
    form_rule("role.group", "ClusterRole", "rules[*].apiGroups[*]", lambda name: subdomain(name) if name else None,
        Change("ClusterRole", "rules[0].apiGroups[0]", "a_b"), "ours: such a rule allows nothing"),
    form_rule("role.resource", "ClusterRole", "rules[*].resources[*]", form("[a-z-]+(/[a-z]+)?", 253, "resource"),
        Change("ClusterRole", "rules[0].resources[0]", "SCC"), "ours: such a rule allows nothing"),
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
]
