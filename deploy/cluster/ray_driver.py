#!/usr/bin/env python3
"""Learns, merges, seals and publishes a plan (docs/scale-out.md) on a Ray cluster: ray_driver.py STORE KB."""

import json
import subprocess
import sys

import ray

store, kb = sys.argv[1:]
kato = ["kato", "cluster", "--store", store]


# Ray repeats what fails, and what was running when its worker died. A task that ran twice counts once.
@ray.remote(num_cpus=1, max_retries=10, retry_exceptions=True)
def run(*arguments):
    subprocess.run([*kato, *arguments], check=True)


plan = json.loads(subprocess.check_output([*kato, "status", "--json"]))
ray.init()
ray.get([run.remote("learn", "--workers", "1", "--task", str(task)) for task in range(plan["tasks"])])
ray.get([run.remote("merge", "--piece", str(piece)) for piece in range(plan["merges"])])
ray.get([run.remote("seal", "--range", str(number)) for number in range(plan["ranges"])])
subprocess.run([*kato, "publish", "--kb", kb], check=True)
