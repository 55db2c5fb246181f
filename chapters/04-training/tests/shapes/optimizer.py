import torch
from torch import nn

old = nn.Linear(784, 10)
new = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))
sgd = torch.optim.SGD(old.parameters(), lr=0.01)
images = torch.rand(32, 784)
before = new[0].weight.clone()
new(images).square().mean().backward()
sgd.step()
print("weights changed:", not torch.equal(before, new[0].weight))
