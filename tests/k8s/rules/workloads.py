# Rules about workloads, and about what objects name in each other.
# SPDX-License-Identifier: Apache-2.0
from . import Change, Rule, find, in_container, in_pod

CLUSTER_WIDE = {"ClusterQueue", "ClusterRole", "ClusterRoleBinding", "DeviceClass", "MachineConfig", "Namespace",
                "ResourceFlavor", "SecurityContextConstraints"}  # fmt: skip
BY_SERVER = (
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "selfLink",
    "managedFields",
)


def twice(_, at):
    for i, obj in enumerate(at.file.objects):
        if any(mark(obj) == mark(other) for other in at.file.objects[:i]):
            yield (), f"{obj['kind']} {obj['metadata']['name']} stands twice"


def mark(obj):
    return obj["apiVersion"].split("/")[0], obj["kind"], obj["metadata"].get("namespace"), obj["metadata"]["name"]


def scope(obj, _):
    if obj["kind"] in CLUSTER_WIDE and "namespace" in obj["metadata"]:
        yield ("metadata", "namespace"), "the kind has none"


def one_namespace(_, at):
    """What names an object means the one of its own namespace."""
    objects = [o for o in at.file.objects if o["kind"] not in CLUSTER_WIDE]
    spaces = {o["metadata"].get("namespace") for o in objects}
    if at.file.pods and len(spaces) > 1:
        yield (), f"objects that name each other are in {len(spaces)} namespaces"


def server_fields(meta, _):
    for key in BY_SERVER:
        if key in meta:
            yield (key,), "is the server's"


def status(obj, _):
    if "status" in obj:
        yield ("status",), "is the server's"


# ---- workloads -----------------------------------------------------------------------------------------


# ---- what names what ---------------------------------------------------------------------------------------


def selects(selector, pod):
    return set((selector or {}).items()) <= set(pod.labels.items())


def governing(obj, at):
    service = at.file.get("Service", obj["spec"].get("serviceName"))
    if not service:
        yield ("spec", "serviceName"), f"its Service {obj['spec'].get('serviceName')} is not there"
    elif service["spec"].get("clusterIP") != "None":
        yield ("spec", "serviceName"), "its Service is not headless: its pods have no names"


def subdomain(spec, at):
    if spec.get("subdomain") and not at.file.get("Service", spec["subdomain"]):
        yield ("subdomain",), f"its Service {spec['subdomain']} is not there"


def service_pods(obj, at):
    if at.file.pods and not any(selects(obj["spec"].get("selector"), pod) for pod in at.file.pods):
        yield ("spec", "selector"), "its Service selects other labels than any pod has"


def service_ports(obj, at):
    ports = [
        p
        for pod in at.file.pods
        if selects(obj["spec"].get("selector"), pod)
        for _, c in pod.containers()
        for p in c.get("ports") or []
    ]
    known = {p.get("name") for p in ports} | {p["containerPort"] for p in ports}
    for path, port in find(obj, "spec.ports[*]"):
        target = port.get("targetPort", port["port"])
        if ports and target not in known:
            yield path, f"{target} is no port of its pods"


def policy_pods(obj, at):
    for pod in at.file.pods:
        if not selects(obj["spec"]["podSelector"].get("matchLabels"), pod):
            whose = f"{pod.owner['kind']} {pod.owner['metadata']['name']}"
            yield ("spec", "podSelector"), f"selects other pods than those of {whose}"


def binding(obj, at):
    role = obj["roleRef"]
    if role.get("apiGroup") != "rbac.authorization.k8s.io":
        yield ("roleRef", "apiGroup"), "is rbac.authorization.k8s.io"
    if not at.file.get(role["kind"], role["name"]):
        yield ("roleRef",), f"binds {role['name']}, which is not there"


def subjects(obj, at):
    for path, subject in find(obj, "subjects[*]"):
        if subject["kind"] == "ServiceAccount" and not subject.get("namespace"):
            yield path, "a ServiceAccount needs its namespace"
        if subject["kind"] == "ServiceAccount" and not at.file.get("ServiceAccount", subject["name"]):
            yield path, f"the account {subject['name']} is not there"
        if subject["kind"] in ("User", "Group") and subject.get("apiGroup") != "rbac.authorization.k8s.io":
            yield path, "apiGroup is rbac.authorization.k8s.io"


