"""Times steps on a device that works behind the host's back, as `kato-libtorch measure` does."""

import json
import math
import resource
import time

import torch

N_WARM_UP = 4
N_ESTIMATE = 3


def find_device(name):
    """Returns the device, or ends with a sentence where there is none."""
    if name == "cuda" and not torch.cuda.is_available():
        raise SystemExit("there is no CUDA device that PyTorch sees; take `--device cpu`")
    return torch.device(name)


def wait(device):
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def begin(device):
    """Begins a configuration: memory is counted, and random numbers are drawn, as for the first one."""
    torch.manual_seed(1)
    if device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(device)


def peak(device):
    """Returns the most bytes of tensors on a GPU, or resident in this process."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def timed(device, seconds, step):
    """Runs a step, which returns its loss, for about so many seconds."""
    first_loss = step().item()
    for _ in range(1, N_WARM_UP):
        step()
    wait(device)

    def run(n):
        begin = time.perf_counter()
        for _ in range(n):
            loss = step()
        wait(device)
        return time.perf_counter() - begin, loss.item()

    estimate, _ = run(N_ESTIMATE)
    n_steps = max(1, min(100_000, math.ceil(seconds * N_ESTIMATE / estimate)))
    elapsed, last_loss = run(n_steps)
    return {
        "step_ms": elapsed * 1e3 / n_steps,
        "n_steps": n_steps,
        "peak_bytes": peak(device),
        "first_loss": first_loss,
        "last_loss": last_loss,
    }


def words(kind):
    """Makes a parser of words parted by commas."""
    return lambda text: [kind(word) for word in text.split(",")]


def report(model, device, configuration, n_items, timing):
    """Prints one line of JSON."""
    line = {"engine": "pytorch", "model": model, "device": device.type}
    line |= configuration | {"rate": n_items * 1e3 / timing["step_ms"]} | timing
    print(json.dumps(line), flush=True)
