#!/usr/bin/python3
"""k8s/check on changed copies of tests/k8s/check.json, in one process: a program a case would take minutes.

usage: check.py cases FOLDER   each case: `ok: NAME`, or `FAILED: NAME: WHY`; FOLDER/NAME.json has what was judged. At the
                               end, that each sentence of k8s/check is in a case
       check.py odd            odd values at each place of it: `FAILED: ...` where there is a traceback
"""

# SPDX-License-Identifier: Apache-2.0
import contextlib
import copy
import importlib.machinery
import importlib.util
import io
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
PROGRAM = HERE + "/../../k8s/check"
with open(HERE + "/check.json", encoding="utf-8") as source:
    GOOD = json.load(source)

CASES = []


def case(pattern, args=""):
    """PATTERN: the status, and then what is said, on one line."""
    def add(change):
        CASES.append((change.__name__.replace("_", "-"), args, pattern, change))
        return change
    return add


def error(what, who="", others=0):
    return f"1 ml: {1 + others} error*error: {what}*{who}*"


def find(record, kind, name=None):
    return next(o for o in record["items"] if o["kind"] == kind and name in (None, o["metadata"]["name"]))


def drop(record, kind, name=None):
    record["items"].remove(find(record, kind, name))


def nodes(record):
    return [o for o in record["items"] if o["kind"] == "Node"]


def template(record):
    return find(record, "StatefulSet")["spec"]["template"]


def container(record):
    return template(record)["spec"]["containers"][0]


def add(record, text):
    record["items"].append(json.loads(text) if isinstance(text, str) else text)


def pods_of(record):
    return [o for o in record["items"] if o["kind"] == "Pod"]


@case("0 ml: 0 errors, 0 warnings; 4 pods with the label in 1 workload")
def nothing(record):
    del record


# ---- the label -------------------------------------------------------------------------------------------------------

JOB = {"apiVersion": "batch/v1", "kind": "Job",
       "metadata": {"name": "j", "namespace": "ml", "labels": {"nccl-init.io/inject": "conf"}},
       "spec": {"template": {"metadata": {}, "spec": {"containers": [{"name": "a", "image": "i"}]}}}}


@case(error("The label nccl-init.io/inject is on the Job j, and not on its pods. Labels of a Job are not those of its pods: they start "
            "without settings.", "User: move the label to spec.template.metadata.labels."))
def label_on_job(record):
    add(record, copy.deepcopy(JOB))


@case(error("The label nccl-init.io/inject is on the TrainJob j, and not on its pods.",
            "User: move the label to the pod template of its runtime"))
def label_on_trainjob(record):
    add(record, {**JOB, "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob",
                 "spec": {"runtimeRef": {"name": "x"}}})


@case(error("The label nccl-init.io/inject is on the JobSet j, and not on its pods.",
            "move the label to spec.replicatedJobs.0.template.spec.template.metadata.labels"))
def label_on_jobset(record):
    add(record, {**JOB, "kind": "JobSet",
                 "spec": {"replicatedJobs": [{"name": "a", "template": {"spec": JOB["spec"]}}]}})


@case(error("nccl-init.io/inject is an annotation of the pods of the Job j; it must be a label.",
            "User: write it below labels"))
def label_as_annotation(record):
    job = copy.deepcopy(JOB)
    job["metadata"]["labels"] = {}
    job["spec"]["template"]["metadata"] = {"annotations": {"nccl-init.io/inject": "conf"}}
    add(record, job)


@case(error("The label nccl-init.io/inject of the pods of the StatefulSet trainer is 'config'.",
            "User: it is env, conf or wrap"))
def label_misspelt(record):
    template(record)["metadata"]["labels"]["nccl-init.io/inject"] = "config"


@case(error("The label nccl-init.io/inject is on the namespace ml. It counts on pods alone."))
def label_on_namespace(record):
    find(record, "Namespace", "ml")["metadata"]["labels"]["nccl-init.io/inject"] = "conf"


@case("0 ml: 0 errors*note: No workload of ml has pods with the label nccl-init.io/inject. None gets settings.*")
def no_label(record):
    drop(record, "StatefulSet")
    record["items"] = [o for o in record["items"] if o["kind"] != "Pod"]


# ---- the injection ---------------------------------------------------------------------------------------------------

MUTATING = "mutatingadmissionpolicies.admissionregistration.k8s.io"
KYVERNO = "mutatingpolicies.policies.kyverno.io"


