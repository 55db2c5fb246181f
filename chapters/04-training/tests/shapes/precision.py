import torch

images = torch.rand(32, 784, dtype=torch.float64)
weights = torch.rand(784, 10)
scores = images @ weights
