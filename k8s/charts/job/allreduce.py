#!/usr/bin/env python3
# Times a collective of PyTorch and checks its result on each rank. Needs torch only; start it with torchrun.
# SPDX-License-Identifier: Apache-2.0
"""One line for each size:

    op=all_reduce bytes=1073741824 dtype=float32 ranks=8 iters=20 time_us=... algbw_GBps=... busbw_GBps=... wrong=0

time_us is the mean of the timed iterations on the slowest rank. 1 GB is 10^9 bytes. `bytes` is what one rank holds
of the whole: the array of all_reduce, the gathered output of all_gather, the input of reduce_scatter. Bandwidths are
those of nccl-tests (NVIDIA/nccl-tests, doc/PERFORMANCE.md): algbw = bytes / time; busbw = algbw * 2 * (n-1) / n for
all_reduce, algbw * (n-1) / n for the other two. So busbw compares with the speed of the links whatever n is.

`wrong` counts the wrong values of all ranks, looked at before and after the timed iterations. Values are small
integers whose sums are exact in the data type, so that "equal" means equal.

Exit status: 0, 1 when a value is wrong on any rank or the backend fails, 2 when it cannot be started so.
"""

import argparse
import ctypes
import datetime
import os
import socket
import sys
import time

OPS = {
    # name: factor of the bus bandwidth for n ranks
    "all_reduce": lambda n: 2 * (n - 1) / n,
    "all_gather": lambda n: (n - 1) / n,
    "reduce_scatter": lambda n: (n - 1) / n,
}
# Integers up to this value, and their sums, are exact in the type.
EXACT = {"float16": 2**11, "bfloat16": 2**8, "float32": 2**24, "float64": 2**53, "int32": 2**31 - 1, "int64": 2**53}
CHUNK = 1 << 22  # values compared at a time


class Refused(Exception):
    """The benchmark cannot run like this; the message tells what to change."""


def size(text):
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    number, unit = (text[:-1], units[text[-1].upper()]) if text[-1:].upper() in units else (text, 1)
    try:
        value = int(number) * unit
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is no size; say 4096, 64K, 256M, 8G") from None
    if value <= 0:
        raise argparse.ArgumentTypeError("a size is more than 0")
    return value


def count(least):
    def parse(text):
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"'{text}' is no number of {least} or more")
        return int(text)

    return parse


