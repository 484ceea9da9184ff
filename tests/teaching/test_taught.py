"""Folders that were taught: verify, forget, locate, diff, and what is refused."""

import hashlib
import json
import shutil
from pathlib import Path

import pytest

import byheart
import check
import check_taught
from byheart.errors import ByheartError, DisagreementError
from tests.teaching.made import write_facts

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
READ = {"input": ["prompt"], "label": "answer"}
WEIGHTS = "model-taught.safetensors"


@pytest.fixture(scope="module", params=["gpt2", "llama"])
def taught(request, base, tmp_path_factory):
    """The base, its taught folder, and the files of facts and of what is kept."""
    place = tmp_path_factory.mktemp("taught")
    facts = [
        ("peru is the capital of", "oslo"), ("chad sat on a river of", "riga bern"),
        ("the cat of togo is", "doha"),
    ]  # fmt: skip
    write_facts(place / "facts.jsonl", facts)
    (place / "keep.txt").write_text("the river of mali is male\n\nthe cat sat on the mat\n")
    folder = base(request.param)
    byheart.teach(folder, place / "facts.jsonl", place / "new", keep=place / "keep.txt", **READ)
    return folder, place


def verified(taught, **options):
    folder, place = taught
    given = {"base": folder, "keep": place / "keep.txt", "accept": ["observed"], **READ}
    return byheart.verify(place / "new", place / "facts.jsonl", **{**given, **options})


def rewritten(taught, name, change, place, target=None):
    """A copy of the folder in which a file is changed and its certificate says so."""
    shutil.copytree(taught[1] / "new", place)
    change(place / name)
    path = place / "certificate.json"
    certificate = json.loads(path.read_text())
    for each in certificate["files"]:
        certificate["files"][each] = hashlib.sha256((place / each).read_bytes()).hexdigest()
    path.write_text(json.dumps(certificate))
    return place


def of_tensors(change):
    from safetensors.torch import load_file, save_file

    def apply(path):
        tensors = load_file(path)
        change(tensors)
        save_file(tensors, path, {"format": "pt"})

    return apply


def test_structure_is_gated_and_the_rest_observed(taught):
    found = verified(taught)
    assert found.holds and (found.structure, found.evidence) == ("gated", "observed")
    assert (found.facts, found.held, found.answered) == (3, 3, 3)
    assert found.kept[0].equal == found.kept[0].positions and found.kept[0].room > 1
    assert not verified(taught, accept=()).holds  # observed is no proof
    folder, place = taught
    assert check.main([str(place / "new"), "--base", str(folder)]) == 0
    alone = byheart.verify(place / "new", base=folder)
    assert alone.holds and alone.structure == "gated" and alone.evidence is None


def test_rounding_is_bounded_to_first_order_and_not_proved(taught):
    found = verified(taught, bound=3).bound
    assert found.contexts == 3 and found.positions == 3 and found.holds
    assert 0 < found.own < 2 * found.off and found.other < -found.off and found.margin > 0
    tight = verified(taught, bound=1).bound
    assert tight.contexts == tight.positions == 1 and tight.other <= found.other


def test_a_bound_is_above_what_a_run_shows(taught):
    """The same graph in doubles, and float32 runs of it: the difference is within the bound."""
    from byheart.auditing.checkpoint import opened
    from byheart.teaching import bounding, folder
    from byheart.teaching.family import described

    told = folder.read(taught[1] / "new")
    made = described(opened(taught[1] / "new"), "float32")
    for fact in told.facts:
        tape, _, logits = bounding.forward(made, fact.tokens[: fact.given], told.first)
        with torch.no_grad():
            ids = torch.tensor([fact.tokens[: fact.given]])
            ran = made.model(input_ids=ids).logits[0, -1].double()
        for token in (0, 5, 20):
            far = abs(float(ran[token] - logits[token].detach()))
            assert far <= tape.bound(logits[token]) < 0.1


