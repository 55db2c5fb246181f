import torch
from torch import nn
from torch.nn import functional as F

model = nn.Linear(784, 10)
images = torch.rand(3, 784)
scores = model(images)
labels = F.one_hot(torch.tensor([3, 1, 4])).float()
loss = F.cross_entropy(scores, labels)
