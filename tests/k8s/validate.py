#!/usr/bin/python3
# Checks rendered manifests: every object against the schema of its kind, and the rules that no schema tells (rules/).
# usage: validate.py [OPTION...] FILE...
# Prints "FILE: KIND/NAME: PATH: what is wrong [RULE]" for each fault; exit status 1 when there is one.
# SPDX-License-Identifier: Apache-2.0
import argparse
import copy
import functools
import glob
import json
import os
import sys

import jsonschema
import yaml

sys.dont_write_bytecode = True
from rules import JOBS, At, Change, File, make, walk
from rules import fabric, forms, launchers, pods, queues, schema, security, updates, workloads

KINDS = os.path.join(os.path.dirname(__file__), "kinds.yaml")
# Values that have their form come first: the others count with them.
RULES = (forms.RULES, [*workloads.RULES, *launchers.RULES, *queues.RULES, *pods.RULES, *security.RULES, *fabric.RULES])


class Loader(yaml.CSafeLoader):  # libyaml: a tenth of the time
    """YAML as the API server reads it: a key that stands twice is an error."""


def mapping(loader, node):
    pairs = loader.construct_pairs(node, deep=True)
    keys = [key for key, _ in pairs]
    for key in keys:
        if keys.count(key) > 1:
            raise yaml.constructor.ConstructorError(None, None, f"the key {key!r} stands twice", node.start_mark)
    return dict(pairs)


Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, mapping)


def load(path):
    with open(path, encoding="utf-8") as file:
        return [o for o in yaml.load_all(file, Loader) if o is not None]


def load_all(folder):
    paths = sorted(glob.glob(os.path.join(folder, "**", "*.yaml"), recursive=True)) if folder else []
    return [obj for path in paths for obj in load(path)]


def parts_of(path):
    """The objects of what k8s/new writes beside a job: DIR/admin and DIR/queue, rendered as NAME-admin, NAME-queue."""
    parts = [f"{path.removesuffix('.yaml')}-{part}.yaml" for part in ("admin", "queue")]
    return [obj for part in parts if os.path.exists(part) for obj in load(part)]


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


def structural(part):
    """The schema of a CustomResourceDefinition: closed, where it does not say that it is open."""
    if not isinstance(part, dict):
        return part
    out = {k: structural(v) for k, v in part.items() if k not in ("default", "description", "properties", "nullable")}
    if part.get("x-kubernetes-int-or-string"):
        out.pop("anyOf", None)
        out["type"] = ["integer", "string"]
    if "properties" in part:
        out["properties"] = {name: structural(sub) for name, sub in part["properties"].items()}
        if not part.get("x-kubernetes-preserve-unknown-fields"):
            out["additionalProperties"] = False
    if part.get("nullable") and isinstance(out.get("type"), str):
        out["type"] = [out["type"], "null"]
    return out


def merge(into, extra):
    for key, value in extra.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            merge(into[key], value)
        else:
            into[key] = value


class Schemas:
    def __init__(self, types_file, kinds_file, crds):
        with open(types_file, encoding="utf-8") as file:
            types = json.load(file)
        kinds = load(kinds_file)[0]
        self.version = types["version"]
        self.definitions = types["definitions"]
        self.used = set()
        for field, extra in kinds["narrowed"].items():
            model, name = field.split(".")
            # what other models refer to must not change with this field, so the property itself is narrowed
            merge(self.definitions[model]["properties"][name], extra)
        for model, names in kinds["demanded"].items():
            self.definitions[model]["required"] += names
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
        self.crds = {}
        for crd in crds:
            for version in crd["spec"]["versions"]:
                kind = f"{crd['spec']['group']}/{version['name']} {crd['spec']['names']['kind']}"
                top = structural(version["schema"]["openAPIV3Schema"])
                # the server has these of every kind, whether the definition names them or not
                top["properties"]["apiVersion"] = top["properties"]["kind"] = {"type": "string"}
                top["properties"]["metadata"] = {"$ref": "#/definitions/V1ObjectMeta"}
                self.crds[kind] = top

    @functools.cache
    def checker(self, of, kind):
        schema = dict(getattr(self, of)[kind], definitions=self.definitions)
        return jsonschema.Draft7Validator(schema, format_checker=jsonschema.FormatChecker())

    def faults(self, kind, obj, of="roots"):
        self.used.add(kind)
        for error in self.checker(of, kind).iter_errors(obj):
            yield error.absolute_path, error.message


def where(path):
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}"
    return text.lstrip(".") or "(top)"


# ---- the rules ----------------------------------------------------------------------------------------


