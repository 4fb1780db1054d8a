#!/usr/bin/env python3
"""One rank of a job that fails in one way: failures.py JOB. tests/gpu/failures starts it; failures.txt has the causes.

Two ranks may share one GPU: each has an NCCL_HOSTID of its own, so NCCL takes them for two nodes with sockets between.
"""
# SPDX-License-Identifier: Apache-2.0
import ctypes
import datetime
import errno
import importlib
import os
import resource
import signal
import socket
import sys
import time
import traceback

JOB = sys.argv[1]
RANK = int(os.environ["RANK"])
SIZE = int(os.environ["WORLD_SIZE"])
WAIT = datetime.timedelta(seconds=15)
ELEMENTS = 1 << 20
STEPS = 4

if JOB != "duplicate":
    os.environ["NCCL_HOSTID"] = f"host{RANK}"
os.environ["HCA_HOST"] = str(RANK)


def settings():
    """Variables that only one rank has."""
    if JOB == "differs":
        os.environ["NCCL_ALGO"] = ["Ring", "Tree"][RANK]
    if JOB == "ifname-one" and RANK == 1:
        os.environ["NCCL_SOCKET_IFNAME"] = "eth77"
    if JOB == "no-gpu" and RANK == 1:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""
    if JOB == "rank-0-late" and RANK == 0:
        time.sleep(22)
    if JOB == "slow" and RANK == 1:
        time.sleep(8)
    if JOB == "no-rdma-one" and RANK == 1:
        os.environ["NCCL_IB_DISABLE"] = "1"
    if JOB == "killed-waiting" and RANK == 0:
        os.environ["NCCL_TOPO_FILE"] = os.environ["PIPE"]
    if JOB == "killed-waiting" and RANK == 1:
        end_at_topology(signal.SIGKILL)
    if JOB == "store-unreachable" and RANK == 1:
        os.environ["MASTER_ADDR"] = "192.0.2.1"
    if JOB in ("crash-init", "stuck-init", "killed-init") and RANK == 1:
        os.environ["NCCL_TOPO_FILE"] = os.environ["PIPE"]
    if JOB in ("crash-init", "killed-init") and RANK == 1:
        end_at_topology(signal.SIGSEGV if JOB == "crash-init" else signal.SIGKILL)


def end_at_topology(number):
    """A child that opens the pipe at the same time as NCCL, and then sends the rank that signal."""
    parent = os.getpid()
    if os.fork() == 0:
        with open(os.environ["PIPE"], "w", encoding="ascii"):
            time.sleep(2 if JOB == "killed-waiting" else 0)  # rank 1 is to wait for rank 0
            os.kill(parent, number)
        os._exit(0)


settings()

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402

DEVICE = 0 if JOB in ("duplicate", "no-gpu") else RANK % torch.cuda.device_count()


def say(text):
    print(f"rank {RANK}: {text}", flush=True)


# ---- NCCL by itself ----


class UniqueId(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_ubyte * 128)]


def address_without_route(own):
    """An IPv4 address, 4 bytes, that connect() refuses at once or after a few seconds; own is NCCL's address here."""
    for candidate in [b"\xcb\x00\x71\x09"] + [own[:3] + bytes([own[3] ^ bit]) for bit in (3, 5, 6, 9, 64)]:
        with socket.socket() as attempt:
            attempt.settimeout(5)
            try:
                attempt.connect((socket.inet_ntoa(candidate), 9999))
            except OSError as error:
                if error.errno in (errno.ENETUNREACH, errno.EHOSTUNREACH):
                    return candidate
    return b"\xcb\x00\x71\x09"


