"""PyTorch's side of the race of decoding: the chapter's transformer with a KV cache, one sequence, the likeliest token.

Reads jobs from standard input, one JSON object a line, and replies to each with one line of JSON:
    {"model": "model.safetensors", "prompt": [5, 17, …], "tokens": 32}
    {"tokens": [9, …], "first": 0.004, "seconds": [0.002, …], "framework": "PyTorch 2.15", "threads": 2}
The prompt is read in one pass; "first" are its seconds, and "seconds" those of each further token. The cache is allocated
once, attention reads the part that is filled, and nothing is recorded for a backward pass.

    python pytorch_generate.py [--threads N] [--compile]

--compile compiles the step first, which needs a C++ compiler.
"""

import time

import torch
from torch.nn import functional as F

from pytorch_gpt import load, parser, serve, turned


class Decoder:
    """The model's layers with a cache for the keys and values of each."""

    def __init__(self, model):
        self.model = model
        attention = model.blocks[0].attention
        shape = (1, attention.heads, attention.cos.shape[0], attention.cos.shape[1])
        self.caches = [(torch.zeros(shape), torch.zeros(shape)) for _ in model.blocks]

    def step(self, tokens, start):
        """The scores after the last of these tokens, which stand at `start` and behind it."""
        end = start + tokens.shape[1]
        x = self.model.table(tokens)
        for block, (keys, values) in zip(self.model.blocks, self.caches):
            attention = block.attention
            qkv = attention.qkv(block.norm1(x)).unflatten(-1, (3, attention.heads, -1))
            q, k, v = qkv.permute(2, 0, 3, 1, 4)
            cos, sin = attention.cos[start:end], attention.sin[start:end]
            keys[:, :, start:end] = turned(k, cos, sin)
            values[:, :, start:end] = v
            q = turned(q, cos, sin)
            mixed = F.scaled_dot_product_attention(q, keys[:, :, :end], values[:, :, :end], is_causal=start == 0)
            x = x + attention.out(mixed.transpose(1, 2).flatten(2))
            x = x + block.feed_forward(block.norm2(x))
        return F.linear(self.model.norm(x[:, -1]), self.model.table.weight)


@torch.inference_mode()
def job(wanted):
    decoder = Decoder(load(wanted.model))
    step = torch.compile(decoder.step, dynamic=True) if wanted.compile else decoder.step
    prompt = torch.tensor([wanted.prompt])
    step(prompt, 0)  # warm
    began = time.perf_counter()
    token = step(prompt, 0).argmax(-1, keepdim=True)
    first = time.perf_counter() - began
    tokens, seconds = [], []
    for position in range(prompt.shape[1], prompt.shape[1] + wanted.tokens):
        tokens.append(token.item())
        began = time.perf_counter()
        token = step(token, position).argmax(-1, keepdim=True)
        token.item()
        seconds.append(time.perf_counter() - began)
    name = f"PyTorch {torch.__version__}" + (", compiled" if wanted.compile else "")
    return {"tokens": tokens, "first": first, "seconds": seconds, "framework": name}


if __name__ == "__main__":
    serve(job, parser("--compile").parse_args())
