# Rules about what a pod may do: our own. Pod security levels and OpenShift's SCCs are judged in tests/cluster.
# SPDX-License-Identifier: Apache-2.0
from . import Change, Rule, find, in_container, in_pod

# The only capabilities that a container may add, and the only one of the init container that copies the binary.
CAPABILITIES = {"IPC_LOCK", "SYS_RESOURCE"}
INSTALL_CAPABILITIES = {"SETFCAP"}
REQUIRED_SCC = "openshift.io/required-scc"
HOOK_FOLDERS = {"/usr/libexec/oci/hooks.d", "/usr/share/containers/oci/hooks.d"}
RESTRICTED_VOLUMES = {
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "image",
    "persistentVolumeClaim",
    "projected",
    "secret",
}


def security(part):
    return part.get("securityContext") or {}


def capabilities(part, verb="add"):
    return set((security(part).get("capabilities") or {}).get(verb) or [])


def effective(pod, container, key):
    """A container's own setting, or else its pod's."""
    own = security(container).get(key)
    return security(pod.spec).get(key) if own is None else own


def seccomp(pod, container):
    return (effective(pod, container, "seccompProfile") or {}).get("type")


# ---- ours --------------------------------------------------------------------------------------------


def added(container, at):
    allowed = CAPABILITIES
    if at.key[0] == "initContainers" and container.get("command", [])[1:2] == ["install"]:
        allowed = INSTALL_CAPABILITIES
    add = capabilities(container)
    if add - allowed:
        yield (), f"adds {', '.join(sorted(add - allowed))}"
    elif add and add != allowed:
        yield (), f"adds {', '.join(sorted(add))} without {', '.join(sorted(allowed - add))}"


def dropped(container, at):
    if not at.pod.partial and capabilities(container, "drop") != {"ALL"}:
        yield (), "does not drop ALL capabilities"


def escalation(container, at):
    if not at.pod.partial and "allowPrivilegeEscalation" not in security(container):
        yield (), "leaves allowPrivilegeEscalation open"


def in_effect(container, at):
    if (
        capabilities(container)
        and not security(container).get("allowPrivilegeEscalation")
        and effective(at.pod, container, "runAsUser") != 0
    ):
        yield (), "its capabilities are not effective: neither uid 0 nor allowPrivilegeEscalation"


def privileged(container, _):
    if security(container).get("privileged"):
        yield (), "is privileged"


def host(spec, _):
    for key in ("hostNetwork", "hostPID", "hostIPC"):
        if spec.get(key):
            yield (key,), "is set"


def puts_hook(at):
    """The one that puts a program on the node, in a namespace of its own; OpenShift has a MachineConfig for it."""
    return at.pod.owner["kind"] == "DaemonSet" and at.pod.owner["metadata"].get("namespace") == "nccl-init-hook"


def host_path(spec, at):
    for path, value in find(spec, "volumes[*].hostPath"):
        if not puts_hook(at) or value["path"] not in HOOK_FOLDERS:
            yield path, "is a hostPath"


def profile(container, at):
    if not at.pod.partial and seccomp(at.pod, container) != "RuntimeDefault":
        yield (), "without seccompProfile RuntimeDefault"


def root(container, at):
    """The kubelet does not start it (pkg/kubelet/kuberuntime, verifyRunAsNonRoot)."""
    if effective(at.pod, container, "runAsNonRoot") and effective(at.pod, container, "runAsUser") == 0:
        yield (), "runs as uid 0 although runAsNonRoot is set"


def namespace_named(space, _):
    if "pod-security.kubernetes.io/enforce" not in (space["metadata"].get("labels") or {}):
        yield ("metadata", "labels"), "does not name the pod security level that it enforces"


# ---- OpenShift's SCCs -------------------------------------------------------------------------------------