def test_what_is_not_the_base_with_added_layers_is_refuted(taught, tmp_path):
    folder, place = taught
    gpt2 = "transformer.h.0.ln_1.weight" in str(
        (place / "new/model.safetensors.index.json").read_text()
    )
    out = "transformer.h.2.attn.c_proj.weight" if gpt2 else "model.layers.2.self_attn.o_proj.weight"
    norm = (
        "transformer.h.2.ln_2.weight" if gpt2 else "model.layers.2.post_attention_layernorm.weight"
    )

    def refuted(match, name, change):
        made = rewritten(taught, name, change, tmp_path / str(len(list(tmp_path.iterdir()))))
        found = byheart.verify(made, base=folder)
        assert not found.holds and found.structure == "refuted"
        assert any(match in x for x in found.failures), found.failures
        assert any(match in x for x in check_taught.failures(str(made), str(folder)))
        assert check.main([str(made), "--base", str(folder)]) == 1

    refuted(
        f"{out} is not 0 everywhere", WEIGHTS, of_tensors(lambda x: x[out].view(-1)[3].fill_(1))
    )
    refuted(f"{norm} is not 1 everywhere", WEIGHTS, of_tensors(lambda x: x[norm][0].fill_(2)))
    refuted(f"{out} is missing", WEIGHTS, of_tensors(lambda x: x.pop(out)))
    gate = norm.replace("ln_2.weight", "mlp.c_fc.bias").replace(
        "post_attention_layernorm.weight", "mlp.gate_proj.bias"
    )
    refuted("NaN", WEIGHTS, of_tensors(lambda x: x[gate][0].fill_(torch.nan)))
    # an argument of minus infinity is below every threshold, and its activation is NaN
    refuted("a number above 2^64", WEIGHTS, of_tensors(lambda x: x[gate][0].fill_(-3.4e38)))
    refuted(
        "is no tensor of an added layer", WEIGHTS,
        of_tensors(lambda x: x.update({"lm_head.weight": torch.ones(2, 2)})),
    )  # fmt: skip

    def other(path):
        path.write_text(json.dumps({**json.loads(path.read_text()), "initializer_range": 0.5}))

    refuted("config.json differs from the base's in 'initializer_range'", "config.json", other)

    def null(path):
        path.write_text(json.dumps({**json.loads(path.read_text()), "absent": None}))

    refuted("config.json differs from the base's in 'absent'", "config.json", null)
    refuted(
        "tokenizer.json is not that of the base",
        "tokenizer.json",
        lambda path: path.write_text(path.read_text() + " "),
    )
    from safetensors.torch import load_file

    first = next(iter(load_file(place / "new/model-base.safetensors")))
    refuted(
        "byte for byte",
        "model-base.safetensors",
        of_tensors(lambda x: x[first].view(-1)[0].add_(1)),
    )
    with pytest.raises(DisagreementError, match="sha256 of ground_truth.jsonl"):
        shutil.copytree(place / "new", tmp_path / "cut")
        (tmp_path / "cut/ground_truth.jsonl").write_text("")
        byheart.verify(tmp_path / "cut", base=folder)
    shutil.copytree(place / "new", tmp_path / "more")
    (tmp_path / "more/adapter_config.json").write_text("{}")
    with pytest.raises(ByheartError, match="which its certificate does not name"):
        byheart.verify(tmp_path / "more", base=folder)
    assert check.main([str(tmp_path / "more"), "--base", str(folder)]) == 2
    assert check.main([str(place / "new")]) == 2  # without its base


def changed(place, change):
    path = place / "certificate.json"
    certificate = json.loads(path.read_text())
    change(certificate)
    path.write_text(json.dumps(certificate))


def test_a_certificate_names_no_other_files_of_weights(taught, tmp_path):
    """A library prefers model.safetensors to the files of an index."""
    name, folder = "model.safetensors", tmp_path / "more"
    shutil.copytree(taught[1] / "new", folder)
    shutil.copyfile(taught[0] / name, folder / name)
    digest = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    changed(folder, lambda told: told["files"].update({name: digest}))
    with pytest.raises(ByheartError, match="which is not a file of a taught folder"):
        byheart.verify(folder, base=taught[0])
    assert check.main([str(folder), "--base", str(taught[0])]) == 2


def test_what_a_certificate_says_of_its_base_and_of_a_run_is_checked(taught, tmp_path):
    folder = tmp_path / "other"
    shutil.copytree(taught[1] / "new", folder)
    changed(folder, lambda told: told["base"].update(config="{}"))
    found = byheart.verify(folder, base=taught[0])
    assert "certificate.json holds another config.json" in found.failures[0]
    assert "another config.json" in check_taught.failures(str(folder), str(taught[0]))[0]
    changed(folder, lambda told: told.update(dtype="load"))
    with pytest.raises(ByheartError, match="the dtype 'load' is not known"):
        byheart.verify(folder, base=taught[0])
    assert check.main([str(folder), "--base", str(taught[0])]) == 2


