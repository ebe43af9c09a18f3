"""Where YARN's ResourceManagers listen, by the files and settings that Hadoop's client reads."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final
from xml.etree import ElementTree as ET

_FOLDERS: Final = ("HADOOP_CONF_DIR", "YARN_CONF_DIR")
_FILE: Final = "yarn-site.xml"
_OF_SPARK: Final = "spark.hadoop."
_MANAGER: Final = "yarn.resourcemanager"
_PORT: Final = 8032
_VARIABLE: Final = "${"


def resource_managers(settings: Mapping[str, str]) -> list[str]:
    """
    All addresses, each with a port; none where one is not said, or said by variables.

    Args:
        settings: of Spark, whose ``spark.hadoop.*`` keys win over the file.
    """
    found = {
        **_of_file(),
        **{
            key.removeprefix(_OF_SPARK): value
            for key, value in settings.items()
            if key.startswith(_OF_SPARK)
        },
    }
    has_several = found.get(f"{_MANAGER}.ha.enabled") == "true"
    ids = found.get(f"{_MANAGER}.ha.rm-ids", "").split(",") if has_several else []
    suffixes = [f".{each.strip()}" for each in ids] or [""]
    addresses = [_address(found, suffix) for suffix in suffixes]
    are_known = all(each and _VARIABLE not in each for each in addresses)
    return addresses if are_known else []


def _address(found: Mapping[str, str], suffix: str) -> str:
    host = found.get(f"{_MANAGER}.hostname{suffix}", "")
    address = found.get(f"{_MANAGER}.address{suffix}", host)
    return address if ":" in address or not address else f"{address}:{_PORT}"


def _of_file() -> dict[str, str]:
    """Nothing where there is no file, or one of which Hadoop's client says what is wrong."""
    for folder in filter(None, map(os.environ.get, _FOLDERS)):
        file = Path(folder) / _FILE
        if file.is_file():
            with suppress(ET.ParseError):
                root = ET.parse(file).getroot()  # noqa: S314 - the administrator's file
                return {
                    each.findtext("name", "").strip(): each.findtext("value", "").strip()
                    for each in root.iter("property")
                }
    return {}
