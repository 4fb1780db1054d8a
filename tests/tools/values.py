#!/usr/bin/python3
"""The values of a report as JSON, a line each, without its sentences: what the golden cases compare.

usage: values.py [--prose FILE] <REPORT           --prose appends the sentences to FILE, a line each
       values.py --types REPORT...                each member has one type in all of these reports, apart from null
       values.py --findings CASE [--prose FILE]   of findings, a line each: "severity: id: subject: sentence"; what
                                                  counts of the sentence are names of the case, and what has a digit

An object is a line: where it stands, and its members as NAME=VALUE. Objects in it have lines of their own, below the
first member of the outer one. Settings that the rules leave unset share a line, NAME=RULE. So a sentence may be reworded, and a value may not change, without changing these lines.
Status 1 if a sentence has what a fault leaves in it, or if a value looks like a sentence.
"""
# SPDX-License-Identifier: Apache-2.0
import json
import re
import sys

# The members that are sentences for people. All others are values.
PROSE = {"message", "hint", "why", "reason", "refuse", "sentence", "by_itself"}
# Values with blanks, as other programs write them.
QUOTED = {"subject", "claimed_by", "from", "value", "iommu_options", "type", "state", "quote", "verdict"}

# A line of a log, in a sentence.
QUOTE = re.compile(r'(\S+:\d+): "(.*)"')

# A conversion of printf that nothing was put in for.
CONVERSION = re.compile(r"%[-#0+]?(\d+|\*)?(\.(\d+|\*))?(hh|h|ll|l|z|j|t)?[diouxXscp](?![A-Za-z0-9])")
FAULTS = (
    ("a conversion", CONVERSION),
    ("a null pointer", re.compile(r"\((null|nil)\)")),
    ("an empty name", re.compile(r"``|(?<![=\w])''(?!\w)|(?<!=)\"\"|\(\)|\(,|, ,|,,|\( | \)|: [,;:]|= ?,")),
    ("a blank too many", re.compile(r"^ | $|  | [,;](?! )| \.( |$)")),
    ("no end", re.compile(r"[,:;(]$")),
    ("nothing", re.compile(r"^$")),
)


def faults(text, known=""):
    """What is wrong with a sentence that the program wrote; not what it quotes of `known`, its input."""
    found = []
    text = QUOTE.sub(r"\1", text)
    for name, pattern in FAULTS:
        match = pattern.search(text)
        if match and not (name == "a conversion" and match[0] in known):
            found.append(name)
    return found


def scalar(value):
    if isinstance(value, str) and (value == "" or re.search(r"[\s\"=]", value) or value in ("null", "true", "false")):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, str):
        return value
    return json.dumps(value)


def is_pair(value):
    return (isinstance(value, dict) and len(value) == 2 and not PROSE & value.keys() and
            not any(isinstance(member, (dict, list)) for member in value.values()))


def is_left_unset(value):
    return isinstance(value, dict) and value.get("origin") == "unset"


class Types:
    """The type of each member of reports of one kind, by where it stands; null is of any type."""

    def __init__(self):
        self.known = {}  # place: (type, where it was seen first)
        self.wrong = []

    def add(self, document, seen_in, place=""):
        kind = "number" if type(document) in (int, float) else type(document).__name__
        first = self.known.setdefault(place, (kind, seen_in)) if document is not None else (kind, seen_in)
        if first[0] != kind:
            self.wrong.append(f"{place} is of type {kind} in {seen_in}, and {first[0]} in {first[1]}")
        for name, value in document.items() if isinstance(document, dict) else []:
            self.add(value, seen_in, f"{place}.{name}")
        for value in document if isinstance(document, list) else []:
            self.add(value, seen_in, f"{place}[]")