@case(error("The cluster (1.35) serves no MutatingAdmissionPolicy. Pods with the label start without settings.",
            "Cluster admin: 1.34 and 1.35 have it behind the feature gate"))
def no_policies(record):
    del record["api"][MUTATING]
    record["version"]["minor"] = "35"


@case(error("The cluster (1.33) serves no MutatingAdmissionPolicy.", "Cluster admin: Kubernetes 1.36 has it"))
def old_cluster(record):
    del record["api"][MUTATING]
    record["version"]["minor"] = "33+"


@case("0 ml: 0 errors, 1 warning*MutatingAdmissionPolicy is served as v1beta1. An upgrade*")
def policies_in_beta(record):
    record["api"][MUTATING] = "v1beta1"


@case(error("nccl-init is not installed: no MutatingAdmissionPolicy is its own.",
            "Cluster admin: install k8s/charts/nccl-init"))
def not_installed(record):
    find(record, "MutatingAdmissionPolicy")["metadata"]["name"] = "other.example.com"


def of_kyverno(record, spec):
    """The cluster is too old for the API server's own policies, and Kyverno has them."""
    drop(record, "MutatingAdmissionPolicy")
    drop(record, "MutatingAdmissionPolicyBinding")
    del record["api"][MUTATING]
    record["api"][KYVERNO] = "v1"
    record["known"].append("MutatingPolicy")
    record["version"]["minor"] = "33"
    if spec is not None:
        add(record, {"apiVersion": "policies.kyverno.io/v1", "kind": "MutatingPolicy",
                     "metadata": {"name": "nccl-init.nccl-init.io"}, "spec": spec})


@case("0 ml: 0 errors, 0 warnings*")
def kyverno_policies(record):
    of_kyverno(record, {"matchConstraints": {}})


@case(error("nccl-init is not installed: no MutatingPolicy is its own.", "Cluster admin: install k8s/charts/nccl-init"))
def kyverno_without_policies(record):
    of_kyverno(record, None)


@case(error("nccl-init is not installed: no MutatingAdmissionPolicy or MutatingPolicy is its own."))
def kyverno_beside_nothing(record):
    of_kyverno(record, None)
    record["api"][MUTATING] = "v1"


@case("0 ml: 0 errors, 0 warnings*")
def kyverno_may_not_be_read(record):
    of_kyverno(record, None)
    record["known"].remove("MutatingPolicy")


@case(error("The injection leaves ml out.", "inject.namespaceSelector"))
def kyverno_for_another_namespace(record):
    of_kyverno(record, {"matchConstraints": {"namespaceSelector": {"matchLabels": {"team": "other"}}}})


@case("0 ml: 0 errors, 1 warning*nccl-init is installed 2 times: nccl-init.nccl-init.io, nccl-init.nccl-init.io of Kyverno.*uninstall all but one.*")
def installed_by_both_engines(record):
    record["api"][KYVERNO] = "v1"
    record["known"].append("MutatingPolicy")
    add(record, {"apiVersion": "policies.kyverno.io/v1", "kind": "MutatingPolicy",
                 "metadata": {"name": "nccl-init.nccl-init.io"}, "spec": {}})


@case(error("The injection leaves ml out.", "inject.namespaceSelector"))
def another_namespace(record):
    find(record, "Namespace", "ml")["metadata"]["labels"]["no-nccl-init"] = ""


@case(error("The injection leaves ml out."))
def namespaces_with_a_label(record):
    find(record, "MutatingAdmissionPolicyBinding")["spec"]["matchResources"]["namespaceSelector"] = {
        "matchExpressions": [{"key": "team", "operator": "Exists"}]}


@case("0 ml: 0 errors, 1 warning*nccl-init is installed 2 times: a.nccl-init.io, nccl-init.nccl-init.io.*uninstall all but one.*")
def installed_twice(record):
    twin = copy.deepcopy(find(record, "MutatingAdmissionPolicy"))
    twin["metadata"]["name"] = "a.nccl-init.io"
    add(record, twin)


@case(error("A pod has the label nccl-init.io/inject and not the settings: trainer-2. They were made when the policies did not act yet",
            "User: delete them, so that they are made anew."))
def pod_without_settings(record):
    del find(record, "Pod", "trainer-2")["spec"]["initContainers"]


@case(error("2 pods have the label nccl-init.io/inject and not the settings: trainer-0, trainer-1."))
def pods_of_another_mode(record):
    for name in ("trainer-0", "trainer-1"):
        find(record, "Pod", name)["metadata"]["labels"]["nccl-init.io/inject"] = "env"


