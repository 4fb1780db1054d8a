#!/usr/bin/python3
# Checks rendered manifests: every object against the schema of its kind, and the rules that no schema tells.
# usage: validate.py --types kubernetes.json --kinds kinds.yaml FILE...
# Prints "FILE: KIND/NAME: PATH: what is wrong" for each fault; exit status 1 when there is one.
# SPDX-License-Identifier: Apache-2.0
import argparse
import copy
import json
import re
import sys
import urllib.parse

import jsonschema
import yaml

# The only capabilities that a container may add, and the only one of the init container that copies the binary.
CAPABILITIES = {"IPC_LOCK", "SYS_RESOURCE"}
INSTALL_CAPABILITIES = {"SETFCAP"}
# Who may have them on OpenShift, and by what: k8s/account, k8s/admin/scc.
ACCOUNT, SCC = "trainer", "nccl-rdma-scc"


class Loader(yaml.SafeLoader):
    """YAML as the API server reads it: a key that stands twice is an error."""


def mapping(loader, node):
    pairs = loader.construct_pairs(node, deep=True)
    keys = [key for key, _ in pairs]
    for key in keys:
        if keys.count(key) > 1:
            raise yaml.constructor.ConstructorError(None, None, f"the key {key!r} stands twice", node.start_mark)
    return dict(pairs)


Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, mapping)


# ---- schemas --------------------------------------------------------------------------------------


def closed(part):
    """kinds.yaml's shorthand in full: references to models, and no object that takes more than it names."""
    if isinstance(part, list):
        return [closed(item) for item in part]
    if not isinstance(part, dict):
        return part
    if set(part) == {"model"}:
        return {"$ref": f"#/definitions/{part['model']}"}
    out = {}
    for key, value in part.items():
        out[key] = {name: closed(sub) for name, sub in value.items()} if key == "properties" else closed(value)
    if "properties" in out:
        out.setdefault("type", "object")
        out["additionalProperties"] = False
    return out


def merge(into, extra):
    for key, value in extra.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            merge(into[key], value)
        else:
            into[key] = value


class Schemas:
    def __init__(self, types_file, kinds_file):
        with open(types_file, encoding="utf-8") as file:
            types = json.load(file)
        with open(kinds_file, encoding="utf-8") as file:
            kinds = yaml.load(file, Loader)
        self.version = types["version"]
        self.definitions = types["definitions"]
        self.used = set()
        for field, extra in kinds["narrowed"].items():
            model, name = field.split(".")
            # what other models refer to must not change with this field, so the property itself is narrowed
            merge(self.definitions[model]["properties"][name], extra)
        self.roots = {kind: {"$ref": f"#/definitions/{model}"} for kind, model in kinds["kubernetes"].items()}
        self.parameters = {}
        for kind, entry in kinds["custom"].items():
            if not entry.get("source"):
                raise SystemExit(f"{kinds_file}: {kind} names no source")
            top = copy.deepcopy(entry.get("top") or {"required": ["spec"], "properties": {"spec": entry["spec"]}})
            top["properties"]["apiVersion"] = top["properties"]["kind"] = {"type": "string"}
            top.setdefault("required", [])
            if entry.get("parameters"):
                self.parameters[kind] = closed(top)
                continue
            top["required"] = top["required"] + ["metadata"]
            top["properties"]["metadata"] = {"model": "V1ObjectMeta"}
            self.roots[kind] = closed(top)

    def faults(self, kind, obj, of):
        schema = dict(of[kind], definitions=self.definitions)
        checker = jsonschema.Draft7Validator(schema, format_checker=jsonschema.FormatChecker())
        for error in checker.iter_errors(obj):
            yield where(error.absolute_path), error.message
        self.used.add(kind)


def where(path):
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}"
    return text.lstrip(".") or "(top)"


# ---- rules about one object -------------------------------------------------------------------------


def walk(part, path=()):
    if isinstance(part, dict):
        yield path, part
        for key, value in part.items():
            yield from walk(value, path + (key,))
    elif isinstance(part, list):
        for i, value in enumerate(part):
            yield from walk(value, path + (i,))


