#!/usr/bin/env python3
"""Reads files of documents row by row with Hugging Face `datasets`, streaming, and says how fast.

Usage: load_vs_datasets.py [--field TEXT] FILE...      (pip install datasets)

FILE is Parquet (.parquet) or JSON Lines (anything else). Prints one JSON object a file; `load_speed` of kato-benches prints
the same ones. Peak memory is that of the process so far: measure one file a run to have its own.
"""

import argparse
import json
import os
import resource
import time

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # the files are local: nothing is to be asked

from datasets import load_dataset


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--field", default="text")
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    for file in arguments.files:
        kind = "parquet" if file.endswith(".parquet") else "json"
        started = time.perf_counter()
        # All of it is one split.
        rows = load_dataset(kind, data_files=file, streaming=True, split="train")
        n_rows = n_bytes = 0
        for row in rows:
            n_rows += 1
            n_bytes += len(row[arguments.field].encode())
        seconds = time.perf_counter() - started
        print(
            json.dumps(
                {
                    "file": file,
                    "rows": n_rows,
                    "bytes": n_bytes,
                    "seconds": seconds,
                    "mb_per_s": n_bytes / 1e6 / seconds,
                    "peak_resident": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
                }
            ),
            flush=True,
        )


if __name__ == "__main__":
    main()
