"""The fast engine: compiled kernels on integers of several machine words (limbs of 64 bits).

Read stack, arithmetic, kernels, writer, program, shortcuts, folds, runs, fused and engine
in this order.

The kernels allocate nothing. All their memory is two arrays, made by Program.memory for one thread:

M  uint64  +-----------------------------------------+----------------------------------------+
           | slots, FRAME limbs each                 | limbs of constants, weights, folds and |
           | inputs, lanes, outputs, hidden, spare   | tables, with room for fold_run         |
           +-----------------------------------------+----------------------------------------+
           0                                         I[LIMBS]

I  int64   +--------+-------------------------------+-----+-------+-------+-----+--------+
           | header | (low, high, negative) of each | ops | units | terms | ... | extras |
           |        | slot                          |     |       |       |     |        |
           +--------+-------------------------------+-----+-------+-------+-----+--------+
           0        STATE                           I[OPS]  I[UNITS]              I[EXTRAS]

Header     FRAME, WHOLE, FIRST_OUTPUT, ...: sizes, where each table begins, and what a run reports
           (LOWEST, HIGHEST, SINGLES). arithmetic.py lists them.
Slot d     limbs M[d FRAME + low] to M[d FRAME + high - 1] of a number in two's complement, whose
           state is I[STATE + 3 d] and the two words after it. Limb i has weight 2^(64 (i - WHOLE)).
           Layers without skip connection have no hidden slots: their lanes move between slots.

Rows of the tables:

ops        kind, then for a single block: first and last unit, write and addition;
           TABLE also lane, size, first constant, number of lanes, first target.
           For a run of blocks: their number, the lane, and what program.py and fused.py say
units      first and last term, constant (-1: none), slot, whether the slot is a lane that is read
           as it is, guard (a constant that the lane must exceed; -2: two lanes; -1: none)
terms      slot, weight
writes     slot, unit (LINEAR: slot that is read), weight
adds       slot, constant
weights    signed digits: how many, first, last, 0, 0; or limbs: 0, first, last, negative, exponent
digits     shift, whether it is subtracted
consts     offset, low, high, negative: limbs M[I[LIMBS] + offset + low] and on
bounds     for each slot the bits of all that is ever added, if it is a lane with a gate, or -1
extras     the lists of fused operations, and room for theirs
"""