def init_by_hand():
    """ncclCommInitRank with an id that rank 1 reads wrongly, as behind a firewall, or with another number of ranks."""
    nccl = ctypes.CDLL("libnccl.so.2")
    store = dist.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), SIZE, RANK == 0, timeout=WAIT)
    unique = UniqueId()
    if RANK == 0:
        result = nccl.ncclGetUniqueId(ctypes.byref(unique))
        assert result == 0, result
        store.set("id", bytes(unique))
    else:
        # a magic number of eight bytes, then a struct sockaddr_in: family, port, address
        data = bytearray(store.get("id"))
        if JOB == "refused":
            data[10:12] = (9).to_bytes(2, "big")
        elif JOB == "unreachable":
            data[12:16] = address_without_route(bytes(data[12:16]))
        unique = UniqueId.from_buffer_copy(data)
    size = 3 if JOB == "world-size" and RANK == 1 else SIZE
    comm = ctypes.c_void_p()
    nccl.ncclGetErrorString.restype = ctypes.c_char_p
    rank = 0 if JOB == "rank-twice" else RANK
    result = nccl.ncclCommInitRank(ctypes.byref(comm), size, unique, rank)
    if result != 0:
        raise RuntimeError(f"ncclCommInitRank: {nccl.ncclGetErrorString(result).decode()}")
    say("has a communicator")


# ---- through torch ----


def missing_file(batch):
    """What the DataLoader's worker process calls for its first batch."""
    with open(f"/data/shard-{batch[0]}.tar", encoding="ascii"):
        return batch


def killed_worker(batch):
    """What the DataLoader's worker process calls for its first batch."""
    os.kill(os.getpid(), signal.SIGKILL)
    return batch


def take_all_memory():
    """All free memory of the GPU, in pieces that become smaller."""
    taken = []
    size = torch.cuda.mem_get_info()[0]
    while size >= 1 << 20:
        try:
            taken.append(torch.empty(size, dtype=torch.uint8, device="cuda"))
        except torch.OutOfMemoryError:
            size //= 2
    return taken


def third_step():
    """What goes wrong after two steps that went well."""
    if RANK == 1:
        if JOB == "oom":
            torch.cuda.set_per_process_memory_fraction(0.02)
            torch.empty(64 << 30, dtype=torch.uint8, device="cuda")
        elif JOB == "exit":
            sys.exit(3)
        elif JOB in ("sigkill", "killed-plain"):
            os.kill(os.getpid(), signal.SIGKILL)
        elif JOB == "exception":
            raise ValueError("sample 17 has no label")
        elif JOB == "stopped":
            os.kill(os.getpid(), signal.SIGSTOP)
        elif JOB == "caught":
            try:
                raise OSError("the cache of this node is not there")
            except OSError:
                traceback.print_exc()
        elif JOB in ("hang", "blocking-wait"):
            time.sleep(45)
        elif JOB == "comm-abort":
            dist.group.WORLD._get_backend(torch.device("cuda")).abort()
            say("aborted its communicator")
            time.sleep(25)
            sys.exit(0)
        elif JOB == "preempted":
            os.kill(os.getppid(), signal.SIGTERM)
            time.sleep(25)
        elif JOB == "asserted":
            torch.arange(4, device="cuda")[torch.tensor([9], device="cuda")].cpu()
        elif JOB == "sigsegv":
            ctypes.string_at(0)
        elif JOB == "interrupt":
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(25)
        elif JOB == "loader":
            data = torch.utils.data.DataLoader([1, 2, 3], num_workers=1, collate_fn=killed_worker)
            next(iter(data))
        elif JOB == "loader-raises":
            data = torch.utils.data.DataLoader([1, 2, 3], num_workers=1, collate_fn=missing_file)
            next(iter(data))
        elif JOB == "own-words":
            say("FATAL: loss is NaN in step 2, giving up")
            sys.stdout.flush()
            os._exit(17)
        elif JOB == "words":
            say("validation error: 0.031 (timeout of the loader 30 s, 0 aborts)")
            print("ERROR rate per step: 0.0; last exception: none", file=sys.stderr, flush=True)
        elif JOB == "abort-hook":
            weight = torch.ones(4, device="cuda", requires_grad=True)
            weight.register_hook(lambda gradient: ctypes.CDLL(None).abort())
            weight.sum().backward()
    if JOB in ("restart", "restart-fails") and RANK == 1:
        if JOB == "restart-fails" or os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
            raise KeyError("shard 7")
    if JOB == "rank-0-leaves" and RANK == 0:
        os._exit(0)
    if JOB == "all-raise":
        raise KeyError("learning_rate")
    if JOB == "blocking-wait":
        dist.all_reduce(torch.ones(ELEMENTS, device="cuda"), async_op=True).wait()
    if JOB == "more" and RANK == 1:
        dist.all_reduce(torch.ones(ELEMENTS, device="cuda"))
    if JOB == "roots":
        dist.broadcast(torch.ones(64 * ELEMENTS, device="cuda"), src=RANK)
    if JOB == "recv" and RANK == 0:
        dist.recv(torch.ones(ELEMENTS, device="cuda"), src=1)
    if JOB == "new-group" and RANK == 0:
        dist.new_group([0, 1], timeout=WAIT)
    if JOB == "checkpoint" and RANK == 0:
        torch.save({"weight": torch.ones(ELEMENTS)}, "/dev/full")
    if JOB == "sizes":
        dist.all_reduce(torch.ones(1000 * (RANK + 1), device="cuda"))
    elif JOB in ("order", "detail") and RANK == 1:
        dist.all_gather_into_tensor(
            torch.empty(2 * ELEMENTS, device="cuda"), torch.ones(ELEMENTS, device="cuda")
        )


