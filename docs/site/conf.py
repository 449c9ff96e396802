"""How Sphinx makes the site; `scripts/build_site.py` brings its sources together and runs it."""

import importlib
import json
import re
from pathlib import Path

import carmina
import sphinx.util.inspect
from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]

project = "Carmina"
author = "The Carmina authors"
copyright = "The Carmina authors, BSD 3-Clause"
version = release = carmina.__version__

extensions = [
    "breathe",
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
root_doc = "index"
exclude_patterns = []
templates_path = [str(Path(__file__).parent / "templates")]
nitpicky = False
default_role = "code"  # docstrings have Markdown's single backticks

myst_heading_anchors = 4  # as GitHub makes them
myst_enable_extensions = ["smartquotes"]
suppress_warnings = [
    "myst.xref_ambiguous",
    "config.cache",  # functions among the values here
    "duplicate_declaration.cpp",  # a namespace, which each header opens again
]

autosummary_generate = True
autodoc_typehints = "none"  # types stand beside the parameters already
autodoc_member_order = "bysource"
autodoc_inherit_docstrings = True
napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True

breathe_projects = {"carmina": str(ROOT / "build" / "doxygen" / "xml")}
breathe_default_project = "carmina"
cpp_id_attributes = []

# What most people ask first.
ORDER = (
    "table_to_model",
    "intervals",
    "missing_targets",
    "robust",
    "quantiles",
    "label_sets",
    "vector_field",
    "moving_field",
    "forecast",
    "related_outputs",
    "posterior_functions",
    "larger_than_memory",
    "several_machines",
    "own_kernel",
    "onnx_engine",
    "cpp_service",
)


def gallery_order(name: str) -> tuple[int, str]:
    stem = Path(name).stem
    return ORDER.index(stem) if stem in ORDER else len(ORDER), stem


sphinx_gallery_conf = {
    "examples_dirs": [str(ROOT / "examples")],
    "gallery_dirs": ["examples"],
    "filename_pattern": r"\.py$",
    "ignore_pattern": r"demo\.py$",
    "within_subsection_order": gallery_order,
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "remove_config_comments": True,
    "copyfile_regex": r"^$",
}

html_theme = "pydata_sphinx_theme"
html_context = {"versions": json.loads((Path(__file__).parent / "versions.json").read_text())}
html_title = "Carmina"
html_static_path = ["static", *map(str, (ROOT / "build" / "playground").glob("*.html"))]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "Carmina"},
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "navbar_end": ["versions", "theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_toc_level": 2,
    "show_prev_next": False,
}
copybutton_exclude = ".linenos, .gp, .go"


def escaped(line: str) -> str:
    """Bars, and names that end in `_`, are text outside backticks, as in Markdown."""
    if line.lstrip().startswith((">>>", "...")):
        return line
    parts = line.split("`")
    parts[::2] = [re.sub(r"(?<=\w)_(?!\w)|\|", r"\\\g<0>", part) for part in parts[::2]]
    return "`".join(parts)


def before_napoleon(
    app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]
) -> None:
    """scikit-learn's docstrings point into its own pages."""
    text = re.sub(
        r":(?:ref|term|doc|class|func|meth|mod):`([^`<]*?)\s*(?:<[^>`]*>)?`", r"\1", "\n".join(lines)
    )
    text = re.sub(r"^\.\. version(?:added|changed|deprecated)::.*\n?", "", text, flags=re.MULTILINE)
    lines[:] = [escaped(line) for line in text.split("\n")]


def after_napoleon(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Types are words, "array of shape (n, d)", and none of these is a name to link to."""
    lines[:] = [re.sub(r"^(:(?:type|vartype) [^:]+:) ([^`*]+)$", r"\1 *\2*", line) for line in lines]


def constructor(name: str) -> str:
    """The parameters of a compiled class, from the docstring of its constructor; else nothing."""
    module, _, member = name.rpartition(".")
    text = getattr(importlib.import_module(module), member).__init__.__doc__ or ""
    if not text.startswith("__init__(self"):
        return ""
    signature = re.sub(r"^__init__\(self(?:, )?", "(", text.split("\n")[0].rsplit(" -> ", 1)[0])
    return re.sub(r"\b(?:collections\.abc|numpy\.typing|carmina\._core)\.", "", signature)


autosummary_context = {"constructor": constructor}

# Static functions of compiled classes are functions, whatever their type says.
is_routine = sphinx.util.inspect.isroutine
sphinx.util.inspect.isroutine = lambda obj: type(obj).__name__ == "nb_func" or is_routine(obj)


def setup(app: Sphinx) -> None:
    app.connect("autodoc-process-docstring", before_napoleon, priority=400)
    app.connect("autodoc-process-docstring", after_napoleon, priority=600)
