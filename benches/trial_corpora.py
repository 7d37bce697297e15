#!/usr/bin/env python3
"""Makes corpora of other kinds of text, of Debian packages and of what is installed here.

    mkdir debs && cd debs && apt-get download fortunes-de manpages-es manpages-pl dict-jargon wordnet-base git-doc rust-doc; cd ..
    for deb in debs/*.deb; do dpkg-deb -x "$deb" unpacked; done
    python3 benches/trial_corpora.py unpacked corpora

Further kinds are made with a third argument: `more` needs manpages-ja, dict-foldoc, iso-codes and golang-1.19-src; `untouched` needs
manpages-de, manpages-fr, manpages-dev, fortunes, dict-gcide, perl-doc, postgresql-doc-15 and python3.11-doc, and mixes them, too.

Writes one JSON Lines file a corpus; docs/costs.md says what is measured on them.
"""

import gzip
import json
import pathlib
import re
import subprocess
import sys

TAG = re.compile(r"<(script|style).*?</\1>|<[^>]*>", re.DOTALL)


def read(path):
    data = path.read_bytes()
    if path.suffix in (".gz", ".dz"):
        data = gzip.decompress(data)
    return data.decode("utf-8", "replace")


def below(folder, pattern):
    paths = (path for path in sorted(folder.glob(pattern)) if path.is_file() and not path.is_symlink())
    return (read(path) for path in paths)


def pieces(texts, border):
    return (piece for text in texts for piece in re.split(border, text))


def package_list():
    """Returns the stanzas of the packages that apt knows."""
    return subprocess.run(["apt-cache", "dumpavail"], capture_output=True, check=True, text=True).stdout.split("\n\n")


def corpora(root):
    share = root / "usr/share"
    fortunes = [path for path in sorted((share / "games/fortunes").rglob("*")) if path.is_file()]
    fortunes = [path for path in fortunes if path.suffix != ".dat"]
    yield "sayings", pieces(map(read, fortunes), r"(?m)^%\s*$")
    yield "manual-es", below(share / "man/es", "*/*.gz")
    yield "manual-pl", below(share / "man/pl", "*/*.gz")
    yield "jargon", pieces(below(share / "dictd", "jargon.dict.dz"), r"\n\s*\n")
    glosses = (line.split("| ", 1) for text in below(share / "wordnet", "data.*") for line in text.splitlines())
    yield "glosses", (gloss[1] for gloss in glosses if len(gloss) == 2)
    yield "git", below(share / "doc/git-doc", "**/*.txt")
    yield "rust", (TAG.sub(" ", page) for page in list(below(share / "doc/rust-doc", "**/*.html"))[:3000])
    system = pathlib.Path("/usr")
    yield "licences", below(system / "share/doc", "*/copyright")
    yield "headers", list(below(system / "include", "**/*.h"))[:6000]
    yield "packages", package_list()[:30000]


def more(root):
    """Yields kinds that the width of intervals was chosen on, and nothing else."""
    share = root / "usr/share"
    yield "manual-ja", below(share / "man/ja", "*/*.gz")
    yield "foldoc", pieces(below(share / "dictd", "foldoc.dict.dz"), r"\n(?=\S)")
    codes = (path for path in sorted((share / "iso-codes/json").glob("iso_*.json")))
    entries = (entry for path in codes for entries in json.loads(read(path)).values() for entry in entries)
    yield "codes", (json.dumps(entry, ensure_ascii=False) for entry in entries)
    yield "go", below(share / "go-1.19", "src/**/*.go")
    yield "python", below(pathlib.Path("/usr/lib/python3.11"), "**/*.py")
    yield "changelogs", below(pathlib.Path("/usr/share/doc"), "*/changelog*.gz")


def mixed(one, other, of_ten):
    """Returns texts of two kinds, so many of ten of the first."""
    n = min(len(one) // of_ten, len(other) // (10 - of_ten))
    return one[: n * of_ten] + other[: n * (10 - of_ten)]


def untouched(root):
    """Yields kinds, and mixtures of them, that no choice of the estimator was made on."""
    share = root / "usr/share"
    fortunes = [path for path in sorted((share / "games/fortunes").glob("*")) if not path.is_symlink()]
    kinds = {
        "manual-de": below(share / "man/de", "*/*.gz"),
        "manual-fr": below(share / "man/fr", "*/*.gz"),
        "manual-dev": below(share / "man", "man[1-9]/*.gz"),
        "sayings-en": pieces((read(path) for path in fortunes if path.suffix != ".dat"), r"(?m)^%\s*$"),
        "dictionary": pieces(below(share / "dictd", "gcide.dict.dz"), r"\n\s*\n"),
        "perl": below(root / "usr/share/perl", "**/*.pod"),
        "postgresql": (TAG.sub(" ", page) for page in below(share / "doc/postgresql-doc-15", "**/*.html")),
        "python-doc": (TAG.sub(" ", page) for page in below(share / "doc/python3.11/html", "**/*.html")),
    }
    kinds = {name: [text for text in texts if text.strip()] for name, texts in kinds.items()}
    yield from kinds.items()
    licences = list(below(pathlib.Path("/usr/share/doc"), "*/copyright"))
    yield "manual-fr-and-postgresql-5-5", mixed(kinds["manual-fr"], kinds["postgresql"], 5)
    yield "sayings-en-and-manual-dev-9-1", mixed(kinds["sayings-en"], kinds["manual-dev"], 9)
    yield "manual-de-and-licences-7-3", mixed(kinds["manual-de"], licences, 7)
    yield "dictionary-and-python-doc-9-1", mixed(kinds["dictionary"], kinds["python-doc"], 9)


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    root, out = map(pathlib.Path, sys.argv[1:3])
    of = {"more": more, "untouched": untouched}.get("".join(sys.argv[3:]), corpora)
    out.mkdir(parents=True, exist_ok=True)
    for name, texts in of(root):
        documents = [text for text in texts if text.strip()]
        with (out / f"{name}.jsonl").open("w") as file:
            file.writelines(json.dumps({"text": text}, ensure_ascii=False) + "\n" for text in documents)
        print(f"{name}: {len(documents):,} documents, {len(set(documents)):,} distinct, {sum(map(len, documents)):,} characters")


if __name__ == "__main__":
    main()
