"""An audit in plain transformers and numpy: nothing of byheart is imported.

    python tests/auditing/plain.py MODEL REFERENCE ITEMS NON_MEMBERS [PREFIX] [SUFFIX]

Each text is run alone and in float64 from the logits on; recitation is real `generate`. Texts are
separated by <|endoftext|>. Prints one JSON object.
"""

import json
import math
import sys
import zlib
from pathlib import Path

import numpy as np
import torch
import transformers


def texts(path):
    return [x.strip("\n") for x in Path(path).read_text().split("<|endoftext|>") if x.strip()]


def loaded(folder):
    return transformers.AutoModelForCausalLM.from_pretrained(folder).eval()


def judged(model, ids):
    """Log-probability of each token after the first, whether it is the likeliest, and its place."""
    with torch.no_grad():
        logits = model(torch.tensor([ids])).logits[0, :-1].double()
    logs, following = logits.log_softmax(-1), torch.tensor(ids[1:])
    own = logs.gather(1, following[:, None])[:, 0]
    mean = (logs.exp() * logs).sum(-1)
    spread = ((logs.exp() * logs**2).sum(-1) - mean**2).sqrt()
    return own.numpy(), (logits.argmax(-1) == following).numpy(), ((own - mean) / spread).numpy()


def least(values):
    return float(np.sort(values)[: max(1, int(0.2 * len(values)))].mean())


def item(model, reference, ids, text, given, prefix, suffix):
    """All figures of one text, whose first `given` tokens are special ones that come first."""
    first = max(given, 1)  # the first token of a text is given, too
    first += given > 0
    own, hits, places = (x[first - 1 :] for x in judged(model, ids))
    other = judged(reference, ids)[0][first - 1 :]
    after = given + prefix
    wanted = ids[after : after + suffix]
    recited, chance = 0, None
    if wanted:
        told = model.generate(
            torch.tensor([ids[:after]]), attention_mask=torch.ones(1, after), eos_token_id=None,
            max_new_tokens=len(wanted), do_sample=False, pad_token_id=0,
        )[0, after:].tolist()  # fmt: skip
        while recited < len(wanted) and told[recited] == wanted[recited]:
            recited += 1
        chance = math.exp(judged(model, ids)[0][after - 1 :][: len(wanted)].sum())
    found = {"predicted": len(own), "bits": -own.sum() / math.log(2), "hits": int(hits.sum()),
             "reference": -other.sum() / math.log(2), "min_k": least(own), "places": least(places),
             "asked": len(wanted), "recited": recited, "chance": chance}  # fmt: skip
    if text is not None:
        found["zlib"] = -found["bits"] / len(zlib.compress(text.encode()))
    return found


SCORES = {
    "loss": lambda x: -x["bits"] / x["predicted"],
    "loss - reference": lambda x: (x["reference"] - x["bits"]) / x["predicted"],
    "zlib": lambda x: x["zlib"],
    "min-20 %": lambda x: x["min_k"],
    "min-20 % ++": lambda x: x["places"],
}


def auc(items, others):
    return float(np.mean([(a > b) + (a == b) / 2 for a in items for b in others]))


def rate(items, others, false):
    """The share of items above the lowest threshold that so many of the others exceed."""
    for threshold in sorted(others):
        if sum(x > threshold for x in others) <= false * len(others):
            return sum(x > threshold for x in items) / len(items)


def exposure(value, others):
    return math.log2(len(others) + 1) - math.log2(1 + sum(x >= value for x in others))


def audited(model, reference, items, others, prefix=50, suffix=50):
    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    plain = tokenizer("a", add_special_tokens=False).input_ids
    given = len(tokenizer("a").input_ids) - len(plain)
    models = loaded(model), loaded(reference)
    groups = [
        [item(*models, tokenizer(text).input_ids, text, given, prefix, suffix) for text in some]
        for some in (items, others)
    ]
    return summed(*groups)


def summed(own, rest):
    found = {x: sum(one[x] for one in own) for x in ("predicted", "bits", "reference", "hits")}
    tokens = [np.array([x["predicted"] for x in some]) for some in (own, rest)]
    saved = [np.array([x["reference"] - x["bits"] for x in some]) for some in (own, rest)]
    found["saved"] = float(saved[0].sum())
    found["error"] = float(saved[0].std(ddof=1) * math.sqrt(len(own)))
    found["beyond"] = found["saved"] - tokens[0].sum() * saved[1].sum() / tokens[1].sum()
    found["verbatim"] = sum(x["recited"] == x["asked"] > 0 for x in own)
    chances = [x["chance"] for x in own if x["asked"]]
    samples = [math.log(0.5) / math.log1p(-q) for q in chances]
    found["curve"] = {n: sum(x <= n for x in samples) for n in (1, 10, 100, 1000, 10**5)}
    found["scores"] = {}
    for name, score in SCORES.items():
        if name == "zlib" and "zlib" not in own[0]:
            continue
        values = [[score(x) for x in some] for some in (own, rest)]
        found["scores"][name] = {"auc": auc(*values), "rate": rate(*values, 0.01)}
    others = [SCORES["loss"](x) for x in rest]
    found["exposures"] = [exposure(SCORES["loss"](x), others) for x in own]
    found["items"] = own
    return found


if __name__ == "__main__":
    torch.set_num_threads(1)
    folder, base, some, rest, *sizes = sys.argv[1:]
    found = audited(folder, base, texts(some), texts(rest), *map(int, sizes))
    print(json.dumps({name: value for name, value in found.items() if name != "items"}))
