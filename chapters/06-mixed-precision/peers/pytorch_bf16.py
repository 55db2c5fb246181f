"""PyTorch's side of the race in bf16: a multi-layer perceptron, Adam, f32 or `torch.autocast` with bf16.

The protocol of chapter 3's pytorch.py: one JSON object a line in, one out.
    {"batch": 512, "epochs": 3, "seed": 0}
    {"seconds": [2.0, 1.9, 1.9], "accuracy": 0.97, "framework": "PyTorch 2.15", "threads": 2}

    python pytorch_bf16.py FOLDER_WITH_MNIST [--threads N] [--pictures N] [--sizes 784-2048-2048-10]
                           [--autocast] [--fused]

--pictures trains on the first N only; --fused takes Adam's one-pass kernel, which is not the default on a CPU.
"""

import argparse
import json
import os
import sys
import time

import torch

# The reader of the files is chapter 3's.
chapters = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(os.path.join(chapters, "03-backprop", "peers"))
from mnist import load  # noqa: E402


def network(sizes):
    layers = []
    for inputs, outputs in zip(sizes, sizes[1:]):
        layers += [torch.nn.Linear(inputs, outputs), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1])


def job(data, options, batch, epochs, seed):
    (x, y), (test_x, test_y) = data
    torch.manual_seed(seed)
    model = network(options.sizes)
    loss_of = torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, **({"fused": True} if options.fused else {}))
    seconds = []
    for _ in range(epochs):
        start = time.perf_counter()
        order = torch.randperm(len(x))
        for first in range(0, len(x), batch):
            rows = order[first : first + batch]
            optimizer.zero_grad()
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=options.autocast):
                loss = loss_of(model(x[rows]), y[rows])
            loss.backward()
            optimizer.step()
        seconds.append(time.perf_counter() - start)
    with torch.no_grad():
        accuracy = (model(test_x).argmax(1) == test_y).double().mean().item()
    return seconds, accuracy


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data")
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--pictures", type=int)
    parser.add_argument("--sizes", type=lambda text: [int(size) for size in text.split("-")], default="784-2048-2048-10")
    parser.add_argument("--autocast", action="store_true")
    parser.add_argument("--fused", action="store_true")
    options = parser.parse_args()
    if options.threads:
        torch.set_num_threads(options.threads)
    train, tested = (
        (torch.from_numpy(pixels), torch.from_numpy(labels).long()) for pixels, labels in load(options.data)
    )
    data = tuple(part[: options.pictures] for part in train), tested
    name = f"PyTorch {torch.__version__}"
    name += ", bf16 autocast" if options.autocast else ", f32"
    name += ", fused Adam" if options.fused else ""
    for line in sys.stdin:
        wanted = json.loads(line)
        seconds, accuracy = job(data, options, wanted["batch"], wanted["epochs"], wanted["seed"])
        answer = {"seconds": seconds, "accuracy": accuracy, "framework": name, "threads": torch.get_num_threads()}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