def containers_of(spec):
    for key in ("initContainers", "containers"):
        for i, container in enumerate(spec.get(key) or []):
            yield (key, i), container


def capabilities_of(container):
    return ((container.get("securityContext") or {}).get("capabilities") or {}).get("add") or []


def uids_of(pod):
    parts = [pod, *(container for _, container in containers_of(pod))]
    uids = {(part.get("securityContext") or {}).get("runAsUser") for part in parts}
    return uids - {None}


def image_faults(image):
    if "{{" in image:
        return
    name, at, digest = image.partition("@")
    tag = re.search(r":([^/:]+)$", name)
    if not tag and not at:
        yield f"image {image} has no tag"
    elif tag and tag[1] == "latest":
        yield f"image {image}: latest is no version"
    if at and not re.fullmatch(r"sha256:[0-9a-f]{64}", digest):
        yield f"image {image}: the digest is malformed"


def privilege_faults(key, container, partial):
    security = container.get("securityContext") or {}
    capabilities = security.get("capabilities") or {}
    allowed = set(CAPABILITIES)
    if key[0] == "initContainers" and container.get("command", [])[1:2] == ["install"]:
        allowed = INSTALL_CAPABILITIES
    added = set(capabilities.get("add") or [])
    if added - allowed:
        yield f"adds {', '.join(sorted(added - allowed))}"
    elif added and added != allowed:
        yield f"adds {', '.join(sorted(added))} without {', '.join(sorted(allowed - added))}"
    if security.get("privileged"):
        yield "is privileged"
    if partial:  # the rest is in what this is merged into
        return
    if capabilities.get("drop") != ["ALL"]:
        yield "does not drop ALL capabilities"
    if "allowPrivilegeEscalation" not in security:
        yield "leaves allowPrivilegeEscalation open"
    if capabilities.get("add") and not security.get("allowPrivilegeEscalation") and security.get("runAsUser") != 0:
        yield "adds capabilities, but runs neither as uid 0 nor with allowPrivilegeEscalation: they are not effective"


def pod_faults(spec, partial):
    """What is wrong in a pod's spec. PARTIAL: it is merged into another, which has the rest."""
    volumes = {v.get("name"): v for v in spec.get("volumes") or []}
    if len(volumes) != len(spec.get("volumes") or []):
        yield ("volumes",), "a name stands twice"
    for name, volume in volumes.items():
        if len(volume) != 2:
            yield ("volumes",), f"{name} is not of exactly one type"
        if "hostPath" in volume:
            yield ("volumes",), f"{name} is a hostPath"
    for key in ("hostNetwork", "hostPID", "hostIPC"):
        if spec.get(key):
            yield (key,), "is set"
    claims = {c.get("name") for c in spec.get("resourceClaims") or []}
    names = []
    mounted = set()
    for key, container in containers_of(spec):
        names.append(container.get("name"))
        for fault in privilege_faults(key, container, partial):
            yield key, f"{container.get('name')}: {fault}"
        if "image" in container:
            for fault in image_faults(container["image"]):
                yield key, fault
        elif not partial:
            yield key, "no image"
        for mount in container.get("volumeMounts") or []:
            mounted.add(mount.get("name"))
            if mount.get("name") not in volumes:
                yield key, f"mounts {mount.get('name')}, which is no volume"
        paths = [m.get("mountPath") for m in container.get("volumeMounts") or []]
        if len(set(paths)) != len(paths):
            yield key, "two volumes at one path"
        env = [e.get("name") for e in container.get("env") or []]
        for name in env:
            if env.count(name) > 1:
                yield key, f"the variable {name} stands twice"
        for entry in container.get("env") or []:
            source = entry.get("valueFrom") or {}
            if ("value" in entry) == bool(source) or len(source) > 1:
                yield key, f"the variable {entry.get('name')} has not exactly one source"
            if "fileKeyRef" in source:
                volume = source["fileKeyRef"].get("volumeName")
                mounted.add(volume)
                if "emptyDir" not in volumes.get(volume, {}):
                    yield key, f"fileKeyRef needs an emptyDir, and {volume} is none"
        for claim in (container.get("resources") or {}).get("claims") or []:
            if claim.get("name") not in claims:
                yield key, f"claims {claim.get('name')}, which the pod does not have"
        resources = container.get("resources") or {}
        for name, amount in (resources.get("requests") or {}).items():
            if "/" in name and (resources.get("limits") or {}).get(name) != amount:
                yield key, f"requests {name} otherwise than its limit"
    if len(set(names)) != len(names):
        yield ("containers",), "a name stands twice"
    for name in sorted(set(volumes) - mounted - {None}):
        if not partial:
            yield ("volumes",), f"no container mounts {name}"
    profile = (spec.get("securityContext") or {}).get("seccompProfile") or {}
    each = [((c.get("securityContext") or {}).get("seccompProfile") or profile).get("type") for _, c in containers_of(spec)]
    if not partial and set(each) != {"RuntimeDefault"}:
        yield ("securityContext",), "a container without seccompProfile RuntimeDefault"


