"""What the checks of the documents share: the files, their text, and what is wrong with them."""

import re
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
faults = []


def fault(file, what):
    faults.append(f"{file}: {what}")


def finish(what):
    """Tell the faults, and return the exit code."""
    for line in faults:
        print(line, file=sys.stderr)
    print(f"{what} checked, {len(faults)} faults")
    return 1 if faults else 0


def git_files(*patterns):
    listed = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, check=True, capture_output=True, text=True)
    return [name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


@cache
def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")


@cache
def prose_of(name):
    """Return the text without fenced blocks."""
    return re.sub(r"^```.*?^```", "", text_of(name), flags=re.M | re.S)


def spans_of(name):
    """Return what stands between single backticks."""
    return [span.replace("\n", " ") for span in re.findall(r"(?<!`)`([^`]+)`(?!`)", prose_of(name))]


# Crates.

MANIFESTS = {}
for manifest in git_files("Cargo.toml", "*/Cargo.toml"):
    package = tomllib.loads(text_of(manifest))
    if "package" in package:
        MANIFESTS[package["package"]["name"]] = (Path(manifest).parent, package)
PUBLISHED = {name for name, (folder, _) in MANIFESTS.items() if folder.parts[0] in ("crates", "neural")}
