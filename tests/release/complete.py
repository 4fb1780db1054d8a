#!/usr/bin/python3
"""What a shell completes: reads command lines, and writes for each the candidates at its end, sorted, on a line.

usage: complete.py bash|bash-completion|zsh|fish [enter] < LINES

With `enter` each line is then carried out, as by somebody who presses Return after Tab; fish is interactive only then.
The folder is src/completions. bash and zsh run interactively on a terminal and get the line and a tab, so that their
own reading of the line is what is tested; bash-completion is bash with that package's functions loaded.
"""
# SPDX-License-Identifier: Apache-2.0
import os
import pty
import select
import subprocess
import sys
import tempfile
import time

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../src/completions")

BASH = """
PS1= PS2=
PROMPT_COMMAND="touch {out}.prompt"
{package}
source {folder}/nccl-init.bash
__record() {{
    if [[ -n $__inner ]]; then _nccl_init; return; fi # nccl-init as nccl-init's command
    local __inner=1
    _nccl_init
    printf '%s\\n' "${{COMPREPLY[@]}}" >{out}.new
    mv {out}.new {out}
}}
complete -F __record nccl-init
bind 'set completion-query-items 0' 'set page-completions off' 'set bell-style none'
touch {out}.ready
"""

# compadd -A stores what matches instead of offering it; calls that do so themselves are the helpers' own.
ZSH = """
PROMPT= RPROMPT=
precmd() {{ touch {out}.prompt; }}
unsetopt zle_bracketed_paste prompt_cr prompt_sp beep
fpath=({folder} $fpath)
autoload -U compinit
compinit -u -d {out}.dump
zstyle ':completion:*' menu no
LISTMAX=100000
compadd() {{
    local -a hits
    if [[ ${{@[1,(i)(-|--)]}} == *-(O|A|D)\\ * ]]; then builtin compadd "$@"; return; fi
    builtin compadd -A hits "$@"
    (( $#hits )) && print -rl -- $hits >>{out}.new
    builtin compadd "$@"
}}
__record() {{ touch {out}.new; mv {out}.new {out}; }}
__complete() {{ comppostfuncs=(__record); zle complete-word; }}
zle -N __complete
bindkey '^I' __complete
touch {out}.ready
"""


def fail(why):
    sys.exit(f"complete: {why}")


def wait_for(path, terminal):
    until = time.monotonic() + 60
    said = b""
    while not os.path.exists(path):
        if time.monotonic() > until:
            fail(f"the shell did not answer; it said {said!r}")
        if select.select([terminal], [], [], 0.02)[0]:
            said += os.read(terminal, 65536)


FISH = """
function fish_prompt; touch {out}.prompt; end
source {folder}/nccl-init.fish
function __record; commandline -f complete; commandline -f repaint; touch {out}; end
bind \\t __record
touch {out}.ready
"""


def carry_out(terminal, prompt):
    """Presses Return, and if no prompt follows, because a quote is still open, gives the line up."""
    if os.path.exists(prompt):
        os.unlink(prompt)
    os.write(terminal, b" \r")
    until = time.monotonic() + 0.5
    while not os.path.exists(prompt) and time.monotonic() < until:
        time.sleep(0.01)
    if not os.path.exists(prompt):
        os.write(terminal, b"\x03")
        wait_for(prompt, terminal)
        time.sleep(0.1)  # the terminal forgets what is typed until the shell reads again


def interactive(command, setup, lines, enter=False):
    with tempfile.TemporaryDirectory() as work:
        out = f"{work}/out"
        package = ". /usr/share/bash-completion/bash_completion" if command[-1] == "package" else ""
        with open(f"{work}/setup", "w", encoding="utf-8") as file:
            file.write(setup.format(folder=FOLDER, out=out, package=package))
        pid, terminal = pty.fork()
        if pid == 0:
            os.execvpe(command[0], command[:-1], {**os.environ, "TERM": "dumb", "HOME": work, "ZDOTDIR": work})
        os.write(terminal, f". {work}/setup\n".encode())
        wait_for(f"{out}.ready", terminal)
        time.sleep(0.2)
        for line in lines:
            # end of line, kill it, and type the next
            os.write(terminal, b"\x05\x15" + line.encode() + b"\t")
            wait_for(out, terminal)
            with open(out, encoding="utf-8") as file:
                yield file.read().splitlines()
            os.unlink(out)
            if enter:
                carry_out(terminal, f"{out}.prompt")
        os.kill(pid, 9)
        os.waitpid(pid, 0)


def fish(lines):
    with tempfile.TemporaryDirectory() as work:
        environ = {**os.environ, "HOME": work, "XDG_CONFIG_HOME": work, "XDG_DATA_HOME": work}
        for line in lines:
            said = subprocess.run(["fish", "--no-config", "-c", f"source {FOLDER}/nccl-init.fish; complete -C $argv",
                                   "--", line], env=environ, capture_output=True, text=True, check=False)
            if said.stderr:
                fail(f"fish: {line!r}: {said.stderr}")
            yield [one.split("\t")[0] for one in said.stdout.splitlines()]


def main(shell, enter=""):
    lines = [line.rstrip("\n") for line in sys.stdin]
    if shell == "fish" and enter:
        answers = interactive(["fish", "--no-config", "-i", ""], FISH, lines, True)
    elif shell == "fish":
        answers = fish(lines)
    elif shell == "zsh":
        answers = interactive(["zsh", "-f", "-i", ""], ZSH, lines, enter == "enter")
    else:
        package = "package" if shell == "bash-completion" else ""
        answers = interactive(["bash", "--norc", "--noprofile", "-i", package], BASH, lines, enter == "enter")
    for answer in answers:
        print(" ".join(sorted(set(one for one in answer if one))), flush=True)


main(*sys.argv[1:])
