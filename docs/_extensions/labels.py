r"""Labels of the theory as cross-references.

Every equation with ``\tag{T4.2}`` and every heading that starts with a label or ends in one, such as
``T2 Reconstruction`` or ``What "guaranteed" means (T4.6)``, becomes a target of that name. ``T4.2`` in the
text of any page, docstrings and examples included, becomes a link to it. A label that no page defines is a
warning, and so an error of the build.
"""

import re

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging

LABEL = r"[TNC]\d+(?:\.\d+)?(?:[ab]\b)?'?"
TAG = re.compile(rf"\\tag\{{({LABEL})\}}")
HEADING = re.compile(rf"^({LABEL})\s|\(({LABEL})\)$")
MENTION = re.compile(rf"(?<![\w.])({LABEL})(?![\w.]*\w)")
#: Text that is no prose.
SILENT = (nodes.reference, nodes.literal, nodes.literal_block, nodes.math, nodes.math_block, nodes.title)

logger = logging.getLogger(__name__)


def anchor(label: str) -> str:
    """Fragment of a label in a page."""
    return "eq-" + label.replace("'", "p").replace(".", "-")


def collect(app, doctree) -> None:
    """Name the equations and headings of a page that carry a label."""
    known = app.env.domaindata["std"]["anonlabels"]
    page = app.env.docname
    for block in doctree.findall(nodes.math_block):
        for label in TAG.findall(block.astext()):
            block["ids"].append(anchor(label))
            _register(known, label, page, block)
    for title in doctree.findall(nodes.title):
        found = HEADING.search(title.astext())
        if found and isinstance(title.parent, nodes.section):
            label = found[1] or found[2]
            title.parent["ids"].append(anchor(label))
            _register(known, label, page, title)


def _register(known, label: str, page: str, node) -> None:
    name = f"label {label}"
    if known.get(name, (page, ""))[0] != page:
        logger.warning("label %s is defined on two pages: %s, %s", label, known[name][0], page, location=node)
    known[name] = page, anchor(label)


class LinkLabels(SphinxPostTransform):
    """Links from every mention of a label to where it is defined."""

    default_priority = 5

    def run(self, **kwargs) -> None:
        known = self.env.domaindata["std"]["anonlabels"]
        for text in list(self.document.findall(nodes.Text)):
            if _silent(text):
                continue
            parts = MENTION.split(text.astext())
            if len(parts) == 1:
                continue
            text.parent.replace(
                text, [self._piece(known, part, k % 2 == 1, text) for k, part in enumerate(parts)]
            )

    def _piece(self, known, part: str, mentioned: bool, text) -> nodes.Node:
        if not mentioned:
            return nodes.Text(part)
        if f"label {part}" not in known:
            logger.warning(
                "label %s: no equation or heading of the theory has it", part, location=text.parent
            )
            return nodes.Text(part)
        page, fragment = known[f"label {part}"]
        target = "" if page == self.env.docname else self.app.builder.get_relative_uri(self.env.docname, page)
        return nodes.reference("", part, internal=True, refuri=f"{target}#{fragment}", classes=["label"])


def _silent(node) -> bool:
    while node is not None:
        if isinstance(node, SILENT) or "lang" in getattr(node, "attributes", ()):  # code with links in it
            return True
        node = node.parent
    return False


def setup(app) -> dict[str, object]:
    app.connect("doctree-read", collect)
    app.add_post_transform(LinkLabels)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
