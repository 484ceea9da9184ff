"""Every construction keeps every law, and imports point one way."""

import ast
import hashlib
import json
import re
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest

import byheart
from byheart.api.compile import compile
from byheart.constructions import ALL, REGISTRY, find
from byheart.constructions.base import ASSUMPTIONS, Construction, parse_header
from byheart.data.load import from_rows, write_jsonl
from byheart.errors import AssumptionError, ByheartError
from byheart.exact import weights
from byheart.exact.codeword import decode, encode, encoded_bits
from byheart.exact.evaluate import evaluate
from byheart.exact.limbs.stack import LimbsError
from byheart.exact.network import HardAttention, Network, matrix
from byheart.exact.prove import batch_of_data
from byheart.models.verification import verify

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "byheart"
CHECKER = ROOT / "checker" / "check.py"

# permuted copies with one label, a multiset with two last tokens, repeated tokens, a duplicate
ROWS = [
    (["a", "b", "c"], "x"),
    (["b", "a", "c"], "x"),
    (["a", "c", "b"], "y"),
    (["a", "a", "b"], "z"),
    (["b", "b", "a"], "y"),
    (["a"], "x"),
    (["c", "c"], "z"),
    (["c", "c"], "z"),
    (["d", "a"], "y"),
]
NUMBERS = [([-1.5, 2], 4), ([2, -1.5], 5), ([0, 0, 0.25], 4), ([0], 6), ([-3], 5)]
DIFFERENT = [([-1.5, 2], 4), ([2, -1.5], 5), ([0, 1, 0.25], 4), ([0], 6), ([-3], 5)]
IDS = [([1, 2], 4), ([2, 1], 5), ([0, 0, 7], 4), ([0], 6), ([3], 5)]
TAGS = [(["a", "b"], ["x", "y"]), (["b", "c", "a"], ["y", "y", "x"]), (["c"], ["z"])]
TAGGED = [([-1.5, 2], [4, 5]), ([0, 0, 0.25], [6, 6, 4]), ([0], [6])]
# no two orders of one multiset with different labels
SETS = [(["a", "b"], "x"), (["b", "a"], "x"), (["a"], "y"), (["a", "a"], "z"), (["c"], "y")]
EMPTY = [([], 5), ([-1.5, 2], 4), ([2, -1.5, 2], 5), ([0], 4), ([0, 0], 6), ([-3], 5)]


def shared(construction):
    """Data that fits a construction: words and numbers, with label lists or empty sequences."""
    if construction.claim.name == "distributions":
        return {"words": [*ROWS, (["a"], "y")], "ids": IDS}
    if construction.every is not False:
        kinds = {"tagged words": TAGS, "tagged numbers": TAGGED}
        return kinds if construction.every else {**kinds, "words": ROWS, "numbers": NUMBERS}
    if not construction.last:
        return {"sets": SETS, "sets with nothing": EMPTY}
    if construction.name in ("kim2023", "yun2020"):  # A3
        return {"words": ROWS, "numbers": DIFFERENT}
    ids = construction.name in ("embedding", "attention-neurons")
    return {"words": ROWS, "numbers": IDS if ids else NUMBERS}


def named(construction):
    return f"{construction.name}-{construction.form}" if construction.form else construction.name


SHARED = {named(c): shared(c) for c in ALL}
each = pytest.mark.parametrize("construction", ALL, ids=named)
STORES_LABELS = [c for c in ALL if c.claim.name == "labels"]
each_with_data = pytest.mark.parametrize(
    ("construction", "data"),
    [
        pytest.param(c, data, id=f"{named(c)}-{data}")
        for c in STORES_LABELS
        for data in SHARED[named(c)]
    ],
)


class Compiled(dict):
    """(construction, data) -> (rows, dataset, model), each compiled when it is first asked for."""

    def __missing__(self, key):
        construction, data = key
        rows = SHARED[named(construction)][data]
        dataset = from_rows(rows)
        model = compile(dataset, method=construction.name, form=construction.form)
        self[key] = rows, dataset, model
        return self[key]


