"""byheart audit on the command line: the verdict first, JSON, pictures, tables, resuming."""

import json

import pytest

import byheart
from byheart.auditing.answer import (
    Audit,
    AuditedData,
    AuditedModel,
    Exposure,
    Extraction,
    Limit,
    MembershipTest,
    Memorised,
    Reference,
    Saved,
    Seconds,
)
from byheart.auditing.closed import WeightsFile
from byheart.auditing.membership import Rate, Score
from byheart.cli import main
from byheart.cli.output import console
from byheart.views.audit import view, whole

KEYS = {
    "model", "data", "reference", "code_length", "memorised", "limits", "extraction", "accuracy",
    "membership", "evidence", "verdict", "notes", "items", "folder", "seconds", "picture",
    "wordings", "asked", "report",
}  # fmt: skip


SCORE = Score("loss", 0.9, 0.6, 0.99, (Rate(0.01, None, None, None, 100),))


@pytest.fixture
def folder(tmp_path):
    """A compiled model of sixteen labels out of four, and its data."""
    rows = [([i, j], (i + 3 * j) % 4) for i in range(4) for j in range(4)]
    data = byheart.Dataset.from_rows(rows)
    byheart.compile(data, positions=True).save(tmp_path / "model", data=data)
    return tmp_path / "model"


def test_the_self_test_in_json(folder, tmp_path, capsys):
    """What is known of a compiled model is what the command says of it."""
    items, picture = tmp_path / "items.csv", tmp_path / "audit.svg"
    words = ["audit", str(folder), str(folder / "data.jsonl"), "--json"]
    assert main([*words, "--items", str(items), "--plot", str(picture)]) == 0
    told = capsys.readouterr()
    answer = json.loads(told.out)
    assert set(answer) == KEYS and answer["evidence"] == "observed"
    assert answer["memorised"]["bits"] == answer["data"]["information"] == 32
    assert answer["extraction"]["verbatim"] == answer["data"]["items"] == 16
    assert answer["items"] == str(items) and len(items.read_text().splitlines()) == 17
    assert answer["picture"] == str(picture) and picture.read_text().startswith("<?xml")
    assert main([*words, "--items", str(items)]) == 2  # nothing is replaced without --force
    assert "exists" in capsys.readouterr().err


def test_what_a_person_reads(folder, capsys):
    assert main(["audit", str(folder), str(folder / "data.jsonl")]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert told.startswith("observed The model spends 32 bits less on the labels than uniform")
    assert "It recites 16 of 16 items verbatim given their inputs." in told
    assert "memorised 32 bits: reference minus model, 100.0% of it" in told


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--reference", "other"], "--reference uniform or --reference unigram"),
        (["--non-members", "random"], "--non-members random is for checkpoints"),
        (["--strangers", "random"], "is for checkpoints"),
        (["-o", "rows"], "is for checkpoints"),
        (["--items", "items.txt"], "must end in .jsonl or .csv"),
        (["--plot", "picture.bmp"], "must end in"),
        (["--prefix", "0"], "--prefix must be an integer of 1 or more"),
    ],
)
def test_options_that_do_not_fit(folder, options, sentence, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["audit", str(folder), str(folder / "data.jsonl"), *options]) == 2
    told = capsys.readouterr()
    assert not told.out and told.err.count("\n") == 1
    assert sentence in told.err


def test_paths_that_hold_no_model(tmp_path, capsys):
    data = tmp_path / "data.jsonl"
    data.write_text('{"input": [1], "label": 1}\n')
    assert main(["audit", str(tmp_path), str(data)]) == 2
    assert "has no config.json" in capsys.readouterr().err
    other = tmp_path / "other.jsonl"
    other.write_text(data.read_text())
    assert main(["audit", str(other), str(data)]) == 2
    assert "is not a directory" in capsys.readouterr().err


