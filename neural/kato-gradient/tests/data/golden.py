"""Writes golden.json: schedules and state machines walked step by step, as their definitions say.

Nothing here knows a closed form: each rate comes from a loop with a counter, so that the library's
closed forms are compared with another way to the same numbers. `python3 golden.py > golden.json`.
"""
import json
import math


def restarts(base, first, factor, floor, decay, n):
    """One step a position: position inside the cycle, its length, and its peak."""
    inside, length, peak = 0, first, base
    for _ in range(n):
        yield floor + (peak - floor) * (1 + math.cos(math.pi * inside / length)) / 2
        inside += 1
        if inside >= length:
            inside, length, peak = 0, length * factor, peak * decay


def warmup_cosine(base, start, floor, warmup, total, n):
    for step in range(n):
        if step < warmup:
            yield start + (base - start) * step / warmup
        elif step < total:
            done = (step - warmup) / (total - warmup)
            yield floor + (base - floor) * (1 + math.cos(math.pi * done)) / 2
        else:
            yield floor


def polynomial(base, floor, total, power, n):
    """As a product of ratios, one a step: the chained form."""
    above = base - floor
    for step in range(n):
        yield floor + above
        if step < total:
            above *= ((1 - (step + 1) / total) / (1 - step / total)) ** power


def cyclical(low, high, rise, fall, mode, gamma, n):
    amplitude, inside, decayed = 1.0, 0, 1.0
    for _ in range(n):
        height = inside / rise if inside <= rise else 1 - (inside - rise) / fall
        scale = {"triangular": 1.0, "triangular2": amplitude, "exp_range": decayed}[mode]
        yield low + (high - low) * height * scale
        decayed *= gamma
        inside += 1
        if inside == rise + fall:
            inside, amplitude = 0, amplitude / 2


def one_cycle(high, n_steps, share, anneal, div, final_div, three_phase):
    """Phases as pairs of an end and a rate there; the last step is n_steps - 1."""
    start = high / div
    end = start / final_div
    up = share * n_steps - 1
    phases = [(up, start, high)]
    phases += [(2 * up, high, start), (n_steps - 1, start, end)] if three_phase else [(n_steps - 1, high, end)]
    for step in range(n_steps):
        begin = 0
        for stop, a, b in phases:
            if step <= stop:
                done = (step - begin) / (stop - begin)
                yield b + (a - b) / 2 * (1 + math.cos(math.pi * done)) if anneal == "cosine" else a + (b - a) * done
                break
            begin = stop


def plateau(s, metrics):
    """A rate that is multiplied in place, counters of bad and of cooling epochs."""
    rate, best, bad, cooling, mean = s["base_rate"], None, 0, 0, None
    for metric in metrics:
        mean = metric if mean is None else s["smoothing"] * mean + (1 - s["smoothing"]) * metric
        sign = 1 if s["goal"] == "min" else -1
        delta = s["min_delta"] * (abs(best or 0) if s["delta_mode"] == "relative" else 1)
        if best is None or sign * mean < sign * best - delta:
            best, bad = mean, 0
        else:
            bad += 1
        if cooling > 0:
            cooling, bad = cooling - 1, 0
        if bad > s["patience"]:
            rate, cooling, bad = max(rate * s["factor"], s["min_rate"]), s["cooldown"], 0
        yield rate


def scaler(finite, interval):
    scale, good = 65536.0, 0
    for ok in finite:
        if ok:
            good += 1
            if good == interval:
                scale, good = scale * 2, 0
        else:
            scale, good = scale / 2, 0
        yield scale


MASK = (1 << 64) - 1


class SplitMix64:
    """As published; `below` and `unit` as the crate kato-random documents them."""

    def __init__(self, seed):
        self.state = seed

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    def below(self, n):
        return self.next() * n >> 64

    def unit(self):
        return (self.next() >> 11) / (1 << 53)


def stream(seed, purpose, place):
    mixed = SplitMix64(seed).next()
    for word in [purpose, *place]:
        mixed = SplitMix64(mixed ^ word).next()
    return SplitMix64(mixed)


def shuffle(items, random):
    for last in range(len(items) - 1, 0, -1):
        other = random.below(last + 1)
        items[last], items[other] = items[other], items[last]
    return items


def cut(items, size):
    return [items[i : i + size] for i in range(0, len(items), size)]


def shuffled(n, size, seed, epoch):
    return cut(shuffle(list(range(n)), stream(seed, 1, [epoch])), size)


