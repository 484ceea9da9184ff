"""Rows such as training writes, with numbers that are made up: for tests of drawing only."""

from byheart.architectures import architecture
from byheart.lab.protocol import protocol
from byheart.lab.trial import Criterion, Trial

ENTROPY = 200.0


def row(stories, neurons, gap, *, name="fast", seed=0, contexts=None, words=None):
    """A trial that ended so many nats above the entropy; None: it blew up."""
    how = protocol("madden2024", name)
    data = {"sha256": "0" * 64, "sequences": 9 * stories}
    trial = Trial("madden2024", {"neurons": neurons}, data, how, Criterion("gap", 0.01), seed)
    reached = gap is not None and gap <= 0.01 * ENTROPY
    words = words or 100 + stories // 2
    sizes = {"vocabulary": words, "neurons": neurons, "attention_biases": True}
    return {
        "key": trial.key,
        "trial": trial.json(),
        "parameters": architecture("madden2024", sizes).parameters,
        "contexts": contexts or 3 * stories,
        "vocabulary": words,
        "outputs": words,
        "predictions": 9 * stories,
        "entropy": ENTROPY,
        "loss": None if gap is None else ENTROPY + gap,
        "accuracy": 0.5,
        "best_accuracy": 0.5,
        "reached": reached,
        "steps": 0,
        "attempts": [{"planned": each.steps, "steps": each.steps} for each in how.attempts],
        "curve": [],
        "seconds": 1.0,
    }
