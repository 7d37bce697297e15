#!/usr/bin/env python3
"""Counts the texts of questions.json with infini-gram, finds some of them, and says how long it takes.

Usage: occurrences.py {make,ask} FOLDER

make  the suffix array of the tokens in FOLDER, which `occurrences_speed --make` wrote
ask   the questions; the counts are compared with those of counts.json, which `occurrences_speed` wrote

Needs infini-gram (2.6) and numpy. Prints one JSON object.
"""

import json
import os
import subprocess
import sys
import time

import infini_gram
from infini_gram.engine import InfiniGramEngine

EOS = 50256
N_OPENINGS = 20
# As `occurrences_speed` has them.
FOUND_EVERY = 10
PLACES = 10


def make(folder):
    began = time.time()
    # Files of tokens that are there are taken as they are, so there is no text to give.
    command = [sys.executable, "-m", "infini_gram.indexing", "--data_dir", folder, "--save_dir", folder]
    command += ["--mem", "4", "--ulimit", "4096"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    size = sum(os.path.getsize(os.path.join(folder, name + ".0")) for name in ("tokenized", "offset", "table"))
    tokens = os.path.getsize(os.path.join(folder, "tokenized.0")) // 2
    return {"bytes_a_token": size / tokens, "written_in_seconds": time.time() - began}


def engine(folder):
    return InfiniGramEngine(index_dir=folder, eos_token_id=EOS)


def of_times(times):
    times.sort()
    return {
        "p50_us": times[len(times) // 2] * 1e6,
        "p99_us": times[min(len(times) * 99 // 100, len(times) - 1)] * 1e6,
        "a_second": len(times) / sum(times),
    }


def ask(folder):
    with open(os.path.join(folder, "questions.json"), encoding="utf-8") as file:
        questions = json.load(file)
    opened = []
    for _ in range(N_OPENINGS):
        began = time.perf_counter()
        engine(folder).count(input_ids=questions["counted"][0])
        opened.append(time.perf_counter() - began)
    asked = engine(folder)
    counted = []
    counts = []
    for tokens in questions["counted"]:
        began = time.perf_counter()
        answer = asked.count(input_ids=tokens)
        counted.append(time.perf_counter() - began)
        counts.append(answer["count"])
    with open(os.path.join(folder, "counts.json"), encoding="utf-8") as file:
        expected = json.load(file)
    found = []
    n_places = 0
    for tokens in questions["counted"][::FOUND_EVERY]:
        began = time.perf_counter()
        for shard, (start, end) in enumerate(asked.find(input_ids=tokens)["segment_by_shard"]):
            for rank in range(start, min(end, start + PLACES)):
                asked.get_doc_by_rank(s=shard, rank=rank, max_disp_len=len(tokens))
                n_places += 1
        found.append(time.perf_counter() - began)
    return {
        "opened": of_times(opened),
        "counted": of_times(counted),
        "sum_of_counts": sum(counts),
        "counts_that_differ": sum(one != other for one, other in zip(counts, expected, strict=True)),
        "found": of_times(found),
        "n_places": n_places,
    }


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("make", "ask"):
        sys.exit(__doc__)
    folder = os.path.abspath(sys.argv[2])
    figures = {"make": make, "ask": ask}[sys.argv[1]](folder)
    print(json.dumps({"infini_gram": getattr(infini_gram, "__version__", "2.6"), **figures}))


if __name__ == "__main__":
    main()
