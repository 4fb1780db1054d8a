# A stand-in for your training: data-parallel steps of a small model on made-up data; STEPS of them.
# SPDX-License-Identifier: Apache-2.0
import os
import time

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def main():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl")
    layers = [torch.nn.Linear(4096, 4096) for _ in range(8)]
    model = DistributedDataParallel(torch.nn.Sequential(*layers).cuda())
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    batch = torch.randn(64, 4096, device="cuda")
    since = time.monotonic()
    for steps in range(1, int(os.environ.get("STEPS", "2000")) + 1):
        optimizer.zero_grad(set_to_none=True)
        model(batch).square().mean().backward()
        optimizer.step()
        if steps % 100 == 0:
            torch.cuda.synchronize()
            now = time.monotonic()
            if dist.get_rank() == 0:
                print(f"step={steps} ranks={dist.get_world_size()} steps_per_s={100 / (now - since):.1f}", flush=True)
            since = now
    dist.destroy_process_group()


main()
