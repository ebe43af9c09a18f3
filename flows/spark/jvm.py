"""
Spark's JVM: how it is started, and how this process reaches it.

PySpark starts it by a shell script and a first JVM that only works out the second one's command
line, and it does so when the SparkContext is made. Here the JVM is started directly, and before
this process imports anything large: both then start at the same time. Where Spark needs more than
that (a cluster as master, jars to fetch, a Spark of the user's own), its script does as always.

Imports nothing of PySpark, which takes longer to import than the JVM takes to start.
"""

from __future__ import annotations

import io
import os
import shlex
import shutil
import signal
import tempfile
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen, TimeoutExpired
from threading import Thread
from typing import IO, Any, ClassVar, Final

import javaproperties

from flows.spark.installed import archive_of, java_launcher, require_java, spark_home
from mm2.errors import FatalError
from mm2.stop_deadlines import JVM_S

DEFAULTS: Final = {
    "spark.app.name": "mm2",
    "spark.ui.enabled": "false",
    # Its pages ask for no password, and would let whoever sees them kill jobs.
    "spark.ui.killEnabled": "false",
    "spark.speculation": "false",
    # Spark asks for no less; what the heap really takes stays far below.
    "spark.driver.memory": "512m",
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xms32m -Xss512k",
    "spark.python.worker.reuse": "true",
    "spark.python.daemon.module": "flows.spark.daemon",
    "spark.log.level": "ERROR",
}
"""Settings of Spark that the user's are put over."""

_GATEWAY: Final = "org.apache.spark.api.python.PythonGatewayServer"
_TO_SPARKS_SCRIPT: Final = (
    "spark.jars",
    "spark.submit.",
    "spark.driver.extraClassPath",
    "spark.driver.extraLibraryPath",
    "spark.driver.defaultJavaOptions",
)
_OWN_SPARK: Final = {"SPARK_HOME", "SPARK_CONF_DIR"}
_OPENED: Final = (
    "java.io",
    "java.lang",
    "java.lang.invoke",
    "java.lang.reflect",
    "java.net",
    "java.nio",
    "java.util",
    "java.util.concurrent",
    "java.util.concurrent.atomic",
    "jdk.internal.ref",
    "sun.nio.ch",
    "sun.nio.cs",
    "sun.security.action",
    "sun.util.calendar",
)
"""Packages of the JDK that Spark reaches into."""

_UNUSED: Final = "spark-mllib_"
"""The first session of SQL would have it enter its functions, at half of that session's cost."""

_LINES_KEPT: Final = 50
_LOOK_EVERY_S: Final = 0.01
OLD_JAVA: Final = "UnsupportedClassVersionError"
_IN_MAIN: Final = 'Exception in thread "main" '
_CAUSE: Final = "Caused by: "
_NO_JVM: Final = "Could not create the Java Virtual Machine"
_OF_JVM: Final = "spark.driver.extraJavaOptions, spark.driver.memory"
_PREAMBLE: Final = ("Picked up ", "OpenJDK ", "WARNING: ", "NOTE: ")


@dataclass(frozen=True, slots=True)
class Gateway:
    """Where the JVM listens for this process, and the word that it wants to hear."""

    port: int
    secret: str


class JvmEnded(Exception):
    """The JVM ended before it listened; the message is the most specific of its last lines."""


