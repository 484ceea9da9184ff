"""What benchmarks/training.py found, as tables, and which of its goals were missed."""

AGREEMENT = 1e-4  # how far apart losses may be, relatively


def line(group: str, row: dict) -> str:
    facts = ("rows", "neurons", "heads", "width", "layers")
    sizes = ", ".join(f"{name} {row[name]}" for name in facts if name in row)
    return (
        f"| {group} | {sizes} | {row['contexts']:,} | {row['plain']:.2f} | {row['ours']:.2f} "
        f"| {row['ratio']:.1f} | {row['difference']:.0e} |"
    )


def markdown(results: list[dict], grown: list[dict]) -> str:
    lines = [
        "| group | cell | contexts | plain PyTorch, ms | ours, ms | ratio | losses differ by |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for group in results:
        lines += [line(group["group"], row) for row in group["cells"]]
        goal = f" (goal {group['goal']:g})" if group["goal"] else ""
        lines.append(
            f"| **{group['group']}** | sum | | {group['plain']:.1f} | {group['ours']:.1f} "
            f"| **{group['ratio']:.1f}**{goal} | {group['difference']:.0e} |"
        )
    lines += ["", *grown_lines(grown)] if grown else []
    return "\n".join(lines)


def grown_lines(table: list[dict]) -> list[str]:
    return [
        "| stories | contexts | plain, ms | ours, ms | ratio | plain, MB | ours, MB |",
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        *(
            f"| {row['rows']:,} | {row['contexts']:,} | {row['plain']:.2f} | {row['ours']:.2f} "
            f"| {row['ratio']:.1f} | {row['plain_megabytes']:.1f} | {row['ours_megabytes']:.1f} |"
            for row in table
        ),
    ]


def missed(results: list[dict], quick: bool) -> list[str]:
    """Limits that do not hold; those of sums are for all cells."""
    found = [
        f"{group['group']}: x{group['ratio']:.2f} instead of x{group['goal']:g}"
        for group in results
        if group["goal"] and group["ratio"] < group["goal"] and not quick
    ]
    apart = [group for group in results if group["difference"] > AGREEMENT]
    return found + [f"{one['group']}: losses differ by {one['difference']:.1e}" for one in apart]
