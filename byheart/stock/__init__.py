"""Stock transformers, as the library transformers has them: GPT-2 and Llama."""
