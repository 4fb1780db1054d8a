#!/usr/bin/python3
# The types of Kubernetes' own objects as JSON schemas, from the models in the tarball of @kubernetes/client-node.
# usage: models.py TARBALL OUTPUT
# SPDX-License-Identifier: Apache-2.0
"""Each model is two files: NAME.d.ts tells which properties are required, NAME.js lists them with JSON name, type and
format. No object takes a property that its model does not have. Enumerations are not in the models: kinds.yaml adds
those that the manifests use."""
import json
import re
import sys
import tarfile

MODELS = "package/dist/gen/models/"
VERSION = "release-1.36"


def schema(kind, form):
    """The schema of a TypeScript type."""
    if match := re.fullmatch(r"Array<(.*)>", kind):
        return {"type": "array", "items": schema(match[1], form)}
    if match := re.fullmatch(r"\{ \[key: string\]: (.*); \}", kind):
        return {"type": "object", "additionalProperties": schema(match[1], form)}
    if kind == "number":
        return {"type": "number" if form == "double" else "integer"}
    if kind in ("string", "boolean"):
        return {"type": kind}
    if kind == "Date" or kind == "V1MicroTime":
        return {"type": "string", "format": "date-time"}
    if kind == "IntOrString":
        return {"type": ["integer", "string"]}
    if kind == "any":
        return {}
    if not re.fullmatch(r"\w+", kind):
        raise ValueError(f"a type of another form: {kind}")
    return {"$ref": f"#/definitions/{kind}"}


def model(declared, code):
    optional = dict(re.findall(r"^    '([^']+)'(\??): ", declared, re.MULTILINE))
    table = code[code.index(".attributeTypeMap = [") :]
    rows = re.findall(r'"name": "(.*)",\s*"baseName": "(.*)",\s*"type": "(.*)",\s*"format": "(.*)"', table)
    if len(rows) != len(optional):
        raise ValueError("properties differ between the declaration and the code")
    return {
        "type": "object",
        "properties": {base: schema(kind, form) for _, base, kind, form in rows},
        "required": sorted(base for name, base, _, _ in rows if not optional[name]),
        "additionalProperties": False,
    }


def main():
    texts = {}
    with tarfile.open(sys.argv[1]) as tar:
        for member in tar:
            if member.name.startswith(MODELS) and member.name.endswith((".d.ts", ".js")):
                texts[member.name[len(MODELS) :]] = tar.extractfile(member).read().decode()
    # The package also holds models that its last generation no longer made; each names its version.
    definitions = {}
    for name in sorted(texts):
        if name.endswith(".js") and ".attributeTypeMap = [" in texts[name] and VERSION in texts[name]:
            stem = name[: -len(".js")]
            definitions[stem] = model(texts[stem + ".d.ts"], texts[name])
    text = json.dumps({"version": VERSION, "definitions": definitions})
    missing = set(re.findall(r"#/definitions/(\w+)", text)) - set(definitions)
    if len(definitions) < 500 or missing:
        raise SystemExit(f"models: {len(definitions)} of them, and none for {sorted(missing)}: not what was expected")
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write(text)


main()
