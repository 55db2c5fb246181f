"""PyTorch's side of the race: the chapter's transformer from PyTorch's own layers, trained step by step.

Reads jobs from standard input, one JSON object a line, and replies to each with one line of JSON:
    {"model": "model.safetensors", "batches": "batches.u32", "batch": 16, "length": 128, "steps": 20,
     "rates": [0.001, …], "clip": 1.0, "decay": 0.1, "beta1": 0.9, "beta2": 0.95, "eps": 1e-8, "gradient": ""}
    {"losses": [6.93, …], "norms": [1.1, …], "seconds": [0.4, …], "framework": "PyTorch 2.15, fused AdamW",
     "threads": 2, "parameters": 935040}
The model's file is one that the chapter writes, with its sizes in the metadata. The batches are raw little-endian 32-bit
numbers, [steps, 2, batch, length]: tokens, then targets; they are taken again from the start when there are fewer than
steps. A step is what the clock sees: forward, backward, clipping and update. With "gradient", the first step's gradient is
written to that file, in the order of the chapter's buffer.

    python pytorch_gpt.py [--threads N] [--device cuda] [--tf32] [--bf16] [--compile]

--tf32 lets products of f32 round their inputs on a GPU's tensor cores. --bf16 computes by torch.autocast. --compile compiles the model first, which needs
a C++ compiler. A job may have options of its own: "bf16": true.
"""

import json
import os
import struct
import sys
import time

import numpy
import torch
from torch import nn
from torch.nn import functional as F

# What waits for jobs is chapter 3's.
chapters = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(os.path.join(chapters, "03-backprop", "peers"))
from pytorch import parser, serve  # noqa: E402

EPS = 1e-5  # of the normalisations
BASE = 10_000.0  # of the rotary positions


def read(path):
    """The sizes and the tensors of a safetensors file: 8 bytes of length, a header in JSON, the values."""
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header, data = json.loads(file.read(length)), file.read()
    config = json.loads(header.pop("__metadata__")["config"])
    tensors = {}
    for name, about in header.items():
        start, end = about["data_offsets"]
        values = numpy.frombuffer(data[start:end], dtype="<f4").reshape(about["shape"])
        tensors[name] = torch.from_numpy(values.copy())
    return config, tensors


class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return F.rms_norm(x, self.weight.shape, self.weight, EPS)


def turned(x, cos, sin):
    """Queries or keys, each turned by the angles of its position."""
    half = x.shape[-1] // 2
    return x * cos + torch.cat([-x[..., half:], x[..., :half]], -1) * sin


