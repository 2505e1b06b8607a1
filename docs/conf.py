"""How `make docs` builds this folder. Warnings are errors there."""

project = "tilewright"
author = "the tilewright authors"
copyright = author

extensions = ["myst_parser"]
myst_heading_anchors = 3

nitpicky = True
html_theme = "furo"
html_title = "tilewright"
html_show_sphinx = False
pygments_style = "friendly"
