"""Figures that a result's ``plot()`` returns, for the gallery: pyplot does not know them."""

from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst


def scraper(block, block_vars, gallery_conf) -> str:
    """Write the figures that are new among the names of an example, but for those with a manager of pyplot.

    The scraper of matplotlib writes those, and closes them: it has to come second.
    """
    names = block_vars["example_globals"]
    seen = names.setdefault("__seen_figures__", set())
    written = []
    for value in list(names.values()):
        if isinstance(value, Figure) and id(value) not in seen:
            seen.add(id(value))
            if value.canvas.manager is None:
                written.append(next(block_vars["image_path_iterator"]))
                value.savefig(written[-1], dpi=120)
    return figure_rst(written, gallery_conf["src_dir"])
