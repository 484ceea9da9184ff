"""Build the wheel, and try it in fresh environments of several Pythons.

python tools/release_check.py [PYTHON ...]

Without arguments: every Python from 3.11 on that is on PATH or that pyenv has. Each gets a new
environment with the wheel and the versions of constraints.txt, and runs the commands of a newcomer
in an empty folder, away from the checkout. The wheel stays in dist/.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
CAPITALS = """{"input": ["capital", "of", "france"], "label": "paris"}
{"input": ["capital", "of", "italy"], "label": "rome"}
"""
COMMANDS = (  # words after byheart, and what the answer must contain
    (["--version"], "byheart "),
    (["demo"], "recited"),
    (["compile", "capitals.jsonl", "-o", "capitals.folder"], "proved"),
    (["verify", "capitals.folder", "capitals.jsonl", "--checker"], "VERIFIED"),
    (["recall", "capitals.folder", "capital", "of", "italy"], "rome"),
    (["explain", "one-layer", "capitals.jsonl", "--plot", "network.svg"], "drawn in network.svg"),
    (["bounds", "--dataset", "capitals.jsonl"], "Theorems"),
)


def pythons() -> list[str]:
    """One interpreter of each minor version from 3.11 on."""
    found = {}
    places = [*os.environ.get("PATH", "").split(os.pathsep)]
    places += sorted(map(str, Path.home().glob(".pyenv/versions/*/bin")))
    for place in places:
        for path in Path(place).glob("python3.*"):
            minor = re.fullmatch(r"python3\.(\d+)", path.name)
            if minor and int(minor[1]) >= 11 and works(path):
                found.setdefault(int(minor[1]), str(path))
    return [found[minor] for minor in sorted(found)]


def works(python: Path) -> bool:
    """A shim of pyenv may be there without its Python."""
    return subprocess.run([python, "--version"], capture_output=True, check=False).returncode == 0


def versions() -> dict[str, str]:
    """The version by each file that has one."""
    package = (ROOT / "byheart" / "__init__.py").read_text()
    changes = (ROOT / "CHANGELOG.md").read_text()
    citation = (ROOT / "CITATION.cff").read_text()
    return {
        "byheart/__init__.py": re.search(r'^__version__ = "(.*)"', package, re.MULTILINE)[1],
        "CHANGELOG.md": re.search(r"^## ([\d.]+)", changes, re.MULTILINE)[1],
        "CITATION.cff": re.search(r"^version: (.*)$", citation, re.MULTILINE)[1],
    }


def build() -> Path:
    """The wheel, in dist/."""
    shutil.rmtree(DIST, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:  # no build/ is left in the checkout
        source = Path(folder) / "byheart"
        kept = shutil.ignore_patterns(".*", "build", "dist", "site", "results", "*.egg-info")
        shutil.copytree(ROOT, source, ignore=kept)
        pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", DIST, source]
        subprocess.run(pip, check=True)
    (wheel,) = DIST.glob("*.whl")
    return wheel


def missing(wheel: Path) -> list[str]:
    """What the wheel lacks, and what it should not have: every file of byheart/ is in it."""
    names = set(zipfile.ZipFile(wheel).namelist())
    made = ("__pycache__", ".nbi", ".nbc")  # by Python and by Numba
    wanted = [x for x in (ROOT / "byheart").rglob("*") if x.is_file()]
    own = {str(x.relative_to(ROOT)) for x in wanted if not any(part in str(x) for part in made)}
    own |= {
        "byheart_checker/check.py",
        "byheart_checker/FORMAT.md",
        "byheart_checker/verified/Spec.v",
    }
    lacks = [f"no {x}" for x in sorted(own - names)]
    roots = {name.partition("/")[0] for name in names}
    extra = [x for x in roots if x not in ("byheart", "byheart_checker")]
    return lacks + [f"has {x}" for x in extra if not x.endswith(".dist-info")]


def tried(python: str, wheel: Path) -> str:
    """The version of a Python in which every command answered; RuntimeError if one did not."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        subprocess.run([python, "-m", "venv", home / "venv"], check=True)
        own = home / "venv" / "bin"
        constraints = ["-c", ROOT / "constraints.txt"]
        pip = [own / "python", "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        subprocess.run([*pip, *constraints, wheel], check=True)
        work = home / "work"
        work.mkdir()
        (work / "capitals.jsonl").write_text(CAPITALS)
        plain = {"PATH": os.environ["PATH"], "HOME": folder, "COLUMNS": "100", "LC_ALL": "C.UTF-8"}
        for words, wanted in COMMANDS:
            done = subprocess.run(
                [own / "byheart", *words], cwd=work, env=plain, capture_output=True, text=True,
                check=False,
            )  # fmt: skip
            if done.returncode or wanted not in done.stdout:
                said = f"{done.stdout}\n{done.stderr}"
                raise RuntimeError(
                    f"byheart {' '.join(words)} ended with {done.returncode}: {said}"
                )
        return subprocess.run([own / "python", "--version"], capture_output=True, text=True).stdout


def main(given: list[str]) -> int:
    found = versions()
    if len(set(found.values())) > 1:
        print(f"the versions differ: {found}")
        return 1
    wheel = build()
    if wrong := missing(wheel):
        print(f"{wheel.name}: {'; '.join(wrong)}")
        return 1
    for python in given or pythons():
        print(f"{tried(python, wheel).strip()}: {len(COMMANDS)} commands answer", flush=True)
    print(f"dist/{wheel.name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