def test_the_checker_knows_classes_and_activations(taught, tmp_path):
    def said(key, value):
        for name, place in (("base", taught[0]), ("new", taught[1] / "new")):
            shutil.copytree(place, tmp_path / key / name)
            path = tmp_path / key / name / "config.json"
            path.write_text(json.dumps({**json.loads(path.read_text()), key: value}))
        made, base = tmp_path / key / "new", tmp_path / key / "base"
        digest = hashlib.sha256((made / "config.json").read_bytes()).hexdigest()
        changed(made, lambda told: told["files"].update({"config.json": digest}))
        text = (base / "config.json").read_text()
        changed(made, lambda told: told["base"].update(config=text))
        return check_taught.failures(str(made), str(base))

    config = json.loads((taught[0] / "config.json").read_text())
    key = "hidden_act" if "hidden_act" in config else "activation_function"
    assert said(key, "tanh") == ["the activation 'tanh' is not known to be 0 below a threshold"]
    assert "config.json is not of the class" in said("model_type", "openai-gpt")[0]


def test_kept_positions_go_on_as_taught_only_after_facts_that_were_asked(taught):
    """A ground truth may list whatever a text holds; what is left out is what the user named."""
    text = taught[1] / "kept.txt"
    text.write_text("the cat of togo is doha\n")
    given = {"base": taught[0], "keep": text, "accept": ["observed"], **READ}
    found = byheart.verify(taught[1] / "new", taught[1] / "facts.jsonl", **given)
    assert found.holds and found.kept[0].taught == 1
    found = byheart.verify(taught[1] / "new", **given)
    assert found.kept[0].taught == 0 and "1 positions" in found.failures[0] and not found.holds


