"""PyTorch's side of the race: 784-128-10 or other sizes, dropout 0.2, Adam, as its tutorials write it.

Reads jobs from standard input, one JSON object a line, and replies to each with one line of JSON:
    {"batch": 32, "epochs": 3, "seed": 0}
    {"seconds": [2.0, 1.9], "accuracies": [0.953, 0.968], "accuracy": 0.968, "framework": "PyTorch 2.15", "threads": 2}
The seconds are those of whole epochs, without the test. The images are in memory and a batch is one
indexing operation: no loader stands between, which is the fastest way that plain PyTorch has.

    python pytorch.py FOLDER_WITH_MNIST [--threads N] [--fused] [--compile] [--autocast] [--sizes 784,128,10] [--dropout 0.2]
        [--limit N]

--fused takes Adam's one-pass kernel, which is not the default on a CPU. --compile trains by torch.compile, which needs a C++
compiler; it compiles before the clock starts. --autocast computes in bf16 by torch.autocast. --limit trains on the first N
images. A job may have options of its own: "compile": true.
"""

import argparse
import contextlib
import json
import sys
import time

import torch
from torch.nn import functional as F

from mnist import load


def images(folder):
    """MNIST's images and labels: those to train on, and those to test with."""
    return [(torch.from_numpy(pixels), torch.from_numpy(labels).long()) for pixels, labels in load(folder)]


def parser(*flags):
    """The options of a program that waits for jobs."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=0)
    for flag in flags:
        parser.add_argument(flag, action="store_true")
    return parser


def serve(job, options):
    """Replies to all jobs, which are told the options and what they ask for."""
    if options.threads:
        torch.set_num_threads(options.threads)
    for line in sys.stdin:
        try:
            reply = job(argparse.Namespace(**vars(options) | json.loads(line)))
            reply["threads"] = torch.get_num_threads()
        except RuntimeError as error:  # too little memory, or what does not compile; the next job may do
            reply = {"error": str(error).split("\n")[0]}
        print(json.dumps(reply), flush=True)


def network(sizes, dropout):
    *hidden, last = [torch.nn.Linear(inputs, outputs) for inputs, outputs in zip(sizes, sizes[1:])]
    inner = [part for layer in hidden for part in (layer, torch.nn.ReLU(), torch.nn.Dropout(dropout))]
    return torch.nn.Sequential(*inner, last)


def compiled(model, x, y, batch):
    """The model compiled for every size of batch that the images make; its weights are as before."""
    torch.compiler.reset()  # what earlier jobs compiled counts towards a limit
    fast = torch.compile(model, dynamic=False, mode="reduce-overhead" if x.is_cuda else None)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    for size in [min(batch, len(x)), len(x) % batch or batch] * 3:  # a graph is made the second time
        rows = torch.arange(size, device=x.device)
        F.cross_entropy(fast(x[rows]), y[rows]).backward()
        model.zero_grad()
    model.load_state_dict(before)
    return fast


def job(wanted):
    (x, y), (test_x, test_y) = wanted.data
    x, y, batch = x[: wanted.limit], y[: wanted.limit], wanted.batch
    torch.manual_seed(wanted.seed)
    model = network([int(size) for size in wanted.sizes.split(",")], wanted.dropout)
    loss_of = torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, **({"fused": True} if wanted.fused else {}))
    learner = compiled(model, x, y, batch) if wanted.compile else model
    narrow = torch.autocast("cpu", dtype=torch.bfloat16) if wanted.autocast else contextlib.nullcontext()
    seconds, accuracies = [], []
    for _ in range(wanted.epochs):
        model.train()
        start = time.perf_counter()
        order = torch.randperm(len(x))
        for first in range(0, len(x), batch):
            rows = order[first : first + batch]
            optimizer.zero_grad()
            with narrow:
                loss = loss_of(learner(x[rows]), y[rows])
            loss.backward()
            optimizer.step()
        seconds.append(time.perf_counter() - start)
        model.eval()
        with torch.no_grad():
            accuracies.append((model(test_x).argmax(1) == test_y).double().mean().item())
    name = f"PyTorch {torch.__version__}" + (", fused Adam" if wanted.fused else "")
    name += (", compiled" if wanted.compile else "") + (", bf16 by autocast" if wanted.autocast else "")
    return {"seconds": seconds, "accuracies": accuracies, "accuracy": accuracies[-1], "framework": name}


def main():
    options = parser("--fused", "--compile", "--autocast")
    options.add_argument("data", type=images)
    options.add_argument("--sizes", default="784,128,10")
    options.add_argument("--dropout", type=float, default=0.2)
    options.add_argument("--limit", type=int)
    serve(job, options.parse_args())


if __name__ == "__main__":
    main()
