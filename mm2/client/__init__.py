"""
The client library: what is mirrored into a cluster, asked from Python.

``MirrorClient`` and ``remote_cluster_utils`` are asynchronous, ``mm2.client.blocking`` has both for
programs without an event loop.
"""

from mm2.client.client_config import ClientConfig
from mm2.client.mirror_client import MirrorClient
from mm2.client.remote_checkpoints import RemoteCheckpoint
from mm2.client.seen_heartbeats import SeenHeartbeat

__all__ = ["ClientConfig", "MirrorClient", "RemoteCheckpoint", "SeenHeartbeat"]
