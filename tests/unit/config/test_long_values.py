"""How long the values may be that a flow is given while it runs."""

from __future__ import annotations

import pytest

from mm2.config.checks.long_values import too_long
from mm2.config.flow_config import flow_config
from mm2.config.mirror_maker_config import MirrorMakerConfig
from mm2.config.overrides import alteration, apply_valid_overrides
from mm2.errors import ConfigErrors
from tests.support.configs import A_TO_B, TWO_CLUSTERS

_CONFIG = flow_config(MirrorMakerConfig(raw={**TWO_CLUSTERS, "A->B.enabled": "true"}), A_TO_B)


def _long(letter: str, characters: int) -> str:
    """A list of few patterns, which are soon compiled all the same."""
    return f"{letter}{'.' * (characters - 1)}"


def test_a_value_has_32_kib_and_all_together_have_64() -> None:
    half = 32 * 1024
    assert too_long({"topics": "t" * half, "groups": "g" * half}, "-") == {}
    (problem,) = too_long({"topics": "t" * (half + 1), "groups": "g"}, "change the file").values()
    assert str(problem) == (
        "topics has 32769 characters, and at most 32768 are taken: write patterns that stand for"
        " many names, such as orders.*, or change the file"
    )
    values = {"topics": "t" * half, "groups": "g" * (half - 1), "topics.exclude": "xx"}
    (problem,) = too_long(values, "change the file").values()
    assert str(problem) == (
        "topics has 32768 characters, which makes 65537 with what is not longer, and at most 65536"
        " are taken together: write patterns that stand for many names, such as orders.*, or change"
        " the file"
    )


@pytest.mark.parametrize("prefix", ["", "source.cluster.", "target.producer."])
def test_certificates_are_as_long_as_they_are(prefix: str) -> None:
    assert too_long({f"{prefix}ssl.truststore.certificates": "-" * 100_000}, "-") == {}
    assert too_long({"tasks.max": None}, "-") == {}


def test_what_is_altered_has_one_limit_together() -> None:
    """What is altered already stays, whoever wrote it: else an exclude would be lost."""
    lengths = {"topics": 30_000, "topics.exclude": 20_000, "groups": 25_000, "tasks.max": 1}
    changes = {key: _long(key[0], length) for key, length in lengths.items()} | {"tasks.max": "3"}
    found = apply_valid_overrides(_CONFIG, changes)
    assert found.ignored == {}
    assert all(
        found.config.source.properties[key] == changes[key] for key in lengths if key != "groups"
    )
    earlier = {key: value for key, value in changes.items() if key != "groups"}
    with pytest.raises(ConfigErrors, match="topics has 30000 characters, which makes 75001"):
        alteration(_CONFIG, earlier, {"groups": changes["groups"]}, ())
