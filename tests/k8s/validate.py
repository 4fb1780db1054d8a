#!/usr/bin/python3
# Checks rendered manifests by the rules that no server tells (rules/); what a server tells, tests/cluster asks it.
# usage: validate.py [OPTION...] FILE...
# Prints "FILE: KIND/NAME: PATH: what is wrong [RULE]" for each fault; exit status 1 when there is one.
# SPDX-License-Identifier: Apache-2.0
import argparse
import copy
import glob
import os
import sys

import yaml

sys.dont_write_bytecode = True
from rules import JOBS, File, At, make, walk
from rules import fabric, forms, launchers, pods, queues, security, workloads

RULES = [
    rule
    for part in (forms, workloads, launchers, queues, pods, security, fabric)
    for rule in part.RULES
]


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


def judge(objects, beside):
    """Every fault of the objects of one file."""
    if not objects:
        yield "no object"
    for obj in objects:
        if not (obj.get("metadata") or {}).get("name"):
            yield f"{label(obj)}: metadata: no name"
            return
    file = File(objects, beside)
    for rule in RULES:
        try:
            for obj, path, part, at in subjects(rule.on, file):
                for more, what in rule.check(part, at):
                    yield f"{label(obj) if obj else 'all'}: {where(path + tuple(more))}: {what} [{rule.id}]"
        except (LookupError, TypeError, AttributeError, ValueError) as error:
            # what no server takes: tests/cluster says so
            yield f"all: (top): is not of a form that can be read: {error!r} [{rule.id}]"


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


def refuse(files):
    """Breaks each rule once; says what was not refused."""
    bad = 0
    for rule in RULES:
        said = []
        for objects, beside in broken(rule.change, files):
            said = list(judge(objects, beside))
            if any(f"[{rule.id}]" in fault for fault in said):
                print(f"ok: refused: {rule.id}")
                break
        else:
            bad += 1
            print(f"FAILED: refused: {rule.id}: {'; '.join(said) or 'no manifest in which the change is a fault'}")
    names = [rule.id for rule in RULES]
    twice = {name for name in names if names.count(name) > 1}
    print("ok: a rule has a name of its own" if not twice else f"FAILED: two rules are called {', '.join(twice)}")
    return bad + len(twice) > 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--beside", help="a folder: its objects are on the cluster already")
    parser.add_argument("--refuse", action="store_true", help="break each rule in one of the files: is it seen?")
    parser.add_argument("files", nargs="+")
    args = parser.parse_args()
    beside = load_all(args.beside)
    for obj in beside:  # who applies them puts in the namespace
        for part in [obj["metadata"], *obj.get("subjects", [])]:
            part.pop("namespace", None)
    if args.refuse:
        return refuse({path: (load(path), beside + parts_of(path)) for path in args.files})
    bad = count = 0
    for path in args.files:
        try:
            faults = list(judge(load(path), beside + parts_of(path)))
        except (yaml.YAMLError, OSError) as error:
            faults = [str(error).replace("\n", " ")]
        for fault in faults:
            print(f"{path}: {fault}")
        bad += bool(faults)
        count += 1
    print(f"k8s: {count - bad} of {count} files are as they should be ({len(RULES)} rules)")
    return bad > 0


sys.exit(main())