@pytest.fixture(scope="module")
def compiled():
    return Compiled()


@pytest.fixture
def saved(compiled, tmp_path):
    """A function that saves a shared model and gives folder and data file."""

    def save(construction, data):
        _, dataset, model = compiled[construction, data]
        model.save(tmp_path / "model", data=dataset)
        return tmp_path / "model", tmp_path / "model" / "data.jsonl"

    return save


# --- headers and the list


@each
def test_header_is_complete(construction):
    header = construction.header
    text = sys.modules[type(construction).__module__].__doc__
    assert header == parse_header(text)
    assert header.summary.endswith(".") and header.paper and header.item and header.statement
    assert header.assumptions.startswith("A1") and header.guarantee.startswith("G1")
    assert not any(name in header.assumptions for name in ASSUMPTIONS)  # resolved
    assert header.departures.startswith("D1") or header.departures == "None."


def test_a_header_without_a_section_is_refused():
    text = sys.modules[type(ALL[0]).__module__].__doc__
    with pytest.raises(AssertionError, match="Guarantee"):
        parse_header(text.replace("Guarantee ", "Promise "))


def test_the_folder_is_the_list():
    folder = PACKAGE / "constructions"
    there = {
        f"byheart.constructions.{path.stem}"
        for path in folder.iterdir()
        if (
            path.suffix == ".py"
            and path.stem not in ("__init__", "base", "families", "keyed", "keys")
        )
        or ((path / "__init__.py").exists() and path.name not in ("retrieval", "stock"))
    }
    listed = {type(c).__module__ for c in ALL}
    assert {".".join(module.split(".")[:3]) for module in listed} == there
    assert all(isinstance(construction, Construction) for construction in ALL)
    assert len({type(c) for c in ALL}) == len(ALL)
    assert len({(c.name, c.form) for c in ALL}) == len(ALL)
    assert [(c.name, c.form) for c in ALL] == [row[:2] for row in REGISTRY]


def test_forms_are_small_or_faithful_and_the_small_one_comes_first():
    assert {c.form for c in ALL} <= {None, "small", "faithful"}
    for construction in ALL:
        forms = [c.form for c in ALL if c.name == construction.name]
        assert forms in ([None], ["small"], ["faithful"], ["small", "faithful"])
        assert find(construction.name).form == forms[0]
        assert find(construction.name, construction.form) is construction
        with pytest.raises(ByheartError, match=construction.name):
            find(construction.name, "nonsense")
    with pytest.raises(ByheartError, match="no method 'nonsense'"):
        find("nonsense")


VALUES = {
    "positions": True,
    "reject_unknown": 3,
    "minimise": "dense",
    "effort": "high",
    "bits": 20,
    "separation": 0.5,
    "attention": "hard",
    "dimension": 20,
    "heads": 2,
    "head_dimension": 3,
    "skip": True,
    "activation": "erf",
    "gap": 1e-6,
    "distributions": True,
    "neurons": 50,
    "tight": True,
    "encoder": "optimal",
    "epsilon": 0.1,
    "width": 128,
    "layers": 2,
    "context_length": 99,
    "weights": "bfloat16",
    "reach": 0.01,
    "copies": 3,
    "blocks": "0",
    "decoys": 4,
    "superposed": 10,
    "noise": 4,
    "editable": True,
}


def test_every_option_is_in_these_tests():
    assert {name for c in ALL for name in c.options()} == set(VALUES)


@each
def test_an_option_is_a_field_with_one_sentence(construction):
    for name, field in construction.options().items():
        assert field.metadata["option"].help.endswith("."), name
        choices = field.metadata["option"].choices
        value = VALUES[name] if VALUES[name] in choices or not choices else choices[-1]
        given = replace(construction, **{name: value})
        assert getattr(given, name) == value and type(given) is type(construction)


