"""
Kafka Connect's single message transforms over the records of a mirror, whose data are bytes.

Transforms of fields are an extension: they read key or value as JSON, and write JSON again, where
Java's MirrorMaker fails because its records have no fields.
"""

from mm2.core.transforms.transform_chain import Step, TransformChain, own_record

__all__ = ["Step", "TransformChain", "own_record"]
