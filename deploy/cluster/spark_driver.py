#!/usr/bin/env python3
"""Learns, merges, seals and publishes a plan (docs/scale-out.md) on Spark: spark-submit … spark_driver.py STORE KB."""

import json
import subprocess
import sys

from pyspark.sql import SparkSession

store, kb = sys.argv[1:]
kato = ["kato", "cluster", "--store", store]


def run_all(count, *arguments):
    # A partition is a task of Spark, which repeats it where it fails or its executor dies. What ran twice counts once.
    def run(number):
        subprocess.run([*kato, *arguments, str(number)], check=True)

    context.parallelize(range(count), count).foreach(run)


plan = json.loads(subprocess.check_output([*kato, "status", "--json"]))
context = SparkSession.builder.appName("kato").config("spark.task.maxFailures", 10).getOrCreate().sparkContext
run_all(plan["tasks"], "learn", "--workers", "1", "--task")
run_all(plan["merges"], "merge", "--piece")
run_all(plan["ranges"], "seal", "--range")
subprocess.run([*kato, "publish", "--kb", kb], check=True)
context.stop()
