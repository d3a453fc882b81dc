"""
Configure the site: ``sphinx-build -W --keep-going -n docs docs/_build``.

The build fetches nothing, so references to NumPy's documentation are plain links.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "extensions"))

import mxnp

project = "mxnp"
author = "the authors of mxnp"
version = release = mxnp.mxnp_version
copyright = author

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "numpydoc",
    "coverage_tables",
    "repository_links",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build", "examples"]

myst_enable_extensions = ["attrs_inline", "colon_fence"]
myst_heading_anchors = 4

numpydoc_show_class_members = False
autosummary_generate = False
autodoc_typehints = "none"  # numpydoc shows types under Parameters.
autodoc_default_options = {"member-order": "bysource"}
default_role = "code"

# `See Also` and `Raises` sections turn names into references. These names have no page.
nitpick_ignore_regex = [
    (r"py:.*", r"numpy\..*"),
    (r"py:.*", r"(array_api_extra|warnings)\b.*"),
    (r"py:exc", r"(Index|Memory|Runtime|Type|Value)Error"),
]

html_theme = "pydata_sphinx_theme"
html_title = "mxnp"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme_options = {
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "use_edit_page_button": False,
    "navbar_align": "left",
    "header_links_before_dropdown": 8,
    "footer_start": [],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
# Wide tables, and pages that have no others below them.
NO_SIDEBAR = (
    "benchmarks-ratios",
    "benchmarks-ratios-large",
    "peers",
    "quickstart",
    "is-it-for-me",
)
html_sidebars = {page: [] for page in NO_SIDEBAR}
html_search_scorer = str(Path(__file__).parent / "extensions/search_scorer.js")
html_show_sourcelink = False
html_copy_source = False
pygments_style = "default"