def arguments():
    p = argparse.ArgumentParser(
        prog="allreduce.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("--op", choices=sorted(OPS), default="all_reduce")
    p.add_argument("--dtype", choices=sorted(EXACT), default="float32")
    p.add_argument("--bytes", type=size, help="this size only")
    p.add_argument("--min-bytes", type=size, default=1 << 20, help="smallest size (default: 1M)")
    p.add_argument("--max-bytes", type=size, default=1 << 30, help="largest size (default: 1G)")
    p.add_argument("--factor", type=count(2), default=4, help="from one size to the next (default: 4)")
    p.add_argument("--iters", type=count(1), default=20, help="timed iterations (default: 20)")
    p.add_argument("--warmup", type=count(0), default=5, help="iterations before these (default: 5)")
    p.add_argument("--backend", choices=["nccl", "gloo"], default="nccl", help="gloo runs without GPUs")
    p.add_argument("--timeout", type=count(1), default=300, help="seconds until a stuck operation fails")
    args = p.parse_args()
    if args.bytes:
        args.min_bytes = args.max_bytes = args.bytes
    if args.min_bytes > args.max_bytes:
        p.error("--min-bytes is more than --max-bytes")
    return args


def variables_in_force():
    """NCCL_* variables as NCCL has them, those of nccl.conf files too: NCCL puts these into the C environment, where
    os.environ does not see them. name -> (value, where it comes from)"""
    found = {k: (v, "") for k, v in os.environ.items() if k.startswith("NCCL_")}
    try:
        entry = ctypes.POINTER(ctypes.c_char_p).in_dll(ctypes.CDLL(None), "environ")
        i = 0
        while entry[i] is not None:
            name, _, value = entry[i].decode(errors="replace").partition("=")
            if name.startswith("NCCL_") and name not in found:
                found[name] = (value, " (nccl.conf)")
            i += 1
    except (ValueError, OSError):
        pass
    return dict(sorted(found.items()))


class Bench:
    def __init__(self, args, torch, dist):
        self.args, self.torch, self.dist = args, torch, dist
        self.rank, self.n = dist.get_rank(), dist.get_world_size()
        self.cuda = args.backend == "nccl"
        self.device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if self.cuda else torch.device("cpu")
        self.dtype = getattr(torch, args.dtype)
        self.width = torch.empty(0, dtype=self.dtype).element_size()
        # Rank r's value at place i is (i + r) % period; all sums stay exact.
        self.period = min(EXACT[args.dtype] // self.n + 1, 61)
        if self.period < 2:
            raise Refused(f"{args.dtype} holds no exact sums of {self.n} ranks: use --dtype=float32")

    def elements(self, nbytes):
        """Of the whole array; a multiple of the ranks, and at least one for each."""
        each = max(1, nbytes // self.width // self.n)
        return each * self.n

    def pattern(self, ranks, start, stop):
        """The sum over `ranks` of their values at places start to stop."""
        t = self.torch
        sums = [sum((i + r) % self.period for r in ranks) for i in range(self.period)]
        table = t.tensor(sums, dtype=self.dtype, device=self.device)
        return table[t.arange(start, stop, device=self.device) % self.period]

    def fill(self, into, rank, first=0):
        for at in range(0, into.numel(), CHUNK):
            stop = min(at + CHUNK, into.numel())
            into[at:stop] = self.pattern([rank], first + at, first + stop)

    def compare(self, got, ranks, first=0):
        """How many values differ from the sum over `ranks`, and the first of them."""
        wrong, where = 0, None
        for at in range(0, got.numel(), CHUNK):
            stop = min(at + CHUNK, got.numel())
            want = self.pattern(ranks, first + at, first + stop)
            differ = got[at:stop] != want
            here = int(differ.sum())
            if here and where is None:
                i = int(differ.nonzero()[0])
                where = (first + at + i, got[at + i].item(), want[i].item())
            wrong += here
        return wrong, where

    def prepare(self, nbytes):
        """Buffers of this size, and a call of the operation on them."""
        t, d = self.torch, self.dist
        total = self.elements(nbytes)
        each = total // self.n
        if self.args.op == "all_reduce":
            data = t.empty(total, dtype=self.dtype, device=self.device)
            return total * self.width, data, data, lambda: d.all_reduce(data)
        if self.args.op == "all_gather":
            mine = t.empty(each, dtype=self.dtype, device=self.device)
            out = t.empty(total, dtype=self.dtype, device=self.device)
            return total * self.width, mine, out, lambda: d.all_gather_into_tensor(out, mine)
        whole = t.empty(total, dtype=self.dtype, device=self.device)
        mine = t.empty(each, dtype=self.dtype, device=self.device)
        return total * self.width, whole, mine, lambda: d.reduce_scatter_tensor(mine, whole)

    def check(self, source, result, call):
        """One operation on fresh values; the number of wrong ones on this rank."""
        self.fill(source, self.rank)
        if result is not source:
            result.fill_(1)
        call()
        self.wait()
        everyone = range(self.n)
        if self.args.op == "all_reduce":
            wrong, where = self.compare(result, everyone)
        elif self.args.op == "reduce_scatter":
            wrong, where = self.compare(result, everyone, self.rank * result.numel())
        else:
            wrong, where = 0, None
            for r, part in enumerate(result.chunk(self.n)):
                here, first = self.compare(part, [r])
                wrong += here
                if first and where is None:
                    where = (r * part.numel() + first[0], first[1], first[2])
        if wrong:
            place, got, want = where
            say(f"rank {self.rank} on {socket.gethostname()}: {wrong} wrong values; at {place} {got}, not {want}")
        return wrong

    def wait(self):
        if self.cuda:
            self.torch.cuda.synchronize()

    def barrier(self):
        self.dist.barrier(device_ids=[self.device.index] if self.cuda else None)
        self.wait()

    def time(self, call):
        """Seconds for an iteration, on this rank."""
        for _ in range(self.args.warmup):
            call()
        self.wait()
        self.barrier()
        start = time.perf_counter()
        for _ in range(self.args.iters):
            call()
        self.wait()
        return (time.perf_counter() - start) / self.args.iters

    def over_all(self, value, op):
        """One number out of that of each rank. A rank with wrong values fails whatever this says."""
        shared = self.torch.tensor([value], dtype=self.torch.float64, device=self.device)
        self.dist.all_reduce(shared, op=op)
        return shared.item()

    def run(self, nbytes):
        nbytes, source, result, call = self.prepare(nbytes)
        wrong = self.check(source, result, call)
        self.fill(source, self.rank)
        seconds = self.time(call)
        wrong += self.check(source, result, call)
        seconds = self.over_all(seconds, self.dist.ReduceOp.MAX)
        everywhere = int(self.over_all(wrong, self.dist.ReduceOp.SUM))
        algbw = nbytes / seconds / 1e9
        busbw = algbw * OPS[self.args.op](self.n)
        if self.rank == 0:
            print(
                f"op={self.args.op} bytes={nbytes} dtype={self.args.dtype} ranks={self.n} iters={self.args.iters}"
                f" time_us={seconds * 1e6:.1f} algbw_GBps={algbw:.3f} busbw_GBps={busbw:.3f} wrong={everywhere}",
                flush=True,
            )
        return wrong or everywhere


def say(text):
    print(f"allreduce.py: {text}", file=sys.stderr, flush=True)


def header(bench):
    """What is measured, on rank 0, when NCCL has read its configuration."""
    torch = bench.torch
    print(f"# torch {torch.__version__}, backend {bench.args.backend}, {bench.n} ranks, on {socket.gethostname()}")
    if bench.cuda:
        version = ".".join(str(part) for part in torch.cuda.nccl.version())
        print(f"# NCCL {version}, {torch.cuda.get_device_name(bench.device)}")
        for name, (value, origin) in variables_in_force().items():
            print(f"# {name}={value}{origin}")
    if bench.n == 1:
        print("# one rank: nothing is sent, bandwidths mean nothing")
    sys.stdout.flush()


def look(args, torch):
    """Can it run here?"""
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"):
        if name not in os.environ:
            raise Refused(f"{name} is not set; start it by: torchrun --nproc-per-node=GPUS allreduce.py")
    if args.backend != "nccl":
        return
    have, want = torch.cuda.device_count(), int(os.environ["LOCAL_WORLD_SIZE"])
    if have < want:
        raise Refused(
            f"{want} processes on {socket.gethostname()}, but {have} GPUs; "
            + (f"start it by: torchrun --nproc-per-node={have}" if have else "without GPUs there is --backend=gloo")
        )


def main():
    args = arguments()
    try:
        import torch
        import torch.distributed as dist
    except ImportError as e:
        say(f"no PyTorch in this Python: {e}")
        return 2
    try:
        look(args, torch)
        if args.backend == "nccl":
            torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        dist.init_process_group(args.backend, timeout=datetime.timedelta(seconds=args.timeout))
        bench = Bench(args, torch, dist)
        bench.barrier()
        if bench.rank == 0:
            header(bench)
        bad, nbytes = 0, args.min_bytes
        while nbytes <= args.max_bytes:
            bad += bench.run(nbytes)
            nbytes *= args.factor
        dist.destroy_process_group()
    except Refused as why:
        if os.environ.get("LOCAL_RANK", "0") == "0":
            say(str(why))
        return 2
    except RuntimeError as e:  # torch's DistBackendError and OutOfMemoryError among them
        say(f"rank {os.environ.get('RANK')} on {socket.gethostname()}: {type(e).__name__}: {e}")
        os._exit(1)  # taking a broken process group down can wait for ever
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