def test_membership_and_limits_are_shown(capsys):
    """Of a made-up answer: what is only there with non-members, and the theorems' contexts."""
    audit = Audit(
        model=AuditedModel(
            "m",
            "gpt2",
            False,
            10,
            320,
            8,
            9,
            tuple(WeightsFile(f"part{i}.safetensors", f"{i}" * 64) for i in range(6)),
            "float32",
            ("optimizer.pt", "training\x1b.bin"),
        ),
        data=AuditedData("d", 2, 8, 6, 18.0, skipped=1, cut=3, text=False, labelled=False),
        reference=Reference("uniform", 18.0),
        code_length=8.0,
        memorised=Memorised(10.0, 1.0, 10.0, 1.0, 0.03, 10 / 18),
        limits=(
            Limit("stored bits", "theorem", bits=320, share=0.03),
            Limit("Lemma 1", "theorem", None, 45, "at_most", "Any distributions."),
        ),
        extraction=Extraction(prefix=2, suffix=4, asked=2, verbatim=1, common=1.5),
        accuracy=0.5,
        membership=MembershipTest(
            (SCORE,), SCORE, 2, 30, Saved(1.67, -0.2), Exposure(3.0, 4.0, 4.95), None
        ),
        verdict="Something was measured.",
        notes=("a caveat",),
        items=(),
        seconds=Seconds(0.1, 0.2, 40.0),
        resumed="rows",
    )
    console().print(view(audit, all=True))
    told = " ".join(capsys.readouterr().out.split())
    for words in (
        "observed Something was measured.", "1 item too short; 3 tokens cut off",
        "AUC 0.900 loss: 95 % interval 0.600 to 0.990", "≤ 45 contexts, Lemma 1: Any",
        "non-members 30 1 % false alarms need 100 non-members: no rate is given",
        "verbatim 1 of 2 after 2 tokens, at most 4 recited", "note: a caveat.",
        "saved per token 1.67 bits; -0.2 of a non-member's token, none of which is memory",
        "finished batches in rows", "stored bits 320 as loaded, in float32",
        "file 4 of 6 part3.safetensors, SHA-256 3333", "weights 2 more files; --json has all",
        "not read 2 files optimizer.pt, training\\x1b.bin",
    ):  # fmt: skip
        assert words in told
    assert (whole(12_345.6), whole(-3.14159)) == ("12,346", "-3.14")


@pytest.fixture
def tiny(tmp_path):
    """A GPT-2 with a tokenizer of words, some of which are markup."""
    torch, transformers = pytest.importorskip("torch"), pytest.importorskip("transformers")
    from tokenizers import Tokenizer, models, pre_tokenizers

    torch.manual_seed(0)
    config = transformers.GPT2Config(
        vocab_size=9, n_positions=16, n_embd=8, n_layer=1, n_head=1, bos_token_id=0, eos_token_id=0
    )
    transformers.GPT2LMHeadModel(config).save_pretrained(tmp_path / "tiny")
    words = ["[UNK]", "<script>alert(1)</script>", "a|b", "`x`", "**y**", "w1", "w2", "w3", "w4"]
    made = Tokenizer(models.WordLevel({x: i for i, x in enumerate(words)}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made.save(str(tmp_path / "tiny" / "tokenizer.json"))
    (tmp_path / "tiny" / "tokenizer_config.json").write_text(
        '{"tokenizer_class": "PreTrainedTokenizerFast", "unk_token": "[UNK]"}'
    )
    text = f"{words[1]} w1 a|b `x` **y**\nw1 w2 {words[1]} w3\n"
    (tmp_path / "seen.txt").write_text(text)
    (tmp_path / "others.txt").write_text("w3 w1 w4\nw4 w3 w2\n")
    return tmp_path


@pytest.mark.parametrize("form", ["html", "md"])
def test_a_report_is_one_page(form, tiny, monkeypatch, capsys):
    """Nothing of the data is markup on it, and texts are there only if they are asked for."""
    monkeypatch.chdir(tiny)
    words = ["audit", "tiny", "seen.txt", "--non-members", "others.txt", "--prefix", "2"]
    assert main([*words, "--report", f"r.{form}"]) == 0
    page = (tiny / f"r.{form}").read_text()
    for part in ("Audit of tiny on seen.txt", "Method", "What each number shows", "SHA", "Items"):
        assert part in page
    assert "byheart audit tiny seen.txt" in page and "alert" not in page
    assert f"report in r.{form}" in capsys.readouterr().out
    assert main([*words, "--report", f"r.{form}"]) == 2  # nothing is replaced without --force
    assert main([*words, "--report", f"r.{form}", "--force", "--show-text"]) == 0
    page = (tiny / f"r.{form}").read_text()
    outside = "".join(page.split("```")[::2])  # of blocks of code, in Markdown
    assert "alert" in outside and "<script" not in outside.replace(r"\<script", "")
    if form == "html":
        assert "default-src 'none'" in page and "data:image/svg+xml;base64," in page
    else:
        assert "![" in page and (tiny / "r.svg").read_text().startswith("<?xml")
        assert r"a\|b" in page


def test_reports_that_cannot_be_written(tiny, capsys):
    words = ["audit", str(tiny / "tiny"), str(tiny / "seen.txt"), "--report"]
    assert main([*words, "report.pdf"]) == 2
    assert "must end in .html or .md" in capsys.readouterr().err
    assert main([*words, str(tiny / "nowhere" / "r.md")]) == 2
    assert "is not a directory" in capsys.readouterr().err
