"""
Files for MirrorMaker as hypothesis makes them up: lines at every level, good, odd and refused.

``SECRETS`` stands for a folder of the test's, in which providers find something.
"""

from __future__ import annotations

from hypothesis import strategies as st

from mm2.config.keys.key_table import CLIENT_NAMES, CONNECTOR_NAMES, MAKER_KEYS
from mm2.config.keys.key_types import JAVA_CLASSES, Type

PROVIDER_PACKAGE = "org.apache.kafka.common.config.provider."
_ALIASES = ("A", "B", "C")
_FLOWS = tuple(f"{s}->{t}" for s in (*_ALIASES, "X") for t in _ALIASES if s != t)
_BOOLEANS = ("true", "false", "TRUE", " true", "true ", "yes", "1", "", "False\\ ")
_LISTS = ("a", "a, b", "a,", ",", "", "a,,b", " ", "a , a,b", r"t\\.x.*, \\w+")
_NUMBERS = (
    "0x1p3",
    "-0X.8P-1f",
    "1e400",
    "Infinity",
    ".5",
    "5.",
    "9223372036854775808",
    "32768",
    "1",
    "0",
    "-1",
    "+7",
    "1.5",
    "x",
    "",
    "99999999999",
    "3600",
    "3601",
    "0x10",
    "1e3",
    "1d",
    "NaN",
    "٣",
)
_WORDS = (
    "plaintext",
    "SASL_ssl",
    "abc",
    "none",
    "required",
    "legacy",
    "source",
    "x y",
    "é",
    "a\\tb",
)
_EXPRESSIONS = (
    "${env:MM2_ONE}",
    "${env:MM2_TWO}",
    "${env:MM2_TRUE}",
    "a${env:MM2_ONE}b${env:NONE}c",
    "${env:OTHER}",
    "${file:SECRETS/some.properties:one}",
    "${file:SECRETS/some.properties:two}",
    "${file:SECRETS/some.properties:uml}",
    "${file:SECRETS/below/../some.properties:one}",
    "${file::one}",
    "${dir:SECRETS:plain}",
    "${dir:SECRETS:none}",
    "${dir:SECRETS/none:plain}",
    "${nobody:x}",
    "${env:${env:MM2_ONE}}",
    "${:x}",
    "${env::MM2_ONE}",
    "${file:SECRETS/some.properties:one:two}",
    "${nobody:a:b:c} ${dir:SECRETS:plain:x}",
    "${env:}",
)
_FAILING = (
    "${env:/x:MM2_ONE}",
    "${file:SECRETS/none:one}",
    "${file:SECRETS/latin:one}",
    "${dir:SECRETS:latin}",
)
_LEVELS = (
    "",
    *(f"{a}." for a in _ALIASES),
    *(f"{f}." for f in _FLOWS),
    "X.",
    "a.",
    "A->",
    ".",
    "A.B.",
    "A.B->A.",
    "config.",
    "consumer.",
    "A->B->C.",
    "\\u00e9.",
)
_CLIENT_LEVELS = tuple(
    level + kind
    for level in ("", "A.", "B.", "A->B.", "A->B.source.", "source.")
    for kind in ("producer.", "consumer.", "admin.")
)
OTHERS = (
    "xxx",
    "offset.storage.replication.factor",
    "offset.storage",
    "offset.storagex",
    "status.storage.topic",
    "config.storage.topic",
    "key.converter.schemas.enable",
    "task.shutdown.graceful.timeout.ms",
    "tasks.max",
    "worker.sync.timeout.ms",
    "replication.policy.mine",
    "replication.policy.separator",
    "client.id",
    "group.id",
    "name",
    "connector.class",
    "source.cluster.alias",
    "use.defaults.from",
    "consumerfoo",
    "consumer\\nfoo",
    "admin\\u2028",
    "providers",
    "storage.topic",
    "adminx.y",
    "consumer.poll.timeout.ms",
    "admin.timeout.ms",
    "rename.topics",
    "refresh.topics",
    "topics.blacklist",
    "emit.heartbeats",
    "remote.admin.x",
    "heartbeats.topic.retention.ms",
    "spark.master",
    "transforms.x.type",
    "producer.override.acks",
)
_CLASSES = (
    *sorted(JAVA_CLASSES),
    "org.apache.kafka.common.security.NoSuchLogin",
    "com.example.Mine",
    " org.apache.kafka.common.security.authenticator.DefaultLogin ",
    "",
)
_CLASS_KEYS = sorted(name for name, key in MAKER_KEYS.items() if key.type is Type.CLASS)
_HEADERS = st.lists(
    st.sampled_from(
        (
            "set",
            "add",
            "setDate",
            "Set",
            "X-Frame",
            "a",
            ":",
            ": ",
            " ",
            "b c",
            ",",
            '"',
            "\\\\",
            "'",
        )
    ),
    max_size=9,
).map("".join)
_VALUES = st.sampled_from((*_BOOLEANS, *_LISTS, *_NUMBERS, *_WORDS, *_EXPRESSIONS))
_NAMES = st.one_of(
    st.sampled_from(sorted(CONNECTOR_NAMES)),
    st.sampled_from(sorted(CLIENT_NAMES)),
    st.sampled_from(sorted(MAKER_KEYS)),
    st.sampled_from(OTHERS),
)
_BELOW = st.sampled_from(_LEVELS[1:])
_SWITCH_LEVELS = st.sampled_from(("", *(f"{flow}." for flow in _FLOWS)))
_LINE = st.one_of(
    st.tuples(_BELOW, _NAMES, _VALUES),
    st.tuples(_BELOW, st.sampled_from(OTHERS), _VALUES),
    st.tuples(st.sampled_from(("A.", "B.", "A->B.")), st.sampled_from(OTHERS), _VALUES),
    st.tuples(st.sampled_from(_CLIENT_LEVELS), st.sampled_from(sorted(CLIENT_NAMES)), _VALUES),
    st.tuples(st.just(""), st.sampled_from(sorted(CONNECTOR_NAMES - MAKER_KEYS.keys())), _VALUES),
    st.tuples(st.just(""), st.sampled_from(OTHERS), _VALUES),
    st.tuples(_SWITCH_LEVELS, st.just("enabled"), st.sampled_from(_BOOLEANS)),
    st.tuples(
        _SWITCH_LEVELS,
        st.just("emit.heartbeats.enabled"),
        st.sampled_from((*_BOOLEANS, "${env:MM2_TRUE}")),
    ),
)
_REJECTABLE = st.one_of(
    st.tuples(st.just(""), st.sampled_from(_CLASS_KEYS), st.sampled_from(_CLASSES)),
    st.tuples(st.just(""), st.just("response.http.headers.config"), _HEADERS),
    st.tuples(st.just(""), st.just("response.http.headers.config"), st.just("set A:b, add C: d")),
    st.tuples(st.just(""), st.sampled_from(sorted(MAKER_KEYS)), _VALUES),
    st.tuples(_BELOW, _NAMES, st.sampled_from(_FAILING)),
)
# Most files stand, and are long enough to say something at every level.
LINES = st.tuples(
    st.lists(_LINE, min_size=4, max_size=30),
    st.one_of(st.just([]), st.just([]), st.lists(_REJECTABLE, max_size=2)),
).map(lambda parts: [*parts[0], *parts[1]])
_GOOD_CLUSTERS = ("A, B", "A,B,C", "B , A , B", "A,B") * 4
# Names that look like parts of keys.
_ODD_CLUSTERS = (
    "A.B, A",
    "config, offset",
    "consumer, A",
    "source, target",
    "A->B, C",
    "\\u00e9, x y",
)
CLUSTERS = st.sampled_from(
    (*_GOOD_CLUSTERS, *_ODD_CLUSTERS, "A", "", "A,,B", "A,", "${env:MM2_TWO}", None, "A,B,A->B")
)
PROVIDERS = st.fixed_dictionaries(
    {
        "names": st.sampled_from(
            (None, None, "env,file,dir", "env,file,dir", "env, file, dir", "file,nobody,env ", "")
        ),
        "env": st.sampled_from(("EnvVarConfigProvider",) * 9 + ("Nonsense",)),
        "short": st.sampled_from((False,) * 9 + (True,)),
        "allowlist": st.sampled_from((None, None, "MM2_.*", "OTHER")),
        "paths": st.sampled_from(
            (None,) * 8 + ("SECRETS", "SECRETS/below", "relative", "/does/not/exist", "SECRETS,/,")
        ),
    }
)


def provider_lines(providers: dict[str, str | bool | None]) -> list[str]:
    """The lines of a file that set these providers up."""
    names = providers["names"]
    if names is None:
        return []
    package = "" if providers["short"] else PROVIDER_PACKAGE
    lines = [
        f"config.providers={names}",
        f"config.providers.env.class={PROVIDER_PACKAGE}{providers['env']}",
        f"config.providers.file.class={package}FileConfigProvider",
        f"config.providers.dir.class={package}DirectoryConfigProvider",
    ]
    if providers["allowlist"]:
        lines.append(f"config.providers.env.param.allowlist.pattern={providers['allowlist']}")
    if providers["paths"]:
        lines.append(f"config.providers.file.param.allowed.paths={providers['paths']}")
        lines.append(f"config.providers.dir.param.allowed.paths={providers['paths']}")
    return lines
