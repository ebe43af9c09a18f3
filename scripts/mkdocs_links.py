"""A hook of MkDocs: links to files outside the documentation become their plain text."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Any

_LINK = re.compile(r"\[([^\]]+)\]\(((?:\.\./)+[^)\s]+)\)")


def on_page_markdown(markdown: str, *, page: Any, **_: object) -> str:
    """Replaces links that lead out of ``docs/``."""
    folder = PurePosixPath(page.file.src_uri).parent
    return _LINK.sub(lambda link: link[0] if _is_inside(folder, link[2]) else link[1], markdown)


def _is_inside(folder: PurePosixPath, target: str) -> bool:
    return target.count("../") <= len(folder.parts)