def json_faults(text, required):
    try:
        value = json.loads(text)
    except ValueError as error:
        yield f"no JSON: {error}"
        return
    for key in required:
        if key not in value:
            yield f"lacks {key}"


def special_faults(kind, obj):
    if kind == "NetworkAttachmentDefinition":
        config = obj["spec"]["config"]
        yield from ((("spec", "config"), f) for f in json_faults(config, ["cniVersion", "name", "type", "ipam"]))
        if f'"name": "{obj["metadata"]["name"]}"' not in config:
            yield ("spec", "config"), "another name than the object's"
    if kind == "SriovNetwork":
        yield from ((("spec", "ipam"), f) for f in json_faults(obj["spec"]["ipam"], ["type"]))
    if kind == "ConfigMap":
        for name, text in (obj.get("data") or {}).items():
            if name.endswith(".json"):
                yield from ((("data", name), f) for f in json_faults(text, []))
    if kind == "MachineConfig":
        if "machineconfiguration.openshift.io/role" not in obj["metadata"].get("labels", {}):
            yield ("metadata", "labels"), "no role: no pool takes it"
        for file in ((obj["spec"].get("config") or {}).get("storage") or {}).get("files") or []:
            text = urllib.parse.unquote(file["contents"]["source"].partition(",")[2], errors="strict")
            if not text.endswith("\n"):
                yield ("spec", "config"), f"{file['path']} does not end with a line's end"
    if kind == "SecurityContextConstraints":
        if set(obj.get("allowedCapabilities") or []) != CAPABILITIES or obj.get("defaultAddCapabilities"):
            yield ("allowedCapabilities",), f"other than {', '.join(sorted(CAPABILITIES))}"
        if obj.get("requiredDropCapabilities") != ["ALL"]:
            yield ("requiredDropCapabilities",), "not ALL"
        if obj.get("users") or obj.get("groups"):
            yield ("users",), "granted here; RBAC says who may use it"


# ---- rules about the objects of one file ------------------------------------------------------------


def templates(obj):
    """(path, pod template or spec) of an object."""
    for path, part in walk(obj):
        if isinstance(part.get("containers"), list):
            yield path, part


