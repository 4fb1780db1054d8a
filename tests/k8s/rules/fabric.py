# Rules about rails: networks, their devices, and what an operator, a plugin or a node takes.
# SPDX-License-Identifier: Apache-2.0
import base64
import gzip
import ipaddress
import json
import re
import urllib.parse

from . import Change, Rule, find, in_container, walk
from .forms import amount, qualified

NETWORKS, RESOURCE = "k8s.v1.cni.cncf.io/networks", "k8s.v1.cni.cncf.io/resourceName"


def parsed(text, required):
    """(the value, what is wrong)"""
    try:
        value = json.loads(text)
    except ValueError as error:
        return {}, [f"no JSON: {error}"]
    return value, [f"lacks {key}" for key in required if key not in value]


def config_of(nad):
    return parsed(nad["spec"]["config"], [])[0]


def nad_config(obj, _):
    value, faults = parsed(obj["spec"]["config"], ["cniVersion", "name", "type", "ipam"])
    yield from ((("spec", "config"), fault) for fault in faults)
    if not faults and value["name"] != obj["metadata"]["name"]:
        yield ("spec", "config"), "another name than the object's"


def nad_resource(obj, _):
    name = (obj["metadata"].get("annotations") or {}).get(RESOURCE)
    if name and (qualified(name) or "/" not in name):
        yield ("metadata", "annotations"), f"{name} is no resource's name"


def range_of(config):
    ipam = config.get("ipam") or {}
    text = ipam.get("range") or ipam.get("subnet")
    return ipaddress.ip_network(text, strict=False) if text and "-" not in text else None


def ranges(_, at):
    """Each rail is a subnet of its own: with two in one, an address leads to either."""
    seen = {}
    for nad in at.file.of("NetworkAttachmentDefinition"):
        try:
            own = range_of(config_of(nad))
        except ValueError as error:
            yield (), f"{nad['metadata']['name']}: {error}"
            continue
        for name, other in seen.items():
            if own and own.version == other.version and own.overlaps(other):
                yield (), f"{nad['metadata']['name']} and {name} have addresses in common"
        if own:
            seen[nad["metadata"]["name"]] = own


def attached(pod):
    """The names of the networks of a pod, each as often as it stands there."""
    text = pod.notes.get(NETWORKS, "").strip()
    if text.startswith("["):
        return [part["name"] for part in parsed(text, [])[0] or []]
    return [re.sub(r"^.*/|@.*$", "", part.strip()) for part in text.split(",") if part.strip()]


def pods_made(pod):
    spec = pod.owner.get("spec") or {}
    return spec.get("replicas") or spec.get("completions") or 1


def addresses(_, at):
    for pod in at.file.pods:
        for name in set(attached(pod)):
            nad = at.file.get("NetworkAttachmentDefinition", name)
            own = range_of(config_of(nad)) if nad else None
            need = attached(pod).count(name) * pods_made(pod)
            if own and own.num_addresses - 2 < need:
                yield (), f"{name} has {own.num_addresses - 2} addresses for {need} of its pods"


def network_there(_, at):
    for name in attached(at.pod):
        if at.file.names("NetworkAttachmentDefinition") and not at.file.get("NetworkAttachmentDefinition", name):
            yield (), f"attaches {name}, which is not there"


def network_device(_, at):
    """multus gives a network's device to a pod that asks for one of each."""
    wanted = {}
    for name in attached(at.pod):
        nad = at.file.get("NetworkAttachmentDefinition", name)
        resource = ((nad or {}).get("metadata", {}).get("annotations") or {}).get(RESOURCE)
        if resource:
            wanted[resource] = wanted.get(resource, 0) + 1
    for resource, number in wanted.items():
        asked = [amount(n) for _, c in at.pod.containers() for _, n in find(c, f"resources.limits['{resource}']")]
        if number not in asked:
            yield (), f"attaches {number} of {resource}, but does not ask for as many"


def network_left(_, at):
    """Each network is of some pod, by annotation or by a claim."""
    used = {name for pod in at.file.pods for name in attached(pod)} | claimed(at.file)
    for name in sorted(at.file.names("NetworkAttachmentDefinition") - used):
        if at.file.pods:
            yield (), f"no pod attaches {name}"


def claimed(file):
    """The networks that a DRA driver runs for a claim."""
    parts = [part for obj in file.of("ResourceClaimTemplate") for _, part in walk(obj)]
    return {part["netAttachDefName"] for part in parts if "netAttachDefName" in part}


