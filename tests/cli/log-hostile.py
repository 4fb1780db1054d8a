# Logs that somebody made to be slow. What ships takes one to five seconds of a processor for 10 MB of the slowest kinds:
# 100,000 ranks, each of which is kept and printed. How long that is depends on the machine, so growth is judged: twice as
# much takes at most three times as long.
# NCCL_INIT_QUICK=1: each kind once, of less, and one pattern in eight.
# SPDX-License-Identifier: Apache-2.0
import os
import re
import resource
import subprocess
import sys
import tempfile

PROGRAM = sys.argv[1]
with open(PROGRAM, "rb") as file:
    SHIPS = b"/ld-linux" not in file.read()  # statically linked
QUICK = bool(os.environ.get("NCCL_INIT_QUICK"))
MB = 1_000_000
SIZE = (MB if QUICK else 10 * MB) if SHIPS else MB // 2 if QUICK else MB  # of each kind
LINE = 130_000  # log reads a longer one in pieces
HEAD = "host:1:2 [0] NCCL INFO "
COMM = "comm 0x%x rank %d nranks %d cudaDev %d nvmlDev 0 busId %d commId 0x%x - Init COMPLETE\n"


# ---- what is read --------------------------------------------------------------------------------------------------


def patterns():
    with open("src/log/patterns.c", encoding="ascii") as source:
        rows = re.findall(r'\b(?:FACT|FAULT|BECAUSE|STEP|PROGRAM)\(\s*"((?:[^"\\]|\\.)*)"', source.read())
    assert len(rows) > 100, "the rows of patterns.c are not found"
    return [row.replace('\\"', '"') for row in rows]


def example(text, number="1"):
    text = re.sub(r"%\{([^}|]*)[^}]*\}", r"\1", text)
    return text.replace("%s", "x").replace("%d", number).replace("%x", "0xab").replace("%r", "rest")


def begin(row):
    return row.split("%")[0]


def without_end(row):
    return example(row[: row.rfind("%")]) if "%" in row else row[:-1]


ROWS = patterns()