def bucketed(lengths, size, n_buckets, seed, epoch):
    ranks = [-(-k * len(lengths) // n_buckets) for k in range(1, n_buckets + 1)]
    edges = sorted({sorted(lengths)[rank - 1] for rank in ranks})
    batches = []
    for bucket, edge in enumerate(edges):
        below = edges[bucket - 1] if bucket else -1
        items = [item for item, length in enumerate(lengths) if below < length <= edge]
        batches += cut(shuffle(items, stream(seed, 1, [epoch, bucket])), size)
    return shuffle(batches, stream(seed, 2, [epoch]))


def token_budget(lengths, max_tokens, max_items, seed, epoch):
    items = shuffle(list(range(len(lengths))), stream(seed, 1, [epoch]))
    batches = [[]]
    for item in sorted(items, key=lambda item: lengths[item]):
        size = len(batches[-1]) + 1
        if size > max_items or size * lengths[item] > max_tokens:
            batches.append([])
        batches[-1].append(item)
    return shuffle(batches, stream(seed, 2, [epoch]))


def steps(rates):
    return [float(f"{rate:.17g}") for rate in rates]


def entry(settings, rates):
    return {"settings": settings, "rates": steps(rates)}


schedules = []
for first, factor, floor, decay in [(10, 2, 1e-6, 0.95), (7, 1, 0.0, 1.0), (3, 3, 1e-5, 0.5)]:
    s = dict(kind="cosine-restarts", base_rate=2.5e-4, first_cycle=first, factor=factor, min_rate=floor, decay=decay)
    schedules.append(entry(s, restarts(2.5e-4, first, factor, floor, decay, 75)))
for warmup, total in [(5, 40), (0, 20)]:
    s = dict(kind="warmup-cosine", base_rate=1e-3, start_rate=1e-8, min_rate=1e-6, warmup=warmup, total=total)
    schedules.append(entry(s, warmup_cosine(1e-3, 1e-8, 1e-6, warmup, total, total + 4)))
for power in [1.0, 2.0, 0.5]:
    s = dict(kind="polynomial", base_rate=1e-3, min_rate=1e-6, total=30, power=power)
    schedules.append(entry(s, polynomial(1e-3, 1e-6, 30, power, 34)))
for mode in ["triangular", "triangular2", "exp_range"]:
    for rise, fall in [(10, 10), (4, 12)]:
        s = dict(kind="cyclical", min_rate=1e-4, max_rate=1e-3, rise=rise, fall=fall, mode=mode, gamma=0.99)
        schedules.append(entry(s, cyclical(1e-4, 1e-3, rise, fall, mode, 0.99, 65)))
for anneal, three in [("cosine", False), ("linear", False), ("cosine", True)]:
    s = dict(kind="one-cycle", max_rate=1e-2, peak=0.3 * 40 - 1, total=39, annealing=anneal, div=25.0, final_div=1e4, three_phase=three)
    schedules.append(entry(s, one_cycle(1e-2, 40, 0.3, anneal, 25.0, 1e4, three)))

# A metric that falls, stands, rises, falls again.
metrics = [round(1 / (1 + 0.3 * i) + 0.05 * math.sin(i), 6) for i in range(20)] + [0.15] * 12 + [0.1, 0.1, 0.2, 0.1, 0.05] + [0.05] * 8
plateaus = []
for goal, factor, patience, delta, mode, cooldown, floor, smoothing in [
    ("min", 0.1, 2, 1e-4, "relative", 0, 0.0, 0.0),
    ("min", 0.5, 3, 0.01, "absolute", 2, 1e-4, 0.0),
    ("max", 0.5, 2, 1e-4, "absolute", 1, 1e-7, 0.9),
    ("min", 0.3, 5, 0.05, "relative", 3, 0.0, 0.5),
]:
    s = dict(base_rate=1e-3, goal=goal, factor=factor, patience=patience, min_delta=delta, delta_mode=mode, cooldown=cooldown, min_rate=floor, smoothing=smoothing)
    plateaus.append(entry(s, plateau(s, metrics)))

finite = [i % 7 != 3 and i != 20 for i in range(40)]
print("{")
for name, entries in [("schedules", schedules), ("plateaus", plateaus)]:
    print(f'"{name}": [\n' + ",\n".join(json.dumps(e) for e in entries) + "\n],")
print(f'"shuffled": {json.dumps(shuffled(12, 5, 42, 1))},')
lengths = [5, 3, 9, 3, 7, 1, 9, 4, 4, 2, 8, 6]
print(f'"lengths": {json.dumps(lengths)},')
print(f'"bucketed": {json.dumps(bucketed(lengths, 2, 4, 42, 1))},')
print(f'"token_budget": {json.dumps(token_budget(lengths, 12, 3, 42, 1))},')
print(f'"metrics": {json.dumps(metrics)},')
print(f'"scaler": {json.dumps({"finite": finite, "interval": 3, "scales": list(scaler(finite, 3))})}')
print("}")
