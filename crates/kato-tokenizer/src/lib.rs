//! Text to token strings: GPT-2 built in, any Hugging Face tokenizer.json by path.
