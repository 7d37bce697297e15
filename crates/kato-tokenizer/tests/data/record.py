"""Records what Hugging Face's `tokenizers` makes of texts, with definitions like those of the popular families.

    python record.py 30 | zstd -19 > tokenizers.jsonl.zst     # what the tests read
    python record.py 1000 [SEED]                              # what the campaign reads, on standard output
    python record.py expressions 200 > expressions.jsonl      # regular expressions and what they split

One line for each definition: its name, the definition, and for each text its tokens (none where it is an error) and what
they are decoded to. Vocabularies are small and trained here on a few thousand words; everything else is as in the
published files. Needs `pip install tokenizers`; recorded with 0.23.3.
"""

import base64
import json
import os
import random
import struct
import sys
import unicodedata

os.environ["TOKENIZERS_PARALLELISM"] = "false"

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

HERE = os.path.dirname(os.path.abspath(__file__))
SAMPLE = os.path.join(HERE, "..", "..", "..", "kato-cli", "data", "sample.txt")

MANY = """Die Größe der Straße überrascht. L'été à Besançon, c'était déjà fini. El niño comió piñatas.
Привет, как дела? Мир велик. Γειά σου Κόσμε, ΣΊΣΥΦΟΣ. שלום עולם. مرحبا بالعالم، كيف الحال؟ नमस्ते दुनिया कैसे हो
안녕하세요 세계 여러분. 日本語のテキストをカタカナとひらがなで。 東京都は日本の首都です。 我爱北京天安门，天安门上太阳升。 สวัสดีชาวโลก
Việt Nam đất nước. İstanbul'da ışık. ﬁne ①②③ ½ ㎏ ™ Ａｂｃ café cafe\u0301 e\u0301 \u1e9b\u0323 ǆ
def f(x):\n    return x + 1\n\n\tif a == b:\r\n        print("hi")  # 12345 67,890.12 0x1F
I'm you're he'll they've we'd it's don't 'tis O'Neil's I'M DON'T 👩‍👩‍👧 🦀 👍🏽 🇩🇪 ☕️ @-@ <unk> [UNK] http://x.y/z?q=1&r=2
"""


def corpus():
    with open(SAMPLE, encoding="utf-8") as file:
        lines = file.read().split("\n")
    return [line for line in lines if line.strip()][:400] + MANY.split("\n") * 3


CORPUS = corpus()


# What is built from


def bpe_trainer(size, special=(), **options):
    return trainers.BpeTrainer(vocab_size=size, special_tokens=list(special), show_progress=False, **options)


ALPHABET = pre_tokenizers.ByteLevel.alphabet()


def byte_bpe(pre, normalizer=None, special=("<|endoftext|>",), size=420, model=None, decoder=True, added=(), **options):
    """Byte-level BPE."""
    t = Tokenizer(models.BPE(**(model or {})))
    if normalizer is not None:
        t.normalizer = normalizer
    t.pre_tokenizer = pre
    t.train_from_iterator(CORPUS, bpe_trainer(size, special, initial_alphabet=sorted(ALPHABET), **options))
    if decoder:
        t.decoder = decoders.ByteLevel()
    add(t, added)
    return t


def add(t, tokens):
    for token in tokens:
        if token.special:
            t.add_special_tokens([token])
        else:
            t.add_tokens([token])


def special(content, **options):
    return AddedToken(content, special=True, **options)


def added(content, **options):
    return AddedToken(content, special=False, **options)


def byte_level(prefix=False, regex=True):
    return pre_tokenizers.ByteLevel(add_prefix_space=prefix, use_regex=regex)


def split(pattern, behavior="isolated", invert=False):
    return pre_tokenizers.Split(Regex(pattern), behavior, invert)


def sequence(*parts):
    return pre_tokenizers.Sequence(list(parts))


def normal(*parts):
    return normalizers.Sequence(list(parts))


BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


def spm_bpe(normalizer=None, pre=None, special_tokens=("<unk>", "<s>", "</s>"), size=620, decoder=None, added=(), **model):
    """BPE as SentencePiece has it, with bytes for what is unknown."""
    options = {"unk_token": "<unk>", "fuse_unk": True, "byte_fallback": True}
    options.update(model)
    t = Tokenizer(models.BPE(**{name: value for name, value in options.items() if value is not None}))
    if normalizer is not None:
        t.normalizer = normalizer
    # Trained by words, as merges over blanks would otherwise take all.
    t.pre_tokenizer = pre_tokenizers.Metaspace()
    byte_tokens = BYTES if options["byte_fallback"] else []
    t.train_from_iterator(CORPUS[:-6], bpe_trainer(size, list(special_tokens) + byte_tokens, limit_alphabet=90))
    definition = json.loads(t.to_str())
    # They are tokens of the model and no added ones.
    definition["added_tokens"] = [one for one in definition["added_tokens"] if one["content"] not in byte_tokens]
    t = Tokenizer.from_str(json.dumps(definition))
    if pre is None:
        definition = json.loads(t.to_str())
        definition["pre_tokenizer"] = None
        t = Tokenizer.from_str(json.dumps(definition))
    else:
        t.pre_tokenizer = pre
    if decoder is not None:
        t.decoder = decoder
    add(t, added)
    return t


