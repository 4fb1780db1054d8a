# Rules about what a pod may do: our own, the pod security levels, and OpenShift's SCCs.
# SPDX-License-Identifier: Apache-2.0
from . import Change, Rule, find, in_container, in_pod

# The only capabilities that a container may add, and the only one of the init container that copies the binary.
CAPABILITIES = {"IPC_LOCK", "SYS_RESOURCE"}
INSTALL_CAPABILITIES = {"SETFCAP"}
REQUIRED_SCC = "openshift.io/required-scc"
HOOK_FOLDERS = {"/usr/libexec/oci/hooks.d", "/usr/share/containers/oci/hooks.d"}

# k8s.io/pod-security-admission 1.36, policy/check_capabilities_baseline.go and check_sysctls.go
BASELINE_CAPABILITIES = {
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
}
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
SAFE_SYSCTLS = {
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.ping_group_range",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
    "net.ipv4.tcp_slow_start_after_idle",
    "net.ipv4.tcp_notsent_lowat",
}

# What every account may use on OpenShift 4.11 and later (openshift/cluster-kube-apiserver-operator,
# bindata/bootkube/scc-manifests).
RESTRICTED_V2 = {
    "allowPrivilegeEscalation": False,
    "allowedCapabilities": ["NET_BIND_SERVICE"],
    "fsGroup": {"type": "MustRunAs"},
    "requiredDropCapabilities": ["ALL"],
    "runAsUser": {"type": "MustRunAsRange"},
    "seLinuxContext": {"type": "MustRunAs"},
    "seccompProfiles": ["runtime/default"],
    "supplementalGroups": {"type": "RunAsAny"},
    "volumes": [
        "configMap",
        "csi",
        "downwardAPI",
        "emptyDir",
        "ephemeral",
        "persistentVolumeClaim",
        "projected",
        "secret",
    ],
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


# ---- pod security levels --------------------------------------------------------------------------------


def below(pod, level):
    """Why the pod is not admitted at that level: (what, is it only capabilities of ours)."""
    spec, own = pod.spec, security(pod.spec)
    for key in ("hostNetwork", "hostPID", "hostIPC"):
        if spec.get(key):
            yield key
    for volume in spec.get("volumes") or []:
        if "hostPath" in volume or level == "restricted" and set(volume) - {"name"} - RESTRICTED_VOLUMES:
            yield f"volume {volume['name']}"
    for sysctl in own.get("sysctls") or []:
        if sysctl["name"] not in SAFE_SYSCTLS:
            yield f"sysctl {sysctl['name']}"
    for _, container in pod.containers():
        name, mine = container["name"], security(container)
        if mine.get("privileged"):
            yield f"{name}: privileged"
        if any(p.get("hostPort") for p in container.get("ports") or []):
            yield f"{name}: host port"
        add = capabilities(container) - (BASELINE_CAPABILITIES if level == "baseline" else {"NET_BIND_SERVICE"})
        if add:
            yield f"{name}: adds {', '.join(sorted(add))}"
        if seccomp(pod, container) == "Unconfined" or level == "restricted" and not seccomp(pod, container):
            yield f"{name}: seccompProfile"
        if mine.get("procMount", "Default") != "Default":
            yield f"{name}: procMount"
        options = effective(pod, container, "seLinuxOptions") or {}
        if (
            options.get("user")
            or options.get("role")
            or options.get("type")
            not in (None, "", "container_t", "container_init_t", "container_kvm_t", "container_engine_t")
        ):
            yield f"{name}: seLinuxOptions"
        if level == "restricted":
            if "ALL" not in capabilities(container, "drop"):
                yield f"{name}: does not drop ALL"
            if mine.get("allowPrivilegeEscalation") is not False:
                yield f"{name}: allowPrivilegeEscalation"
            if not effective(pod, container, "runAsNonRoot"):
                yield f"{name}: runAsNonRoot is not set"
            if effective(pod, container, "runAsUser") == 0:
                yield f"{name}: uid 0"


def level_of(pod):
    """The highest level that admits the pod, and why the next one does not."""
    for level, above in (("restricted", None), ("baseline", "restricted")):
        if not list(below(pod, level)):
            return level, list(below(pod, above)) if above else []
    return "privileged", list(below(pod, "baseline"))


def security_level(_, at):
    """Only the capabilities for locked memory may keep a pod from baseline."""
    if at.pod.partial or puts_hook(at):
        return
    ours = {f"{c['name']}: adds {', '.join(sorted(CAPABILITIES))}" for _, c in at.pod.containers()}
    for why in set(below(at.pod, "baseline")) - ours:
        yield (), f"is not admitted at the pod security level baseline: {why}"


def enforced(at):
    """Its namespace, where the file has it, and the level that this enforces."""
    space = at.file.get("Namespace", at.obj["metadata"].get("namespace"))
    return space, ((space or {}).get("metadata", {}).get("labels") or {}).get("pod-security.kubernetes.io/enforce")


def namespace_level(_, at):
    _, level = enforced(at)
    if level and level != "privileged":
        for why in below(at.pod, level):
            yield (), f"its namespace enforces {level}: {why}"


def namespace_named(_, at):
    space, level = enforced(at)
    needed, _ = level_of(at.pod)
    if space and not level and needed != "restricted":
        yield (), f"needs the pod security level {needed}, and its namespace names none"


# ---- OpenShift's SCCs -------------------------------------------------------------------------------------


def refusals(scc, pod):
    """What an SCC refuses of a pod; what it may not set itself where the SCC takes it from the namespace."""
    # openshift/apiserver-library-go a8019f39, pkg/securitycontextconstraints/sccmatching/provider.go
    spec, own = pod.spec, security(pod.spec)
    for key, allow in (("hostNetwork", "allowHostNetwork"), ("hostPID", "allowHostPID"), ("hostIPC", "allowHostIPC")):
        if spec.get(key) and not scc.get(allow):
            yield f"{key}"
    volumes = set(scc.get("volumes") or [])
    for volume in spec.get("volumes") or []:
        for kind in set(volume) - {"name"} - volumes:
            if "*" not in volumes and not (kind == "hostPath" and scc.get("allowHostDirVolumePlugin")):
                yield f"volume {volume['name']}: {kind}"
    if own.get("fsGroup") is not None and scc["fsGroup"]["type"] == "MustRunAs":
        yield "fsGroup is the namespace's"
    if own.get("supplementalGroups") and scc["supplementalGroups"]["type"] == "MustRunAs":
        yield "supplementalGroups are the namespace's"
    for _, container in pod.containers():
        for fault in container_refusals(scc, pod, container):
            yield f"{container['name']}: {fault}"


def container_refusals(scc, pod, container):
    mine = security(container)
    allowed, drop = set(scc.get("allowedCapabilities") or []), set(scc.get("requiredDropCapabilities") or [])
    if "*" not in allowed and capabilities(container) - allowed:
        yield f"capabilities {', '.join(sorted(capabilities(container) - allowed))}"
    if capabilities(container) & (drop - {"ALL"}):
        yield "adds a capability that is to be dropped"
    if mine.get("privileged") and not scc.get("allowPrivilegedContainer"):
        yield "privileged"
    if mine.get("allowPrivilegeEscalation") and scc.get("allowPrivilegeEscalation") is False:
        yield "allowPrivilegeEscalation"
    if mine.get("readOnlyRootFilesystem") is False and scc.get("readOnlyRootFilesystem"):
        yield "a root file system that is not read-only"
    if any(p.get("hostPort") for p in container.get("ports") or []) and not scc.get("allowHostPorts"):
        yield "host port"
    uid, users = effective(pod, container, "runAsUser"), scc["runAsUser"]
    if (
        uid is not None
        and users["type"] == "MustRunAsRange"
        and not users.get("uidRangeMin", uid + 1) <= uid <= users.get("uidRangeMax", uid - 1)
    ):
        yield f"uid {uid} is not of the namespace's range"
    if users["type"] == "MustRunAs" and uid not in (None, users.get("uid")):
        yield f"uid {uid}"
    if users["type"] == "MustRunAsNonRoot" and uid == 0:
        yield "uid 0"
    if effective(pod, container, "seLinuxOptions") and scc["seLinuxContext"]["type"] == "MustRunAs":
        yield "seLinuxOptions are the namespace's"
    profiles = scc.get("seccompProfiles") or []
    profile_name = {"RuntimeDefault": "runtime/default", "Unconfined": "unconfined"}.get(seccomp(pod, container))
    if profile_name and profile_name not in profiles and "*" not in profiles:
        yield f"seccomp profile {profile_name}"


def without_sccs(pod):
    """The copy that sets file capabilities is for clusters that have no SCCs (`user: 1000` of k8s/new)."""
    return any(capabilities(c) & INSTALL_CAPABILITIES for c in pod.spec.get("initContainers") or [])


def admitted(_, at):
    name = at.pod.notes.get(REQUIRED_SCC)
    scc = at.file.get("SecurityContextConstraints", name)
    if name and not scc:
        yield (), f"asks for the SCC {name}, which is not there"
    for fault in refusals(scc, at.pod) if scc and not without_sccs(at.pod) else ():
        yield (), f"the SCC {name} refuses {fault}"


def admitted_to_all(_, at):
    if not at.pod.partial and not without_sccs(at.pod) and not puts_hook(at) and REQUIRED_SCC not in at.pod.notes:
        for fault in refusals(RESTRICTED_V2, at.pod):
            yield (), f"asks for no SCC, and restricted-v2 refuses {fault}"


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


def enforce(objects):
    """A function that changes: puts the first pods into a namespace that enforces the level restricted."""
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    for owner in [o for o in objects if o["kind"] in ("Job", "StatefulSet")]:
        owner["metadata"]["namespace"] = "training"
        objects.append({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "training", "labels": labels}})
        return True
    return False


OURS = "ours: what nccl-init needs, and no more"
PSA = "k8s.io/pod-security-admission policy/"
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
    Rule("security.level", "pod", security_level, PSA, in_container("ports[0].hostPort", 29500)),
    Rule("security.namespace", "pod", namespace_level, PSA, enforce),
    Rule("security.namespace-label", "pod", namespace_named, PSA, Change("Namespace", "metadata.labels", {"x": "y"})),
    Rule("scc.admits", "pod", admitted, "openshift/apiserver-library-go sccmatching",
        in_pod("securityContext.fsGroup", 1000)),
    Rule("scc.restricted", "pod", admitted_to_all, "openshift/apiserver-library-go sccmatching",
        Change("Pod", f"metadata.annotations['{REQUIRED_SCC}']", None)),
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
