"""Libraries say what they take from the environment. Run in a pod, by `words`.

usage: words.py nccl LIBRARY   NCCL 2.28.9: its bootstrap, its network IB, and a connection from each of its devices to itself
       words.py gloo           PyTorch with Gloo: two ranks, and the addresses between which they are connected
"""

# SPDX-License-Identifier: Apache-2.0
import ctypes
import os
import socket
import struct
import sys
import time


def symbol(path, name):
    """Where a symbol that is not exported lies, from the beginning of the library (elf(5))."""
    with open(path, "rb") as file:
        head = file.read(64)
        at, (size, count) = struct.unpack_from("<Q", head, 40)[0], struct.unpack_from("<HH", head, 58)
        file.seek(at)
        sections = [struct.unpack_from("<IIQQQQIIQQ", file.read(size)) for _ in range(count)]
        for _, kind, _, _, offset, length, link, _, _, _ in sections:
            if kind != 2:  # SHT_SYMTAB
                continue
            file.seek(offset)
            table = file.read(length)
            file.seek(sections[link][4])
            names = file.read(sections[link][5])
            for index, _, _, _, value, _ in struct.iter_unpack("<IBBHQQ", table):
                if names.startswith(name.encode() + b"\0", index):
                    return value
    sys.exit(f"{path} has no {name}")


class Net(ctypes.Structure):
    """The beginning of ncclNet_v11_t (src/include/plugin/net/net_v11.h)."""

    POINTER = ctypes.c_void_p
    call = ctypes.CFUNCTYPE
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("init", call(ctypes.c_int, POINTER, ctypes.c_uint64, POINTER, POINTER, POINTER)),
        ("devices", call(ctypes.c_int, POINTER)),
        ("get_properties", call(ctypes.c_int, ctypes.c_int, POINTER)),
        ("listen", call(ctypes.c_int, POINTER, ctypes.c_int, POINTER, POINTER)),
        ("connect", call(ctypes.c_int, POINTER, ctypes.c_int, POINTER, POINTER, POINTER)),
        ("accept", call(ctypes.c_int, POINTER, POINTER, POINTER)),
    ]


LOGGER = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_ulong, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p)


def nccl(path):
    library = ctypes.CDLL(path)
    identity = ctypes.create_string_buffer(128)
    print("ncclGetUniqueId", library.ncclGetUniqueId(identity))
    with open("/proc/self/maps", encoding="ascii") as maps:
        base = min(int(line.split("-")[0], 16) for line in maps if line.rstrip().endswith(path))
    net = Net.from_address(base + symbol(path, "ncclNetIb"))
    quiet = LOGGER(lambda *_: None)
    context, config, count = ctypes.c_void_p(), (ctypes.c_int * 16)(-1), ctypes.c_int()
    at = ctypes.addressof
    print("init", net.init(at(context), 1, at(config), ctypes.cast(quiet, ctypes.c_void_p), None))
    print("devices", net.devices(at(count)), count.value)
    for device in range(count.value):
        handle, listens, sends, receives = ctypes.create_string_buffer(256), *(ctypes.c_void_p() for _ in range(3))
        more = [ctypes.c_void_p(), ctypes.c_void_p()]
        result = net.listen(context, device, at(handle), at(listens))
        until = time.monotonic() + 60
        while result == 0 and not (sends.value and receives.value) and time.monotonic() < until:
            if not sends.value:
                result = net.connect(context, device, at(handle), at(sends), at(more[0]))
            if result == 0 and not receives.value:
                result = net.accept(listens, at(receives), at(more[1]))
        print("connection", device, result, bool(sends.value and receives.value))
    sys.stdout.flush()
    os._exit(0)


def gloo():
    import torch.distributed as distributed  # it takes a minute or more: once for both

    child = os.fork()
    rank = 0 if child else 1
    distributed.init_process_group("gloo", init_method="file:///tmp/store", rank=rank, world_size=2)
    distributed.barrier()
    if rank == 0:
        import torch

        print("PyTorch", torch.__version__)
        with open("/proc/self/net/tcp", encoding="ascii") as table:
            rows = [line.split() for line in table][1:]
        mine = {os.readlink(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd") if os.path.islink(f"/proc/self/fd/{fd}")}
        for row in rows:
            if row[3] == "01" and f"socket:[{row[9]}]" in mine:
                print("connected from", socket.inet_ntoa(struct.pack("<I", int(row[1][:8], 16))))
    distributed.barrier()
    if child:
        os.waitpid(child, 0)


if sys.argv[1] == "nccl":
    nccl(sys.argv[2])
else:
    gloo()
