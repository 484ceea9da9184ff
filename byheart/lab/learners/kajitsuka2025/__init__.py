"""Deep and narrow, around one uniform attention layer: kajitsuka2025, eq. (165).

transformer  the learner
layout       which tokens a problem has, and the means over its contexts
label_loss   the loss of what is said, with its slopes
"""