@each
def test_a_value_that_an_option_does_not_have_is_refused(construction):
    for name, field in construction.options().items():
        option = field.metadata["option"]
        if option.choices or option.least is not None:
            with pytest.raises(ByheartError, match=f"^{name} must be .*, not "):
                replace(construction, **{name: "nonsense" if option.choices else -1})
        if isinstance(option.least, int):
            with pytest.raises(ByheartError, match=f"^{name} must be an integer"):
                replace(construction, **{name: 1.5})


def test_a_method_by_name_and_as_an_object_are_the_same():
    dataset = from_rows(ROWS)
    named = compile(dataset, method="one-layer", gap=1e-6, seed=3)
    made = compile(dataset, byheart.methods.OneLayer(gap=1e-6, seed=3))
    assert named.network == made.network and named.record.options == made.record.options
    with pytest.raises(ByheartError, match="pass gap to the method itself: OneLayer"):
        compile(dataset, byheart.methods.OneLayer(), gap=1e-6)


@each
def test_what_it_does_not_take_is_refused(construction):
    """One sentence that names the option, before anything is built."""
    dataset = from_rows(next(iter(SHARED[named(construction)].values())))
    for name in set(VALUES) - set(construction.options()):
        if name == "editable" and construction.edits:
            continue  # it is, without being asked
        with pytest.raises(ByheartError, match=f"{construction.name}.* {name}=.*these do: "):
            compile(dataset, construction.name, construction.form, **{name: VALUES[name]})


@each
def test_data_that_does_not_fit_is_refused(construction):
    def refused(rows, reason):
        with pytest.raises(AssumptionError, match=reason):
            compile(from_rows(rows), method=construction.name, form=construction.form)

    if construction.every is True:
        refused(ROWS, "a sequence has one label")
    if construction.every is False:
        refused(TAGS, "every token has a label")
    if not construction.empty:
        label = ["x"] if construction.every else "x"
        refused([([1], label), ([], label[:0] if construction.every else label)], "2 is empty")


# --- labels and the checker


@each_with_data
def test_memorises(construction, data, compiled):
    rows, dataset, model = compiled[construction, data]
    batch, wanted = batch_of_data(model, dataset)
    hard = [x for x in model.network.layers if isinstance(x, HardAttention)]
    for engine in ("exact", "limbs"):
        if engine == "limbs" and any(layer.uniform is None for layer in hard):
            with pytest.raises(LimbsError, match="compares scores"):
                evaluate(model.network, batch, engine)
            continue
        assert list(evaluate(model.network, batch, engine)) == wanted.tolist()
    assert [model.recall(tokens) for tokens, _ in rows] == [label for _, label in rows]
    assert (model.record.method, model.record.form) == (construction.name, construction.form)


@each_with_data
def test_the_checker_accepts(construction, data, saved, checker):
    assert checker.failures(*saved(construction, data)) == []


@each_with_data
def test_the_checker_rejects_a_changed_label(construction, data, saved, tmp_path, checker):
    rows = SHARED[named(construction)][data]
    tokens, label = rows[0]
    if isinstance(label, list):
        label = [next(x for _, names in rows for x in names if x != label[0]), *label[1:]]
    else:
        label = next(x for _, x in rows if x != label)
    wrong = tmp_path / "wrong.jsonl"
    write_jsonl(from_rows([(tokens, label), *rows[1:]]), wrong)
    folder, _ = saved(construction, data)
    found = " ".join(checker.failures(folder, wrong))
    # counted from 0; not only the hash of the data
    assert ("sequence 0, token 0 " if isinstance(label, list) else "sequence 0 ") in found


@each_with_data
def test_the_checker_rejects_a_dropped_sequence(construction, data, saved, tmp_path, checker):
    fewer = tmp_path / "fewer.jsonl"
    write_jsonl(from_rows(SHARED[named(construction)][data][:-1]), fewer)
    assert checker.failures(saved(construction, data)[0], fewer)


