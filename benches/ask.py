#!/usr/bin/env python3
"""Asks a knowledge base right after its training: what does each question cost, and what do the answers' files take?

    benches/ask.py --program target/dist/kato --corpus corpus.jsonl [--dir DIR] [--forget N]

Trains the corpus (JSON lines with a `text`, as of `kato corpus`) with levels 5, 7, 9 in turn without an index and with one, adds the head's
counts and the occurrences, asks every question with the files out of memory and in it, and prints Markdown tables. `--forget N` takes N
documents of a second file out again in the end, and asks once more; they are the last of the corpus. Everything is made below DIR and
removed: some 8 times the size of the corpus.

Needs Linux. What is cold are the files of the knowledge base; the program stays in memory.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WARM = 5
LEVELS = "5,7,9"
PARTS = ["segments", "index", "head", "occurrences"]


def run(command):
    """Run a command, and return what it printed and what it cost."""
    began = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        printed = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit code {process.returncode}")
    cost = {
        "seconds": time.perf_counter() - began,
        "processor": usage.ru_utime + usage.ru_stime,
        # Linux counts in kilobytes.
        "rss": usage.ru_maxrss * 1024,
        "read": usage.ru_majflt,
        "faults": usage.ru_minflt,
    }
    return printed, cost


def files_of(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


def cool(folder):
    """Take the files of a folder out of memory."""
    for path in files_of(folder):
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def table(head, rows):
    print("| " + " | ".join(head) + " |")
    print("|---" + "|--:" * (len(head) - 1) + "|")
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def ask(kb, questions):
    """Ask each question cold and warm, and print what that costs."""
    rows = []
    for name, command in questions.items():
        cool(kb)
        _, cold = run(command)
        warm = [run(command)[1] for _ in range(WARM)]
        middle = sorted(warm, key=lambda cost: cost["seconds"])[WARM // 2]
        rows.append([
            f"`{name}`",
            f"{cold['seconds']:.3f}",
            f"{cold['read']:,}",
            f"{middle['seconds']:.3f}",
            f"{statistics.median(cost['processor'] for cost in warm):.3f}",
            f"{middle['faults']:,}",
            f"{cold['rss'] / 1e6:.0f}",
        ])
    table(["question", "cold, s", "cold: read from disk", "warm, s", "warm: processor, s", "warm: page faults", "resident, MB"], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--dir", type=Path)
    parser.add_argument("--forget", type=int, default=0, metavar="N")
    args = parser.parse_args()
    work = Path(tempfile.mkdtemp(prefix="kato-ask.", dir=args.dir))
    try:
        measure(args, work)
    finally:
        shutil.rmtree(work)


def measure(args, work):
    kb, program = work / "kb", os.path.realpath(args.program)
    sources = [args.corpus]
    with args.corpus.open("rb") as lines:
        documents = lines.readlines()
    if args.forget:
        sources = [work / "kept.jsonl", work / "forgotten.jsonl"]
        sources[0].write_bytes(b"".join(documents[: -args.forget]))
        sources[1].write_bytes(b"".join(documents[-args.forget :]))
    text = json.loads(documents[len(documents) // 2])["text"]
    del documents
    words = " ".join(text.split()[:4])
    piece, file = " ".join(text.split()[:350]), work / "text.txt"
    file.write_text(text * (1 + 100_000 // len(text)), encoding="utf-8")

    train = [program, "train", *map(str, sources), "--kb", str(kb), "--levels", LEVELS, "--quiet", "--json"]
    steps = []

    def step(name, command):
        printed, cost = run(command)
        steps.append((name, cost))
        return json.loads(printed) if printed.startswith(b"{") else {}

    print(f"load average: {os.getloadavg()[0]:.1f}\n")
    step("`train --no-index`", [*train, "--no-index"])
    shutil.rmtree(kb)
    report = step("`train`", train)
    at = ["--kb", str(kb)]
    ask(kb, {"predict": [program, "predict", *at, "--text", words, "--limit", "3"]})
    step("then the head's counts, `index`", [program, "index", *at, "--json"])
    step("then `index --occurrences`", [program, "index", *at, "--occurrences", "--json"])
    tokens, alone = report["tokens"], steps[0][1]["processor"]
    table(["step", "processor, s", "of `train --no-index`", "seconds", "peak, MB"], [
        [name, f"{cost['processor']:.1f}", f"{cost['processor'] / alone:.2f}", f"{cost['seconds']:.1f}", f"{cost['rss'] / 1e6:.0f}"]
        for name, cost in steps
    ])
    sizes = {part: sum(path.stat().st_size for path in files_of(kb / part)) for part in PARTS}
    sizes["all"] = sum(sizes.values())
    patterns = sum(level["unique_patterns"] for level in report["levels"])
    print(f"{tokens / 1e6:.1f} million tokens, {patterns / 1e6:.1f} million patterns:\n")
    table(["part", "MB", "bytes a token"], [[part, f"{size / 1e6:.0f}", f"{size / tokens:.2f}"] for part, size in sizes.items()])
    questions = {
        "next": [program, "next", *at, "--text", words],
        "next --explain": [program, "next", *at, "--text", words, "--explain"],
        "score, 100 kB": [program, "score", str(file), *at],
        "generate": [program, "generate", *at, "--text", words],
        "generate --head": [program, "generate", *at, "--text", words, "--head"],
        "count": [program, "count", " " + words, *at],
        "trace, 350 words": [program, "trace", piece, *at],
    }
    ask(kb, questions)
    if args.forget:
        _, cost = run([program, "forget", str(sources[1]), *at])
        print(f"`forget` of {args.forget:,} documents: {cost['seconds']:.2f} s, {cost['processor']:.2f} s of processor time, "
              f"{cost['rss'] / 1e6:.0f} MB. Then:\n")
        ask(kb, {"predict, then": [program, "predict", *at, "--text", words, "--limit", "3"]})


if __name__ == "__main__":
    main()