class Report:
    def __init__(self, document, known=""):
        self.known = known
        self.lines = []
        self.prose = []  # (member, sentence)
        self.wrong = []
        self.put("", document)

    def members(self, document, prefix=""):
        """NAME=VALUE of what is no list, objects within as NAME.MEMBER; and the lists."""
        words, lists = [], []
        for name, value in document.items():
            if name in PROSE:
                # Whether there is a refusal is a value; the others are nearly always there.
                if value is None:
                    words += [f"{prefix}{name}=null"] if name != "by_itself" else []  # of what is set
                else:
                    words += [f"{prefix}{name}=..."] if name == "refuse" else []
                    words += [f"at={at} quoted={scalar(line)}" for at, line in QUOTE.findall(value)]
                    self.take_prose(name, value)
            elif isinstance(value, dict):
                more, inner = self.members(value, f"{prefix}{name}.")
                words += more or [f"{prefix}{name}={{}}"]
                lists += inner
            elif isinstance(value, list):
                lists.append((prefix + name, value))
            else:
                if isinstance(value, str) and len(value.split()) > 3 and name not in QUOTED:
                    self.wrong.append(f"{prefix}{name} is a sentence, and PROSE does not name it: {value}")
                words.append(f"{prefix}{name}={scalar(value)}")
        return words, lists

    def take_prose(self, name, value):
        for sentence in value if isinstance(value, list) else [value]:
            self.prose.append((name, sentence))
            for fault in faults(sentence, self.known):
                self.wrong.append(f"{name} has {fault}: {sentence!r}")

    def put(self, place, document):
        words, lists = self.members(document)
        if words:
            self.lines.append(" ".join(filter(None, [place, *words])))
        if lists and place and words:
            place = f"{place} {words[0].partition('=')[2]}"
        for name, values in lists:
            at = f"{place} {name}".strip()
            unset = [value for value in values if is_left_unset(value)]
            values = [value for value in values if not is_left_unset(value)]
            if values and all(is_pair(value) for value in values):
                self.lines.append(f"{at}: {' '.join('='.join(map(scalar, value.values())) for value in values)}")
                continue
            plain = [scalar(value) for value in values if not isinstance(value, (dict, list))]
            if plain or not (values or unset):
                self.lines.append(f"{at}: {' '.join(plain) or '-'}")
            for value in values:
                if isinstance(value, dict):
                    self.put(at, value)
                elif isinstance(value, list):
                    self.put(at, dict(enumerate(value)))
            if unset:
                self.lines.append(f"{at} unset: {' '.join(value['name'] + '=' + value['rule'] for value in unset)}")
            for value in unset:
                self.members(value)  # its sentences
                if value["name"].startswith("NCCL_") and not value["by_itself"]:
                    self.wrong.append(f"{value['name']} stays unset, and what NCCL does by itself is not said")


def findings(case, prose):
    """The lines of standard input without our own words."""
    with open(case, encoding="utf-8") as file:
        names = {word for line in file if not line.startswith("#") for word in re.findall(r"[\w./-]+", line)}
    wrong = []
    for line in sys.stdin:
        severity, kind, sentence = line.rstrip("\n").split(": ", 2)
        prose.append(sentence)
        wrong += [f"a sentence has {fault}: {sentence!r}" for fault in faults(sentence)]
        words = re.findall(r"[\w./:-]*\w", sentence)
        print(f"{severity}: {kind}:", *(word for word in words if word in names or re.search(r"\d", word)))
    return wrong


def main():
    path = sys.argv[sys.argv.index("--prose") + 1] if "--prose" in sys.argv else None
    if sys.argv[1:2] == ["--types"]:
        types, prose = Types(), []
        for name in sys.argv[2:]:
            with open(name, encoding="utf-8") as file:
                types.add(json.load(file), name)
        wrong = types.wrong
    elif sys.argv[1:2] == ["--findings"]:
        prose = []
        wrong = findings(sys.argv[2], prose)
    else:
        report = Report(json.load(sys.stdin))
        prose, wrong = [sentence for _, sentence in report.prose], report.wrong
        for line in report.lines:
            print(line)
    if path:
        with open(path, "a", encoding="utf-8") as file:
            file.writelines(f"{sentence}\n" for sentence in prose)
    for one in wrong:
        print(one, file=sys.stderr)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
