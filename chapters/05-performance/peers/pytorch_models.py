"""PyTorch's side of the race of whole trainings: chapter 4's six models, each trained by its recipe.

Jobs and replies are those of chapter 3's pytorch.py, one line of JSON each:
    {"batch": 128, "epochs": 2, "seed": 0}
    {"seconds": [1.9, 1.8], "accuracies": [0.94, 0.96], "accuracy": 0.96, "framework": "PyTorch 2.15, fused Adam",
     "threads": 2, "parameters": 117066}
The seconds are those of whole epochs, without the test. The images are in memory, in the model's shape, and a
batch is one indexing operation. Architecture, range of the first weights, optimizer, dropout and schedule are the Rust
models', and so is the number of parameters.

    python pytorch_models.py FOLDER_WITH_MNIST --model cnn [--limit N] [--threads N] [--augment] [--channels-last]
        [--compile] [--device cuda]

--limit trains on the first N images. --augment changes them as the recipe of resnet does. --channels-last puts images and filters of cnn and resnet into
torch.channels_last. --compile trains by torch.compile, which needs a C++ compiler; it compiles before the clock starts. --device cuda trains on a GPU, on
which all images are from the start; there --compile takes the mode that replays a step as a CUDA graph. A job may have options of its own:
{"batch": 128, "epochs": 2, "seed": 0, "model": "mlp", "limit": 1280, "compile": true}.
"""

import math
import os
import sys
import time
from typing import Callable, NamedTuple

import torch
from torch import nn
from torch.nn import functional as F

# What reads the files, compiles a model and waits for jobs is chapter 3's.
chapters = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(os.path.join(chapters, "03-backprop", "peers"))
from pytorch import compiled, images, parser, serve  # noqa: E402

TEST_BATCH = 1000


def linear():
    return nn.Linear(784, 10)


def mlp():
    return nn.Sequential(nn.Linear(784, 128), nn.ReLU(inplace=True), nn.Dropout(0.2), nn.Linear(128, 10))


def filters(*sizes, **options):
    """A convolution that starts as He et al. (2015) suggest for ReLU."""
    layer = nn.Conv2d(*sizes, **options)
    nn.init.kaiming_uniform_(layer.weight, nonlinearity="relu")
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)
    return layer


def cnn():
    # ReLU after the pool gives the same as before it, and has a quarter of the values to go through.
    first = filters(1, 16, 5, padding=2), nn.MaxPool2d(2), nn.ReLU(inplace=True)
    second = filters(16, 32, 5), nn.MaxPool2d(2), nn.ReLU(inplace=True)
    dense = nn.Linear(800, 128), nn.ReLU(inplace=True), nn.Dropout(0.5), nn.Linear(128, 10)
    return nn.Sequential(*first, *second, nn.Flatten(), *dense)