def subjects(on, file):
    """(object, path, part, At) of all that rules of this subject look at."""
    if on == "file":
        yield {}, (), None, At(file, {})
    elif on in ("pod", "container"):
        for pod in file.pods:
            if on == "pod":
                yield pod.owner, pod.path, pod.spec, At(file, pod.owner, pod)
                continue
            for key, container in pod.containers():
                yield pod.owner, pod.path + key, container, At(file, pod.owner, pod, key)
    elif on == "job":
        for pod in file.pods:
            if pod.owner["kind"] in JOBS:
                yield pod.owner, pod.path[:-2], pod.job, At(file, pod.owner, pod)
    else:
        for obj in file.objects:
            if on in ("object", obj["kind"]):
                yield obj, (), obj, At(file, obj)
            for path, part in walk(obj) if on in ("meta", "selector") else ():
                if path and on == ("meta" if path[-1] == "metadata" else "selector"):
                    if on == "meta" or {"matchLabels", "matchExpressions"} & set(part):
                        yield obj, path, part, At(file, obj)


def label(obj):
    return f"{obj.get('kind')}/{(obj.get('metadata') or {}).get('name')}"


def judge(objects, schemas, beside):
    """Every fault of the objects of one file: the schemas', and if there is none, those of the rules."""
    if not objects:
        yield "no object"
    faults = []
    for obj in objects:
        kind = f"{obj.get('apiVersion')} {obj.get('kind')}"
        if kind not in schemas.roots:
            faults.append(f"{label(obj)}: {kind} is no kind that tests/k8s/kinds.yaml knows")
            continue
        faults += [f"{label(obj)}: {where(at)}: {what}" for at, what in schemas.faults(kind, obj)]
        if not (obj.get("metadata") or {}).get("name"):
            faults.append(f"{label(obj)}: metadata: no name")
        if kind in schemas.crds:
            faults += [f"{label(obj)}: {where(at)}: {what} [CRD]" for at, what in schemas.faults(kind, obj, "crds")]
        for at, part in walk(obj):
            inner = f"{part.get('apiVersion')} {part.get('kind')}"
            if at and at[-1] == "parameters" and "apiVersion" in part:
                if inner not in schemas.parameters:
                    faults.append(f"{label(obj)}: {where(at)}: {inner} is not known")
                else:
                    more = schemas.faults(inner, part, "parameters")
                    faults += [f"{label(obj)}: {where(at)}.{where(p)}: {w}" for p, w in more]
    yield from faults
    if faults:
        return
    file = File(objects, beside)
    for rules in RULES:
        for rule in rules:
            for obj, path, part, at in subjects(rule.on, file):
                for more, what in rule.check(part, at):
                    faults.append(f"{label(obj) if obj else 'all'}: {where(path + tuple(more))}: {what} [{rule.id}]")
        if faults:
            break
    yield from faults


# ---- what must be refused --------------------------------------------------------------------------------


def apply(objects, change):
    """Whether the change could be made to the objects; a function says it itself."""
    if callable(change):
        return change(objects)
    for one in change if isinstance(change, list) else [change]:
        if one.kind == "Pod":
            targets = [pod.template for pod in File(objects).pods if not pod.partial]
        else:
            targets = [obj for obj in objects if obj["kind"] == one.kind]
        if not any(make(target, one) for target in targets):
            return False
    return True


def broken(change, files):
    """The objects of each file to which the change can be made, with the change; and what is beside them."""
    for objects, beside in files.values():
        copied = copy.deepcopy(objects)
        if apply(copied, change) and copied != objects:
            yield copied, beside


def shapes(files):
    """An object of each form: (object, path, part) of every mapping, once for each place that its kind has."""
    seen = set()
    for objects, _ in files.values():
        for obj in objects:
            for path, part in walk(obj):
                shape = (obj["kind"], *(step for step in path if not isinstance(step, int)))
                if (shape, tuple(part)) not in seen:
                    seen.add((shape, tuple(part)))
                    yield obj, path, part


def unbound(files, schemas):
    """Places that take a field of another name, or a value of another type."""
    for obj, path, part in shapes(files):
        for key in ["anotherField", *(k for k, v in part.items() if not isinstance(v, (dict, list)))]:
            kept = part.get(key)
            if path == () and key in ("apiVersion", "kind") or path and path[-1] == "parameters":
                continue  # no kind, no schema
            part[key] = {}
            if not list(schemas.faults(f"{obj['apiVersion']} {obj['kind']}", obj)):
                yield f"{label(obj)}: {where(path + (key,))}"
            if kept is None:
                del part[key]
            else:
                part[key] = kept


# Values of any form: what runs, a path in a volume, a text for people, what only a driver or a scheduler reads.
FREE = {"args", "command", "data", "drivers", "expression", "kubernetes.io/description", "path", "value", "values"}
ODD = {str: "Not Valid!/", int: -7, list: ["Not Valid!/"]}


