"""The checker whose evaluation is proved: what it accepts and refuses, what breaks its proofs."""

import io
import json
import random
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

import bad_examples
import small_check

HERE = Path(__file__).resolve().parent.parent
VERIFIED = HERE / "verified"
sys.path.append(str(VERIFIED))
import build  # noqa: E402
import verified_check  # noqa: E402

GOOD = [path for path in sorted((HERE / "examples" / "good").iterdir()) if path.is_dir()]


def kinds_of(folder: Path) -> list[str]:
    """The kinds of its layers; none for a decoder."""
    config = json.loads((folder / "config.json").read_text())
    return [] if "decoder" in config else [layer["kind"] for layer in config["layers"]]


NETWORKS = [folder for folder in GOOD if kinds_of(folder)]
# Wrong in what this checker does not judge: counts of parameters, what the certificate says of its
# writer, and the rules of float64 runs.
NOT_JUDGED = """
    change-data change-from change-kind change-list change-rebuilt every-checked every-incorrect
    every-sampled sampled-all sampled-none wrong-bits wrong-counts float64-range float64-span
    float64-token float64-unread
""".split()


@pytest.fixture(scope="module", autouse=True)
def program():
    """Builds it, where Coq and OCaml are installed."""
    try:
        return build.build()
    except build.BuildError as error:
        if error.missing:
            pytest.skip(str(error))
        raise


def verdict(folder: Path, data: Path | None = None) -> int:
    return verified_check.main([str(folder), str(data or folder / "data.jsonl"), "--json"])


def test_no_theorem_rests_on_an_assumption(program):
    assert program == [build.CLOSED] * 9
    text = "".join(path.read_text() for path in build.sources())
    assert "Admitted" not in text and "Axiom" not in text


@pytest.mark.parametrize("folder", NETWORKS, ids=lambda folder: folder.name)
def test_good_networks_are_checked_and_what_was_read_is_printed_back(folder, capsys):
    assert verdict(folder) == 0
    answer = json.loads(capsys.readouterr().out)
    config = json.loads((folder / "config.json").read_text())
    rows = [json.loads(line) for line in (folder / "data.jsonl").read_text().splitlines() if line]
    read = answer["read"]
    assert read["sequences"] == answer["right"] == config["data"]["sequences"] == len(rows)
    assert read["parameters"] == config["parameters"]["nonzero"]
    assert read["layers"] == len(config["layers"])
    assert read["tokens"] == sum(len(row["input"]) for row in rows)
    assert read["data"] == config["data"]["sha256"]


def test_all_kinds_of_layers_are_among_them():
    kinds = {kind for folder in NETWORKS for kind in kinds_of(folder)}
    assert kinds == set(verified_check.KINDS.split())


@pytest.mark.parametrize("folder", [f for f in GOOD if f not in NETWORKS], ids=lambda f: f.name)
def test_decoders_are_refused(folder, capsys):
    assert verdict(folder) == 2
    assert "is not about labels" in capsys.readouterr().err


def test_no_bad_example_is_checked_but_for_what_it_does_not_judge(examples, capsys):
    accepted = []
    for name in bad_examples.folders("bad"):
        folder, data = examples / name, next((examples / name).glob("data.*"), None)
        code = verdict(folder, data)
        expected = json.loads(folder.with_name(f"{folder.name}.json").read_text())["exit"]
        if code == 0:
            accepted.append(folder.name)
        elif code == 1:  # a mean or a value that a reader refuses is no answer here
            assert expected == 1 or "mean" in name or "odd" in name or name == "bad/tiny-value", (
                name
            )
    assert sorted(accepted) == sorted(NOT_JUDGED)
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("seed", range(4))
def test_it_agrees_with_small_check_about_changed_folders(tmp_path, seed, capsys):
    """Fifty networks with one parameter or label changed, and hashes that agree."""
    chosen, seen = random.Random(seed), set()
    folders = [path for path in NETWORKS if path.name != "floats"]  # which has rules of its own
    for _ in range(50):
        folder = chosen.choice(folders)
        files = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
        changed = one_change(files, chosen)
        place = tmp_path / "changed"
        place.mkdir(exist_ok=True)
        for name, content in changed.items():
            (place / name).write_bytes(content)
        small = small_check.main([str(place), str(place / "data.jsonl"), "--json"])
        answer = json.loads(capsys.readouterr().out)
        failures = answer.get("failures", [])
        if small == 1:  # counts, of parameters or of what the writer checked, are not judged here
            small = int(any("count" not in x and "number of checked" not in x for x in failures))
        elif small == 2:  # a mean that is not dyadic is refused there, and no answer here
            assert "mean" in answer["reason"]
            small = 1
        assert verdict(place) == small, (folder.name, failures)
        capsys.readouterr()
        seen.add(small)
        shutil.rmtree(place)
    assert {0, 1} <= seen


