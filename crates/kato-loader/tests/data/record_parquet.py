"""Records what pyarrow reads from Parquet files of random shapes: `record_parquet.py parquet-shapes.jsonl`.

Needs pyarrow. Each line is a file (in hexadecimal), the field of its text and that of its ids, and the documents that pyarrow finds: rows
whose text is there, all structs around it included. Compress the result with `zstd -19`.
"""

import io
import json
import random
import sys

import pyarrow as pa
import pyarrow.parquet as pq

FILES = 500
CODECS = ["none", "snappy", "gzip", "zstd"]
UNREAD = ["brotli", "lz4"]


def leaf(rng, kind):
    return {"text": pa.string(), "large": pa.large_string(), "binary": pa.binary(), "int": pa.int64()}[kind]


def side(rng, depth):
    """A column that nobody asks for, of any shape."""
    kind = rng.choice(["int", "text", "list", "map", "struct"] if depth else ["int", "text"])
    if kind == "list":
        return pa.list_(pa.field("item", side(rng, depth - 1), nullable=rng.random() < 0.6))
    if kind == "map":
        return pa.map_(pa.string(), pa.field("value", side(rng, depth - 1), nullable=rng.random() < 0.6))
    if kind == "struct":
        names = ["p", "q"][: rng.randint(1, 2)]
        return pa.struct([pa.field(n, side(rng, depth - 1), nullable=rng.random() < 0.6) for n in names])
    return leaf(rng, kind)


def value(rng, type_, nullable):
    if nullable and rng.random() < 0.35:
        return None
    if pa.types.is_struct(type_):
        return {f.name: value(rng, f.type, f.nullable) for f in type_}
    if pa.types.is_map(type_):
        return [(f"k{i}", value(rng, type_.item_type, type_.item_field.nullable)) for i in range(rng.randint(0, 3))]
    if pa.types.is_list(type_):
        return [value(rng, type_.value_type, type_.value_field.nullable) for _ in range(rng.randint(0, 3))]
    if pa.types.is_integer(type_):
        return rng.randint(0, 1 << 40)
    word = "".join(rng.choice("abcdeé漢") for _ in range(rng.randint(1, 12)))
    word = rng.choice(["shared beginning ", ""]) + word
    return word.encode() if pa.types.is_binary(type_) else word


def nested(rng, depth, inner, others):
    """The text, or the id, below so many structs, with neighbours."""
    fields = [inner] + [pa.field(f"n{i}", side(rng, max(depth - 1, 0)), nullable=rng.random() < 0.6) for i in range(others)]
    rng.shuffle(fields)
    return fields


def schema(rng):
    depth = rng.randint(0, 3)
    text = pa.field("text", leaf(rng, rng.choice(["text", "text", "large", "binary"])), nullable=rng.random() < 0.6)
    id_ = pa.field("id", leaf(rng, rng.choice(["int", "text"])), nullable=False)
    fields = nested(rng, depth, text, rng.randint(0, 2))
    if depth and rng.random() < 0.5:
        fields.append(id_)
        id_path = None
    else:
        id_path = "id"
    path = "text"
    for level in range(depth):
        inner = pa.field(f"s{level}", pa.struct(fields), nullable=rng.random() < 0.6)
        fields = nested(rng, depth - level, inner, rng.randint(0, 1))
        path = f"s{level}.{path}"
    if id_path is None:
        id_path = path[: -len("text")] + "id"
    else:
        fields.append(id_)
    return pa.schema(fields), path, id_path


def walk(row, path):
    for name in path.split("."):
        if row is None:
            return None
        row = row[name]
    return row


def main(out):
    rng = random.Random(40)
    n_files = 0
    while n_files < FILES:
        schema_, text, id_ = schema(rng)
        rows = [{f.name: value(rng, f.type, f.nullable) for f in schema_} for _ in range(rng.randint(1, 40))]
        table = pa.Table.from_pylist(rows, schema=schema_)
        codec = rng.choice(CODECS if rng.random() < 0.95 else UNREAD)
        is_dictionary = rng.random() < 0.5
        encodings = rng.choice([None, "PLAIN", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"])
        is_text = not pa.types.is_integer(walk_type(schema_, text))
        options = {}
        if not is_dictionary and encodings and is_text:
            options["column_encoding"] = {text: encodings}
        buffer = io.BytesIO()
        pq.write_table(
            table,
            buffer,
            compression=codec,
            use_dictionary=is_dictionary,
            data_page_version=rng.choice(["1.0", "2.0"]),
            data_page_size=rng.choice([1, 64, 1 << 20]),
            write_batch_size=rng.choice([1, 7, 1024]),
            row_group_size=rng.choice([3, 17, 1000]),
            write_page_index=rng.random() < 0.5,
            store_schema=rng.random() < 0.5,
            **options,
        )
        try:
            found = pq.read_table(io.BytesIO(buffer.getvalue())).to_pylist()
        except pa.ArrowInvalid:
            continue  # pyarrow itself does not read what it wrote: a struct of a list without values.
        documents, bad = [], 0
        for row in found:
            words, name = walk(row, text), walk(row, id_)
            if words is None or name is None:
                bad += 1
                continue
            words = words.decode() if isinstance(words, bytes) else words
            documents.append([str(name), words])
        unread = codec if codec in UNREAD else None
        line = {"text": text, "id": id_, "documents": documents, "bad": bad, "unread": unread}
        line["file"] = buffer.getvalue().hex()
        n_files += 1
        out.write(json.dumps(line, ensure_ascii=False) + "\n")


def walk_type(schema_, path):
    names = path.split(".")
    field = schema_.field(names[0])
    for name in names[1:]:
        field = field.type.field(name)
    return field.type


if __name__ == "__main__":
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        main(out)