def fill(unit, n):
    return (unit * (n // len(unit) + 1))[:n]


def count(line, n):
    """Lines of the numbers 0, 1, ..."""
    lines, size = [], 0
    while size < n:
        lines.append(line(len(lines)))
        size += len(lines[-1])
    return "".join(lines)


def in_lines(unit, n):
    """Lines that are read whole, of one process."""
    return fill(HEAD + fill(unit, LINE - len(HEAD)) + "\n", n)


def by(i):
    return f"h{i}:{i}:7 [0] NCCL INFO "


def colliding(n):
    """Names with one place in a table of 65,536, as FNV-1a without a seed counts (0c98069 had it)."""
    prime, mask = 16777619, 0xFFFF
    back = pow(prime, -1, 65536)
    start, at = 2166136261 & mask, {}
    for c in b"h:":
        start = (start ^ c) * prime & mask
    for i in range(10000, 20000):
        h = start
        for c in b"%d" % i:
            h = (h ^ c) * prime & mask
        at.setdefault(h, []).append(i)
    names = []
    for k in range(100000):
        h = 0
        for c in reversed(b"%05d" % k):
            h = (h * back & mask) ^ c
        names += [f"h:{i}{k:05}" for i in at.get(h, [])]
    return fill("".join(f"{name}:7 [0] NCCL INFO x\n" for name in names[:12000]), n)


def hcas(n):
    names = " ".join(f"[{k}]mlx5_{k}:1/RoCE" for k in range(64))
    ends = lambda i: "".join(f"{by(i)}Channel 0/0 : {i}[0] -> 1[0] [send] via NET/IB/{k}\n" for k in range(64))
    rank = lambda i: by(i) + COMM % (1, i, 8192, 0, i, 2) + ends(i)
    return count(lambda i: f"{by(i)}NET/IB : Using {names} [RO]; OOB x\n" + rank(i), n)


CHANNEL = "Channel 0/0 : %d[0] -> 1[0] [send] via NET/IB/%d/GDRDMA\n"
KINDS = {
    # bytes
    "ordinary": lambda n: fill("loss 0.123, step 5 of the epoch, all is well\n", n),
    "one line": lambda n: fill("x", n),
    "NULs": lambda n: fill("\0", n),
    "newlines": lambda n: fill("\n", n),
    "lines of a byte": lambda n: fill("a\n", n),
    "carriage returns": lambda n: fill("\r", n),
    "escape sequences": lambda n: fill("\033[", n),
    # what others put around a line
    "docker": lambda n: count(lambda i: f'{{"log":"h:{i}:1 [0] NCCL INFO Using network IB\\n"}}\n', n),
    "docker, escapes": lambda n: fill("\\u003c", n),
    "docker, one line": lambda n: fill('{"log":"Got completion \\n"}', n),
    "CRI": lambda n: count(lambda i: f"2026-11-23T00:00:00.0Z stdout F h:{i}:1 [0] NCCL INFO Using network IB\n", n),
    "CRI, parts": lambda n: fill("2026-11-23T00:00:00.0Z stdout P Got completion ", n),
    "torchrun": lambda n: count(lambda i: f"[rank{i}]: [default{i}]:h:{i}:1 [0] NCCL INFO Using network IB\n", n),
    "nested prefixes": lambda n: fill("[0]: " * 20000 + "h:1:2 [0] NCCL INFO x\n", n),
    "Ray": lambda n: in_lines(" [repeated ", n),
    # headers
    "headers in a line": lambda n: in_lines(HEAD, n),
    "a long host": lambda n: fill("h" * 120000 + ":1:2 [0] NCCL INFO x\n", n),
    "long numbers": lambda n: fill("h:" + "9" * 60000 + ":" + "9" * 60000 + " [0] NCCL INFO x\n", n),
    "colons": lambda n: fill("1:" * 60000 + " NCCL INFO\n", n),
    # distinct things
    "hosts": lambda n: count(lambda i: f"h{i}:1:7 [0] NCCL INFO Using network IB\n", n),
    "processes": lambda n: count(lambda i: f"h:{i}:7 [0] NCCL INFO Using network IB\n", n),
    "colliding names": colliding,
    "ranks": lambda n: count(lambda i: by(i) + COMM % (1, i, 8192, 0, i, 2), n),
    "ranks of one number": lambda n: count(lambda i: by(i) + COMM % (1, 0, 8192, 0, i, 2), n),
    "earlier attempts": lambda n: count(lambda i: f"h:{i}:1 [0] NCCL INFO " + COMM % (1, 0, 8192, 0, 0, 2), n),
    "restarts": lambda n: count(lambda i: by(1) + "Bootstrap : Using eth0:10.0.0.1<0>\n", n),
    "restarts beside many names": lambda n: count(lambda i: by(0) + f"Using network n{i}\n", n // 5)
    + count(lambda i: by(1) + "Bootstrap : Using eth0:10.0.0.1<0>\n", n - n // 5),
    "GPUs of a process": lambda n: count(lambda i: by(1) + COMM % (1, i, 8192, i, i, 2), n),
    "GPUs of a process, channels": lambda n: count(lambda i: f"h:1:7 [{i}] NCCL INFO " + CHANNEL % (i, 0), n),
    "communicators": lambda n: count(lambda i: by(1) + COMM % (i, 0, 2, 0, 0, i), n),
    "channels": lambda n: count(lambda i: by(i % 8192) + CHANNEL % (i % 8192, i // 8192 % 64), n),
    "HCAs": hcas,
    "HCA lists": lambda n: count(lambda i: by(1) + f"NET/IB : Using [0]mlx5_{i}:1/RoCE [RO]; OOB x\n", n),
    "a long HCA list": lambda n: fill(HEAD + "NET/IB : Using [0]" * 24 + "[" * 120000 + ";\n", n),
    "variables": lambda n: count(lambda i: by(1) + f"NCCL_A{i} set to {i}\n", n),
    "values": lambda n: count(lambda i: by(i % 8192) + f"NCCL_A{i % 64} set to {i}\n", n),
    "long values": lambda n: fill(HEAD + " NCCL_A set to x" * 23 + "y" * 120000 + "\n", n),
    "versions": lambda n: count(lambda i: by(i) + f"NCCL version 2.{i}.1\n", n),
    "GIDs": lambda n: count(lambda i: by(i) + f"NET/IB: qpn 1 mtu 5 GID {i} (0/5606{i % 10}AFFFF0000)\n", n),
    # faults
    "faults in a line": lambda n: fill(HEAD + "Cuda failure 'x' " * 23 + "y" * 120000 + "\n", n),
    "faults": lambda n: count(lambda i: by(i) + f"NET/IB : Unable to open device mlx5_{i}\n", n),
    "faults of many ranks": lambda n: count(
        lambda i: by(i % 8192)
        + f"NCCL_A{i % 60} set to 3\n"
        + by(i % 8192)
        + COMM % (1, i % 8192, 8192, 0, i, 2)
        + by(i % 8192)
        + f"ibv_query_gid failed with error x on dev mlx5_{i}\n",
        n,
    ),
    "reasons": lambda n: count(
        lambda i: by(i) + COMM % (1, i, 8192, 0, i, 2) + by(i) + f"NCCL_IB_DISABLE set to {i % 2}\n", n
    ),
    "missing ranks": lambda n: count(lambda i: by(i) + f"comm 0x1 rank {2 * i} nranks 99999 cudaDev 0 Init START\n", n),
    # what programs and launchers say
    "tracebacks that stay open": lambda n: fill(
        "".join(f"{'x' * 70}{k:02}Traceback (most recent call last):\n" for k in range(16)), 2000
    )
    + fill("x" * 69 + "\n", n),
    "tracebacks": lambda n: fill("Traceback (most recent call last):\nValueError\n", n),
    "exceptions of ranks": lambda n: count(
        lambda i: f"[rank{i}]: Traceback (most recent call last):\n[rank{i}]: E: {i}\n", n
    ),
    "ends": lambda n: count(lambda i: f"srun: error: n: task {i}: Killed\n", n),
    "ends of ranks": lambda n: count(
        lambda i: by(i) + COMM % (1, i, 8192, 0, i, 2) + f"srun: error: n: task {i}: Exited with exit code {i % 99 + 1}\n", n
    ),
    "waits": lambda n: count(
        lambda i: by(i)
        + COMM % (1, i, 8192, 0, i, 2)
        + f"[rank{i}]: caught collective operation timeout: WorkNCCL(SeqNum={i}, OpType=A{i}, NumelIn=1, NumelOut=1, Timeout(ms)=1)\n",
        n,
    ),
    "times in front": lambda n: fill("2026-11-23T15:31:58.1Z " * 5000 + "Traceback (most recent call last):\n", n),
    "files of a launcher": lambda n: fill("rank      : 1 (local_rank: 1)\nexitcode  : -9 (pid: 1)\n", n),
    # patterns
    "each message": lambda n: fill("\n".join(HEAD + example(row) for row in ROWS) + "\n", n),
    "each beginning, one line": lambda n: fill("".join(map(begin, ROWS)), n),
    "each beginning, lines": lambda n: in_lines("".join(begin(row) for row in ROWS if not row.startswith("NCCL ")), n),
    "ibv_, one line": lambda n: fill("ibv_", n),
    "onnect to <1>": lambda n: fill("onnect to <1> ", n),
}


# ---- how long it takes ---------------------------------------------------------------------------------------------


def seconds(path, *args):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        subprocess.run([PROGRAM, "log", *args, path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60)
    except subprocess.TimeoutExpired:
        pass  # which is long enough
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(make, n, *args):
    with tempfile.NamedTemporaryFile() as file:
        file.write(make(n).encode("latin1"))
        file.flush()
        return seconds(file.name, *args)


bad = 0
worst = (0, "")


def judge(name, make, n, limit, *args):
    """What takes longer than `limit` seconds must be a slow machine's: half of it then takes about half of the time. Each
    is measured twice more, and the shortest counts. What ships takes 5 times the limit on no machine."""
    global bad, worst
    took = measure(make, n, *args)
    worst = max(worst, (took * 10 * MB / n, name))
    if took <= limit:
        return
    took = min(took, measure(make, n, *args), measure(make, n, *args))
    half = min(measure(make, n // 2, *args) for _ in range(3))
    if took > 3 * half or (SHIPS and took > 5 * limit):
        print(f"FAILED: {name}: {n // 2} bytes take {half:.2f} s, {n} bytes {took:.2f} s")
        bad += 1


if __name__ == "__main__":
    os.environ["LC_ALL"] = "C"
    for i, (name, make) in enumerate(KINDS.items()):
        for args in [[], ["--json"]][i % 2 :: 2] if QUICK else [[], ["--json"]]:
            judge(" ".join([name, *args]), make, SIZE, 1 if QUICK else 4, *args)
    for row in ROWS[:: 8 if QUICK else 1]:
        forms = {"beginning": begin(row), "without its end": without_end(row)}
        if SHIPS:
            forms |= {"whole": example(row) + " ", "long numbers": example(row, "9" * 40) + " "}
        for form, unit in forms.items():
            # a line: it is in lines of this length that time could grow
            make = lambda n, unit=unit: in_lines(unit, n) if SHIPS else fill(unit, n)
            judge(f"{row}: {form}", make, MB if SHIPS else LINE, 0.3)
    print(f"log-hostile: {len(KINDS)} kinds, {len(ROWS)} patterns; slowest {worst[1]}: {worst[0]:.2f} s for 10 MB")
    sys.exit(bad > 0)
