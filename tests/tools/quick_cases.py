"""Which golden cases are enough to see each rule and each finding once: for the minute between two changes.

usage: quick_cases.py    prints their names, a line each

The next one is always that which shows most of what no other has shown, until nothing is left to show.
"""
# SPDX-License-Identifier: Apache-2.0
import pathlib
import re

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden"


def shows(folder):
    """The ids of the findings and rules of a case."""
    seen = set()
    for line in (folder / "expected.values").read_text().splitlines():
        if line.startswith("findings "):
            seen |= set(re.findall(r" id=(\S+)", line))
        elif line.startswith("settings unset: "):
            seen |= {word.partition("=")[2] for word in line.split()[2:]}
        seen |= set(re.findall(r" rule=(\S+)", line))
    return seen


def chosen():
    """The names, sorted."""
    cases = {folder.name: shows(folder) for folder in sorted(GOLDEN.iterdir()) if folder.is_dir()}
    left = set().union(*cases.values())
    # a dozen cases hold sentences, each other ones
    names = {name for name in cases if "\nsentences\n" in (GOLDEN / name / "case").read_text() + "\n"}
    left -= set().union(*(cases[name] for name in names))
    while left:
        best = max(cases, key=lambda name: len(cases[name] & left))
        names.add(best)
        left -= cases[best]
    return sorted(names)


if __name__ == "__main__":
    print(*chosen(), sep="\n")
