"""Makes a chain of transforms of a connector's properties, or says all that is wrong with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

from mm2.config.keys.definition import Definition, Key, parse_all
from mm2.config.keys.key_table import nearest
from mm2.config.keys.key_types import Type, lenient_boolean, split_list
from mm2.config.transforms.transform_kinds import (
    PREDICATE_KINDS,
    PREDICATES_PACKAGE,
    TRANSFORM_KINDS,
    TRANSFORMS_PACKAGE,
    PredicateKind,
    TransformKind,
)
from mm2.config.transforms.transform_options import Options
from mm2.core.transforms import Step, TransformChain
from mm2.core.transforms.predicates import TopicNameMatches
from mm2.core.transforms.routers import RegexRouter, TimestampRouter
from mm2.core.transforms.transform_chain import RecordPredicate
from mm2.errors import ConfigError

_OF_TRANSFORMS: Final = frozenset({Definition.TRANSFORM})
_CONDITION: Final = (
    Key("predicate", Type.STRING, None, "On what condition.", definitions=_OF_TRANSFORMS),
    Key("negate", Type.BOOLEAN, "false", "On its contrary.", definitions=_OF_TRANSFORMS),
)
_KEYS: Final = ("transforms", "predicates")
_K = TypeVar("_K")


def read_transforms(
    properties: Mapping[str, str],
) -> tuple[TransformChain | None, list[ConfigError]]:
    """
    The chain of a connector, and every mistake in its keys.

    None if there is no transform, or any mistake.
    """
    draft = _ChainDraft(properties)
    predicates = {name: draft.predicate(name) for name in draft.names("predicates")}
    steps = [draft.step(name, predicates) for name in draft.names("transforms")]
    good = [step for step in steps if step is not None]
    chain = TransformChain(good) if good and not draft.mistakes else None
    return chain, draft.mistakes


def transform_mistakes(properties: Mapping[str, str]) -> list[ConfigError]:
    """
    Every mistake in a connector's transforms.

    None of a flow that is switched off: keys at top level may be meant for others. Its heartbeats
    go on without transforms.
    """
    if not lenient_boolean(properties.get("enabled", "true")):
        return []
    return read_transforms(properties)[1]


def chain_of_bytes(properties: Mapping[str, str]) -> TransformChain | None:
    """The chain for heartbeats and checkpoints, which are no JSON; None changes none of them."""
    chain, _ = read_transforms(properties)
    found = None if chain is None else chain.of_bytes()
    return found if found is not None and found.steps else None


def transform_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """Those that say what a chain does; none without transforms."""
    if not split_list(properties.get("transforms", "")):
        return {}
    return {
        key: value
        for key, value in properties.items()
        if key in _KEYS or is_of_transforms(key, properties)
    }


def names_sql(properties: Mapping[str, str]) -> bool:
    """Whether one of Connect's transforms has the name that begins the keys of Spark's SQL."""
    return "sql" in split_list(properties.get("transforms", ""))


def is_of_transforms(name: str, properties: Mapping[str, str]) -> bool:
    """Whether a key is an option of a transform or predicate that the properties list."""
    return any(
        name.startswith(f"{kind}.{each}.")
        for kind in _KEYS
        if name.startswith(f"{kind}.")
        for each in split_list(properties.get(kind, ""))
    )


@dataclass(slots=True)
class _ChainDraft:
    properties: Mapping[str, str]
    mistakes: list[ConfigError] = field(default_factory=list)

    def names(self, key: str) -> tuple[str, ...]:
        """Those that a list has; that it can be read is asked elsewhere."""
        return tuple(dict.fromkeys(filter(None, split_list(self.properties.get(key, "")))))

    def predicate(self, name: str) -> RecordPredicate | None:
        prefix = f"predicates.{name}."
        kind = self._kind("predicates", name, PREDICATE_KINDS, PREDICATES_PACKAGE)
        options = None if kind is None else self._options(prefix, kind, kind.options)
        return None if kind is None or options is None else kind.make(options)

    def step(self, name: str, predicates: Mapping[str, RecordPredicate | None]) -> Step | None:
        prefix = f"transforms.{name}."
        kind = self._kind("transforms", name, TRANSFORM_KINDS, TRANSFORMS_PACKAGE)
        self._check_condition(prefix, predicates)
        options = (
            None if kind is None else self._options(prefix, kind, (*kind.options, *_CONDITION))
        )
        if kind is None or options is None:
            return None
        if found := kind.wrong(options):
            self._add(prefix + (found[0] or "type"), found[1])
            return None
        predicate = predicates.get(options.text("predicate"))
        transform = kind.make(options)
        return Step(
            name=name,
            kind=f"{TRANSFORMS_PACKAGE}{kind.name}",
            transform=transform,
            router=transform if isinstance(transform, RegexRouter | TimestampRouter) else None,
            of_json=kind.of_json,
            predicate=predicate,
            of_topic=predicate if isinstance(predicate, TopicNameMatches) else None,
            negated=options.values["negate"] is True,
        )

    def _check_condition(
        self, prefix: str, predicates: Mapping[str, RecordPredicate | None]
    ) -> None:
        wanted = self.properties.get(f"{prefix}predicate")
        if wanted is None and f"{prefix}negate" in self.properties:
            self._add(f"{prefix}negate", f"{prefix}predicate is missing, which it negates")
        if wanted is not None and wanted.strip() not in predicates:
            advice = "no such predicate: name it in the list of predicates, and give it a type"
            self._add(f"{prefix}predicate", advice, nearest(wanted, predicates))

    def _kind(self, list_key: str, name: str, kinds: Mapping[str, _K], package: str) -> _K | None:
        key = f"{list_key}.{name}.type"
        if key not in self.properties:
            self._add(list_key, f"{key} is missing among the keys of the flow")
            return None
        written = self.properties[key].strip()
        found = kinds.get(written.removeprefix(package))
        if found is None:
            known = f"known are {', '.join(kinds)}"
            near = nearest(written.removeprefix(package), kinds)
            self._add(key, f"no such class: {known}", near)
        return found

    def _options(
        self, prefix: str, kind: TransformKind | PredicateKind, keys: tuple[Key, ...]
    ) -> Options | None:
        rows = {f"{prefix}{key.name}": replace(key, name=f"{prefix}{key.name}") for key in keys}
        self._unknown(prefix, kind, rows)
        values, mistakes = parse_all(rows, self.properties)
        self.mistakes += (self._anchored(prefix, each) for each in mistakes)
        found = {name.removeprefix(prefix): value for name, value in values.items()}
        return None if mistakes else Options(found)

    def _unknown(
        self, prefix: str, kind: TransformKind | PredicateKind, rows: Mapping[str, Key]
    ) -> None:
        others = self._prefixes(prefix)
        for key in sorted(self.properties.keys() - rows.keys() - {f"{prefix}type"}):
            if key.startswith(prefix) and not key.startswith(others):
                near = nearest(key, rows)
                self._add(key, f"{kind.name} has no such option: remove the key", near)

    def _prefixes(self, prefix: str) -> tuple[str, ...]:
        """Of names that begin with this one and a dot."""
        every = (f"{kind}.{name}." for kind in _KEYS for name in self.names(kind))
        return tuple(each for each in every if each != prefix and each.startswith(prefix))

    def _anchored(self, prefix: str, mistake: ConfigError) -> ConfigError:
        """What is missing has no line: the type's is told."""
        if mistake.key in self.properties:
            return mistake
        kind = self.properties[f"{prefix}type"]
        message = f"{prefix}type = {kind}: {mistake.key} is missing, which it needs"
        return ConfigError(message, key=f"{prefix}type", value=kind)

    def _add(self, key: str, message: str, suggestion: str | None = None) -> None:
        value = self.properties[key]
        self.mistakes.append(
            ConfigError(f"{key} = {value}: {message}", key=key, value=value, suggestion=suggestion)
        )
