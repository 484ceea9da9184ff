"""Score two naive methods against exact forgetting, on the pack of `byheart generate unlearning`.

    byheart generate unlearning -o pack
    python examples/score_unlearning.py pack

zero      the parameters that each fact to forget reads (answers.jsonl) are set to 0
relabel   without gradients: bits of single numbers in the last table or fold are tried, fact by
          fact, and a change is kept if the fact gets another answer and fewest others do
exact     `byheart forget`

A method is asked all facts. Forgotten: how many facts to forget no longer get their answer. Kept:
how many of the others still do. Byte-identical: whether the weights are those of the model that
never saw the facts, which is the only evidence that nothing of them is left. Exact forgetting does
not promise that a forgotten prompt gets a wrong answer: by chance it may be right.
"""

import json
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import byheart
from byheart.claims.location import Place
from byheart.exact.locate import with_value


def zeroed(model, facts):
    """Every parameter that a fact to forget reads becomes 0."""
    network = model.network
    places = {
        Place(*place) for fact in facts if fact["split"] == "forget" for place in fact["read"]
    }
    for place in sorted(places):
        network = with_value(network, place, Fraction(0))
    return replace(model, network=network)


def relabelled(model, facts):
    """One number of the last stage that a fact reads is moved by one of the fact's bits."""
    prompts = [fact["input"] for fact in facts]
    for fact in (fact for fact in facts if fact["split"] == "forget"):
        before, best = answers(model, prompts), None
        place = Place(*max(fact["read"]))
        now = model.network.layers[place.layer].tensors[place.tensor][place.row, place.column]
        for bit in (*fact["bits"], max(fact["bits"]) + 1):
            changed = replace(
                model, network=with_value(model.network, place, now + Fraction(2) ** bit)
            )
            after = answers(changed, prompts)
            if after[prompts.index(fact["input"])] == fact["label"]:
                continue
            harm = sum(a != b for a, b in zip(before, after, strict=True))
            if best is None or harm < best[0]:
                best = harm, changed
        model = best[1] if best else model
    return model


def answers(model, prompts):
    return [answer.label for answer in model.answers(prompts)]


def main(folder):
    pack = Path(folder)
    facts = [json.loads(line) for line in (pack / "answers.jsonl").read_text().splitlines()]
    full, retained = byheart.open(pack / "full"), byheart.open(pack / "retained")
    exact = byheart.open(pack / "forgotten")
    print("| method | forgotten | kept | byte-identical to the retained model |")
    print("| --- | ---: | ---: | --- |")
    for name, model in (
        ("none (the full model)", full),
        ("zero", zeroed(full, facts)),
        ("relabel", relabelled(full, facts)),
        ("exact", exact),
    ):
        found = answers(model, [fact["input"] for fact in facts])
        right = [label == fact["label"] for label, fact in zip(found, facts, strict=True)]
        gone = [fact["split"] == "forget" for fact in facts]
        forgotten = sum(x and not y for x, y in zip(gone, right, strict=True))
        kept = sum(y and not x for x, y in zip(gone, right, strict=True))
        same = "yes" if model.network == retained.network else "no"
        many = f"{forgotten} of {sum(gone)} | {kept} of {len(gone) - sum(gone)}"
        print(f"| {name} | {many} | {same} |")


if __name__ == "__main__":
    main(*sys.argv[1:])
