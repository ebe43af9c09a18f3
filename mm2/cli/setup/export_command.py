"""``mm2 export``: flows of a file as connectors, or as resources of Strimzi."""

from __future__ import annotations

import json
from pathlib import Path

import click

from mm2.cli.completing import flow_option
from mm2.cli.options import FILE, maker_of, tell
from mm2.interchange.connector_export import connector_requests
from mm2.interchange.secret_references import variables_in
from mm2.interchange.strimzi_export import StrimziExport


@click.command("export")
@FILE
@click.option(
    "--as",
    "kind",
    type=click.Choice(["connectors", "strimzi"]),
    default="connectors",
    show_default=True,
    help="JSON as POST /connectors takes it, or KafkaMirrorMaker2 resources, v1, in YAML.",
)
@flow_option("Only this one, written A->B.")
def export(file: Path, kind: str, flow: str | None) -> None:
    """
    Prints the flows of a file for Kafka Connect, or for Strimzi.

    Connectors are a list, each with its name and its whole configuration; those of a flow belong
    into a worker of the flow's target. Secrets are not printed: connectors refer to variables of
    the environment, such as MM2_A_SASL_JAAS_CONFIG for A.sasl.jaas.config of the file, and
    Strimzi's resources to Kubernetes' secrets. Standard error names them.

    Exit status: 0 done, 2 a wrong file, or there is no such flow.
    """
    maker = maker_of(file)
    names = [str(each) for each in maker.cluster_pairs()]
    if flow is not None and flow not in names:
        raise click.UsageError(f"There is no flow {flow}; flows are {', '.join(names) or 'none'}.")
    if kind == "strimzi":
        strimzi = StrimziExport(maker)
        click.echo(strimzi.text(flow), nl=False)
        tell(strimzi.notes)
        return
    requests = [
        request
        for pair in maker.cluster_pairs()
        if flow in (None, str(pair))
        for request in connector_requests(maker, pair)
    ]
    click.echo(json.dumps(requests, indent=2))
    variables = {name for each in requests for name in variables_in(each["config"])}
    if variables:
        named = ", ".join(sorted(variables))
        providers = "and let config.providers = env name Kafka's EnvVarConfigProvider"
        tell([f"Set in the workers' environment: {named}; {providers}."])