@case("0 ml: 0 errors, 0 warnings; 4 pods *")
def pod_without_settings_that_has_ended(record):
    pod = find(record, "Pod", "trainer-2")
    del pod["spec"]["initContainers"]
    pod["status"]["phase"] = "Succeeded"


def with_env(record):
    template(record)["metadata"]["labels"]["nccl-init.io/inject"] = "env"
    for pod in pods_of(record):
        pod["metadata"]["labels"]["nccl-init.io/inject"] = "env"
        pod["spec"]["initContainers"][0]["name"] = "nccl-init-env"


@case(error("The StatefulSet trainer may run on nodes whose kubelet is older than 1.35, with the label env: node-1. Such a kubelet sets each "
            "variable of nccl-init to nothing", "User: use conf or wrap"))
def env_on_an_old_kubelet(record):
    with_env(record)
    find(record, "Node", "node-1")["status"]["nodeInfo"] = {"kubeletVersion": "v1.34.2"}


@case("0 ml: 0 errors, 0 warnings; 4 pods *")
def conf_on_an_old_kubelet(record):
    find(record, "Node", "node-1")["status"]["nodeInfo"] = {"kubeletVersion": "v1.34.2"}


@case("0 ml: 0 errors, 0 warnings; 4 pods *")
def env_on_new_kubelets(record):
    with_env(record)
    for node in nodes(record):
        node["status"]["nodeInfo"] = {"kubeletVersion": "v1.35.0-gke.1"}


# ---- devices ---------------------------------------------------------------------------------------------------------

VF = "openshift.io/eno6np0rdma"


@case(error(f"No node offers {VF}, which the StatefulSet trainer asks for. Its pods stay Pending.",
            "Cluster admin: install k8s/charts/rails"))
def no_vf(record):
    for node in nodes(record):
        node["status"]["allocatable"][VF] = "0"


@case(error("No node offers nvidia.com/eno6np0rdma, which", "User: nodes offer openshift.io/eno6np0rdma; ask for that.",
            1))
def another_prefix(record):
    limits = container(record)["resources"]["limits"]
    limits["nvidia.com/eno6np0rdma"] = limits.pop(VF)


@case(error("The StatefulSet trainer wants 5 pods with 8 nvidia.com/gpu, 1 openshift.io/eno5np0rdma, 1 openshift.io/eno6np0rdma, "
            "and there is room for 4. The others stay Pending, and",
            "Cluster admin: add nodes. User: ask for fewer pods"))
def more_pods(record):
    find(record, "StatefulSet")["spec"]["replicas"] = 5


@case(error("*there is room for 3. The others stay Pending, and a job that waits for all never starts.",
            f"Cluster admin: look why these nodes have less: node-1 has 0 {VF}."))
def one_node_without(record):
    nodes(record)[1]["status"]["allocatable"][VF] = "0"


@case(error("*there is room for 2. node-0, node-2: the pods do not tolerate its taint mine.",
            "User: add the toleration"))
def taint(record):
    for n in (0, 2):
        nodes(record)[n]["spec"]["taints"].append({"key": "mine", "effect": "NoExecute"})


@case("0 ml: 0 errors*")
def preference(record):
    nodes(record)[0]["spec"]["taints"].append({"key": "mine", "effect": "PreferNoSchedule"})


@case(error("*there is room for 3. node-3: it is cordoned."))
def cordoned(record):
    nodes(record)[3]["spec"]["unschedulable"] = True


@case(error("*there is room for 3. node-3: it is not ready."))
def not_ready(record):
    nodes(record)[3]["status"]["conditions"] = [{"type": "Ready", "status": "Unknown"}]


@case(error("*there is room for 0. node-0, node-1, node-2, node-3: it has not the label pool=a."))
def selector(record):
    template(record)["spec"]["nodeSelector"] = {"pool": "a"}


@case(error("*wants 9 pods with 2 nvidia.com/gpu, 1*and there is room for 8.*", "", 0))
def several_on_a_node(record):  # without an anti-affinity: 4 nodes of 4 GPUs
    del template(record)["spec"]["affinity"]
    find(record, "StatefulSet")["spec"]["replicas"] = 9
    container(record)["resources"]["limits"]["nvidia.com/gpu"] = "2"
    for node in nodes(record):
        node["status"]["allocatable"]["nvidia.com/gpu"] = "4"


