"""Inner loops in numba, eight numbers at a time.

compiling    how kernels are compiled, and when again
lanes        eight numbers as one value

Of decoders:

attention    from the last token, all heads of a context at once
one_head     the same for a single head
narrow       products with narrow matrices
gelu         the neurons, with their slopes
output_loss  the output layer with its loss

Of deep narrow transformers:

neurons      the ReLU neurons of a block
blocks       stacks of blocks
"""
