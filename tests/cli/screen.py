#!/usr/bin/python3
"""The first screens, of each golden case and each log of tests/log.

usage: screen.py      NCCL_INIT is the program (build/static/nccl-init), NCCL_INIT_TOOLS the folder of withenv

  - the answer stands first and last: the first line is the last one, and says what the
    verdict of the JSON says
  - each error of the JSON stands on the screen, with its id
  - the shell takes each command; the program takes those that are its own, others have a form that is listed here
  - the lines to export give the shell the values of `env --format=json`
"""
# SPDX-License-Identifier: Apache-2.0
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys

sys.dont_write_bytecode = True
START = pathlib.Path.cwd()
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/tools"))
import quick_cases  # noqa: E402 (its folder is known only now)

PROGRAM = START / os.environ.get("NCCL_INIT", ROOT / "build/static/nccl-init")
TOOLS = START / os.environ.get("NCCL_INIT_TOOLS", PROGRAM.parent / "tests")
WORDS = {"ready": r"READY( with (\d+) of \2 rails?)?: ", "fewer rails": r"READY with \d+ of \d+ rails: ",
         "tcp only": "READY for TCP only: ", "not ready": "NOT READY: "}
COMMAND = re.compile(r"^ *(?:Run|In the pod|On the node|More|Node|All): +(.*)$", re.MULTILINE)
# What programs other than ours and the shell take; WORD is a name of the pod.
WORD = r"[A-Za-z0-9_.:/@%+,-]+"
FORMS = [form.replace("WORD", WORD) for form in (
    r"cat (/etc/hosts|/proc/cmdline|/sys/WORD)", r"df -h /dev/shm", r"dmesg", r"grep -n WORD WORD",
    r"grep \. /sys/WORD\*",
    r"ip (addr|link) show dev WORD", r"ip addr", r"ip route show table all", r"kubectl (cordon WORD|get pods( --namespace=WORD)? -o wide)",
    r"ls /dev", r"ls -l /dev/infiniband", r"ls -ld /WORD", r"lspci -vv -s WORD", r"mod(info|probe) nvidia-peermem",
    r"nvidia-smi", r"rdma system set netns shared", r"sed -i 's/\\r\$//' /WORD")]
ROWS = 24
BUILTIN = re.compile(r"(unset( [A-Z_0-9]+)+|export( [A-Z_0-9]+=[A-Za-z0-9,]+)+|ulimit -[ln])")


class Checks:
    def __init__(self):
        self.wrong = []
        self.commands = {}  # and the case that shows it first
        self.tall = []  # screens of more rows than a terminal

    def screen(self, name, verb, text, report, words):
        """One screen and the JSON of the same. words: with which its first line begins."""
        def complain(why):
            self.wrong.append(f"{name}: {verb}: {why}")

        lines = text.splitlines()
        rows = next((n for n, line in enumerate(lines[1:], 1) if not line.startswith("      ")), 1)  # of the verdict
        if not lines or lines[:rows] != lines[-rows:]:
            complain(f"the last line is not the first: {lines[:rows]} {lines[-rows:]}")
            return
        if not re.match(words, lines[0]):
            complain(f"the screen begins with {lines[0]!r}")
        for finding in report["findings"]:
            line = rf"^error: {re.escape(finding['id'])}:?( |$)"
            if finding["severity"] == "error" and not re.search(line, text, re.MULTILINE):
                complain(f"the error {finding['id']} is left out")
        for command in COMMAND.findall(text):
            if command.startswith("kubectl get ") and verb == "log" and " --namespace=team-a " not in command:
                complain(f"the namespace is not in {command!r}")
            # of commands that differ in the recording alone, one
            self.commands.setdefault(re.sub(r"tests/nodes/\S+|log --all .*", "", command), (command, f"{name}: {verb}"))
        if len(lines) > ROWS:
            self.tall.append(f"{name}: {verb}: {len(lines)}")

    def command(self, command, where):
        """A command that people paste."""
        def complain(why):
            self.wrong.append(f"{where}: {command}: {why}")

        if subprocess.run(["sh", "-n", "-c", command], capture_output=True, check=False).returncode:
            complain("the shell does not take it")
        elif command.startswith("nccl-init "):
            words = subprocess.run(["sh", "-c", command.replace("nccl-init", "printf '%s\\0'", 1)], capture_output=True,
                                   text=True, check=False).stdout.split("\0")[:-1]
            if words[0] == "snapshot":
                words = [word for word in words if not word.startswith("--output")]
            # not here: these take no recording, and say so behind their options; and a log is elsewhere
            live = words[0] in ("selftest", "preflight")
            done = subprocess.run([PROGRAM, *words, *(["--root=/none"] if live else [])], stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, errors="replace", check=False)
            excused = "takes no --root" if live else "ENOENT" if words[0] == "log" else None
            if done.returncode not in (0, 1) and not (excused and excused in done.stderr):
                complain(f"the program does not take it: {done.stderr}")
        elif BUILTIN.fullmatch(command):
            done = subprocess.run(["sh", "-e", "-c", command], capture_output=True, text=True, check=False)
            if done.returncode and not command.startswith("ulimit"):  # dash has no -l
                complain(f"the shell does not do it: {done.stderr}")
        elif not any(re.fullmatch(form, command) for form in FORMS):
            complain("no form of screen.py has it")


