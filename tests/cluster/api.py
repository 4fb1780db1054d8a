#!/usr/bin/python3
"""Ask the API server of KUBECONFIG what it says to objects, without keeping any: server-side apply, dry run, strict.

usage: api.py apply FILE...   each object of each file. A line each:
                              FILE KIND/NAME: accepted | refused: WHY | warned: TEXT | no definition of this kind
                              Each pod in an object of a foreign kind is put in as a Pod, too: a definition does not judge it.
                              FILE KIND/NAME WHERE: pod accepted | ...
       api.py twins FILE...   each object with a field too many, in its first pod, in its spec, or at its top. A line for each that
                              the server accepts all the same, and at the end how many it refused
       api.py levels FILE...  each pod in each file, as a Pod: the highest pod security level that admits it, and what
                              keeps it from a higher one
       api.py webhooks NAME PORT AUTHORITY FILE...
                              the webhooks in each file, by URL on this machine, as YAML; AUTHORITY signed who answers
                              there. Asks nobody
       api.py strip FILE...   the definitions of kinds in each file, without their descriptions, as a List in JSON. They are four
                              fifths of the text, and the server takes as much longer for it. Asks nobody
       api.py define FILE...  give the server the definitions in such files, and wait until it serves them
       api.py pods FILE...    each pod in each file as a Pod of its own, as YAML; FILE/KIND/WHERE is its name. Asks nobody
Namespaces that objects name are made, and stay.
"""

# SPDX-License-Identifier: Apache-2.0
import base64
import http.client
import json
import os
import re
import ssl
import sys
import time
from urllib.parse import quote, urlsplit

import yaml

LEVELS = ("restricted", "baseline", "privileged")
TEAM = "nccl-init-judged"  # for objects that name no namespace


class Server:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            config = yaml.safe_load(file)
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        context = ssl.create_default_context(cafile=cluster["certificate-authority"])
        context.load_cert_chain(user["client-certificate"], user["client-key"])
        self.line = http.client.HTTPSConnection(urlsplit(cluster["server"]).netloc, context=context, timeout=180)
        self.groups = {}
        self.namespaces = set()

    def ask(self, method, path, body=None, kind="application/json"):
        """Status, answer, warnings."""
        self.line.request(method, path, body and json.dumps(body), {"Content-Type": kind, "Accept": "application/json"})
        reply = self.line.getresponse()
        text = reply.read().decode()
        try:
            said = json.loads(text)
        except ValueError:
            said = {"message": text.strip()}
        warnings = [re.sub(r'^299 \S+ "(.*)"$', r"\1", w).replace('\\"', '"') for w in reply.headers.get_all("Warning", [])]
        return reply.status, said, warnings

    def place(self, obj):
        """Where objects of this kind are: the path of its group, its resource, and if it is in a namespace."""
        version = obj.get("apiVersion", "")
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        if root not in self.groups:
            status, said, _ = self.ask("GET", root)
            found = said.get("resources", []) if status == 200 else []
            self.groups[root] = {r["kind"]: r for r in found if "/" not in r["name"]}
        resource = self.groups[root].get(obj.get("kind"))
        return resource and (root, resource["name"], resource["namespaced"])

    def serves(self, group, version, resource):
        status, said, _ = self.ask("GET", f"/apis/{group}/{version}")
        return status == 200 and any(r["name"] == resource for r in said["resources"])

    def need_namespace(self, name, labels=None):
        if name in self.namespaces:
            return
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels or {}}}
        status, said, _ = self.ask("POST", "/api/v1/namespaces", body)
        if status not in (201, 409):
            sys.exit(f"api.py: namespace {name}: {said.get('message')}")
        # before its account is there no pod is admitted
        account, until = f"/api/v1/namespaces/{name}/serviceaccounts/default", time.monotonic() + 180
        while self.ask("GET", account)[0] != 200:
            if time.monotonic() > until:
                sys.exit(f"api.py: namespace {name}: its default account does not come")
            time.sleep(0.1)
        self.namespaces.add(name)

    def put(self, obj, namespace=TEAM):
        """What the server says: None if it does not know the kind, else (accepted, why, warnings)."""
        place = self.place(obj)
        if not place:
            return None
        root, resource, namespaced = place
        if namespaced:
            namespace = obj["metadata"].get("namespace", namespace)
            self.need_namespace(namespace)
            root += f"/namespaces/{namespace}"
        name = obj["metadata"].get("name", "")
        path = f"{root}/{resource}/{quote(name)}?dryRun=All&fieldManager=nccl-init&fieldValidation=Strict&force=true"
        status, said, warnings = self.ask("PATCH", path, obj, "application/apply-patch+yaml")
        return status in (200, 201), said.get("message", ""), warnings


