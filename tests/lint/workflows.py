#!/usr/bin/python3
"""Check GitHub workflows: their form by GitHub's own schema, and rules that keep a stranger's code out of a release.

usage: workflows.py [--schema TARBALL] FILE...     what is wrong, a line each; exit status 1

TARBALL is npm's @actions/workflow-parser, in which the schema is one JSON file; without it the form is not checked.
"""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import re
import subprocess
import sys
import tarfile

import yaml

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}", re.S)


class Loader(yaml.BaseLoader):
    """All scalars are text, so that `on` stays a word; no key twice."""


def mapping(loader, node):
    keys = [key.value for key, _ in node.value]
    for key in keys:
        if keys.count(key) > 1:
            raise yaml.YAMLError(f"line {node.start_mark.line + 1}: {key} twice")
    return loader.construct_mapping(node, deep=True)


Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, mapping)


# ---- the schema ------------------------------------------------------------------------------

class Schema:
    """Types by name. Each is one of: mapping, sequence, string, number, boolean, null, a choice; `context` has what its
    expressions may name."""

    def __init__(self, tarball):
        with tarfile.open(tarball) as tar:
            self.types = json.load(tar.extractfile("package/dist/workflow-v1.0.min.json"))["definitions"]

    def wrong(self, value, name, where, context=()):
        """What is wrong with a value of the type of this name, as a list."""
        kind = self.types.get(name, {})
        context = context or tuple(re.sub(r"\(.*", "", one) for one in kind.get("context", ()))
        if "one-of" in kind:
            # What was meant is where least is wrong, and that deep inside.
            found = [self.wrong(value, one, where, context) for one in kind["one-of"]]
            return min(found, key=lambda lines: (len(lines), -max((line.count(".") for line in lines), default=0)))
        if name == "any":
            return []
        if isinstance(value, str):
            return self.wrong_text(value, name, kind, where, context)
        if isinstance(value, list):
            if name != "sequence" and "sequence" not in kind:
                return [f"{where}: a list where {name} belongs"]
            item = kind.get("sequence", {}).get("item-type", "any")
            return [line for n, one in enumerate(value) for line in self.wrong(one, item, f"{where}.{n}", context)]
        if name != "mapping" and "mapping" not in kind:
            return [f"{where}: a mapping where {name} belongs"]
        return self.wrong_mapping(value, kind.get("mapping", {}), where, context)

    def wrong_mapping(self, value, kind, where, context):
        lines = []
        properties = kind.get("properties", {})
        for key, one in value.items():
            if key in properties:
                inner = properties[key]
                inner = inner if isinstance(inner, str) else inner["type"]
            elif "loose-value-type" in kind:
                inner = kind["loose-value-type"]
            elif not properties:
                inner = "any"
            else:
                lines.append(f"{where}.{key}: no such key")
                continue
            lines += self.wrong(one, inner, f"{where}.{key}", context)
        return lines + [f"{where}: {key} is missing" for key, inner in properties.items()
                        if isinstance(inner, dict) and inner.get("required") and key not in value]

    def wrong_text(self, value, name, kind, where, context):
        for expression in EXPRESSION.findall(value):
            bare = re.sub(r"'[^']*'", "", expression)
            for root in re.findall(r"(?<![\w.-])([A-Za-z_][\w-]*)(?=\.|\[)", bare):
                if root not in context:
                    return [f"{where}: an expression here may not name {root}"]
        if EXPRESSION.search(value) and context:
            return []
        if "allowed-values" in kind and value not in kind["allowed-values"]:
            return [f"{where}: {value} is none of {' '.join(kind['allowed-values'])}"]
        if "mapping" in kind or "sequence" in kind or name in ("mapping", "sequence"):
            return [f"{where}: a text where {name} belongs"] if value else []
        if ("null" in kind or name == "null") and value:
            return [f"{where}: {value} where nothing belongs"]
        if ("boolean" in kind or name == "boolean") and value not in ("true", "false"):
            return [f"{where}: {value} is not true or false"]
        if ("number" in kind or name == "number") and not re.fullmatch(r"-?[0-9.]+", value):
            return [f"{where}: {value} is no number"]
        rules = kind.get("string", {})
        if "constant" in rules and value != rules["constant"]:
            return [f"{where}: {value}, not {rules['constant']}"]
        return [f"{where}: empty"] if rules.get("require-non-empty") and not value else []


