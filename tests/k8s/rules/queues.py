# Rules about Kueue's queues, which start all pods of a job or none.
# SPDX-License-Identifier: Apache-2.0
"""Source: kueue v0.19.2, pkg/webhooks/clusterqueue_webhook.go and pkg/cache."""
from . import Change, Rule, find
from .forms import amount, quantity
from .launchers import made


def same_order(obj, _):
    for path, group in find(obj, "spec.resourceGroups[*]"):
        for at, flavor in find(group, "flavors[*]"):
            if [r["name"] for r in flavor["resources"]] != group["coveredResources"]:
                yield path + at, "has other resources, or another order, than coveredResources"


def flavors(obj, at):
    for path, name in find(obj, "spec.resourceGroups[*].flavors[*].name"):
        if not at.file.get("ResourceFlavor", name):
            yield path, f"the flavor {name} is not there: the queue is inactive"


def one_group(obj, _):
    names = [name for _, name in find(obj, "spec.resourceGroups[*].coveredResources[*]")]
    for name in {n for n in names if names.count(n) > 1}:
        yield ("spec", "resourceGroups"), f"{name} is in two groups"


def quotas(obj, _):
    for path, value in find(obj, "spec.resourceGroups[*].flavors[*].resources[*].nominalQuota"):
        if quantity(value):
            yield path, quantity(value)


def cluster_queue(obj, at):
    if not at.file.get("ClusterQueue", obj["spec"]["clusterQueue"]):
        yield ("spec", "clusterQueue"), f"{obj['spec']['clusterQueue']} is not there"


def namespace(obj, at):
    """A ClusterQueue takes jobs of the namespaces that it selects."""
    queue = at.file.get("ClusterQueue", obj["spec"]["clusterQueue"]) or {}
    for _, name in find(queue, "spec.namespaceSelector.matchLabels['kubernetes.io/metadata.name']"):
        if name != obj["metadata"].get("namespace"):
            yield ("metadata", "namespace"), f"its queue takes jobs of {name} only"


def queued(obj, at):
    """The queue of a job is in its namespace, and has room for all its pods."""
    name = (obj["metadata"].get("labels") or {}).get("kueue.x-k8s.io/queue-name")
    local = at.file.get("LocalQueue", name)
    if not name or not at.file.all("LocalQueue"):
        return
    if not local or local["metadata"].get("namespace") != obj["metadata"].get("namespace"):
        yield ("metadata", "labels"), f"the queue {name} is not there"
        return
    queue = at.file.get("ClusterQueue", local["spec"]["clusterQueue"]) or {}
    room = {
        r["name"]: amount(r["nominalQuota"]) for _, r in find(queue, "spec.resourceGroups[*].flavors[*].resources[*]")
    }
    need = {}
    for pod in [pod for pod in at.file.pods if pod.owner is obj]:
        for container in pod.spec["containers"]:
            resources = container.get("resources") or {}
            for key, value in {**(resources.get("limits") or {}), **(resources.get("requests") or {})}.items():
                need[key] = need.get(key, 0) + amount(value) * (made(pod)[0] or 1)
    for key in sorted(need):
        if room.get(key, 0) < need[key]:
            yield (), f"its pods need {need[key]} of {key}, and the queue has {room.get(key, 0)}"


QUEUE, LOCAL, GROUP = "ClusterQueue", "LocalQueue", "spec.resourceGroups[0]."
REPLICAS = "spec.replicatedJobs[0].template.spec.completions"
# fmt: off
RULES = [
    Rule("queue.order", QUEUE, same_order, "validateFlavorQuotas", Change(QUEUE, GROUP + "coveredResources[0]", "x")),
    Rule("queue.flavor", QUEUE, flavors, "the queue is inactive", Change(QUEUE, GROUP + "flavors[0].name", "x")),
    Rule("queue.group", QUEUE, one_group, "validateResourceGroups",
        Change(QUEUE, "spec.resourceGroups", lambda groups: groups + groups)),
    Rule("queue.quota", QUEUE, quotas, "validateResourceQuantity",
        Change(QUEUE, GROUP + "flavors[0].resources[0].nominalQuota", "-1")),
    Rule("queue.local", LOCAL, cluster_queue, "the queue is inactive", Change(LOCAL, "spec.clusterQueue", "x")),
    Rule("queue.namespace", LOCAL, namespace, "the jobs wait for ever", Change(LOCAL, "metadata.namespace", "x")),
    Rule("queue.room", "object", queued, "ours: the job waits for ever", Change("JobSet", REPLICAS, 10000)),
]
