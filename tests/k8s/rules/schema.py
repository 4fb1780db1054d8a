# Changes that break a schema, and what is said of them. That no field of another name or type is taken anywhere is
# seen without rows.
# SPDX-License-Identifier: Apache-2.0
from . import Change, in_container

STS = "StatefulSet"
SCC = "SecurityContextConstraints"
CHANGES = [
    (Change("Service", "kind", "Servic"), "is no kind"),
    (Change("Service", "metadata.name", None), "no name"),
    (Change("Service", "spec", None), "'spec' is a required property"),
    (Change(STS, "spec.template.spec.containers", []), "[] is too short"),
    (Change(STS, "apiVersion", "apps/v1beta2"), "is no kind that"),
    (Change(STS, "spec.serviceNam", "trainer"), "'serviceNam' was unexpected"),
    (Change(STS, "spec.replicas", "2"), "is not of type 'integer'"),
    (in_container("resources.limits['nvidia.com/gpu']", 4), "4 is not of type 'string'"),
    (in_container("volumeMounts[0].mountPath", None), "'mountPath' is a required property"),
    (Change(STS, "spec.podManagementPolicy", "parallel"), "'parallel' is not one of"),
    (in_container("env[valueFrom.fileKeyRef].valueFrom.fileKeyRef.key", None), "'key' is a required property"),
    (in_container("env[valueFrom.fileKeyRef].valueFrom.fileKeyRef.path", "../env"), "'../env' does not match"),
    (Change("SriovNetworkNodePolicy", "spec.nicSelector.vendor", 1583), "1583 is not of type 'string'"),
    (Change("SriovNetworkNodePolicy", "spec.nicSelector.vendor", "mlx5"), "'mlx5' does not match"),
    (Change(SCC, "priority", None), "'priority' is a required property"),
    (Change(SCC, "allowPrivilegedContainer", True), "False was expected"),
    (Change(SCC, "volumes[+]", "hostPath"), "'hostPath' is not one of"),
    (Change("MachineConfig", "spec.kernelArguments[0]", "iommu=pt amd"), "'iommu=pt amd' does not match"),
    (Change("MachineConfig", "spec.config.storage.files[0].mode", 644), "greater than the maximum"),
]
