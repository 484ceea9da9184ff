"""Translate a stack of layers into the flat arrays that kernels.run interprets."""

from collections.abc import Container, Sequence

from ..network import Dyadic, FeedForward, Linear, Matrix
from .folds import Folds, registers, window
from .fused import STEP
from .kernels import FOLDS, GENERAL, LINEAR, POWERS, TABLE
from .runs import Finder, Powers
from .shortcuts import ONE, Fold, bias, gated_lanes, rounded_up, scaled, table_of
from .stack import Stack, fraction_bits
from .writer import Program, Writer


def translate(stack: Stack, exponent: int, guess: bool = True) -> Program:
    """The program of a stack whose inputs have unit 2**exponent.

    guess: take the shortcut of gated lanes, which gives up (kernels.run returns False) if a table
    is read between whole numbers.
    """
    # one limb more for what a shift leaves behind
    bits, trace = fraction_bits(stack, -exponent)
    fraction = -(-bits // 64) + 1
    inputs, outputs = stack.entry.weight.columns, stack.exit.weight.rows
    writer = Writer(inputs, fraction)
    first_output = inputs + stack.width
    hidden = first_output + outputs
    base, odd = divmod(exponent + 64 * fraction, 64)  # where the inputs' unit is in the frame
    if stack.relus:
        return _plain(writer, stack, base, odd)
    _linear(writer, stack.entry, range(inputs), inputs, odd)
    gated = gated_lanes(stack, writer.point) if guess else {}
    lane, done = writer.lane, 0
    for run, blocks in Finder(stack, gated, guess, writer.point).runs():
        if isinstance(run, Folds):
            _folds(writer, run, writer.point - trace[done].get(run.lane, 0))
        elif isinstance(run, Powers):
            constants = [writer.const(x) if x else -1 for x in (run.before, run.after, -run.before)]
            writer.op(POWERS, run.blocks, lane + run.lane, run.lowest, run.highest, *constants)
        done += len(blocks)
        for block in blocks:
            _feed_forward(writer, block, hidden)
    _linear(writer, stack.exit, range(inputs, first_output), first_output, 0)
    bounds = [-1] * (hidden + stack.hidden + 1)
    for lane, bound in gated.items():
        bounds[inputs + lane] = bound.bit_length()
    return writer.program(base, first_output, outputs, guess, bounds)


def _plain(writer: Writer, stack: Stack, base: int, odd: int) -> Program:
    """Layers without skip connection: their lanes move between two sets of slots."""
    inputs, outputs = stack.entry.weight.columns, stack.exit.weight.rows
    widest = max(stack.width, *(layer.weight.rows for layer in stack.relus))
    first_output = inputs + 2 * widest
    _linear(writer, stack.entry, range(inputs), inputs, odd)
    slots = range(inputs, inputs + stack.width)
    for number, layer in enumerate(stack.relus, 1):
        first, source, start = len(writer.units), slots, inputs + widest * (number % 2)
        slots = range(start, start + layer.weight.rows)
        _units(writer, layer.weight, layer.bias, source, slots)
        writer.op(GENERAL, first, len(writer.units))
    _linear(writer, stack.exit, slots, first_output, 0)
    return writer.program(base, first_output, outputs, True, [-1] * (first_output + outputs + 1))


def _units(
    writer: Writer,
    weight: Matrix,
    vector: Matrix,
    lanes: Sequence[int],
    slots: Sequence[int],
    written: Container[int] | None = None,
) -> None:
    """relu(weight x + vector), a unit for each row, in these slots; x is in the slots `lanes`.

    A unit that is a lane itself stays in its slot, if the lanes that are `written` are others.
    """
    for row, slot in enumerate(slots):
        terms, constant = weight.by_row.get(row, []), scaled(bias(vector, row), writer.point)
        first = len(writer.terms)
        writer.terms += [(lanes[lane], writer.weight(value)) for lane, value in terms]
        plain = len(terms) == 1 and terms[0][1] == ONE
        alias = written is not None and plain and not constant and terms[0][0] not in written
        guard = writer.const(-constant) if plain and constant < 0 else -1
        if not constant and [value for _, value in terms] == [ONE, ONE]:
            guard = -2
        own = lanes[terms[0][0]] if alias else slot
        added = writer.const(constant) if constant else -1
        writer.units.append((first, len(writer.terms), added, own, int(alias), guard))


def _folds(writer: Writer, run: Folds, lowest: int) -> None:
    """FOLDS (lane, size, words, bits, room, steps, lists, registers, their number, lookups, closes,
    takes, counts): see fused.fold_run, whose window begins at bit `bits` of limb `words`.

    A step: slope, length, lookups, least excess (twice, in units of the first limb; its place),
    whether it takes from a lane, whether it fired, updates; then their lists.
    """
    found = registers(run, writer.point)
    low, size = window(run, found, lowest)
    room = writer.store([0, 0], size)
    writer.store([0], 1)
    writer.store([run.constant >> low], size)
    taking = {number for number, _ in run.takes.values()}
    steps: list[int] = []
    fired = []
    for number, (step, updates) in enumerate(zip(run.steps, found.updates, strict=True)):
        lookups = []
        for register, numbers in found.lookups[number].items():
            lookups += [register, writer.store([x >> low for x in numbers], size)]
        place = least = -1
        if step.least:
            least = max(1, rounded_up(step.least, -low))
            place = writer.store([least], size)
        leading = 2 * max(0, rounded_up(least, -64 * (size - 1)))
        fired.append(len(writer.extras) + len(steps) + 6)
        slope = step.block.slope if isinstance(step.block, Fold) else 0
        length = int(STEP) + 2 * len(updates) + len(lookups)
        simple = slope == 2 and not updates and [0] == lookups[::2]
        kind = 2 if number in taking else int(not simple)
        steps += [slope, length, len(lookups) // 2, leading, place, kind, 0]
        steps += [2 * len(updates)]
        steps += [x for register, amount in updates for x in (register, amount * size)]
        steps += lookups
    writer.store([0], 1)  # fused._settle reads two limbs at a time
    first = writer.extra(steps)
    lists = writer.extra(x for d, number in run.closes for x in (writer.lane + d, fired[number]))
    for d, (number, power) in run.takes.items():
        writer.extra([writer.lane + d, fired[number], low + power])
    for d in run.live:
        amounts = [x for number, amount in run.counts[d] for x in (fired[number], amount)]
        writer.extra([writer.lane + d, len(run.counts[d]), *amounts])
    listed = sum(map(len, found.lookups))
    values = writer.extra([0] * (found.count + 2 * listed))
    sizes = len(run.closes), len(run.takes), len(run.live)
    start = run.blocks, writer.lane + run.lane, size, *divmod(low, 64)
    writer.op(FOLDS, *start, room, first, lists, values, found.count, listed, *sizes)


def _linear(writer: Writer, layer: Linear, sources: Sequence[int], target: int, odd: int) -> None:
    """target slots = weight * source slots + bias; the sources' unit is off by 2**odd."""
    first_write, first_add = len(writer.writes), len(writer.adds)
    for row, column, value in layer.weight.entries:
        shifted = Dyadic(value.mantissa, value.exponent + odd)
        writer.writes.append((target + row, sources[column], writer.weight(shifted)))
    for row, _, value in layer.bias.entries:
        writer.adds.append((target + row, writer.const(scaled(value, writer.point))))
    writer.op(LINEAR, 0, 0, first_write, len(writer.writes), first_add, len(writer.adds))


def _feed_forward(writer: Writer, layer: FeedForward, units: int) -> None:
    """A block on its own: TABLE or GENERAL."""
    table = table_of(layer, writer.point)
    written = {row for row, _, _ in (*layer.W2.entries, *layer.b2.entries)}
    first_unit, first_write, first_add = len(writer.units), len(writer.writes), len(writer.adds)
    lanes = range(writer.lane, writer.lane + layer.W1.columns)
    slots = range(units, units + layer.W1.rows)
    _units(writer, layer.W1, layer.b1, lanes, slots, written)
    for row, column, value in layer.W2.entries:
        writer.writes.append((writer.lane + row, first_unit + column, writer.weight(value)))
    for row, _, value in layer.b2.entries:
        writer.adds.append((writer.lane + row, writer.const(scaled(value, writer.point))))
    own = first_unit, len(writer.units)
    common = *own, first_write, len(writer.writes), first_add, len(writer.adds)
    if table is not None:
        columns, targets = table.columns.values(), len(writer.adds)
        first = writer.fresh(column[j] for j in range(table.size) for column in columns)
        writer.adds += [(writer.lane + row, 0) for row in table.columns]
        # lane, size, first constant, lanes, first target
        read = writer.lane + table.lane, table.size, first, len(columns), targets
        writer.op(TABLE, *common, *read)
    else:
        writer.op(GENERAL, *common)