def one_change(files: dict[str, bytes], chosen: random.Random) -> dict[str, bytes]:
    if chosen.random() < 0.25:
        rows = [json.loads(line) for line in files["data.jsonl"].splitlines()]
        labels = json.loads(files["vocabulary.json"])["labels"]
        row = chosen.choice([row for row in rows if row["label"] != []])
        if isinstance(row["label"], list):
            row["label"][chosen.randrange(len(row["label"]))] = chosen.choice(labels)
        else:
            row["label"] = chosen.choice(labels)
        return bad_examples.claim_data({**files, "data.jsonl": bad_examples.lines(rows)})
    types, arrays = bad_examples.read_arrays(files["weights.safetensors"])
    k = chosen.randrange(len(arrays["tensor"]))
    how = chosen.choice(["sign", "exponent", "exponent", "limb"])
    if how == "sign":
        arrays["negative"][k] ^= 1
    elif how == "exponent":
        arrays["exponent"][k] += chosen.choice([-1, 1])
    else:
        arrays["limbs"][arrays["start"][k]] += 2
    content = bad_examples.write_arrays(types, arrays)
    return bad_examples.rehash({**files, "weights.safetensors": content}, "weights.safetensors")


# ---------------------------------------------------------------- reading


@pytest.fixture(scope="module")
def arrays(tmp_path_factory) -> tuple[Path, np.ndarray, np.ndarray]:
    """A folder that was compiled from arrays, and these."""
    import byheart

    rng = np.random.default_rng(0)
    inputs = rng.choice(1000, (20, 3)).astype(np.int32)
    labels = rng.integers(0, 3, 20)
    folder = tmp_path_factory.mktemp("arrays") / "model"
    np.savez(folder.with_suffix(".npz"), inputs=inputs, labels=labels)
    byheart.compile(byheart.load(folder.with_suffix(".npz"))).save(folder)
    return folder, inputs, labels


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("kind", ["<i4", ">i8", "<u2", "<f8", "<f4"])
def test_it_reads_archives(arrays, tmp_path, order, save, kind, capsys):
    folder, inputs, labels = arrays
    save(tmp_path / "data.npz", inputs=np.asarray(inputs, kind, order=order), labels=labels)
    assert verdict(folder, tmp_path / "data.npz") == 0
    capsys.readouterr()
    save(tmp_path / "other.npz", inputs=inputs, labels=(labels + 1) % 3)
    assert verdict(folder, tmp_path / "other.npz") == 1
    failures = json.loads(capsys.readouterr().out)["failures"]
    assert failures[0] == "the data is not the data of the claim"
    assert "sequence 0 does not get its labels" in failures


def test_it_reads_vectors_and_a_label_for_every_token(tmp_path, capsys):
    import byheart

    rng = np.random.default_rng(1)
    inputs = rng.integers(0, 9, (6, 4, 2)) / 4
    path = tmp_path / "data.npz"
    np.savez(path, inputs=inputs, labels=rng.integers(0, 2, 6))
    byheart.compile(byheart.load(path)).save(tmp_path / "vectors")
    assert verdict(tmp_path / "vectors", path) == 0
    np.savez(path, inputs=np.arange(24).reshape(6, 4), labels=rng.integers(0, 2, (6, 4)))
    byheart.compile(byheart.load(path)).save(tmp_path / "every")
    assert verdict(tmp_path / "every", path) == 0
    capsys.readouterr()