@case(error("The StatefulSet trainer wants 5 pods with 2 nvidia.com/gpu, 1*and there is room for 4."))
def alone_on_a_node(record):
    find(record, "StatefulSet")["spec"]["replicas"] = 5
    container(record)["resources"]["limits"]["nvidia.com/gpu"] = "2"


@case("0 ml: 0 errors*")
def enough_on_a_node(record):
    several_on_a_node(record)
    find(record, "StatefulSet")["spec"]["replicas"] = 8


@case(error("The JobSet j wants 6 pods with 8 nvidia.com/gpu, and there is room for 4."))
def product(record):  # 2 jobs of 3 pods
    spec = {"parallelism": 3, "template": {"metadata": {"labels": {"nccl-init.io/inject": "conf"}}, "spec": {
        "tolerations": [{"operator": "Exists"}],
        "containers": [{"name": "a", "image": "i", "resources": {"limits": {"nvidia.com/gpu": 8}}}]}}}
    add(record, {**JOB, "kind": "JobSet", "metadata": {"name": "j", "namespace": "ml"},
                 "spec": {"replicatedJobs": [{"name": "a", "replicas": 2, "template": {"spec": spec}}]}})


# ---- networks --------------------------------------------------------------------------------------------------------

NAD = "NetworkAttachmentDefinition"


@case(error("There is no network eno6np0-network in ml, which the pods of the StatefulSet trainer name. Multus cannot attach it",
            "Cluster admin: install k8s/charts/rails"))
def network_missing(record):
    drop(record, NAD, "eno6np0-network")


@case(error("There is no network eno6np0-network in ml", "User: it is in rdma: write rdma/eno6np0-network"))
def network_elsewhere(record):
    find(record, NAD, "eno6np0-network")["metadata"]["namespace"] = "rdma"


@case("0 ml: 0 errors*")
def network_of_another_namespace(record):
    network_elsewhere(record)
    template(record)["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"] = \
        '[{"name": "eno5np0-network"}, {"name": "eno6np0-network", "namespace": "rdma", "interface": "net2"}]'


def sriov(space):
    return {"kind": "SriovNetwork", "metadata": {"name": "eno6np0-network", "namespace": "o"},
            "spec": {"networkNamespace": space}}


@case(error("There is no network eno6np0-network in ml",
            "Cluster admin: the SriovNetwork eno6np0-network is for the namespace other"))
def network_by_operator(record):
    drop(record, NAD, "eno6np0-network")
    add(record, sriov("other"))


@case(error("There is no network eno6np0-network in ml", "Cluster admin: the SR-IOV operator has not made it"))
def network_not_made(record):
    drop(record, NAD, "eno6np0-network")
    add(record, sriov("ml"))


@case(error("The cluster has no NetworkAttachmentDefinition, and the pods of", "Cluster admin: install Multus"))
def no_multus(record):
    del record["api"]["network-attachment-definitions.k8s.cni.cncf.io"]
    record["items"] = [o for o in record["items"] if o["kind"] != NAD]


@case(error("The networks of the StatefulSet trainer take 1 openshift.io/eno6np0rdma, and its containers ask for 0.",
            "User: write it below resources.limits"))
def vf_not_asked_for(record):
    del container(record)["resources"]["limits"][VF]


@case("0 ml: 0 errors, 0*")
def vf_by_injector(record):
    del container(record)["resources"]["limits"][VF]
    add(record, {"kind": "MutatingWebhookConfiguration", "metadata": {"name": "network-resources-injector-config"}})


# ---- claims ----------------------------------------------------------------------------------------------------------

CLASS = {"kind": "DeviceClass", "metadata": {"name": "rails-a"}, "spec": {"selectors": [
    {"cel": {"expression": 'device.driver == "sriovnetwork.k8snetworkplumbingwg.io" && true'}}]}}
CLAIM = {"kind": "ResourceClaimTemplate", "metadata": {"name": "rails-a", "namespace": "ml"},
         "spec": {"spec": {"devices": {
    "requests": [{"name": "a", "exactly": {"deviceClassName": "rails-a"}}]}}}}


def claims(record):
    template(record)["spec"]["resourceClaims"] = [{"name": "a", "resourceClaimTemplateName": "rails-a"}]
    container(record)["resources"]["claims"] = [{"name": "a"}]
    add(record, copy.deepcopy(CLASS))
    add(record, copy.deepcopy(CLAIM))
    for n in range(4):
        add(record, {"kind": "ResourceSlice", "metadata": {"name": f"s{n}"}, "spec": {
            "nodeName": f"node-{n}", "driver": "sriovnetwork.k8snetworkplumbingwg.io", "devices": [{"name": "d"}]}})


