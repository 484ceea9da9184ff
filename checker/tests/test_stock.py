"""Stock checkpoints: the examples, the folder, the claim and the ways to run the checker."""

import ast
import json
import os
import shutil
import subprocess
import sys
from array import array
from pathlib import Path

import numpy as np
import pytest

import check
import check_stock
import stock_examples

CHECKER = Path(__file__).resolve().parent.parent
EXAMPLES = CHECKER / "examples"


def run(*arguments: object) -> int:
    return check.main([str(argument) for argument in arguments])


@pytest.fixture
def copied(tmp_path):
    def make(name: str) -> Path:
        return Path(shutil.copytree(EXAMPLES / "stock" / "good" / name, tmp_path / name))

    return make


# ---------------------------------------------------------------- the examples


def test_the_examples_are_what_their_script_writes(tmp_path, monkeypatch):
    monkeypatch.setattr(stock_examples, "HERE", tmp_path)
    stock_examples.main()

    def content(root: Path) -> dict:
        return {p.relative_to(root): p.read_bytes() for p in root.rglob("*.*") if p.is_file()}

    assert content(tmp_path) == content(EXAMPLES / "stock") != {}


def test_a_sample_is_no_proof(capsys):
    folder = EXAMPLES / "stock" / "good" / "llama"
    assert run(folder, folder / "data.jsonl", "--sample", 2, "--json") == 0
    assert json.loads(capsys.readouterr().out) == {
        "verdict": "SAMPLED",
        "checked": 2,
        "correct": 2,
        "evidence": "sampled",
        "failures": [],
        "about": "tokens",
        "skipped": 0,
    }


def test_what_cannot_be_shown_is_not_refuted(examples, capsys):
    for name, evidence in (("tie", None), ("neuron-unsure", None), ("answer", "refuted")):
        folder = examples / "stock" / "bad" / name
        assert run(folder, folder / "data.jsonl", "--json") == 1
        assert json.loads(capsys.readouterr().out)["evidence"] == evidence


@pytest.mark.parametrize("margin", [-1, 0, 1])
def test_a_label_that_is_as_large_as_another_does_not_win(margin):
    one = check_stock.Asked(0, [0], 1)
    answer = check_stock.enclose_blocks.Answer(margin, 2, False, set(), set())
    line = check_stock.Line(1, (0,), 1, frozenset())
    check_stock.judge(one, answer, {}, line, frozenset())
    assert (one.failure is None) == one.settled == (margin > 0)


def test_a_type_without_a_model_cannot_be_proved(copied, examples, capsys):
    folder = copied("llama")
    half = examples / "stock" / "bad" / "half-precision"
    for name in os.listdir(half):
        shutil.copy(half / name, folder / name)
    claim = json.loads((folder / "certificate.json").read_text())
    claim["verified"]["evidence"] = "proved"
    (folder / "certificate.json").write_text(json.dumps(claim))
    assert run(folder) == 1
    assert "claims a proof for float16" in capsys.readouterr().out


def attention(stock, changes):
    """Heads that write, those of them that score, and the layer, with so many weights set."""
    prefix = "transformer.h.0.attn." if stock.shape.kind == "gpt2" else "model.layers.0.self_attn."
    for name, tensor in stock.tensors.items():
        if name.startswith(prefix):
            stock.tensors[name] = array("f", bytes(4 * len(tensor)))
    for name, place in changes:
        stock.tensors[prefix + name][place] = 1.0
    where = "h.0." if stock.shape.kind == "gpt2" else "layers.0."
    builder = check_stock.Builder(stock)
    rotary = None if stock.shape.theta is None else check_stock.enclose_blocks.Rotary(10**4, 4)
    return builder.attention(where, builder.norm(where + BEFORE[stock.shape.kind]), rotary)


BEFORE = {"gpt2": "ln_1", "llama": "input_layernorm"}
VALUE, WRITES = ("c_attn.weight", 7 * 24 + 16 + 5), ("c_proj.weight", 5 * 8 + 3)
QUERY, KEY = ("c_attn.weight", 7 * 24 + 2), ("c_attn.weight", 7 * 24 + 8 + 2)
V_BIAS, Q_BIAS, K_BIAS = (("c_attn.bias", lane) for lane in (16 + 5, 7, 8 + 7))


@pytest.mark.parametrize(
    ("changes", "heads", "scored"),
    [
        ([VALUE, WRITES], [0], []),
        ([V_BIAS, WRITES], [0], []),
        ([VALUE, WRITES, QUERY, KEY], [0], [0]),
        ([VALUE, WRITES, Q_BIAS, K_BIAS], [0], [0]),
        ([VALUE, WRITES, QUERY], [0], []),
        ([VALUE, WRITES, KEY], [0], []),
        ([VALUE, QUERY, KEY], None, None),
        ([WRITES, QUERY, KEY], None, None),
        ([VALUE, ("c_proj.weight", 4 * 8 + 3)], None, None),  # another lane is written
    ],
)
def test_a_head_counts_wherever_its_weights_are(changes, heads, scored):
    """One weight of the last row or one bias is enough; a head that writes nothing is left out."""
    stock = check_stock.read_stock(str(EXAMPLES / "stock" / "good" / "gpt2"))
    found = attention(stock, changes)
    assert (found and found.heads, found and found.scored) == (heads, scored)


