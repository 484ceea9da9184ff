"""docs/plain-tensors.md: its lines read a decoder's folder and say what byheart says."""

import ast
import json
import re
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from byheart.api.compile import compile
from byheart.data.load import from_rows
from byheart.models.model import Model
from byheart.softmax.decoder import ACTIVATIONS, Decoder, Shape
from byheart.softmax.doubles import distributions

PAGE = Path(__file__).parents[2] / "docs" / "plain-tensors.md"
_, NUMPY, TORCH = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
ROWS = [
    (["a"], "b"), (["a"], "c"), (["a", "b"], "c"), (["b", "a"], "a"), (["b", "a"], "c"),
    (["c", "c", "c"], "b"), (["c", "a", "b"], "d"), (["d"], "a"), (["d"], "d"),
]  # fmt: skip
SHAPES = {
    "one head": {"heads": 1},
    "three heads with a skip": {"heads": 3, "head_dimension": 4, "skip": True},
    "wide": {"dimension": 5, "heads": 2, "head_dimension": 3},
}


def built(**options) -> Model:
    """A model that compile made."""
    return compile(from_rows(ROWS), **options)


def random_model(mixing: str, activation: str, skip: bool) -> Model:
    """A model with the names of a compiled one, and weights that are all different."""
    like = built(method="one-layer" if mixing == "attention" else "token-averaging")
    heads = (2, 3, 4) if mixing == "attention" else (0, 0, 0)
    shape = Shape(len(like.tokens), 3, 5, mixing, *heads, skip, 7, activation)
    random = np.random.default_rng(1)
    tensors = {name: random.standard_normal(size) for name, size in shape.tensors.items()}
    return Model(Decoder(shape, tensors), like.words, like.claim, like.record)


def models():
    for activation in ACTIVATIONS:
        yield random_model("attention", activation, skip=False)
        yield random_model("attention", activation, skip=True)
        yield random_model("token_sum", activation, skip=False)
    for options in SHAPES.values():
        yield built(method="one-layer", **options)
    yield built(method="token-averaging", dimension=3)
    yield built(method="attention-only")


def compared(model: Model, say) -> None:
    """What `say` gives for each context is what the evaluator gives."""
    for context in {tuple(tokens) for tokens, _ in ROWS}:
        numbers = np.array(model.numbers(context))
        expected = distributions(model.network, numbers, np.array([0, len(numbers)]))[0]
        np.testing.assert_allclose(say(numbers), expected, rtol=1e-9, atol=1e-12)


def weights(model: Model, folder: Path) -> Path:
    """A folder with the two files that the lines read, as the format has them."""
    folder.mkdir()
    save_file(dict(model.network.tensors), folder / "weights.safetensors")
    decoder = {"kind": model.kind, **model.network.shape._asdict()}
    (folder / "config.json").write_text(json.dumps({"decoder": decoder}))
    return folder


def test_the_lines_of_numpy(tmp_path):
    names: dict = {}
    exec(NUMPY, names)
    for place, model in enumerate(models()):
        shape, tensors = names["load"](weights(model, tmp_path / str(place)))
        compared(model, lambda tokens: names["forward"](shape, tensors, tokens))  # noqa: B023


def test_the_lines_of_numpy_read_a_saved_folder(tmp_path):
    names: dict = {}
    exec(NUMPY, names)
    for place, options in enumerate(({"method": "one-layer"}, {"method": "token-averaging"})):
        model = built(**options)
        model.save(tmp_path / str(place))
        shape, tensors = names["load"](tmp_path / str(place))
        assert {name: x.shape for name, x in tensors.items()} == model.network.shape.tensors
        compared(model, lambda tokens: names["forward"](shape, tensors, tokens))  # noqa: B023


def test_a_wrong_weight_is_noticed(tmp_path):
    """The comparison can fail: it does for each tensor that is changed."""
    names: dict = {}
    exec(NUMPY, names)
    model = random_model("attention", "tanh", skip=True)
    shape, tensors = names["load"](weights(model, tmp_path / "m"))
    for name in tensors:
        changed = {**tensors, name: tensors[name] * 1.001}
        with pytest.raises(AssertionError):
            compared(model, lambda tokens: names["forward"](shape, changed, tokens))  # noqa: B023


def test_the_lines_of_torch_are_python_and_few():
    ast.parse(TORCH)
    lines = [x for x in TORCH.splitlines() if x.strip() and not x.startswith(("import", "from"))]
    assert len(lines) <= 30 and max(map(len, lines)) <= 100


def test_the_lines_of_torch(tmp_path):
    torch = pytest.importorskip("torch")
    names: dict = {}
    exec(TORCH, names)
    for place, model in enumerate(models()):
        decoder = names["load"](weights(model, tmp_path / str(place)))
        assert set(decoder.state_dict()) == set(model.network.tensors)
        assert sum(x.numel() for x in decoder.parameters()) == model.network.shape.parameters

        def say(tokens, decoder=decoder):
            with torch.no_grad():
                return decoder(torch.tensor(tokens)[None]).softmax(dim=1)[0].numpy()

        compared(model, say)


def test_torch_reads_a_saved_folder_and_batches(tmp_path):
    torch = pytest.importorskip("torch")
    names: dict = {}
    exec(TORCH, names)
    model = built(method="one-layer", heads=2)
    model.save(tmp_path / "m")
    contexts = [model.numbers(["a", "b"]), model.numbers(["b", "a"])]
    with torch.no_grad():
        found = names["load"](tmp_path / "m")(torch.tensor(contexts)).softmax(dim=1).numpy()
    for numbers, row in zip(contexts, found, strict=True):
        expected = distributions(model.network, np.array(numbers), np.array([0, 2]))[0]
        np.testing.assert_allclose(row, expected, rtol=1e-9, atol=1e-12)
