"""python -m benchmarks [NAME ...] [--write]: list, run and record benchmarks."""

import argparse
import json
import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from . import report


@dataclass(frozen=True)
class Benchmark:
    """A module of this folder, the pages that show its numbers, and how long it takes."""

    name: str
    pages: tuple[str, ...]
    minutes: float
    title: str

    @property
    def module(self):
        return import_module(f"benchmarks.{self.name}")

    def shown(self, results, page: str) -> str:
        """What a page shows of the results; the README may have a summary."""
        view = getattr(self.module, "summary", None) if page == "README.md" else None
        return report.shown(self.name, (view or self.module.markdown)(results))


TABLE = (
    Benchmark("sizes", ("README.md", "docs/sizes.md"), 3, "parameters and bits by sequences"),
    Benchmark("width", ("docs/sizes.md",), 3, "width against depth"),
    Benchmark("shape", ("docs/sizes.md",), 2, "size by length, labels, coordinates and answers"),
    Benchmark("scale", ("docs/sizes.md",), 5, "time and memory up to ten million sequences"),
    Benchmark("effort", ("docs/sizes.md",), 2, "what --effort high saves"),
    Benchmark("labels", ("docs/sizes.md",), 4, "many labels: bits over entropy"),
    Benchmark("family", ("docs/sizes.md",), 15, "the paper's networks beside ours"),
    Benchmark("comparison", ("docs/comparison.md",), 20, "the systems of other papers"),
    Benchmark("edit", ("docs/edit.md",), 15, "editable networks and the cost of an edit"),
    Benchmark("peers", ("docs/faq.md",), 1, "sqlite, a dict, ribbon, xz and bzip2 beside a model"),
    Benchmark("texts", ("docs/texts.md",), 5, "whole texts beside gzip, zstd and xz"),
    Benchmark("phrases", ("docs/texts.md",), 12, "long texts in phrases, as pieces and packed"),
    Benchmark("distributions", ("docs/next-token.md",), 4, "decoders that store distributions"),
    Benchmark("attention_only", ("docs/attention-only.md",), 2, "transformers without neurons"),
    Benchmark("stock", ("docs/stock.md",), 6, "GPT-2 and Llama checkpoints"),
    Benchmark("stock_int8", ("docs/stock.md",), 3, "facts that survive quantisation"),
    Benchmark("stock_mutations", ("docs/stock.md",), 20, "damaged checkpoints"),
    Benchmark("stock_distributions", ("docs/stock.md",), 2, "several answers per prompt"),
    Benchmark("stock_superposed", ("docs/stock.md",), 6, "more facts than neurons"),
    Benchmark("dense_memories", ("docs/stock.md",), 3, "memories solved and trained"),
    Benchmark("float_model", ("docs/float32.md",), 3, "which libraries round as the model allows"),
    Benchmark("float_storage", ("docs/float32.md",), 2, "which libraries round as float16 allows"),
    Benchmark("vnnlib", ("docs/export.md",), 3, "verifiers of networks beside exact truth"),
    Benchmark("counting", ("docs/statistics.md",), 3, "byheart stats on large corpora"),
    Benchmark("shards", ("docs/statistics.md",), 3, "byheart stats on folders of shards"),
    Benchmark("training", ("docs/measure.md",), 10, "training steps beside plain PyTorch"),
    Benchmark("gpt2", ("docs/measure.md",), 1, "training steps of GPT-2 beside transformers"),
    Benchmark("audit", ("docs/audit.md",), 2, "an audit beside a bare forward pass"),
    Benchmark("packs", ("docs/benchmark.md",), 20, "published methods where the truth is known"),
    Benchmark("teach", ("docs/teach.md",), 25, "facts in trained checkpoints, beside editors"),
    Benchmark("studio", ("docs/studio.md",), 2, "the local page: start, and 100,000 rows"),
)


def run(benchmark: Benchmark, options: report.Options, write: bool, render: bool) -> list[str]:
    """Measure, print and record one benchmark; returns the limits that do not hold."""
    module = benchmark.module
    results = report.recorded(benchmark.name) if render else module.measure(options)
    print(module.markdown(results))
    if write and not render:
        report.record(benchmark.name, results)
        if hasattr(module, "publish"):
            module.publish(results)
    for page in benchmark.pages if write or render else ():
        report.write(report.ROOT / page, benchmark.name, benchmark.shown(results, page))
    return module.missed(results) if hasattr(module, "missed") else []


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="`all` for all of them")
    parser.add_argument("--write", action="store_true", help="write NAME.json and the tables")
    parser.add_argument("--render", action="store_true", help="only tables again, from NAME.json")
    parser.add_argument("--largest", type=int, metavar="N", help="leave out larger sizes")
    parser.add_argument("--data", type=Path, default=report.DATA, help="folder of datasets")
    parser.add_argument("--tiny", action="store_true", help="sizes that take seconds")
    given = parser.parse_args(arguments)
    known = {one.name: one for one in TABLE}
    if unknown := [name for name in given.names if name not in {*known, "all"}]:
        parser.error(f"there is no benchmark {unknown[0]}; known are {', '.join(known)}")
    if given.write and given.tiny:
        parser.error("--tiny measures nothing that a page should show; leave out --write")
    if not given.names:
        rows = [(one.name, " ".join(one.pages), f"{one.minutes:g}", one.title) for one in TABLE]
        for name, pages, minutes, title in [("name", "pages", "minutes", "what"), *rows]:
            print(f"{name:20} {pages:24} {minutes:>7}  {title}")
        return 0
    options = report.Options(given.largest, given.data, given.tiny)
    chosen = TABLE if "all" in given.names else [known[name] for name in given.names]
    missed = {one.name: run(one, options, given.write, given.render) for one in chosen}
    missed = {name: limits for name, limits in missed.items() if limits}
    if missed:
        print(f"limits that do not hold: {json.dumps(missed, indent=1)}", file=sys.stderr)
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
