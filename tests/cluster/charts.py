#!/usr/bin/python3
"""Each key of a chart, with values that stand for all: every pair of them is rendered by helm and judged by the API server of
KUBECONFIG as a dry run. Wrong values are answered by a sentence that names the key.

usage: charts.py pairs CHART   CHART is a folder of k8s/charts; tests/cluster/charts/CHART.yaml has the values
       charts.py wrong CHART
tests/cluster/charts/CHART.yaml:
  keys:  {KEY: [VALUE, ...]}   KEY is a path with dots; absent stands beside them always. Each key of the schema is in it.
  never: [{KEY: VALUE, ...}]   what the chart refuses together; "*" is any value, "<absent>" none
  base:  {KEY: VALUE}          what is always given
  wrong: [[KEY, VALUE], ...]   the sentence names the last word of KEY; or [KEY, VALUE, WORD]
A line for each thing that is not as it should be, and at the end what was seen. Exit status 1: there was one.
"""

# SPDX-License-Identifier: Apache-2.0
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import yaml
from api import Server, as_pod, pods_of

ABSENT = "<absent>"


def leaves(schema, path=""):
    """The keys that have values of their own."""
    for key, part in schema.get("properties", {}).items():
        name = f"{path}.{key}" if path else key
        if part.get("properties") and name != "global":
            yield from leaves(part, name)
        elif name != "global":
            yield name


def as_values(row):
    values = {}
    for key, value in row.items():
        if value == ABSENT:
            continue
        place, *names = values, *key.split(".")
        for name in names[:-1]:
            place = place.setdefault(name, {})
        place[names[-1]] = value
    return values


def text(value):
    return json.dumps(value, sort_keys=True)


class Pairs:
    """Rows in which each value of each key meets each value of every other key."""

    def __init__(self, keys, never):
        self.keys = {key: [*values, ABSENT] for key, values in keys.items()}
        self.never = never
        self.random = random.Random(30)
        self.open = set()
        for (a, values), (b, others) in itertools.combinations(self.keys.items(), 2):
            for v, w in itertools.product(values, others):
                if self.allowed({a: v, b: w}):
                    self.open.add(self.pair(a, v, b, w))
        self.count = len(self.open)

    @staticmethod
    def pair(a, v, b, w):
        return frozenset(((a, text(v)), (b, text(w))))

    def allowed(self, row):
        def holds(key, value):
            return key in row and (row[key] == value or value == "*" and row[key] != ABSENT)

        return not any(all(holds(*one) for one in bad.items()) for bad in self.never)

    def gain(self, row, key, value):
        return sum(self.pair(key, value, other, row[other]) in self.open for other in row)

    def rows(self):
        while self.open:
            row = {key: json.loads(value) for key, value in min(self.open, key=sorted)}
            if not self.allowed(row):
                raise SystemExit(f"never met: {row}")
            rest = [key for key in self.keys if key not in row]
            self.random.shuffle(rest)
            for key in rest:
                possible = [v for v in self.keys[key] if self.allowed({**row, key: v})]
                self.random.shuffle(possible)
                row[key] = max(possible, key=lambda v: self.gain(row, key, v))  # noqa: B023
            covered = {self.pair(a, v, b, w) for (a, v), (b, w) in itertools.combinations(row.items(), 2)}
            if not covered & self.open:
                raise SystemExit(f"no progress: {row}")
            self.open -= covered
            yield row


def helm(chart, values, lint=False):
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        yaml.safe_dump(values, file)
        file.flush()
        command = ["lint", "--strict"] if lint else ["template", "some"]
        return subprocess.run(
            ["helm", *command, f"k8s/charts/{chart}", "--values", file.name], capture_output=True, text=True
        )


def judge(server, rendered):
    """Whatever the server does not accept."""
    for obj in yaml.safe_load_all(rendered):
        if not obj:
            continue
        label = f"{obj['kind']}/{obj['metadata']['name']}"
        judged = [(label, obj)]
        if not obj["kind"].endswith("Policy"):
            judged += [(f"{label} {where}", as_pod(metadata, spec)) for where, metadata, spec in pods_of(obj)]
        for name, one in judged:
            answer = server.put(one, "charts")
            if answer is None:
                yield f"{name}: no definition of this kind"
            elif not answer[0] or answer[2]:
                yield f"{name}: {' '.join([answer[1], *answer[2]]).strip()}"


def pairs(chart, table):
    bad = 0
    with open(f"k8s/charts/{chart}/values.schema.json", encoding="utf-8") as file:
        missing = set(leaves(json.load(file))) ^ set(table["keys"])
    for key in sorted(missing):
        bad += 1
        print(f"{key}: not both in the schema and in tests/cluster/charts/{chart}.yaml")
    every = Pairs(table["keys"], table.get("never", []))
    rows = list(every.rows())
    server = Server(os.environ["KUBECONFIG"])
    server.need_namespace("charts")
    objects = 0
    with ThreadPoolExecutor(2) as pool:
        said = pool.map(lambda row: helm(chart, as_values({**table.get("base", {}), **row})), rows)
        for row, one in zip(rows, said):
            if one.returncode:
                problems = [" ".join(one.stderr.split())]
            else:
                objects += one.stdout.count("\nkind: ")
                problems = list(judge(server, one.stdout))
            for problem in problems:
                bad += 1
                print(f"{problem[:600]}: {json.dumps(as_values(row))}")
    print(f"pairs: {every.count} of {len(table['keys'])} keys in {len(rows)} releases with {objects} objects")
    return bad


def wrong(chart, table):
    bad = 0
    for key, value, *word in table["wrong"]:
        word = word[0] if word else key.split(".")[-1]
        one = helm(chart, as_values({**table.get("base", {}), key: value}))
        sentence = " ".join(one.stderr.split())
        if one.returncode == 0 or word not in sentence.split("::")[-1]:
            bad += 1
            print(f"{key}: {json.dumps(value)} is not refused by name: {sentence}")
    print(f"wrong: {len(table['wrong'])} values are refused")
    return bad


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("pairs", "wrong"):
        sys.exit(__doc__)
    with open(f"tests/cluster/charts/{sys.argv[2]}.yaml", encoding="utf-8") as file:
        table = yaml.safe_load(file)
    sys.exit({"pairs": pairs, "wrong": wrong}[sys.argv[1]](sys.argv[2], table) > 0)


main()
