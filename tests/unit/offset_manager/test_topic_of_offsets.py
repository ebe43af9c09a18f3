"""Which topics an offset manager keeps offsets in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

import pytest

from mm2.config.offset_manager_settings import OffsetManagerSettings
from mm2.core.model import TopicName
from mm2.core.topics.remote_configs import ConfigEntry
from mm2.core.topics.topic_plan import TopicDescription
from mm2.errors import ConfigErrors, FatalError, NotAuthorized
from mm2.kafka.admin import Admin
from mm2.offset_manager.offsets_topic import prepare_topic

SERVERS = {"bootstrap.servers": "a:1"}
SETTINGS = OffsetManagerSettings.of({**SERVERS, "offsets.topic.num.partitions": "4"})


class TopicThatIsThere:
    """A cluster in which the topic was created before; a policy of None may not be asked."""

    alias = "a"

    def __init__(self, policy: str | None, partitions: int = 4) -> None:
        self._policy = policy
        self._partitions = partitions

    async def describe_topics(
        self, topics: Iterable[TopicName]
    ) -> dict[TopicName, TopicDescription]:
        return {each: TopicDescription(each, self._partitions) for each in topics}

    async def describe_configs(
        self, topics: Iterable[TopicName]
    ) -> dict[TopicName, list[ConfigEntry]]:
        if self._policy is None:
            raise NotAuthorized("a", "DescribeConfigs")
        return {each: [ConfigEntry("cleanup.policy", self._policy)] for each in topics}


def there(policy: str | None, partitions: int = 4) -> Admin:
    return cast("Admin", TopicThatIsThere(policy, partitions))


@pytest.mark.parametrize("policy", ["delete", "compact,delete"])
async def test_a_topic_that_loses_offsets_after_a_while_is_refused(policy: str) -> None:
    with pytest.raises(FatalError) as caught:
        await prepare_topic(there(policy), SETTINGS)
    assert f"topic {SETTINGS.topic} has cleanup.policy={policy}" in str(caught.value)


@pytest.mark.parametrize("policy", ["compact", None])
async def test_a_compacted_topic_is_taken_and_one_that_may_not_be_asked_about(
    policy: str | None,
) -> None:
    await prepare_topic(there(policy), SETTINGS)


async def test_a_topic_with_another_number_of_partitions_is_refused() -> None:
    with pytest.raises(FatalError, match=f"topic {SETTINGS.topic} has 5 partitions"):
        await prepare_topic(there("compact", 5), SETTINGS)


@pytest.mark.parametrize("name", ["__consumer_offsets", "__transaction_state", "a b", "", ".."])
def test_a_topic_that_no_client_may_write_is_refused(name: str) -> None:
    with pytest.raises(ConfigErrors) as caught:
        OffsetManagerSettings.of({**SERVERS, "offsets.topic.name": name})
    (problem,) = caught.value.problems
    assert problem.key == "offsets.topic.name"
