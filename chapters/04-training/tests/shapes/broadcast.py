import torch
from torch import nn

model = nn.Linear(784, 1)
images = torch.rand(32, 784)
ages = torch.rand(32)
differences = model(images) - ages
loss = differences.square().mean()
loss.backward()
print("differences:", tuple(differences.shape))