def test_each_head_counts_by_itself():
    stock = check_stock.read_stock(str(EXAMPLES / "stock" / "good" / "llama"))
    second = [("v_proj.weight", 6 * 8 + 7), ("o_proj.weight", 7 * 8 + 6)]
    scores = [("q_proj.weight", 5 * 8 + 7), ("k_proj.weight", 4 * 8 + 7)]
    for changes, heads, scored in ((second, [1], []), (second + scores, [1], [1])):
        found = attention(stock, changes)
        assert (found.heads, found.scored) == (heads, scored)


def test_two_rotary_bases_are_refused(copied, capsys):
    folder = copied("llama")
    own = json.loads((folder / "config.json").read_text())
    base = own["rope_parameters"]["rope_theta"]
    for top, code in ((base, 1), (base + 1, 2), (base - 1, 2)):  # 1: the hash is another one
        (folder / "config.json").write_text(json.dumps(own | {"rope_theta": top}))
        assert run(folder) == code
    assert "not that of" in capsys.readouterr().err


def test_a_change_is_about_the_data_of_the_certificate(copied, capsys):
    folder = copied("gpt2")
    claim = json.loads((folder / "certificate.json").read_text())
    own = {"kind": "edit", "data": claim["data"]["sha256"], "rebuilt": False}
    for change, code, message in (
        (own, 0, ""),
        (own | {"data": "0" * 64}, 1, "names different data for its change"),
        (own | {"kind": "merge"}, 2, "not edit or forget"),
        (own | {"before": "0" * 64}, 2, "may not stand there"),
    ):
        (folder / "certificate.json").write_text(json.dumps(claim | {"change": change}))
        assert run(folder) == code
        captured = capsys.readouterr()
        assert message in captured.out + captured.err


def test_a_tensor_in_bfloat16_is_read(copied, capsys):
    """The upper half of a float32; of the examples' weights nothing but zeros is cut off."""
    folder = copied("gpt2")
    content = (folder / "model.safetensors").read_bytes()
    size = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:size])
    for place in header.values():
        place["dtype"] = "BF16"
        place["data_offsets"] = [offset // 2 for offset in place["data_offsets"]]
    text = json.dumps(header).encode()
    halves = np.frombuffer(content[size:], "<u2")[1::2].tobytes()
    (folder / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + halves)
    claim = json.loads((folder / "certificate.json").read_text())
    claim |= {"dtype": "bfloat16"}
    claim["verified"]["evidence"] = "observed"
    (folder / "certificate.json").write_text(json.dumps(claim))
    config = json.loads((folder / "config.json").read_text()) | {"dtype": "bfloat16"}
    (folder / "config.json").write_text(json.dumps(config))
    found = check_stock.read_stock(str(folder))
    before = check_stock.read_stock(str(EXAMPLES / "stock" / "good" / "gpt2"))
    assert found.tensors == before.tensors


# ---------------------------------------------------------------- independence


def test_only_the_standard_library_and_the_checker_are_imported():
    for name in ("check_stock.py", "enclose.py", "enclose_blocks.py", "texts.py"):
        names = set()
        for node in ast.walk(ast.parse((CHECKER / name).read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                found = [alias.name for alias in node.names] if node.level else [node.module]
                names |= {str(module).split(".")[0] for module in found}
            assert not isinstance(node, ast.Assert)  # python -O leaves them out
        assert names <= sys.stdlib_module_names | {"check", "enclose", "enclose_blocks", "texts"}


@pytest.mark.parametrize("example", ["stock/good/gpt2", "stock/bad/tie"], indirect=True)
def test_it_runs_as_a_script_and_as_a_package(example, tmp_path):
    (tmp_path / "byheart_checker").symlink_to(CHECKER)
    asked = [str(example), str(example / "data.jsonl"), "--json"]
    program = "import sys, byheart_checker.check as c; sys.exit(c.main(sys.argv[1:]))"
    answers = []
    for command, home in (
        ([sys.executable, "-I", "-S", str(CHECKER / "check.py")], CHECKER),
        ([sys.executable, "-S", "-c", program], tmp_path),
    ):
        environment = {**os.environ, "PYTHONPATH": str(home)}
        done = subprocess.run([*command, *asked], capture_output=True, env=environment)
        assert done.stderr == b""
        answers.append((done.returncode, json.loads(done.stdout)))
    assert answers[0] == answers[1] and answers[0][0] == (example.name == "tie")
