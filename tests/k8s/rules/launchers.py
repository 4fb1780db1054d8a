# Rules about what starts the pods of a job: the names it makes, what it asks for, what it tells the pods.
# SPDX-License-Identifier: Apache-2.0
"""Sources: batch and apps as in forms.py; the webhooks of jobset v0.12.0 and lws v0.10.0 (pkg/webhooks), of
training-operator v1.9.4 (pkg/webhooks/pytorch) and trainer v2.3.0 (pkg/webhooks, pkg/runtime/framework/plugins/torch);
mpi-operator caa3c47 (pkg/apis/kubeflow/validation)."""
from . import Change, Rule, find, in_container, in_pod
from .forms import APART, amount, form

# Kinds whose name, or one made of it, is a Service's.
RFC_1035 = ("JobSet", "LeaderWorkerSet", "MPIJob", "PyTorchJob", "TrainJob")
service_name = form(r"[a-z]([-a-z0-9]*[a-z0-9])?", 63, "RFC 1035 label")


def made_of(kind, name, spec):
    """The longest names, or labels' values, that a controller makes of this one."""
    if kind in ("StatefulSet", "CronJob"):
        yield name + "-0123456789"  # controller-revision-hash; the Job's start
    elif kind == "Job" and spec.get("completionMode") == "Indexed":
        yield f"{name}-{spec.get('completions', 1) - 1}"
    elif kind == "JobSet":
        for job in spec["replicatedJobs"]:
            last = job["template"]["spec"].get("completions", 1) - 1
            yield f"{name}-{job['name']}-{job.get('replicas', 1) - 1}-{last}-abcde"
    elif kind == "LeaderWorkerSet":
        yield f"{name}-{spec.get('replicas', 1) - 1}-{spec['leaderWorkerTemplate'].get('size', 1) - 1}-0123456789"
    elif kind == "MPIJob":
        yield f"{name}-worker-{spec['mpiReplicaSpecs']['Worker'].get('replicas', 1) - 1}"
    elif kind == "PyTorchJob":
        yield f"{name}-worker-{spec['pytorchReplicaSpecs'].get('Worker', {}).get('replicas', 1) - 1}"


def children(obj, _):
    for name in made_of(obj["kind"], obj["metadata"]["name"], obj.get("spec") or {}):
        if len(name) > 63:
            yield ("metadata", "name"), f"{name} is made of it, and longer than 63"


def names(obj, _):
    fault = service_name(obj["metadata"]["name"]) if obj["kind"] in RFC_1035 else None
    if fault:
        yield ("metadata", "name"), fault


def one_master(obj, _):
    parts = {"MPIJob": ("mpiReplicaSpecs", "Launcher"), "PyTorchJob": ("pytorchReplicaSpecs", "Master")}
    key, role = parts.get(obj["kind"], ("", ""))
    for path, part in find(obj, f"spec.{key}.{role}") if key else ():
        if part.get("replicas", 1) != 1:
            yield path, "is one pod"


def replica_policy(obj, _):
    for path, part in find(obj, "spec.mpiReplicaSpecs[*]"):
        if part.get("restartPolicy", "Never") not in ("Never", "OnFailure"):
            yield path, "restartPolicy is Never or OnFailure"


def expected_container(obj, at):
    wanted = {"PyTorchJob": "pytorch", "TrainingRuntime": "node"}.get(obj["kind"])
    for pod in at.file.pods if wanted else ():
        if pod.owner is obj and wanted not in [c["name"] for c in pod.spec["containers"]]:
            yield pod.path, f"has no container {wanted}"


def reserved(obj, _):
    for path, name in find(obj, "spec.trainer.env[*].name"):
        if name in ("PET_NNODES", "PET_NPROC_PER_NODE", "PET_NODE_RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT"):
            yield path, f"{name} is the trainer's"


def runtime(obj, at):
    ref = obj["spec"]["runtimeRef"]
    if ref.get("kind") == "TrainingRuntime" and not at.file.get("TrainingRuntime", ref["name"]):
        yield ("spec", "runtimeRef"), f"{ref['name']} is not there"


# ---- what the pods are told ---------------------------------------------------------------------------------

COUNTS = ("NNODES", "PET_NNODES", "NCCLINIT_RANKS")
ADDRESSES = ("MASTER_ADDR", "PET_MASTER_ADDR", "NCCLINIT_PEERS")


def variables(pod):
    return {e["name"]: e.get("value") for e in pod.spec["containers"][0].get("env") or []}


def made(pod):
    """(how many pods, the address of the first) of one template; None where the launcher tells it the pods itself."""
    kind, name, spec = pod.owner["kind"], pod.owner["metadata"]["name"], pod.owner.get("spec") or {}
    if kind == "StatefulSet":
        return spec.get("replicas", 1), f"{name}-0.{spec.get('serviceName')}"
    if kind == "Job":
        return spec.get("completions", 1), f"{name}-0.{pod.spec.get('subdomain')}"
    if kind == "JobSet":
        job = spec["replicatedJobs"][pod.path[2]]
        domain = (spec.get("network") or {}).get("subdomain", name)
        return job["template"]["spec"].get("completions", 1), f"{name}-{job['name']}-0-0.{domain}"
    return None, None


