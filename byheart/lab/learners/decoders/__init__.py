"""One layer of attention, perhaps with neurons: madden2024, dana2024 and dana2024-mlp.

decoder    the learner
reading    a problem as the kernels want it
heads      attention from the last token
hidden     a layer of GELU neurons
output     logits, their cross-entropy and its gradient
workspace  memory that is used again at every step
"""
