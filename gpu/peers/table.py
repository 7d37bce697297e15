"""Makes a table of what `measure.sh` measured, and says which marks are met."""

import json
import sys
from statistics import median


def read(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.startswith("{")]


def grouped(lines, model, keys):
    """Returns rates, peaks and spread by engine and configuration: medians over the rounds."""
    groups = {}
    for line in lines:
        if line.get("model") == model:
            key = line["engine"], *(line[key] for key in keys)
            groups.setdefault(key, []).append(line)
    result = {}
    for key, found in groups.items():
        rates = [line["rate"] for line in found]
        peaks = [line["peak_bytes"] or 0 for line in found]
        spread = (max(rates) - min(rates)) / median(rates)
        result[key] = {"rate": median(rates), "peak": median(peaks), "spread": spread}
    return result


def row(name, found, peer):
    ratio = found["rate"] / peer["rate"] if peer else float("nan")
    rate = f"{found['rate']:,.0f}"
    figures = f"{rate:>14} {ratio:>8.2f} {found['peak'] / 2**20:>10,.0f} {found['spread']:>8.0%}"
    print(f"{name:<44}{figures}")


def autoencoder(lines):
    table = grouped(lines, "autoencoder", ["mode", "batch", "feed", "precision"])
    judged = []
    print(f"\n{'autoencoder':<44}{'sequences/s':>14} {'of peer':>8} {'peak MiB':>10} {'spread':>8}")
    for (engine, mode, batch, feed, precision), found in table.items():
        peer = table.get(("pytorch", "eager", batch, feed, precision))
        row(f"{engine} {mode} {precision} {feed} {batch}", found, peer)
        if engine == "pytorch" or not peer or precision != "f32":
            continue
        mark = 0.9
        if mode == "graph":
            # Beyond a batch of 256 a teacher-forced step is as long as its arithmetic.
            mark = 3.5 if feed == "sampled" else 2.0 if batch <= 256 else None
        if mark:
            judged.append((f"autoencoder {mode} {feed} {batch}", found["rate"] / peer["rate"], mark))
    return judged


def microbes(lines):
    table = grouped(lines, "microbes", ["precision", "attention", "recompute"])
    judged = []
    print(f"\n{'microbes':<44}{'tokens/s':>14} {'of peer':>8} {'peak MiB':>10} {'spread':>8}")
    for (engine, precision, attention, recompute), found in table.items():
        peer = table.get(("pytorch", precision, attention, recompute))
        kind = "recomputed" if recompute else "kept"
        row(f"{engine} {precision} {attention} {kind}", found, peer)
        if engine != "pytorch" and peer:
            name = f"microbes {precision} {attention} {kind}"
            judged.append((name, found["rate"] / peer["rate"], 0.9))
    return judged


def main():
    lines = read(sys.argv[1])
    judged = autoencoder(lines) + microbes(lines)
    print()
    for name, ratio, mark in judged:
        verdict = "met" if ratio >= mark else "MISSED"
        print(f"{verdict:<7}{name:<38}{ratio:6.2f} of Python's eager rate, mark {mark}")
    for line in lines:
        if line.get("command") == "steps":
            verdict = "met" if line["equal"] else "MISSED"
            kind = "graph" if line["graph"] else "eager"
            worst, mark = line["worst"], line["tolerance"]
            print(f"{verdict:<7}losses on {line['device']}, {kind}: worst gap {worst:.1e}, mark {mark:.0e}")


if __name__ == "__main__":
    main()
