# What a server, an operator or a node refuses and no schema tells.
# SPDX-License-Identifier: Apache-2.0
"""A rule is a function and a row of its file's table. The row names the rule, says what the function looks at, where
the rule comes from, and a change that breaks it: validate.py --refuse makes that change to the first manifest of k8s/
that it can be made to, and wants the rule to be named."""
import re
from typing import Any, Callable, NamedTuple


class Rule(NamedTuple):
    id: str
    on: str  # a subject of validate.py: meta, selector, job, pod, container, file, or a kind
    check: Callable  # (part, at) -> (path, what is wrong)...; AT is an At
    source: str
    change: Any  # a Change, several of them, or a function that changes the list of objects


class Change(NamedTuple):
    """KIND: the first object of it; Pod: the first pod template. A VALUE of None takes the key away."""

    kind: str
    path: str
    value: Any


def in_pod(path, value):
    return Change("Pod", f"spec.{path}", value)


def in_container(path, value):
    return Change("Pod", f"spec.containers[0].{path}", value)


class Pod(NamedTuple):
    owner: dict
    path: tuple  # to the spec, from the owner
    template: dict
    spec: dict
    partial: bool  # it is merged into another, which has the rest

    @property
    def job(self):
        """What its template is a part of: the spec of a Job, in whatever makes that."""
        part = self.owner
        for step in self.path[:-2]:
            part = part[step]
        return part

    @property
    def labels(self):
        return (self.template.get("metadata") or {}).get("labels") or {}

    @property
    def notes(self):
        return (self.template.get("metadata") or {}).get("annotations") or {}

    def containers(self):
        for key in ("initContainers", "containers"):
            for i, container in enumerate(self.spec.get(key) or []):
                yield (key, i), container

    def has_limit(self, resource):
        limits = [(c.get("resources") or {}).get("limits") or {} for _, c in self.containers()]
        return any(resource in part for part in limits)


class At(NamedTuple):
    file: "File"
    obj: dict
    pod: Pod = None
    key: tuple = ()  # of a container, in its pod


class File:
    """The objects of one file; and those beside it, which are there when it is applied."""

    def __init__(self, objects, beside=()):
        self.objects = objects
        self.known = {(o["kind"], o["metadata"]["name"]): o for o in [*beside, *objects]}
        self.own = {(o["kind"], o["metadata"]["name"]) for o in objects}
        self.pods = [pod for o in objects for pod in pods_of(o)]

    def get(self, kind, name):
        return self.known.get((kind, name))

    def of(self, kind):
        return [o for o in self.objects if o["kind"] == kind]

    def all(self, kind):
        return [o for (k, _), o in self.known.items() if k == kind]

    def names(self, kind):
        return {name for k, name in self.own if k == kind}


# Kinds that make Jobs, and a Job.
JOBS = {"CronJob", "Job", "JobSet", "TrainingRuntime"}
# Its pods' specs are patches of the server's own.
PARTIAL = {"LLMInferenceServiceConfig"}


def pods_of(obj):
    for path, part in walk(obj):
        if path and isinstance(part.get("containers"), list):
            template = obj
            for step in path[:-1]:
                template = template[step]
            yield Pod(obj, path, template, part, obj["kind"] in PARTIAL)


def walk(part, path=()):
    """Each mapping below PART, itself among them."""
    if isinstance(part, dict):
        yield path, part
        for key, value in part.items():
            yield from walk(value, path + (key,))
    elif isinstance(part, list):
        for i, value in enumerate(part):
            yield from walk(value, path + (i,))


# ---- paths: a.b[0]['c.d'], [*] for each, [a.b] for the first that has a.b, [+] for a new one at the end ---------

STEP = re.compile(r"\['([^']+)'\]|\[([^\]]+)\]|([^.\[\]]+)")


def steps(path):
    for quoted, index, name in STEP.findall(path):
        yield int(index) if index.isdigit() else f"[{index}]" if index else quoted or name


def keys_at(part, step):
    """The keys of PART that STEP stands for."""
    if step == "[*]":
        return list(part) if isinstance(part, dict) else list(range(len(part))) if isinstance(part, list) else []
    if isinstance(part, dict):
        return [step] if part.get(step) is not None else []
    if isinstance(part, list) and isinstance(step, int):
        return [step] if step < len(part) else []
    if isinstance(part, list):
        return [i for i, item in enumerate(part) if find(item, step[1:-1])][:1]
    return []


def find(part, path):
    """(path, value) of all that PATH names below PART."""
    found = [((), part)]
    for step in steps(path):
        found = [(at + (key,), value[key]) for at, value in found for key in keys_at(value, step)]
    return found


def make(part, change):
    """Whether the change could be made to PART."""
    *way, last = steps(change.path)
    for step in way:
        keys = keys_at(part, step)
        if not keys and last == "[+]" and step == way[-1] and isinstance(part, dict):
            part[step] = []
            keys = [step]
        if not keys:
            return False
        part = part[keys[0]]
    if last == "[+]":
        part.append(change.value)
        return True
    if isinstance(part, list):
        keys = keys_at(part, last)
        if not keys:
            return False
        last = keys[0]
    elif not isinstance(part, dict) or (last not in part and (change.value is None or callable(change.value))):
        return False
    if change.value is None:
        del part[last]
    else:
        part[last] = change.value(part[last]) if callable(change.value) else change.value
    return True


# ---- the kinds of rule that are tables only ----------------------------------------------------------------------


def form_rule(name, on, path, form, change, source):
    """Each value at PATH has a form; FORM returns what is wrong, or nothing."""

    def check(part, _):
        for at, value in find(part, path):
            fault = form(value)
            if fault:
                yield at, fault

    return Rule(name, on, check, source, change)
