"""``mm2``: the commands around mirroring. Each group of them is a module of its own."""

from __future__ import annotations

import click

from mm2.cli.alter_command import alter
from mm2.cli.checkpoints_commands import checkpoints
from mm2.cli.config_commands import config
from mm2.cli.dump_commands import dump
from mm2.cli.failback_commands import failback
from mm2.cli.failover_commands import failover
from mm2.cli.flows_commands import flows
from mm2.cli.groups_commands import groups
from mm2.cli.heartbeats_commands import heartbeats
from mm2.cli.hops_commands import hops
from mm2.cli.limit_command import limit
from mm2.cli.offsets_commands import offsets
from mm2.cli.status_commands import status
from mm2.cli.sync_groups_commands import sync_groups
from mm2.cli.translate_commands import translate
from mm2.telemetry.logs import configure_command_logs


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="mm2")
def main() -> None:
    """Mirrors Kafka clusters: MirrorMaker 2 in Python, its data plane on Spark."""
    configure_command_logs()


main.add_command(checkpoints)
main.add_command(config)
main.add_command(dump)
main.add_command(failback)
main.add_command(failover)
flows.add_command(alter)
flows.add_command(limit)
main.add_command(flows)
main.add_command(groups)
main.add_command(heartbeats)
main.add_command(hops)
main.add_command(offsets)
main.add_command(status)
main.add_command(sync_groups)
main.add_command(translate)

if __name__ == "__main__":
    main()
