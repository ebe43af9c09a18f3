"""What the client library offers is offered everywhere, and written down."""

from __future__ import annotations

import inspect

from mm2.client import MirrorClient, blocking, remote_cluster_utils
from tests.support.layout import ROOT


def _public(thing: type) -> set[str]:
    return {
        name
        for each in thing.__mro__[:-1]
        for name, member in vars(each).items()
        if not name.startswith("_")
        and (isinstance(member, property | classmethod) or inspect.isfunction(member))
    }


def _functions() -> set[str]:
    own = remote_cluster_utils.__name__
    members = vars(remote_cluster_utils).items()
    return {name for name, each in members if getattr(each, "__module__", None) == own}


def test_programs_without_an_event_loop_have_all_calls() -> None:
    assert _public(MirrorClient) - {"of_cluster"} == _public(blocking.MirrorClient)
    assert _functions() <= set(vars(blocking))


def test_the_reference_names_every_call() -> None:
    page = (ROOT / "docs" / "reference" / "client.md").read_text()
    assert [name for name in _public(MirrorClient) if f"`{name}" not in page] == ["of_cluster"]
    assert [name for name in _functions() if f"`{name}(" not in page] == []