@case("0 ml: 0 errors, 0*")
def claims_are_there(record):
    claims(record)


@case(error("There is no ResourceClaimTemplate rails-a in ml, which the StatefulSet trainer names.", "fabric: dra"))
def no_claim_template(record):
    claims(record)
    drop(record, "ResourceClaimTemplate")


@case(error("There is no DeviceClass rails-a, which the template rails-a names.", "Cluster admin: install the driver"))
def no_class(record):
    claims(record)
    drop(record, "DeviceClass")


@case("0 ml: 0 errors, 1 warning*No container of the StatefulSet trainer uses its claim a.*")
def claim_unused(record):
    claims(record)
    del container(record)["resources"]["claims"]


@case(error("3 nodes offer devices of the driver sriovnetwork.k8snetworkplumbingwg.io, and the StatefulSet trainer wants 4 pods."))
def too_few_slices(record):
    claims(record)
    drop(record, "ResourceSlice", "s0")


@case(error("The cluster has no ResourceClaimTemplate, which the StatefulSet trainer needs.", "Kubernetes 1.34"))
def no_dra(record):
    claims(record)
    del record["api"]["resourceclaimtemplates.resource.k8s.io"]


# ---- rights ----------------------------------------------------------------------------------------------------------


def level(record, name):
    find(record, "Namespace", "ml")["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] = name


@case(error("ml enforces the pod security level baseline, which does not allow IPC_LOCK, SYS_RESOURCE; the StatefulSet trainer asks for it. "
            "The pods are refused.", "Cluster admin: let the nodes set the limit"))
def baseline(record):
    level(record, "baseline")


@case("0 ml: 0 errors*")
def privileged(record):
    level(record, "privileged")


@case(error("ml enforces the pod security level baseline, which does not allow the host's network, a privileged container, a path of the host;"))
def host(record):
    level(record, "baseline")
    container(record)["securityContext"] = {"privileged": True}
    template(record)["spec"].update(hostNetwork=True, volumes=[{"name": "x", "hostPath": {"path": "/"}}])


SCC = "SecurityContextConstraints"


@case(error("There is no SCC nccl-rdma-scc, which the StatefulSet trainer asks for.", "scc.create"))
def no_scc(record):
    drop(record, SCC)


@case(error("The account trainer of ml may not use the SCC nccl-rdma-scc.",
            "Cluster admin: add ml/trainer to scc.accounts"))
def no_binding(record):
    drop(record, "RoleBinding")


@case(error("The account trainer of ml may not use the SCC nccl-rdma-scc."))
def binding_of_another(record):
    find(record, "RoleBinding")["subjects"][0]["name"] = "other"


@case("0 ml: 0 errors*")
def scc_by_group(record):
    drop(record, "RoleBinding")
    find(record, SCC)["groups"] = ["system:serviceaccounts:ml"]


@case(error("The SCC nccl-rdma-scc does not allow SYS_ADMIN, which the StatefulSet trainer asks for."))
def scc_too_narrow(record):
    container(record)["securityContext"]["capabilities"]["add"].append("SYS_ADMIN")


@case(error("The account other of ml may use no SCC that allows IPC_LOCK, SYS_RESOURCE.",
            "User: name the SCC by the annotation"))
def scc_not_named(record):
    del template(record)["metadata"]["annotations"]["openshift.io/required-scc"]
    template(record)["spec"]["serviceAccountName"] = "other"


@case("0 ml: 0 errors*")
def bindings_unreadable(record):
    drop(record, "RoleBinding")
    record["known"].remove("RoleBinding")
    record["denied"].append("rolebindings: forbidden")


# ---- NRI, images, queues ---------------------------------------------------------------------------------------------


def runtime(record, version, image=""):
    template(record)["metadata"]["annotations"]["ulimits.nri.containerd.io/container.train"] = "x"
    nodes(record)[2]["status"]["nodeInfo"] = {"containerRuntimeVersion": version, "osImage": image}


@case(error("The runtime of node-2 is too old for NRI, and locked memory comes by an annotation",
            "containerd 2.0 or CRI-O 1.30"))
def old_runtime(record):
    runtime(record, "containerd://1.7.6")


@case("0 ml: 0 errors, 1 warning*NRI is off by default in the runtime of node-2, and*")
def runtime_without_nri(record):
    runtime(record, "containerd://1.7.24")


@case("0 ml: 0 errors, 1 warning*NRI is off by default in the runtime of node-2, and*")
def openshift_without_nri(record):
    runtime(record, "cri-o://1.33.1-1.rhaos4.20", "Red Hat Enterprise Linux CoreOS 9.6")


@case("0 ml: 0 errors, 0*")
def runtime_with_nri(record):
    runtime(record, "containerd://2.0.0")


@case(error("The runtime of node-2 is too old for NRI, and its claim's networks"))
def old_runtime_with_claims(record):
    claims(record)
    runtime(record, "cri-o://1.28.9")
    del template(record)["metadata"]["annotations"]["ulimits.nri.containerd.io/container.train"]


@case(error("The image registry.example.com/a:1 of the StatefulSet trainer is of example.com, which has none."))
def example_image(record):
    container(record)["image"] = "registry.example.com/a:1"


@case(error("Kueue has no LocalQueue fast in ml, which the StatefulSet trainer waits in."))
def no_queue(record):
    find(record, "StatefulSet")["metadata"].setdefault("labels", {})["kueue.x-k8s.io/queue-name"] = "fast"


# ---- policies --------------------------------------------------------------------------------------------------------

POLICY = "SriovNetworkNodePolicy"


def foreign(record, selector, **spec):  # pylint: disable=redefined-outer-name
    add(record, {"apiVersion": "sriovnetwork.openshift.io/v1", "kind": POLICY,
                 "metadata": {"name": "theirs", "namespace": "o"}, "spec": {
        "resourceName": "x", "numVfs": 4, "nodeSelector": {"nvidia.com/gpu.present": "true"}, "nicSelector": selector,
        **spec}})


def without_states(record):
    record["items"] = [o for o in record["items"] if o["kind"] != "SriovNetworkNodeState"]


CLASH = "The policies eno5np0-rdma and theirs, which is not of the chart, are both for "


@case(error(CLASH + "eno5np0 of node-0, eno5np0 of node-1",
            "Cluster admin: use its resource x: policies: existing; or delete it"))
def policy_by_name(record):
    foreign(record, {"pfNames": ["eno5np0#0-1"]})


@case(error(CLASH + "eno5np0 of node-0", "", 1))
def policy_by_device(record):
    foreign(record, {"deviceID": "1021"})


@case(error(CLASH + "eno5np0 of node-0"))
def policy_by_place(record):
    foreign(record, {"rootDevices": ["0000:03:00.0"]})


@case("0 ml: 0 errors*")
def policy_of_another_device(record):
    foreign(record, {"vendor": "15b3", "deviceID": "101d"})


@case("0 ml: 0 errors*")
def policy_of_other_nodes(record):
    foreign(record, {"vendor": "15b3"}, nodeSelector={"pool": "b"})


@case(error(CLASH + "eno5np0. The"))
def policy_by_name_before_the_operator_ran(record):
    without_states(record)
    foreign(record, {"pfNames": ["eno5np0"]})


@case(error(CLASH + "eno5np0 (15b3)", "", 1))
def policy_by_vendor_before_the_operator_ran(record):
    without_states(record)
    foreign(record, {"vendor": "15b3"})


@case("0 ml: 0 errors*")
def policy_of_another_vendor_before_the_operator_ran(record):
    without_states(record)
    foreign(record, {"vendor": "8086"})


@case("0 ml: 0 errors*")
def policies_that_share_a_pf(record):
    find(record, POLICY, "eno5np0-rdma")["spec"]["nicSelector"]["pfNames"] = ["eno5np0#0-1"]
    foreign(record, {"pfNames": ["eno5np0#2-3"]})


@case(error(CLASH + "eno5np0 of node-0"))
def policies_that_share_a_pf_and_disagree(record):
    policies_that_share_a_pf(record)
    find(record, POLICY, "theirs")["spec"]["numVfs"] = 8


@case(error("The policy eno5np0-rdma selects no node. No NIC gets a VF by it.", "label the nodes: a=b"))
def policy_without_nodes(record):
    find(record, POLICY, "eno5np0-rdma")["spec"]["nodeSelector"] = {"a": "b"}


@case(error("No NIC of node-1 is what the policy eno5np0-rdma selects: 15b3, eno5np0.",
            "Cluster admin: node-1 has eno1, eno6np0, ens5"))
def nic_with_another_name(record):
    states = [o for o in record["items"] if o["kind"] == "SriovNetworkNodeState"]
    states[1]["status"]["interfaces"][0]["name"] = "ens5"


@case(error("The policy eno5np0-rdma wants 100 VFs, and eno5np0 of node-0, node-1, node-2, node-3 can have 16.",
            "NUM_OF_VFS"))
def too_many_vfs(record):
    find(record, POLICY, "eno5np0-rdma")["spec"]["numVfs"] = 100


@case(error("The SR-IOV operator cannot configure the node node-0: no luck."))
def operator_failed(record):
    find(record, "SriovNetworkNodeState")["status"].update(syncStatus="Failed", lastSyncError="no luck")


@case(error("The cluster has no SriovNetworkNodePolicy.", "install the SR-IOV network operator"))
def no_operator(record):
    del record["api"]["sriovnetworknodepolicies.sriovnetwork.openshift.io"]


# ---- ranges ----------------------------------------------------------------------------------------------------------

RANGE = "The range 10.0.103.0/24 of the NetworkAttachmentDefinition eno5np0-network "


@case(error(RANGE + "is also the cluster's for Services (ServiceCIDR kubernetes): 10.0.0.0/16.",
            "Cluster admin: give the rail another subnet", 1))
def services(record):
    find(record, "ServiceCIDR")["spec"]["cidrs"] = ["fd00::/112", "10.0.0.0/16"]


@case(error(RANGE + "is also the cluster's for pods (of the node node-2): 10.0.103.128/25."))
def pods(record):
    nodes(record)[2]["spec"]["podCIDRs"] = ["10.0.103.128/25"]


@case(error(RANGE + "is also the cluster's for Services: 10.0.103.0/25."))
def openshift(record):
    add(record, {"apiVersion": "config.openshift.io/v1", "kind": "Network", "metadata": {"name": "cluster"}, "spec": {
        "serviceNetwork": ["10.0.103.0/25"], "clusterNetwork": [{"cidr": "10.128.0.0/14"}]}})


@case(error(RANGE + "is also the cluster's for Services (kubernetes has an address of it): 10.0.103.1/32."))
def service_without_range(record):
    drop(record, "ServiceCIDR")
    find(record, "Service", "kubernetes")["spec"]["clusterIPs"] = ["10.0.103.1"]


@case(error("The address 10.0.103.7 of the node node-1 is in the range 10.0.103.0/24 of the NetworkAttachmentDefinition eno5np0-network. "
            "whereabouts gives it to a pod, too.", "leave it out by range"))
def address_of_a_node(record):
    nodes(record)[1]["status"]["addresses"].append({"type": "InternalIP", "address": "10.0.103.7"})


@case("0 ml: 0 errors*")
def address_of_a_node_outside_the_range(record):
    address_of_a_node(record)
    nad = find(record, NAD, "eno5np0-network")
    nad["spec"]["config"] = nad["spec"]["config"].replace('"range"', '"range_start": "10.0.103.10", "range"')


@case("0 ml: 0 errors, 1 warning*The range 10.0.103.0/24 of the NetworkAttachmentDefinition eno5np0-network and 10.0.0.0/16 of the "
      "NetworkAttachmentDefinition theirs in other overlap.*")
def ranges_overlap(record):
    add(record, {"apiVersion": "k8s.cni.cncf.io/v1", "kind": NAD, "metadata": {"name": "theirs", "namespace": "other"},
                 "spec": {
        "config": '{"plugins": [{"type": "macvlan", "ipam": {"type": "whereabouts", "range": "10.0.103.200-10.0.103.210/16"}}]}'}})


# ---- events ----------------------------------------------------------------------------------------------------------


@case(error("The StatefulSet trainer cannot make its pods: exceeded quota.", "User: do what the message says"))
def refused(record):
    add(record, {"kind": "Event", "reason": "FailedCreate", "message": "exceeded quota", "lastTimestamp": "9999",
                 "involvedObject": {"kind": "StatefulSet", "name": "trainer"}})


@case("0 ml: 0 errors, 1 warning*The pod trainer-0 waits for a node: 0/4 nodes.*")
def waiting(record):
    find(record, "Pod", "trainer-0")["status"] = {"phase": "Pending"}
    find(record, "Pod", "trainer-0")["metadata"]["labels"]["nccl-init.io/inject"] = "conf"
    add(record, {"kind": "Event", "reason": "FailedScheduling", "message": "0/4 nodes", "lastTimestamp": "9999",
                 "involvedObject": {"kind": "Pod", "name": "trainer-0"}})


# ---- scope -----------------------------------------------------------------------------------------------------------


@case(error("The namespace ml does not exist.", "kubectl create namespace ml"))
def no_namespace(record):
    drop(record, "Namespace", "ml")


@case("0 ml/rails: 0 errors, 0 warnings; 0 pods*", "--release rails")
def release(record):
    container(record)["image"] = "registry.example.com/a:1"  # of nobody's release


@case("1 check: there is no object of the release none", "--release none")
def no_release(record):
    del record


@case("1 ml/more: *error: The NetworkAttachmentDefinition eno5np0-network is there already, and is not of the release more. Helm refuses*",
      "--release more --planned FOLDER/planned")
def planned(record):
    del record


@case("0 ml/rails: *", "--release rails --planned FOLDER/planned")
def planned_of_the_release(record):
    del record


@case("0 ml: 0 errors*Not judged, for want of the right to read: nodes: forbidden")
def denied(record):
    record["items"] = [o for o in record["items"] if o["kind"] != "Node"]
    record["known"].remove("Node")
    record["denied"].append("nodes: forbidden")


def load():
    """k8s/check as a module."""
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("check", PROGRAM)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("check", loader))
    loader.exec_module(module)
    return module


