#!/usr/bin/python3
"""Check a bill of materials: the rules of SPDX 2.3 that a reader depends on, and that it lists what was linked in.

usage: sbom.py SPDX-FILE MAP PROGRAM     what is wrong, a line each; exit status 1

The map is read in another way than .dev/sbom reads it: by the linker's list of archive members it took, and of objects
it loaded, instead of by addresses.
"""
# SPDX-License-Identifier: Apache-2.0
import hashlib
import json
import os
import re
import subprocess
import sys

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
# of the SPDX licence list
LICENCES = {"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "Beerware", "CC0-1.0", "GPL-2.0-only", "GPL-3.0-or-later",
            "ISC", "LGPL-2.1-only", "Linux-OpenIB", "MIT"}
EXCEPTIONS = {"GCC-exception-3.1", "Linux-syscall-note"}
RELATIONS = {"DESCRIBES", "STATIC_LINK", "BUILD_TOOL_OF", "BUILD_DEPENDENCY_OF", "OPTIONAL_DEPENDENCY_OF"}

wrong = []


def check(holds, why):
    if not holds:
        wrong.append(why)


def check_licence(text, where):
    words = re.sub(r"[()]", " ", text).split()
    for before, word in zip([""] + words, words):
        known = word in ("AND", "OR", "WITH") or word in (EXCEPTIONS if before == "WITH" else LICENCES)
        check(known, f"{where}: {word} is no licence of SPDX's list")


def check_form(doc):
    """What the schema of SPDX 2.3 asks for, and what it cannot: ids that exist and are unique."""
    check(doc.get("spdxVersion") == "SPDX-2.3" and doc.get("dataLicense") == "CC0-1.0", "version or data licence")
    check(doc.get("SPDXID") == "SPDXRef-DOCUMENT" and doc.get("name"), "the document's id or name")
    check(re.fullmatch(r"https://[^ #]+", doc.get("documentNamespace", "")), "documentNamespace is no URI")
    info = doc.get("creationInfo", {})
    check(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", info.get("created", "")), "created is no time in UTC")
    check(info.get("creators") and all(re.match(r"(Tool|Person|Organization): .", one) for one in info["creators"]),
          "creators")
    ids = ["SPDXRef-DOCUMENT"] + [one.get("SPDXID", "") for one in doc["packages"]]
    check(len(ids) == len(set(ids)), "an SPDXID twice")
    for one in ids:
        check(re.fullmatch(r"SPDXRef-[a-zA-Z0-9.-]+", one), f"{one!r} is no SPDXID")
    for one in doc["packages"]:
        name = one.get("name", "?")
        check(re.fullmatch(r"NOASSERTION|https://\S+", one.get("downloadLocation", "")), f"{name}: downloadLocation")
        check(one.get("filesAnalyzed") is False, f"{name}: filesAnalyzed asks for a verification code")
        check(re.fullmatch(r"\S+", one.get("versionInfo", "")) and one["versionInfo"] != "unknown", f"{name}: versionInfo")
        check(re.match(r"(Person|Organization): .", one.get("supplier", "Person: x")), f"{name}: supplier")
        for field in ("licenseDeclared", "licenseConcluded"):
            check_licence(one.get(field, "none"), f"{name}: {field}")
        for sum_ in one.get("checksums", []):
            check(sum_["algorithm"] == "SHA256" and re.fullmatch(r"[0-9a-f]{64}", sum_["checksumValue"]), f"{name}: checksum")
        for ref in one.get("externalRefs", []):
            check(ref["referenceCategory"] == "PACKAGE-MANAGER" and ref["referenceType"] == "purl" and
                  re.fullmatch(r"pkg:(github/[^/ ]+|deb/debian|generic)/[^@ ]+@[^ @]+", ref["referenceLocator"]),
                  f"{name}: package URL")
    for one in doc["relationships"]:
        check(one["relationshipType"] in RELATIONS, f"relation {one['relationshipType']}")
        check({one["spdxElementId"], one["relatedSpdxElement"]} <= set(ids), f"a relation of what is not there: {one}")


def taken(map_file):
    """Names of archives and objects that the linker took."""
    names = set()
    with open(map_file, encoding="utf-8") as file:
        text = file.read()
    members = text.split("Archive member included", 1)[1].split("Discarded input sections", 1)[0]
    names.update(re.findall(r"^(\S+\.a)\(\S+\.l?o\)", members, re.M))
    names.update(re.findall(r"^LOAD (\S+\.o)$", text, re.M))
    ours = re.compile(r"^(CMakeFiles/nccl-init(-hook)?\.dir/.*|libni_[a-z]+\.a)$")
    return {os.path.basename(name) for name in names if not ours.match(name)}


def check_linked(doc, map_file):
    linked = {one["relatedSpdxElement"] for one in doc["relationships"] if one["relationshipType"] == "STATIC_LINK"}
    listed = set()
    for one in doc["packages"]:
        said = re.match(r"linked in from (.*)", one.get("sourceInfo", ""))
        check(bool(said) == (one["SPDXID"] in linked), f"{one['name']}: linked or not?")
        listed |= set(said[1].split()) if said else set()
    for name in sorted(taken(map_file) - listed):
        wrong.append(f"{name} is linked in and not listed")
    for name in sorted(listed - taken(map_file)):
        wrong.append(f"{name} is listed and not linked in")


def check_versions(doc, program):
    """The program's own words, and .dev/sources."""
    packages = {one["name"]: one for one in doc["packages"]}
    with open(program, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    own = os.path.basename(program)
    check(packages[own]["checksums"][0]["checksumValue"] == digest, "it is of another program")
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    for name in (own, "rdma-core", "libnl", "libcap", "libmd", "jansson") if own == "nccl-init" else (own,):
        version = re.search(rf"\b{name} ([0-9.]*[0-9])", said)
        check(version and name in packages and version[1] == packages[name]["versionInfo"], f"{name}: {program} has another version")
    with open(f"{TOP}/.dev/sources", encoding="utf-8") as file:
        pinned = {row[0]: row[1:] for row in (line.split() for line in file) if row and not row[0].startswith("#")}
    for name, one in packages.items():
        if one["downloadLocation"] != "NOASSERTION":
            version, _, tarball, digest = pinned.get(name, [None] * 4)
            check((one["versionInfo"], one["packageFileName"], one["checksums"][0]["checksumValue"]) ==
                  (version, tarball, digest) and one["downloadLocation"].endswith("/" + str(tarball)),
                  f"{name}: not what .dev/sources pins")


def main(sbom, map_file, program):
    with open(sbom, encoding="utf-8") as file:
        doc = json.load(file)
    check_form(doc)
    check_linked(doc, map_file)
    check_versions(doc, program)
    for line in wrong:
        print(line)
    sys.exit(bool(wrong))


main(*sys.argv[1:])
