"""Writes layouts.json: repositories, and the splits that `datasets` finds in them.

    pip install datasets && python layouts.py > layouts.json

A row has files (each with a line of content that its extension asks for), a card or none, and for each
configuration the files of each split, or the error that loading it is.
"""
import json, os, sys, tempfile

import datasets
import yaml
from datasets import load_dataset_builder

datasets.logging.set_verbosity_error()
datasets.disable_progress_bars()


def shards(split, n, folder="data", ext="jsonl", infix=""):
    return [f"{folder}/{split}-{i:05d}-of-{n:05d}{infix}.{ext}" for i in range(n)]


def configs(*items):
    return {"configs": list(items)}


def config(name, data_files=None, **more):
    return {"config_name": name, **({} if data_files is None else {"data_files": data_files}), **more}


def split(name, path):
    return {"split": name, "path": path}


ROWS = [
    # Nothing declared.
    ["data.jsonl"],
    ["a.jsonl", "b/c.jsonl", "README.md", "LICENSE", ".gitattributes"],
    ["train.jsonl", "test.jsonl", "README.md"],
    ["train.jsonl", "dev.jsonl", "eval.jsonl"],
    ["data/train.jsonl", "data/valid.jsonl", "data/testing.jsonl"],
    ["my_train.jsonl", "my-test-file.jsonl", "other.jsonl"],
    ["train_0.jsonl", "train_1.jsonl", "test.0.jsonl"],
    ["train1.jsonl", "train2.jsonl", "test3.jsonl"],
    ["testfile.jsonl", "contest.jsonl", "trainer.jsonl"],
    ["Train.jsonl", "TEST.jsonl"],
    ["validation/a.jsonl", "training/b.jsonl", "evaluation/c.jsonl"],
    # Folders before names.
    ["train/www_faro_dev_igo.jsonl", "train/my_test_prep_book.jsonl", "train/val.jsonl"],
    ["train/a.jsonl", "test/a.jsonl", "dev.jsonl"],
    ["train/a.jsonl", "other/b.jsonl"],
    ["train/test/a.jsonl", "train/b.jsonl"],
    ["data/train/a.jsonl", "data/test/b/c.jsonl"],
    ["my-train/a.jsonl", "test_set/b.jsonl", "pre dev 1/c.jsonl"],
    ["train2/a.jsonl", "test.v1/b.jsonl"],
    ["constrained/a.jsonl", "latest/b.jsonl"],
    ["en/train/a.jsonl", "de/train/a.jsonl", "en/test/b.jsonl"],
    ["train/a.jsonl", "test.jsonl", "README.md"],
    # Sharded names before all.
    ["data/unsupervised-00000-of-00001.jsonl"],
    shards("train", 3) + shards("test", 1) + ["data/validation.jsonl"],
    shards("random", 2) + shards("train", 2),
    shards("train", 2, infix="-0123456789abcdef") + ["test/a.jsonl"],
    shards("my_own.split", 1) + shards("train_sft", 1),
    shards("train", 2, folder="other") + ["test.jsonl"],
    shards("train", 2, folder="en/data"),
    ["data/train-0-of-1.jsonl", "data/test-0-of-1.jsonl"],
    ["data/train-000000-of-000002.jsonl", "data/test-00000-of-00002.jsonl"],
    ["data/train-00000-of-00001", "data/train.jsonl"],
    ["data/train-00000-of-00001.jsonl.gz", "data/other.jsonl"],
    ["data/train-00000-of-00001-part-00000-of-00002.jsonl"],
    # What is passed over.
    [".hidden/train.jsonl", "a.jsonl"],
    ["a.jsonl", ".b.jsonl", "c/.d.jsonl"],
    ["__pycache__/train.jsonl", "a.jsonl"],
    ["__init__.jsonl", "a.jsonl"],
    ["_internal/train.jsonl", "a.jsonl"],
    ["a.jsonl", "dataset_info.json", "config.json", "dataset_infos.json", "dataset_dict.json"],
    ["a.jsonl", "metadata.json", "state.json"],
    ["a.txt", "requirements.txt", "LICENSE.txt"],
    ["a.csv", "requirements.txt"],
    ["train/a.csv", "train/metadata.csv"],
    # Formats.
    ["a.jsonl", "b.jsonl", "c.csv"],
    ["a.jsonl", "b.csv"],
    ["a.json", "b.jsonl", "c.ndjson"],
    ["a.csv", "b.tsv"],
    ["a.csv", "b.tsv", "c.tsv"],
    ["a.txt", "b.csv"],
    ["a.jsonl.gz", "b.jsonl.zst", "c.txt"],
    ["a.JSONL", "b.jsonl"],
    ["v1.0.csv", "v1.1.csv", "notes.txt"],
    ["train.csv", "test.csv", "train.txt"],
    ["train.py", "data.csv"],
    ["test/run.sh", "data.csv"],
    ["tests/a.csv", "b.csv"],
    # Declared.
    (["a.jsonl", "b.jsonl"], configs(config("default", "a.jsonl"))),
    (["en/a.jsonl", "en/dev.jsonl", "de/b.jsonl"], configs(config("en", [split("train", "en/a.jsonl"), split("validation", "en/dev.jsonl")]), config("de", "de/*"))),
    (["a/1.jsonl", "a/2.jsonl", "b/1.jsonl"], configs(config("default", [split("train", ["a/*", "b/*"])]))),
    (["a/1.jsonl", "a/b/2.jsonl"], configs(config("default", "a/*"), config("deep", "a/**"))),
    (["metadata.json", "a.jsonl"], configs(config("default", "metadata.json"))),
    ([".hidden/a.jsonl", "b.jsonl"], configs(config("default", ".hidden/a.jsonl"))),
    ([".hidden/a.jsonl", ".hidden/.b.jsonl", "b.jsonl"], configs(config("default", ".hidden/*"))),
    ([".hidden/a.jsonl", "b.jsonl"], configs(config("default", "**/*.jsonl"))),
    (["__pycache__/a.jsonl", "b.jsonl"], configs(config("default", "__pycache__/a.jsonl"))),
    (["config.json", "dataset_info.json", "b.json"], configs(config("default", "*.json"), config("named", "config.json"))),
    (["data/train.jsonl", "data/test.jsonl", "old/train.jsonl"], configs(config("default", data_dir="data"), config("old", data_dir="old"))),
    (["data/train.jsonl", "data-old/train.jsonl"], configs(config("default", data_dir="data"))),
    (["data/x/train.jsonl", "data/y.jsonl"], configs(config("default", "x/*", data_dir="data"))),
    (shards("train", 2, folder="x/data") + ["x/test.jsonl"], configs(config("default", data_dir="x"))),
    (["a.jsonl", "b.jsonl"], configs(config("x", "a.jsonl"), config("y", "b.jsonl", default=True))),
    (["a.jsonl", "b.jsonl"], configs(config("x", "a.jsonl"), config("y", "b.jsonl"))),
    (["a.jsonl", "b.jsonl"], configs(config("default", ["a.jsonl", "b.jsonl"]))),
    (["a.jsonl", "b.jsonl"], configs(config("default", [split("train", "a.jsonl"), split("my.own_split", "b.jsonl")]))),
    (["x1.jsonl", "x2.jsonl", "y1.jsonl"], configs(config("default", "x[0-9].jsonl"), config("not", "[!x]?.jsonl"))),
    (["{a,b}.jsonl", "a.jsonl"], configs(config("default", "{a,b}.jsonl"))),
    (["a.jsonl"], configs(config("default", "*.csv"))),
    (["a.jsonl"], configs(config("default", "gone.jsonl"))),
    (["train.jsonl", "test.jsonl"], {"license": "mit", "task_categories": ["text-generation"]}),
    (["a.jsonl", "b.csv"], configs(config("default", [split("train", ["a.jsonl"]), split("test", ["b.csv"])]))),
]

