"""
``mm2 render compose``: the file is one that Docker Compose takes.

What it may hold is written down here from the Compose Specification, for the attributes that mm2
uses: Compose refuses a file with any other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from click.testing import CliRunner

from mm2.cli.mm2 import main


def _text(pattern: str) -> Callable[[object], bool]:
    return lambda value: isinstance(value, str) and re.fullmatch(pattern, value) is not None


_DURATION: Final = _text(r"(\d+(us|ms|s|m|h))+")
_VOLUME: Final = _text(r"(\./|/)[^:]*:/[^:]+:ro|compiled:/[^:]+")
_VARIABLE: Final = _text(r"\$\{[A-Za-z_][A-Za-z0-9_]*:\?\}")


def _all(check: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, list) and bool(value) and all(map(check, value))


def _variables(value: object) -> bool:
    return isinstance(value, dict) and all(
        _VARIABLE(each) and each == f"${{{name}:?}}" for name, each in value.items()
    )


def _healthcheck(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    command = value.get("test")
    times = value.keys() - {"test"}
    return (
        times <= {"interval", "timeout", "start_period", "start_interval"}
        and all(_DURATION(value[each]) for each in times)
        and isinstance(command, list)
        and command[0] in {"CMD", "CMD-SHELL", "NONE"}
        and all(isinstance(each, str) for each in command)
    )


_OF_SERVICE: Final[Mapping[str, Callable[[object], bool]]] = {
    "image": _text(r"[\w./@-]+(:[0-9]+/[\w./-]+)?(:[\w.-]+)?"),
    "restart": _text(r"no|always|unless-stopped|on-failure(:\d+)?"),
    "stop_grace_period": _DURATION,
    "mem_limit": _text(r"\d+[bkmg]b?"),
    "ports": _all(_text(r"127\.0\.0\.1:(\d+):\1")),
    "read_only": lambda value: value is True,
    "tmpfs": _all(_text(r"/\S*")),
    "cap_drop": _all(_text(r"[A-Z_]+")),
    "security_opt": _all(_text(r"no-new-privileges:(true|false)")),
    "volumes": _all(_VOLUME),
    "environment": _variables,
    "healthcheck": _healthcheck,
}
_MIRROR: Final = {
    "clusters": "A, B",
    "A.bootstrap.servers": "a:9092",
    "B.bootstrap.servers": "b:9092",
    "A->B.enabled": "true",
}


def _secrets(folder: Path) -> dict[str, str]:
    """Settings of a mirror that reads a file of this folder, and a variable."""
    folder.mkdir(exist_ok=True)
    file = folder / "secrets.properties"
    file.write_text("key = s3cret\n")
    return {
        **_MIRROR,
        "config.providers": "file",
        "config.providers.file.class": "org.apache.kafka.common.config.provider.FileConfigProvider",
        "A.ssl.key.password": f"${{file:{file}:key}}",
        "B.ssl.key.password": "s3cret",
    }


def _wrong(file: Any) -> Iterator[str]:
    """What Compose would not take."""
    yield from file.keys() - {"services", "volumes"}
    if file["volumes"] != {"compiled": {}}:
        yield f"volumes: {file['volumes']}"
    for name, service in file["services"].items():
        if not re.fullmatch(r"[a-zA-Z0-9._-]+", name):
            yield name
        for attribute, value in service.items():
            check = _OF_SERVICE.get(attribute)
            if check is None or not check(value):
                yield f"{attribute}: {value}"


def _rendered(folder: Path, settings: Mapping[str, str], *options: str) -> Any:
    file = folder / "mm2.properties"
    file.write_text("".join(f"{key} = {value}\n" for key, value in settings.items()))
    out = folder / "out"
    done = CliRunner().invoke(
        main, ["render", "compose", str(file), "--output", str(out), *options]
    )
    assert done.exit_code == 0, done.output
    return yaml.safe_load((out / "compose.yaml").read_text())


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"listeners": "http://127.0.0.1:9000"},
        {"listeners": "http://:8083"},
        {"B.task.shutdown.graceful.timeout.ms": "600000"},
    ],
)
@pytest.mark.parametrize("has_secrets", [False, True])
def test_compose_takes_what_is_rendered(
    tmp_path: Path, changes: dict[str, str], *, has_secrets: bool
) -> None:
    settings = _secrets(tmp_path) if has_secrets else _MIRROR
    file = _rendered(
        tmp_path, {**settings, **changes}, "--name", "mirror-1", "--image", "r:5/m:1.0"
    )
    assert [*file["services"]] == ["mirror-1"]
    assert [*_wrong(file)] == []


def test_all_that_may_be_rendered_is_looked_at(tmp_path: Path) -> None:
    """Else an attribute could be left out by mistake, and none of this would notice."""
    file = _rendered(tmp_path, {**_secrets(tmp_path), "listeners": "http://:8083"})
    assert file["services"]["mm2"].keys() == _OF_SERVICE.keys()


@pytest.mark.parametrize(
    ("changes", "ports"),
    [
        ({}, ["127.0.0.1:8083:8083"]),
        ({"listeners": "https://:9443"}, ["127.0.0.1:9443:9443"]),
        ({"listeners": "http://127.0.0.1:9000"}, None),
        ({"rest.enabled": "false"}, None),
    ],
)
def test_this_machine_reaches_rest(
    tmp_path: Path, changes: dict[str, str], ports: list[str] | None
) -> None:
    service = _rendered(tmp_path, {**_MIRROR, **changes})["services"]["mm2"]
    assert service.get("ports") == ports


def test_mistakes_are_found(tmp_path: Path) -> None:
    file = _rendered(tmp_path, _secrets(tmp_path))
    service = file["services"]["mm2"]
    wrong = {"stop_grace_period": 40, "mem_limit": "much", "memory": "1g", "volumes": ["a:b:ro"]}
    service |= wrong
    assert sorted(each.partition(":")[0] for each in _wrong(file)) == sorted(wrong)


def test_compiled_code_is_kept_beside_a_system_that_is_read_only(tmp_path: Path) -> None:
    service = _rendered(tmp_path, _MIRROR)["services"]["mm2"]
    image = CliRunner().invoke(main, ["render", "docker", str(tmp_path / "mm2.properties")])
    (folder,) = re.findall(r"NUMBA_CACHE_DIR=(\S+)", image.stdout)
    assert f"install --directory --owner 10001 {folder}" in image.stdout
    assert f"compiled:{folder}" in service["volumes"]


def test_a_dollar_in_the_name_of_a_folder_is_no_variable(tmp_path: Path) -> None:
    service = _rendered(tmp_path, _secrets(tmp_path / "a$b"))["services"]["mm2"]
    folder = f"{tmp_path}/a$$b"
    assert f"{folder}:{folder}:ro" in service["volumes"]
