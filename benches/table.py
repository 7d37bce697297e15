#!/usr/bin/env python3
"""Prints a table of what commands print as JSON, an object a line on standard input.

    kato train corpus.jsonl --kb kb --json | benches/table.py workers=num_workers 's=total_time_seconds:.1f' 'MB=peak_memory_bytes/1e6:.0f'

Each column is HEAD=KEY, with a number to divide by and the form of the figure where those are wanted.
"""

import json
import re
import sys


def main():
    if len(sys.argv) == 1 or sys.argv[1] == "--help":
        sys.exit(__doc__)
    columns = [re.fullmatch(r"(.*)=(\w+)(?:/([\d.e]+))?(?::(.*))?", column) for column in sys.argv[1:]]
    if None in columns:
        sys.exit(f"`{sys.argv[1 + columns.index(None)]}` is no column: write HEAD=KEY, HEAD=KEY/1e6 or HEAD=KEY:.1f")
    rows = [json.loads(line) for line in sys.stdin if line.startswith("{")]

    def cell(row, column):
        _, key, divisor, form = column.groups()
        value = row[key] / float(divisor) if divisor else row[key]
        if isinstance(value, bool):
            return "yes" if value else "no"
        return format(value, form or "")

    # Texts are to the left.
    sides = ["---" if rows and isinstance(rows[0][column.group(2)], str) else "--:" for column in columns]
    print("| " + " | ".join(column.group(1) for column in columns) + " |")
    print("|" + "|".join(sides) + "|")
    for row in rows:
        print("| " + " | ".join(cell(row, column) for column in columns) + " |")


if __name__ == "__main__":
    main()
