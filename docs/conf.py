"""Configuration of Sphinx: ``.ci/docs``, or ``sphinx-build -W docs OUT``, builds the pages."""

import runpy
from importlib.metadata import version as version_of
from pathlib import Path

project = "mesa-memory"
author = "the mesa-memory contributors"
copyright = f"2026, {author}"
release = version = version_of("mesa-memory")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["_build", "skill"]

# A page includes the table, so that it is what the tests say.
_docs = Path(__file__).parent
(_docs / "_build").mkdir(exist_ok=True)
_table = runpy.run_path(str(_docs / "guarantees.py"))["table"]()
(_docs / "_build" / "guarantees.md").write_text(_table, encoding="utf-8")

# The star at the end of the index takes pages that stand nowhere else, if there are any.
suppress_warnings = ["toc.empty_glob"]

# Every heading can be linked to; the link check of Sphinx is then that of the pages.
myst_heading_anchors = 4
myst_enable_extensions = ["deflist", "colon_fence"]

autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented_params"
autodoc_default_options = {"members": True, "show-inheritance": True}
napoleon_use_ivar = True
add_module_names = False

html_theme = "pydata_sphinx_theme"
html_title = "mesa-memory"
html_static_path = []
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": True,
    "header_links_before_dropdown": 7,
    "secondary_sidebar_items": ["page-toc"],
}
html_show_sphinx = False
