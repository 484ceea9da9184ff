"""One layer of attention, perhaps with neurons: madden2024, dana2024 and dana2024-mlp."""