def broken_hook(state, bucket):
    if RANK == 1 and state["calls"] == 2:
        raise RuntimeError("bucket 0 is broken")
    state["calls"] += 1
    return dist.all_reduce(bucket.buffer(), async_op=True).get_future().then(lambda future: future.value()[0])


def train_by_ddp():
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 64, device="cuda"))
    model.register_comm_hook({"calls": 0}, broken_hook)
    for _ in range(STEPS):
        model(torch.ones(8, 64, device="cuda")).sum().backward()
    torch.cuda.synchronize()


class Halves(torch.nn.Module):
    """A model of which a step uses only one half."""

    def __init__(self):
        super().__init__()
        self.used, self.idle = torch.nn.Linear(64, 64), torch.nn.Linear(64, 64)

    def forward(self, data):
        return self.used(data)


def train_half():
    model = torch.nn.parallel.DistributedDataParallel(Halves().cuda())
    for _ in range(STEPS):
        model(torch.ones(8, 64, device="cuda")).sum().backward()
    torch.cuda.synchronize()


def train():
    data = torch.ones(ELEMENTS, device="cuda")
    taken = take_all_memory() if JOB == "nccl-oom" and RANK == 1 else []
    for step in range(STEPS):
        if step == 2:
            third_step()
        dist.all_reduce(data)
        torch.cuda.synchronize()
        say(f"step {step} done")
    del taken


def main():
    if JOB == "import" and RANK == 1:
        importlib.import_module("flash_attention_that_is_not_there")
    torch.cuda.set_device(99 if JOB == "ordinal" and RANK == 1 else DEVICE)
    if JOB in ("refused", "unreachable", "world-size", "rank-twice"):
        init_by_hand()
        return
    if JOB == "port-taken" and RANK == 0:
        taken = socket.create_server(("0.0.0.0", int(os.environ["MASTER_PORT"])))
        taken.listen(4)
    dist.init_process_group("cpu:gloo,cuda:nccl" if JOB == "gloo-ifname" else "nccl", timeout=WAIT)
    if JOB == "files" and RANK == 0:
        torch.ones(1, device="cuda")
        most = max(int(number) for number in os.listdir("/proc/self/fd")) + 4
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # NCCL raises the soft limit to the hard one
    if JOB == "comm-hook":
        train_by_ddp()
    elif JOB == "unused":
        train_half()
    else:
        train()
    if JOB != "no-destroy":
        dist.destroy_process_group()
    say("done")


main()