def objects_of(path):
    with open(path, encoding="utf-8") as file:
        for obj in yaml.load_all(file, yaml.CSafeLoader):
            if obj and obj.get("kind") == "List":
                yield from obj["items"]
            elif obj:
                yield obj


def say(label, word, answer):
    accepted, why, warnings = answer
    print(f"{label}: {word}accepted" if accepted else f"{label}: refused: {' '.join(why.split())}")
    for warning in warnings:
        print(f"{label}: warned: {warning}")


def apply(server, files):
    for path in files:
        name = os.path.basename(path).removesuffix(".yaml")
        for obj in objects_of(path):
            label = f"{name} {obj.get('kind')}/{obj.get('metadata', {}).get('name', '')}"
            answer = server.put(obj)
            if answer is None:
                print(f"{label}: no definition of this kind: {obj.get('apiVersion')}")
                continue
            say(label, "", answer)
            if "." in obj["apiVersion"].partition("/")[0]:
                for where, metadata, spec in pods_of(obj):
                    say(f"{label} {where}", "pod ", server.put(as_pod(metadata, spec)))


def pods_of(obj, inside=""):
    """The pods in an object: whatever has containers, and the metadata beside it."""
    for key, value in obj.items() if isinstance(obj, dict) else enumerate(obj):
        path = f"{inside}.{key}" if inside else str(key)
        if isinstance(value, dict) and isinstance(value.get("containers"), list):
            metadata = obj.get("metadata") if key == "spec" and isinstance(obj, dict) else {}
            yield path, metadata or {}, value
        elif isinstance(value, (dict, list)):
            yield from pods_of(value, path)


def break_one(obj):
    """Put a field into it that its kind does not have."""
    place = next((spec["containers"][0] for _, _, spec in pods_of(obj)), None)
    if place is None:
        place = obj["spec"] if isinstance(obj.get("spec"), dict) else obj
    place["noSuchField"] = "broken"


def twins(server, files):
    refused = 0
    for path in files:
        for obj in objects_of(path):
            break_one(obj)
            answer = server.put(obj)
            if answer is None:
                continue
            accepted, why, _ = answer
            if accepted or "noSuchField" not in why:
                name = os.path.basename(path).removesuffix(".yaml")
                print(f"{name} {obj['kind']}/{obj['metadata'].get('name', '')}: {' '.join(why.split()) or 'accepted'}")
            else:
                refused += 1
    print(f"refused: {refused}")


def as_pod(metadata, spec):
    kept = {k: metadata[k] for k in ("labels", "annotations") if metadata.get(k)}
    spec = dict(spec, serviceAccountName="default")  # accounts are other objects
    for part in spec["containers"] + spec.get("initContainers", []):
        part.setdefault("image", "from-elsewhere")  # of a template that others complete
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "judged", **kept}, "spec": spec}


