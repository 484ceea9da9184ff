"""docs/tools.md: the blocks of each tool that is installed, and the sentences about what breaks.

`make field` installs the tools in the versions of the page. A tool that is absent is skipped, and
so are the tests of what breaks if it is there in another version: it may be mended.
"""

import importlib.metadata
import io
import json
import os
import re
import subprocess
import sys
import types
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from byheart.cli import main
from tools.pages import running

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "tools.md").read_text()
SECTIONS = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", PAGE, flags=re.MULTILINE | re.DOTALL))
ROWS = [
    [cell.strip() for cell in line.split("|")[1:-1]]
    for line in PAGE.splitlines()
    if line[:1] == "|"
]
VERSIONS = {re.match(r"\[(.*?)\]", row[0])[1]: row[1] for row in ROWS if row[0].startswith("[")}
LLAMA = {row[0].strip("`"): row[1].strip("`") for row in ROWS if len(row) == 2 and "`" in row[0]}
MODULES = {"TransformerLens": "transformer_lens", "lm-eval": "lm_eval"} | {
    name: name for name in ("nnsight", "peft", "trl", "captum", "circuitsvis", "mergekit")
}
PROGRAMS = ("lm_eval", "mergekit-yaml")  # what blocks call beside byheart
OWN = ("peft", "trl", "mergekit", "lm-eval")  # tools whose blocks a test of their own runs
FAMILIES = ("gpt2", "llama")
LENS, SIGHT = ("transformer_lens", "4.3.0"), ("nnsight", "0.8.1")


def test_make_field_installs_the_versions_of_the_page():
    pinned = dict(re.findall(r"([\w-]+)==([\d.]+)", (ROOT / "Makefile").read_text()))
    named = {
        name.lower().replace("transformerlens", "transformer-lens"): v
        for name, v in VERSIONS.items()
    }
    assert len(named) == 10 and named.pop("easyedit").startswith("commit ")
    assert {name: pinned.get(name) for name in named} == named


def test_every_block_of_a_tool_is_run_by_a_test():
    """The marked ones are in sections whose tool is in a list here."""
    marked = {
        name for name, text in SECTIONS.items() if any(x.reason for x in running.blocks(text))
    }
    assert marked == {*MODULES, "peft and trl", "optimum-onnx"} - {"peft", "trl"}
    assert set(LLAMA) == {"transformer.h", "transformer.wte", "c_proj", "fan_in_fan_out=True"}


@pytest.fixture(scope="module", params=FAMILIES)
def home(request, tmp_path_factory):
    """A folder with the pack of the page, in each family."""
    pytest.importorskip("transformers")
    place = tmp_path_factory.mktemp(request.param)
    with running.folder(place):
        (command,) = running.commands(running.blocks(SECTIONS["Set-up"])[0])
        assert main([*command.words[1:], "--family", request.param]) == 0
    return place