def said(check, args):
    """The status and what it says, on one line."""
    out = io.StringIO()
    sys.argv = ["check", "-n", "ml", *args]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        status = check.main()
    return " ".join(f"{status} {out.getvalue()}".split())


def cases(folder):
    check, failed = load(), 0
    with open(folder + "/planned", "w", encoding="utf-8") as file:
        json.dump(find(GOOD, NAD, "eno5np0-network"), file)
    for name, args, pattern, change in CASES:
        record = copy.deepcopy(GOOD)
        change(record)
        with open(f"{folder}/{name}.json", "w", encoding="utf-8") as file:
            json.dump(record, file)
        got = said(check, [*args.replace("FOLDER", folder).split(), "--from", f"{folder}/{name}.json"])
        if re.fullmatch(".*".join(re.escape(part) for part in pattern.split("*")), got):
            print(f"ok: {name}")
        else:
            print(f"FAILED: {name}: expected '{pattern}', got '{got}'")
            failed += 1
    with open(PROGRAM, encoding="utf-8") as file:
        text = file.read()
    patterns = "\n".join(pattern for _, _, pattern, _ in CASES)
    for what in re.findall(r'self\.(?:error|warn|note|say)\((?:"error" if [^,]*,)?\s*"([^"]*)"', text):
        # the longest part between two values
        if max(re.split(r"%[sd]", what), key=len).strip() not in patterns:
            print(f"FAILED: no case has the sentence '{what}'")
            failed += 1
    return failed


