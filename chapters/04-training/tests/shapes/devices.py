import torch
from torch.nn import functional as F

scores = torch.rand(32, 10, device="cpu")
labels = torch.rand(32, 10, device="meta")  # instead of a GPU
loss = F.cross_entropy(scores, labels)
