#!/usr/bin/python3
"""A webhook in the place of network-resources-injector, whose module is not to be had: it adds resources to the first
container of a pod, and a volume with a mount in each container, as its createResourcePatch and createVolPatch do.

usage: injector.py PORT CERTIFICATE KEY RESOURCE...
A resource that some container asks for is not added. To a pod without annotations nothing is done.
"""

# SPDX-License-Identifier: Apache-2.0
import base64
import http.server
import json
import ssl
import sys


def add(path, value):
    return {"op": "add", "path": path, "value": value}


def patches(pod, resources):
    """JSON patch operations, in the order of the real one."""
    spec, ops = pod["spec"], []
    containers = spec["containers"]
    asked = {r for c in containers for part in c.get("resources", {}).values() if isinstance(part, dict) for r in part}
    for part in ("requests", "limits"):
        if not containers[0].get("resources", {}).get(part):
            ops.append(add(f"/spec/containers/0/resources/{part}", {}))
        for resource in resources:
            if resource not in asked:
                ops.append(add(f"/spec/containers/0/resources/{part}/{resource.replace('/', '~1')}", "1"))
    for i, container in enumerate(containers):
        if not container.get("volumeMounts"):
            ops.append(add(f"/spec/containers/{i}/volumeMounts", []))
        if not any(m["name"] == "podnetinfo" for m in container.get("volumeMounts", [])):
            mount = {"name": "podnetinfo", "mountPath": "/etc/podnetinfo", "readOnly": True}
            ops.append(add(f"/spec/containers/{i}/volumeMounts/-", mount))
    if not spec.get("volumes"):
        ops.append(add("/spec/volumes", []))
    if not any(v["name"] == "podnetinfo" for v in spec.get("volumes", [])):
        items = [{"path": "annotations", "fieldRef": {"fieldPath": "metadata.annotations"}}]
        ops.append(add("/spec/volumes/-", {"name": "podnetinfo", "downwardAPI": {"items": items}}))
    return ops


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["request"]
        answer = {"uid": request["uid"], "allowed": True}
        pod = request["object"]
        if "k8s.v1.cni.cncf.io/networks" in pod["metadata"].get("annotations", {}):
            answer["patchType"] = "JSONPatch"
            answer["patch"] = base64.b64encode(json.dumps(patches(pod, sys.argv[4:])).encode()).decode()
        body = json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": answer}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main():
    if len(sys.argv) < 5:
        sys.exit(__doc__)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[2], sys.argv[3])
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.serve_forever()


main()
