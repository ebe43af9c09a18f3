"""Properties of the configuration that hold for any input."""

from __future__ import annotations

import javaproperties
from hypothesis import given
from hypothesis import strategies as st

from mm2.config.checks.findings import findings
from mm2.config.keys.key_table import CLIENT_NAMES, CONNECTOR_NAMES, TABLE
from mm2.config.keys.key_types import split_list
from mm2.config.mirror_maker_config import MirrorMakerConfig
from mm2.config.text.properties import PropertiesFile, parse
from mm2.config.text.redact import PASSWORD_KEYS, redacted
from mm2.core.model import SOURCE_CONNECTOR
from mm2.errors import ConfigError

_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
_LEVELS = st.sampled_from(("", "A.", "B.", "A->B.", "B->A.", "A.producer.", "A->B.source.admin."))
_KEYS = st.tuples(_LEVELS, st.sampled_from(sorted(CONNECTOR_NAMES | CLIENT_NAMES | set(TABLE))))
_FILES = st.dictionaries(
    _KEYS.map("".join), st.sampled_from(("true", "1", "a,b", "x(", "", "A, B"))
)


@given(values=st.dictionaries(_TEXT, _TEXT, max_size=5))
def test_what_is_written_as_properties_is_read_back(values: dict[str, str]) -> None:
    assert (
        parse(javaproperties.dumps(values, timestamp=False).encode("iso-8859-1")).values == values
    )


@given(data=st.binary(max_size=60))
def test_every_key_has_a_line_within_the_file(data: bytes) -> None:
    try:
        file = parse(data)
    except ConfigError:
        return
    assert file.lines.keys() == file.values.keys()
    last = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").count(b"\n") + 1
    assert all(1 <= line <= last for line in file.lines.values())


@given(
    items=st.lists(
        st.text(
            st.characters(codec="ascii", exclude_characters=", \t\n\r\f\v", min_codepoint=33),
            min_size=1,
        )
    )
)
def test_lists_are_split_where_they_were_joined(items: list[str]) -> None:
    assert list(split_list(" , ".join(items))) == items


@given(prefix=_LEVELS, name=st.sampled_from(sorted(PASSWORD_KEYS)), secret=st.just("G-E-H-E-I-M"))
def test_no_password_is_shown_under_any_prefix(prefix: str, name: str, secret: str) -> None:
    assert secret not in str(redacted({prefix + name: secret}))


@given(values=_FILES)
def test_finding_problems_never_fails(values: dict[str, str]) -> None:
    lines = {key: line for line, key in enumerate(values, start=1)}
    for finding in findings(PropertiesFile(values={"clusters": "A, B", **values}, lines=lines), {}):
        assert finding.problem.message


@given(
    values=st.dictionaries(
        st.tuples(
            st.sampled_from(("", "A.", "A->B.", "B.")), st.sampled_from(("tasks.max", "topics"))
        ).map("".join),
        st.sampled_from(("1", "2")),
    )
)
def test_every_setting_comes_from_the_key_it_names(values: dict[str, str]) -> None:
    maker = MirrorMakerConfig(raw={"clusters": "A, B", **values})
    for flow in maker.cluster_pairs():
        for setting in maker.connector_settings(flow, SOURCE_CONNECTOR).values():
            assert setting.key is None or maker.raw[setting.key] == setting.value
