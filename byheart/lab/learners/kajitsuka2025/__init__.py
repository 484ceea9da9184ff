"""Deep and narrow, around one uniform attention layer: kajitsuka2025, eq. (165).

transformer  the learner
layout       the tokens of a problem, and the means over its contexts
label_loss   the loss of the outputs, with its slopes
"""