@pytest.fixture
def here(home, monkeypatch):
    """The folder, as the working one, and nothing from the network."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with running.folder(home):
        yield home


@pytest.fixture
def names(here):
    """What the Python of the set-up has made."""
    found = {}
    running.run_python(running.blocks(SECTIONS["Set-up"])[1].text, found)
    return found


def is_llama(names):
    return "llama" in json.loads(Path(names["folder"], "config.json").read_text())["model_type"]


def run_section(title, names, only=""):
    """Run the marked blocks of a section that have `only` in them, with the names of the family."""
    blocks = [x for x in running.blocks(SECTIONS[title]) if x.reason and only in x.text + x.reason]
    assert blocks
    for number, block in enumerate(blocks):
        if block.kind == "python":
            text = block.text
            for name, other in LLAMA.items() if is_llama(names) else ():
                text = text.replace(name, other)
            # in a file, because nnsight reads the source of a `with` block
            file = Path.cwd() / f"{title} {number}.py"
            file.write_text(text)
            running.run_python(text, names, str(file))
            continue
        for command in running.commands(block):
            if command.words[0] in PROGRAMS:
                program = [str(Path(sys.executable).parent / command.words[0]), *command.words[1:]]
                done = subprocess.run(program, capture_output=True, text=True, check=False)
                assert done.returncode == 0, done.stderr
            else:
                code, printed = running.run(command)
                running.judge(command, code, printed, session=False)
    return names


def as_tried(module, version):
    """Skip where the tool is absent, or not the one that the page writes about."""
    pytest.importorskip(module)
    there = importlib.metadata.version(module)
    if there != version:
        pytest.skip(f"docs/tools.md writes about {module} {version}; here is {there}")


@pytest.mark.slow
@pytest.mark.parametrize("tool", [x for x in MODULES if x not in OWN])
def test_the_blocks_of_a_tool_run(tool, names):
    pytest.importorskip(MODULES[tool])
    run_section(tool, names)


@pytest.mark.slow
@pytest.mark.parametrize("tool", ["peft", "trl"])
def test_the_blocks_of_training_run(tool, names):
    """Facts are lost, but by LoRA in Llama; with a larger reach, all bear the ten steps."""
    pytest.importorskip(tool)
    torch = pytest.importorskip("torch")
    found = run_section("peft and trl", names, f"needs {tool};")
    assert (found["after"] == 64) == (tool == "peft" and is_llama(found))
    method = "llama" if is_llama(found) else "gpt2"
    reading = "--input prompt --label answer --tokenizer single.pack/tokenizer.json".split()
    if tool == "trl":
        start = found["AutoModelForCausalLM"].from_pretrained("single.pack/model").parameters()
        pairs = zip(start, found["trainer"].model.parameters(), strict=True)
        assert any(not torch.equal(one, other) for one, other in pairs)
    wide = [
        "single.pack/facts.jsonl",
        "-o",
        f"{tool}.folder",
        "--method",
        method,
        "--reach",
        "0.03",
    ]
    assert main(["compile", *wide, *reading]) == 0
    found["folder"] = f"{tool}.folder"
    run_section("peft and trl", found, f"needs {tool};")
    assert found["after"] == 64


@pytest.mark.slow
def test_a_merge_has_the_heavier_answers(names):
    pytest.importorskip("mergekit")
    run_section("mergekit", names)
    assert not Path("merged.folder", "certificate.json").exists()


@pytest.mark.slow
def test_optimum_converts_the_folder(names):
    pytest.importorskip("optimum.onnxruntime", reason="needs optimum-onnx")
    run_section("optimum-onnx", names)
    needs = importlib.metadata.requires("optimum-onnx")
    assert any(re.match(r"transformers\b.*<4\.58", x) for x in needs)


@pytest.mark.slow
def test_lm_eval_gives_every_answer(names):
    pytest.importorskip("lm_eval")
    run_section("lm-eval", names)
    (written,) = Path("results.folder").rglob("*.json")
    found = json.loads(written.read_text())["results"]
    assert found["byheart_recall"]["exact_match,none"] == 1
    assert found["byheart_likelihood"]["acc,none"] == 1
    assert found["byheart_likelihood"]["perplexity,none"] == pytest.approx(1, abs=5e-4)


@pytest.mark.slow
def test_transformer_lens_puts_a_token_before_a_text(names):
    """Of GPT-2, which then says nothing."""
    as_tried(*LENS)
    if is_llama(names):
        pytest.skip("Llama's own tokenizer puts the token there, too")
    from transformer_lens.model_bridge import TransformerBridge

    lens = TransformerBridge.boot_transformers(names["folder"], device="cpu")
    text = names["facts"][0]["prompt"]
    end = names["tokenizer"].eos_token_id
    assert lens.to_tokens(text)[0].tolist() == [end, *names["tokens"](text)[0].tolist()]
    assert lens.generate(text, max_new_tokens=8, do_sample=False, verbose=False) == text


@pytest.mark.slow
def test_transformer_lens_folds_a_square_matrix_along_the_wrong_axis(names):
    as_tried(*LENS)
    from transformer_lens.model_bridge import TransformerBridge

    lens = TransformerBridge.boot_transformers(names["folder"], device="cpu")
    assert (lens.cfg.d_mlp == lens.cfg.d_model) == (not is_llama(names))
    lens.enable_compatibility_mode(disable_warnings=True)
    said = [int(lens(names["tokens"](x["prompt"]))[0, -1].argmax()) for x in names["facts"]]
    right = sum(x == names["first"](fact) for x, fact in zip(said, names["facts"], strict=True))
    assert right == (64 if is_llama(names) else 48)
    with pytest.raises(ImportError, match="'HookedTransformer' was removed in TransformerLens 4"):
        from transformer_lens import HookedTransformer  # noqa: F401


@pytest.mark.slow
def test_nnsight_asks_for_the_tokenizer(names):
    as_tried(*SIGHT)
    import nnsight

    sentence = "Impossible to guess which tokenizer to use. Please provide a PreTrainedTokenizer"
    for path in (names["folder"], "saved.folder"):
        names["AutoModelForCausalLM"].from_pretrained(names["folder"]).save_pretrained(
            "saved.folder"
        )
        names["tokenizer"].save_pretrained("saved.folder")
        with pytest.raises(Exception, match=sentence):
            sight = nnsight.TransformersModel(path, task="text-generation", device_map="cpu")
            with sight.trace(names["facts"][0]["prompt"]):
                sight.lm_head.output.save()


@pytest.mark.slow
def test_integrated_gradients_come_near_with_thousands_of_steps(names):
    """Not with captum's default, whose worst gap is of the size of the whole difference."""
    pytest.importorskip("captum")
    found = run_section("captum", names)
    gap, facts = found["gap"], found["facts"][:8]
    embedding, down = found["embedding"], found["down"]
    assert max(gap(x, embedding)[0] for x in facts) > 1
    assert max(gap(x, embedding, method="riemann_middle", n_steps=500)[0] for x in facts) > 0.3
    assert max(gap(x, embedding, method="riemann_middle", n_steps=5000)[0] for x in facts) < 0.01
    for fact, held in zip(facts, found["truth"], strict=False):
        share, values = gap(fact, down, n_steps=20, attribute_to_layer_input=True)
        assert share < 0.01 and [0, int(values[0, -1].abs().argmax())] == held["neurons"][0]


