"""Models for other tools: PyTorch, ONNX, Hugging Face and GGUF, one file per target."""