def normalised(inputs, outputs, size):
    """Filters without a bias, for the normalisation has one."""
    return filters(inputs, outputs, size, padding=size // 2, bias=False), nn.BatchNorm2d(outputs)


class Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        first, second = normalised(channels, channels, 3), normalised(channels, channels, 3)
        self.layers = nn.Sequential(*first, nn.ReLU(inplace=True), *second)

    def forward(self, x):
        return F.relu(self.layers(x).add_(x), inplace=True)


def resnet():
    stem = *normalised(1, 24, 3), nn.MaxPool2d(2), nn.ReLU(inplace=True)
    wide = Residual(24), nn.MaxPool2d(2)
    grow = *normalised(24, 48, 1), nn.ReLU(inplace=True)
    deep = Residual(48), nn.AdaptiveAvgPool2d(1), nn.Flatten()
    return nn.Sequential(*stem, *wide, *grow, *deep, nn.Linear(48, 10))


class Recurrent(nn.Module):
    """A gated recurrent unit that reads the rows of an image."""

    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(28, 128, batch_first=True)
        self.dense = nn.Linear(128, 10)
        bound = 1 / math.sqrt(28)  # PyTorch starts them as if they had 128 inputs
        nn.init.uniform_(self.gru.weight_ih_l0, -bound, bound)
        nn.init.uniform_(self.gru.bias_ih_l0, -bound, bound)

    def forward(self, rows):
        _, last = self.gru(rows)
        return self.dense(last[0])


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.queries_keys_values = nn.Linear(width, 3 * width)
        self.merge = nn.Linear(width, width)

    def forward(self, x):
        split = self.queries_keys_values(x).unflatten(-1, (3, self.heads, -1))
        q, k, v = split.permute(2, 0, 3, 1, 4)  # each: images, heads, patches, values
        return self.merge(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self, width, hidden, heads):
        super().__init__()
        self.attention = nn.Sequential(nn.LayerNorm(width), Attention(width, heads))
        dense = nn.Linear(width, hidden), nn.ReLU(inplace=True), nn.Linear(hidden, width)
        self.dense = nn.Sequential(nn.LayerNorm(width), *dense)

    def forward(self, x):
        x = x + self.attention(x)
        return x + self.dense(x)


class Transformer(nn.Module):
    """The 16 patches of an image, 7×7 pixels each, as 64 values; two blocks; the mean of the patches decides."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(49, 64)
        self.position = nn.Parameter(torch.empty(16, 64).uniform_(-0.03, 0.03))
        self.blocks = nn.Sequential(Block(64, 128, 4), Block(64, 128, 4))
        self.dense = nn.Sequential(nn.LayerNorm(64), nn.Linear(64, 10))

    def forward(self, images):
        patches = images.transpose(2, 3).reshape(-1, 16, 49)
        return self.dense(self.blocks(self.embed(patches) + self.position).mean(1))


class Recipe(NamedTuple):
    """`Settings::of` in chapter 4's config.rs; the shape is that of an image."""

    network: Callable
    shape: tuple
    lr: float = 1e-3
    cosine: bool = True
    warmup: int = 0
    adamw: bool = False
    decay: float = 0.0


RECIPES = {
    "linear": Recipe(linear, (784,), cosine=False),
    "mlp": Recipe(mlp, (784,), lr=3e-3),
    "cnn": Recipe(cnn, (1, 28, 28)),
    "resnet": Recipe(resnet, (1, 28, 28), lr=2e-3, warmup=200, adamw=True, decay=0.02),
    "rnn": Recipe(Recurrent, (28, 28), lr=3e-3, warmup=200),
    "transformer": Recipe(Transformer, (4, 7, 4, 7), lr=2e-3, warmup=400, adamw=True, decay=0.02),
}


def rate(recipe, step, steps):
    """The learning rate of a step, from 0, of a run of so many steps: `rate` in chapter 4's schedule.rs."""
    if step < recipe.warmup:
        return recipe.lr * (step + 1) / recipe.warmup
    if not recipe.cosine:
        return recipe.lr
    done = (step - recipe.warmup) / (max(steps, recipe.warmup + 1) - recipe.warmup)
    return recipe.lr * (1 + math.cos(math.pi * min(done, 1))) / 2


def within(count, most, device):
    """So many random numbers from -most to most."""
    return torch.empty(count, device=device).uniform_(-most, most)


def augmented(x):
    """Images (count, 1, 28, 28), each turned, slanted, stretched and moved a little: chapter 4's augment.rs."""
    count, half, device = len(x), 27 / 2, x.device
    turn, slant = torch.deg2rad(within(count, 12, device)), within(count, 0.1, device)
    wide, high = 1 + within(count, 0.1, device), 1 + within(count, 0.1, device)
    sin, cos = turn.sin(), turn.cos()
    shift = within((2, count), 2, device) / half  # the grid goes from -1 to 1
    above = torch.stack([cos * wide, (slant * cos - sin) * high, shift[0]], 1)
    below = torch.stack([sin * wide, (slant * sin + cos) * high, shift[1]], 1)
    grid = F.affine_grid(torch.stack([above, below], 1), list(x.shape), align_corners=True)
    return F.grid_sample(x, grid, align_corners=True)


def accuracy(model, x, y):
    model.eval()
    with torch.no_grad():
        right = sum((model(x).argmax(1) == y).sum().item() for x, y in zip(x.split(TEST_BATCH), y.split(TEST_BATCH)))
    return right / len(y)


def clock(device):
    """The time at which all that was started is done."""
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()


def job(options):
    recipe, batch, epochs = RECIPES[options.model], options.batch, options.epochs
    pictures = options.channels_last and len(recipe.shape) == 3
    torch.manual_seed(options.seed)
    model = recipe.network().to(options.device)
    if pictures:
        model = model.to(memory_format=torch.channels_last)

    def shaped(x, y, count=None):
        x, y = x.to(options.device), y.to(options.device)
        x = x[:count].view(-1, *recipe.shape)
        return x.to(memory_format=torch.channels_last) if pictures else x, y[:count]

    (x, y), tested = shaped(*options.data[0], options.limit), shaped(*options.data[1])
    rule = torch.optim.AdamW if recipe.adamw else torch.optim.Adam
    optimizer = rule(model.parameters(), lr=recipe.lr, weight_decay=recipe.decay, fused=True)
    learner = compiled(model, x, y, batch) if options.compile else model
    seconds, accuracies, step, steps = [], [], 0, epochs * math.ceil(len(x) / batch)
    for _ in range(epochs):
        model.train()
        start = clock(options.device)
        for rows in torch.randperm(len(x), device=x.device).split(batch):
            for group in optimizer.param_groups:
                group["lr"] = rate(recipe, step, steps)
            optimizer.zero_grad()
            seen = augmented(x[rows]) if options.augment else x[rows]
            F.cross_entropy(learner(seen), y[rows]).backward()
            optimizer.step()
            step += 1
        seconds.append(clock(options.device) - start)
        accuracies.append(accuracy(model, *tested))
    name = f"PyTorch {torch.__version__}, fused {rule.__name__}"
    name += ", channels last" if pictures else ""
    name += ", compiled" if options.compile else ""
    return {
        "seconds": seconds,
        "accuracies": accuracies,
        "accuracy": accuracies[-1],
        "framework": name,
        "parameters": sum(p.numel() for p in model.parameters()),
    }


def main():
    options = parser("--augment", "--channels-last", "--compile")
    options.add_argument("data", type=images)
    options.add_argument("--model", choices=list(RECIPES))
    options.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    options.add_argument("--limit", type=int)
    serve(job, options.parse_args())


if __name__ == "__main__":
    main()