class Attention(nn.Module):
    def __init__(self, width, heads, context):
        super().__init__()
        self.heads, size = heads, width // heads
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        angles = torch.outer(torch.arange(context).double(), BASE ** (-torch.arange(0, size, 2).double() / size))
        self.register_buffer("cos", torch.cat([angles, angles], -1).cos().float(), persistent=False)
        self.register_buffer("sin", torch.cat([angles, angles], -1).sin().float(), persistent=False)

    def forward(self, x):
        qkv = self.qkv(x).unflatten(-1, (3, self.heads, -1))
        q, k, v = qkv.permute(2, 0, 3, 1, 4)  # each: sequences, heads, tokens, values
        cos, sin = self.cos[: x.shape[1]], self.sin[: x.shape[1]]
        mixed = F.scaled_dot_product_attention(turned(q, cos, sin), turned(k, cos, sin), v, is_causal=True)
        return self.out(mixed.transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.gate_up = nn.Linear(width, 2 * hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x):
        gate, up = self.gate_up(x).chunk(2, -1)
        return self.down(F.silu(gate) * up)


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        width = config["width"]
        self.norm1, self.attention = Norm(width), Attention(width, config["heads"], config["context"])
        self.norm2, self.feed_forward = Norm(width), FeedForward(width, config["hidden"])

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.feed_forward(self.norm2(x))


class Gpt(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.table = nn.Embedding(config["vocabulary"], config["width"])
        self.blocks = nn.Sequential(*(Block(config) for _ in range(config["layers"])))
        self.norm = Norm(config["width"])

    def forward(self, tokens):
        return F.linear(self.norm(self.blocks(self.table(tokens))), self.table.weight)


def tensors(model):
    """The parameters in the order of the chapter's buffer, each with its name there and whether it lies transposed."""
    yield "embedding", model.table.weight, False
    for layer, block in enumerate(model.blocks):
        yield f"layers.{layer}.norm1", block.norm1.weight, False
        yield f"layers.{layer}.qkv", block.attention.qkv.weight, True
        yield f"layers.{layer}.out", block.attention.out.weight, True
        yield f"layers.{layer}.norm2", block.norm2.weight, False
        yield f"layers.{layer}.gate_up", block.feed_forward.gate_up.weight, True
        yield f"layers.{layer}.down", block.feed_forward.down.weight, True
    yield "norm", model.norm.weight, False


def load(path):
    config, values = read(path)
    model = Gpt(config)
    with torch.no_grad():
        for name, parameter, transposed in tensors(model):
            parameter.copy_(values[name].t() if transposed else values[name])
    return model


def gradient(model):
    """All derivatives as the chapter's buffer has them."""
    each = (p.grad.t() if transposed else p.grad for _, p, transposed in tensors(model))
    return torch.cat([values.reshape(-1) for values in each])


def job(options):
    torch.backends.cuda.matmul.allow_tf32 = options.tf32
    model = load(options.model).to(options.device)
    data = numpy.fromfile(options.batches, dtype="<u4").astype(numpy.int64)
    data = torch.from_numpy(data).view(-1, 2, options.batch, options.length).to(options.device)
    matrices = [p for p in model.parameters() if p.dim() == 2]
    scales = [p for p in model.parameters() if p.dim() == 1]
    groups = [{"params": matrices, "weight_decay": options.decay}, {"params": scales, "weight_decay": 0.0}]
    betas = (options.beta1, options.beta2)
    optimizer = torch.optim.AdamW(groups, lr=1e-3, betas=betas, eps=options.eps, fused=True)
    learner = model
    if options.compile:
        learner = torch.compile(model)
        with torch.autocast(options.device, torch.bfloat16, enabled=options.bf16):
            scores = learner(data[0, 0])
        F.cross_entropy(scores.flatten(0, 1).float(), data[0, 1].flatten()).backward()
    losses, norms, seconds = [], [], []
    for step in range(options.steps):
        start = time.perf_counter()
        tokens, targets = data[step % len(data)]
        for group in optimizer.param_groups:
            group["lr"] = options.rates[step]
        optimizer.zero_grad()
        with torch.autocast(options.device, torch.bfloat16, enabled=options.bf16):
            scores = learner(tokens)
            loss = F.cross_entropy(scores.flatten(0, 1).float(), targets.flatten())
        loss.backward()
        if step == 0 and options.gradient:
            gradient(model).cpu().numpy().astype("<f4").tofile(options.gradient)
        norm = nn.utils.clip_grad_norm_(model.parameters(), options.clip)
        optimizer.step()
        losses.append(loss.item())
        seconds.append(time.perf_counter() - start)
        norms.append(norm.item())
    name = f"PyTorch {torch.__version__}, fused AdamW"
    name += ", bf16 by autocast" if options.bf16 else ", TF32" if options.tf32 else ""
    name += ", compiled" if options.compile else ""
    return {
        "losses": losses,
        "norms": norms,
        "seconds": seconds,
        "framework": name,
        "parameters": sum(p.numel() for p in model.parameters()),
    }


def main():
    options = parser("--tf32", "--bf16", "--compile")
    options.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    serve(job, options.parse_args())


if __name__ == "__main__":
    main()
