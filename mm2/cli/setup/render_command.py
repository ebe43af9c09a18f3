"""``mm2 render``: what runs a mirror elsewhere, made from its configuration."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import click

from mm2.cli.options import FILE, USAGE, end, maker_of, tell
from mm2.errors import ConfigErrors

KINDS: Final = ("docker", "compose", "kubernetes", "systemd", "prometheus", "grafana")
_LABEL: Final = re.compile(r"[a-z]([-a-z0-9]{0,51}[a-z0-9])?")
_IMAGE: Final = re.compile(r"[\w.:/@-]+")


def _label(_context: click.Context, _option: click.Parameter, value: str | None) -> str | None:
    if value is not None and not _LABEL.fullmatch(value):
        message = (
            f"{value!r}: use at most 53 lower-case letters, digits and hyphens, a letter first"
        )
        raise click.BadParameter(message)
    return value


def _image(_context: click.Context, _option: click.Parameter, value: str) -> str:
    if not _IMAGE.fullmatch(value):
        message = f"{value!r} is no name of an image"
        raise click.BadParameter(message)
    return value


@click.command()
@click.argument("kind", type=click.Choice(KINDS))
@FILE
@click.option("--name", default="mm2", show_default=True, callback=_label, help="Of what is made.")
@click.option("--image", default="mm2:latest", show_default=True, callback=_image)
@click.option("--namespace", callback=_label, help="Of Kubernetes.")
@click.option("--replicas", type=click.IntRange(1), default=2, show_default=True, help="Nodes.")
@click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the files, which must not be there yet; without it, they are printed.",
)
def render(
    kind: str,
    file: Path,
    *,
    name: str,
    image: str,
    namespace: str | None,
    replicas: int,
    output: Path | None,
) -> None:
    """
    Renders what runs the mirror of FILE, or watches it.

    An image, a compose file, manifests, a unit; rules of alerts with a job that scrapes, and a
    dashboard.

    Secrets of the file are not rendered: the configuration reads them from the environment, and
    standard error says which variables it needs.

    Exit status: 0 done, 2 the file is wrong, or a file is there already.
    """
    # Templates take a moment to import; other commands do without.
    from mm2.interchange.deployment import deployment_of  # noqa: PLC0415
    from mm2.interchange.manifests import SHIPPED, manifests  # noqa: PLC0415
    from mm2.interchange.spark_on_kubernetes import IMAGE_KEY, has_own_template  # noqa: PLC0415

    try:
        deployment = deployment_of(
            maker_of(file), kind, name=name, image=image, replicas=replicas, namespace=namespace
        )
    except ConfigErrors as errors:
        end(USAGE, *(f"{file}: {problem}" for problem in errors.problems))
    texts = manifests(kind, deployment)
    if output is None:
        _print(texts)
    else:
        _write(texts, output)
    if kind in SHIPPED:
        silent = kind == "prometheus" and deployment.scrape is None
        tell(["No listener answers with metrics: there is no scrape job."] if silent else [])
        return
    tell(
        f"{key} is to be given as ${variable}."
        for variable, key in deployment.references.moved.items()
    )
    if deployment.pod_fields and IMAGE_KEY not in deployment.references.properties:
        tell([f"{file}: no {IMAGE_KEY}: name an image of Spark with Python and mm2 for executors."])
    if deployment.pod_fields and has_own_template(deployment.references.properties):
        tell([f"{file}: its own template of executors has to mount the files that it names."])
    if deployment.listeners.rest is None and deployment.listeners.probed is None:
        tell(["REST listens on the machine alone, or not at all: there are no probes."])


def _print(texts: dict[str, str]) -> None:
    for name, text in texts.items():
        click.echo(text if len(texts) == 1 else f"# ---- {name}\n{text}", nl=False)


def _write(texts: dict[str, str], folder: Path) -> None:
    if there := [str(folder / name) for name in texts if (folder / name).exists()]:
        end(USAGE, f"There already: {', '.join(there)}. Move them away, or choose another folder.")
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text)
