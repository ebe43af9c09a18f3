"""``mm2 package-env``: what executors of a Spark cluster need, as an archive."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from flows.spark.package_env import package_environment
from mm2.errors import ConfigError


@click.command("package-env")
@click.argument("archive", type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--with",
    "more",
    metavar="NAME",
    multiple=True,
    help="An installed distribution with classes of your own; may be given more than once.",
)
def package_env(archive: Path, more: tuple[str, ...]) -> None:
    """
    Packs mm2 and what it requires for the workers of a Spark cluster.

    ARCHIVE is a .tar.gz that Spark unpacks for each executor, so that workers need nothing but
    the same Python at the same path. Prints the settings that use it.

    Exit status: 0 done, 1 the archive cannot be written, or a distribution is not installed.
    """
    if not archive.name.endswith((".tar.gz", ".tgz")):
        raise click.BadParameter("its name has to end with .tar.gz: Spark goes by that.")
    try:
        size = package_environment(archive, more)
    except (ConfigError, OSError) as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"{archive}: {size / 1e6:.0f} MB, for {Path(sys.executable).resolve()}", err=True)
    click.echo(f"spark.archives = {archive.resolve()}#env")
    click.echo("spark.pyspark.python = ./env/bin/python")
