#!/usr/bin/env python3
"""Where the bytes of a knowledge base go: bytes a pattern by level and by part.

    kato train TEXT --kb KB --workers 1
    python3 benches/segment_bytes.py KB

Reads the footers of the segments that the last commit names; docs/storage-engine.md uses the result.
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
    if magic != b"KATOSEG1":
        sys.exit(f"{path} is not a segment this script knows")
    return json.loads(data[-TAIL.size - length : -TAIL.size])


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    segments = sorted(pathlib.Path(sys.argv[1], "segments").glob("*.seg"))
    levels = {}
    for segment in segments:
        for level, node in enumerate(footer(segment)["nodes"]):
            sums = levels.setdefault(level, dict.fromkeys(["patterns", "symbols", "observations", "records", "dictionary", "index"], 0))
            dictionary, index = node["dictionary"], node["index"]
            patterns = node["totals"]["patterns"]
            blocks = node["blocks_end"] - dictionary["offset"] - dictionary["bytes"]
            sums["patterns"] += patterns
            sums["symbols"] += node["totals"]["symbols"]
            sums["observations"] += node["totals"]["observations"]
            sums["records"] += blocks - NAME_BYTES * patterns
            sums["dictionary"] += dictionary["bytes"]
            sums["index"] += index["bytes"]
    print(f"{len(segments)} segments, {sum(path.stat().st_size for path in segments)} bytes\n")
    print("| level | patterns | symbols a pattern | name | record | dictionary | index | sum | children as names | children as text |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    for level, sums in levels.items():
        each = lambda key: sums[key] / max(sums["patterns"], 1)
        symbols = sums["symbols"] / max(sums["observations"], 1)
        total = NAME_BYTES + each("records") + each("dictionary") + each("index")
        # What the record would take with its symbols stored in full; level 0 has tokens, not children.
        full = lambda size: f"{total - each('records') + 1 + size * symbols:.1f}" if level > 0 else "–"
        cells = [NAME_BYTES, each("records"), each("dictionary"), each("index"), total]
        row = [f"node{level}", str(sums["patterns"]), f"{symbols:.2f}", *(f"{cell:.2f}" for cell in cells)]
        print("| " + " | ".join([*row, full(NAME_BYTES), full(TEXT_NAME_BYTES)]) + " |")


main()