LLAMA_DECODER = decoders.Sequence(
    [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
)


def unigram(normalizer=None, pre=None, special_tokens=("<unk>", "<s>", "</s>", "<pad>"), size=300, added=(), fallback=False, decoder=True, unk="<unk>"):
    t = Tokenizer(models.Unigram())
    if normalizer is not None:
        t.normalizer = normalizer
    t.pre_tokenizer = pre or pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=size, special_tokens=list(special_tokens), unk_token=unk, show_progress=False, max_piece_length=12
    )
    t.train_from_iterator(CORPUS[:-4], trainer)
    definition = json.loads(t.to_str())
    vocab = [[token, round(score, 4)] for token, score in definition["model"]["vocab"]]
    if fallback:
        vocab += [[token, -20.0] for token in BYTES]
        definition["model"]["byte_fallback"] = True
    definition["model"]["vocab"] = vocab
    if pre is None:
        definition["pre_tokenizer"] = None
    t = Tokenizer.from_str(json.dumps(definition))
    if decoder:
        t.decoder = decoders.Metaspace()
    add(t, added)
    return t


def wordpiece(normalizer, pre, special_tokens=("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"), size=330, unk="[UNK]", prefix="##", added=(), max_chars=100, decoder=True):
    t = Tokenizer(models.WordPiece(unk_token=unk, max_input_chars_per_word=max_chars))
    if normalizer is not None:
        t.normalizer = normalizer
    t.pre_tokenizer = pre
    trainer = trainers.WordPieceTrainer(
        vocab_size=size, special_tokens=list(special_tokens), show_progress=False, continuing_subword_prefix=prefix, limit_alphabet=110
    )
    t.train_from_iterator(CORPUS, trainer)
    definition = json.loads(t.to_str())
    definition["model"].update(continuing_subword_prefix=prefix, unk_token=unk, max_input_chars_per_word=max_chars)
    t = Tokenizer.from_str(json.dumps(definition))
    if decoder:
        t.decoder = decoders.WordPiece(prefix=prefix)
    add(t, added)
    return t


def wordlevel(normalizer, pre, unk="[UNK]", size=300, added=()):
    t = Tokenizer(models.WordLevel(unk_token=unk))
    if normalizer is not None:
        t.normalizer = normalizer
    t.pre_tokenizer = pre
    t.train_from_iterator(CORPUS, trainers.WordLevelTrainer(vocab_size=size, special_tokens=[unk], show_progress=False))
    add(t, added)
    return t


def word_bpe(normalizer, pre, unk="<unk>", suffix="</w>", prefix=None, size=380, decoder=True, added=(), special_tokens=("<unk>",), **options):
    """BPE over characters with a mark at the end of words, as before byte-level BPE."""
    model = {"unk_token": unk, "end_of_word_suffix": suffix, "continuing_subword_prefix": prefix}
    model = {name: value for name, value in model.items() if value is not None}
    t = Tokenizer(models.BPE(**model, **options))
    if normalizer is not None:
        t.normalizer = normalizer
    t.pre_tokenizer = pre
    marks = {"end_of_word_suffix": suffix, "continuing_subword_prefix": prefix}
    marks = {name: mark for name, mark in marks.items() if mark is not None}
    t.train_from_iterator(CORPUS, bpe_trainer(size, special_tokens, limit_alphabet=100, **marks))
    if decoder:
        t.decoder = decoders.BPEDecoder(suffix or "</w>")
    add(t, added)
    return t


def edited(t, change):
    """Returns the tokenizer after a change to its definition."""
    definition = json.loads(t.to_str())
    change(definition)
    return Tokenizer.from_str(json.dumps(definition))