def pod_count(_, at):
    """They would wait for ever."""
    count, _ = made(at.pod)
    for name in COUNTS:
        told = variables(at.pod).get(name)
        if count is not None and told is not None and told != str(count):
            yield (), f"{count} pods, but {name} is {told}"


def pod_zero(_, at):
    _, address = made(at.pod)
    for name in ADDRESSES:
        told = variables(at.pod).get(name)
        if address and told and ".".join(told.split(".")[:2]) != address:
            yield (), f"its pod 0 is {address}, not {told}"


def together(spec, at):
    """Pods that wait for each other run all at once."""
    if set(variables(at.pod)) & set(COUNTS) and spec.get("parallelism", 1) != spec.get("completions", 1):
        yield ("parallelism",), "is not completions, and the pods wait for each other"


def processes(obj, at):
    """As many processes as a pod has GPUs."""
    for key in ("slotsPerWorker", "numProcPerNode"):
        told = {v for path in (f"spec.{key}", f"spec.trainer.{key}") for _, v in find(obj, path)}
        limits = [c.get("resources", {}).get("limits", {}) for pod in at.file.pods for _, c in pod.containers()]
        gpus = {amount(part["nvidia.com/gpu"]) for part in limits if "nvidia.com/gpu" in part}
        if told and gpus and told != gpus:
            yield ("spec",), f"{key} is {told.pop()}, and a pod has {', '.join(map(str, gpus))} GPUs"


# ---- pods with GPUs -----------------------------------------------------------------------------------------

GPU = "nvidia.com/gpu"


def apart(spec, at):
    """Two pods of a job on one node share its NICs."""
    terms = find(spec, APART + "[*].topologyKey")
    if at.pod.has_limit(GPU) and not any(key == "kubernetes.io/hostname" for _, key in terms):
        yield (), "has GPUs, and nothing keeps two of its pods from one node"


def tolerant(spec, at):
    """Nodes with GPUs are often tainted with their resource's name."""
    if at.pod.has_limit(GPU) and not any(t.get("key") in (None, GPU) for t in spec.get("tolerations") or []):
        yield (), f"has GPUs, and does not tolerate {GPU}"


def bounded(container, at):
    resources = container.get("resources") or {}
    if GPU in (resources.get("limits") or {}) and not at.pod.partial:
        if "memory" not in resources["limits"]:
            yield ("resources",), "has no limit of memory: it takes the node's"
        if not {"cpu"} & {*(resources.get("requests") or {}), *resources["limits"]}:
            yield ("resources",), "asks for no cpu"


RUNTIME = "spec.template.spec.replicatedJobs[0].template.spec.template.spec."
# fmt: off
RULES = [
    Rule("launcher.children", "object", children,
        "names and label values of at most 63 characters: apps, batch, webhooks",
        Change("MPIJob", "metadata.name", "x" * 62)),
    Rule("launcher.name", "object", names, "webhooks", Change("MPIJob", "metadata.name", "1st")),
    Rule("launcher.master", "object", one_master, "validateLauncherReplicaSpec, validatePyTorchReplicaSpecs",
        Change("MPIJob", "spec.mpiReplicaSpecs.Launcher.replicas", 2)),
    Rule("launcher.restart", "MPIJob", replica_policy, "validateReplicaSpec",
        Change("MPIJob", "spec.mpiReplicaSpecs.Worker.restartPolicy", "Always")),
    Rule("launcher.container", "object", expected_container, "validatePyTorchReplicaSpecs, validateReplicatedJobs",
        Change("TrainingRuntime", RUNTIME + "containers[0].name", "x")),
    Rule("launcher.variable", "TrainJob", reserved, "TorchRunReservedEnvNames",
        Change("TrainJob", "spec.trainer.env", [{"name": "PET_NNODES", "value": "2"}])),
    Rule("launcher.runtime", "TrainJob", runtime, "the job waits for it",
        Change("TrainJob", "spec.runtimeRef.name", "x")),
    Rule("launcher.count", "pod", pod_count, "ours: they would wait for ever",
        Change("StatefulSet", "spec.replicas", 3)),
    Rule("launcher.pod-0", "pod", pod_zero, "ours: they would wait for ever", Change("Job", "metadata.name", "x")),
    Rule("launcher.together", "job", together, "ours: they would wait for ever", Change("Job", "spec.parallelism", 1)),
    Rule("launcher.processes", "object", processes, "ours: a process for each GPU",
        Change("MPIJob", "spec.slotsPerWorker", 3)),
    Rule("gpu.apart", "pod", apart, "ours", in_pod(APART, [])),
    Rule("gpu.toleration", "pod", tolerant, "the NVIDIA GPU operator's documents", in_pod("tolerations", None)),
    Rule("gpu.resources", "container", bounded, "ours", in_container("resources.limits.memory", None)),
]