class Jvm:
    """
    A started JVM.

    Args:
        settings: of Spark; those that are the JVM's take effect here.
        environment: more variables for it and for the Python processes that it starts.

    Raises:
        FatalError: there is no PySpark or no Java, or they cannot be run.
    """

    is_own: ClassVar[bool] = True
    """Whether it ends when this process wants it to."""

    starting: Any = None
    """The gateway by which a SparkContext is being made."""

    def __init__(
        self,
        settings: Mapping[str, str],
        *,
        environment: Mapping[str, str] | None = None,
        options: tuple[str, ...] = (),
    ) -> None:
        require_java()
        command = direct_command(settings, options)
        self._folder = Path(tempfile.mkdtemp(prefix="mm2-jvm-"))
        self._port_file = self._folder / "gateway"
        # A local Spark reaches itself even where the name of the machine has no address.
        known = {"SPARK_LOCAL_HOSTNAME": "localhost", **os.environ} if command else os.environ
        command = command or spark_submit(settings, self._folder)
        self.process = self._started(command, known, environment or {})
        self.last_lines: deque[str] = deque(maxlen=_LINES_KEPT)
        self._listener: Thread | None = None

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self.process.poll() is None

    def _started(
        self, command: list[str], known: Mapping[str, str], environment: Mapping[str, str]
    ) -> Popen[bytes]:
        try:
            return Popen(  # noqa: S603 - Java, with the user's own options
                command,
                stdin=PIPE,
                stdout=DEVNULL,
                stderr=PIPE,
                start_new_session=True,
                env={
                    **known,
                    "SPARK_HOME": str(spark_home()),
                    "_PYSPARK_DRIVER_CONN_INFO_PATH": str(self._port_file),
                    # One memory arena of the C library a thread is what a JVM of many threads
                    # wastes.
                    "MALLOC_ARENA_MAX": "2",
                    **environment,
                },
            )
        except OSError as error:
            shutil.rmtree(self._folder, ignore_errors=True)
            message = f"Spark does not start: {command[0]} cannot be run: {error.strerror}"
            raise FatalError(message) from error

    def listen(self, relay: Callable[[str], bool]) -> None:
        """Passes on the lines that tasks print; keeps the JVM's last lines."""
        stream = self.process.stderr
        assert stream is not None  # noqa: S101 - a pipe, as asked for

        def follow(stream: IO[bytes]) -> None:
            for line in io.TextIOWrapper(stream, errors="replace"):
                if not relay(line.rstrip()):
                    self.last_lines.append(line.rstrip())

        self._listener = Thread(target=follow, args=(stream,), daemon=True)
        self._listener.start()

    def gateway(self) -> Gateway:
        """
        Waits until the JVM listens.

        Raises:
            JvmEnded: it never will.
        """
        while not self._port_file.exists():
            if self.process.poll() is not None:
                raise JvmEnded(self.failure_reason())
            time.sleep(_LOOK_EVERY_S)
        written = self._port_file.read_bytes()
        shutil.rmtree(self._folder, ignore_errors=True)
        return Gateway(port=int.from_bytes(written[:4], "big"), secret=written[8:].decode())

    def begins_spark(self, gateway: object) -> None:
        """Learns that this thread makes a SparkContext by a gateway."""
        self.starting = gateway

    def has_spark(self, gateway: object) -> None:
        """Learns that Spark has started, and of the gateway to it."""
        self.starting = None

    def failure_reason(self) -> str:
        """What caused the error that the JVM has printed, or what its status was."""
        if self._listener is not None:
            self._listener.join(JVM_S)
        errors = [line for line in self.last_lines if "Exception" in line or "Error" in line]
        if any(_NO_JVM in line for line in errors):
            reasons = (line for line in self.last_lines if line and not line.startswith(_PREAMBLE))
            return f"Java says: {next(reasons)} (see {_OF_JVM}, JAVA_TOOL_OPTIONS)"
        causes = [line.strip() for line in errors if _CAUSE in line]
        telling = [line for line in errors if OLD_JAVA in line] or causes[-1:] or errors
        return (
            telling[0].removeprefix(_IN_MAIN).removeprefix(_CAUSE)
            if telling
            else f"the JVM ended with status {self.process.poll()}"
        )

    def end(self, *, within_s: float = JVM_S) -> None:
        """Ends the JVM: it stops when its standard input does, or is killed."""
        shutil.rmtree(self._folder, ignore_errors=True)
        if self.process.stdin is not None:
            self.process.stdin.close()
        try:
            self.process.wait(within_s)
        except TimeoutExpired:
            # Of the group are also the programs that Spark's script runs one after the other.
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def is_local(settings: Mapping[str, str]) -> bool:
    """Whether Spark runs in one JVM on this machine, and asks for nothing special there."""
    master, _, _ = settings.get("spark.master", "local").partition("[")
    return master == "local" and not any(key.startswith(_TO_SPARKS_SCRIPT) for key in settings)


def direct_command(settings: Mapping[str, str], options: tuple[str, ...] = ()) -> list[str] | None:
    """The command line of a JVM for a local Spark; None where only Spark's script knows."""
    java, jars = java_launcher(), sparks_jars()
    if java is None or not is_local(settings) or _OWN_SPARK & os.environ.keys():
        return None
    archive = archive_of(java, jars)
    _mark_used(archive)
    return [
        str(java),
        f"-Xmx{settings['spark.driver.memory']}",
        *([f"-XX:SharedArchiveFile={archive}"] if archive.exists() else []),
        "-Xshare:auto",
        "-XX:-UsePerfData",
        *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED),
        "-Djdk.reflect.useDirectMethodHandle=false",
        "-Dio.netty.tryReflectionSetAccessible=true",
        *shlex.split(settings["spark.driver.extraJavaOptions"]),
        *options,
        "-cp",
        ":".join(map(str, jars)),
        _GATEWAY,
    ]


def _mark_used(archive: Path) -> None:
    """Sets the time of last use, by which old archives are told apart."""
    with suppress(OSError):
        os.utime(archive)


def sparks_jars() -> list[Path]:
    """The class path, in a fixed order, as a class data archive demands."""
    jars = (spark_home() / "jars").glob("*.jar")
    return sorted(jar for jar in jars if not jar.name.startswith(_UNUSED))


def spark_submit(settings: Mapping[str, str], folder: Path) -> list[str]:
    """
    The command line of Spark's script.

    Settings are in a file of ``folder``: everybody on the machine can read a command line, and
    ``spark.authenticate.secret`` is among the settings.

    Args:
        settings: of Spark; they take precedence over those of ``spark-defaults.conf``.
        folder: of this user alone.
    """
    file = folder / "spark.properties"
    file.touch(mode=0o600)
    file.write_text(javaproperties.dumps(settings, timestamp=None), encoding="latin-1")
    script = str(spark_home() / "bin" / "spark-submit")
    return [script, "--properties-file", str(file), "--load-spark-defaults", "pyspark-shell"]
