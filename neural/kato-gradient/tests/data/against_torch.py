"""Compares golden.json with PyTorch, where PyTorch has the same definition.

`python3 against_torch.py` in an environment with torch; prints the largest relative gap of each.
"""
import json
import pathlib
import warnings

import torch
from torch.optim import lr_scheduler as lrs

warnings.simplefilter("ignore")
golden = json.loads((pathlib.Path(__file__).parent / "golden.json").read_text())


def optimizer(rate):
    return torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=rate)


def walk(opt, scheduler, n):
    for _ in range(n):
        yield opt.param_groups[0]["lr"]
        opt.step()
        scheduler.step()


def schedule(s, n):
    kind = s["kind"]
    if kind == "cosine-restarts" and s["decay"] == 1:
        opt = optimizer(s["base_rate"])
        yield from walk(opt, lrs.CosineAnnealingWarmRestarts(opt, s["first_cycle"], s["factor"], s["min_rate"]), n)
    elif kind == "cosine-restarts":
        # PyTorch has no decay: each cycle anew, from its own peak.
        done, peak, length = 0, s["base_rate"], s["first_cycle"]
        while done < n:
            opt = optimizer(peak)
            scheduler = lrs.CosineAnnealingLR(opt, length, s["min_rate"])
            yield from walk(opt, scheduler, min(length, n - done))
            done, peak, length = done + length, peak * s["decay"], length * s["factor"]
    elif kind == "warmup-cosine":
        opt = optimizer(s["base_rate"])
        main = lrs.CosineAnnealingLR(opt, s["total"] - s["warmup"], s["min_rate"])
        if s["warmup"]:
            start = s["start_rate"] / s["base_rate"]
            opt = optimizer(s["base_rate"])
            warm = lrs.LinearLR(opt, start, 1.0, s["warmup"])
            main = lrs.SequentialLR(opt, [warm, lrs.CosineAnnealingLR(opt, s["total"] - s["warmup"], s["min_rate"])], [s["warmup"]])
        # Behind its end PyTorch's cosine rises again.
        yield from walk(opt, main, s["total"] + 1)
    elif kind == "polynomial":
        # PyTorch's floor is 0: the part above ours.
        opt = optimizer(s["base_rate"] - s["min_rate"])
        for rate in walk(opt, lrs.PolynomialLR(opt, s["total"], s["power"]), n):
            yield rate + s["min_rate"]
    elif kind == "cyclical":
        opt = optimizer(s["min_rate"])
        cyclic = lrs.CyclicLR(opt, s["min_rate"], s["max_rate"], s["rise"], s["fall"], s["mode"], s["gamma"], cycle_momentum=False)
        yield from walk(opt, cyclic, n)
    elif kind == "one-cycle":
        opt = optimizer(1.0)
        anneal = {"cosine": "cos", "linear": "linear"}[s["annealing"]]
        one = lrs.OneCycleLR(opt, s["max_rate"], total_steps=n, pct_start=0.3, anneal_strategy=anneal, cycle_momentum=False, div_factor=s["div"], final_div_factor=s["final_div"], three_phase=s["three_phase"])
        rates = []
        for step in range(n):
            rates.append(opt.param_groups[0]["lr"])
            if step < n - 1:
                opt.step()
                one.step()
        yield from rates


def gap(found, wanted):
    return max(abs(a - b) / max(abs(b), 1e-18) for a, b in zip(found, wanted))


for entry in golden["schedules"]:
    found = list(schedule(entry["settings"], len(entry["rates"])))
    assert len(found) >= len(entry["rates"]) - 4
    print(f"{gap(found, entry['rates']):.1e}  {len(found):3} steps  {entry['settings']}")
    assert gap(found, entry["rates"]) < 1e-9
for entry in golden["plateaus"]:
    s = entry["settings"]
    opt = optimizer(s["base_rate"])
    mode = {"relative": "rel", "absolute": "abs"}[s["delta_mode"]]
    plateau = lrs.ReduceLROnPlateau(opt, s["goal"], s["factor"], s["patience"], s["min_delta"], mode, s["cooldown"], s["min_rate"], eps=0)
    mean, found = None, []
    for metric in golden["metrics"]:
        # PyTorch does not smooth.
        mean = metric if mean is None else s["smoothing"] * mean + (1 - s["smoothing"]) * metric
        plateau.step(mean)
        found.append(opt.param_groups[0]["lr"])
    print(f"{gap(found, entry['rates']):.1e}  {len(found):3} steps  {s}")
    assert gap(found, entry["rates"]) < 1e-9
s = golden["scaler"]
scale, growth = torch.tensor(65536.0), torch.tensor(0, dtype=torch.int32)
for ok, wanted in zip(s["finite"], s["scales"]):
    torch._amp_update_scale_(scale, growth, torch.tensor(0.0 if ok else 1.0), 2.0, 0.5, s["interval"])
    assert scale.item() == wanted
print("scaler: equal")
