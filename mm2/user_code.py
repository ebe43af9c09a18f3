"""
Calls of code that is not ours: it neither ends nor blocks what calls it.

A class that a configuration names may raise whatever it likes, ``SystemExit`` among it, and may
never answer. Each has a thread of its own, which nobody waits for longer than a limit. A call that
does not end cannot be ended: its thread stays, and until it is done nothing more is asked there.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from functools import cache
from queue import SimpleQueue
from typing import Final, TypeVar, cast

from mm2.errors import ConfigError
from mm2.stop_deadlines import CLASSES_S

LOADED_WITHIN_S: Final = 20.0
"""A class is imported and created in this time; modules may be large."""

ANSWERS_WITHIN_S: Final = 5.0
"""It answers a question in this time."""

_T = TypeVar("_T")


class ForeignError(Exception):
    """What foreign code has raised, whatever it was, or that it does not answer."""


class Foreign:
    """
    Where the code of one class runs.

    Args:
        name: names the thread.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._late: Future[object] | None = None
        self._starting = threading.Lock()

    def call(self, function: Callable[[], _T], *, within_s: float = ANSWERS_WITHIN_S) -> _T:
        """
        What ``function`` returns, called in the thread; at once, if that is where we are.

        Raises:
            ForeignError: it has raised something, or does not return in time.
            ConfigError: it has raised that.
        """
        if threading.current_thread() is self._thread:
            return function()
        if self._late is not None and not self._late.done():
            raise ForeignError("an earlier call has not returned yet")
        found: Future[_T] = Future()
        self._put(lambda: _set_result(found, function))
        try:
            return found.result(within_s)
        except TimeoutError:
            self._late = found  # type: ignore[assignment]  # only whether it is done counts
            raise ForeignError(f"has not returned within {within_s:.0f} s") from None

    def close(self, function: Callable[[], None]) -> None:
        """
        Calls ``function`` in the thread when it is free; nobody waits for that (``wait_closed``).

        What it raises is logged.
        """
        closed: Future[None] = Future()
        closed.add_done_callback(self._report_close)
        _closing.add(closed)
        self._put(lambda: _set_result(closed, function))

    def _report_close(self, closed: Future[None]) -> None:
        _closing.discard(closed)
        if error := closed.exception():
            _warn(name=self._name, error=str(error))

    def _put(self, job: Callable[[], None]) -> None:
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
                self._thread.start()
        self._jobs.put(job)

    def _work(self) -> None:
        while True:
            self._jobs.get()()


_closing: Final[set[Future[None]]] = set()


def _warn(**fields: str) -> None:
    import structlog  # noqa: PLC0415 - takes long to import, while a program starts

    log = structlog.get_logger()
    log.warning("class.not_closed", **fields)


def wait_closed(within_s: float = CLASSES_S) -> None:
    """Waits for all that is being closed; what does not end in time is logged and left."""
    if late := wait(set(_closing), within_s).not_done:
        error = f"{len(late)} have not returned within {within_s:.0f} s"
        _warn(error=error)


@cache
def foreign(name: str) -> Foreign:
    """The one place where the code of a class runs."""
    return Foreign(name)


@dataclass(slots=True)
class _Slot:
    making: threading.Lock = field(default_factory=threading.Lock)
    made: tuple[object, Callable[[], None]] | None = None


@dataclass(slots=True)
class _Scope:
    holders: int = 0
    slots: dict[str, _Slot] = field(default_factory=dict)


class Shared:
    """
    Objects that several use, one of each kind for a configuration.

    Each is made when it is first asked for, and closed once, when the last holder of its
    configuration lets go. What was asked for without any holder is kept, for the next holder or for
    the end of the process.
    """

    def __init__(self) -> None:
        self._scopes: dict[Hashable, _Scope] = {}
        self._lock = threading.Lock()

    def get(
        self,
        configuration: Hashable,
        kind: str,
        make: Callable[[], tuple[_T, Callable[[], None]]],
    ) -> _T:
        """
        The object of a kind; ``make`` returns it with what closes it, and may raise.

        Args:
            configuration: has one of each kind.
            kind: which; always of the same type.
            make: is called if there is none.
        """
        with self._lock:
            scope = self._scopes.setdefault(configuration, _Scope())
            slot = scope.slots.setdefault(kind, _Slot())
        # One kind may need another to be made; only those who want the same wait.
        with slot.making:
            if slot.made is None:
                slot.made = make()
                with self._lock:  # Its last holder may have gone meanwhile.
                    self._scopes.setdefault(configuration, scope).slots.setdefault(kind, slot)
            return cast("_T", slot.made[0])

    def hold(self, configuration: Hashable) -> None:
        """Keeps what there is, and will be, of a configuration until ``release``."""
        with self._lock:
            self._scopes.setdefault(configuration, _Scope()).holders += 1

    def release(self, configuration: Hashable) -> None:
        """Ends one ``hold``; does not wait for what is closed then."""
        with self._lock:
            scope = self._scopes.get(configuration)
            if scope is None:
                return  # Everything was closed.
            scope.holders -= 1
            if scope.holders > 0:
                return
            del self._scopes[configuration]
        _close(scope)

    def close(self) -> None:
        """Closes everything, whoever holds it: the process ends."""
        with self._lock:
            scopes, self._scopes = self._scopes, {}
        for scope in scopes.values():
            _close(scope)


def _close(scope: _Scope) -> None:
    """In the reverse order of asking, because one may use another."""
    for slot in reversed(scope.slots.values()):
        if slot.made is not None:
            slot.made[1]()


def _set_result(found: Future[_T], function: Callable[[], _T]) -> None:
    try:
        result = function()
    except ConfigError as error:
        found.set_exception(error)
    except BaseException as error:  # noqa: BLE001 - nothing that it raises may pass
        found.set_exception(ForeignError(_message(error)))
    else:
        found.set_result(result)


def _message(error: BaseException) -> str:
    try:
        return repr(error)
    except BaseException:  # noqa: BLE001 - as above
        return type(error).__name__