class Case:
    def __init__(self, folder):
        lines = (folder / "case").read_text().splitlines()
        self.name = folder.name
        self.environment = folder / "env" if (folder / "env").exists() else os.devnull
        self.node = next(line[5:] for line in lines if line.startswith("node "))
        self.args = next((line[5:].split() for line in lines if line.startswith("args ")), [])

    def output(self, *words):
        return subprocess.run(
            [TOOLS / "withenv", self.environment, "/usr/bin/env", "COLUMNS=80", PROGRAM, *words, "--root",
             f"tests/nodes/{self.node}.tree", *self.args],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="backslashreplace", check=False).stdout

    def check(self, checks):
        if "--rules" in self.args:
            return
        for verb in ("plan", "doctor", "topo"):
            screen, report = self.output(verb), self.output(verb, "--json")
            if not report and not screen:  # an option of the case is wrong usage
                continue
            report = json.loads(report)
            words = r"\d+ GPUs?, " if verb == "topo" else WORDS[report["verdict"]]
            checks.screen(self.name, verb, screen, report, words)
            if verb == "plan":
                self.check_exports(screen, report, checks)

    def check_exports(self, screen, report, checks):
        """The lines to export, read by a shell."""
        lines = [line for line in screen.splitlines() if line.startswith("export ")]
        done = subprocess.run(["/usr/bin/env", "-i", "sh", "-c", "\n".join([*lines, "/usr/bin/env"])], capture_output=True,
                              text=True, check=False)
        found = dict(line.split("=", 1) for line in done.stdout.splitlines())
        found = {name: value for name, value in found.items() if name not in ("PWD", "_", "SHLVL")}
        wanted = {setting["name"]: setting["value"] for setting in report["settings"] if setting["origin"] == "rule"}
        if found != wanted:
            checks.wrong.append(f"{self.name}: the lines to export give {found}, not {wanted}")


def check_log(folder, checks):
    lines = (folder / "case").read_text().splitlines()
    args = next((line[5:].split() for line in lines if line.startswith("args ")), [])
    files = sorted(path.name for path in folder.glob("*.log"))

    def output(*words):
        return subprocess.run([PROGRAM, "log", *args, *words, "--", *files], cwd=folder, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, errors="backslashreplace", check=False,
                              env={**os.environ, "COLUMNS": "80", "POD_NAMESPACE": "team-a"}).stdout

    report = output("--json")
    if report.startswith("{"):
        report = json.loads(report)
        checks.screen(folder.name, "log", output(), report, "(FAILED|NOT KNOWN): " if report["failed"] else "(?!FAILED|NOT KNOWN)")


def main():
    os.chdir(ROOT)
    names = quick_cases.chosen() if os.environ.get("NCCL_INIT_QUICK") else []
    cases = [Case(path.parent) for path in sorted(pathlib.Path("tests/golden").glob("*/case"))
             if not names or path.parent.name in names]
    checks = Checks()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda case: case.check(checks), cases))
        logs = [path.parent for path in sorted(pathlib.Path("tests/log").glob("*/case"))]
        list(pool.map(lambda folder: check_log(folder, checks), logs))
        list(pool.map(lambda item: checks.command(*item), sorted(checks.commands.values())))
    for wrong in checks.wrong:
        print(f"FAILED: {wrong}")
    print(f"screens of {len(cases)} cases and {len(logs)} logs, {len(checks.commands)} commands;",
          f"{len(checks.tall)} screens have more than {ROWS} rows")
    return bool(checks.wrong) or len(checks.commands) < 20


if __name__ == "__main__":
    sys.exit(main())