LINES = {"csv": "text\na\n", "tsv": "text\na\n", "txt": "a\n"}


def row(files, card):
    with tempfile.TemporaryDirectory() as folder:
        for path in files:
            os.makedirs(os.path.dirname(os.path.join(folder, path)), exist_ok=True)
            with open(os.path.join(folder, path), "w") as file:
                file.write("{}" if path == "dataset_infos.json" else LINES.get(path.rsplit(".", 1)[-1].lower(), '{"text": "a"}\n'))
        if card:
            with open(os.path.join(folder, "README.md"), "w") as file:
                file.write(f"---\n{yaml.safe_dump(card, sort_keys=False)}---\n")
        names = [item["config_name"] for item in (card or {}).get("configs", [])]
        return {name or "": found(folder, name) for name in [None, *names]}


def found(folder, name):
    try:
        builder = load_dataset_builder(folder, name)
    except Exception as error:
        return f"{type(error).__name__}: {error}".replace(folder, "").split("\n")[0][:200]
    root = os.path.realpath(folder) + "/"
    return {
        str(split): sorted({os.path.relpath(str(path), root) for path in paths})
        for split, paths in builder.config.data_files.items()
        if paths
    }


if __name__ == "__main__":
    rows = []
    for item in ROWS:
        files, card = item if isinstance(item, tuple) else (item, None)
        rows.append({"files": files, "card": card, "datasets": row(files, card)})
    json.dump({"datasets": datasets.__version__, "rows": rows}, sys.stdout, indent=1)
    print()
