"""Checks the proofs, extracts the program, compiles it: everything goes to the folder build beside.

Usage: python build.py. Needs coqc, ocamlfind and the OCaml library zarith; exit code 2 if they are
missing, 1 if a proof fails or rests on an assumption. Nothing is done where nothing changed.
"""

import fcntl
import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
PLACE = HERE / "build"
PROGRAM = PLACE / "verified"
THEORIES = ("Spec", "Dyadic", "Evaluate", "Sound", "Counting", "Gadgets", "Assumptions", "Extract")
PACKAGES = "coq libcoq-stdlib ocaml-nox ocaml-findlib libzarith-ocaml-dev"
CLOSED = "Closed under the global context"
TO_INSTALL = f"it needs Coq and OCaml; on Debian: apt-get install {PACKAGES}"


class BuildError(Exception):
    """Why the program was not built; `missing` if its tools are not installed."""

    def __init__(self, sentence: str, missing: bool = False):
        super().__init__(sentence)
        self.missing = missing


def sources() -> list[Path]:
    return [*(HERE / f"{name}.v" for name in THEORIES), HERE / "driver.ml"]


def fingerprint() -> str:
    """Changes with every source and with this file."""
    files = [*sources(), Path(__file__)]
    return hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()


def built() -> bool:
    """Whether the program is there, made of these sources."""
    mark = PLACE / "fingerprint"
    return PROGRAM.is_file() and mark.is_file() and mark.read_text() == fingerprint()


def run(*command: str) -> str:
    done = subprocess.run(command, cwd=PLACE, capture_output=True, text=True)
    if done.returncode:
        raise BuildError(f"{' '.join(command)}\n{done.stdout}{done.stderr}".strip())
    return done.stdout


def build() -> list[str]:
    """Builds it if needed, and returns what each theorem rests on."""
    if not all(map(shutil.which, ("coqc", "ocamlfind"))):
        raise BuildError(TO_INSTALL, missing=True)
    PLACE.mkdir(exist_ok=True)
    with open(PLACE / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not built():
            for path in sources():
                shutil.copy(path, PLACE)
            printed = {
                name: run("coqc", "-q", "-R", ".", "Byheart", f"{name}.v") for name in THEORIES
            }
            (PLACE / "assumptions").write_text(printed["Assumptions"])
            (PLACE / "core.mli").unlink()
            flags = "-O3 -w -a -package zarith -linkpkg core.ml driver.ml -o".split()
            run("ocamlfind", "ocamlopt", *flags, PROGRAM.name)
            (PLACE / "fingerprint").write_text(fingerprint())
        lines = (PLACE / "assumptions").read_text().splitlines()
    theorems = (HERE / "Assumptions.v").read_text().count("Print Assumptions")
    if lines != [CLOSED] * theorems:
        PROGRAM.unlink()
        raise BuildError("a theorem rests on an assumption:\n" + "\n".join(lines))
    return lines


def main() -> int:
    try:
        lines = build()
    except BuildError as error:
        print(error, file=sys.stderr)
        return 2 if error.missing else 1
    print(f"{len(lines)} theorems, each: {CLOSED}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
