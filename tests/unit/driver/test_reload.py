"""What is different in a file that is read again."""

from __future__ import annotations

from pathlib import Path

import pytest

from mm2.config.flow_config import FlowConfig
from mm2.driver.file_reload import FileChange, file_change, read_again
from mm2.errors import ConfigErrors

_CLUSTERS = "clusters = A, B, C\n" + "".join(f"{x}.bootstrap.servers = {x}:9092\n" for x in "ABC")
_FLOWS = "A->B.enabled = true\nB->A.enabled = true\nemit.heartbeats.enabled = false\n"


def _flows(folder: Path, text: str) -> list[FlowConfig]:
    path = folder / "mm2.properties"
    path.write_text(_CLUSTERS + text)
    return read_again(path, None)


def _changes(folder: Path, before: str, after: str) -> FileChange:
    return file_change(_flows(folder, before), _flows(folder, after))


def _names(flows: tuple[FlowConfig, ...]) -> list[str]:
    return sorted(str(config.flow) for config in flows)


def test_flows_come_go_and_change(tmp_path: Path) -> None:
    change = _changes(
        tmp_path,
        _FLOWS,
        "A->B.enabled = true\nA->B.topics = x\nA->C.enabled = true\n"
        "emit.heartbeats.enabled = false\n",
    )
    assert _names(change.added) == ["A->C"]
    assert _names(change.removed) == ["B->A"]
    assert _names(change.changed) == ["A->B"]
    assert change.changed[0].source.properties["topics"] == "x", "as it is to be"
    assert change.of_process == ()


def test_the_same_file_is_no_change(tmp_path: Path) -> None:
    change = _changes(tmp_path, _FLOWS, f"# a remark\n{_FLOWS}")
    assert change == FileChange(added=(), removed=(), changed=(), of_process=())


def test_a_secret_that_a_provider_reads_otherwise_changes_the_flows_that_have_it(
    tmp_path: Path,
) -> None:
    """Nothing is different in the file itself; nor need the process start anew for another path."""
    text = _FLOWS + (
        "config.providers = f\n"
        "config.providers.f.class = org.apache.kafka.common.config.provider.FileConfigProvider\n"
        f"A.ssl.key.password = ${{f:{tmp_path}/secrets:key}}\n"
    )
    (tmp_path / "secrets").write_text("key=one\n")
    before = _flows(tmp_path, text)
    (tmp_path / "secrets").write_text("key=two\n")
    confined = text + f"config.providers.f.param.allowed.paths = {tmp_path}\n"
    change = file_change(before, _flows(tmp_path, confined))
    assert _names(change.changed) == ["A->B", "B->A"]
    assert change.of_process == ()


def test_keys_of_the_process_are_named_and_change_no_flow(tmp_path: Path) -> None:
    change = _changes(tmp_path, _FLOWS, f"{_FLOWS}spark.master = local[9]\n")
    assert (change.changed, change.of_process) == ((), ("spark.master",))


def test_everything_that_is_wrong_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigErrors) as caught:
        _flows(tmp_path, f"{_FLOWS}A->B.topics = (\nB->A.tasks.max = 0\n")
    assert {each.key for each in caught.value.problems} == {"A->B.topics", "B->A.tasks.max"}


def test_a_file_that_is_gone_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigErrors, match="cannot read"):
        read_again(tmp_path / "none.properties", None)


@pytest.mark.parametrize(
    "key", ["replication.policy.class", "topic.filter.class", "group.filter.class"]
)
def test_classes_that_cannot_be_had_are_errors(tmp_path: Path, key: str) -> None:
    with pytest.raises(ConfigErrors, match=r"nope\.Nope") as caught:
        _flows(tmp_path, f"{_FLOWS}{key} = nope.Nope\n")
    assert [each.key for each in caught.value.problems] == [key], "once, for all flows"
