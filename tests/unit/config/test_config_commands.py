"""``mm2 config``: output and exit statuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner, Result

from mm2.cli.mm2 import main
from tests.support.configs import TWO_CLUSTERS_TEXT

_GOOD = f"""\
{TWO_CLUSTERS_TEXT}A->B.enabled = true
A.ssl.key.password = geheim
"""


@pytest.fixture
def good(tmp_path: Path) -> Path:
    return _written(tmp_path, "good", _GOOD)


def _written(folder: Path, name: str, text: str) -> Path:
    path = folder / f"{name}.properties"
    path.write_text(text, encoding="iso-8859-1")
    return path


def _run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["config", *map(str, arguments)])


def test_dump_prints_a_line_for_each_file_and_goes_on_after_errors(
    good: Path, tmp_path: Path
) -> None:
    bad = _written(tmp_path, "bad", "clusters = A,\n")
    result = _run("dump", bad, good, tmp_path / "none", "--format", "json")
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert result.exit_code == 0
    assert "clusters" in lines[0]["error"]
    assert lines[1]["flows"] == ["A->B", "B->A"]
    assert lines[1]["workers"]["B->A"]["ssl.key.password"] == "geheim"
    assert "cannot read" in lines[2]["error"]


def test_explain_hides_secrets_and_shows_origins(good: Path) -> None:
    result = _run("explain", good, "--flow", "B->A")
    assert result.exit_code == 0
    assert "geheim" not in result.stdout
    assert "A.bootstrap.servers (line 2, cluster A)" in result.stdout
    assert "A->B worker" not in result.stdout


def test_explain_prints_json(good: Path) -> None:
    result = _run("explain", good, "--key", "bootstrap", "--format", "json", "--all")
    sections = json.loads(result.stdout)
    assert {section["flow"] for section in sections} == {"A->B", "B->A"}
    assert all("bootstrap" in line["key"] for s in sections for line in s["settings"])


def test_explain_of_an_unknown_flow_is_wrong_usage(good: Path) -> None:
    result = _run("explain", good, "--flow", "A->C")
    assert result.exit_code == 2
    assert "A->B, B->A" in result.stderr


def test_explain_of_a_rejected_file_shows_why(tmp_path: Path) -> None:
    result = _run("explain", _written(tmp_path, "bad", "security.protocol = abc\n"))
    assert result.exit_code == 1
    assert "line 1" in result.stderr
    assert "clusters" in result.stderr


def test_validate_is_content_with_a_good_file(good: Path) -> None:
    result = _run("validate", good)
    assert (result.exit_code, result.stdout) == (0, "0 errors, 0 warnings\n")


def test_validate_shows_problems_with_their_lines(tmp_path: Path) -> None:
    result = _run("validate", _written(tmp_path, "bad", _GOOD + "topcs = x\n"))
    assert result.exit_code == 1
    assert "warning: line 6: topcs: unknown key" in result.stdout
    assert "Did you mean 'topics'?" in result.stdout
    assert result.stdout.endswith("\n0 errors, 1 warning\n")


def test_errors_end_a_validation_with_2(tmp_path: Path) -> None:
    """Warnings, with which Kafka's MirrorMaker runs, end it with 1."""
    result = _run("validate", _written(tmp_path, "bad", _GOOD + "tasks.max = no\ntopcs = x\n"))
    assert result.exit_code == 2
    assert result.stdout.endswith("\n1 error, 1 warning\n")


def test_validate_prints_json(tmp_path: Path) -> None:
    bad = _written(tmp_path, "bad", _GOOD + "topcs = x\n")
    finding = json.loads(_run("validate", bad, "--format", "json").stdout)
    nothing = "topcs: unknown key, which has no effect: without topics, all topics are mirrored."
    assert finding == {
        "file": str(bad),
        "severity": "warning",
        "key": "topcs",
        "value": "x",
        "line": 6,
        "message": nothing,
        "suggestion": "topics",
    }


def test_findings_and_settings_have_the_formats_of_all_commands(tmp_path: Path) -> None:
    file = _written(tmp_path, "odd", _GOOD + "topcs = x\n")
    head, *lines = _run("validate", file, "--format", "tsv").stdout.splitlines()
    (finding,) = lines
    assert finding.split("\t")[head.split("\t").index("suggestion")] == "topics"
    (found,) = yaml.safe_load(_run("validate", file, "--format", "yaml").stdout)
    assert (found["severity"], found["line"]) == ("warning", 6)
    chosen = ("explain", file, "--flow", "A->B", "--key", "ssl.key.password")
    settings = yaml.safe_load(_run(*chosen, "--format", "yaml").stdout)
    assert {each["value"] for each in settings} == {"[hidden]"}
    head, *lines = _run(*chosen, "--format", "tsv").stdout.splitlines()
    assert head == "flow\tpart\tkey\tvalue\torigin"
    assert len(lines) == len(settings) > 0


def test_nothing_is_found_in_json_where_nothing_is_wrong(good: Path) -> None:
    assert _run("validate", good, "--format", "json").stdout == ""


def test_notes_do_not_fail_a_validation(tmp_path: Path) -> None:
    result = _run("validate", _written(tmp_path, "old", _GOOD + "refresh.topics = true\n"))
    assert result.exit_code == 0
    assert "note: line 6" in result.stdout


def test_a_malformed_file_is_a_problem_and_a_missing_one_wrong_usage(tmp_path: Path) -> None:
    assert _run("validate", _written(tmp_path, "bad", "a=\\u12")).exit_code == 2
    assert _run("validate", tmp_path / "none").exit_code == 2
    assert _run("explain", tmp_path / "none").exit_code == 2
    assert _run("validate").exit_code == 2


def test_explain_has_colours_on_terminals_alone(good: Path) -> None:
    words = ["config", "explain", str(good)]
    assert "\x1b[" not in CliRunner().invoke(main, words, color=True).stdout
