"""
Changes records on their way: where a partition leaves the byte path.

``TopicTransforms`` says which transform a partition has: a ``Handle``, which makes a list of
records of one record, and may be asynchronous. A partition without one is forwarded as bytes. Of
others ``RecordStage`` queues what was fetched. ``ChunkTransform`` has the records handled, in
order, and sends what becomes of them, each batch with the range of source offsets that it covers.

What a transform sees is a ``SourceRecord`` with the name of the remote topic. It returns any number
of records; that one itself, or one made with ``dataclasses.replace``, keeps partition and time. It
must be deterministic: after a crash its results are compared with what the target has already.
"""
