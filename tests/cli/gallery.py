#!/usr/bin/python3
"""Makes the pictures of docs/start/gallery.md anew, and compares them with docs/pictures.

usage: gallery.py [--bless]     --bless writes them

For each node that the page has a heading for: doctor, plan and topo, with the environment of the golden case of that name.
Beside them a preflight, a log, and a fault before and after it is mended.
"""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path.cwd() / os.environ.get("NCCL_INIT", ROOT / "build/static/nccl-init")
sys.path.insert(0, str(ROOT / "tests/tools"))
import moving  # noqa: E402 (its folder is known only now)
import terminal  # noqa: E402

TOOLS = pathlib.Path.cwd() / os.environ.get("NCCL_INIT_TOOLS", PROGRAM.parent / "tests")
PAGE = ROOT / "docs/start/gallery.md"
PICTURES = ROOT / "docs/pictures"


def environment(node):
    case = ROOT / "tests/golden" / node / "env"
    lines = case.read_text().splitlines() if case.exists() else []
    return dict(line.split("=", 1) for line in lines if "=" in line) | {"COLUMNS": "100"}


def screen(words, env, before=""):
    """What the terminal shows of a command. before: what the reader types before nccl-init."""
    done = subprocess.run([PROGRAM, *words, "--color=always"], cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    return terminal.picture(f"$ {before}nccl-init {' '.join(words)}", done.stdout + done.stderr)


def preflight(case, form):
    """The report of pods that a case plays (tests/preflight/run)."""
    return subprocess.run([TOOLS / "job", f"tests/preflight/{case}/case", form], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def others():
    """(name, content) of each picture that is of no one node."""
    yield "preflight.svg", moving.picture(json.loads(preflight("picture", "json")))
    yield "preflight-report.svg", preflight("slow-many", "svg")
    words = [TOOLS / "trial", "tests/nodes/hgx-ib.tree", "tests/try/recorded/hgx-ib", "svg"]
    yield "gpu-memory.svg", subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    yield "log.svg", screen(["log", "tests/log/ib-memlock/0.log", "tests/log/ib-memlock/1.log"], {"COLUMNS": "100"})
    words = ["doctor", "--root", "tests/nodes/gid-sparse-4.tree"]
    env = environment("user-gid-wrong")
    index = {"NCCL_IB_GID_INDEX": env.pop("NCCL_IB_GID_INDEX")}
    yield "fault-before.svg", screen(words, env | index, "NCCL_IB_GID_INDEX=3 ")
    yield "fault-after.svg", screen(words, env)


def pictures(node):
    """(name, content) of each picture of the node."""
    for verb in ("doctor", "plan"):
        yield f"{node}-{verb}.svg", screen([verb, "--root", f"tests/nodes/{node}.tree"], environment(node))
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "topo.svg")
        subprocess.run([PROGRAM, "topo", "--root", f"tests/nodes/{node}.tree", f"--svg={path}"], cwd=ROOT,
                       env=environment(node), stdout=subprocess.DEVNULL, check=True)
        yield f"{node}-topo.svg", path.read_text()


def main():
    page = PAGE.read_text()
    nodes = re.findall(r"^## .*\(`([a-z0-9-]+)`\)$", page, re.MULTILINE)
    failures = 0
    made = {"architecture.svg"}  # by hand
    for made_of in [others(), *map(pictures, nodes)]:
        for name, content in made_of:
            made.add(name)
            path = PICTURES / name
            if f"(../pictures/{name})" not in page:
                print(f"FAILED: {PAGE.name} does not show {name}")
                failures += 1
            if "--bless" in sys.argv[1:]:
                path.write_text(content)
            elif not path.exists() or path.read_text() != content:
                print(f"FAILED: {name} is not what the program shows now: `./dev bless`, and look at it")
                failures += 1
            else:
                print(f"ok: {name}")
    for path in PICTURES.iterdir():
        if path.name not in made:
            print(f"FAILED: no page has {path.name}")
            failures += 1
    if len(nodes) < 5:
        print(f"FAILED: {PAGE.name} has {len(nodes)} nodes")
        failures += 1
    return failures > 0


sys.exit(main())
