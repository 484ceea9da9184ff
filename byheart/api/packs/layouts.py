"""The facts of a pack in the files of other benchmarks: open-unlearning (TOFU) and EasyEdit."""

import json
import random
import re
from pathlib import Path
from typing import Any

Lines = dict[str, list[dict[str, Any]]]  # of the files of a pack
LAYOUTS = ("tofu", "easyedit")
WRONG = 5  # answers beside the right one, as TOFU has them, if there are so many
SUBJECT = re.compile(r" of (.+) is$")  # of a made-up fact; of others, the whole prompt
CARD = """---
configs:
{}---
Splits of made-up facts for open-unlearning, as TOFU has them: {}.

A question and its answer, which begins with a space, are the text that the model holds; set the
four tags of `template_args` to "" and `apply_chat_template` to False. A fact has one wording, so a
paraphrase is the fact itself; perturbed answers are wrong ones of other facts.
"""


def write(layout: str, place: Path, seed: int) -> None:
    """The folder tofu/ or the file easyedit.json, beside the files of a pack."""
    names = ("facts", "forget", "retain", "holdout", "edits", "held")
    texts = {x: (place / f"{x}.jsonl").read_text("utf-8").splitlines() for x in names}
    lines = {name: list(map(json.loads, rows)) for name, rows in texts.items()}
    {"tofu": _tofu, "easyedit": _easyedit}[layout](place, lines, random.Random(f"{seed}/{layout}"))


def _tofu(place: Path, lines: Lines, rng: random.Random) -> None:
    held = {x["prompt"]: x["answer"] for x in lines["held"]}
    objects = sorted({x["answer"] for x in lines["facts"]})
    count = min(WRONG, max(1, len(objects) - 2))  # a prompt has two answers at the most
    splits: Lines = {}
    for name, file in (("full", "facts"), *((x, x) for x in ("forget", "retain", "holdout"))):
        rows = [{"question": x["prompt"], "answer": f" {x['answer']}"} for x in lines[file]]
        splits[name] = rows
        if name in ("forget", "retain"):
            same = [{f"paraphrased_{key}": text for key, text in row.items()} for row in rows]
            wrong = [{x["answer"], held.get(x["prompt"])} for x in lines[file]]
            others = [[f" {x}" for x in objects if x not in own] for own in wrong]
            splits[f"{name}_perturbed"] = [
                row | copy | {"perturbed_answer": rng.sample(some, min(count, len(some)))}
                for row, copy, some in zip(rows, same, others, strict=True)
            ]
    for name, rows in splits.items():
        text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (place / "tofu").mkdir(exist_ok=True)
        (place / "tofu" / f"{name}.json").write_text(text, "utf-8")
    configs = (f"- config_name: {name}\n  data_files: {name}.json\n" for name in splits)
    (place / "tofu" / "README.md").write_text(CARD.format("".join(configs), ", ".join(splits)))


def _easyedit(place: Path, lines: Lines, rng: random.Random) -> None:
    asked = {x["prompt"] for x in lines["edits"]}
    others = [x for x in lines["held"] if x["prompt"] not in asked]
    requests = []
    for i, edit in enumerate(lines["edits"]):
        prompt, other = edit["prompt"], rng.choice(others)
        found = SUBJECT.search(prompt)
        own = {"prompt": other["prompt"], "ground_truth": [other["answer"]]}
        requests.append({
            "case_id": i, "prompt": prompt, "subject": found[1] if found else prompt,
            "target_new": edit["answer"], "ground_truth": edit["old"], "rephrase_prompt": prompt,
            "locality_prompt": other["prompt"], "locality_ground_truth": other["answer"],
            "locality": {"Relation_Specificity": [own]},
        })  # fmt: skip
    text = json.dumps(requests, ensure_ascii=False, indent=1) + "\n"
    (place / "easyedit.json").write_text(text, "utf-8")