def unruled(files, schemas):
    """Places that take a text or a number that means nothing there; a new field needs a rule, or a word in FREE."""
    seen = set()
    for objects, beside in files.values():
        for obj in objects:
            for path, part in walk(obj):
                for key, value in part.items():
                    place = tuple(step for step in (*path, key) if not isinstance(step, int))
                    inner = [i for i, step in enumerate(place) if step in ("containers", "initContainers")]
                    place = place[inner[0] :] if inner else (obj["kind"], *place)  # containers are alike everywhere
                    of_text = not isinstance(value, list) or value and isinstance(value[0], str)
                    if place in seen or FREE & set(place[-2:]) or type(value) not in ODD or not of_text:
                        continue
                    seen.add(place)
                    part[key] = ODD[type(value)]
                    if not list(judge(objects, schemas, beside)):
                        yield ".".join(place)
                    part[key] = value


def refuse(files, schemas):
    """Breaks each rule once, and the schemas everywhere; says what was not refused."""
    bad = 0
    rows = [(rule.id, rule.change, f"[{rule.id}]") for rules in RULES for rule in rules]
    rows += [(f"schema: {text}", change, text) for change, text in schema.CHANGES]
    for name, change, wanted in rows:
        said = []
        for objects, beside in broken(change, files):
            said = list(judge(objects, schemas, beside))
            if any(wanted in fault for fault in said):
                print(f"ok: refused: {name}")
                break
        else:
            bad += 1
            print(f"FAILED: refused: {name}: {'; '.join(said) or 'no manifest in which the change is a fault'}")
    for kind, path in [(kind, path) for kind, paths in updates.FIXED.items() for path in paths]:
        news = broken(Change(kind, path, {"another": "value"}), files)
        seen = any(
            (path in [at for _, at in updates.changed(old, new)]) for new, _ in news for old, _ in files.values()
        )
        bad += not seen
        print(f"{'ok' if seen else 'FAILED'}: refused: an update of {kind} {path}")
    free = list(unbound(files, schemas))
    print("ok: no field of another name or type is taken" if not free else f"FAILED: taken: {'; '.join(free)}")
    loose = list(unruled(files, schemas))
    print("ok: each value has a form" if not loose else f"FAILED: any value is taken: {'; '.join(loose)}")
    twice = {name for name, _, _ in rows if [n for n, _, _ in rows].count(name) > 1}
    print("ok: a rule has a name of its own" if not twice else f"FAILED: two rules are called {', '.join(twice)}")
    return bad + len(free) + len(loose) + len(twice) > 0


def levels(files):
    """A table: the pod security level that admits each pod, and what keeps it from a higher one."""
    for path, (objects, _) in files.items():
        for pod in File(objects).pods:
            level, why = security.level_of(pod)
            name = os.path.basename(path).removesuffix(".yaml")
            print(f"{name:36} {pod.owner['kind']:18} {level:11} {'; '.join(why)}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--types", required=True, help="the models of Kubernetes, which models.py makes")
    parser.add_argument("--beside", help="a folder: its objects are on the cluster already")
    parser.add_argument("--crds", help="a folder: its CustomResourceDefinitions are to accept the objects too")
    parser.add_argument("--over", help="a file: its objects are there, and those of the one file are put over them")
    parser.add_argument("--refuse", action="store_true", help="break each rule in one of the files: is it seen?")
    parser.add_argument("--levels", action="store_true", help="list the pod security level of each pod")
    parser.add_argument("files", nargs="+")
    args = parser.parse_args()
    schemas = Schemas(args.types, KINDS, load_all(args.crds))
    beside = load_all(args.beside)
    for obj in beside:  # who applies them puts in the namespace
        for part in [obj["metadata"], *obj.get("subjects", [])]:
            part.pop("namespace", None)
    if args.refuse or args.levels:
        files = {path: (load(path), beside + parts_of(path)) for path in args.files}
        return refuse(files, schemas) if args.refuse else levels(files)
    bad = count = 0
    for path in args.files:
        try:
            faults = list(judge(load(path), schemas, beside + parts_of(path)))
            for obj, at in updates.changed(load(args.over), load(path)) if args.over else ():
                faults.append(f"{label(obj)}: {at}: cannot be changed in place")
        except (yaml.YAMLError, OSError) as error:
            faults = [str(error).replace("\n", " ")]
        for fault in faults:
            print(f"{path}: {fault}")
        bad += bool(faults)
        count += 1
    print(
        f"k8s: {count - bad} of {count} files are as they should be "
        f"({schemas.version}, {len(schemas.used)} kinds, {sum(map(len, RULES))} rules)"
    )
    return bad > 0


sys.exit(main())
