"""Programs for tf-yarn, with the import changed: a function that is called in each task. `experiments.py mirrored|servers|ddp` runs one of them by
run_on_yarn, with the environment of this Python or that of PYENV, where WEFT_ON says. Each learns the weights 1, 2, 3 and fails when it does not get near them."""
import os
import sys

from weft.tf_yarn import TaskSpec, report_metric, run_on_yarn

SIZE = {"memory": os.environ.get("TASK_MEMORY", "512 MiB"), "vcores": 1}


def mirrored():
    import runpy
    runpy.run_path("mirrored.py")


def servers():
    import runpy
    sys.argv[1:] = [os.environ["CHECKPOINTS"]]
    runpy.run_path("servers.py")


def train(model, loader, device, rank, tb_writer):
    import torch
    learner = torch.optim.SGD(model.parameters(), lr=0.5)
    for epoch in range(40):
        loader.sampler.set_epoch(epoch)
        for inputs, outputs in loader:
            loss = ((model(inputs.to(device)) - outputs.to(device)) ** 2).mean()
            learner.zero_grad()
            loss.backward()
            learner.step()
    assert loss.item() < 0.01, loss.item()
    report_metric("loss", loss.item(), step=epoch)
    print(f"rank {rank} on {device}:", [round(w, 1) for w in model.module.weight.ravel().tolist()], flush=True)


def ddp():
    import torch
    from weft.tf_yarn.pytorch import DataLoaderArgs, PytorchExperiment
    torch.manual_seed(1)
    inputs = torch.rand(512, 3)
    data = torch.utils.data.TensorDataset(inputs, inputs @ torch.tensor([[1.0], [2.0], [3.0]]))
    return PytorchExperiment(torch.nn.Linear(3, 1, bias=False), train, data, DataLoaderArgs(batch_size=32, shuffle=True))


if __name__ == "__main__":
    here = os.path.dirname(os.path.abspath(__file__))
    worker, specs = TaskSpec(**SIZE, instances=2), {}
    if sys.argv[1] == "servers":
        specs = {"chief": TaskSpec(**SIZE), "ps": TaskSpec(**SIZE), "evaluator": TaskSpec(**SIZE),
                 "tensorboard": TaskSpec(**SIZE, tb_model_dir=os.environ["CHECKPOINTS"], tb_termination_timeout_seconds=10)}
    if sys.argv[1] == "ddp":
        from weft.tf_yarn.pytorch import run_on_yarn
        worker = TaskSpec(SIZE["memory"], 2, instances=2, nb_proc_per_worker=2)
    metrics = run_on_yarn(globals()[sys.argv[1]], {**specs, "worker": worker},
                          pyenv_zip_path=os.environ.get("PYENV"),
                          files={name: os.path.join(here, name) for name in ("mirrored.py", "servers.py")},
                          env={name: os.environ[name] for name in ("CHECKPOINTS", "CUDA_VISIBLE_DEVICES") if name in os.environ})
    assert metrics.total_training_duration is not None
