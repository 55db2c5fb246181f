import torch
from torch import nn

model = nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(100, 10))
images = torch.rand(32, 784)
scores = model(images)