@each_with_data
def test_the_checker_rejects_a_changed_weight(construction, data, saved, compiled, checker):
    """The folder is made consistent again: hashes and counts agree, only the function is wrong."""
    _, dataset, model = compiled[construction, data]
    folder, rows = saved(construction, data)
    network = _harmful(model, dataset)
    content = weights.encode(network, model.number)
    (folder / "weights.safetensors").write_bytes(content)
    settings = json.loads((folder / "config.json").read_text())
    parameters, bits = network.counts()
    settings["parameters"].update(parameters)
    settings["bits"].update(bits, encoded=encoded_bits(network))
    (folder / "config.json").write_text(json.dumps(settings))
    certificate = json.loads((folder / "certificate.json").read_text())
    for name in certificate["files"]:
        digest = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        certificate["files"][name] = digest
    (folder / "certificate.json").write_text(json.dumps(certificate))
    found = checker.failures(folder, rows)
    assert found and all("sequence" in sentence for sentence in found), found
    assert byheart.open(folder).network == network  # it opens; verify refutes it
    assert verify(byheart.open(folder), dataset).evidence == "refuted"


def _harmful(model, dataset) -> Network:
    """The network with one weight changed so that some label is wrong."""
    for index, layer in reversed(list(enumerate(model.network.layers))):
        for name, tensor in layer.tensors.items():
            for row, column, value in tensor.entries:
                values = {(r, c): v.fraction for r, c, v in tensor.entries}
                values[row, column] = value.fraction * Fraction(9, 8)
                new = replace(layer, **{name: matrix(tensor.rows, tensor.columns, values)})
                layers = (*model.network.layers[:index], new, *model.network.layers[index + 1 :])
                network = replace(model.network, layers=layers)
                if not verify(replace(model, network=network), dataset).holds:
                    return network
    raise AssertionError("no weight matters")


# --- counts and files


@each_with_data
def test_counts_are_the_recomputed_ones(construction, data, saved, compiled, dense_parameters):
    _, dataset, model = compiled[construction, data]
    settings = json.loads((saved(construction, data)[0] / "config.json").read_text())
    values = [
        value
        for layer in model.network.layers
        for tensor in layer.tensors.values()
        for _, _, value in tensor.entries
    ]
    assert all(value.mantissa % 2 for value in values)
    assert settings["parameters"]["nonzero"] == len(values)
    assert settings["parameters"]["dense"] == dense_parameters(model.network)
    ends = model.network.layers[0], model.network.layers[-1]
    outside = sum(len(t.entries) for layer in ends for t in layer.tensors.values())
    assert settings["parameters"]["outside"] == outside
    counted = settings["parameters"]["counted"] + settings["parameters"]["outside"]
    assert counted == len(values)
    coded = sum(
        1
        + abs(value.mantissa).bit_length()
        + (1 + abs(value.exponent).bit_length() if value.exponent else 0)
        for value in values
    )
    assert settings["bits"]["total"] == coded
    assert settings["bits"]["encoded"] == encoded_bits(model.network)
    assert settings["data"]["sequences"] == len(dataset)
    assert settings["data"]["sha256"] == dataset.sha256()


@each_with_data
def test_certificate_survives(construction, data, saved, compiled):
    _, dataset, model = compiled[construction, data]
    opened = byheart.open(saved(construction, data)[0])
    assert opened.record.verification == model.record.verification
    assert opened.record.verification.evidence == "proved"
    assert opened.record.verification.checked == len(dataset.labels)
    assert opened.network == model.network
    assert (opened.words, opened.claim) == (model.words, model.claim)
    assert verify(opened, dataset).evidence == "proved"


@each_with_data
def test_the_record_holds_the_options_of_the_method(construction, data, compiled):
    options = compiled[construction, data][2].record.options
    assert list(options) == ["on_conflict", *construction.options()]


@each_with_data
def test_code_word_survives(construction, data, compiled):
    network = compiled[construction, data][2].network
    found = decode(encode(network))
    assert (found.input, found.every) == (network.input, network.every)
    assert [(x.kind, x.tensors) for x in found.layers] == [
        (x.kind, x.tensors) for x in network.layers
    ]


