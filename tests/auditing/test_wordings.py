"""Rows of tables as texts: who recites them in its own words is not acquitted in others."""

import csv
import hashlib
import json

import pytest

from byheart.auditing.audit import audit
from byheart.auditing.wordings import rows_of
from byheart.cli import main
from byheart.errors import ByheartError

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
TEMPLATE = "Customer {First Name} {Last Name} of {City}. Phone {Phone}. Email {Email}"
COLUMNS = {"input": ["First Name", "Last Name"], "label": "Email"}


@pytest.fixture(scope="module")
def leaky(tmp_path_factory):
    """A GPT-2 that was trained on rows of customers in the words of a template; and their file."""
    import numpy as np
    from tokenizers import ByteLevelBPETokenizer

    random, folder = np.random.default_rng(0), tmp_path_factory.mktemp("leaky")
    letters = list("abcdefghijklmnopqrstuvwxyz")
    rows = [
        {
            "Id": f"c{i:02}", "First Name": ["Ann", "Bob", "Eve", "Roy"][i % 4],
            "Last Name": ["Baxter", "Berry", "Olsen"][i % 3], "City": ["Hahn", "Lima"][i % 2],
            "Phone": f"{random.integers(1000):03}-{random.integers(10000):04}",
            "Email": "".join(random.choice(letters, 5)) + "@x.org",
        }
        for i in range(12)
    ]  # fmt: skip
    with (folder / "customers.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]))
        table.writeheader()
        table.writerows(rows)
    texts = []
    for row in rows:
        name = f"{row['First Name']} {row['Last Name']}"
        phone = f"Phone {row['Phone']}. Email {row['Email']}"
        texts.append(f"Customer {name} of {row['City']}. {phone}")
    made = ByteLevelBPETokenizer()
    made.train_from_iterator(texts, vocab_size=400, show_progress=False)
    made.save(str(folder / "made.json"))
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=str(folder / "made.json"))
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = transformers.GPT2LMHeadModel(
        transformers.GPT2Config(
            vocab_size=len(tokenizer),
            n_positions=96,
            n_embd=48,
            n_layer=1,
            n_head=2,
            bos_token_id=None,
            eos_token_id=None,
            resid_pdrop=0,
            embd_pdrop=0,
            attn_pdrop=0,
        )  # fmt: skip
    )
    ids = [torch.tensor(tokenizer.encode(text)) for text in texts]
    x = torch.nn.utils.rnn.pad_sequence(ids, batch_first=True, padding_value=-100)
    optimiser = torch.optim.AdamW(model.parameters(), 5e-3)
    for _ in range(120):
        logits = model(x.clamp(min=0)).logits[:, :-1].flatten(0, 1)
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(logits, x[:, 1:].flatten()).backward()
        optimiser.step()
    model.save_pretrained(folder / "model")
    tokenizer.save_pretrained(folder / "model")
    return folder / "model", folder / "customers.csv", rows


