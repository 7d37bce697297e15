#!/usr/bin/env python3
"""Reads word vectors from text as people do in Python, and says how long it takes.

Usage: embeddings.py {lines,asarray,fromstring} FILE

lines       a list of float() for each line, no libraries
asarray     numpy.asarray on the fields of each line
fromstring  numpy.fromstring on each line

Prints one JSON object. docs/embeddings.md has the results.
"""

import json
import resource
import sys
import time


def lines(path):
    vectors = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            fields = line.rstrip().split(" ")
            vectors[fields[0]] = [float(number) for number in fields[1:]]
    return vectors


def asarray(path):
    import numpy

    vectors = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            fields = line.rstrip().split(" ")
            vectors[fields[0]] = numpy.asarray(fields[1:], dtype="float32")
    return vectors


def fromstring(path):
    import numpy

    vectors = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            word, numbers = line.split(" ", 1)
            vectors[word] = numpy.fromstring(numbers, dtype="float32", sep=" ")
    return vectors


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("lines", "asarray", "fromstring"):
        sys.exit(__doc__)
    way = {"lines": lines, "asarray": asarray, "fromstring": fromstring}[sys.argv[1]]
    started = time.perf_counter()
    vectors = way(sys.argv[2])
    seconds = time.perf_counter() - started
    print(
        json.dumps(
            {
                "way": sys.argv[1],
                "words": len(vectors),
                "sum": float(sum(float(sum(vector)) for vector in vectors.values())),
                "seconds": seconds,
                "peak_resident": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            }
        )
    )


if __name__ == "__main__":
    main()
