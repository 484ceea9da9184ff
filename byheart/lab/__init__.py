"""The lab: train architectures, and measure how much they hold. The only code that needs torch.

A trial is one training of a learner on a problem by a protocol. A sweep is the trials that a
question needs; engines run them, and measuring answers it: the smallest size that memorises.
"""
