# What cannot be changed in place: an object of the same name has to be deleted first.
# SPDX-License-Identifier: Apache-2.0
"""Sources: apps ValidateStatefulSetUpdate, batch ValidateJobSpecUpdate (an Indexed Job's completions may follow its
parallelism), core ValidateServiceClusterIPsRelatedFields, rbac ValidateRoleBindingUpdate, resource
ValidateResourceClaimTemplateUpdate; jobset v0.12.0 pkg/webhooks and trainer v2.3.0 (rules of its definitions)."""
from . import find

FIXED = {
    "StatefulSet": ("spec.serviceName", "spec.selector", "spec.podManagementPolicy"),
    "Job": ("spec.template", "spec.completionMode", "spec.backoffLimitPerIndex"),
    "Service": ("spec.clusterIP",),
    "RoleBinding": ("roleRef",),
    "ResourceClaimTemplate": ("spec",),
    "JobSet": ("spec.replicatedJobs", "spec.failurePolicy"),
    "TrainJob": ("spec.runtimeRef", "spec.trainer"),
}


def changed(old, new):
    """(object, path) of all that an update of the objects OLD to NEW cannot do."""
    before = {(o["kind"], o["metadata"]["name"]): o for o in old}
    for obj in new:
        was = before.get((obj["kind"], obj["metadata"]["name"]))
        for path in FIXED.get(obj["kind"], ()) if was else ():
            if [value for _, value in find(was, path)] != [value for _, value in find(obj, path)]:
                yield obj, path