def claim_network(obj, at):
    for name in claimed(at.file):
        if not at.file.get("NetworkAttachmentDefinition", name):
            yield (), f"names the network {name}, which is not there"


def interface_names(obj, _):
    names = [part["ifName"] for _, part in walk(obj) if "ifName" in part]
    for name in {n for n in names if names.count(n) > 1}:
        yield (), f"two interfaces are called {name}"


def demand(_, at):
    """Who demands RDMA demands all rails: with three of four the job runs, and is slow."""
    rails = max([len(attached(pod)) for pod in at.file.pods] + [len(claimed(at.file))])
    for obj in at.file.objects:
        for _, part in walk(obj):
            words = [w for key in ("command", "args") if isinstance(part.get(key), list) for w in part[key]]
            env = part.get("env") if isinstance(part.get("env"), list) else []
            words += [f"{e['name']}={e.get('value')}" for e in env]
            demands = [w.partition("=")[2].split(",") for w in words if re.match("--require=|NCCLINIT_REQUIRE=", w)]
            if {"--mode=rdma", "NCCLINIT_MODE=rdma"} & set(words) and not any(f"rails={rails}" in d for d in demands):
                yield (), f"{obj['kind']} {obj['metadata']['name']} demands RDMA, but not its {rails} rails"


# ---- the SR-IOV operator (k8snetworkplumbingwg/sriov-network-operator 249e2001, pkg/webhook/validate.go) -------------


def pf_range(name):
    """A physical function and its virtual ones: eno5np0#0-3 is four of them, a bare name all."""
    pf, sharp, text = name.partition("#")
    match = re.fullmatch(r"([0-9]+)-([0-9]+)", text)
    if sharp and not match:
        return pf, None
    return pf, range(int(match[1]), int(match[2]) + 1) if sharp else range(0, 128)


def policy_range(obj, _):
    for path, name in find(obj, "spec.nicSelector.pfNames[*]"):
        _, vfs = pf_range(name)
        if vfs is None or len(vfs) == 0 or "#" in name and vfs[-1] >= obj["spec"]["numVfs"]:
            yield path, f"{name} is no range within {obj['spec']['numVfs']} virtual functions"


def policy_overlap(_, at):
    seen = []
    for obj in at.file.of("SriovNetworkNodePolicy"):
        for _, name in find(obj, "spec.nicSelector.pfNames[*]"):
            pf, vfs = pf_range(name)
            for other, theirs, whose in seen:
                if pf == other and vfs and theirs and set(vfs) & set(theirs):
                    yield (), f"{obj['metadata']['name']} and {whose} have virtual functions of {pf} in common"
            seen.append((pf, vfs, obj["metadata"]["name"]))


def policy_rdma(obj, _):
    if obj["spec"].get("deviceType") == "vfio-pci" and obj["spec"].get("isRdma"):
        yield ("spec", "isRdma"), "vfio-pci has no RDMA"
    if not obj["spec"].get("isRdma"):
        yield ("spec", "isRdma"), "is not set: the pods would have no /dev/infiniband"


def policy_count(obj, _):
    if obj["spec"]["numVfs"] > 128:
        yield ("spec", "numVfs"), "is more than 128"


def policy_place(obj, _):
    if not obj["metadata"].get("namespace"):
        yield ("metadata",), "no namespace: the operator reads its own only"


def network_json(obj, _):
    if "ipam" in obj["spec"]:
        yield from ((("spec", "ipam"), fault) for fault in parsed(obj["spec"]["ipam"], ["type"])[1])


# ---- device plugins ----------------------------------------------------------------------------------------


def plugin_json(obj, _):
    for name, text in (obj.get("data") or {}).items():
        if name.endswith(".json"):
            yield from ((("data", name), fault) for fault in parsed(text, [])[1])


def plugin_resources(obj, _):
    """Of both plugins (pkg/resources): [A-Za-z0-9_]."""
    for name, text in (obj.get("data") or {}).items():
        value = parsed(text, [])[0] if name.endswith(".json") else {}
        rows = value.get("resourceList") or value.get("configList") or []
        names = [row.get("resourceName", "") for row in rows]
        for one in names:
            if not re.fullmatch("[A-Za-z0-9_]+", one) or names.count(one) > 1:
                yield ("data", name), f"{one!r} is no resource's name, or stands twice"