def levels(server, files):
    for level in LEVELS:
        server.need_namespace(f"level-{level}", {"pod-security.kubernetes.io/enforce": level})
    for path in files:
        name = os.path.basename(path).removesuffix(".yaml")
        for obj in objects_of(path):
            for where, metadata, spec in pods_of(obj):
                reasons, highest = [], "none"
                for level in LEVELS:
                    accepted, why, _ = server.put(as_pod(metadata, spec), f"level-{level}")
                    if accepted:
                        highest = level
                        break
                    reasons.append(re.sub(r'.*violates PodSecurity "[^"]*": ', "", " ".join(why.split())))
                print(f"{name} {obj['kind']} {where}: {highest}: {' | '.join(reasons)}")


def pods(files):
    for path in files:
        name = os.path.basename(path).removesuffix(".yaml")
        for obj in objects_of(path):
            for where, metadata, spec in pods_of(obj):
                pod = as_pod(metadata, spec)
                pod["metadata"]["name"] = f"{name}/{obj['kind']}/{where}"
                print("---")
                print(yaml.safe_dump(pod), end="")


def webhooks(name, port, authority, *files):
    with open(authority, "rb") as file:
        bundle = base64.b64encode(file.read()).decode()
    for path in files:
        for obj in objects_of(path):
            if not obj["kind"].endswith("WebhookConfiguration"):
                continue
            obj["metadata"] = {"name": f"{name}-{obj['kind'].lower()}"}
            for hook in obj["webhooks"]:
                hook["name"] = f"{name}.{hook['name']}"  # some are in several projects
                where = hook["clientConfig"]["service"]["path"]
                hook["clientConfig"] = {"url": f"https://127.0.0.1:{port}{where}", "caBundle": bundle}
                hook["timeoutSeconds"] = 30
            print("---")
            print(yaml.safe_dump(obj), end="")


def strip_schema(part):
    if isinstance(part, list):
        return [strip_schema(one) for one in part]
    if not isinstance(part, dict):
        return part
    kept = {}
    for key, value in part.items():
        if key == "properties":
            kept[key] = {name: strip_schema(one) for name, one in value.items()}
        elif key in ("items", "additionalProperties", "allOf", "anyOf", "oneOf", "not"):
            kept[key] = strip_schema(value)
        elif key != "description":
            kept[key] = value
    return kept


def strip(files):
    items = [obj for path in files for obj in objects_of(path)]
    for obj in items:
        obj.pop("status", None)
        for version in obj["spec"]["versions"]:
            version["schema"]["openAPIV3Schema"] = strip_schema(version["schema"]["openAPIV3Schema"])
    json.dump({"apiVersion": "v1", "kind": "List", "items": items}, sys.stdout)


def define(server, files):
    root = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    items = []
    for path in files:
        with open(path, encoding="utf-8") as file:
            items += json.load(file)["items"]
    for obj in items:
        status, said, _ = server.ask("POST", root, obj)
        if status != 201:
            sys.exit(f"api.py: {obj['metadata']['name']}: {said.get('message')}")
    until = time.monotonic() + 300
    for obj in items:
        spec = obj["spec"]
        for version in [v["name"] for v in spec["versions"] if v["served"]]:
            while not server.serves(spec["group"], version, spec["names"]["plural"]):
                if time.monotonic() > until:
                    sys.exit(f"api.py: {obj['metadata']['name']} {version} is not served")
                time.sleep(0.1)


def main():
    verbs = {"apply": apply, "twins": twins, "levels": levels, "define": define}
    if len(sys.argv) < 3 or sys.argv[1] not in (*verbs, "pods", "strip", "webhooks"):
        sys.exit(__doc__)
    if sys.argv[1] == "webhooks":
        return webhooks(*sys.argv[2:])
    if sys.argv[1] in ("pods", "strip"):
        return {"pods": pods, "strip": strip}[sys.argv[1]](sys.argv[2:])
    server = Server(os.environ["KUBECONFIG"])
    verbs[sys.argv[1]](server, sys.argv[2:])


if __name__ == "__main__":
    main()
