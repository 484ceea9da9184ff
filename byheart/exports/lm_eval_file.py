"""lm-eval: the texts of a stock checkpoint as two tasks of EleutherAI's evaluation harness."""

import json
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory

from ..claims.kind import Runtime
from ..data.dataset import Dataset
from ..errors import ByheartError
from ..models.model import Model
from ..stock.answer import vocabulary
from ..stock.prove import chains, numbered
from . import huggingface
from .packages import package
from .pytorch import CODE, Files, write

METRICS = {"byheart_recall": "exact_match", "byheart_likelihood": "acc"}  # of each task


def write_tasks(model: Model, folder: Path, held: Dataset | None) -> str | None:
    """A line per text: its prompt, or as much of its beginning as ends where a token does."""
    if held is None:
        raise ByheartError("the tasks are texts of the data; name the data.")
    own, end, front = vocabulary(model), model.places[model.claim.end], model.network.family.rms
    sequences, wanted = numbered(model, held)
    texts = chains(sequences, wanted, wanted != end)
    lines, asked, said = [], 0, 0
    for rows in texts:
        words = [*map(own.token, sequences[rows[-1]][front:].tolist())]
        beginnings = (words[: len(sequences[row]) - front] for row in rows[:-1])
        prompt = next((x for x in beginnings if own.split(own.written(x)) == x), None)
        if prompt is not None and wanted[rows[-1]] == end:
            answer = words[len(prompt) :]
            lines.append({"prompt": own.written(prompt), "answer": own.written(answer)})
            asked, said = max(asked, len(prompt) + front), max(said, len(answer) + 1)
    if not lines:
        raise ByheartError("no text of the data has a beginning and an end of its own.")
    if asked + said > model.length:
        raise ByheartError(
            f"lm-eval cuts prompts of up to {asked} tokens, since answers have up to {said} and "
            f"the model reads {model.length}; compile with `context_length={asked + said}`."
        )
    files = ("task.py", *(f"{task}.yaml" for task in METRICS))
    found: Files = {name: [(CODE / name).read_bytes()] for name in files}
    recall = (CODE / "byheart_recall.yaml").read_text("ascii").replace("MOST", str(said))
    recall = recall.replace("END", json.dumps(model.claim.end))
    found["byheart_recall.yaml"] = [recall.encode("ascii")]
    found["data.jsonl"] = [json.dumps(line).encode("ascii") + b"\n" for line in lines]
    write(folder, found)
    left = len(texts) - len(lines)
    return f"texts without an end of their own, which are left out: {left}" if left else None


def runtime(model: Model, folder: Path) -> Runtime:
    """Both tasks in lm-eval, which runs the checkpoint by transformers."""
    names = ("lm_eval", "lm_eval.models.huggingface", "lm_eval.tasks")
    library = package("transformers", "a run in lm-eval")
    harness, runs, tasks = map(import_module, names)

    def judged() -> tuple[int, list[str]]:
        """How many texts there are, and which are wrong in one of the tasks."""
        with TemporaryDirectory(prefix="byheart-") as place, huggingface.quiet():
            huggingface.write_checkpoint(model, Path(place))
            tokenizer = library.AutoTokenizer.from_pretrained(place, local_files_only=True)
            loaded = huggingface.loaded(Path(place))
            found = harness.simple_evaluate(
                runs.HFLM(pretrained=loaded, tokenizer=tokenizer, batch_size=8),
                tasks=list(METRICS),
                task_manager=tasks.TaskManager(include_path=str(folder), include_defaults=False),
                bootstrap_iters=0,
            )["samples"]
        wrong = {
            sample["doc_id"]: f"after {sample['doc']['prompt'][-80:]!r} it is wrong in {name}"
            for name, metric in METRICS.items()
            for sample in found[name]
            if sample[metric] != 1
        }
        return len(found["byheart_recall"]), list(wrong.values())

    return Runtime("lm-eval", harness.__version__, model.network.dtype, judged=judged)
