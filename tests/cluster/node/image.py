#!/usr/bin/env python3
"""Write images as one OCI archive, which containerd imports.

usage: image.py ARCHIVE --name NAME[=WORD,...][@USER]... [--initrd FILE] [--path PATH] [--env NAME=VALUE]... [DESTINATION=FILE]...

Each NAME is an image with these words as ENTRYPOINT, and this USER; all have these variables. All have the same layer: the
tree of an initrd (uncompressed, without kernel modules), and these files, which can be executed.
"""

# SPDX-License-Identifier: Apache-2.0
import argparse
import hashlib
import io
import json
import pathlib
import stat
import tarfile


def entries(data):
    """Yield name, mode and content of each entry of a cpio archive of the format newc (cpio(5))."""
    at = 0
    while True:
        field = [int(data[at + 6 + 8 * i : at + 14 + 8 * i], 16) for i in range(13)]
        mode, size, name_size = field[1], field[6], field[11]
        name = data[at + 110 : at + 110 + name_size - 1].decode()
        at = (at + 110 + name_size + 3) & ~3
        if name == "TRAILER!!!":
            return
        yield name, mode, data[at : at + size]
        at = (at + size + 3) & ~3


def add(tar, name, mode, content=b""):
    entry = tarfile.TarInfo(name)
    entry.mode = stat.S_IMODE(mode)
    if stat.S_ISDIR(mode):
        entry.type = tarfile.DIRTYPE
    elif stat.S_ISLNK(mode):
        entry.type = tarfile.SYMTYPE
        entry.linkname = content.decode()
        content = b""
    entry.size = len(content)
    tar.addfile(entry, io.BytesIO(content))


def layer(initrd, files):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as tar:
        for name, mode, content in entries(initrd.read_bytes()) if initrd else ():
            name = name.removeprefix("./")
            known = stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode)
            if known and name not in (".", "init") and not name.startswith("lib/modules") and "/modules/" not in name:
                add(tar, name, mode, content)
        folders = {str(parent) for name in files for parent in pathlib.Path(name).parents} - {"."}
        for folder in sorted(folders):
            add(tar, folder, stat.S_IFDIR | 0o755)
        for name, source in files.items():
            add(tar, name, stat.S_IFREG | 0o755, pathlib.Path(source).read_bytes())
    return out.getvalue()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("archive")
    parser.add_argument("--name", action="append", required=True)
    parser.add_argument("--initrd", type=pathlib.Path)
    parser.add_argument("--path", default="/usr/sbin:/usr/bin:/sbin:/bin")
    parser.add_argument("--env", action="append", default=[])
    parser.add_argument("files", nargs="*")
    given = parser.parse_intermixed_args()
    files = {}
    for pair in given.files:
        name, source = pair.split("=", 1)
        files[name.lstrip("/")] = source

    with tarfile.open(given.archive, "w", format=tarfile.GNU_FORMAT) as tar:

        def blob(content, kind):
            digest = hashlib.sha256(content).hexdigest()
            add(tar, f"blobs/sha256/{digest}", stat.S_IFREG | 0o644, content)
            return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{digest}", "size": len(content)}

        def document(value, kind):
            return blob(json.dumps(value).encode(), kind)

        one = blob(layer(given.initrd, files), "layer.v1.tar")
        images = []
        for name in given.name:
            name, _, user = name.partition("@")
            name, _, words = name.partition("=")
            config = {
                "architecture": "amd64",
                "os": "linux",
                "config": {
                    "Env": [f"PATH={given.path}", *given.env],
                    "Entrypoint": words.split(",") if words else [],
                    "User": user,
                },
                "rootfs": {"type": "layers", "diff_ids": [one["digest"]]},
            }
            manifest = {
                "schemaVersion": 2,
                "mediaType": "application/vnd.oci.image.manifest.v1+json",
                "config": document(config, "config.v1+json"),
                "layers": [one],
            }
            image = document(manifest, "manifest.v1+json")
            image["annotations"] = {"io.containerd.image.name": name, "org.opencontainers.image.ref.name": name}
            images.append(image)
        index = {"schemaVersion": 2, "manifests": images}
        add(tar, "index.json", stat.S_IFREG | 0o644, json.dumps(index).encode())
        add(tar, "oci-layout", stat.S_IFREG | 0o644, b'{"imageLayoutVersion": "1.0.0"}')


main()