def charsmap(pairs):
    """Returns a map as SentencePiece compiles it: a double array, and the replacements behind it."""
    replacements, tree = b"", {}
    for key, value in sorted(pairs.items()):
        node = tree
        for byte in key.encode():
            node = node.setdefault(byte, {})
        node["value"] = len(replacements)
        replacements += value.encode() + b"\0"
    units, used = {0: 0}, {0}

    def place(node, at):
        labels = [label for label in node if label != "value"]
        wanted = labels + ([0] if "value" in node else [])
        offset = 1
        while any((at ^ offset ^ label) in used for label in wanted):
            offset += 1
        units[at] |= offset << 10 | (256 if "value" in node else 0)
        used.update(at ^ offset ^ label for label in wanted)
        if "value" in node:
            units[at ^ offset] = 1 << 31 | node["value"]
        for label in labels:
            units[at ^ offset ^ label] = label
        for label in labels:
            place(node[label], at ^ offset ^ label)

    place(tree, 0)
    size = (max(units) // 256 + 1) * 256
    array = [units.get(at, 0) for at in range(size)]
    blob = struct.pack("<I", 4 * size) + struct.pack(f"<{size}I", *array) + replacements
    return normalizers.Precompiled(blob)


def nmt_nfkc():
    """Returns a map like that of T5 and its relatives."""
    pairs = {}
    for code in list(range(0x80, 0x250)) + list(range(0x2000, 0x2200)) + list(range(0x2460, 0x2480)) + list(range(0x3000, 0x3100)) + list(range(0xFB00, 0xFB07)) + list(range(0xFF01, 0xFF60)):
        form = unicodedata.normalize("NFKC", chr(code))
        if form != chr(code):
            pairs[chr(code)] = form
    for character in "aeioucnAEIOU":
        for mark in "\u0300\u0301\u0308\u0327":
            form = unicodedata.normalize("NFC", character + mark)
            if len(form) == 1:
                pairs[character + mark] = form
    for code in [*range(0x01, 0x09), 0x0B, *range(0x0E, 0x20), 0x7F]:
        pairs[chr(code)] = ""
    for code in [0x09, 0x0A, 0x0C, 0x0D, 0xA0, 0x1680, *range(0x200B, 0x2010), 0x2028, 0x2029, 0xFEFF, 0xFFFD]:
        pairs[chr(code)] = " "
    return charsmap(pairs)


BERT = {"clean_text": True, "handle_chinese_chars": True}
CL100K = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
CL100K_POSSESSIVE = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
QWEN = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
O200K = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
TEKKEN = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
DEEPSEEK = r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
SPACES = [added(" " * n, normalized=False) for n in range(2, 8)]
CHAT = [special("<|im_start|>", normalized=False), special("<|im_end|>", normalized=False), added("<tool>", normalized=False)]
MASK = [special("<mask>", lstrip=True, normalized=False)]


def families():
    """Yields name and tokenizer of each."""
    nfc, nfd, nfkc, nfkd = normalizers.NFC(), normalizers.NFD(), normalizers.NFKC(), normalizers.NFKD()
    lower, strip = normalizers.Lowercase(), normalizers.Strip()
    metaspace = pre_tokenizers.Metaspace
    prefix = normal(normalizers.Prepend("▁"), normalizers.Replace(" ", "▁"))
    bert_pre = pre_tokenizers.BertPreTokenizer()

    # Byte-level BPE
    yield "gpt2", byte_bpe(byte_level())
    yield "distilgpt2-prefix", byte_bpe(byte_level(prefix=True))
    yield "roberta", byte_bpe(byte_level(), special=("<s>", "<pad>", "</s>", "<unk>"), added=MASK)
    yield "bart", byte_bpe(byte_level(prefix=True), special=("<s>", "<pad>", "</s>", "<unk>"), added=MASK)
    yield "deberta", byte_bpe(byte_level(), special=("[PAD]", "[CLS]", "[SEP]", "[UNK]"), added=[special("[MASK]", lstrip=True, normalized=True)])
    yield "opt", byte_bpe(byte_level(), special=("<pad>", "</s>"), added=[special("<s>", normalized=True)])
    yield "codegen", byte_bpe(byte_level(), added=SPACES)
    yield "phi-2", byte_bpe(byte_level(), added=SPACES + [added("\t\t", normalized=False)])
    yield "gpt-neox", byte_bpe(byte_level(), normalizer=nfc, added=SPACES)
    yield "whisper", byte_bpe(byte_level(), added=[special(f"<|{n / 50:.2f}|>") for n in range(6)] + [special("<|startoftranscript|>")])
    yield "starcoder", byte_bpe(sequence(pre_tokenizers.Digits(True), byte_level()), added=[special("<fim_prefix>")])
    yield "smollm", byte_bpe(sequence(pre_tokenizers.Digits(True), byte_level()), added=CHAT)
    yield "command-r", byte_bpe(sequence(pre_tokenizers.Digits(True), byte_level()), normalizer=nfc, added=CHAT)
    yield "bloom", byte_bpe(sequence(split(r" ?[^(\s|[.,!?…。，、।۔،])]+"), byte_level(regex=False)))
    yield "falcon", byte_bpe(sequence(pre_tokenizers.Punctuation("contiguous"), byte_level(), pre_tokenizers.Digits(False), split("[0-9][0-9][0-9]")))
    yield "stablelm", byte_bpe(sequence(split(r"\n"), byte_level()), normalizer=nfc)
    yield "llama3", byte_bpe(sequence(split(CL100K), byte_level(regex=False)), model={"ignore_merges": True}, added=CHAT)
    yield "gpt4-possessive", byte_bpe(sequence(split(CL100K_POSSESSIVE), byte_level(regex=False)))
    yield "gpt4-removed", byte_bpe(sequence(split(CL100K, "removed", True), byte_level(regex=False)))
    yield "gpt4o", byte_bpe(sequence(split(O200K), byte_level(regex=False)), added=CHAT)
    yield "mistral-nemo", byte_bpe(sequence(split(TEKKEN), byte_level(regex=False)), model={"ignore_merges": True})
    yield "qwen2", byte_bpe(sequence(split(QWEN), byte_level(regex=False)), normalizer=nfc, added=CHAT)
    yield "deepseek-v3", byte_bpe(sequence(split(r"\p{N}{1,3}"), split("[一-龥぀-ゟ゠-ヿ]+"), split(DEEPSEEK), byte_level(regex=False)), added=CHAT)
    yield "deepseek-coder", byte_bpe(sequence(split(r"[\r\n]"), split(r"\s?\p{L}+"), split(r"\s?\p{P}+"), split("[一-龥ࠀ-一가-퟿]+"), pre_tokenizers.Digits(True), byte_level(regex=False)))
    yield "gpt2-by-split", byte_bpe(sequence(split(GPT2), byte_level(regex=False)))
    yield "clip", edited(
        word_bpe(normal(nfc, normalizers.Replace(Regex(r"\s+"), " "), lower), sequence(split(r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+", "removed", True), byte_level()), unk="<|endoftext|>", special_tokens=("<|startoftext|>", "<|endoftext|>")),
        lambda d: d["model"].update(continuing_subword_prefix=""),
    )
    yield "byte-level-normalizer", byte_bpe(pre_tokenizers.WhitespaceSplit(), normalizer=normalizers.ByteLevel())
    yield "bytes-missing", edited(byte_bpe(byte_level()), drop_bytes)
    yield "bytes-missing-unk", edited(byte_bpe(byte_level(), special=("<unk>",)), lambda d: (drop_bytes(d), d["model"].update(unk_token="<unk>", fuse_unk=True)))
    yield "byte-level-wordpiece", wordpiece(None, byte_level(), size=420)
    yield "legacy-merges", edited(byte_bpe(byte_level()), lambda d: (d["model"].pop("type"), d["model"].update(merges=["#version: 0.2"] + [" ".join(m) for m in d["model"]["merges"]])))
    yield "zero-dropout", byte_bpe(byte_level(), model={"dropout": 0.0})
    yield "truncated-and-padded", edited(
        byte_bpe(byte_level()),
        lambda d: d.update(padding={"strategy": {"Fixed": 9}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0, "pad_token": "<pad>"}),
    )

    # BPE as SentencePiece has it
    yield "llama2", spm_bpe(prefix, decoder=LLAMA_DECODER, added=[special("<extra>", normalized=True)])
    yield "llama1-legacy", spm_bpe(prefix, decoder=LLAMA_DECODER, added=[special("[INST]", normalized=False), added("TOK", normalized=True)])
    yield "mistral", spm_bpe(pre=metaspace(prepend_scheme="first", split=False), decoder=LLAMA_DECODER, added=[special("[INST]", normalized=False), special("[/INST]", normalized=False)])
    yield "metaspace-first", spm_bpe(pre=metaspace(prepend_scheme="first"), added=[added("<tool>", normalized=False), added("TOK", normalized=True)])
    yield "metaspace-first-normalized", spm_bpe(normal(strip, nfkc, lower), pre=metaspace(prepend_scheme="first"), added=[added("<tool>", normalized=False), added("TOK", normalized=True)])
    yield "metaspace-never", spm_bpe(pre=metaspace(prepend_scheme="never"))
    yield "phi-3", spm_bpe(prefix, decoder=LLAMA_DECODER, added=[special("<|user|>", normalized=False, rstrip=True), special("<|end|>", normalized=False, rstrip=True), special("<|both|>", lstrip=True, rstrip=True)])
    yield "gemma", spm_bpe(normalizers.Replace(" ", "▁"), pre=pre_tokenizers.Split(" ", "merged_with_previous"), decoder=decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]), added=[special("<start_of_turn>", normalized=False), added("\n\n", normalized=False), added("▁▁", normalized=False)])
    yield "no-fallback-fused", spm_bpe(prefix, byte_fallback=False)
    yield "no-fallback-unfused", spm_bpe(prefix, byte_fallback=False, fuse_unk=False)
    yield "some-bytes", edited(spm_bpe(prefix), lambda d: drop(d, [f"<0x{b:02X}>" for b in range(0x80, 0x100, 3)]))
    yield "no-unknown", spm_bpe(prefix, byte_fallback=False, unk_token=None)
    yield "fallback-ignoring-merges", spm_bpe(prefix, pre=metaspace(), ignore_merges=True)

    # Unigram
    t5 = nmt_nfkc()
    yield "t5", unigram(t5, metaspace(), special_tokens=("<pad>", "</s>", "<unk>"), added=[special("<extra_id_0>", lstrip=True, rstrip=True), special("<extra_id_1>")])
    yield "mt5", unigram(t5, metaspace(), special_tokens=("<pad>", "</s>", "<unk>"), fallback=True)
    yield "albert", unigram(normal(normalizers.Replace("``", '"'), normalizers.Replace("''", '"'), nfkd, normalizers.StripAccents(), lower, t5), metaspace(), special_tokens=("<pad>", "<unk>", "[CLS]", "[SEP]"), added=[special("[MASK]", lstrip=True)])
    yield "xlnet", unigram(normal(normalizers.Replace("``", '"'), nfkd, normalizers.StripAccents(), normalizers.Replace(Regex(" {2,}"), " ")), metaspace())
    yield "xlm-roberta", unigram(t5, sequence(pre_tokenizers.WhitespaceSplit(), metaspace()), added=MASK)
    yield "mbart", unigram(t5, sequence(pre_tokenizers.WhitespaceSplit(), metaspace()), added=[special("en_XX"), special("de_DE")] + MASK)
    yield "nllb", unigram(normal(normalizers.Nmt(), nfkc, normalizers.Replace(Regex(" {2,}"), " ")), metaspace(), added=[special("eng_Latn")] + MASK)
    yield "pegasus", unigram(t5, sequence(pre_tokenizers.WhitespaceSplit(), metaspace()), added=[special("<mask_1>"), special("<mask_2>", lstrip=True)])
    yield "camembert", unigram(t5, sequence(pre_tokenizers.WhitespaceSplit(), metaspace()), added=MASK + [special("<unk>NOTUSED")])
    yield "deberta-v3", unigram(normal(strip, t5, normalizers.Replace(Regex(" {2,}"), " ")), metaspace(), added=[special("[MASK]", normalized=False)])
    yield "xglm", unigram(normal(t5, normalizers.Replace(Regex(" {2,}"), " ")), metaspace(prepend_scheme="first"), added=[added("<madeupword0>"), added("TOK", normalized=True)])
    yield "unigram-whole-text", unigram(normalizers.Replace(" ", "▁"), None)
    yield "unigram-no-unknown", edited(unigram(None, metaspace()), lambda d: d["model"].update(unk_id=None))
    yield "unigram-digits", unigram(nfkc, sequence(pre_tokenizers.Digits(True), metaspace(), pre_tokenizers.Punctuation()))
    yield "unigram-scripts", unigram(nfkc, sequence(pre_tokenizers.UnicodeScripts(), pre_tokenizers.WhitespaceSplit()))

    # WordPiece
    uncased = normalizers.BertNormalizer(**BERT, strip_accents=None, lowercase=True)
    cased = normalizers.BertNormalizer(**BERT, strip_accents=None, lowercase=False)
    yield "bert-uncased", wordpiece(uncased, bert_pre)
    yield "bert-cased", wordpiece(cased, bert_pre)
    yield "bert-multilingual", wordpiece(normalizers.BertNormalizer(**BERT, strip_accents=True, lowercase=False), bert_pre, size=420)
    yield "bert-chinese", wordpiece(normalizers.BertNormalizer(clean_text=False, handle_chinese_chars=True, strip_accents=False, lowercase=True), bert_pre, size=420)
    yield "electra", wordpiece(uncased, bert_pre, max_chars=12)
    yield "mpnet", wordpiece(uncased, bert_pre, special_tokens=("<s>", "<pad>", "</s>", "[UNK]"), added=[special("<mask>", lstrip=True)])
    yield "funnel", wordpiece(uncased, bert_pre, special_tokens=("<unk>", "<sep>", "<pad>", "<cls>"), unk="<unk>")
    yield "bert-added-words", wordpiece(uncased, bert_pre, added=[added("TOK", normalized=True), added("wörd", single_word=True), added("Knowledge", single_word=True, normalized=True), added("1", normalized=False)])
    yield "wordpiece-whitespace", wordpiece(nfd, pre_tokenizers.Whitespace())
    yield "wordpiece-split", wordpiece(normal(nfd, normalizers.StripAccents()), pre_tokenizers.WhitespaceSplit())
    yield "wordpiece-no-prefix", wordpiece(lower, pre_tokenizers.Whitespace(), prefix="")
    yield "wordpiece-no-unknown", edited(wordpiece(lower, pre_tokenizers.Whitespace()), lambda d: d["model"].update(unk_token="missing"))
    yield "wordpiece-dashes", wordpiece(lower, pre_tokenizers.CharDelimiterSplit("e"))
    yield "wordpiece-fixed", wordpiece(None, pre_tokenizers.FixedLength(4))
    yield "wordpiece-digits", wordpiece(None, sequence(pre_tokenizers.Digits(False), pre_tokenizers.Whitespace()))
    yield "wordpiece-scripts", wordpiece(None, pre_tokenizers.UnicodeScripts())
    for behavior in ["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"]:
        yield f"punctuation-{behavior}", wordpiece(lower, sequence(pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation(behavior)))
        yield f"split-{behavior}", wordpiece(lower, split(r"[\s\p{P}]|\d{2}", behavior))
        yield f"split-inverted-{behavior}", wordpiece(lower, split(r"\w+(?=\s)|[^\w\s]", behavior, True))
    yield "split-text", wordpiece(lower, pre_tokenizers.Split("e ", "merged_with_next"))

    # WordLevel
    yield "words", wordlevel(None, pre_tokenizers.Whitespace())
    yield "words-nmt", wordlevel(normal(normalizers.Nmt(), nfkd, lower, strip), pre_tokenizers.WhitespaceSplit())
    yield "words-no-unknown", edited(wordlevel(lower, pre_tokenizers.Whitespace(), size=2000), lambda d: d["model"].update(unk_token="missing"))
    yield "words-strip-left", wordlevel(normalizers.Strip(True, False), split(" "), added=[added(" ", normalized=False, rstrip=True, lstrip=True), added("of", single_word=True)])

    # BPE with marks at the ends of words
    yield "openai-gpt", word_bpe(uncased, bert_pre, unk="<unk>")
    yield "herbert", word_bpe(cased, bert_pre, special_tokens=("<s>", "<unk>", "</s>"), added=MASK)
    yield "xlm", word_bpe(normal(nfkc, lower, normalizers.StripAccents()), pre_tokenizers.Whitespace())
    yield "biogpt", word_bpe(None, pre_tokenizers.WhitespaceSplit(), fuse_unk=True)
    yield "suffix-and-prefix", word_bpe(lower, pre_tokenizers.Whitespace(), prefix="##")
    yield "prefix-alone", word_bpe(lower, bert_pre, suffix=None, prefix="@@")
    yield "no-unknown-word", word_bpe(lower, pre_tokenizers.Whitespace(), unk=None)
    yield "ctrl", edited(word_bpe(lower, split(r"\S+\n?", "removed", True)), lambda d: d["model"].update(end_of_word_suffix="</w>"))
    yield "bytes-and-suffix", edited(word_bpe(None, pre_tokenizers.Whitespace(), special_tokens=tuple(["<unk>"] + BYTES), size=600, byte_fallback=True), lambda d: d.update(added_tokens=[]))
    yield "lookbehind", wordpiece(lower, sequence(split(r"(?<=[aeiou])(?=[^aeiou\s])|(?<!\p{L})\p{N}+"), pre_tokenizers.WhitespaceSplit()))
    yield "replace-regex", wordpiece(normal(normalizers.Replace(Regex(r"(?i:the|of)\b"), "*"), normalizers.Replace(Regex(r"^\s+|\s+$"), "_"), normalizers.Replace(Regex(r"\d(?=(?:\d{3})+\b)"), "9,")), pre_tokenizers.Whitespace())
    yield "two-metaspaces", spm_bpe(pre=sequence(metaspace("_", prepend_scheme="first"), metaspace(prepend_scheme="first")), added=[added("of", normalized=True)])
    yield "first-after-forms", spm_bpe(normal(nfkd, t5, normalizers.Prepend("e"), normalizers.Replace(Regex("^e|t"), "th")), pre=metaspace(prepend_scheme="first"), added=[added("th", normalized=False), added("h", normalized=False), added("ee", normalized=False)])
    yield "ctc", edited(wordlevel(None, split("", "isolated")), lambda d: d.update(decoder={"type": "CTC", "pad_token": "e", "word_delimiter_token": "|", "cleanup": True}))


def drop(definition, tokens):
    """Takes tokens and the merges with them out of the model; ids close up."""
    tokens, model = set(tokens), definition["model"]
    merges = [m for m in model["merges"] if not any(part in tokens for part in (m[0], m[1], m[0] + m[1]))]
    left = [token for token in model["vocab"] if token not in tokens]
    known = set(left)
    model["merges"] = [m for m in merges if m[0] in known and m[1] in known and m[0] + m[1] in known]
    model["vocab"] = {token: n for n, token in enumerate(left)}


def drop_bytes(definition):
    gone = [c for c in "ĊēğäÃé" if c in definition["model"]["vocab"]]
    vocab = definition["model"]["vocab"]
    drop(definition, gone + [token for token in vocab if any(c in token for c in gone)])


# Texts

PIECES = ["'s", "'S", "'ll", "n't", "'", "’s", "``", "''", '"', ".", ",", "...", "?!", "-", "—", "@-@", "=", "\\", "/", "<unk>", "[UNK]", "<s>", "</s>", "<mask>", "[MASK]", "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<tool>", "TOK", "tok", "[INST]", "<|user|>", "<|end|>", "<|both|>", "<extra_id_0>", "<0x0A>", "▁", "_", "##", "</w>", "wörd", "Knowledge", "of", "th", "ee", "en_XX", "<|0.02|>"]
BLANKS = [" ", " ", " ", "  ", "   ", "       ", "\n", "\n\n", "\r\n", "\t", "\t\t", " \n ", "\u00a0", "\u2003", "\u3000", "\u0085", "\u200b", "\ufeff", "\u2028", "\u1680", "\x0b", "\x0c"]
MARKS = ["\u0301", "\u0308", "\u0327", "\u20dd", "\u093c", "\u0e31", "\u05b8", "\u064e", "\u0345", "\u200d", "\ufe0f", "\u3099"]
EMOJI = ["🦀", "👩‍👩‍👧", "👍🏽", "🇩🇪", "☕️", "1️⃣", "🏴󠁧󠁢󠁥󠁮󠁧󠁿"]
WORDS = [word for line in CORPUS for word in line.split()]
RANGES = [(0x00, 0x7F), (0x80, 0x24F), (0x250, 0x36F), (0x370, 0x52F), (0x530, 0x6FF), (0x700, 0xDFF), (0xE00, 0x1FFF), (0x2000, 0x2BFF), (0x2E80, 0x33FF), (0x3400, 0x9FFF), (0xA000, 0xD7FF), (0xE000, 0xFFFF), (0x10000, 0x1FFFF), (0x20000, 0x3FFFF), (0xE0000, 0x10FFFF)]


def character(rng):
    while True:
        code = rng.randint(*rng.choice(RANGES))
        # What is not assigned may be in a later version, and is a letter then.
        if not 0xD800 <= code < 0xE000 and unicodedata.category(chr(code)) != "Cn":
            return chr(code)


def text(rng):
    parts = []
    for _ in range(rng.randint(0, 14)):
        kind = rng.randrange(14)
        if kind < 5:
            word = rng.choice(WORDS)
            parts.append(rng.choice([word, word, word.lower(), word.upper(), word.title(), " " + word, word + " "]))
        elif kind < 7:
            parts.append(rng.choice(BLANKS))
        elif kind == 7:
            parts.append(rng.choice(PIECES))
        elif kind == 8:
            parts.append(rng.choice(PIECES) + rng.choice(BLANKS) + rng.choice(PIECES))
        elif kind == 9:
            parts.append(str(rng.randrange(10 ** rng.randint(1, 9))))
        elif kind == 10:
            parts.append("".join(rng.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(rng.randint(1, 9))))
        elif kind == 11:
            parts.append("".join(character(rng) for _ in range(rng.randint(1, 4))))
        elif kind == 12:
            parts.append(rng.choice("aeounAEÅи日") + rng.choice(MARKS) * rng.randint(1, 2))
        else:
            parts.append(rng.choice([rng.choice(EMOJI), rng.choice(" aé\n-0") * rng.randint(2, 30)]))
    return "".join(parts)


SEED = sys.argv[2] if len(sys.argv) > 2 else ""
FIXED = ["", " ", "\n", "a", "é", "TOK<tool> TOK", "  leading and trailing  ", "hello a b c", "It's 12345 o'clock; naïve 日本語 text!\n\n  Next line\tend", "x" * 130]


def texts(name, count):
    rng = random.Random(name + SEED)
    return (FIXED + [text(rng) for _ in range(count)])[:count]


def tokens_of(t, one):
    try:
        ids = t.encode(one, add_special_tokens=False).ids
    except BaseException:
        return None, None
    return [t.id_to_token(id) for id in ids], decoded(t, ids)


def decoded(t, ids):
    try:
        return t.decode(ids, skip_special_tokens=False)
    except BaseException:
        return None


# Expressions


EXPRESSIONS = [
    ('\\b', 'a²b'),
    ('\\b', '² x'),
    ('^', 'a\n\nb\n'),
    ('$', 'a\n\nb\n'),
    ('\\Z', 'a\nb\n'),
    ('\\z', 'a\nb\n'),
    ('\\A', 'a\nb'),
    ('^', '\n'),
    ('$', '\n'),
    ('^', ''),
    ('[^a&&b]', 'abcab'),
    ('[a-w&&[^c-g]z]', 'abcdefgz'),
    ('a{,2}', 'aaaa'),
    ('a{2}+', 'aaaaa'),
    ('a{1,3}+', 'aaaaab'),
    ('a{', 'a{b'),
    ('a{,}', 'a{,}b'),
    ('(?<=a|xa)b', 'xabc'),
    ('(?:a*)*b', 'ab12'),
    ('(?:a|b)*?b', 'aab'),
    ('(?>fo|foo)b', 'foobar'),
    ('a(?m)b.|c', 'ab\nc'),
    ('(?i)a|B|C', 'ABc'),
    ('a(?i)x|b', 'aXbx'),
    ('[a\\-b]+', 'a-b'),
    ('[\\]-]', 'a-]b'),
    ('[^\\]]', 'ab]'),
    ('(?i:s)', 'ſS'),
    ('(?i:K)', 'Kk'),
    ('\\R', 'a\r\n\rb'),
    ('a++b', 'aab'),
    ('a?+ab', 'aab'),
    ('(ab)+', 'abab'),
    ('(?<n>b)c', 'abc'),
    ('b(?#x\\)y)#', 'ab#c'),
    ('[\\a\\e\\v]+', '\x07\x1b\x0b'),
    ('\\u00e9|\\x61', 'aé'),
    ('\\x{20ac}', 'x€'),
    ('\\w+?', 'a1_é'),
    ('\\s*?a', '  a'),
    ('(?:a?){2,3}?', 'aaa'),
    ('(?=b)|c', 'abc'),
    ('(?:)*', 'aaa'),
    ('(?:ab){1,2}+', 'abab'),
    ('a||b', 'a|b'),
    ('|a', 'ab'),
    ('(?!a)\\w', 'abc'),
    ('a\\^', 'a^b'),
    ('\\p{Han}+|\\p{Katakana}+', '日本語テキスト'),
    ('ß', 'ßss'),
    ('\\d+(?=y)|(?<!\\d)2', 'x1y22'),
    ('[.]', 'a.b'),
    ('[[:space:]]', 'tab\t'),
    ('[[:^alpha:]b]', 'ab'),
    ('(?i:x)|é', 'éÉ'),
    ('l+|e', 'hello there'),
    ('\\s', 'a\u3000b'),
    ('[+--]', 'a--b'),
    ('z{0}', 'zz'),
    ('z{0,0}z', 'zz'),
    ('\\(|\\)', '(a)'),
    ('a]', 'a]b'),
    ('}', '}'),
    ('(?:a{2}){1}', 'aaa'),
    ('(?-i:a)|(?i:b)', 'aAbB'),
    ('[-a]+', '-a-'),
    ('[^\\W]', 'x²'),
    ('\\B.', '¼a'),
]
LATIN = "".join(map(chr, range(0x20, 0x180))) + "ſK\u200d\u0301Ⅷ\u2028"
SETS = [r"\w", r"[\w]", r"\W", r"[^\w]", r"[^\W]", r"\p{Word}", r"\P{Word}", r"\p{^Word}", r"[\p{Word}]", "[[:word:]]", r"[^\w\s]", r"\d", r"\h", r"\H", "[[:punct:]]", r"\p{Punct}", "[[:alpha:]]", "[[:^alnum:]]", "[[:upper:][:blank:]]", r"\p{Lu}", r"[\p{L}&&[^a-zé]]", r"\p{^L}", r"\p{Latin}", r"\p{greek}", r"\p{Uppercase_Letter}", r"\b", r"\B", "(?i:[a-z])", "(?i:[k])", "(?i:s)", "(?i:ß)", "(?i:ss)", "(?i:é)", "."]


def expression(rng, depth=0):
    """Returns a random expression."""

    def atom():
        kind = rng.randrange(16)
        if kind < 5:
            return rng.choice("ab1 -é")
        if kind < 9:
            return rng.choice([r"\s", r"\d", r"\w", ".", r"\p{L}", "[ab]", "[^a]", "[a-z&&[^b]]", r"[^\s\p{N}]", r"\n", r"\S", "[[:alpha:]1]"])
        if kind < 10:
            return rng.choice(["^", "$", r"\b", r"\B", r"\A", r"\z", r"\Z"])
        if depth < 3:
            inner = expression(rng, depth + 1)
            return rng.choice(["(?:%s)", "(%s)", "(?>%s)", "(?=%s)", "(?!%s)", "(?i:%s)", "(?m:%s)"]) % inner if rng.random() < 0.9 else rng.choice(["(?<=%s)", "(?<!%s)"]) % rng.choice(["a", "b|1", r"\s", "ab"])
        return "a"

    def piece():
        one = atom()
        if one in ("^", "$") or one[0] == "\\" and one[1:2] in ("b", "B", "A", "z", "Z") or one.startswith(("(?=", "(?!", "(?<")):
            return one
        return one + rng.choice(["", "", "", "*", "+", "?", "*?", "+?", "??", "*+", "++", "?+", "{2}", "{1,2}", "{0,2}?", "{1,}", "{,2}", "{1,2}+"])

    return "|".join("".join(piece() for _ in range(rng.randint(1, 3))) for _ in range(rng.choice([1, 1, 1, 2, 3])))


def expressions(count):
    rng = random.Random("expressions")
    rows = EXPRESSIONS + [(one, LATIN) for one in SETS]
    for _ in range(count):
        one = expression(rng)
        rows += [(one, "".join(rng.choice("aabb1 -é\nAB") for _ in range(rng.randint(1, 14)))) for _ in range(2)]
    for one, where in rows:
        try:
            pieces = [piece for piece, _ in pre_tokenizers.Split(Regex(one), "isolated").pre_tokenize_str(where)]
        except BaseException:
            pieces = None
        print(json.dumps([one, where, pieces], ensure_ascii=False))


def main():
    if sys.argv[1] == "expressions":
        return expressions(int(sys.argv[2]))
    count = int(sys.argv[1])
    for name, t in families():
        t.no_truncation()
        definition = json.loads(t.to_str())
        t.no_padding()
        rows = []
        for one in texts(name, count):
            tokens, back = tokens_of(t, one)
            rows.append([one, tokens, back])
        print(json.dumps({"name": name, "definition": definition, "texts": rows}, ensure_ascii=False), flush=True)


if __name__ == "__main__":
    main()
