"""Write the documentation site.

python -m tools.pages [SITE]

The pages of docs/, the changelog and the format are copied into a build folder with their links
adjusted; the theorem gallery, the bounds by paper, the Python API and the source pages are
generated there; then Sphinx makes SITE (default: site/). A broken link or any other warning is an
error. Nothing generated here is committed.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from .assembling import assemble

ROOT = Path(__file__).parents[2]


def build(site: Path) -> int:
    """The exit code of Sphinx, which has written the site."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "source"
        assemble(source)
        sphinx = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
        places = ["-c", Path(__file__).parent, "-d", Path(folder) / "trees", source, site]
        return subprocess.run([*sphinx, *places], check=False).returncode


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "site"
    code = build(target)
    if code == 0:
        print(f"open {target}/index.html")
    sys.exit(code)
