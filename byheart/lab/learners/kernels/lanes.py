"""Eight float32 numbers as one value in numba code: loads, stores and sums of whole registers.

Numba leaves it to LLVM to see that a loop can be done eight numbers at a time, and LLVM gives up on
short loops over arrays that might overlap, which is all that attention over few tokens consists of.
Here the kernel does so itself. A processor without such wide registers works in halves.
"""

import operator
from typing import Any

import numpy as np
from llvmlite import ir
from numba import extending, types
from numba.core import cgutils
from numba.extending import lower_builtin, models, register_model, type_callable

from .jit import FAST, inlined

LANES = 8
LEAST = -3e38  # below every number that occurs; fast arithmetic has no infinity
FLOAT = ir.FloatType()
VECTOR = ir.VectorType(FLOAT, LANES)
WHOLE = ir.VectorType(ir.IntType(32), LANES)
ZERO = ir.Constant(VECTOR, [0.0] * LANES)
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
    return builder.bitcast(builder.gep(array.data, [arguments[1]]), VECTOR.as_pointer())


def _call(builder, name, result, *arguments):
    """A call of an LLVM intrinsic for eight numbers."""
    function = ir.FunctionType(result, [x.type for x in arguments])
    found = cgutils.get_or_insert_function(builder.module, function, f"llvm.{name}.v8f32")
    return builder.call(found, arguments, fastmath=FAST)


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
        builder.store(arguments[2], _place(context, builder, signature, arguments), align=4)
        return context.get_dummy_value()

    return types.void(array, types.intp, lanes), build


@intrinsic
def spread(typing, number):
    """The same number in all lanes."""

    def build(context, builder, signature, arguments):
        index = ir.Constant(ir.IntType(32), 0)
        one = builder.insert_element(ir.Constant(VECTOR, ir.Undefined), arguments[0], index)
        first = ir.Constant(WHOLE, [0] * LANES)
        return builder.shuffle_vector(one, ir.Constant(VECTOR, ir.Undefined), first)

    return lanes(types.float32), build


@intrinsic
def madd(typing, a, b, c):
    """a b + c, rounded once where the processor can."""

    def build(context, builder, signature, arguments):
        return _call(builder, "fmuladd", VECTOR, *arguments)

    return lanes(lanes, lanes, lanes), build


def _of_one(emit, result=lanes):
    """The function of a register whose instructions are `emit(builder, a)`."""

    @intrinsic
    def act(typing, a):
        return result(lanes), lambda context, builder, signature, given: emit(builder, *given)

    return act


def _of_two(emit):
    """The function of two registers whose instructions are `emit(builder, a, b)`."""

    @intrinsic
    def act(typing, a, b):
        return lanes(lanes, lanes), lambda context, builder, signature, given: emit(builder, *given)

    return act


def _greater(builder, a, b):
    return builder.fcmp_ordered(">", a, b)


magnitude = _of_one(lambda builder, a: _call(builder, "fabs", VECTOR, a))
root = _of_one(lambda builder, a: _call(builder, "sqrt", VECTOR, a))
_nearest = _of_one(lambda builder, a: _call(builder, "rint", VECTOR, a))
signed = _of_two(lambda builder, a, b: _call(builder, "copysign", VECTOR, a, b))  # a, b's sign
largest = _of_two(lambda builder, a, b: builder.select(_greater(builder, a, b), a, b))
gated = _of_two(  # b where a is above 0, otherwise 0
    lambda builder, a, b: builder.select(_greater(builder, a, ZERO), b, ZERO)
)
total = _of_one(  # the sum over the lanes
    lambda builder, a: _call(builder, "vector.reduce.fadd", FLOAT, ir.Constant(FLOAT, -0.0), a),
    types.float32,
)
peak = _of_one(  # the largest of the lanes
    lambda builder, a: _call(builder, "vector.reduce.fmax", FLOAT, a), types.float32
)


def _operator(sign, operation):
    """Let kernels write `a + b` for the sum in each lane, and so on."""

    @type_callable(sign)
    def typed(context):
        return lambda a, b: lanes if a is lanes and b is lanes else None

    @lower_builtin(sign, lanes, lanes)
    def build(context, builder, signature, arguments):
        return getattr(builder, operation)(*arguments, flags=FAST)


_operator(operator.add, "fadd")
_operator(operator.sub, "fsub")
_operator(operator.mul, "fmul")
_operator(operator.truediv, "fdiv")


@_of_one
def _power_of_two(builder, exponents):
    """2^n for lanes that hold whole numbers n of -126..127: n is put where floats have it."""
    bits = builder.add(builder.fptosi(exponents, WHOLE), ir.Constant(WHOLE, [127] * LANES))
    return builder.bitcast(builder.shl(bits, ir.Constant(WHOLE, [23] * LANES)), VECTOR)


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
    n = _nearest(x * constant(1.4426950408889634))
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
    return p * _power_of_two(n)
