"""Does this network give the labels of this data, exactly? A small second reading of FORMAT.md.

Usage: python small_check.py FOLDER DATA.jsonl [--json]. Exit code 0: VERIFIED; 1: readable, but the
claim does not hold; 2: not readable, or not for this checker, which judges networks (the claim
`labels`), not decoders, and reads `.jsonl` alone. Written without knowledge of check.py.
A number is a pair (mantissa, exponent), the mantissa odd. Zeros are left out: a column is a dict
from rows to numbers, a matrix a dict from rows to dicts from columns to numbers. A bias is one more
column of its matrix, numbered after the others; it meets a coordinate 1 (an embedding: a position).
"""

import hashlib
import json
import math
import re
import struct
import sys
from itertools import islice, pairwise
from pathlib import Path
from types import SimpleNamespace

MOST_DIGITS = 1_262_612  # of an integer: a mantissa of 2^22 bits has no more
MOST_MEMORY = 2**33  # bits of a column: a limit of this program, not of the format
COUNT = {"least": -math.inf, "most": math.inf}
FILES = ("config.json", "weights.safetensors", "vocabulary.json")
DTYPES = {"I32": "i", "I64": "q", "U8": "B", "U64": "Q", "F64": "d"}
OFFSETS = {"bias": "weight", "position": "weight", "b1": "W1", "b2": "W2"}
TENSORS = {  # of section 3, in order, with their shapes; s stands for heads * head_dimension
    **dict.fromkeys(("linear", "relu"), "weight rows columns bias rows 1"),
    "embedding": "weight rows columns position rows 1",
    "feed_forward": "W1 hidden D b1 hidden 1 W2 D hidden b2 D 1",
    **dict.fromkeys(("uniform_attention", "sparse_attention"), "W_V s D W_O D s"),
    "hard_attention": "W_Q s D W_K s D W_V s D W_O D s",
    "sum": "",
}


class Failed(Exception): ...  # a sequence does not get its labels: exit code 1


def need(condition, sentence):
    if not condition:
        raise ValueError(sentence)  # not readable: exit code 2


def get(parent, key, kind=int, least=1, most=2**20):
    """The value of a key that must be present, of this type (true is no int) and in this range."""
    fits = type(parent.get(key)) is kind and (kind is not int or least <= parent[key] <= most)
    need(fits, f"{key} is missing, has the wrong type, or is too small or too large")
    return parent[key]


def read_object(raw):
    def unique(pairs):
        need(len(dict(pairs)) == len(pairs), "a key is repeated")
        return dict(pairs)

    found = json.loads(raw.decode(), object_pairs_hook=unique, parse_constant=int)  # no NaN
    need(type(found) is dict, "there is JSON that is not an object")
    return found


def are_words(values):
    """Whether these are all integers, or all strings, none with half a surrogate pair."""
    kinds = {type(value) for value in values}
    return kinds <= {int} or kinds == {str} and not re.search("[\ud800-\udfff]", "\n".join(values))


def exactly(number, exponent=0):
    """Section 1: `number * 2**exponent`, for an int or a finite float, in canonical form."""
    top, bottom = number.as_integer_ratio()
    zeros = (top & -top).bit_length() - 1
    return (top >> zeros, exponent + zeros + 1 - bottom.bit_length()) if top else (0, 0)


def plain_bits(mantissa, exponent):
    """Sections 2 and 4: the length in plain binary notation."""
    return max(mantissa.bit_length() + max(exponent, 0), -exponent)


def read_vector(pairs, dimension):
    """Section 1: a column from pairs of integers or decimal strings."""
    need(type(pairs) is list and len(pairs) == dimension, "a vector has the wrong dimension")
    for pair in pairs:
        whole = [re.fullmatch("-?[0-9]+", str(x)) and type(x) in (int, str) for x in pair]
        need(type(pair) is list and whole == [True, True], "a dyadic number is not a pair")
        need(int(pair[0]).bit_length() <= 2**22 >= abs(int(pair[1])), "a number is too large")
    return {row: exactly(*map(int, pair)) for row, pair in enumerate(pairs) if int(pair[0])}