def together(objects):
    named = {(o["kind"], o["metadata"]["name"]): o for o in objects}

    def names(kind):
        return {name for k, name in named if k == kind}

    for obj in objects:
        kind, spec = obj["kind"], obj.get("spec") or {}
        if kind == "StatefulSet":
            labels = spec["template"]["metadata"]["labels"]
            if not set(spec["selector"]["matchLabels"].items()) <= set(labels.items()):
                yield obj, "selects other labels than its pods have"
            service = named.get(("Service", spec.get("serviceName")))
            if not service:
                yield obj, f"its Service {spec.get('serviceName')} is not there"
            elif not set(service["spec"]["selector"].items()) <= set(labels.items()):
                yield obj, "its Service selects other labels"
            env = {e["name"]: e.get("value") for e in spec["template"]["spec"]["containers"][0]["env"]}
            if env.get("NNODES") != str(spec["replicas"]):
                yield obj, f"{spec['replicas']} replicas, but NNODES is {env.get('NNODES')}"
        if kind == "Job":
            env = {e["name"]: e.get("value") for e in spec["template"]["spec"]["containers"][0].get("env") or []}
            if env.get("NCCLINIT_RANKS", str(spec.get("completions"))) != str(spec.get("completions")):
                yield obj, f"{spec['completions']} completions, but NCCLINIT_RANKS is {env['NCCLINIT_RANKS']}"
            if "NCCLINIT_PEERS" in env:
                subdomain = spec["template"]["spec"].get("subdomain")
                if env["NCCLINIT_PEERS"] != f"{obj['metadata']['name']}-0.{subdomain}":
                    yield obj, f"its pod 0 is not {env['NCCLINIT_PEERS']}"
                if ("Service", subdomain) not in named:
                    yield obj, f"its Service {subdomain} is not there"
        if kind == "NetworkPolicy":
            labels = set(spec["podSelector"]["matchLabels"].items())
            for other in objects:
                template = ((other.get("spec") or {}).get("template") or {}).get("metadata") or {}
                if template and not labels <= set((template.get("labels") or {}).items()):
                    yield obj, f"selects other pods than those of {other['kind']} {other['metadata']['name']}"
        if kind == "RoleBinding":
            if (obj["roleRef"]["kind"], obj["roleRef"]["name"]) not in named:
                yield obj, f"binds {obj['roleRef']['name']}, which is not there"
        if kind == "ClusterRole":
            for rule in obj["rules"]:
                if rule["resources"] == ["securitycontextconstraints"]:
                    for name in set(rule["resourceNames"]) - names("SecurityContextConstraints"):
                        yield obj, f"allows the SCC {name}, which is not there"
        for path, pod in templates(obj):
            template = obj
            for step in path[:-1]:
                template = template[step]
            notes = (template.get("metadata") or {}).get("annotations") or {}
            limits = {}
            for container in pod["containers"]:
                limits.update((container.get("resources") or {}).get("limits") or {})
            wanted = [n.strip() for n in notes.get("k8s.v1.cni.cncf.io/networks", "").split(",") if n.strip()]
            for network in wanted:
                nad = named.get(("NetworkAttachmentDefinition", network))
                if not nad:
                    if names("NetworkAttachmentDefinition"):
                        yield obj, f"attaches {network}, which is not there"
                    continue
                resource = (nad["metadata"].get("annotations") or {}).get("k8s.v1.cni.cncf.io/resourceName")
                if resource and limits.get(resource) != "1":
                    yield obj, f"attaches {network}, but does not ask for one {resource}"
            for network in names("NetworkAttachmentDefinition") - set(wanted) - claimed(named):
                yield obj, f"leaves {network} out"
            for claim in pod.get("resourceClaims") or []:
                if ("ResourceClaimTemplate", claim.get("resourceClaimTemplateName")) not in named:
                    yield obj, f"claims {claim.get('resourceClaimTemplateName')}, which is not there"
            account = pod.get("serviceAccountName")
            accounts = names("ServiceAccount")
            if not accounts and not names("StatefulSet") and not names("Job"):
                accounts = {ACCOUNT}  # an example, applied beside k8s/account
            if account and account not in accounts:
                yield obj, f"runs as {account}, which is not there"
            # what restricted-v2 refuses: these capabilities, and a uid that is not of the namespace's range
            asked = {c for _, part in containers_of(pod) for c in capabilities_of(part)} & CAPABILITIES
            asked |= {f"uid {uid}" for uid in uids_of(pod)}
            if asked and account != ACCOUNT:
                yield obj, f"asks for {', '.join(sorted(asked))}, but does not run as {ACCOUNT}"
            if asked and notes.get("openshift.io/required-scc") != SCC:
                yield obj, f"asks for {', '.join(sorted(asked))}, but not for the SCC {SCC}"
            for volume in pod.get("volumes") or []:
                config = (volume.get("configMap") or {}).get("name")
                if config and config not in names("ConfigMap"):
                    yield obj, f"mounts the ConfigMap {config}, which is not there"
    # Who demands RDMA demands all rails: with three of four the job runs, and is slow.
    networks = [part.get("k8s.v1.cni.cncf.io/networks") for obj in objects for _, part in walk(obj)]
    rails = max([len(n.split(",")) for n in networks if n] + [len(claimed(named))])
    for obj in objects:
        for _, part in walk(obj):
            words = [w for key in ("command", "args") if isinstance(part.get(key), list) for w in part[key]]
            env = part.get("env") if isinstance(part.get("env"), list) else []
            words += [f"{e['name']}={e.get('value')}" for e in env]
            if {"--mode=rdma", "NCCLINIT_MODE=rdma"} & set(words):
                if not {f"--require=rails={rails}", f"NCCLINIT_REQUIRE=rails={rails}"} & set(words):
                    yield obj, f"demands RDMA, but not its {rails} rails"


