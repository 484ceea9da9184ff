"""Write the documentation site.

python -m tools.pages [SITE]

The pages of docs/, the changelog and the format are copied into a build folder with their links
adjusted; the theorem gallery, the bounds by paper, the Python API and the source pages are
generated there; then Sphinx makes SITE (default: site/). A broken link or any other warning is an
error, and leaves an older site as it was. Nothing generated here is committed.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from .assembling import assemble

ROOT = Path(__file__).parents[2]


def build(site: Path) -> int:
    """The exit code of Sphinx; 0 if it has written the site, in the place of an older one."""
    if site.exists() and not (site / "searchindex.js").exists():
        print(f"{site} is there and is not a site; name a new folder.", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        source, made = Path(folder) / "source", Path(folder) / "site"
        assemble(source)
        sphinx = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
        places = ["-c", Path(__file__).parent, "-d", Path(folder) / "trees", source, made]
        code = subprocess.run([*sphinx, *places], check=False).returncode
        if code == 0:
            shutil.rmtree(site, ignore_errors=True)
            shutil.move(made, site)
    return code


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "site"
    code = build(target)
    if code == 0:
        print(f"open {target}/index.html")
    sys.exit(code)
