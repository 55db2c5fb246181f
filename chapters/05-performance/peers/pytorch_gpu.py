"""What PyTorch reaches on a GPU with what a training is made of: products, copies, attention, a decomposition.

Reads jobs from standard input, one JSON object a line, and replies to each with one line of JSON:
    {"what": "product", "type": "bf16", "n": 4096}
    {"seconds": [0.00018, …], "framework": "PyTorch 2.15"}
The seconds are those of one call, by the device's clock, each the mean of as many as take some milliseconds together. What can't
be done here has an "error" in their place.

    python pytorch_gpu.py [--device cpu]

product: n×n matrices of f32, tf32 or bf16. copy: n bytes on the device, or from "pageable" or "pinned" memory to it.
attention: bf16, causal, 16,384 tokens in sequences of n, 768 / head heads; forward, or with "backward" both. lu: n×n, f32.
"""

import argparse
import json
import sys
import time

import torch
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

SAMPLES = 7
TOKENS, WIDTH = 16_384, 768
BACKENDS = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION, "math": SDPBackend.MATH}


def product(device, wanted):
    short = wanted["type"] == "bf16"
    torch.backends.cuda.matmul.allow_tf32 = wanted["type"] == "tf32"
    shape = {"size": (wanted["n"], wanted["n"]), "dtype": torch.bfloat16 if short else torch.float32}
    a, b = torch.randn(**shape, device=device), torch.randn(**shape, device=device)
    c = torch.empty_like(a)
    return lambda: torch.mm(a, b, out=c)


def copy(device, wanted):
    source = torch.ones(wanted["n"] // 4, device=device if wanted["type"] == "device" else "cpu")
    if wanted["type"] == "pinned" and device == "cuda":
        source = source.pin_memory()
    to = torch.empty(len(source), device=device)
    return lambda: to.copy_(source, non_blocking=True)


def attention(device, wanted):
    length, heads = wanted["n"], WIDTH // wanted["head"]
    shape = (TOKENS // length, heads, length, wanted["head"])
    q, k, v = (torch.randn(shape, device=device, dtype=torch.bfloat16, requires_grad=True) for _ in range(3))
    upstream = torch.randn_like(q)

    def forward():
        with sdpa_kernel(BACKENDS[wanted["type"]]):
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    def both():
        torch.autograd.grad(forward(), (q, k, v), upstream)

    return both if wanted["backward"] else torch.no_grad()(forward)


def lu(device, wanted):
    torch.backends.cuda.matmul.allow_tf32 = False
    a = torch.randn(wanted["n"], wanted["n"], device=device)
    return lambda: torch.linalg.lu_factor(a)


def timed(device, work, times):
    """Seconds of a call, when so many are started one after the other."""
    if device == "cpu":
        begun = time.perf_counter()
        for _ in range(times):
            work()
        return (time.perf_counter() - begun) / times
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(times):
        work()
    end.record()
    torch.cuda.synchronize()
    return begin.elapsed_time(end) / 1e3 / times


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cuda")
    device = parser.parse_args().device
    works = {"product": product, "copy": copy, "attention": attention, "lu": lu}
    for line in sys.stdin:
        wanted, reply = json.loads(line), {"framework": f"PyTorch {torch.__version__}"}
        try:
            work = works[wanted["what"]](device, wanted)
            work()  # libraries load, and choose
            times = min(max(int(0.005 / timed(device, work, 1)), 1), 1000)
            reply["seconds"] = [timed(device, work, times) for _ in range(SAMPLES)]
        except RuntimeError as error:  # too little memory, or attention that this GPU has no kernel for
            reply["error"] = str(error).splitlines()[0]
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
