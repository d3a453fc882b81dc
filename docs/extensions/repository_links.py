"""
Adapt links to files of the repository, which the site does not contain.

Links to files and folders work where the repository is browsed. On the site, such a
link is replaced by its text and the path. A link to a file that does not exist is not
changed, and Sphinx warns about it.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform

ROOT = Path(__file__).parents[2]
# Files that pages of the site include.
PAGES = {
    "README.md": "quickstart",
    "CONTRIBUTING.md": "contributing",
    "CHANGELOG.md": "changes",
    "tests/suites/numpy/README.md": "numpy-suite",
    "array_api_tests/README.md": "array-api-suite",
    "docs/design": "design/index",
}


def _path(target: str, page: Path) -> Path | None:
    """Return the file or folder to which a link of a page points, or None."""
    name = unquote(target.partition("#")[0])
    for folder in (page.parent, ROOT):
        path = (folder / name).resolve()
        if name and path.exists() and path.is_relative_to(ROOT):
            return path
    return None


class RepositoryLinks(SphinxTransform):
    """Replace links to files by their paths, or by links to the pages of the site."""

    default_priority = 5  # It runs before MyST resolves the targets.

    def apply(self) -> None:
        """Change the references of a page."""
        source = Path(self.env.doc2path(self.env.docname))
        site = Path(self.app.srcdir)
        for node in list(self.document.findall(nodes.reference)):
            self._change(node, node.get("refuri", ""), source, site)
        for node in list(self.document.findall(addnodes.pending_xref)):
            target = node.get("reftarget", "")
            if node.get("refdomain") == "doc":  # MyST has found the file.
                if not Path(target).is_absolute():
                    continue  # a page of the site
                target += f".md#{node.get('reftargetid') or ''}"
            self._change(node, target, source, site)
        for node in list(self.document.findall(addnodes.download_reference)):
            self._change(node, node.get("reftarget", ""), source, site)

    def _change(
        self, node: nodes.Element, target: str, source: Path, site: Path
    ) -> None:
        if "://" in target or target.startswith("#"):
            return
        path = _path(target, source)
        if path is None:
            return
        inside = path.relative_to(ROOT).as_posix()
        page = PAGES.get(inside)
        if (
            path.suffix == ".md"
            and path.is_relative_to(site)
            and "examples" not in inside
        ):
            page = path.relative_to(site).with_suffix("").as_posix()
        if page is None:
            text = node.astext()
            inline = nodes.inline("", "", *node.children)
            if text.strip("`") not in inside and inside not in text:
                inline += [nodes.Text(" ("), nodes.literal("", inside), nodes.Text(")")]
            node.replace_self(inline)
            return
        link = addnodes.pending_xref(
            "", *node.children, refdomain="doc", reftype="myst", reftarget=page,
            reftargetid=target.partition("#")[2] or None, refexplicit=True,
            refdoc=self.env.docname, refwarn=True,
        )  # fmt: skip
        node.replace_self(link)


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the transform."""
    app.add_transform(RepositoryLinks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
