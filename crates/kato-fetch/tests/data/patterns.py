"""Writes patterns.json: random patterns and paths, and whether `datasets` means the path by the pattern.

    pip install datasets && python patterns.py > patterns.json
"""
import json, random, re, sys

import fsspec
from datasets.data_files import (
    _is_inside_unrequested_special_dir,
    _is_unrequested_hidden_file_or_is_inside_unrequested_hidden_dir,
)
from fsspec.utils import glob_translate

random.seed(7)


def part(alphabet, longest):
    return "".join(random.choice(alphabet) for _ in range(random.randint(1, longest)))


def pattern():
    parts = []
    for _ in range(random.randint(1, 3)):
        kind = random.random()
        parts.append("**" if kind < 0.25 else "*" if kind < 0.4 else part(["a", "b", "1", ".", "_", "*", "?", "[ab]", "[!a]", "[a-b1]", "[0-9]", "[", "]", "-"], 4))
    return "/".join(parts)


def path():
    return "/".join(part("aab1._-]", 3) for _ in range(random.randint(1, 3)))


def means(pattern, path):
    return (
        re.match(glob_translate(pattern), path) is not None
        and not _is_inside_unrequested_special_dir(path, pattern)
        and not _is_unrequested_hidden_file_or_is_inside_unrequested_hidden_dir(path, pattern)
    )


rows, counts = [], [0, 0]
while min(counts) < 400:
    row = pattern(), path()
    # Parts of dots alone are no names, and `**` within a part is an error there.
    if any(set(p) == {"."} for p in "/".join(row).split("/")) or any("**" in p and p != "**" for p in row[0].split("/")):
        continue
    found = means(*row)
    if counts[found] < 400:
        counts[found] += 1
        rows.append([*row, found])
print(json.dumps({"fsspec": fsspec.__version__, "rows": rows}, separators=(",", ":")).replace("],[", "],\n["))
