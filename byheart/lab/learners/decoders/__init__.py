"""One layer of attention, perhaps with neurons: madden2024, dana2024 and dana2024-mlp.

decoder    the learner
reading    a problem as the kernels want it
maps       the matrices of attention
heads      attention from the last token, with any number of heads
head       the same with a single one
hidden     a layer of GELU neurons
output     logits, their cross-entropy and its gradient
workspace  memory that is used again at every step
"""