def made_resources(file):
    """What policies and plugins make that are known: openshift.io/NAME, or a prefix of their own."""
    names = {f"openshift.io/{o['spec']['resourceName']}" for o in file.all("SriovNetworkNodePolicy")}
    for obj in file.all("ConfigMap"):
        value = parsed((obj.get("data") or {}).get("config.json", "{}"), [])[0]
        for key, prefix in (("resourceList", "intel.com"), ("configList", "rdma")):
            names |= {f"{row.get('resourcePrefix', prefix)}/{row['resourceName']}" for row in value.get(key, [])}
    return names


def resources_made(container, at):
    """A pod that asks for a device that nothing makes stays Pending."""
    made = made_resources(at.file)
    for path, amounts in find(container, "resources.limits"):
        for name in amounts if made else ():
            if "/" in name and name != "nvidia.com/gpu" and name not in made:
                yield path, f"nothing makes {name}"


# ---- nodes ------------------------------------------------------------------------------------------------


def machine_role(obj, _):
    if "machineconfiguration.openshift.io/role" not in (obj["metadata"].get("labels") or {}):
        yield ("metadata", "labels"), "no role: no pool takes it"


def machine_files(obj, _):
    for path, contents in find(obj, "spec.config.storage.files[*].contents"):
        kind, _, text = contents["source"].partition(",")
        data = (
            base64.b64decode(text, validate=True) if kind.endswith(";base64") else urllib.parse.unquote_to_bytes(text)
        )
        if contents.get("compression") == "gzip":
            if not gzip.decompress(data).startswith(b"\x7fELF"):
                yield path, "is no program"
        elif not data.decode(errors="strict").endswith("\n"):
            yield path, "does not end with a line's end"


def ignition(obj, _):
    """The API server takes anything there (coreos/ignition, config/v3_2 schema)."""
    config = obj["spec"].get("config")
    if config and config.get("ignition", {}).get("version") != "3.2.0":
        yield ("spec", "config", "ignition"), "its version is not 3.2.0"
    for path, part in find(obj, "spec.config.storage.files[*]"):
        if not re.fullmatch(r"/[^:]+", part.get("path", "")):
            yield path, "has no absolute path"
        if not 0 <= part.get("mode", 0) <= 0o777:
            yield path, f"{part['mode']} is no permission; it is decimal"
        if not part.get("contents", {}).get("source", "").startswith("data:"):
            yield path, "has no contents of its own"
        yield from ((path, f"has no field {key}") for key in set(part) - {"path", "mode", "overwrite", "contents"})


def kernel_arguments(obj, _):
    for path, text in find(obj, "spec.kernelArguments[*]"):
        if " " in text or not text:
            yield path, f"{text!r} is not one argument"


# ---- dra-driver-sriov cd9404f0, of which no cluster of ours has the definitions ------------------------------------------


def dra_fields(obj, _):
    """Its Helm chart's CRD."""
    for path, part in find(obj, "spec.configs[*].resourceFilters[*]"):
        yield from ((path, f"has no field {key}") for key in set(part) - {"drivers", "pfNames", "vendors"})


def dra_parameters(obj, _):
    """pkg/api/virtualfunction/v1alpha1/api.go"""
    for path, part in find(obj, "spec.spec.devices.config[*].opaque.parameters"):
        if (part.get("apiVersion"), part.get("kind")) != ("sriovnetwork.k8snetworkplumbingwg.io/v1alpha1", "VfConfig"):
            yield path, "is no VfConfig"
        known = {"apiVersion", "kind", "ifName", "netAttachDefName"}
        yield from ((path, f"has no field {key}") for key in set(part) - known)
        if not re.fullmatch("[a-z0-9]{1,15}", part.get("ifName", "net1")):
            yield path, f"{part['ifName']} is no interface's name"


