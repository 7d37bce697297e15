#!/usr/bin/env python3
"""Prints a table of what suites of criterion have printed, a row a group, from the least to the greatest of the runs.

    cargo bench -p kato-benches --features full >first.txt
    cargo bench -p kato-benches --features full >second.txt
    benches/suites.py first.txt second.txt

Figures that differ by more than a tenth between two runs are told on standard error.
"""

import re
import sys
from pathlib import Path

SECONDS = {"ps": 1e-12, "ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1}
FACTORS = {"": 1, "K": 1e3, "M": 1e6, "G": 1e9, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30}
UNITS = {"elem": "/s", "B": "B/s"}
FIGURE = re.compile(r"^(\S.*?)\s+time: +\[\S+ \S+ (\S+) (\S+) .*\n((?: +thrpt: .*\n)*)", flags=re.M)
RATE = re.compile(r"thrpt: +\[\S+ +\S+ (\S+) +([KMG]?i?)(elem|B)/s")


def figures(text):
    """Return each figure by its name, with its unit: rates, or else the time."""
    found = {}
    for name, time, unit, rates in FIGURE.findall(text):
        rates = [(float(rate) * FACTORS[factor], UNITS[counted]) for rate, factor, counted in RATE.findall(rates)]
        found[name] = rates or [(float(time) * SECONDS[unit], "s")]
    return found


def shown(value, unit):
    """Return a number of three digits with its unit."""
    factors = [(1e9, "G"), (1e6, "M"), (1e3, "k"), (1, "")] + [(1e-3, "m"), (1e-6, "µ"), (1e-9, "n")] * (unit == "s")
    factor, letter = next((pair for pair in factors if value >= pair[0]), factors[-1])
    digits = max(0, 3 - len(str(int(value / factor))))
    return f"{value / factor:.{digits}f} {letter}{unit}"


def ends(values):
    """Return the least and the greatest figure of several runs, as one where they are alike."""
    least, greatest = (shown(*value) for value in (min(values), max(values)))
    (low, unit), (high, other) = least.split(), greatest.split()
    return greatest if least == greatest else f"{low if unit == other else least} to {high} {other}"


def main():
    if len(sys.argv) == 1 or sys.argv[1] == "--help":
        sys.exit(__doc__)
    runs = [figures(Path(file).read_text(encoding="utf-8")) for file in sys.argv[1:]]
    rows = {}
    for name in runs[0]:
        found = [run[name] for run in runs if name in run]
        told = ", ".join(ends(values) for values in zip(*found))
        first = [values[0][0] for values in found]
        if max(first) > 1.1 * min(first):
            print(f"{name}: {told}", file=sys.stderr)
        group, _, what = name.rpartition("/")
        is_limit = re.search(r"\b(limit|peer)\b", what) is not None
        rows.setdefault(group, ([], []))[is_limit].append(f"{what}: {told}")
    print("| suite | measured | limits and peers |\n|---|---|---|")
    for group, (measured, limits) in rows.items():
        print(f"| `{group}` | {'; '.join(measured)} | {'; '.join(limits) or '–'} |")


if __name__ == "__main__":
    main()
