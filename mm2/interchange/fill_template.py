"""Fills the templates of this package."""

from __future__ import annotations

import json
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from mm2.interchange.properties_text import property_line

_ENVIRONMENT: Final = Environment(
    loader=PackageLoader("mm2.interchange"),
    undefined=StrictUndefined,
    autoescape=False,  # noqa: S701 - none of them is HTML
    keep_trailing_newline=True,
    trim_blocks=True,
    lstrip_blocks=True,
)
_ENVIRONMENT.filters["json"] = json.dumps
_ENVIRONMENT.globals["property"] = property_line


def filled(name: str, **values: object) -> str:
    """
    The text of a template.

    In YAML, values go through the filter ``json``: what JSON calls a scalar, YAML does too. In
    properties they go through the function ``property``.

    Raises:
        UndefinedError: a value is missing.
    """
    return _ENVIRONMENT.get_template(name).render(**values)
