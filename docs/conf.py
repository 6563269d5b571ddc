"""Sphinx's configuration; `make docs` builds the site into docs/_build/html."""

from __future__ import annotations

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
os.environ.setdefault("SCIPY_ARRAY_API", "1")

from nabla_array import __version__  # noqa: E402

project = "nabla_array"
copyright = "the authors of nabla_array"
version = release = __version__

extensions = [
    "api_pages",
    "myst_nb",
    "sphinx.ext.mathjax",
    "sphinx_copybutton",
    "sphinx_design",
]
exclude_patterns = ["_build", "**.ipynb_checkpoints", "start/tutorial.ipynb"]
templates_path = ["_templates"]

# Every reference must lead somewhere.
nitpicky = True

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 4
nb_execution_mode = "cache"
nb_execution_cache_path = str(HERE / "_build" / "notebooks")
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_merge_streams = True

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True
copybutton_remove_prompts = True

html_theme = "pydata_sphinx_theme"
html_title = "nabla_array"
html_static_path = ["_static"]
html_css_files = ["style.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "nabla_array"},
    "header_links_before_dropdown": 5,
    "navbar_align": "left",
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "secondary_sidebar_items": ["page-toc"],
    "show_prev_next": True,
}
html_sidebars = {"index": [], "*/*": ["sidebar-nav-bs"], "reference/api/*": []}
