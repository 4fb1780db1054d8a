#!/usr/bin/python3
"""Each command that a page shows is run here, or stands in commands.list with the reason why it is not.

usage: commands.py                  runs and judges all
       commands.py --list           prints each command with its page and line
       commands.py --of PAGE        prints the commands of that page, each with a NUL behind it

Commands are the lines of blocks of sh, and of console after "$ ". A block of bash is a script. All are checked for syntax,
blocks of yaml too.
Samples of console with a recorded node or log are run by tests/cli/guides.sh, which compares what they print. For the
others commands.list has sections:

  [run STATUS...]       run in a folder with what the pages take for granted (see prepare); STATUS are the good ones
  [cluster STATUS...]   the same, without a cluster: kubectl takes the words and finds no server, `patch` changes a file, and
                        of `exec` the words after `--` are run here
                        (tests/cluster/scenarios/pages runs those of four pages on a real API server, nodes-pages `logs` and
                        `exec` of six pages on nodes)
  [test NAME...]        these tests run it
  [REASON]              not run, for this reason

A command that is in no section is an error, and so is a line of the list that no page shows.
"""
# SPDX-License-Identifier: Apache-2.0
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

try:
    import yaml
except ImportError:
    yaml = None

ROOT = pathlib.Path(__file__).resolve().parents[2]
START = pathlib.Path.cwd()
PROGRAM = START / os.environ.get("NCCL_INIT", ROOT / "build/static/nccl-init")
LIST = ROOT / "tests/cli/commands.list"
PAGES = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "k8s/README.md",
         *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^( *)```(\w*)$")
SAMPLE = re.compile(r"nccl-init .*(--root tests/nodes/|log (--all )?tests/log/)")
# Outside of blocks that name their kind, a command must not hide.
HIDDEN = re.compile(r"^    (\$ )?(\./dev|nccl-init|nccl-init-hook|ctest|journalctl|crun|kubectl|oc|helm|build/static/\S+) ")


def syntax_error(text, shell):
    done = subprocess.run([shell, "-n"], input=text + "\n", capture_output=True, text=True, check=False)
    return done.stderr.strip() if done.returncode else ""


def check_yaml(where, text, complain):
    if yaml:
        try:
            list(yaml.safe_load_all(text))
        except yaml.YAMLError as error:
            complain(f"{where}: {error}")


def whole(text):
    """True if no here-document, continuation or compound command is open at the end of the text."""
    if text.endswith("\\"):
        return False
    for mark in re.findall(r"<<-?\s*'?(\w+)'?", text):
        if not re.search(rf"^{mark}$", text, re.MULTILINE):
            return False
    return not re.search(r"(\||&&)\s*$", bare(text)) and not syntax_error(text, "bash")


def bare(text):
    """The command without its comment."""
    return re.sub(r"\s+#\s.*$", "", text)


class Command:
    def __init__(self, page, line, text, kind):
        self.page, self.line, self.text, self.kind = page, line, text, kind
        joined = re.sub(r"\s*\\\n\s*", " ", text)
        joined = re.sub(r"\|\s*\n\s*", "| ", joined)
        lines = joined.split("\n")
        self.key = bare(lines[0]).strip() + (" ..." if len(lines) > 1 else "")

    def __str__(self):
        return f"{self.page}:{self.line}: {self.key}"


def commands_of(page, complain):
    found, kind, indent, pending, start = [], None, 0, "", 0
    for number, line in enumerate((ROOT / page).read_text().splitlines(), 1):
        fence = FENCE.match(line)
        if fence:
            if kind is not None:
                if kind == "yaml":
                    check_yaml(f"{page}:{start}", pending, complain)
                elif pending and (kind == "sh" or syntax_error(pending, "bash")):
                    complain(f"{page}:{start}: a command without an end: {syntax_error(pending, 'bash')}")
                kind, pending = None, ""
            else:
                kind, indent = fence[2], len(fence[1])
            continue
        if kind is None:
            if HIDDEN.match(line):
                complain(f"{page}:{number}: a command outside of a block of sh: {line.strip()}")
        elif kind == "console":
            if line[indent:].startswith("$ "):
                found.append(Command(page, number, line[indent + 2:], kind))
        elif kind in ("bash", "yaml"):
            pending, start = f"{pending}\n{line[indent:]}", start if pending else number
        elif kind == "sh":
            line = line[indent:]
            if not pending:
                if not line.strip() or line.lstrip().startswith("#"):
                    continue
                start = number
            pending = pending + "\n" + line if pending else line
            if whole(pending):
                found.append(Command(page, start, pending, kind))
                pending = ""
    return found


def read_list(complain):
    """{key: section}"""
    sections, section = {}, None
    for line in LIST.read_text().splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            if line in sections:
                complain(f"{LIST.name}: twice: {line}")
            sections[line] = section
    return sections


def test_exists(name):
    kind, _, rest = name.partition(".")
    return any((ROOT / "tests" / path).exists() for path in
               (f"{kind}/{rest}.sh", f"{kind}/scenarios/{rest}.sh", f"{kind}/{rest}"))


def run_all(found, sections, complain):
    """Runs the commands of [run ...] and [cluster ...] in the order of each page, in a folder for each page."""
    done = 0
    for page in PAGES:
        mine = [c for c in found if c.page == page and re.match(r"(run|cluster) ", sections.get(c.key) or "")]
        if not mine:
            continue
        with tempfile.TemporaryDirectory() as folder:
            prepare(pathlib.Path(folder))
            environment = {"PATH": f"{folder}/.bin:/usr/local/bin:/usr/bin:/bin", "HOME": folder, "LC_ALL": "C.UTF-8",
                           "KUBECONFIG": f"{folder}/.kubeconfig"}
            for command in mine:
                good = sections[command.key].split()[1:]
                text = command.text if "\n" in command.text else bare(command.text)
                if "| jq" in text and not shutil.which("jq"):
                    continue
                got = subprocess.run(["bash", "-c", text], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                     capture_output=True, text=True, timeout=60, check=False)
                done += 1
                if str(got.returncode) not in good:
                    complain(f"{command}: status {got.returncode}, not {' or '.join(good)}: {got.stderr[-300:]}")
                written = re.match(r"cat > ?(\S+\.yaml) <<", text)
                if written:
                    check_yaml(command, (pathlib.Path(folder) / written[1]).read_text(), complain)
                if " patch " in text and shutil.which("kubectl"):
                    check_patch(command, pathlib.Path(folder), complain)
    return done


def check_patch(command, folder, complain):
    """The patch of a page has an effect on a StatefulSet: a label, or an init container and what it needs."""
    patched = (folder / "patched.yaml").read_text()
    wanted = ["nccl-init.io/inject: env"]
    if "null" in command.text:
        wanted = []
    elif "--patch-file" in command.text:
        wanted = ["initContainers:", "- mountPath: /etc/nccl.conf", "emptyDir: {}", "name: plain"]
    for words in wanted:
        if words not in patched:
            complain(f"{command}: the patched StatefulSet has no '{words}'")
    if not wanted and "nccl-init.io/inject" in patched:
        complain(f"{command}: the label is still there")


def prepare(folder):
    """What the pages take for granted: the program, a clone, a job, launchers, a log, a workload."""
    tools = folder / ".bin"
    tools.mkdir()
    shutil.copy2(PROGRAM, tools / "nccl-init")
    shutil.copy2(ROOT / "tests/log/roce-8/0.log", folder / "job.log")
    shutil.copy2(ROOT / "tests/nodes/h100-pod.tree", folder / "node.tree")
    (folder / "k8s").symlink_to(ROOT / "k8s")
    (folder / "snapshots").mkdir()
    shutil.copy2(ROOT / "tests/nodes/h100-pod.tree", folder / "snapshots/gpu-1.tree")
    # A launcher runs what follows its options, as one process; a job ends well.
    for name in ("mpirun", "srun", "torchrun"):
        write(tools / name, """#!/bin/sh
            while [ $# -gt 0 ] && [ "$1" != nccl-init ]; do shift; done
            [ $# = 0 ] || exec "$@"
            """)
    for name in (tools / "python", folder / "solver"):
        write(name, "#!/bin/sh\n")
    write(folder / ".kubeconfig", """
apiVersion: v1
kind: Config
clusters: [{name: none, cluster: {server: "https://127.0.0.1:1"}}]
contexts: [{name: none, context: {cluster: none, user: none}}]
users: [{name: none, user: {token: none}}]
current-context: none
""")
    write(folder / ".workload.yaml", """
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: trainer}
spec:
  selector: {matchLabels: {app: trainer}}
  serviceName: trainer
  template:
    metadata: {labels: {app: trainer, nccl-init.io/inject: none}}
    spec:
      containers: [{name: trainer, image: none, volumeMounts: [{name: plain, mountPath: /data}]}]
      volumes: [{name: plain, emptyDir: {}}]
""")
    write(tools / "kubectl", f"""#!/bin/bash
        real={shutil.which("kubectl") or ""}
        for word; do
            case $word in
            exec)
                while [ "$1" != -- ]; do shift; done
                shift
                exec "${{@//\\/nccl-init\\/nccl-init/nccl-init}}"
                ;;
            patch)
                words=(--local -o yaml -f ~/.workload.yaml)
                while [ $# -gt 0 ]; do
                    case $1 in
                    --type=* | --patch-file=*) words+=("$1") ;;
                    --patch | --patch-file) words+=("$1" "$2") ;;
                    esac
                    shift
                done
                [ -z "$real" ] || exec "$real" patch "${{words[@]}}" >~/patched.yaml
                exit
                ;;
            esac
        done
        [ -n "$real" ] || exit 0
        "$real" "$@" 2>~/.said && exit
        grep -qi 'refused' ~/.said && exit
        cat ~/.said >&2
        exit 64
        """)


def write(path, text):
    path.write_text(text)
    path.chmod(0o755)


def main():
    failures = 0

    def complain(text):
        nonlocal failures
        failures += 1
        print(f"FAILED: {text}")

    if "--of" in sys.argv[1:]:
        for command in commands_of(sys.argv[-1], complain):
            sys.stdout.write(f"{command.text}\0")
        return failures > 0
    found = [command for page in PAGES for command in commands_of(page, complain)]
    if "--list" in sys.argv[1:]:
        for command in found:
            print(command)
        return failures > 0
    sections = read_list(complain)
    for section in sorted(set(sections.values())):
        if section.startswith("test "):
            for name in section.split()[1:]:
                if not test_exists(name):
                    complain(f"{LIST.name}: there is no test {name}")
    shown = {command.key for command in found}
    for key in sections:
        if key not in shown:
            complain(f"{LIST.name}: no page shows: {key}")
    samples = 0
    for command in found:
        error = syntax_error(command.text, "bash" if command.kind == "bash" else "sh")
        if error:
            complain(f"{command}: {error}")
        if command.kind == "console" and SAMPLE.search(command.text):
            samples += 1
        elif command.key not in sections:
            complain(f"{command}: neither run nor in {LIST.name}")
    ran = run_all(found, sections, complain)
    print(f"ok: {len(found)} commands: {samples} samples, {ran} run here, the others listed with a reason")
    return failures > 0


sys.exit(main())
