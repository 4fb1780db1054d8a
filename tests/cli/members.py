#!/usr/bin/python3
"""Compares the members that the program's JSON has with those of docs/reference/json.md: names, types, null, absence.

It reads what plan, doctor and env write for the golden cases, log for the logs of tests/log, and the expected reports of
tests/preflight. Of the trials of selftest and the rails of watch, which only a device shows, it reads the names in the sources.
NCCL_INIT_QUICK=1: fewer golden cases and logs, which need not show each member that the page has.
"""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import pathlib
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
import quick_cases  # noqa: E402 (its folder is known only now)

QUICK = bool(os.environ.get("NCCL_INIT_QUICK"))
START = pathlib.Path.cwd()
ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = START / os.environ.get("NCCL_INIT", ROOT / "build/static/nccl-init")
PAGE = ROOT / "docs/reference/json.md"
TYPES = {bool: "boolean", int: "integer", str: "string", dict: "object", list: "array"}
# Their members are names of variables and ids.
OPEN = {"ranks[].variables", "ignored"}
ROW = re.compile(r"^\| `([^`]+)` \| ([a-z]+)( or null)? \|( .*)? \|$")


def documented():
    """{heading: {path: (type, may be null, may be absent)}}"""
    tables, heading = {}, ""
    for line in PAGE.read_text().splitlines():
        if line.startswith("## "):
            heading = line[3:]
        match = ROW.match(line)
        if match:
            tables.setdefault(heading, {})[match[1]] = (match[2], bool(match[3]), "absent" in (match[4] or ""))
        elif line.startswith("| `"):
            sys.exit(f"FAILED: a row that this test cannot read: {line}")
    return tables


class Seen:
    """The members of reports of one verb: their types, whether one was null, and whether one was missing."""

    def __init__(self):
        self.types, self.null, self.missing, self.reports = {}, set(), set(), 0
        self.known = {}  # by the path of the object

    def add(self, report):
        self.reports += 1
        self.walk(report, "")

    def walk(self, value, path):
        if isinstance(value, list):
            for item in value:
                self.walk(item, path + "[]")
        elif isinstance(value, dict) and path not in OPEN:
            inside = path + "." if path else ""
            names = self.known.setdefault(path, set())
            if names and names != value.keys():
                self.missing |= {inside + name for name in names ^ value.keys()}
            names |= value.keys()
            for name, member in value.items():
                if member is None:
                    self.null.add(inside + name)
                else:
                    self.types.setdefault(inside + name, set()).add(TYPES[type(member)])
                self.walk(member, inside + name)


def run(*words, env=None):
    done = subprocess.run([PROGRAM, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, env=env or {},
                          cwd=ROOT, check=False)
    return json.loads(done.stdout) if done.stdout.startswith("{") else None


def golden_cases():
    names = quick_cases.chosen() if QUICK else sorted(path.parent.name for path in (ROOT / "tests/golden").glob("*/case"))
    for case in (ROOT / "tests/golden" / name / "case" for name in names):
        lines = case.read_text().splitlines()
        node = next(line[5:] for line in lines if line.startswith("node "))
        words = [word for line in lines if line.startswith("args ") for word in line[5:].split()]
        env = case.with_name("env")
        settings = env.read_text(errors="surrogateescape").splitlines() if env.exists() else []
        yield (["--root", f"tests/nodes/{node}.tree", *words], "doctor" in lines,
               dict(line.split("=", 1) for line in settings if "=" in line))


def main():
    tables = documented()
    shared, devices = tables.pop("Members of every verb but env"), tables.pop("HCAs and GPUs")
    seen = {verb: Seen() for verb in ("plan", "doctor", "env", "log", "preflight")}
    for words, doctor, env in golden_cases():
        report = run("plan", "--json", *words, env=env)
        if report:
            seen["plan"].add(report)
        if doctor:
            report = run("doctor", "--json", *words, env=env)
            if report:
                seen["doctor"].add(report)
        report = run("env", "--format=json", *words, env=env)
        if report and report.get("gpus"):
            seen["env"].add({"gpus": report["gpus"]})
    for folder in sorted((ROOT / "tests/log").iterdir())[::4 if QUICK else 1]:
        logs = sorted(str(path.relative_to(ROOT)) for path in folder.glob("*.log")) if folder.is_dir() else []
        report = run("log", "--json", "--", *logs) if logs else None
        if report:
            seen["log"].add(report)
    for path in (ROOT / "tests/preflight").glob("*/expected.json"):
        seen["preflight"].add(json.loads(path.read_text()))

    only_doctor = {path for path in devices if devices[path][2]}
    told = {
        "plan": shared | {p: d for p, d in devices.items() if p not in only_doctor} | tables["plan and topo"],
        "doctor": shared | devices | tables["doctor"],
        "env": {p: d for p, d in devices.items() if re.match(r"gpus($|\[\]($|\.(gpu|pci|minor|vendor|numa|cpus|use)))", p)},
        "log": shared | tables["log"],
        "preflight": shared | tables["preflight"],
    }
    failures = 0

    def complain(text):
        nonlocal failures
        failures += 1
        print(f"FAILED: {text}")

    for verb, members in told.items():
        found = seen[verb]
        names = found.types.keys() | found.null
        if not found.reports:
            complain(f"{verb}: no report was read")
        for path in sorted(names - members.keys()):
            complain(f"{verb} writes {path}, which {PAGE.name} does not have")
        for path in sorted(members.keys() - names):
            if not QUICK and not (verb == "doctor" and path == "selftest"):  # only a live root is probed
                complain(f"{verb} does not write {path}, which {PAGE.name} has")
        for path in sorted(names & members.keys()):
            kind, null, absent = members[path]
            if found.types.get(path, {kind}) != {kind}:
                complain(f"{verb}: {path} is {', '.join(sorted(found.types[path]))}, and {PAGE.name} says {kind}")
            if path in found.null and not null:
                complain(f"{verb}: {path} can be null, and {PAGE.name} does not say so")
            if path in found.missing and not absent:
                complain(f"{verb}: {path} can be absent, and {PAGE.name} does not say so")
        print(f"ok: {verb}: {found.reports} reports, {len(names)} members")

    for verb, of_all in ("selftest", {"schema", "findings"}), ("watch", {"schema"}):
        files = [ROOT / f"src/{verb}/{name}.c" for name in ("report", "image", "gpu_report", "nccl")]
        source = "".join(path.read_text() for path in files if path.exists())
        written = set(re.findall(r'json_\w+\(j, "(\w+)"', source)) | of_all
        page = {path.rpartition(".")[2] for path in tables[verb]} | of_all
        if written != page:
            complain(f"{verb}: only in its source or only in {PAGE.name}: {', '.join(sorted(written ^ page))}")
        else:
            print(f"ok: {verb}: {len(page)} members")
    return failures > 0


sys.exit(main())
