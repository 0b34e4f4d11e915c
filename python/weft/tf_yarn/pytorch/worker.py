"""A rank of DistributedDataParallel: what a task does with a PytorchExperiment."""
import os
import tempfile


def device_of_rank():
    """The device, and the backend for it: NCCL where each process has a GPU of its own; gloo where they share one, or have none."""
    import torch
    local_rank, processes = int(os.environ["LOCAL_RANK"]), int(os.environ["LOCAL_WORLD_SIZE"])
    if not torch.cuda.is_available():
        return torch.device("cpu"), "gloo"
    count = torch.cuda.device_count()
    return torch.device("cuda", local_rank % count), "nccl" if processes <= count else "gloo"


def make_loader(dataset, arguments):
    import torch
    from torch.utils.data.distributed import DistributedSampler
    options = arguments._asdict()
    if not options["num_workers"]:
        options.pop("prefetch_factor")  # torch refuses it there
    if isinstance(dataset, torch.utils.data.IterableDataset):
        return torch.utils.data.DataLoader(dataset, **options)
    shuffle = options.pop("shuffle")
    return torch.utils.data.DataLoader(dataset, sampler=DistributedSampler(dataset, shuffle=shuffle), **options)


def open_writer(folder):
    """A SummaryWriter, or None where tensorboard is not installed."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    return SummaryWriter(folder)


def upload(folder, target):
    """Copies the files of a rank to a directory here, or in HDFS."""
    import shutil
    import subprocess
    if "://" not in target:
        shutil.copytree(folder, target, dirs_exist_ok=True)
        return
    for name in os.listdir(folder):
        subprocess.run([os.environ["WEFT_PROGRAM"], "put", os.path.join(folder, name), target.rstrip("/") + "/" + name], check=True)


def train(experiment):
    import torch
    import torch.distributed
    from torch.nn.parallel import DistributedDataParallel
    device, backend = device_of_rank()
    if device.type == "cuda":
        torch.cuda.set_device(device)
    torch.distributed.init_process_group(backend)
    rank = torch.distributed.get_rank()
    options = experiment.ddp_args._asdict() if experiment.ddp_args else {}
    model = DistributedDataParallel(experiment.model.to(device), device_ids=[device] if device.type == "cuda" else None, **options)
    loader = make_loader(experiment.train_dataset, experiment.dataloader_args)
    with tempfile.TemporaryDirectory() as folder:
        writer = open_writer(folder)
        experiment.main_fn(model, loader, str(device), rank, writer)
        if writer:
            writer.close()
            if experiment.tensorboard_hdfs_dir:
                upload(folder, f"{experiment.tensorboard_hdfs_dir.rstrip('/')}/worker{rank}")
    torch.distributed.destroy_process_group()
