#!/usr/bin/env python3
"""Where the bytes of a knowledge base go: bytes a pattern by level and by part.

    kato train TEXT --kb KB --workers 1
    python3 benches/segment_bytes.py KB

Reads the footers of the segments that the last commit names; docs/benchmarks.md uses the result.
"""

import json
import pathlib
import struct
import sys

NAME_BYTES = 20
# "PTRN|" and 40 hexadecimal digits: a child pattern as text.
TEXT_NAME_BYTES = 45
# Length of the footer, its checksum, the magic.
TAIL = struct.Struct("<II8s")


def footer(path):
    data = path.read_bytes()
    length, _crc32, magic = TAIL.unpack(data[-TAIL.size :])
    if magic not in (b"KATOSEG1", b"KATOSEG2"):
        sys.exit(f"{path} is not a segment this script knows")
    return json.loads(data[-TAIL.size - length : -TAIL.size])


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    segments = sorted(pathlib.Path(sys.argv[1], "segments").glob("*.seg"))
    levels = {}
    for segment in segments:
        for level, node in enumerate(footer(segment)["nodes"]):
            sums = levels.setdefault(level, dict.fromkeys(["patterns", "symbols", "observations", "records", "foreign", "dictionary", "index"], 0))
            dictionary, index = node["dictionary"], node["index"]
            patterns = node["totals"]["patterns"]
            blocks = node["blocks_end"] - dictionary["offset"] - dictionary["bytes"]
            sums["patterns"] += patterns
            sums["symbols"] += node["totals"]["symbols"]
            sums["observations"] += node["totals"]["observations"]
            sums["records"] += blocks - NAME_BYTES * patterns
            # Names of children that lie in other segments, with a checksum for each 256.
            names = node.get("foreign", {}).get("names", 0)
            sums["foreign"] += NAME_BYTES * names + 4 * -(-names // 256)
            sums["dictionary"] += dictionary["bytes"]
            sums["index"] += index["bytes"]
    size = sum(path.stat().st_size for path in segments)
    tokens = max(levels[0]["symbols"], 1)
    foreign = sum(sums["foreign"] for sums in levels.values())
    print(f"{len(segments)} segments, {size} bytes, {size / tokens:.2f} a token, {foreign / tokens:.2f} of them names of children elsewhere\n")
    print("| level | patterns | symbols a pattern | name | record | children elsewhere | dictionary | index | sum | children as names | children as text |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    for level, sums in levels.items():
        each = lambda key: sums[key] / max(sums["patterns"], 1)
        symbols = sums["symbols"] / max(sums["observations"], 1)
        total = NAME_BYTES + each("records") + each("foreign") + each("dictionary") + each("index")
        # What the record would take with its symbols stored in full; level 0 has tokens, not children.
        full = lambda size: f"{total - each('records') - each('foreign') + 1 + size * symbols:.1f}" if level > 0 else "–"
        cells = [NAME_BYTES, each("records"), each("foreign"), each("dictionary"), each("index"), total]
        row = [f"node{level}", f"{sums['patterns']:,}", f"{symbols:.2f}", *(f"{cell:.2f}" for cell in cells)]
        print("| " + " | ".join([*row, full(NAME_BYTES), full(TEXT_NAME_BYTES)]) + " |")


main()