NAD, POLICY = "NetworkAttachmentDefinition", "SriovNetworkNodePolicy"
CONFIG = "spec.config"
# fmt: off
RULES = [
    Rule("network.config", NAD, nad_config, "containernetworking/cni SPEC",
        Change(NAD, CONFIG, lambda text: text.replace('"ipam"', '"iparn"'))),
    Rule("network.json", NAD, nad_config, "containernetworking/cni SPEC",
        Change(NAD, CONFIG, lambda text: text.replace(",", "", 1))),
    Rule("network.resource", NAD, nad_resource, "core validateContainerResourceName",
        Change(NAD, f"metadata.annotations['{RESOURCE}']", "eno5np0rdma")),
    Rule("network.ranges", "file", ranges, "ours: a rail is a subnet",
        Change(NAD, CONFIG, lambda text: re.sub(r"10\.0\.\d+\.0/24", "10.0.0.0/8", text))),
    Rule("network.addresses", "file", addresses, "ours: the last pods would not start",
        Change(NAD, CONFIG, lambda text: text.replace("/24", "/31"))),
    Rule("network.there", "pod", network_there, "multus: the pod waits for it",
        Change("Pod", f"metadata.annotations['{NETWORKS}']", lambda text: text + ", eno9-network")),
    Rule("network.device", "pod", network_device, "multus: no device for the network",
        Change("Pod", f"metadata.annotations['{NETWORKS}']", lambda text: text + ", " + text.split(",")[0])),
    Rule("network.unused", "file", network_left, "ours: a rail is forgotten",
        Change("Pod", f"metadata.annotations['{NETWORKS}']", lambda text: text.partition(",")[2])),
    Rule("network.claimed", "ResourceClaimTemplate", claim_network, "dra-driver-sriov: the claim fails",
        Change("ResourceClaimTemplate", "spec.spec.devices.config[0].opaque.parameters.netAttachDefName", "x")),
    Rule("network.interface", "ResourceClaimTemplate", interface_names, "a namespace has one interface of a name",
        Change("ResourceClaimTemplate", "spec.spec.devices.config[0].opaque.parameters.ifName", "net2")),
    Rule("network.demand", "file", demand, "ours: three rails of four are slow",
        in_container("env[+]", {"name": "NCCLINIT_MODE", "value": "rdma"})),
    Rule("sriov.range", POLICY, policy_range, "staticValidateSriovNetworkNodePolicy",
        Change(POLICY, "spec.nicSelector.pfNames[0]", "eno5np0#0-9")),
    Rule("sriov.overlap", "file", policy_overlap, "validatePfNames",
        Change(POLICY, "spec.nicSelector.pfNames[+]", "eno6np0")),
    Rule("sriov.rdma", POLICY, policy_rdma, "staticValidateSriovNetworkNodePolicy",
        Change(POLICY, "spec.deviceType", "vfio-pci")),
    Rule("sriov.count", POLICY, policy_count, "MlxMaxVFs", Change(POLICY, "spec.numVfs", 129)),
    Rule("sriov.namespace", POLICY, policy_place, "validateSriovNetworkNodePolicy",
        Change(POLICY, "metadata.namespace", None)),
    Rule("sriov.ipam", "SriovNetwork", network_json, "pkg/apis RenderNetAttDef",
        Change("SriovNetwork", "spec.ipam", "{")),
    Rule("plugin.json", "ConfigMap", plugin_json, "the plugin ends", Change("ConfigMap", "data['config.json']", "{")),
    Rule("plugin.resource", "ConfigMap", plugin_resources, "the plugin ends",
        Change("ConfigMap", "data['config.json']", lambda text: re.sub('(resourceName": ")[^"]*', r"\1a-b", text))),
    Rule("network.made", "container", resources_made, "ours: the pods would stay Pending",
        in_container("resources.limits['openshift.io/x']", "1")),
    Rule("machine.role", "MachineConfig", machine_role, "machine-config-operator",
        Change("MachineConfig", "metadata.labels", {"x": "y"})),
    Rule("machine.ignition", "MachineConfig", ignition, "coreos/ignition config/v3_2",
        Change("MachineConfig", "spec.config.storage.files[0].mode", 644)),
    Rule("machine.argument", "MachineConfig", kernel_arguments, "ours: one argument a line",
        Change("MachineConfig", "spec.kernelArguments[0]", "iommu=pt amd")),
    Rule("dra.fields", "SriovResourcePolicy", dra_fields, "its Helm chart's CRD",
        Change("SriovResourcePolicy", "spec.configs[0].resourceFilters[0].pfName", "x")),
    Rule("dra.parameters", "ResourceClaimTemplate", dra_parameters, "pkg/api/virtualfunction/v1alpha1/api.go",
        Change("ResourceClaimTemplate", "spec.spec.devices.config[0].opaque.parameters.ifname", "net1")),
    Rule("machine.file", "MachineConfig", machine_files, "ours: a file of lines",
        Change("MachineConfig", "spec.config.storage.files[0].contents.source", "data:,x")),
]
