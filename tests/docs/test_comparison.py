"""The predicted sizes of docs/comparison.md are still those of the methods."""

from benchmarks import comparison, report


def test_sizes_are_still_those_of_the_page():
    """What is predicted exactly, at N = 100."""
    for step in (x for x in report.recorded("comparison") if x["count"] == 100):
        sizes = comparison.predicted(comparison.data(step["kind"], 100, step["labels"]))
        for row in step["rows"]:
            if row["method"] in ("hash-fold-retrieve", "embedding", "attention-neurons"):
                continue  # a search decides their sizes
            name = comparison.named(row["method"], row["form"])
            assert sizes[name].get("nonzero") == row.get("nonzero"), row
