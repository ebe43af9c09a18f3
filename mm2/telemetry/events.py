"""
Every event that mm2 logs, and what it means to the person who reads it.

An event is a constant name, ``noun.past_tense``; its fields are typed and named alike everywhere.
A test holds this list against the code; ``docs/reference/events.md`` is made from it.
"""

from __future__ import annotations

from typing import Final

EVENTS: Final = {
    "alteration.ignored": "The file has made an altered setting wrong; the flow runs without it.",
    "bundle.ended": "A bundle's task ended because it was told to; its totals.",
    "bundle.not_drained": "A bundle took too long to stop and was ended; what it had not committed "
    "is mirrored again.",
    "bundle.restarted": "A bundle's task has ended, and starts anew with present settings.",
    "bundle.silent": "A bundle's task runs, but has reported nothing for so many seconds: its "
    "process hangs, and is replaced.",
    "bundle.stop_not_delivered": "The target did not take the message that stops the bundles.",
    "checkpoint.chosen": "A checkpoint is to be written.",
    "checkpoint.emitted": "Checkpoints were written.",
    "checkpoint.ignored": "A record of the checkpoints topic cannot be read; it is passed over.",
    "checkpoint.reset": "These topics, or their copies, were deleted and made anew; what "
    "groups had read of the former ones counts no more.",
    "checkpoint.skipped": "A group's offsets could not be looked at this time.",
    "checkpoint.unwritable": "A checkpoint cannot be encoded.",
    "checkpoints.loaded": "Earlier checkpoints were read back.",
    "checkpoints.not_followed": "What the opposite flow has given groups is not known in time; no "
    "checkpoints are made until it is, so that none is an echo.",
    "checkpoints.not_read": "A topic of checkpoints may not be read: which of a group's commits is "
    "the later one is not known from there.",
    "cluster.unreachable": "A cluster does not answer, or refuses us; it is asked again.",
    "config.doubtful": "Something in the file is taken as Kafka's MirrorMaker takes it, but was"
    " probably not meant; mm2 config validate shows it too.",
    "config.needs_restart": "These settings have changed in the file, and count from the next "
    "start of the process.",
    "config.read_again": "SIGHUP: the file was read again, and these flows are not as they were.",
    "config.rejected": "New settings are wrong in these ways; the old ones stay.",
    "config.spelling": "A key has an older spelling, or no effect; the message says what to write.",
    "connector.held": "Operators have paused or stopped the connector; it waits until it is "
    "resumed.",
    "connector.restarted": "An operator has a connector, or one of its tasks, start anew.",
    "connector.refused": "A connector does not run because its settings contradict each other.",
    "control.assignment_outdated": "An assignment came behind a newer one, because it was written "
    "a second time; it is not obeyed.",
    "control.unreadable": "A record of the control topic is damaged; it is passed over.",
    "driver.failed": "The process ends because of an error; see the exit status.",
    "driver.started": "The process runs these flows.",
    "driver.stopped": "Everything has ended.",
    "driver.stopping": "A signal asked to stop; bundles drain and commit.",
    "flow.assigned": "Partitions were given to bundles.",
    "flow.catching_up": "The copy of the flow is behind, as a first one is: how far it is, and "
    "what is left. Logged once a minute. eta_s is empty while the lag does not shrink.",
    "flow.caught_up": "The flow that was behind copies records as they come.",
    "flow.copied": "The flow copies records as they come: how many partitions it has, how fast it "
    "goes, and its lag. Logged once a minute, and never while nothing is copied.",
    "flow.unusable": "The settings of this flow are wrong in these ways: it does not run, the "
    "others do. Mend the file and send SIGHUP.",
    "flow.fenced": "Tasks of earlier leaders write no more, and what they left open is aborted.",
    "flow.held": "An operator has stopped the flow; it waits until it is resumed.",
    "flow.led": "This node leads the flow, with this epoch.",
    "flow.rebalanced": "The loads of bundles were uneven for a while: partitions change hands, "
    "each drained and committed before its new bundle begins. The first ten are named.",
    "flow.duplicate_target": "Several targets of this file are one cluster under several names. "
    "Flows into them from the same source share a group and internal topics, so that only one of "
    "them is led at a time. Keep one of the names; heartbeats make a flow of each pair of them.",
    "flow.mirrors_itself": "Both aliases of the flow are of one cluster; these topics would be "
    "copied without end and are left out.",
    "flow.reconfigured": "The flow goes on with other settings: which, and what that takes.",
    "flow.started": "Both clusters answer and the internal topics are there.",
    "flow.stopped": "The flow has drained and ended.",
    "flow.abandoned": "This node leads the flow no more, and has ended its tasks at once; the "
    "reason says why. It follows, and leads again if it is elected.",
    "flow.config_differs": "The node that leads the flow has another configuration file than this "
    "one; the leader's counts.",
    "flow.lease_not_written": "The target did not take this node's lease of the flow; it is tried "
    "again. Once the last one has run out, tasks pause (source.suspended).",
    "flow.not_joined": "The flow's group on the target does not let this node in; it is asked "
    "again. Until then the node does not lead the flow.",
    "flow.refused": "Another program runs the flow, Kafka's MirrorMaker: it has members in the "
    "flow's group. Stop it there; this node asks again and again, and other flows go on.",
    "flow.releasing": "Another node is to lead the flow, or this one is to stop: its tasks drain "
    "and commit.",
    "flow.resumed": "The leader reads its own lease again, and that nobody else has led: all goes "
    "on.",
    "flow.suspended": "The leader has not read its own lease for as long as one lasts, mostly "
    "because the target is away. Until it does (flow.resumed) it looks after no topics and sends "
    "no heartbeats and no checkpoints. It ends when it reads that another one leads.",
    "flow.tasks_changed": "With tasks.max=auto, the flow gets more tasks because it is behind. Or "
    "fewer, because these are enough, or because those that were added did not copy faster.",
    "flow.too_new": "A newer release has written what this one cannot understand; it does not lead "
    "the flow.",
    "group_offsets.beyond_log": "Checkpoints of a group lie behind the end of the target's log, as "
    "of a copy that was made anew. The group is not given these offsets.",
    "group_offsets.ends_unknown": "Where logs of the target end could not be looked at; offsets of "
    "groups are written without that check.",
    "group_offsets.not_described": "The state of target groups could not be looked at.",
    "group_offsets.not_listed": "Offsets of target groups could not be looked at.",
    "group_offsets.not_synced": "Offsets of a target group could not be written.",
    "group_offsets.refused": "The target refused offsets of a group, for example an active one.",
    "group_offsets.synced": "Offsets of an idle target group were set.",
    "groups.changed": "Consumer groups to follow came or went.",
    "groups.not_listed": "The source's groups could not be listed.",
    "groups.not_synced": "Checkpoints of a flow, or a cluster's groups, could not be looked at; "
    "the next round tries again.",
    "groups.skipped": "Some of the source's groups could not be looked at.",
    "heartbeat.not_reported": "What heartbeats say could not be reported; it is tried again.",
    "heartbeat.not_sent": "A heartbeat could not be written; the next one is tried.",
    "heartbeat.refused": "The target refuses heartbeats.",
    "heartbeat.sent": "A heartbeat was written.",
    "herder.not_stopped": "A herder took too long to stop and was ended.",
    "internal_topic.assumed": "An internal topic could not be created and is taken to exist.",
    "internal_topic.not_created": "An internal topic is missing and could not be created.",
    "stream.commit_failed": "Offsets of a stream could not be committed; they are with the next "
    "commit.",
    "stream.committed": "A stream has committed offsets.",
    "stream.failed": "A stream of kafka-mirror-maker ends because of this; what is "
    "acknowledged is committed, and the process ends.",
    "stream.group_trouble": "The consumer group does not answer as it should; librdkafka goes on "
    "trying.",
    "stream.lost": "A stream's Spark task was killed; the process ends. Nothing is lost: "
    "only what was acknowledged is committed.",
    "stream.member_replaced": "The client that is a member of the group knew no broker any more, "
    "though the source answers others. A new one joins; what was not committed is copied again.",
    "stream.no_topics": "No topic of the source matches --include; it is asked again every "
    "metadata.max.age.ms.",
    "stream.offsets_awaited": "Who keeps the offsets of these partitions does not answer. They are "
    "copied once it does; the stream stays in the group, and copies others.",
    "stream.offsets_of_kafka_alone": "ZooKeeper does not tell its offsets. These partitions go on "
    "at Kafka's; if those are the smaller ones, records are copied twice.",
    "stream.partitions_assigned": "The group has given a stream partitions; known ones go on at "
    "the group's offsets.",
    "stream.partitions_begun": "Offsets that a stream has waited for are known: their partitions "
    "are copied.",
    "stream.partitions_lost": "A stream was silent for so long that the group has given its "
    "partitions to others.",
    "stream.partitions_revoked": "A stream has given up partitions; what it had sent of them is "
    "committed.",
    "stream.send_refused": "The target refuses a partition for a reason that is not about a "
    "record, such as a missing permission; it is tried again.",
    "stream.stopped": "A stream has ended; its totals.",
    "stream.topic_created": "A topic was created on the target, with the source's number of "
    "partitions.",
    "stream.topic_not_grown": "Partitions could not be added to a topic of the target; it is "
    "looked at again.",
    "stream.zookeeper_awaited": "No server of zookeeper.connect has answered since the stream "
    "began. Partitions whose offsets only ZooKeeper may have wait for it. Said once a minute.",
    "streams.levels_changed": "SIGUSR1: kafka-mirror-maker and its streams log all events from now "
    "on, or again those that they logged at their start.",
    "streams.started": "kafka-mirror-maker runs these many streams.",
    "topic_ids.unknown": "A cluster does not say which topics it has; that some were made anew is "
    "not seen meanwhile.",
    "checkpoint.report_failed": "A progress report of the checkpoint flow could not be written.",
    "checkpoint.deleted": "A group is gone from the source, and so are its checkpoints now "
    "(checkpoints.deleted.groups.policy=tombstone).",
    "group.not_followed": "A share or streams group is wanted; such groups' offsets are not "
    "carried over.",
    "group_commit.ignored": "A record of __consumer_offsets cannot be read; it is passed over.",
    "group_commits.not_followed": "The source does not let us read __consumer_offsets; "
    "checkpoints come at their interval only.",
    "group_offsets.active": "A group has members on the target; its offsets there are its own "
    "business, and left alone.",
    "group_offsets.other_type": "A share or streams group of the target has the name of a group "
    "that is followed; it is left alone.",
    "group_offsets.raced": "Somebody used a group on the target in the instant in which its "
    "offsets were set; the reason says what can be seen. If its members had read further, they "
    "read again from the offset that was set.",
    "connect.record_unreadable": "A record of config.storage.topic is damaged; it is passed over.",
    "connect.not_joined": "A worker cannot join the group of its workers; it tries again.",
    "connect.refused": "Workers of Kafka's own Connect are in the worker's group; this one waits.",
    "connect.started": "A Connect worker has started.",
    "connect.target_unknown": "A connector waits until its target and the worker's cluster "
    "have said whether they are the same.",
    "connector.ended": "Connectors of this worker have drained and committed, and ended.",
    "connector.failed": "A connector has ended for good; the others of the worker go on.",
    "class.not_closed": "A class of the user's own has failed in close(), or has not returned from "
    "it; nothing waits for it any longer.",
    "connector.rejected": "A connector's configuration has mistakes; it does not run.",
    "connector.started": "This worker takes part in running a connector.",
    "job.failed": "A periodic job failed; it runs again at its next time.",
    "pattern.timed_out": "A regular expression took too long to match the name of a topic, group "
    "or property. Unless it was decided about before, it is not copied. Told once for each name; "
    "the error names key and pattern. After ten, the pattern is not tried with names that are new.",
    "lag_group.not_committed": "A sink's positions could not be committed to the group in which "
    "tools look for its lag; it is tried again, and copying goes on.",
    "kafka.batch_ignored": "A batch of a topic that mm2 reads itself becomes larger than "
    "most_decompressed; it is passed over. Nothing becomes so large that mm2, MirrorMaker or "
    "Connect writes. Find out who else may write to the topic.",
    "kafka.log_interrupted": "Following a topic was interrupted; it goes on where it stopped.",
    "kafka.throttled": "A broker's quota for this client is used up: it asks us to hold back, and "
    "we do. Said once a minute at most; progress records have the total.",
    "offset_manager.assigned": "The instances of the offset manager have decided who leads which "
    "log partition; this one leads so many.",
    "offset_manager.connection_ended": "A client of the offset manager sent what is not answered, "
    "or the cluster did not answer.",
    "offset_manager.connections_at_limit": "As many clients are connected as max.connections or "
    "max.connections.per.ip allows, or as many that have not logged in as may be. A connection is "
    "closed for a new one, or the new one if none may be. Logged once in 10 s at most, with the "
    "number of such connections since.",
    "offset_manager.expired": "Offsets of dead groups, or with a retention of their own, are "
    "deleted.",
    "offset_manager.loaded": "The offset manager has loaded log partitions that it has taken, and "
    "answers fetches from memory.",
    "offset_manager.not_joined": "The group of the offset manager's instances cannot be joined; "
    "tried again.",
    "offset_manager.not_loaded": "Log partitions cannot be loaded now; tried again. Fetches of "
    "their groups are told to wait.",
    "offset_manager.not_taken": "A log partition cannot be taken from its former leader now; "
    "tried again.",
    "offset_manager.not_written": "The cluster refuses a batch of commits; the clients are told "
    "to try again.",
    "offset_manager.overtaken": "Somebody else has written to a log partition that this instance "
    "led: it leads it no more, and asks the group who does.",
    "offset_manager.records_ignored": "Records of the offsets topic cannot be read; they are "
    "passed over.",
    "offset_manager.request_given_up": "The connection of a client is closed. The handshake of "
    "TLS, the log-in, or the rest of a request did not come in time, or there was no memory for "
    "it. Logged once in 10 s at most, with the number of such connections since.",
    "offset_manager.serving": "The offset manager listens for clients.",
    "offset_manager.slept": "The process stood still for longer than its lease: it leads nothing "
    "until the group has decided anew.",
    "offset_manager.stopped": "The offset manager has ended.",
    "offset_manager.topic_not_seen": "The cluster does not say how many partitions the offsets "
    "topic has.",
    "offset_manager.user_refused": "The cluster refuses a user whose password is that of "
    "listeners.sasl.jaas.config: change it there. Logged once in 10 s at most.",
    "offset_sync.ignored": "A record of the offset-syncs topic cannot be read; it is passed over.",
    "offset_syncs.failed": "An offset sync could not be written; the next one replaces it.",
    "offset_syncs.loaded": "Earlier offset syncs were read back.",
    "offsets.unknown": "Some leaders of partitions do not tell soon where these end; who can do "
    "without goes on.",
    "offset_run.ignored": "A record of the topic of exact runs cannot be read; it is passed over.",
    "offset_runs.failed": "Exact runs could not be written; until they are, or where they never "
    "are, offsets of groups are translated approximately.",
    "offset_runs.dropped": "Some partitions have more gaps than can be told: so many exact runs "
    "were not written. Offsets of groups there are translated approximately for good. Said once a "
    "minute at most.",
    "offset_runs.late": "Exact runs were not written in time before the positions behind them; "
    "they follow. Only if the task is killed before, offsets there are translated approximately.",
    "offset_runs.loaded": "Earlier exact runs were read back.",
    "offset_runs.not_deleted": "Old exact runs could not be taken out of their topic; it is tried "
    "again.",
    "offset_runs.deleted": "Exact runs that nobody needs were taken out of their topic.",
    "offset_runs.unread": "The topic of exact runs is not there, or may not be read; offsets of "
    "groups are translated by offset syncs alone. A copy of which the target has lost the end is "
    "made anew from the source's start.",
    "part.failed": "A part of a flow failed and is started again after a delay.",
    "positions.committed": "A task has committed positions; of how many partitions, and how long "
    "it took. With exactly once they are in the transaction of the copies.",
    "positions.contested": "Positions stand in several partitions of their topic, and differ; the "
    "one with the newest timestamp counts.",
    "positions.partitions_changed": "The positions topic has another number of partitions now; "
    "positions go where Java's partitioner puts them.",
    "positions.late": "Positions could not be written in time; they are written again later.",
    "positions.group_refused": "The target does not take an offset for the mirror's group; the "
    "position stands in the positions topic alone.",
    "positions.unstable": "A transaction on the positions topic stays open, and positions written "
    "after it began are not seen. In at-least-once mode they are ignored; in "
    "exactly-once mode the task waits "
    "(kafka-transactions.sh finds and ends hanging transactions).",
    "progress.unreadable": "A record of the progress topic is damaged; it is passed over.",
    "remote_topic.created": "A remote topic was created, or got more partitions.",
    "remote_topic.deleted": "A remote topic was deleted because its source topic is gone "
    "(source.topic.deleted.policy=delete).",
    "remote_topic.missing": "A remote topic was deleted, or was not created for long; "
    "target.topic.deleted.policy says what follows.",
    "remote_topic.not_created": "A remote topic or its partitions could not be created; it is "
    "tried again.",
    "remote_topic.not_deleted": "A source topic seems to be gone; the reason why its copy is kept "
    "all the same.",
    "rest.ended": "The REST interface has failed, and is gone until this node starts again; flows "
    "go on.",
    "metrics.exported": "The OpenTelemetry collector takes the metrics of this node: for the first "
    "time, or again.",
    "metrics.listening": "Metrics alone are served here, without a login.",
    "metrics.not_exported": "The OpenTelemetry collector does not take metrics, and those of this "
    "time are lost; the next ones are sent all the same. Logged once, until it takes them again.",
    "rest.failed": "A REST request failed in a way that nobody expected; the trace says how.",
    "rest.listening": "The REST interface is served here.",
    "rest.not_listening": "Port 8083 and those after it are taken, so that this node has no REST "
    "interface; name one in listeners.",
    "rest.changed": "A REST request that changes something was granted.",
    "rest.read_only_by_default": "The REST interface changes nothing, as nobody has to log in to "
    "it: give it a login, or set rest.read.only=false.",
    "rest.passwords_readable": "Passwords of the REST interface go over the network in clear: use "
    "https in listeners.",
    "rest.view_failed": "A flow could not be looked at for the REST interface; the next request "
    "looks again.",
    "rest.unprotected": "Everybody who reaches this listener can steer flows: set "
    "rest.basic.auth.file, or rest.read.only.",
    "records.not_compiled": "Numba cannot be used; small batches and those that must be "
    "re-encoded take many times as long.",
    "source.transactional_id_not_renewed": "The target could not be asked to remember the "
    "transactional id of a task; it is asked again.",
    "source.fencing_unavailable": "The transactional id may not be used: a paused task that wakes "
    "up is not fenced.",
    "source.transaction_aborted": "A transaction was aborted, because its task ended or some of "
    "its records must be sent again. Readers of committed records see nothing of it, and it is "
    "mirrored again.",
    "source.transaction_delayed": "A coordinator of the target does not let a transaction go on "
    "for 10 s, and why: its partitions wait. It is asked again.",
    "source.transaction_resumed": "A transaction that was delayed goes on.",
    "source.fetch_failed": "A fetch from a source broker failed; it is tried again.",
    "source.gap_closed": "Something missing that was reported as open is over.",
    "source.gap_found": "Data are missing between the source and its copy: kind, offsets, and "
    "where mirroring goes on. source.gap.policy says whether it does. If the target has lost "
    "them, target.topic.deleted.policy does.",
    "source.check_failed": "A cluster could not be looked at this time; it is looked at again.",
    "source.not_drained": "Partitions could not be emptied in time before a stop; what was not "
    "acknowledged is mirrored after the next start.",
    "source.columns_failed": "Records of a partition could not be changed as columns of Arrow, for "
    "the reason given. They were changed one by one, which is slower. Logged once for each task.",
    "source.duplicates_skipped": "A new task found records on the target that the last position "
    "did not know of, and did not copy them again. With is_complete=false: up to the first that "
    "differs.",
    "source.origin_left_out": "A record was left out because of its origin. It was written first "
    "on the target, or has passed it, or provenance.origins does not name its cluster. Logged once "
    "for each task; mm2_partition_left_out_records_total counts them.",
    "source.partition_failed": "A partition stops for the reason given, the others go on. Where a "
    "record is the reason, it tries again after errors.retry.delay.max.ms.",
    "source.partitions_assigned": "A task took partitions on; how many had a position.",
    "source.partitions_revoked": "A task drained, committed and gave up partitions.",
    "source.record_skipped": "A record that the target refuses, or a batch that cannot be read, is "
    "passed over, as errors.tolerance=all says.",
    "source.retention_unknown": "The target does not tell how long it keeps offsets of groups; a "
    "week is assumed.",
    "source.report_failed": "A progress report could not be written.",
    "source.resumed": "A task has read that its leader still leads, and writes again.",
    "source.validation_failed": "A source broker did not answer what tells whether positions fit "
    "its logs; it is asked again. Partitions that are known to fit are fetched meanwhile.",
    "source.start_moved": "A partition was to begin at an offset that its log does not have; it "
    "begins at the nearest one.",
    "source.stopped": "A task has drained and committed; its totals.",
    "source.suspended": "A task has not heard of its leader for as long as a lease lasts, mostly "
    "because the target is away. It writes nothing until it does (source.resumed), or ends when "
    "another node leads.",
    "source.topic_created": "A topic of the target was created because a transform sends records "
    "there.",
    "source.topic_missing": "A source topic is not there any more; it is waited for.",
    "source.unavailable": "The source cluster does not tell who leads what; it is asked again.",
    "spark.application_ended": "YARN has ended the node's application, and gives a reason. "
    "mm2 makes another one.",
    "spark.decommissioned": "The executor of a task is decommissioned, and another one is idle. "
    "The task ends, and begins again there.",
    "spark.executor_given": "The Spark cluster has given this node an executor at last.",
    "spark.no_executor": "The Spark cluster has given this node no executor for 30 s. It waits for "
    "one (spark.executor_given). Meanwhile flows go to other nodes, if there are any. Add workers, "
    "or have nodes and other applications leave cores free (spark.cores.max).",
    "spark.no_slot": "A task has waited long for a slot of Spark; its partitions are not copied "
    "meanwhile. It begins as soon as another task ends. Give spark.master more slots and start the "
    "process again, or lower tasks.max. On a Spark cluster: it has given no executor for 15 s; "
    "add workers, or have other applications leave cores free.",
    "spark.not_authenticated": "Whoever reaches the ports of Spark's driver and executors can run "
    "code in them. Give the cluster and mm2 a secret, spark.authenticate.secret. "
    "spark.authenticate=false says that this is as you want it.",
    "spark.not_encrypted": "Passwords of clients cross the network in clear, from the driver to "
    "executors, because spark.authenticate or spark.network.crypto.enabled is false.",
    "spark.master_not_asked": "A master of the Spark cluster does not say which applications it "
    "knows, because it is away or of another release.",
    "spark.not_followed": "What the Spark cluster runs cannot be seen, or acted upon. Flows keep "
    "the slots that they have. It is looked at again each second, and said once for each reason.",
    "spark.queued": "YARN has not begun the node's application after 20 s, for the reason that it "
    "gives. Mostly it waits in a queue until others leave memory and cores. Meanwhile this node "
    "copies nothing.",
    "spark.restarting": "The master of the Spark cluster does not know mm2's application any more, "
    "as after a restart without a recovery mode. Or the cluster does not say whom it knows, and "
    "has given no executor for long. mm2 makes its application anew. A command ends with an error.",
    "spark.slots_changed": "The Spark cluster runs fewer tasks than flows could use, or one more "
    "than before: flows divide their partitions anew.",
    "spark.too_narrow": "The flow's share of Spark's slots is smaller than the tasks that it "
    "could use (tasks.max, if it has as many partitions). It goes on with as many tasks as it has "
    "slots, and takes more when other flows leave some. Give spark.master more, or what key "
    "names: as many as all flows together have tasks. Then start the process again.",
    "spark.started": "Spark runs.",
    "spark.totals_not_shown": "Spark's metrics do not have what flows have copied, for the reason "
    "given. Everything else goes on.",
    "spark.untried": "This release of Spark, or of PySpark, was not tried with mm2.",
    "totals.not_stored": "What was copied could not be stored for the next leader; it is tried "
    "again.",
    "status.not_written": "What connectors do could not be written to the status topic; it is "
    "tried again.",
    "status.unreadable": "A record of the status topic is damaged; it is passed over.",
    "topic_acls.no_authorizer": "A cluster has no authorizer, so there are no ACLs to sync.",
    "topic_acl.deleted": "A rule that had been copied was deleted on the target: the source has it "
    "no more.",
    "topic_acls.not_synced": "An ACL could not be created or deleted on the target.",
    "topic_acls.only_reading_copied": "Copies keep their topics' names, so only the rights to read "
    "and to describe single topics were copied; sync.topic.acls.same.name decides.",
    "topic_acls.synced": "ACLs were created on the target.",
    "topic_config.not_synced": "The target does not take a setting of a remote topic; its others "
    "are applied.",
    "topic_configs.not_supported": "The target is too old for changes of single settings, so those "
    "of remote topics do not follow; all else goes on. Set "
    "sync.topic.configs.enabled=false to silence this.",
    "topic_configs.synced": "Settings of remote topics were changed.",
}


def reference_page() -> str:
    """The page ``docs/reference/events.md``."""
    rows = "".join(f"| `{name}` | {meaning} |\n" for name, meaning in sorted(EVENTS.items()))
    return (
        "# Log events\n\n"
        "mm2 logs to standard output: readable lines on a terminal, else one JSON object a line.\n"
        "`flow` and `task` say where an event comes from. This page is made from the code\n"
        "(`scripts/generate-docs`).\n\n"
        f"| event | meaning |\n|---|---|\n{rows}"
    )