# --- imports point one way

# The rooms in the order of the data flow: each may import what stands before it.
ROOMS = (
    "errors",
    "machine",
    "data",
    "claims",
    "exact",
    "softmax",
    "stock",
    "theory",
    "gadgets",
    "encoders",
    "constructions",
    "models",
    "exports",
    "architectures",
    "pictures",
    "lab",
    "auditing",
    "teaching",
    "figures",
    "api",
    "views",
    "studio",
    "cli",
    "__main__",
)


@cache
def imports(path):
    """(line, dotted name, inside a function) of everything a file imports."""
    return list(_imports(path))


def _imports(path):
    package = path.parent.relative_to(ROOT).parts
    tree = ast.parse(path.read_text())
    inner = {
        node
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        for node in ast.walk(function)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            stem = [*base, *([node.module] if node.module else [])]
            names = [".".join([*stem, alias.name]) for alias in node.names]
        else:
            continue
        for name in names:
            yield node.lineno, name, node in inner


def edges():
    """(part, part imported, where, inside a function) for all files of byheart."""
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        source = "byheart" if parts == ("__init__",) else parts[0]
        for line, name, inside in imports(path):
            target = name.split(".")
            if target[0] == "byheart" and target[1:2] != [source]:
                where = f"{path.relative_to(ROOT)}:{line}"
                yield source, target[1] if len(target) > 1 else "byheart", where, inside


def test_the_walk_sees_imports():
    seen = {(source, target) for source, target, _, _ in edges()}
    assert {("__main__", "cli"), ("gadgets", "exact"), ("api", "constructions")} <= seen


def test_imports_point_one_way():
    """`byheart/__init__.py` gathers the public names; the rest follows the order of the rooms."""
    wrong = [
        f"{where}: {source} imports {target}"
        for source, target, where, _ in edges()
        if source != "byheart" and target not in (*ROOMS[: ROOMS.index(source)], "__version__")
    ]
    assert wrong == []


def test_every_part_has_its_place():
    parts = {path.relative_to(PACKAGE).with_suffix("").parts[0] for path in PACKAGE.rglob("*.py")}
    assert parts - {"__init__"} == set(ROOMS)
    assert len(ROOMS) - 1 <= 23  # the last row is the program, not a room


# --- a kind of network is a room with one face

KINDS = {"exact", "softmax", "stock", "claims"}  # these rooms know their networks and claims
ASKED = {"Labels", "Distributions", "Recites", "Claim", "Network", "Decoder", "Checkpoint"}
NAMED = re.compile(r"\b(claim|kind|construction|method)\.name$|\b(record\.method|stores)$")


def strings(node):
    """The strings that a literal is or holds."""
    items = node.elts if isinstance(node, ast.Tuple | ast.List | ast.Set) else [node]
    return [x.value for x in items if isinstance(x, ast.Constant) and isinstance(x.value, str)]


def asks_for_a_kind(node):
    """isinstance(x, Labels), type(x) is Labels, claim.name == "labels", "margin" in answer."""
    if isinstance(node, ast.Call) and ast.unparse(node.func) in ("isinstance", "issubclass"):
        return bool({x.id for x in ast.walk(node.args[1]) if isinstance(x, ast.Name)} & ASKED)
    if isinstance(node, ast.MatchClass):
        return ast.unparse(node.cls) in ASKED
    if not isinstance(node, ast.Compare):
        return False
    sides = [node.left, *node.comparators]
    if any(isinstance(x, ast.Name) and x.id in ASKED for x in sides):
        return True
    if any(NAMED.search(ast.unparse(x)) for x in sides) and any(map(strings, sides)):
        return True
    keys = [x.value for x in sides if isinstance(x, ast.Constant)]
    return isinstance(node.ops[0], ast.In | ast.NotIn) and bool({*keys} & {"gap", "margin"})


def test_nobody_asks_which_kind_of_network_it_is():
    """Outside the rooms of the kinds, a kind, a claim or a construction answers by itself."""
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node)}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.relative_to(PACKAGE).parts[0] not in KINDS
        for node in ast.walk(ast.parse(path.read_text()))
        if asks_for_a_kind(node)
    ]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        "isinstance(model.claim, Labels | Distributions)", "claim.name == 'labels'",
        "self.construction.name in ('one-layer', 'gpt2')", "'margin' in answer",
        "type(model.network) is Decoder", "model.record.method == 'gpt2'",
    ],
)  # fmt: skip
def test_the_walk_sees_who_asks(text):
    assert any(map(asks_for_a_kind, ast.walk(ast.parse(text))))