def role_scc(obj, at):
    for _, rule in find(obj, "rules[*]"):
        for name in rule.get("resourceNames", []) if rule.get("resources") == ["securitycontextconstraints"] else ():
            if not at.file.get("SecurityContextConstraints", name):
                yield ("rules",), f"allows the SCC {name}, which is not there"


def account(spec, at):
    name = spec.get("serviceAccountName")
    if name and not at.file.get("ServiceAccount", name):
        yield ("serviceAccountName",), f"runs as {name}, which is not there"


def config_maps(spec, at):
    for path, part in find(spec, "volumes[*].configMap"):
        yield from (
            (path, fault)
            for fault in config_faults(
                at, part["name"], part.get("optional"), [i["key"] for i in part.get("items") or []]
            )
        )


def config_variables(container, at):
    for path, part in find(container, "env[*].valueFrom.configMapKeyRef"):
        yield from ((path, fault) for fault in config_faults(at, part["name"], part.get("optional"), [part["key"]]))
    for path, part in find(container, "envFrom[*].configMapRef"):
        yield from ((path, fault) for fault in config_faults(at, part["name"], part.get("optional"), []))


def config_faults(at, name, optional, keys):
    config = at.file.get("ConfigMap", name)
    if not config and not optional:
        yield f"the ConfigMap {name} is not there"
    for key in keys if config and not optional else ():
        if key not in {**(config.get("data") or {}), **(config.get("binaryData") or {})}:
            yield f"the ConfigMap {name} has no key {key}"


def claim_templates(spec, at):
    for path, name in find(spec, "resourceClaims[*].resourceClaimTemplateName"):
        if not at.file.get("ResourceClaimTemplate", name):
            yield path, f"claims {name}, which is not there"


STS, TEMPLATE = "StatefulSet", "spec.template."
# fmt: off
RULES = [
    Rule("object.twice", "file", twice, "one object of a name", lambda objects: objects.append(objects[0]) or True),
    Rule("object.scope", "object", scope, "apimachinery ValidateObjectMeta",
        Change("ClusterRole", "metadata.namespace", "x")),
    Rule("object.namespaces", "file", one_namespace, "ours: one job, one namespace",
        Change("Service", "metadata.namespace", "x")),
    Rule("meta.server", "meta", server_fields, "ours: what was read from a cluster is not written to one",
        Change("Service", "metadata.generation", 2)),
    Rule("object.status", "object", status, "ours: what was read from a cluster is not written to one",
        Change(STS, "status", {"replicas": 2})),
    Rule("statefulset.service", STS, governing, "a headless Service gives pods their names",
        Change(STS, "spec.serviceName", "x")),
    Rule("pod.subdomain-service", "pod", subdomain, "pkg/kubelet: the name is in DNS only then",
        Change("Job", TEMPLATE + "spec.subdomain", "x")),
    Rule("service.pods", "Service", service_pods, "ours: a Service of no pod",
        Change("Service", "spec.selector['app.kubernetes.io/name']", "x")),
    Rule("service.pod-port", "Service", service_ports, "pkg/api/v1/pod FindPort",
        Change("Service", "spec.ports[0].targetPort", "x")),
    Rule("policy.pods", "NetworkPolicy", policy_pods, "ours: it is about the pods beside it",
        Change("NetworkPolicy", "spec.podSelector.matchLabels['x']", "y")),
    Rule("binding.role", "RoleBinding", binding, "rbac ValidateRoleBinding; pkg/registry/rbac/rolebinding/policybased",
        Change("RoleBinding", "roleRef.name", "x")),
    Rule("binding.subject", "RoleBinding", subjects, "rbac ValidateRoleBindingSubject",
        Change("RoleBinding", "subjects[0].namespace", None)),
    Rule("role.scc", "ClusterRole", role_scc, "ours: names what is there",
        Change("ClusterRole", "rules[0].resourceNames", ["x"])),
    Rule("pod.account", "pod", account, "plugin/pkg/admission/serviceaccount", in_pod("serviceAccountName", "x")),
    Rule("volume.config", "pod", config_maps, "pkg/volume/configmap: the pod waits for it",
        in_pod("volumes[configMap].configMap.name", "x")),
    Rule("env.config", "container", config_variables, "pkg/kubelet: CreateContainerConfigError",
        in_container("env[+]", {"name": "X", "valueFrom": {"configMapKeyRef": {"name": "x", "key": "y"}}})),
    Rule("pod.claim", "pod", claim_templates, "pkg/controller/resourceclaim: the pod waits for it",
        in_pod("resourceClaims[0].resourceClaimTemplateName", "x")),
]