def damaged(raw: bytes):
    """Archives that say the same to a reader that is not careful."""
    yield "cut", raw[:-30]
    yield "junk in front", b"junk" + raw
    yield "junk behind", raw + b"junk"
    whole = io.BytesIO(raw)
    with zipfile.ZipFile(whole, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("labels.npy", archive.read("labels.npy"))
    yield "twice", whole.getvalue()


def test_it_refuses_damaged_archives(arrays, tmp_path, capsys):
    folder, inputs, labels = arrays
    np.savez(tmp_path / "data.npz", inputs=inputs, labels=labels)
    for name, content in damaged((tmp_path / "data.npz").read_bytes()):
        (tmp_path / "bad.npz").write_bytes(content)
        assert verdict(folder, tmp_path / "bad.npz") == 2, name
        assert len(capsys.readouterr().err.splitlines()) == 1


def test_an_index_is_compared_before_it_becomes_a_list():
    """An embedding of one column, asked about the token 2^1000."""
    net = "1 1 1 1 0x0 0 0 0 0 1 2 embedding 1 1 1 0x1 0 0 linear 1 1 0x0 0 1 0 0x1 0"
    item = "1 1 1 0x1 {} 1 1"
    for exponent, code in ((-1000, 1), (1000, 1)):
        text = f"{net} {item.format(exponent)} end"
        done = subprocess.run([verified_check.PROGRAM], input=text, text=True, capture_output=True)
        assert (done.returncode, done.stderr) == (code, "")


@pytest.mark.parametrize(
    "text", ["", "1", "1 1 0 0 0 0 1 1 magic 1", "1 1 0 0 0 0 1 -1", "x y z", "99999999999 1"]
)
def test_the_program_refuses_what_it_cannot_read(text):
    done = subprocess.run([verified_check.PROGRAM], input=text, text=True, capture_output=True)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1


def test_without_the_program_it_says_how_to_build_it(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(verified_check, "PROGRAM", tmp_path / "none")
    assert verdict(NETWORKS[0]) == 2
    assert "python build.py" in capsys.readouterr().err


def test_it_shares_no_code_with_the_other_checkers():
    text = (VERIFIED / "verified_check.py").read_text()
    assert (
        "import check" not in text
        and "small_check" not in text
        and "byheart" not in text.split("PROGRAM")[0]
    )


# ---------------------------------------------------------------- mutants

PROGRAM_MUTANTS = """
Dyadic.v    (exponent b - exponent a)) (exponent a) -> (exponent b - exponent a)) (exponent b)
Dyadic.v    (mantissa a <=? 0)%Z then zero else a -> (mantissa a <=? -1)%Z then zero else dneg a
Dyadic.v    (0 <=? k)%Z && (q * n =? m)%Z -> (0 <=? k)%Z
Evaluate.v  match snd p with [] => dadd x (fst p) | -> match snd p with [] => x |
Evaluate.v  residual W2 (map drelu (affine W1 h)) h -> residual W2 (affine W1 h) h
Evaluate.v  length (W_Q a) =? length (W_K a) -> length (W_Q a) =? length (W_Q a)
Evaluate.v  skipn (length met - length ys) met -> firstn (length ys) met
Evaluate.v  (length ys =? (if every net then length tokens else 1))%nat -> true
Evaluate.v  Linear _ _ | Relu _ _ | FeedForward -> Sum _ | Linear _ _ | Relu _ _ | FeedForward
Evaluate.v  ddiv d (Z.of_nat (length sources)) -> ddiv d (Z.of_nat (length cols))
Evaluate.v  if deqb x (whole k) then -> if true then
Evaluate.v  forallb (fun y => (0 <=? y) && (y <? labels net))%Z ys -> true
"""
# What a careless reader of section 3 might write: a mean over all columns, relu of the residual,
# one of several largest scores.
SLIPS = """
Evaluate.v  mix D WV WO cols own -> mix D WV WO cols (seq 0 (length cols))
Evaluate.v  => residual W2 (map drelu (affine W1 h)) h -> => map drelu (residual W2 (affine W1 h) h)
Evaluate.v  (largest (length cols) (scores D a h cols)) -> (firstn 1 (largest (length cols) (scores D a h cols)))
"""  # noqa: E501


def mutants(table: str) -> list[tuple[str, ...]]:
    rows = (line.split(maxsplit=1) for line in table.strip().splitlines())
    return [(file, *change.split(" -> ")) for file, change in rows]


def mutated(place: Path, file: str, old: str, new: str) -> None:
    """The sources with this change."""
    for path in build.sources():
        shutil.copy(path, place)
    text = (place / file).read_text()
    assert text.count(old) == 1
    (place / file).write_text(text.replace(old, new))


def coqc(place: Path, *names: str) -> bool:
    command = ["coqc", "-q", "-R", ".", "Byheart"]
    done = (subprocess.run([*command, f"{x}.v"], cwd=place, capture_output=True) for x in names)
    return all(ran.returncode == 0 for ran in done)


@pytest.mark.slow
@pytest.mark.parametrize("file, old, new", mutants(PROGRAM_MUTANTS))
def test_a_bug_in_the_program_breaks_the_proofs(tmp_path, file, old, new):
    mutated(tmp_path, file, old, new)
    assert coqc(tmp_path, "Spec")
    assert not coqc(tmp_path, "Dyadic", "Evaluate", "Sound")


@pytest.mark.slow
@pytest.mark.parametrize("file, old, new", mutants(SLIPS))
def test_an_example_notices_another_specification(tmp_path, monkeypatch, file, old, new, capsys):
    """A program with this slip, proved or not: one of the good examples gets other answers."""
    mutated(tmp_path, file, old, new)
    assert coqc(tmp_path, "Spec", "Dyadic", "Evaluate", "Extract")
    (tmp_path / "core.mli").unlink()
    compiler = "ocamlfind ocamlopt -w -a -package zarith -linkpkg core.ml driver.ml -o mutant"
    subprocess.run(compiler.split(), cwd=tmp_path, check=True, capture_output=True)
    monkeypatch.setattr(verified_check, "PROGRAM", tmp_path / "mutant")
    assert 1 in [verdict(folder) for folder in NETWORKS]