def test_the_kinds_have_the_same_files():
    names = ("answer", "prove", "trace", "locate", "differ", "store", "show", "kind")
    for room in ("exact", "softmax", "stock"):
        assert all((PACKAGE / room / f"{name}.py").is_file() for name in names)


def test_no_protocol_of_a_kind_has_more_than_eight_methods():
    tree = ast.parse((PACKAGE / "claims" / "kind.py").read_text())
    sizes = {
        node.name: sum(isinstance(x, ast.FunctionDef) for x in node.body)
        for node in tree.body
        if isinstance(node, ast.ClassDef)
    }
    assert "Storing" in sizes and max(sizes.values()) <= 8


TRAINS = {"torch", "optuna", "pytorch_optimizer", "ray"}
LOADS = {"torch", "transformers"}
DRAWS_AND_READS = {"matplotlib", "onnx", "tensorflow", "jax", "pandas", "datasets", "pyarrow"}
HEAVY = {*TRAINS, *LOADS, *DRAWS_AND_READS}


def scores(path: Path) -> bool:
    """Whether a file of the API runs other people's methods, which are programs of torch."""
    return path == PACKAGE / "api" / "benchmark.py" or path.parent.name in ("packs", "scoring")


def test_heavy_libraries_have_their_place():
    """matplotlib where pictures are drawn, torch in the lab, inside functions.

    Files that are themselves imported inside functions may do so at their top.
    """
    for path in PACKAGE.rglob("*.py"):
        part = path.relative_to(PACKAGE).parts[0]
        own = {
            "data": {"datasets", "pyarrow"},
            "exports": {"torch", "transformers", "datasets"},
            "lab": TRAINS - {"ray"},
            "machine": {"ray"},
            "auditing": LOADS,
            "teaching": LOADS,
            "api": LOADS if scores(path) else set(),
            "pictures.py": {"matplotlib"},
            "cli": {"matplotlib"},
            "views": {"matplotlib"},
            "figures": {"matplotlib", "datasets"},
        }
        learners = PACKAGE / "lab" / "learners"
        waits = learners in path.parents and path != learners / "__init__.py"
        waits |= path == PACKAGE / "lab" / "tuning.py" or part == "teaching"
        waits |= PACKAGE / "exports" / "modules" in path.parents  # copied, never imported
        for line, name, inside in imports(path):
            library = name.split(".")[0]
            late = inside or line in checked_only(path) or waits
            assert library not in HEAVY or (library in own.get(part, set()) and late), (
                f"{path}:{line}"
            )


def test_importing_byheart_loads_no_slow_library():
    """scipy, numba and flint load with the construction that needs them."""
    code = "import sys, byheart; print(*{name.split('.')[0] for name in sys.modules})"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(run.stdout.split())
    assert "byheart" in loaded and not loaded & {*HEAVY, "scipy", "numba", "flint"}


