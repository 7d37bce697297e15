"""Records what Python's csv and json read from random lines: `record_text.py text-formats.jsonl`.

Each line is the content of a file, its name, the documents that Python finds, and how many rows it finds that are none. A row with text
behind the closing quote of a field is none, which Python refuses only where it is strict. A file whose last field is never closed says so:
Python takes it as it is.
"""

import csv
import io
import json
import random
import sys


def has_text_behind_quote(raw, delimiter):
    """Return whether something but blanks stands behind the closing quote of a field."""
    place, found, blanks = "start", False, False
    for c in raw:
        if place == "quoted":
            place = "closing" if c == '"' else "quoted"
        elif c == '"' and place in ("start", "closing"):
            place = "quoted"
        elif c in "\r\n" or c == delimiter:
            place = "start"
        elif place in ("closing", "closed"):
            blanks |= c == " "
            found |= c != " "
            place = "closed" if c == " " else "plain"
        else:
            place = "plain"
    try:
        list(csv.reader(io.StringIO(raw, newline=""), delimiter=delimiter, strict=True))
        assert not found and not blanks, raw
    except csv.Error as error:
        assert found or blanks or "unexpected end" in str(error), (raw, error)
    return found


def rows_of(content, options):
    """Return the rows of a table with the text of each."""
    lines = list(io.StringIO(content, newline=""))
    reader, begun = csv.reader(lines, **options), 0
    for row in reader:
        yield row, "".join(lines[begun : reader.line_num])
        begun = reader.line_num


def table(rng, delimiter):
    quoting = csv.QUOTE_NONE if delimiter == "\t" else csv.QUOTE_MINIMAL
    alphabet = ["a", "b", " ", delimiter, delimiter, '"', '"', '""', "\n", "\r\n", "é", "漢", ";", "'", "\\"]
    if delimiter == "\t":
        alphabet = [c for c in alphabet if c != "\r\n"]
    body = "".join(rng.choice(alphabet) for _ in range(rng.randint(0, 40)))
    if rng.random() < 0.5:
        rows = [[str(i), "".join(rng.choice(alphabet) for _ in range(rng.randint(1, 8)))] for i in range(rng.randint(1, 5))]
        out = io.StringIO()
        if delimiter == ",":
            csv.writer(out, lineterminator=rng.choice(["\n", "\r\n"])).writerows(rows)
            body = out.getvalue()
    content = f"id{delimiter}text\n{body}"
    options = {"delimiter": delimiter, "quoting": quoting}
    if quoting == csv.QUOTE_NONE:
        options["quotechar"] = None
    # A field that is still open swallows what follows.
    more = list(csv.reader(io.StringIO(content + "\nZ" + delimiter + "Z\n", newline=""), **options))
    is_open = more[-1] != ["Z", "Z"]
    rows = [(row, raw) for row, raw in rows_of(content, options) if row][1:]
    is_broken = lambda raw: quoting != csv.QUOTE_NONE and has_text_behind_quote(raw, delimiter)
    documents = [row[1] for row, raw in rows if len(row) == 2 and not is_broken(raw)]
    return {"content": content, "documents": documents, "bad": len(rows) - len(documents), "open": is_open}


def anything(rng, depth):
    kind = rng.randint(0, 9 if depth else 6)
    if kind == 0:
        return rng.choice([None, True, False])
    if kind == 1:
        return rng.choice([0, -1, 10**30, 1.5e300, -2.5, 1e-7])
    if kind == 2:
        return rng.choice([float("nan"), float("inf"), float("-inf")])
    if kind < 7:
        return "".join(rng.choice('ab"\\/\n\t\u0001é漢\U0001f600NaN') for _ in range(rng.randint(0, 9)))
    if kind == 7:
        return [anything(rng, depth - 1) for _ in range(rng.randint(0, 3))]
    return {rng.choice(["text", "a", "b", "NaN"]): anything(rng, depth - 1) for _ in range(rng.randint(0, 3))}


def line(rng):
    value = {k: anything(rng, 2) for k in rng.sample(["text", "a", "b", "c"], rng.randint(1, 4))}
    text = json.dumps(value, ensure_ascii=rng.random() < 0.5)
    if rng.random() < 0.4:
        at = rng.randrange(len(text))
        text = text[:at] + rng.choice(['"', "N", "-", "1", "{", "]", ",", "\\", " ", "Infinity", ""]) + text[at + rng.randint(0, 1) :]
    return text


def lines(rng):
    content, documents, bad = [], [], 0
    for _ in range(rng.randint(1, 6)):
        text = line(rng)
        content.append(text)
        try:
            value = json.loads(text)
            found = value["text"] if isinstance(value, dict) else None
            found.encode()
            documents.append(found)
        except (ValueError, KeyError, AttributeError, RecursionError):
            bad += 1
    return {"content": "\n".join(content) + "\n", "documents": documents, "bad": bad, "open": False}


def main(out):
    rng = random.Random(40)
    for number in range(1200):
        name = ["a.csv", "a.tsv", "a.jsonl"][number % 3]
        case = {"a.csv": lambda: table(rng, ","), "a.tsv": lambda: table(rng, "\t"), "a.jsonl": lambda: lines(rng)}[name]()
        out.write(json.dumps({"name": name, **case}, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        main(out)
