"""What a configuration that a client sends means for the flow."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mm2.config.text.redact import HIDDEN
from mm2.errors import ConfigErrors
from mm2.rest.config_diff import patch_diff, replace_diff

_CONFIGS = st.dictionaries(st.sampled_from("abcde"), st.sampled_from(["1", "2", "x y"]))


@given(_CONFIGS, st.sets(st.sampled_from("abcde")))
def test_what_is_shown_may_come_back_and_changes_nothing(
    present: dict[str, str], altered: set[str]
) -> None:
    assert not replace_diff(present, present, altered)
    assert not patch_diff(present, present)


@given(file=_CONFIGS, changes=_CONFIGS, asked=_CONFIGS)
def test_what_is_asked_is_there_afterwards(
    file: dict[str, str], changes: dict[str, str], asked: dict[str, str]
) -> None:
    difference = replace_diff({**file, **changes}, asked, changes)
    kept = {key: value for key, value in changes.items() if key not in difference.resets}
    after = {**file, **kept, **difference.changes}
    assert after == {**file, **asked}


def test_secrets_that_nobody_can_see_stay_as_they_are() -> None:
    present = {"sasl.jaas.config": HIDDEN, "url": f"http://u:{HIDDEN}@h", "topics": "t"}
    difference = replace_diff(present, {**present, "topics": "u"}, [])
    assert difference.changes == {"topics": "u"}


def test_a_mark_for_a_secret_that_is_not_there_is_refused() -> None:
    with pytest.raises(ConfigErrors, match="stands for nothing here: write the value"):
        replace_diff({"a": "1"}, {"a": HIDDEN}, [])


@pytest.mark.parametrize("key", ["connector.class", "source.cluster.alias"])
def test_what_a_connector_is_cannot_be_changed(key: str) -> None:
    with pytest.raises(ConfigErrors, match=f"{key} is now, and cannot be changed"):
        patch_diff({key: "now"}, {key: "other"})


def test_no_value_is_a_change_where_there_was_one() -> None:
    assert patch_diff({"a": "1"}, {"a": None, "b": None}).changes == {"a": None}


def test_every_mistake_is_told() -> None:
    with pytest.raises(ConfigErrors) as caught:
        patch_diff({"name": "n", "a": "1"}, {"name": "m", "a": HIDDEN})
    assert [problem.key for problem in caught.value.problems] == ["name", "a"]
