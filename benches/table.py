#!/usr/bin/env python3
"""Prints a table of what commands print as JSON, an object a line on standard input.

    kato train corpus.jsonl --kb kb --json | benches/table.py workers=num_workers 's=total_time_seconds:.1f' 'MB=peak_memory_bytes/1e6:.0f'

Each column is HEAD=KEY, with what to divide by, a number or another key, and the form of the figure where those are wanted. A key within
others is written with points between, and `*` for each of a list: forecast.seconds.value, levels.*.chunk_size.
"""

import json
import re
import sys


def value_of(row, key):
    part, _, rest = key.partition(".")
    if not part:
        return row
    return [value_of(item, rest) for item in row] if part == "*" else value_of(row[part], rest)


def main():
    if len(sys.argv) == 1 or sys.argv[1] == "--help":
        sys.exit(__doc__)
    columns = [re.fullmatch(r"(.*?)=([\w.*]+)(?:/([\w.]+))?(?::(.*))?", column) for column in sys.argv[1:]]
    if None in columns:
        sys.exit(f"`{sys.argv[1 + columns.index(None)]}` is no column: write HEAD=KEY, HEAD=KEY/1e6 or HEAD=KEY:.1f")
    rows = [json.loads(line) for line in sys.stdin if line.startswith("{")]

    def cell(row, column):
        _, key, divisor, form = column.groups()
        value = value_of(row, key)
        if divisor:
            value /= float(divisor) if divisor[0].isdigit() else value_of(row, divisor)
        if isinstance(value, bool):
            return "yes" if value else "no"
        return ", ".join(map(str, value)) if isinstance(value, list) else format(value, form or "")

    # Texts are to the left.
    sides = ["---" if rows and isinstance(value_of(rows[0], column.group(2)), (str, list)) else "--:" for column in columns]
    print("| " + " | ".join(column.group(1) for column in columns) + " |")
    print("|" + "|".join(sides) + "|")
    for row in rows:
        print("| " + " | ".join(cell(row, column) for column in columns) + " |")


if __name__ == "__main__":
    main()