# ---- our rules -------------------------------------------------------------------------------

def wrong_action(uses, step, text):
    if uses.startswith("./"):
        return []
    lines = []
    if not re.fullmatch(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}", uses):
        lines.append(f"{uses}: not pinned by a commit")
    elif not re.search(re.escape(uses) + r" # v[0-9][0-9.]*$", text, re.M):
        lines.append(f"{uses}: no comment says which version that is")
    if uses.startswith("actions/checkout@") and step.get("with", {}).get("persist-credentials") != "false":
        lines.append(f"{uses}: keeps its credentials where later steps find them")
    return lines


def wrong_script(script, where):
    if EXPRESSION.search(script):
        return [f"{where}: an expression in a script becomes part of it: pass it by env"]
    done = subprocess.run(["shellcheck", "--shell=bash", "--format=gcc", "-"], input=script, text=True,
                          capture_output=True, check=False)
    return [f"{where}: {line}" for line in done.stdout.splitlines()]


def wrong_references(job, jobs, where):
    """Names of other jobs and steps in expressions, which GitHub takes for empty where there is none."""
    needs = job.get("needs", [])
    needs = [needs] if isinstance(needs, str) else needs
    lines = [f"{where}: needs {one}, which is no job" for one in needs if one not in jobs]
    ids = {step["id"] for step in job.get("steps", []) if "id" in step}
    text = " ".join(EXPRESSION.findall(json.dumps(job)))
    for one, output in re.findall(r"\bneeds\.([\w-]+)\.outputs\.([\w-]+)", text):
        if one not in needs or output not in jobs.get(one, {}).get("outputs", {}):
            lines.append(f"{where}: there is no needs.{one}.outputs.{output}")
    for one in re.findall(r"\bsteps\.([\w-]+)\.", text):
        if one not in ids:
            lines.append(f"{where}: no step has the id {one}")
    return lines


def wrong_permissions(workflow, job, where):
    permissions = job.get("permissions")
    if not isinstance(permissions, dict):
        return [f"{where}: its permissions are not listed"]
    # Who opens a pull request decides what runs.
    strangers = {"pull_request", "pull_request_target", "issue_comment", "workflow_run"} & set(workflow["on"])
    return [f"{where}: {name}: {level}, in what {' '.join(sorted(strangers))} starts"
            for name, level in permissions.items() if strangers and level == "write"]


def wrong_workflow(workflow, text):
    lines = []
    if workflow.get("permissions") != {}:
        lines.append("permissions: jobs that list none get more than none")
    for trigger in ("pull_request_target", "workflow_run"):
        if trigger in workflow["on"]:
            lines.append(f"on.{trigger}: strangers' code with the rights of the repository")
    for name, job in workflow["jobs"].items():
        where = f"jobs.{name}"
        lines += wrong_permissions(workflow, job, where)
        lines += wrong_references(job, workflow["jobs"], where)
        if "uses" in job:
            lines += [f"{where}: {line}" for line in wrong_action(job["uses"], {}, text)]
            continue
        if "timeout-minutes" not in job:
            lines.append(f"{where}: no timeout-minutes")
        container = job.get("container", "")
        container = container if isinstance(container, str) else container.get("image", "")
        if container and not re.search(r"@sha256:[0-9a-f]{64}$", container):
            lines.append(f"{where}: {container}: not pinned by a digest")
        for n, step in enumerate(job["steps"]):
            if "uses" in step:
                lines += [f"{where}.steps.{n}: {line}" for line in wrong_action(step["uses"], step, text)]
            lines += wrong_script(step.get("run", ""), f"{where}.steps.{n}")
    return lines


def main(files):
    schema = None
    if files and files[0] == "--schema":
        schema = Schema(files[1])
        files = files[2:]
    bad = False
    for path in files:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        try:
            workflow = yaml.load(text, Loader)  # Loader is a BaseLoader: it makes texts, lists and mappings only
            lines = schema.wrong(workflow, "workflow-root-strict", "") if schema else []
            lines = lines or wrong_workflow(workflow, text)
        except yaml.YAMLError as error:
            lines = [str(error)]
        for line in lines:
            print(f"{path}: {line}")
            bad = True
    return bad


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
