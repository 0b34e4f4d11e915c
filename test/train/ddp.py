"""DistributedDataParallel over gloo, with everything from the environment. Rank 0 prints the weights; each rank fails when its own are
not those of rank 0."""
import os

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(rank)  # each rank has data and first weights of its own
model = DistributedDataParallel(torch.nn.Linear(3, 1, bias=False))
learner = torch.optim.SGD(model.parameters(), lr=0.5)
for _ in range(300):
    inputs = torch.rand(64, 3)
    loss = ((model(inputs) - inputs @ torch.tensor([[1.0], [2.0], [3.0]])) ** 2).mean()
    learner.zero_grad()
    loss.backward()
    learner.step()
weights = model.module.weight.detach().clone()
first = weights.clone()
dist.broadcast(first, 0)
assert torch.equal(first, weights), "ranks have different weights"
assert loss.item() < 0.01, loss.item()
local = int(os.environ["LOCAL_RANK"]), int(os.environ["LOCAL_WORLD_SIZE"])
print(f"rank {rank} of {world}, {local[0]} of {local[1]} here:", [round(w, 1) for w in weights.ravel().tolist()], flush=True)
dist.destroy_process_group()