# ---- odd values ------------------------------------------------------------------------------------------------------

ODD = [None, True, -1, 10 ** 30, 1e300, "\x1b[31m\u202e\n", [], [[]], [None, 1, "x"], {}, {"a": {}}]


def walk(value, path=()):
    yield path
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from walk(value[key], path + (key,))


def odd():
    check = load()
    base = copy.deepcopy(GOOD)
    claims(base)
    foreign(base, {"vendor": "15b3"})
    ranges_overlap(base)
    refused(base)
    sriov_ = sriov("ml")
    sriov_["spec"]["ipam"] = '{"range": "10.9.0.0/24"}'
    add(base, sriov_)
    add(base, copy.deepcopy(JOB))
    failed, count = 0, 0
    for n, path in enumerate(list(walk(base))):
        if not path:
            continue
        at = base
        for key in path[:-1]:
            at = at[key]
        kept, at[path[-1]] = at[path[-1]], ODD[n % len(ODD)]
        count += 1
        try:
            try:
                one = check.Check(check.from_text(json.dumps(base)), "ml", None, [])
                one.judge()
            except check.Trouble:
                continue
            bad = [f for f in one.found for text in f.values() if not all(" " <= c <= "~" for c in text)]
            if bad:
                print(f"FAILED: odd values: {path}: {bad[0]}")
                failed += 1
        except Exception as error_:  # pylint: disable=broad-except
            print(f"FAILED: odd values: {path} = {ODD[n % len(ODD)]!r}: {error_!r}")
            failed += 1
        finally:
            at[path[-1]] = kept
    print(f"odd values in {count} places")
    return failed


if __name__ == "__main__":
    sys.exit(min(cases(sys.argv[2]) if sys.argv[1] == "cases" else odd(), 1))
