"""Keys of contexts, and records: what is exchanged of a prediction. The compiled part."""

import numpy as np

from ..multisets import mixed
from ..pairs import compiled, inlined

HIGH, LOW = np.uint64(0x243F6A8885A308D3), np.uint64(0x13198A2E03707344)  # of the empty context
ODD_HIGH, ODD_LOW = np.uint64(0xA0761D6478BD642F), np.uint64(0xE7037ED1A0B428DB)
PLACE, BEGIN, SKIPPED, STATE = range(4)


@inlined
def high_of(before, token):
    """The key of a context with one token more; for each token a permutation of keys."""
    return mixed(before + (np.uint64(token) + np.uint64(1)) * ODD_HIGH)


@inlined
def low_of(before, token):
    return mixed(before ^ ((np.uint64(token) + np.uint64(1)) * ODD_LOW))


@inlined
def word_high(token):
    """The random word that stands for a token in a sum."""
    return mixed((np.uint64(token) + np.uint64(1)) * ODD_LOW)


@inlined
def word_low(token):
    return mixed((np.uint64(token) + np.uint64(1)) * ODD_HIGH)


@compiled
def walk(ids, separator, length, window, state, keys, records):
    """Fill the records with the next predictions of a shard; how many there were."""
    at, begin, written = state[PLACE], state[BEGIN], 0
    high, low, sum_high, sum_low = keys[0], keys[1], keys[2], keys[3]
    while at < len(ids) and written < len(records):
        token = ids[at]
        if token == separator:
            state[SKIPPED] += at - begin == 1
            begin = at + 1
            high, low, sum_high, sum_low = HIGH, LOW, np.uint64(0), np.uint64(0)
        elif at - begin < length:
            before = at - begin
            if before:
                size, record = min(before, window), records[written]
                record.start, record.size, record.label = at - size, size, token
                if window < length:  # all tokens, the last one at the end
                    high, low, spare = HIGH, LOW, window - size
                    for i in range(spare):
                        record.tokens[i] = 0
                    for i in range(size):
                        one = ids[at - size + i]
                        high, low = high_of(high, one), low_of(low, one)
                        record.tokens[spare + i] = one
                else:
                    record.tokens[0] = ids[at - 1]
                record.high, record.low = high, low
                record.sum_high, record.sum_low = sum_high, sum_low
                written += 1
            if window < length:
                if before >= window:
                    gone = ids[at - window]
                    sum_high, sum_low = sum_high - word_high(gone), sum_low - word_low(gone)
            else:
                high, low = high_of(high, token), low_of(low, token)
            sum_high, sum_low = sum_high + word_high(token), sum_low + word_low(token)
        at += 1
    if at == len(ids) and state[PLACE] < len(ids):
        state[SKIPPED] += at - begin == 1
    state[PLACE], state[BEGIN] = at, begin
    keys[0], keys[1], keys[2], keys[3] = high, low, sum_high, sum_low
    return written
