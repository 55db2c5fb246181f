"""PyTorch's side of the race: 784-128-10 or other sizes, dropout 0.2, Adam, as its tutorials write it.

Reads jobs from standard input, one JSON object a line, and replies to each with one line of JSON:
    {"batch": 32, "epochs": 3, "seed": 0}
    {"seconds": [2.0, 1.9], "accuracies": [0.953, 0.968], "accuracy": 0.968, "framework": "PyTorch 2.15", "threads": 2}
The seconds are those of whole epochs, without the test. The images are in memory and a batch is one
indexing operation: no loader stands between, which is the fastest way that plain PyTorch has.

    python pytorch.py FOLDER_WITH_MNIST [--threads N] [--fused] [--compile] [--sizes 784,128,10]

--fused takes Adam's one-pass kernel, which is not the default on a CPU. --compile trains by torch.compile, which needs a C++
compiler; it compiles before the clock starts.
"""

import argparse
import json
import sys
import time

import torch
from torch.nn import functional as F

from mnist import load


def network(sizes):
    *hidden, last = [torch.nn.Linear(inputs, outputs) for inputs, outputs in zip(sizes, sizes[1:])]
    inner = [part for layer in hidden for part in (layer, torch.nn.ReLU(), torch.nn.Dropout(0.2))]
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


def job(data, options, batch, epochs, seed):
    (x, y), (test_x, test_y) = data
    torch.manual_seed(seed)
    model = network([int(size) for size in options.sizes.split(",")])
    loss_of = torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, **({"fused": True} if options.fused else {}))
    learner = compiled(model, x, y, batch) if options.compile else model
    seconds, accuracies = [], []
    for _ in range(epochs):
        model.train()
        start = time.perf_counter()
        order = torch.randperm(len(x))
        for first in range(0, len(x), batch):
            rows = order[first : first + batch]
            optimizer.zero_grad()
            loss = loss_of(learner(x[rows]), y[rows])
            loss.backward()
            optimizer.step()
        seconds.append(time.perf_counter() - start)
        model.eval()
        with torch.no_grad():
            accuracies.append((model(test_x).argmax(1) == test_y).double().mean().item())
    return seconds, accuracies


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--fused", action="store_true")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--sizes", default="784,128,10")
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    data = [
        (torch.from_numpy(pixels), torch.from_numpy(labels).long()) for pixels, labels in load(options.data)
    ]
    name = f"PyTorch {torch.__version__}" + (", fused Adam" if options.fused else "")
    name += ", compiled" if options.compile else ""
    for line in sys.stdin:
        wanted = json.loads(line)
        seconds, accuracies = job(data, options, wanted["batch"], wanted["epochs"], wanted["seed"])
        reply = {"seconds": seconds, "accuracies": accuracies, "accuracy": accuracies[-1]}
        reply |= {"framework": name, "threads": torch.get_num_threads()}
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
