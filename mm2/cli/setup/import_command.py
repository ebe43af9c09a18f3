"""``mm2 import``: configurations of other programs as properties."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

from mm2.cli.options import tell
from mm2.errors import ConfigError
from mm2.interchange.fill_template import filled
from mm2.interchange.strimzi_import import SECRETS_FOLDER, read_strimzi

_FILE: Final = click.Path(path_type=Path)


@click.group("import")
def import_() -> None:
    """Turns configurations of other programs into properties files."""


@import_.command("strimzi")
@click.argument("file", type=_FILE)
@click.option(
    "--secrets-folder",
    default=SECRETS_FOLDER,
    show_default=True,
    help="Where the mirror will have the secrets, each in a folder of its name.",
)
def strimzi(file: Path, secrets_folder: str) -> None:
    """
    Prints the properties of a KafkaMirrorMaker2 of Strimzi, v1 or v1beta2.

    Certificates and passwords become expressions that read the files of mounted secrets. What
    cannot be taken over stands in comments, and on standard error. Number of pods, resources and
    templates are not settings of a mirror: see mm2 render kubernetes.

    Exit status: 0 done, 2 the file cannot be read.
    """
    try:
        imported = read_strimzi(file.read_text(encoding="utf-8"), secrets_folder)
    except (OSError, UnicodeDecodeError, ConfigError) as error:
        raise click.UsageError(f"{file}: {error}") from error
    notes = [" ".join(each.split()) for each in imported.notes]
    title = f"Imported from Strimzi's KafkaMirrorMaker2 {imported.name!r}."
    text = filled(
        "imported.properties.j2", title=title, notes=notes, properties=imported.properties
    )
    click.echo(text, nl=False)
    tell(notes)