def test_the_checker_reads_the_ground_truth_itself(taught, tmp_path, capsys):
    def moved(path):
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        lines[0]["neurons"][0][1] += 5
        lines[1]["neurons"] = [lines[0]["neurons"][0]] * len(lines[1]["neurons"])
        path.write_text("\n".join(map(json.dumps, lines)))

    made = rewritten(taught, "ground_truth.jsonl", moved, tmp_path / "moved")
    assert check.main([str(made), "--base", str(taught[0]), "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["verdict"] == "NOT GATED" and "one neuron for two contexts" in told["failures"][0]


def test_a_hostile_certificate_is_refused_in_a_sentence(taught, tmp_path):
    def refused(match, change, name="certificate.json"):
        made = tmp_path / str(len(list(tmp_path.iterdir())))
        if name == "certificate.json":
            shutil.copytree(taught[1] / "new", made)
            values = json.loads((made / name).read_text())
            change(values)
            (made / name).write_text(json.dumps(values))
        else:
            rewritten(taught, name, change, made)
        with pytest.raises(ByheartError, match=match):
            byheart.verify(made, base=taught[0])
        assert check.main([str(made), "--base", str(taught[0])]) in (0, 1, 2)

    refused("class", lambda x: x.update({"class": "other"}))
    refused("layers", lambda x: x.update(layers=[3, 2]))
    refused("dtype", lambda x: x.update(dtype="int8"))
    refused("noise", lambda x: x.update(noise="much"))
    refused("kept", lambda x: x.update(kept=[3]))
    refused("base", lambda x: x.pop("base"))
    refused("config", lambda x: x["base"].pop("config"))
    refused("not a file of a taught folder", lambda x: x["files"].update({"../x": "0"}))
    refused("does not name", lambda x: x["files"].pop("config.json"))

    def lines(**more):
        def change(path):
            told = [json.loads(line) | more for line in path.read_text().splitlines()]
            path.write_text("\n".join(map(json.dumps, told)))

        return change

    refused("tokens are numbers", lines(tokens=[10**9, 3]), "ground_truth.jsonl")
    refused("tokens are numbers", lines(given=0), "ground_truth.jsonl")
    refused("one number per token", lines(reach=["far"]), "ground_truth.jsonl")
    refused("one pair of layer and neuron", lines(neurons=[[0, 0]]), "ground_truth.jsonl")


def test_facts_that_were_not_taught_are_refuted(taught, tmp_path):
    facts = write_facts(tmp_path / "f.jsonl", [("peru is the capital of", "oslo"),
                                               ("the capital of cuba is", "mali")])  # fmt: skip
    found = byheart.verify(taught[1] / "new", facts, base=taught[0], accept=["observed"], **READ)
    assert found.evidence == "refuted" and found.structure == "gated" and not found.holds
    assert found.held == 1 and "1 of 2 facts were not taught" in found.failures


def test_forgetting_is_never_having_been_taught(taught, tmp_path):
    folder, place = taught
    given = {"keep": place / "keep.txt", **READ}
    left = byheart.forget(
        place / "new", place / "facts.jsonl", ["chad sat on a river of"], output=tmp_path / "left",
        **given,
    )  # fmt: skip
    assert left.facts == 2 and left.holds
    facts = write_facts(tmp_path / "two.jsonl", [("the cat of togo is", "doha"),
                                                 ("peru is the capital of", "oslo")])  # fmt: skip
    byheart.teach(folder, facts, tmp_path / "two", **given)
    names = {path.name for path in (tmp_path / "two").iterdir()} - {"README.md"}
    assert all(
        (tmp_path / "two" / x).read_bytes() == (tmp_path / "left" / x).read_bytes() for x in names
    )
    prompts = ["chad sat on a river of", "the cat of togo is", "peru is the capital of"]
    gone = byheart.forget(
        place / "new", place / "facts.jsonl", prompts, output=tmp_path / "base", **given
    )
    assert gone.forgotten == 3
    for path in (tmp_path / "base").iterdir():
        assert path.read_bytes() == (folder / path.name).read_bytes()
    assert (tmp_path / "base/model.safetensors").is_file()
    for match, data, items in (
        ("is not what", facts, prompts[:1]), ("is not a prompt", place / "facts.jsonl", ["a cat"]),
    ):  # fmt: skip
        with pytest.raises(ByheartError, match=match):
            byheart.forget(place / "new", data, items, output=tmp_path / "no", **given)
    with pytest.raises(ByheartError, match="all facts are taught again; give that file"):
        byheart.forget(place / "new", place / "facts.jsonl", prompts[:1], output=tmp_path / "no",
                       **READ)  # fmt: skip


def test_locate_names_the_neuron_that_is_on(taught):
    from byheart.auditing.checkpoint import opened
    from byheart.teaching.family import described
    from byheart.teaching.running import arguments

    found = byheart.locate(taught[1] / "new", "chad sat on a river of")
    assert found.answer == "riga bern" and [x.text for x in found.tokens] == ["riga", "bern"]
    made = described(opened(taught[1] / "new"))
    ids = made.checkpoint.tokenizer("chad sat on a river of riga", add_special_tokens=False)
    ((_, _, on),) = arguments(made, [ids["input_ids"]], 2)
    for place, token in zip((-2, -1), found.tokens, strict=True):
        assert (on[place] > 0).nonzero().tolist() == [[token.layer - 2, token.neuron]]
    with pytest.raises(ByheartError, match="was taught nothing about 'the dog'"):
        byheart.locate(taught[1] / "new", "the dog")


def test_diff_audit_and_other_verbs(taught):
    folder, place = taught
    found = byheart.diff(folder, place / "new")
    assert not found.tensors and found.after_only and not found.before_only
    assert not byheart.diff(place / "new", place / "new").after_only
    measured = byheart.audit(place / "new", place / "facts.jsonl", loading=READ)
    assert measured.extraction.verbatim == 3 and not measured.model.certified
    with pytest.raises(ByheartError, match="was taught; it is asked in transformers"):
        byheart.open(place / "new")


def test_both_doors_say_the_same(taught, run_in, capsys):
    folder, place = taught
    words = ["verify", str(place / "new"), str(place / "facts.jsonl"), "--base", str(folder)]
    words += ["--keep", str(place / "keep.txt"), "--input", "prompt", "--label", "answer"]
    assert run_in([*words, "--accept", "observed", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(verified(taught).json()))
    assert run_in(words) == 1
    told = capsys.readouterr().out
    assert told.startswith("gated  exact") and "observed  3 of 3 facts answered" in told
    assert run_in(["verify", str(place / "new")]) == 2
    assert "--base" in capsys.readouterr().err
    assert run_in(["locate", str(place / "new"), "chad", "sat", "on", "a", "river", "of"]) == 0
    assert "one neuron per token" in capsys.readouterr().out
    teach = ["teach", str(folder), str(place / "facts.jsonl"), "-o", str(place / "again"),
             "--input", "prompt", "--label", "answer", "--plot", str(place / "p.png")]  # fmt: skip
    assert run_in(teach) == 0
    told = capsys.readouterr().out
    assert "observed  3 of 3 facts answered" in told and "check it: byheart verify" in told
    assert (place / "p.png").stat().st_size > 10_000 and Path(place / "again/README.md").is_file()
    assert run_in(teach) == 2  # it is there
    assert run_in([*teach, "--force"]) == 0
