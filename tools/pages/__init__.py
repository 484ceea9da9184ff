"""The documentation site: `python -m tools.pages` (make docs) writes it to site/."""