def claimed(named):
    """The networks that a DRA driver runs for a claim."""
    return {
        part["netAttachDefName"]
        for (kind, _), obj in named.items()
        if kind == "ResourceClaimTemplate"
        for _, part in walk(obj)
        if "netAttachDefName" in part
    }


# ----------------------------------------------------------------------------------------------------


def check(path, schemas):
    with open(path, encoding="utf-8") as file:
        objects = [o for o in yaml.load_all(file, Loader) if o is not None]
    if not objects:
        yield "no object"
        return
    seen, sound = set(), []
    for obj in objects:
        kind = f"{obj.get('apiVersion')} {obj.get('kind')}"
        name = f"{obj.get('kind')}/{(obj.get('metadata') or {}).get('name')}"
        if kind not in schemas.roots:
            yield f"{name}: {kind} is no kind that tests/k8s/kinds.yaml knows"
            continue
        faults = [f"{at}: {what}" for at, what in schemas.faults(kind, obj, schemas.roots)]
        if not (obj.get("metadata") or {}).get("name"):
            faults.append("metadata: no name")
        for at, part in walk(obj):
            inner = f"{part.get('apiVersion')} {part.get('kind')}"
            if at and at[-1] == "parameters" and "apiVersion" in part:
                if inner not in schemas.parameters:
                    faults.append(f"{where(at)}: {inner} is not known")
                else:
                    faults += [f"{where(at)}.{p}: {w}" for p, w in schemas.faults(inner, part, schemas.parameters)]
        if not faults:
            partial = obj["kind"] == "LLMInferenceServiceConfig"
            faults += [f"{where(at)}: {w}" for at, w in special_faults(obj["kind"], obj)]
            for at, pod in templates(obj):
                faults += [f"{where(at + key)}: {w}" for key, w in pod_faults(pod, partial)]
        place = (kind, (obj.get("metadata") or {}).get("namespace"), name)
        if place in seen:
            faults.append("stands twice")
        seen.add(place)
        yield from (f"{name}: {fault}" for fault in faults)
        if not faults:
            sound.append(obj)
    if len(sound) == len(objects):
        yield from (f"{o['kind']}/{o['metadata']['name']}: {what}" for o, what in together(sound))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--types", required=True)
    parser.add_argument("--kinds", required=True)
    parser.add_argument("files", nargs="+")
    args = parser.parse_args()
    schemas = Schemas(args.types, args.kinds)
    bad = count = 0
    for path in args.files:
        try:
            faults = list(check(path, schemas))
        except (yaml.YAMLError, OSError) as error:
            faults = [str(error).replace("\n", " ")]
        for fault in faults:
            print(f"{path}: {fault}")
        bad += bool(faults)
        count += 1
    print(f"k8s: {count - bad} of {count} files are as they should be ({schemas.version}, {len(schemas.used)} kinds)")
    return bad > 0


sys.exit(main())
