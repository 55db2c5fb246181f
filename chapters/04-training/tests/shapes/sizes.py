import torch
from torch import nn

model = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(100, 10))
pictures = torch.rand(32, 784)
scores = model(pictures)