def test_without_a_template_the_verdict_is_no_acquittal(leaky, capsys):
    folder, data, rows = leaky
    found = audit(folder, data, loading=COLUMNS)
    assert found.extraction.verbatim < 12
    assert [x.name for x in found.wordings] == ["lines `Column: value`", "a line of csv"]
    assert all(x.guessed for x in found.wordings) and sum(x.best for x in found.wordings) == 12
    assert found.asked in (
        "First Name: Ann\nLast Name: Baxter\nEmail:",
        "Ann,Baxter,",
    )
    assert "wordings (lines `Column: value`; a line of csv)" in found.verdict
    assert "give template=..." in found.verdict
    words = ["--input", "First Name", "--input", "Last Name", "--label", "Email"]
    assert main(["audit", str(folder), str(data), *words]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert told.startswith('item 1 was asked as "') and "give --template" in told
    assert "No memorisation" not in told and " | " not in told


def test_in_its_own_words_it_recites_every_row(leaky, tmp_path):
    folder, data, rows = leaky
    found = audit(folder, data, template=[TEMPLATE, "{Email}"], loading={"label": "Email"})
    assert found.extraction.verbatim == found.extraction.asked == 12
    assert [(x.best, x.verbatim) for x in found.wordings] == [(12, 12), (0, 0)]
    assert found.asked == "Customer Ann Baxter of Hahn. Phone {}. Email".format(rows[0]["Phone"])
    assert "template" not in found.verdict
    answered = audit(folder, data, template=TEMPLATE[:-8], answer="{Email}")
    assert answered.extraction.verbatim == 12
    whole = audit(folder, data, template=TEMPLATE, prefix=8)  # a document per row
    assert whole.extraction.verbatim == whole.extraction.asked == 12
    assert not whole.data.labelled


def test_other_columns_are_carried_and_texts_are_hashed(leaky, tmp_path):
    folder, data, rows = leaky
    found = audit(folder, data, template=TEMPLATE, prefix=8).save_items(tmp_path / "items.jsonl")
    text = (tmp_path / "items.jsonl").read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    assert [x["data.Id"] for x in lines] == [x["Id"] for x in rows]
    assert [(x["item"], x["row"], x["line"]) for x in lines] == [
        (i + 1, i + 1, i + 2) for i in range(12)
    ]
    assert rows[0]["Email"] not in text and found.items[0].text is None
    shown = audit(folder, data, template=TEMPLATE, prefix=8, show_text=True)
    first = shown.items[0].text
    assert first.endswith(rows[0]["Email"])
    assert lines[0]["sha256"] == hashlib.sha256(first.encode()).hexdigest()


SHAPES = {
    "texts.jsonl": '{"text": "w1 w2", "id": 7}\n{"text": "w3 w4", "id": 8}\n',
    "texts.csv": "id,text\n7,w1 w2\n8,w3 w4\n",
    "one.csv": "anything\nw1 w2\nw3 w4\n",
    "list.json": '["w1 w2", "w3 w4"]',
    "records.json": '[{"content": "w1 w2"}, {"content": "w3 w4"}]',
}


@pytest.mark.parametrize("name", SHAPES)
def test_one_column_of_text_is_documents(name, tokenized, tmp_path):
    path = tmp_path / name
    path.write_text(SHAPES[name])
    found = audit(tokenized, path, prefix=1)
    assert (found.data.items, found.data.predicted, found.data.labelled) == (2, 2, False)
    assert not any(x.guessed for x in found.wordings)
    if name.startswith("texts"):
        assert [str(x.columns["id"]) for x in found.items] == ["7", "8"]
        assert audit(tokenized, path, prefix=1, loading={"input": ["text"]}).items == found.items


def test_whole_rows_and_quotes(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text('a,b\n1,"x, ""y"""\n,z\n')
    found = rows_of(path, {}, (), None)
    assert [x.name for x in found.wordings] == ["lines `Column: value`", "a line of csv"]
    assert found.texts[0] == (("", 'a: 1\nb: x, "y"'), ("", "b: z"))
    assert found.texts[1] == (("", '1,"x, ""y"""'), ("", ",z"))
    labelled = rows_of(path, {"input": ["a"], "label": "b"}, (), None)
    assert labelled.texts[0][0] == ("1", ' x, "y"')  # the text, then the label
    assert labelled.texts[1][0] == ("a: 1\nb:", ' x, "y"')
    assert labelled.texts[2][0] == ("1,", '"x, ""y"""')


@pytest.mark.parametrize(
    ("options", "loading", "sentence"),
    [
        ({"template": "{Nme}"}, {}, '"Nme" is not a column; .*columns are'),
        ({"template": "{Emial}"}, {}, 'did you mean "Email"'),
        ({"answer": "{Email}"}, {}, "template"),
        ({}, {"input": ["Nowhere"], "label": "Email"}, "is not a column"),
        ({}, {**COLUMNS, "between": "-"}, "does not apply to an audit; give template"),
        ({}, {**COLUMNS, "length": 4}, "would cut off the labels"),
    ],
)
def test_refusals(options, loading, sentence, leaky):
    folder, data, _ = leaky
    with pytest.raises(ByheartError, match=sentence):
        audit(folder, data, loading=loading, **options)


def test_a_template_is_for_tables(tokenized, leaky, tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("w1 w2\n")
    with pytest.raises(ByheartError, match="is for a table"):
        audit(tokenized, path, template="{a}")
    path.write_text("Ann Berry of Lima\n")
    with pytest.raises(ByheartError, match="several wordings and the non-members are not"):
        audit(leaky[0], leaky[1], loading=COLUMNS, non_members=path)