def read_config(config):
    """Section 2: the network without its weights."""
    need(config.get("format") == "byheart-model" and get(config, "version") < 3, "another format")
    need("decoder" not in config, "this checker judges networks, not decoders (distributions)")
    given, output = get(config, "input", dict), get(config, "output", dict)
    net = SimpleNamespace(layers=[], doubles={"dyadic": False, "float64": True}[config["number"]])
    net.kind, net.length, d = given["kind"], get(given, "length"), get(given, "dimension")
    need({"string": 1, "number": 1, "vector": d}[net.kind] == d, "the dimension is not 1")
    net.dimension, vectors = d, (given["padding"], given.get("extra"))
    net.padding, net.extra = (None if pairs is None else read_vector(pairs, d) for pairs in vectors)
    net.columns = 1 if net.padding is None else net.length + (net.extra is not None)  # n'
    net.positions, net.labels = get(given, "positions", bool), get(output, "labels", most=math.inf)
    unknown = output.get("unknown") is None or get(output, "unknown", **COUNT) == net.labels
    net.every = output.get("every") is not None and get(output, "every", bool)
    need(unknown and 2 <= len(get(config, "layers", list)) <= 2**20, "unknown or layers is wrong")
    for layer in config["layers"]:
        D = net.layers[-1].rows if net.layers else 0
        net.layers.append(SimpleNamespace(kind=layer["kind"], sources={}))
        new, words = net.layers[-1], TENSORS[layer["kind"]].split()
        sizes = {key: get(layer, key) for key in ("rows", "columns", "hidden") if key in words}
        new.rows, new.columns = sizes.get("rows", D), sizes.get("columns", D)
        need(D in (0, new.columns), "columns is not the number of rows before")
        new.head = get(layer, "head_dimension") if "W_V" in words else 1
        new.heads = get(layer, "heads", most=2**20 // new.head) if "W_Q" in words else 1
        new.connections = get(layer, "connections", int, 0, 2**24) if "sparse" in new.kind else 0
        sizes |= {"D": D, "1": 1, "s": new.head * new.heads}
        new.shapes = {a: (sizes[b], sizes[c]) for a, b, c in zip(*[iter(words)] * 3, strict=True)}
        new.tensors, new.mixing = {name: {} for name in new.shapes}, not {"weight", "W1"} & {*words}
    first, *inside, last = net.layers
    kinds, fits = [layer.kind for layer in inside], first.columns == d + net.positions
    fits = fits if first.kind == "linear" else first.kind == "embedding" and d == 1
    fits = fits and (last.kind, last.rows) == ("linear", 1)
    need(fits and not {"linear", "embedding"} & {*kinds}, "the layers have the wrong order")
    net.connections, rows = sum(x.connections for x in inside), max(x.rows for x in net.layers)
    need(net.connections <= 2**24 and get(config, "width") == rows, "connections or width is wrong")
    need(kinds.count("sum") == (net.padding is None), "there is no sum, or one beside padding")
    beside = "attention" in " ".join(kinds) or net.positions or net.every or net.extra is not None
    need(net.padding is not None or not beside, "a sum excludes attention, positions, every, extra")
    plain = first.kind == "linear" and {*kinds} <= {"relu", "feed_forward", "uniform_attention"}
    plain = plain and ("uniform_attention" not in kinds or net.columns.bit_count() == 1)
    need(plain and not net.every or not net.doubles, "float64 excludes a kind of layer, or this n'")
    return net


def affine(matrix, column, addends=(), doubles=False, relu=False):
    """Section 3: `matrix column` plus the columns in `addends`, each row as one weighted sum."""
    image, memory = {}, 0
    for row in set(matrix).union(*addends):
        terms, weights = [addend[row] for addend in addends if row in addend], matrix.get(row, {})
        for place in weights.keys() & column.keys():
            (m, e), (n, f) = weights[place], column[place]
            terms.append((m * n, e + f))
        least = min((e for _, e in terms), default=0)
        if doubles and terms:  # rule 2 of section 4: all mantissas are odd, so g is 2^least
            size = sum(abs(m) << e - least for m, e in terms)
            if not (size <= 2**53 and least >= -1000 and size << least + 1000 <= 2**2000):
                raise Failed("a sum is not exact in float64")
        total = sum(m << e - least for m, e in terms)
        if total > 0 or total < 0 and not relu:
            image[row] = exactly(total, least)
        memory += 1000 + total.bit_length()
        need(memory <= MOST_MEMORY, "a column takes too much memory")
    return image


def attend(layer, columns, target, shared, doubles):
    """Section 3: one column after an attention layer; `shared` is for what the columns share."""
    h, W, hard = columns[target], layer.tensors, layer.kind == "hard_attention"
    sources = tuple(layer.sources.get(target, ()) if "sparse" in layer.kind else columns)
    query, addends = affine(W["W_Q"] if hard else {}, h), [h]
    if hard and not shared:
        shared["keys"] = {n: affine(W["W_K"], column) for n, column in columns.items()}
    for head in range(layer.heads if sources else 0):
        rows = range(head * layer.head, (head + 1) * layer.head)
        if hard:
            part = {0: {row: query[row] for row in query.keys() & rows}}
            scores = {n: affine(part, key).get(0, (0, 0)) for n, key in shared["keys"].items()}
            least = min(e for _, e in scores.values())
            best = max(m << e - least for m, e in scores.values())
            sources = tuple(n for n, (m, e) in scores.items() if m << e - least == best)
        odd, power = exactly(len(sources))
        if (head, sources) not in shared:
            total = affine({}, {}, [columns[n] for n in sources], doubles)
            mean = {row: (m, e - power) for row, (m, e) in total.items()}  # times the odd part
            W_V = {row: W["W_V"][row] for row in W["W_V"].keys() & rows}
            shared[head, sources] = affine(W_V, mean, (), doubles)
        if doubles:  # there is one head, and the odd part is 1
            return affine(W["W_O"], shared[head, sources], [h], True)
        added = affine(W["W_O"], shared[head, sources])
        need(all(m % odd == 0 for m, _ in added.values()), "a mean is not dyadic")
        addends.append({row: (m // odd, e) for row, (m, e) in added.items()})
    return affine({}, {}, addends)


def evaluate(net, vectors):
    """Section 3: the outputs for one sequence of token vectors, one per answer."""
    if len(vectors) > net.length or not vectors and net.padding is not None:
        raise Failed("it is too short or too long")
    front = [] if net.padding is None else [net.padding] * (net.length - len(vectors))
    numbered = [(net.length, net.extra)] * (net.extra is not None) + [*enumerate(front + vectors)]
    columns, first, doubles = {}, net.layers[0], net.doubles
    answers = range(net.columns - (len(vectors) if net.every else 1), net.columns)
    last = max(i for i, layer in enumerate(net.layers) if layer.mixing or i == 0)
    for n, (position, column) in enumerate(numbered):
        for m, e in column.values() if doubles and (last or n in answers) else ():  # rule 1
            inside = -1000 < e + m.bit_length() <= 1000 or (abs(m), e) == (1, 1000)
            if not inside or m.bit_length() > 53:
                raise Failed("a coordinate is no double, or too small or too large for float64")
        if first.kind == "embedding":  # x becomes the x-th unit vector
            m, e = column.get(0, (0, 0))
            if not (m >= 0 and 0 <= e <= 20 and m << e < first.columns):
                raise Failed("a column is outside the embedding")
            column = {m << e: (1, 0)}
        place = first.columns if first.kind == "embedding" else net.dimension
        columns[n] = column | ({place: exactly(position)} if net.positions and position else {})
    for i, layer in enumerate(net.layers):
        W, shared, images, one = layer.tensors, {}, {}, {layer.columns: (1, 0)}
        for n in columns if i < last else answers:
            h = columns.get(n, {})
            if layer.kind == "sum":
                images[n] = affine({}, {}, columns.values())
            elif layer.mixing:
                images[n] = attend(layer, columns, n, shared, doubles)
            elif layer.kind == "feed_forward":
                z = affine(W["W1"], h | one, (), doubles, relu=True)
                images[n] = affine(W["W2"], z | {layer.shapes["W2"][1]: (1, 0)}, [h], doubles)
            else:
                h = h if layer.kind == "embedding" else h | one
                images[n] = affine(W["weight"], h, (), doubles, layer.kind == "relu")
            need(all(plain_bits(*v) <= 2**23 for v in images[n].values()), "a value is too long")
        columns = images
    return [columns[n].get(0, (0, 0)) for n in answers]


def read_weights(net, raw):
    """Section 4: fills the tensors and the connections, and gives the counts of parameters."""
    size = int.from_bytes(raw[:8], "little")
    need(8 + size <= len(raw) and size <= 2**30, "the header of the weights is too long")
    header, body = read_object(raw[8 : 8 + size]), raw[8 + size :]
    header.pop("__metadata__", None)
    arrays, found, expected, entries, end = {}, {}, {}, [], 0
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        dtype, shape, (begin, stop) = entry["dtype"], entry["shape"], entry["data_offsets"]
        plain = all(type(k) is int and 0 <= k <= len(raw) for k in [*shape, begin, stop])
        need(plain and begin == end and len(shape) <= 2, "an array has a wrong shape or place")
        arrays[name] = struct.unpack(f"<{math.prod(shape)}{DTYPES[dtype]}", body[begin:stop])
        found[name], end = (dtype, shape), stop
    need(end == len(body), "there is something after the last array")
    tensors = [(i, layer, name) for i, layer in enumerate(net.layers) for name in layer.shapes]
    for number, (i, layer, name) in enumerate(tensors if net.doubles else ()):
        rows, columns = layer.shapes[name]
        expected[f"layers.{i}.{name}"] = ("F64", [rows] if name in OFFSETS else [rows, columns])
        for k, value in enumerate(arrays[f"layers.{i}.{name}"]):
            need(math.isfinite(value) and str(value) != "-0.0", "a weight is -0.0 or not finite")
            entries += [(number, *divmod(k, columns), exactly(value))] if value else []
    if not net.doubles:
        start, limbs = arrays["start"], arrays["limbs"]
        dtypes = dict.fromkeys(("tensor", "row", "column", "exponent"), "I32") | {"negative": "U8"}
        parts, dtypes = [arrays[name] for name in dtypes], dtypes | {"start": "I64", "limbs": "U64"}
        expected = {name: (dtype, [len(arrays[name])]) for name, dtype in dtypes.items()}
        if any("sparse" in layer.kind for layer in net.layers):
            expected |= dict.fromkeys(("target", "source"), ("I32", [net.connections]))
        need(start[0] == 0 and start[-1] == len(limbs), "start does not span the limbs")
        for *place, exponent, sign, (a, b) in zip(*parts, pairwise(start), strict=True):
            need(0 <= a < b and limbs[b - 1] and limbs[a] % 2, "a mantissa is not canonical")
            mantissa = int.from_bytes(struct.pack(f"<{b - a}Q", *limbs[a:b]), "little")
            need(sign < 2 and mantissa.bit_length() <= 2**22 >= abs(exponent), "out of range")
            entries.append((*place, (-mantissa if sign else mantissa, exponent)))
    need(found == expected, "the arrays are not those of the network")
    counts, sizes = dict.fromkeys(("counted", "outside", "total"), 0), [0]
    counts |= {"nonzero": len(entries), "dense": sum(math.prod(t[1].shapes[t[2]]) for t in tensors)}
    for before, (number, row, column, (m, e)) in pairwise([(0, 0, -1), *entries]):
        i, layer, name = tensors[number]
        inside = row in range(layer.shapes[name][0]) and column in range(layer.shapes[name][1])
        need(inside and before[:3] < (number, row, column), "a parameter is unsorted or outside")
        column = layer.shapes[OFFSETS[name]][1] if name in OFFSETS else column
        layer.tensors[OFFSETS.get(name, name)].setdefault(row, {})[column] = m, e
        counts["outside" if i in (0, len(net.layers) - 1) else "counted"] += 1
        counts["total"] += 1 + m.bit_length() + (1 + e.bit_length() if e else 0)
        sizes.append(plain_bits(m, e))
    pairs = zip(arrays.get("target", ()), arrays.get("source", ()), strict=True)
    for layer in net.layers:
        for before, (target, source) in pairwise([(0, -1), *islice(pairs, layer.connections)]):
            inside = source in range(net.columns) and target in range(net.columns)
            need(inside and before < (target, source), "a connection is unsorted or outside")
            layer.sources.setdefault(target, []).append(source)
        numbers = {len(sources) for sources in layer.sources.values()}
        for number in {net.columns} if "uniform" in layer.kind else numbers:
            entries = [m for row in layer.tensors["W_O"].values() for m, _ in row.values()]
            need(all(m % exactly(number)[0] == 0 for m in entries), "a mean is not dyadic")
    return counts | {"fixed": sum(sizes), "largest": max(sizes)}


def read_vocabulary(net, vocabulary):
    """Section 5: the numbers of tokens (if they are strings) and labels."""
    tokens = get(vocabulary, "tokens", list if net.kind == "string" else type(None)) or []
    need(are_words(["", *tokens]) and all(a < b for a, b in pairwise(tokens)), "tokens are wrong")
    labels = get(vocabulary, "labels", list)
    need(are_words(labels) and len({*labels}) == len(labels) == net.labels, "labels are wrong")
    return ({word: i for i, word in enumerate(words)} for words in (tokens, labels))


def read_token(value, inside=False):
    """Section 6: a string, a tuple of numbers, or a number: an int if it is an integer."""
    if type(value) is list and value and not inside:
        return tuple(read_token(part, inside=True) for part in value)
    if type(value) is not str or inside or not are_words([value]):
        need(type(value) in (int, float) and abs(value) < math.inf, "a token is wrong")
        return int(value) if value == value // 1 else value
    return value


def read_data(raw):
    """Section 6: the sequences, their labels, the form and the hash of the data."""
    items = [read_object(line) for line in raw.split(b"\n") if line.strip(b" \t\r")]
    inputs = [[read_token(value) for value in get(item, "input", list)] for item in items]
    counts = [get({"count": 1} | item, "count", most=2**63 - 1) for item in items]
    every = any(type(item["label"]) is list for item in items)
    labels = [get(item, "label", list) if every else [item["label"]] for item in items]
    numbers, used = [len(own) for own in inputs], [token for own in inputs for token in own]
    fits = sum(counts) < 2**63 and (not every or [len(own) for own in labels] == numbers)
    given = [label for own in labels for label in own]
    need(used and fits and are_words(given), "tokens or labels are missing or of several kinds")
    need(all(type(x) is str or -(2**63) <= x < 2**63 for x in given), "a label is too large")
    tokens, words = sorted({*used}), sorted({*given})
    kind = {str: "string", tuple: "vector"}.get(type(tokens[0]), "number")
    vectors = tokens if kind == "vector" else [(token,) for token in tokens]
    (dimension,), parts = {len(v) for v in vectors}, [part for v in vectors for part in v]
    text = f"byheart-data-1\n{kind}{' every' if every else ''}\n"
    if kind == "string":
        raw = (text + "".join(json.dumps(token) + "\n" for token in tokens)).encode()
    else:
        name, code = ("float64", "d") if all(float(x) == x for x in parts) else ("int64", "q")
        raw = f"{text}{name} {dimension}\n".encode() + struct.pack(f"<{len(parts)}{code}", *parts)
    raw += "".join(json.dumps(word) + "\n" for word in words).encode()
    for listed, mentioned in ((tokens, used), (words, given)):
        places = {value: i for i, value in enumerate(listed)}
        numbers += [places[value] for value in mentioned]
    raw += struct.pack(f"<{len(numbers + counts)}q", *numbers, *counts)
    return inputs, labels, (kind, dimension, every), hashlib.sha256(raw).hexdigest()


def check(folder, path):
    """Sections 7 and 8: what does not hold, as a list of sentences."""
    need(path.suffix.lower() == ".jsonl", "this checker reads data from .jsonl files alone")
    for file in [folder / name for name in (*FILES, "certificate.json")]:
        need(file.is_file() and not file.is_symlink(), f"{file.name} is not a regular file")
        need(file.suffix != ".json" or file.stat().st_size <= 2**30, f"{file.name} is too large")
    raw = {name: (folder / name).read_bytes() for name in (*FILES, "certificate.json")}
    hashes = {name: hashlib.sha256(raw[name]).hexdigest() for name in FILES}
    config, certificate = read_object(raw["config.json"]), read_object(raw["certificate.json"])
    counts = read_weights(net := read_config(config), raw["weights.safetensors"])
    tokens, answers = read_vocabulary(net, read_object(raw["vocabulary.json"]))
    inputs, labels, form, sha256 = read_data(path.read_bytes())
    known = certificate.get("format") == "byheart-certificate" and get(certificate, "version") < 3
    need(known and certificate.get("claim") == "labels", "the certificate is of another kind")
    files = get(certificate, "files", dict)
    need(files.keys() == {*FILES} and {*map(type, files.values())} == {str}, "files is wrong")
    verified, total = get(certificate, "verified", dict), sum(map(len, labels))
    checked, correct = (get(verified, key, **COUNT) for key in ("checked", "correct"))
    evidence = get(verified, "evidence", str)
    allowed = {"proved": [total], "sampled": range(1, total)}.get(evidence, ())
    facts = [("the number of checked labels", checked == correct and checked in allowed, True)]
    facts += [(f"the hash of {name}", files[name], hashes[name]) for name in FILES]
    if "change" in certificate:
        change = get(certificate, "change", dict)
        fits = type(change.get("rebuilt")) is bool and change.get("kind") in ("edit", "forget")
        need(fits and len(change) == 3, "change has another kind or other keys")
        facts.append(("the hash of the changed data", get(change, "data", str), sha256))
    for own in (get(config, "data", dict), get(certificate, "data", dict)):
        facts.append(("the hash of the data", get(own, "sha256", str), sha256))
        facts.append(("the number of sequences", get(own, "sequences", **COUNT), len(inputs)))
    for name, count in counts.items():
        group = get(config, "bits" if name in ("total", "fixed", "largest") else "parameters", dict)
        facts.append((f"the count {name}", get(group, name, **COUNT), count))
    facts.append(("the form of the data", (net.kind, net.dimension, net.every), form))
    failures = [f"{what} is not as stated" for what, stated, found in facts if stated != found]
    for i, (sequence, own) in enumerate(zip(inputs, labels, strict=True)):
        try:
            known = net.kind != "string" or tokens.keys() >= {*sequence}
            if facts[-1][1] != form or not (known and answers.keys() >= {*own}):
                raise Failed("a token or a label is not in the vocabulary")
            sequence = [tokens[token] + 1 for token in sequence] if tokens else sequence
            vectors = [token if type(token) is tuple else (token,) for token in sequence]
            vectors = [{row: exactly(x) for row, x in enumerate(v) if x} for v in vectors]
            if evaluate(net, vectors) != [exactly(answers[label]) for label in own]:
                raise Failed("the network gives another answer")
        except Failed as error:
            failures.append(f"sequence {i}: {error}")
    return failures


def main(arguments):
    """The exit code. Every error while something is read or computed is a refusal."""
    paths, limit = [Path(a) for a in arguments if a != "--json"], sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(MOST_DIGITS)
    try:
        need(len(paths) == 2, "usage: small_check.py FOLDER DATA.jsonl [--json]")
        failures = check(*paths)
        answer = {"verdict": "NOT VERIFIED" if failures else "VERIFIED", "failures": failures[:10]}
    except Exception as error:
        reason = str(error) if isinstance(error, ValueError) else f"malformed: {error!r:.200}"
        answer = {"verdict": "NOT READABLE", "reason": reason}
    finally:
        sys.set_int_max_str_digits(limit)
    print(json.dumps(answer, indent=None if "--json" in arguments else 1))
    return {"VERIFIED": 0, "NOT VERIFIED": 1}.get(answer["verdict"], 2)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
