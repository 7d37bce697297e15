#!/usr/bin/env python3
"""Writes tables of the documents anew, by the commands that print them.

    benches/write_docs.py PAGE WORDS

Every table below a comment `<!-- written by: COMMAND -->` whose command holds WORDS is replaced by its columns of a table that the command
prints, as Markdown or for people, with the day, the machine and its load before. `benches/table.py` makes tables of what commands print as JSON. Commands run in the root of the
checkout; `$KB` and the like come from the environment. A quiet machine gives quiet figures.
"""

import datetime
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLE = r"(?:^\|.*\n)+"
# A command, what is said of when and where, and the table.
MADE = re.compile(rf"^<!-- written by: (?P<command>.*?) -->\n\n(?P<when>Written .*\n\n)?(?P<table>{TABLE})", flags=re.M)


def when():
    """Return the day, the machine and its load."""
    cpu = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(encoding="utf-8"), flags=re.M)
    load = os.getloadavg()[0]
    day = datetime.date.today()
    return f"Written {day.day} {day:%B %Y}, {os.cpu_count()} cores of {cpu.group(1) if cpu else 'unknown make'}, load before {load:.1f}:\n\n"


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def aligned(lines):
    """Return the rows of a table for people, whose columns lie below each other, two blanks apart; None where it is none."""
    rows = [re.split(r"\s{2,}", line.strip()) for line in lines]
    if len(rows) < 2 or len({len(row) for row in rows}) > 1 or len(rows[0]) < 2:
        return None
    return [rows[0], ["--:" if row[:1].isdigit() else "---" for row in rows[1]], *rows[1:]]


@cache
def output_of(command):
    """Return what a command prints; run once, whatever the number of its tables."""
    print(command, file=sys.stderr)
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", command], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout + "\n"


def printed(command, head):
    """Return the columns with this head of the first table with them that a command prints, and of those below with the same head."""
    output = output_of(command)
    tables = [[cells(line) for line in table.splitlines()] for table in re.findall(TABLE, output, flags=re.M)]
    tables += [rows for text in output.split("\n\n") if (rows := aligned(text.splitlines()))]
    first = next((rows for rows in tables if set(cells(head)) <= set(rows[0])), None)
    if first is None:
        sys.exit(f"`{command}` prints no table with the columns {head}")
    columns = [first[0].index(column) for column in cells(head)]
    rows = first[:2] + [row for rows in tables if rows[0] == first[0] for row in rows[2:]]
    shown = [[row[column] for column in columns] for row in rows]
    lines = [f"|{'|'.join(row)}|" if row[0].startswith("--") else f"| {' | '.join(row)} |" for row in shown]
    return "\n".join(lines) + "\n"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    page, words = Path(sys.argv[1]), sys.argv[2]
    found = []

    def written(made):
        if words not in made["command"]:
            return made.group()
        found.append(made["command"])
        said = when()
        table = printed(made["command"], made["table"].splitlines()[0])
        return f"<!-- written by: {made['command']} -->\n\n{said}{table}"

    text = MADE.sub(written, page.read_text(encoding="utf-8"))
    if not found:
        sys.exit(f"{page} has no table by a command with {words}")
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