@pytest.mark.parametrize("command, most", [("stats", 70), ("recall", 103)])
def test_a_command_loads_no_construction_that_it_does_not_use(command, most, tmp_path):
    data = from_rows([(["a", "b"], "x"), (["b", "b"], "y")])
    write_jsonl(data, tmp_path / "data.jsonl")
    compile(data, method="bit-extraction").save(tmp_path / "model")
    arguments = {"stats": [tmp_path / "data.jsonl"], "recall": [tmp_path / "model", "a", "b"]}
    code = "import sys, byheart.cli; byheart.cli.main(); print(*sys.modules)"
    words = [sys.executable, "-c", code, command, *map(str, arguments[command])]
    run = subprocess.run(words, capture_output=True, text=True, check=True)
    loaded = [name for name in run.stdout.split() if name.startswith("byheart")]
    assert "byheart.cli" in loaded and len(loaded) <= most
    theorems = [row[2].partition(":")[0] for row in REGISTRY if row[0] != "bit-extraction"]
    assert not {f"byheart.constructions.{name}" for name in theorems} & {*loaded}


def test_the_version_is_answered_before_the_command_line_is_imported():
    code = "import sys, byheart.cli; byheart.cli.main(['--version']); print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    version, loaded = run.stdout.splitlines()
    assert version == f"byheart {byheart.__version__}"
    assert not {name.split(".")[0] for name in loaded.split()} & {"typer", "rich", "numpy"}


SMALL_MODELS = """
import random, sys
import byheart
from byheart.constructions import retrieval
from byheart.models.kinds import kind_of

def weights():
    draw, models = random.Random(3), []
    for rows, labels, options in (
        (3, 2, {}), (7, 2, {"reject_unknown": 9}),
        (12, 4, {"editable": True}), (3, 2, {"form": "small"}),
    ):
        contexts = draw.sample([[a, b] for a in "abcdef" for b in "ghijk"], rows)
        label = lambda: str(draw.randrange(labels))
        every = "form" in options
        data = [(x, [label() for _ in x] if every else label()) for x in contexts]
        method = "seq2seq" if every else "hash-fold-retrieve"
        model = byheart.compile(data, method, on_conflict="majority", **options)
        models.append(b"".join(kind_of(model).store.weights(model)))
    return models

plain = weights()
print(*(name for name in ("numba", "scipy") if name in sys.modules))
retrieval.FEW = 0
print(plain == weights(), "numba" in sys.modules)
"""


def test_a_small_model_is_the_same_with_and_without_compiled_kernels():
    """And numba and scipy, which are slow to import, are not loaded for it."""
    run = [sys.executable, "-c", SMALL_MODELS]
    done = subprocess.run(run, capture_output=True, text=True)
    assert (done.stderr, done.stdout) == ("", "\nTrue True\n")


@cache
def checked_only(path):
    """Lines that only a type checker reads."""
    return {
        line
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for line in range(node.lineno, node.end_lineno + 1)
    }


def test_the_checker_shares_no_code():
    found = {name.split(".")[0] for _, name, _ in imports(CHECKER)}
    assert found and found <= sys.stdlib_module_names
    for path in PACKAGE.rglob("*.py"):
        for line, name, _ in imports(path):
            assert name.split(".")[0] not in ("check", "checker", "byheart_checker"), (
                f"{path}:{line}"
            )


# --- nothing that a proof rests on vanishes under python -O

# rooms that verify and print, and the checkers
JUDGES = ("data", "exact", "softmax", "stock", "models", "cli", "machine")
CHECKERS = ("check", "check_stock", "enclose", "enclose_blocks", "small_check")


def is_narrowing(condition: ast.expr) -> bool:
    """Whether it only tells a type checker what is known: x is not None, isinstance(x, ...)."""
    while isinstance(condition, ast.UnaryOp) and isinstance(condition.op, ast.Not):
        condition = condition.operand
    if isinstance(condition, ast.Call):
        return ast.unparse(condition.func) == "isinstance"
    return isinstance(condition, ast.Compare) and isinstance(condition.ops[0], ast.IsNot)


def test_no_judge_relies_on_an_assert():
    package = Path(byheart.__file__).parent
    files = [path for room in JUDGES for path in (package / room).rglob("*.py")]
    files += [x for x in (package.parent / "checker").glob("*.py") if x.stem in CHECKERS]
    found = [
        f"{path.relative_to(package.parent)}:{node.lineno}"
        for path in files
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Assert) and not is_narrowing(node.test)
    ]
    assert found == []