def may_use(_, at):
    """Who names an SCC runs as an account that may use it, and the namespace's binding says so."""
    name, account = at.pod.notes.get(REQUIRED_SCC), at.pod.spec.get("serviceAccountName", "default")
    roles = {o["metadata"]["name"] for o in at.file.all("ClusterRole") if name and allows(o, name)}
    for binding in [o for o in at.file.all("RoleBinding") if o["roleRef"]["name"] in roles]:
        users = {s["name"] for s in binding["subjects"] if s.get("namespace") == binding["metadata"].get("namespace")}
        own = binding["metadata"].get("namespace") in (None, at.obj["metadata"].get("namespace"))
        if own and account in users:
            return
    if name:
        yield (), f"runs as {account}, which may not use the SCC {name} in its namespace"


def allows(role, scc):
    return any(
        rule.get("resources") == ["securitycontextconstraints"]
        and scc in rule.get("resourceNames", [])
        and "use" in rule["verbs"]
        for rule in role["rules"]
    )


def scc_rights(scc, _):
    if set(scc.get("allowedCapabilities") or []) != CAPABILITIES or scc.get("defaultAddCapabilities"):
        yield ("allowedCapabilities",), f"other than {', '.join(sorted(CAPABILITIES))}"
    if scc.get("requiredDropCapabilities") != ["ALL"]:
        yield ("requiredDropCapabilities",), "not ALL"


def scc_users(scc, _):
    if scc.get("users") or scc.get("groups"):
        yield ("users",), "granted here; RBAC says who may use it"


def scc_host(scc, _):
    """Of what the kind can allow, nothing that leads to the host."""
    for key, value in scc.items():
        if key.startswith("allowHost") or key == "allowPrivilegedContainer":
            if value is not False:
                yield (key,), "is not false"
    for name in sorted(set(scc.get("volumes") or []) - RESTRICTED_VOLUMES):
        yield ("volumes",), f"{name} is a way to the host"


OURS = "ours: what nccl-init needs, and no more"
# fmt: off
RULES = [
    Rule("security.capabilities", "container", added, OURS,
        in_container("securityContext.capabilities.add[+]", "SYS_ADMIN")),
    Rule("security.drop", "container", dropped, OURS, in_container("securityContext.capabilities.drop", ["KILL"])),
    Rule("security.escalation", "container", escalation, OURS,
        in_container("securityContext.allowPrivilegeEscalation", None)),
    Rule("security.in-effect", "container", in_effect, "capabilities(7): execve by another uid clears them",
        in_container("securityContext.runAsUser", 1000)),
    Rule("security.privileged", "container", privileged, OURS, in_container("securityContext.privileged", True)),
    Rule("security.host", "pod", host, OURS, in_pod("hostNetwork", True)),
    Rule("security.host-path", "pod", host_path, OURS, in_pod("volumes[+]", {"name": "h", "hostPath": {"path": "/"}})),
    Rule("security.seccomp", "container", profile, OURS, in_pod("securityContext.seccompProfile.type", "Unconfined")),
    Rule("security.root", "container", root, "kubelet",
        [in_container("securityContext.runAsUser", 0), in_pod("securityContext.runAsNonRoot", True)]),
    Rule("security.namespace-label", "Namespace", namespace_named, "ours: what it needs is said",
        Change("Namespace", "metadata.labels", {"x": "y"})),
    Rule("scc.account", "pod", may_use, "openshift/apiserver-library-go sccadmission",
        in_pod("serviceAccountName", "default")),
    Rule("scc.capabilities", "SecurityContextConstraints", scc_rights, OURS,
        Change("SecurityContextConstraints", "allowedCapabilities[+]", "SYS_ADMIN")),
    Rule("scc.host", "SecurityContextConstraints", scc_host, OURS,
        Change("SecurityContextConstraints", "allowPrivilegedContainer", True)),
    Rule("scc.volumes", "SecurityContextConstraints", scc_host, OURS,
        Change("SecurityContextConstraints", "volumes[+]", "hostPath")),
    Rule("scc.users", "SecurityContextConstraints", scc_users, OURS,
        Change("SecurityContextConstraints", "users", ["x"])),
]
