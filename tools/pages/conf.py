"""Sphinx's settings. `python -m tools.pages` runs it with -W: a warning is an error."""

import byheart

project = "byheart"
release = byheart.__version__
extensions = ["myst_parser"]
myst_heading_anchors = 4
myst_enable_extensions = ["attrs_inline"]  # widths of small pictures
highlight_language = "none"
smartquotes = False  # what stands in quotes is often code

html_theme = "furo"
html_title = f"byheart {release}"
html_static_path = ["static"]
html_css_files = ["style.css"]
html_favicon = "static/favicon.svg"
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_show_search_summary = False  # summaries are fetched, which a page from a file may not do
