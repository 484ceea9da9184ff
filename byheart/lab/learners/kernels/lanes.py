"""Eight float32 numbers as one value in numba code: loads, stores and sums of whole registers.

Numba leaves it to LLVM to see that a loop can be done eight numbers at a time, and LLVM gives up on
short loops over arrays that might overlap, which is all that attention over few tokens consists of.
Here the kernel does so itself. A processor without such wide registers works in halves.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import extending, types
from numba.core import cgutils
from numba.extending import models, register_model

from .compiling import FAST, inlined

LANES = 8
LEAST = -3e38  # below every number that occurs; fast arithmetic has no infinity
FLOAT = ir.FloatType()
VECTOR = ir.VectorType(FLOAT, LANES)
intrinsic: Any = extending.intrinsic  # typed as if it were called with what it builds


def whole(count: int) -> int:
    """The count, rounded up to a multiple of eight."""
    return -(-count // LANES) * LANES


class Lanes(types.Type):
    """The numba type of eight numbers."""

    def __init__(self) -> None:
        super().__init__(name="Lanes")


lanes = Lanes()


@register_model(Lanes)
class _Model(models.PrimitiveModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, VECTOR)


def _place(context, builder, signature, arguments):
    """A pointer to the eight numbers of a flat array that begin at an offset."""
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    pointer = builder.gep(array.data, [arguments[1]])
    return builder.bitcast(pointer, VECTOR.as_pointer())


def _call(builder, name, result, types_, arguments):
    """A call of an LLVM intrinsic."""
    function = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(result, types_), f"llvm.{name}"
    )
    return builder.call(function, arguments, fastmath=FAST)


@intrinsic
def load(typing, array, at):
    """array[at : at + 8]."""

    def build(context, builder, signature, arguments):
        return builder.load(_place(context, builder, signature, arguments), align=4)

    return lanes(array, types.intp), build


@intrinsic
def store(typing, array, at, value):
    """array[at : at + 8] = value."""

    def build(context, builder, signature, arguments):
        place = _place(context, builder, signature, arguments)
        builder.store(arguments[2], place, align=4)
        return context.get_dummy_value()

    return types.void(array, types.intp, lanes), build


@intrinsic
def spread(typing, number):
    """The same number in all lanes."""

    def build(context, builder, signature, arguments):
        index = ir.Constant(ir.IntType(32), 0)
        one = builder.insert_element(ir.Constant(VECTOR, ir.Undefined), arguments[0], index)
        mask = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return builder.shuffle_vector(one, ir.Constant(VECTOR, ir.Undefined), mask)

    return lanes(types.float32), build


@intrinsic
def madd(typing, a, b, c):
    """a b + c, rounded once where the processor can."""

    def build(context, builder, signature, arguments):
        return _call(builder, "fmuladd.v8f32", VECTOR, [VECTOR] * 3, arguments)

    return lanes(lanes, lanes, lanes), build


@intrinsic
def largest(typing, a, b):
    """The larger number in each lane."""

    def build(context, builder, signature, arguments):
        return builder.select(builder.fcmp_ordered(">", *arguments), *arguments)

    return lanes(lanes, lanes), build


@intrinsic
def magnitude(typing, a):
    """The absolute value in each lane."""

    def build(context, builder, signature, arguments):
        return _call(builder, "fabs.v8f32", VECTOR, [VECTOR], arguments)

    return lanes(lanes), build


@intrinsic
def signed(typing, a, b):
    """The number of `a` in each lane, with the sign of `b`."""

    def build(context, builder, signature, arguments):
        return _call(builder, "copysign.v8f32", VECTOR, [VECTOR] * 2, arguments)

    return lanes(lanes, lanes), build


def _reduction(name, *start):
    @intrinsic
    def reduce(typing, a):
        def build(context, builder, signature, arguments):
            start_ = [ir.Constant(FLOAT, x) for x in start]
            types_ = [FLOAT] * len(start) + [VECTOR]
            return _call(
                builder, f"vector.reduce.{name}.v8f32", FLOAT, types_, [*start_, *arguments]
            )

        return types.float32(lanes), build

    return reduce


total = _reduction("fadd", -0.0)  # the sum over the lanes
peak = _reduction("fmax")  # the largest of the lanes


def _arithmetic(operation):
    @intrinsic
    def act(typing, a, b):
        def build(context, builder, signature, arguments):
            return getattr(builder, operation)(*arguments, flags=FAST)

        return lanes(lanes, lanes), build

    return act


plus, minus, times, over = map(_arithmetic, ("fadd", "fsub", "fmul", "fdiv"))


@intrinsic
def _power_of_two(typing, exponents):
    """2^n for lanes that hold whole numbers n of -126..127: n is put where floats have it."""

    def build(context, builder, signature, arguments):
        whole = ir.VectorType(ir.IntType(32), LANES)
        bits = builder.fptosi(arguments[0], whole)
        bits = builder.add(bits, ir.Constant(whole, [127] * LANES))
        return builder.bitcast(builder.shl(bits, ir.Constant(whole, [23] * LANES)), VECTOR)

    return lanes(lanes), build


@intrinsic
def _nearest(typing, a):
    def build(context, builder, signature, arguments):
        return _call(builder, "rint.v8f32", VECTOR, [VECTOR], arguments)

    return lanes(lanes), build


@inlined
def constant(number):
    return spread(np.float32(number))


@inlined
def exponential(x):
    """e^x in each lane, x <= 0, to about 1e-7 of it; e^-87 = 2e-38 below -87, where floats end.

    e^x = 2^n e^r with |r| <= log(2)/2, and e^r by its Taylor polynomial of degree 7, whose rest is
    below (log(2)/2)^8 / 8! < 6e-9. log(2) is taken off in two parts, so that r keeps its digits.
    """
    x = largest(x, constant(-87.0))
    n = _nearest(times(x, constant(1.4426950408889634)))
    r = madd(n, constant(-0.693359375), x)
    r = madd(n, constant(2.12194440e-4), r)
    p = constant(1 / 5040)
    p = madd(p, r, constant(1 / 720))
    p = madd(p, r, constant(1 / 120))
    p = madd(p, r, constant(1 / 24))
    p = madd(p, r, constant(1 / 6))
    p = madd(p, r, constant(1 / 2))
    p = madd(p, r, constant(1.0))
    p = madd(p, r, constant(1.0))
    return times(p, _power_of_two(n))
