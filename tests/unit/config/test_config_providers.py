"""Expressions in values (C059-C066)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mm2.config.text.providers import Providers, automatic_providers, listed_providers
from mm2.errors import ConfigError

_PACKAGE = "org.apache.kafka.common.config.provider."
_ENVIRONMENT = {"ONE": "eins", "TWO": "zwei"}


def _providers(kind: str, **parameters: str) -> Providers:
    properties = {
        "config.providers": "p",
        "config.providers.p.class": f"{_PACKAGE}{kind}ConfigProvider",
        **{f"config.providers.p.param.{k.replace('_', '.')}": v for k, v in parameters.items()},
    }
    return automatic_providers(properties, _ENVIRONMENT)


def test_several_expressions_of_a_value_are_replaced_in_one_pass() -> None:
    """C059."""
    assert _providers("EnvVar").resolve("a${p:ONE}b${p:TWO}") == "aeinsbzwei"


@pytest.mark.parametrize("text", ["${q:ONE}", "${p:THREE}", "${p}", "$p:ONE"])
def test_what_nobody_knows_stays_as_it_is(text: str) -> None:
    """C060."""
    assert _providers("EnvVar").resolve(text) == text


def test_variables_that_are_not_allowed_are_not_there() -> None:
    """C064: the pattern must match the whole name."""
    providers = _providers("EnvVar", allowlist_pattern="ON.")
    assert providers.resolve("${p:ONE} ${p:TWO}") == "eins ${p:TWO}"


def test_a_path_makes_no_sense_for_the_environment() -> None:
    """C064."""
    with pytest.raises(ConfigError, match="topics: Path is not supported") as caught:
        _providers("EnvVar").resolve_all({"topics": "${p:/x:ONE}"})
    assert caught.value.key == "topics"


def test_a_file_s_keys_are_read_in_utf_8(tmp_path: Path) -> None:
    """C065."""
    file = tmp_path / "secrets.properties"
    file.write_text("one = ä\n", encoding="utf-8")
    providers = _providers("File")
    assert providers.resolve(f"${{p:{file}:one}}") == "ä"
    assert providers.resolve(f"${{p:{file}:two}}") == f"${{p:{file}:two}}"
    assert providers.resolve("${p:one}") == "${p:one}"


def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    """C065."""
    with pytest.raises(ConfigError, match="Could not read properties from file"):
        _providers("File").resolve(f"${{p:{tmp_path}/none:one}}")


def test_a_directory_s_files_are_values_line_end_included(tmp_path: Path) -> None:
    """C066."""
    (tmp_path / "one").write_text("eins\n", encoding="utf-8")
    (tmp_path / "below").mkdir()
    providers = _providers("Directory")
    assert providers.resolve(f"${{p:{tmp_path}:one}}") == "eins\n"
    for other in ("none", "below", "../one"):
        assert providers.resolve(f"${{p:{tmp_path}:{other}}}") == f"${{p:{tmp_path}:{other}}}"


def test_a_file_of_a_directory_that_is_not_utf_8_is_an_error(tmp_path: Path) -> None:
    """C066."""
    (tmp_path / "one").write_bytes(b"\xe4")
    with pytest.raises(ConfigError, match="Could not read file"):
        _providers("Directory").resolve(f"${{p:{tmp_path}:one}}")


@pytest.mark.parametrize("kind", ["File", "Directory"])
def test_only_allowed_paths_are_read(kind: str, tmp_path: Path) -> None:
    """C065, C066: also when the path leads out of them by .."""
    (tmp_path / "in").mkdir()
    for folder in (tmp_path, tmp_path / "in"):
        (folder / "file").write_text("file=x", encoding="utf-8")
    providers = _providers(kind, allowed_paths=f"{tmp_path}/in")
    tail = "/file:file" if kind == "File" else ":file"
    assert not providers.resolve(f"${{p:{tmp_path}/in{tail}}}").startswith("$")
    for path in (str(tmp_path), f"{tmp_path}/in/.."):
        assert providers.resolve(f"${{p:{path}{tail}}}").startswith("$")


@pytest.mark.parametrize("kind", ["File", "Directory"])
def test_the_path_that_was_checked_is_the_one_that_is_opened(kind: str, tmp_path: Path) -> None:
    """C065, C066: ".." after a link does not lead to where the link leads, but to its folder."""
    for folder in ("in", "out/data"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "in/link").symlink_to(tmp_path / "out/data")
    (tmp_path / "out/file").write_text("file=outside", encoding="utf-8")
    (tmp_path / "out/data/file").write_text("file=linked", encoding="utf-8")
    providers = _providers(kind, allowed_paths=f"{tmp_path}/in")
    tail = "/file:file" if kind == "File" else ":file"
    assert "linked" in providers.resolve(f"${{p:{tmp_path}/in/link{tail}}}")
    (tmp_path / "in/file").write_text("file=inside", encoding="utf-8")
    assert "inside" in providers.resolve(f"${{p:{tmp_path}/in/link/..{tail}}}")


@pytest.mark.parametrize(
    ("paths", "complaint"), [("relative", "not absolute"), ("/does/not/exist", "does not exist")]
)
def test_allowed_paths_must_be_there(paths: str, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        _providers("File", allowed_paths=paths)


def test_any_other_class_is_an_error_that_names_those_there_are() -> None:
    with pytest.raises(ConfigError, match="EnvVarConfigProvider") as caught:
        automatic_providers({"config.providers": "v", "config.providers.v.class": "com.x.Vault"})
    assert caught.value.key == "config.providers.v.class"


def test_a_provider_without_a_class_is_skipped() -> None:
    """C062."""
    assert automatic_providers({"config.providers": "p"}).resolve("${p:ONE}") == "${p:ONE}"


def test_a_name_after_comma_and_blank_is_unseen_by_the_automatic_ones_only() -> None:
    """C062."""
    properties = {"config.providers": "q, p", "config.providers.p.class": "EnvVar"}
    assert automatic_providers(properties, _ENVIRONMENT).resolve("${p:ONE}") == "${p:ONE}"
    assert listed_providers(["p"], properties, _ENVIRONMENT).resolve("${p:ONE}") == "eins"


def test_simple_class_names_do_not_load_automatically() -> None:
    with pytest.raises(ConfigError):
        automatic_providers(
            {"config.providers": "p", "config.providers.p.class": "EnvVarConfigProvider"}
        )


def test_a_file_is_read_if_it_is_one_and_not_too_large(tmp_path: Path) -> None:
    """Whoever may write an expression may write any path."""
    fifo, large = tmp_path / "fifo", tmp_path / "large"
    os.mkfifo(fifo)
    large.write_bytes(b"a=" + b"x" * (1 << 20))
    for kind, text in (
        ("File", "${p:/dev/zero:a}"),
        ("File", f"${{p:{fifo}:a}}"),
        ("File", f"${{p:{large}:a}}"),
        ("Directory", f"${{p:{tmp_path}:large}}"),
    ):
        with pytest.raises(ConfigError, match=r"not a regular file|more than 1048576 bytes"):
            _providers(kind).resolve(text)
    assert _providers("Directory").resolve(f"${{p:{tmp_path}:fifo}}") == f"${{p:{tmp_path}:fifo}}"
