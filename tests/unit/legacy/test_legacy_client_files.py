"""The properties files of ``kafka-mirror-maker``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mm2.config.keys.keys_clients import CLIENT_ROWS, CLIENT_SETTINGS, ClientKind
from mm2.config.legacy.client_files import (
    ClientFile,
    copy_settings,
    read_consumer_file,
    read_producer_file,
)
from mm2.config.legacy.copy_plan import ArgumentErrors, read_copy_plan
from mm2.config.legacy.older_keys import OLDER_CONSUMER_KEYS, OLDER_PRODUCER_KEYS
from mm2.config.legacy.unobeyed_keys import OBEYED, unobeyed_keys
from mm2.config.legacy.zookeeper_keys import ZooKeeperSettings, zookeeper_settings
from mm2.config.text.properties import parse_text


def consumer(text: str) -> ClientFile:
    return read_consumer_file(parse_text(f"bootstrap.servers=a:1\ngroup.id=g\n{text}"))


def producer(text: str) -> ClientFile:
    return read_producer_file(parse_text(text))


def test_a_file_of_todays_keys_brings_no_warning() -> None:
    found = consumer("auto.offset.reset=earliest\nclient.id=x\nenable.auto.commit=false")
    assert not found.warnings
    assert not found.mistakes
    assert found.properties["auto.offset.reset"] == "earliest"
    assert "enable.auto.commit" not in found.properties


@pytest.mark.parametrize(
    ("line", "key", "value"),
    [
        ("fetch.message.max.bytes=7", "max.partition.fetch.bytes", "7"),
        ("socket.receive.buffer.bytes=7", "receive.buffer.bytes", "7"),
        ("fetch.wait.max.ms=7", "fetch.max.wait.ms", "7"),
        ("auto.offset.reset=smallest", "auto.offset.reset", "earliest"),
        ("autooffset.reset=largest", "auto.offset.reset", "latest"),
        ("consumer.id=x", "client.id", "x"),
        (
            "partition.assignment.strategy=org.apache.kafka.clients.consumer.RoundRobinAssignor",
            "partition.assignment.strategy",
            "roundrobin",
        ),
    ],
)
def test_older_keys_and_values_of_consumers_become_todays(line: str, key: str, value: str) -> None:
    found = consumer(line)
    assert found.properties[key] == value
    assert not found.mistakes


@pytest.mark.parametrize(
    ("line", "key", "value"),
    [
        ("metadata.broker.list=a:1", "bootstrap.servers", "a:1"),
        ("compression.codec=2", "compression.type", "snappy"),
        ("compression.codec=gzip", "compression.type", "gzip"),
        ("queue.buffering.max.ms=7", "linger.ms", "7"),
    ],
)
def test_older_keys_of_producers_become_todays_with_a_warning(
    line: str, key: str, value: str
) -> None:
    found = producer(line)
    assert found.properties[key] == value
    assert any(f"is called {key} today" in warning for warning in found.warnings)


def test_todays_spelling_wins_over_an_older_one() -> None:
    found = producer("metadata.broker.list=old:1\nbootstrap.servers=new:1")
    assert found.properties["bootstrap.servers"] == "new:1"


@pytest.mark.parametrize(
    "line",
    [
        "zookeeper.connect=z:2181",
        "zookeeper.session.timeout.ms=1",
        "auto.commit.enable=true",
        "enable.auto.commit=true",
        "consumer.timeout.ms=10000",
        "queued.max.messages=4",
    ],
)
def test_a_key_that_asks_for_what_is_not_done_warns_with_its_line_and_the_reason(
    line: str,
) -> None:
    (warning,) = consumer(line).warnings
    assert warning.startswith(f"line 3: {line.partition('=')[0]}")
    assert "has no effect: " in warning


@pytest.mark.parametrize(
    ("read", "line", "reason"),
    [
        (producer, "linger.ms=20", "mm2 waits for nothing"),
        (producer, "metadata.max.idle.ms=1", "mm2 asks about the topics that it writes to"),
        (producer, "transaction.timeout.ms=5", "copies are made outside of transactions"),
        (producer, "send.buffer.bytes=7", "alone, and not for records"),
        (consumer, "receive.buffer.bytes=7", "alone, and not for records"),
        (consumer, "default.api.timeout.ms=7", "mm2 goes on trying"),
        (consumer, "share.acquire.mode=record_limit", "consumers of a group share no records"),
        (consumer, "sasl.kerberos.service.name=kafka", "GSSAPI, which is refused"),
        (consumer, "ssl.provider=BC", "it belongs to the JVM"),
        (consumer, "group.remote.assignor=range", "it needs group.protocol=consumer"),
        (
            consumer,
            "session.timeout.ms=9000\ngroup.protocol=consumer",
            "with group.protocol=consumer the broker decides it",
        ),
    ],
)
def test_a_key_of_todays_clients_that_is_not_obeyed_warns_with_the_reason(
    read: Callable[[str], ClientFile], line: str, reason: str
) -> None:
    found = read(line)
    (warning,) = found.warnings
    assert f"{line.partition('=')[0]} = " in warning
    assert f"has no effect: {reason}" in warning or warning.endswith(reason)
    assert warning.startswith("line ")


@pytest.mark.parametrize(
    "text",
    [
        "session.timeout.ms=9000\nheartbeat.interval.ms=1000\nmax.poll.interval.ms=9000",
        "group.instance.id=a\npartition.assignment.strategy=range\ngroup.protocol=classic",
        "group.protocol=consumer\ngroup.remote.assignor=range",
        "isolation.level=read_committed\nclient.rack=a\nfetch.max.wait.ms=5",
        "exclude.internal.topics=false\nconfig.providers=\nmetadata.max.age.ms=1",
    ],
)
def test_what_members_of_groups_obey_brings_no_warning(text: str) -> None:
    assert not consumer(text).warnings


def test_an_older_name_of_a_key_that_is_not_obeyed_warns_of_both() -> None:
    named, unobeyed = producer("bootstrap.servers=a:1\nqueue.time=7").warnings
    assert named == "line 2: queue.time is called linger.ms today"
    assert unobeyed.startswith("line 2: linger.ms = 7 has no effect: ")


def test_javas_classes_for_log_ins_are_refused() -> None:
    (mistake,) = consumer("sasl.login.class=com.example.Own").mistakes
    assert "cannot load Java classes" in mistake.message


@pytest.mark.parametrize("kind", ["consumer", "producer"])
def test_each_key_of_todays_clients_is_obeyed_or_told(kind: ClientKind) -> None:
    """What no table says to be obeyed is told when it is set to something else than its default."""
    older = OLDER_CONSUMER_KEYS if kind == "consumer" else OLDER_PRODUCER_KEYS
    silent = {
        name
        for name in CLIENT_SETTINGS[kind] - older.keys()
        if not list(unobeyed_keys(kind, {name: "anything else"}))
    }
    obeyed_rows = {name for name, row in CLIENT_ROWS[kind].items() if not row.reason}
    assert silent - obeyed_rows <= OBEYED


def test_settings_that_lose_nothing_bring_no_warning() -> None:
    text = "bootstrap.servers=a:1\nacks=-1\nretries=2147483647\nblock.on.buffer.full=true\n"
    assert not producer(f"{text}max.in.flight.requests.per.connection=1").warnings


@pytest.mark.parametrize(
    "line", ["acks=1", "retries=3", "block.on.buffer.full=false", "enable.idempotence=false"]
)
def test_settings_that_could_lose_records_have_no_effect_and_warn(line: str) -> None:
    found = producer(f"bootstrap.servers=a:1\n{line}")
    assert any("has no effect" in warning for warning in found.warnings)
    assert not found.mistakes


_JAVAS_PARTITIONER = "org.apache.kafka.clients.producer.internals.DefaultPartitioner"


@pytest.mark.parametrize("read", [consumer, producer])
def test_classes_of_javas_that_see_records_are_refused_and_others_warn(
    read: Callable[[str], ClientFile],
) -> None:
    common = "bootstrap.servers=a:1\n"
    (refused,) = read(f"{common}interceptor.classes=com.example.Marks").mistakes
    assert "or write a message handler" in str(refused)
    (warning,) = read(f"{common}metric.reporters=com.example.Graphs").warnings
    assert "has no effect: no class of Java's can be loaded" in warning
    reporter = "org.apache.kafka.common.metrics.JmxReporter"
    found = read(f"{common}interceptor.classes=\nmetric.reporters={reporter}")
    assert (found.warnings, found.mistakes) == ((), ())


@pytest.mark.parametrize(
    ("line", "kept", "moved"),
    [
        ("partitioner.ignore.keys=true", "has no effect", "leave one of them out"),
        ("partitioner.ignore.keys=False", "", ""),
        ("partitioner.availability.timeout.ms=9", "has no effect", "has no effect"),
        ("partitioner.adaptive.partitioning.enable=true", "has no effect", "has no effect"),
        (f"partitioner.class={_JAVAS_PARTITIONER}", "or --repartition", ""),
        ("partitioner.class=com.example.Own", "or --repartition", "in place of --repartition"),
        ("partitioner.class=", "", ""),
    ],
)
def test_partitioners_are_obeyed_or_refused_or_warn(line: str, kept: str, moved: str) -> None:
    file = parse_text(f"bootstrap.servers=a:1\n{line}")
    for repartitions, expected in ((False, kept), (True, moved)):
        found = read_producer_file(file, repartitions=repartitions)
        told = [*found.warnings, *map(str, found.mistakes)]
        assert [expected in each for each in told] == ([True] if expected else [])


def test_offsets_may_be_kept_in_zookeeper_or_in_both() -> None:
    for text, is_alone in (
        ("offsets.storage=zookeeper", True),
        ("dual.commit.enabled=true", False),
    ):
        found = consumer(
            f"{text}\nzookeeper.connect=z:2181/kafka\nzookeeper.session.timeout.ms=400"
        )
        assert (found.warnings, found.mistakes) == ((), ())
        settings = zookeeper_settings(found.properties)
        assert settings == ZooKeeperSettings(
            connect="z:2181/kafka",
            session_timeout_s=0.4,
            connect_timeout_s=6.0,
            is_alone=is_alone,
        )


def test_offsets_are_kept_in_kafka_unless_a_file_says_otherwise() -> None:
    found = consumer("zookeeper.connect=z:2181\noffsets.storage=kafka\ndual.commit.enabled=false")
    assert zookeeper_settings(found.properties) is None
    (warning,) = found.warnings
    assert "zookeeper.connect" in warning


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("offsets.storage=zookeeper", "zookeeper.connect is missing"),
        ("offsets.storage=disk", "write kafka or zookeeper"),
        ("offsets.storage=disk\ndual.commit.enabled=true", "write kafka or zookeeper"),
        ("dual.commit.enabled=maybe", "write true or false"),
        (
            "offsets.storage=zookeeper\nzookeeper.session.timeout.ms=soon",
            "zookeeper.session.timeout.ms=soon: write milliseconds",
        ),
        (
            f"offsets.storage=zookeeper\nzookeeper.session.timeout.ms={'1' * 400}",
            "write milliseconds, a whole number from 1 to 2147483647",
        ),
    ],
)
def test_mistakes_about_the_store_of_offsets_are_told(text: str, reason: str) -> None:
    assert any(reason in mistake.message for mistake in consumer(text).mistakes)


def test_with_zookeeper_alone_both_stores_are_no_question() -> None:
    text = "offsets.storage=zookeeper\nzookeeper.connect=z:1\ndual.commit.enabled=true"
    (warning,) = consumer(text).warnings
    assert "dual.commit.enabled has no effect with offsets.storage=zookeeper" in warning


def test_a_file_with_zookeeper_alone_is_told_what_to_write() -> None:
    found = read_consumer_file(parse_text("zookeeper.connect=z:2181\ngroup.id=g"))
    (mistake,) = found.mistakes
    assert mistake.line == 1
    assert "bootstrap.servers is missing" in mistake.message
    assert "zookeeper.connect is not asked any more" in mistake.message


def test_an_assignor_that_librdkafka_lacks_is_refused() -> None:
    name = "org.apache.kafka.clients.consumer.StickyAssignor"
    (mistake,) = consumer(f"partition.assignment.strategy={name}").mistakes
    assert "cooperative-sticky" in mistake.message


def test_of_eager_and_cooperative_assignors_the_first_kind_counts() -> None:
    package = "org.apache.kafka.clients.consumer"
    text = f"{package}.RangeAssignor,{package}.CooperativeStickyAssignor"
    found = consumer(f"partition.assignment.strategy={text}")
    assert found.properties["partition.assignment.strategy"] == "range"
    assert "not both" in found.warnings[0]


def test_a_misspelt_key_warns_with_the_likely_one() -> None:
    (warning,) = consumer("auto.ofset.reset=earliest").warnings
    assert "did you mean auto.offset.reset?" in warning


def test_secrets_are_not_in_warnings() -> None:
    assert "geheim" not in str(consumer("ssl.key.passwort.password=geheim").warnings)


def test_copying_begins_at_the_end_unless_the_file_says_otherwise() -> None:
    assert copy_settings({}, {})[0].reset == "latest"
    assert copy_settings({"auto.offset.reset": "earliest"}, {})[0].reset == "earliest"


def test_mistakes_of_both_files_are_told_at_once(tmp_path: Path) -> None:
    one, two = tmp_path / "c.properties", tmp_path / "p.properties"
    one.write_text("bootstrap.servers=a:1\nfetch.max.bytes=many\n")
    two.write_text("bootstrap.servers=b:1\ntransactional.id=t\n")
    files = ["--consumer.config", str(one), "--producer.config", str(two)]
    with pytest.raises(ArgumentErrors) as caught:
        read_copy_plan([*files, "--include", "a"])
    text = "\n".join(caught.value.lines)
    assert f"{one}: group.id is missing" in text
    assert f"{one}: " in text
    assert "fetch.max.bytes" in text
    assert f"{two}: line 2: transactional.id=t" in text


def test_mistakes_of_the_command_line_do_not_hide_those_of_the_files(tmp_path: Path) -> None:
    file = tmp_path / "c.properties"
    file.write_text("bootstrap.servers=a:1\n")
    with pytest.raises(ArgumentErrors) as caught:
        read_copy_plan(["--consumer", str(file), "--include", "a{1,2}"])
    text = "\n".join(caught.value.lines)
    assert "--producer.config is missing" in text
    assert "--include a{1,2}" in text
    assert f"{file}: group.id is missing" in text


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    missing = tmp_path / "none.properties"
    with pytest.raises(ArgumentErrors) as caught:
        read_copy_plan(["--consumer", str(missing), "--producer", str(missing), "--include", "a"])
    assert all(str(missing) in line for line in caught.value.lines)


def test_spark_keys_of_both_files_are_taken(tmp_path: Path) -> None:
    one, two = tmp_path / "c.properties", tmp_path / "p.properties"
    one.write_text("bootstrap.servers=a:1\ngroup.id=g\nspark.a=1\nspark.b=1\n")
    two.write_text("bootstrap.servers=b:1\nspark.b=2\n")
    plan = read_copy_plan(["--consumer", str(one), "--producer", str(two), "--include", "a"])
    assert plan.spark == {"spark.a": "1", "spark.b": "2"}


def test_the_sample_files_of_kafkas_last_release_with_the_tool_count_without_a_warning() -> None:
    reads = read_consumer_file(
        parse_text("bootstrap.servers=localhost:9092\ngroup.id=test-consumer-group\n")
    )
    writes = read_producer_file(
        parse_text("bootstrap.servers=localhost:9092\ncompression.type=none\n")
    )
    assert (reads.warnings, reads.mistakes) == ((), ())
    assert (writes.warnings, writes.mistakes) == ((), ())
    data, wrong, bad = copy_settings(reads.properties, writes.properties)
    assert (data.codec, data.reset, wrong, bad) == ("none", "latest", [], [])


def test_what_these_files_propose_in_comments_counts() -> None:
    writes = read_producer_file(
        parse_text(
            "bootstrap.servers=a:1\ncompression.type=zstd\nrequest.timeout.ms=30000\n"
            "max.block.ms=60000\nlinger.ms=5\nmax.request.size=1048576\nbatch.size=16384\n"
            "buffer.memory=33554432\n"
        )
    )
    assert not writes.mistakes
    assert [warning.partition(" has")[0] for warning in writes.warnings] == [
        "line 4: max.block.ms = 60000",
        "line 5: linger.ms = 5",
    ]
    data, _, bad = copy_settings({}, writes.properties)
    assert (data.codec, data.batch_size, data.buffer_memory, bad) == ("zstd", 16384, 1 << 25, [])


def test_the_settings_of_kip_3_that_lose_nothing_are_taken_as_they_are() -> None:
    reads = consumer("auto.commit.enabled=false")
    writes = producer(
        "bootstrap.servers=a:1\nmax.in.flight.requests.per.connection=1\nretries=2147483647\n"
        "acks=-1\nblock.on.buffer.full=true"
    )
    assert (reads.warnings, reads.mistakes) == ((), ())
    assert (writes.warnings, writes.mistakes) == ((), ())
