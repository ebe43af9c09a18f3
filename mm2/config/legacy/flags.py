"""The flags of ``kafka-mirror-maker``: KIP-3's, those of Kafka 3.9's tool, and ours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """
    One flag.

    Attributes:
        name: as it is written today.
        value: stands for its value in the help; empty if it takes none.
        doc: for the user.
        bare: the value that counts where none is given; empty if one must be.
        older: other spellings that count the same and bring a warning.
        aliases: other spellings that count the same.
    """

    name: str
    value: str = ""
    doc: str
    bare: str = ""
    older: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()


CONSUMER: Final = "--consumer.config"
PRODUCER: Final = "--producer.config"
INCLUDE: Final = "--include"
EXCLUDE: Final = "--blacklist"
STREAMS: Final = "--num.streams"
ABORT: Final = "--abort.on.send.failure"
INTERVAL: Final = "--offset.commit.interval.ms"
LISTENER: Final = "--consumer.rebalance.listener"
LISTENER_ARGS: Final = "--rebalance.listener.args"
HANDLER: Final = "--message.handler"
HANDLER_ARGS: Final = "--message.handler.args"
METRICS: Final = "--metrics.listener"
NEW_CONSUMER: Final = "--new.consumer"
REPARTITION: Final = "--repartition"
DEAD_LETTERS: Final = "--dead.letter.topic"
LOG_LEVEL: Final = "--log-level"

FLAGS: Final = (
    Flag(
        name=CONSUMER,
        value="FILE",
        doc="Properties of the consumer: of the source cluster, with group.id. Required.",
        aliases=("--consumer",),
    ),
    Flag(
        name=PRODUCER,
        value="FILE",
        doc="Properties of the producer: of the target cluster. Required.",
        aliases=("--producer",),
    ),
    Flag(
        name=INCLUDE,
        value="TOPICS",
        doc="Topics to copy: a regular expression of Java's that matches whole names; a comma means"
        " |. Required, unless --blacklist is there.",
        older=("--whitelist",),
    ),
    Flag(
        name=EXCLUDE,
        value="TOPICS",
        doc="Topics not to copy, written likewise; without --include all others are copied. Kafka's"
        " own tool has it no more.",
    ),
    Flag(
        name=STREAMS,
        value="NUMBER",
        doc="Streams of this process, each a Spark task with its own consumer and producer;"
        " 1 unless given.",
    ),
    Flag(
        name=ABORT,
        value="true|false",
        doc="Whether to end when a record cannot be sent; false skips and records it."
        " Default: true.",
        bare="true",
        older=("--abort.on.send.fail", "--abortOnSendFail"),
    ),
    Flag(
        name=INTERVAL,
        value="MS",
        doc="How often offsets are committed, in ms. Default: 60000.",
    ),
    Flag(
        name=LISTENER,
        value="CLASS",
        doc="A rebalance listener in Python, package.module:Class, called after the tool's own.",
    ),
    Flag(
        name=LISTENER_ARGS,
        value="ARGUMENTS",
        doc="The text that the listener is created with.",
        aliases=("--consumer.rebalance.listener.args",),
    ),
    Flag(
        name=HANDLER,
        value="CLASS",
        doc="A message handler in Python, package.module:Class or package.module:function; gets"
        " each record, and returns the records to send.",
    ),
    Flag(
        name=HANDLER_ARGS,
        value="ARGUMENTS",
        doc="The text that the handler's init is called with.",
    ),
    Flag(
        name=REPARTITION,
        doc="Choose partitions by keys, as Kafka's own tool does; left out, records keep theirs.",
    ),
    Flag(
        name=DEAD_LETTERS,
        value="TOPIC",
        doc="With --abort.on.send.failure false: a topic of the target for skipped records.",
    ),
    Flag(
        name=METRICS,
        value="HOST:PORT",
        doc="Where GET /metrics answers in Prometheus' text format; nowhere unless given.",
    ),
    Flag(
        name=LOG_LEVEL,
        value="LEVEL",
        doc="The least level that is logged, of all events or of those of a noun, such as"
        " warning,source=debug. Default: $MM2_LOG_LEVEL, else info.",
    ),
    Flag(
        name=NEW_CONSUMER,
        doc="No effect, with a warning: there is no other consumer.",
    ),
)