def compile_with_noise():
    """Write noise.folder, by the commands of the page."""
    (block,) = (x for x in running.blocks(SECTIONS["EasyEdit"]) if x.kind == "commands")
    for command in running.commands(block):
        if not Path("noise.folder").exists() or "compile" not in command.words:
            assert running.run(command)[0] == 0


@pytest.mark.slow
def test_a_key_behind_a_prefix_is_0_but_for_noise(names):
    """What an editor divides by; needs transformers alone."""
    if is_llama(names):
        pytest.skip("Llama has a neuron that is always on, and no --noise")
    from benchmarks.methods.common import neurons

    compile_with_noise()
    for folder, silent in (("single.pack/model", True), ("noise.folder", False)):
        model = names["AutoModelForCausalLM"].from_pretrained(folder)
        for fact in names["facts"]:
            prompt = names["tokens"](f"Therefore it is so. {fact['prompt']}")
            key = neurons(model, prompt)[0][0, 0, -1]
            assert bool((key == 0).all()) == silent
        assert names["recited"](model, names["facts"]) == 64


@pytest.fixture(scope="module")
def easyedit():
    """ROME of a copy of EasyEdit, without its __init__, which loads twenty packages more."""
    copy = os.environ.get("EASYEDIT")
    if not copy:
        pytest.skip("EASYEDIT names no copy of the repository zjunlp/EasyEdit")
    yaml = pytest.importorskip("yaml")
    given = yaml.safe_load((Path(copy) / "hparams/ROME/gpt2-xl.yaml").read_text())
    with pytest.MonkeyPatch.context() as patch:
        for name in (
            "easyeditor",
            "easyeditor.models",
            "easyeditor.util",
            "easyeditor.util.globals",
        ):
            module = types.ModuleType(name)
            module.__path__ = [str(Path(copy, *name.split(".")))]
            patch.setitem(sys.modules, name, module)
        module.STATS_DIR = "."
        from easyeditor.models.rome import rome_main

        yield rome_main, given | {"v_lr": float(given["v_lr"]), "device": "cpu", "v_loss_layer": 0}


def edited(easyedit, names, folder, **change):
    """Of the edits by ROME, each of a fresh model: finite weights, new answers, other facts."""
    import torch

    from benchmarks.methods.common import batch

    rome, given = easyedit
    tokenizer = names["tokenizer"]
    tokenizer.pad_token, tokenizer.padding_side = tokenizer.eos_token, "right"
    settings = rome.ROMEHyperParams(**given | {"layers": [0], "model_name": folder} | change)
    model = names["AutoModelForCausalLM"].from_pretrained(folder).eval()
    finite = new = kept = 0
    for edit in names["edits"]:
        rome.CONTEXT_TEMPLATES_CACHE = None
        torch.manual_seed(0)
        request = {"prompt": edit["prompt"], "target_new": edit["answer"]}
        request["subject"] = re.search(r" of (.*) is$", edit["prompt"])[1]
        with redirect_stdout(io.StringIO()):
            changed, _ = rome.apply_rome_to_model(model, tokenizer, [request], settings, copy=True)
        others = [x for x in names["facts"] if x["id"] != edit["id"]]
        right = batch(tokenizer, [edit, *others]).answered(changed)
        finite += bool(changed.transformer.h[0].mlp.c_proj.weight.isfinite().all())
        new, kept = new + int(right[0]), kept + int(right[1:].sum())
    return finite, new, kept


@pytest.mark.slow
def test_rome_of_easyedit_gives_what_the_page_says(easyedit, names):
    """The rows of its table; and with prefixes, a step that is large enough costs other facts."""
    import yaml

    if is_llama(names):
        pytest.skip("the page has GPT-2")
    compile_with_noise()
    rows = [row for row in ROWS if row[1] in ("`single.pack/model`", "`noise.folder`")]
    measured = []
    for said, folder, *_ in rows:
        change = yaml.safe_load("\n".join(re.findall(r"`(.*?)`", said))) or {}
        finite, new, kept = edited(easyedit, names, folder.strip("`"), **change)
        measured.append([said, folder, f"{finite} of 8", f"{new} of 8", f"{kept} of 504"])
    print(*(" | ".join(row) for row in measured), sep="\n")
    assert len(rows) == 8 and measured == rows
    finite, new, kept = edited(easyedit, names, "noise.folder", fact_token="last", v_lr=5.0)
    print(finite, new, kept)
    assert (finite, new) == (8, 8) and kept < 100
