"""One layer of attention, perhaps with neurons: madden2024, dana2024 and dana2024-mlp.

decoder    the learner
indices    a problem as the kernels read it
attention  from the last token, with one head or several
hidden     a layer of GELU neurons
output     logits, their cross-entropy and its gradient
workspace  memory that is used again at every step
"""
