package org.apache.kafka.connect.mirror;

import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.connect.json.JsonConverter;

/** Answers each line of JSON on standard input, a question about MirrorMaker's logic, with a line of JSON. */
public final class CoreAnswers {
    private static final JsonMapper JSON =
        JsonMapper.builder().enable(JsonWriteFeature.ESCAPE_NON_ASCII).build();
    private static final HexFormat HEX = HexFormat.of();

    private CoreAnswers() {
    }

    /** Runs until the input ends. */
    public static void main(String[] args) throws Exception {
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.US_ASCII);
        System.setOut(System.err);
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = questions.readLine(); line != null; line = questions.readLine()) {
            answers.println(JSON.writeValueAsString(answer(JSON.readTree(line))));
        }
    }

    private static Object answer(JsonNode question) {
        try {
            switch (question.get("about").asText()) {
                case "pattern":
                    return pattern(question);
                case "policy":
                    return policy(question);
                case "filter":
                    return filter(question);
                case "record":
                    return record(question);
                case "position":
                    return position(question);
                case "partition":
                    return partition(question);
                case "due":
                    return due(question);
                case "transform":
                    return TransformAnswers.transform(question);
                case "predicate":
                    return TransformAnswers.predicate(question);
                case "store":
                    return store(question);
                default:
                    throw new IllegalArgumentException("unknown question");
            }
        } catch (PatternSyntaxException problem) {
            return Map.of("error", problem.getDescription());
        } catch (Exception problem) {
            return Map.of("error", problem.toString());
        }
    }

    private static Object pattern(JsonNode question) {
        Pattern pattern = Pattern.compile(question.get("pattern").textValue());
        List<Boolean> matches = new ArrayList<>();
        List<Boolean> finds = new ArrayList<>();
        for (JsonNode text : question.get("texts")) {
            matches.add(pattern.matcher(text.textValue()).matches());
            finds.add(pattern.matcher(text.textValue()).find());
        }
        return Map.of("matches", matches, "finds", finds);
    }

    private static Object policy(JsonNode question) throws Exception {
        String name = "org.apache.kafka.connect.mirror." + question.get("class").textValue();
        ReplicationPolicy policy = (ReplicationPolicy) Class.forName(name).getDeclaredConstructor().newInstance();
        ((DefaultReplicationPolicy) policy).configure(properties(question));
        String source = question.get("source").textValue();
        String target = question.get("target").textValue();
        MirrorSourceConnector connector = new MirrorSourceConnector(
            new SourceAndTarget(source, target), policy, new DefaultTopicFilter(), new DefaultConfigPropertyFilter());
        MirrorClient client = new MirrorClient(null, policy, Map.of());
        MirrorCheckpointTask task = new MirrorCheckpointTask(source, target, policy, null, Set.of(), Map.of(), null);
        List<Object> answers = new ArrayList<>();
        for (JsonNode each : question.get("topics")) {
            String topic = each.textValue();
            answers.add(Arrays.asList(
                policy.formatRemoteTopic(source, topic), policy.topicSource(topic), policy.upstreamTopic(topic),
                policy.originalTopic(topic), policy.isHeartbeatsTopic(topic), policy.isCheckpointsTopic(topic),
                policy.isMM2InternalTopic(topic), policy.isInternalTopic(topic), connector.isCycle(topic),
                connector.shouldReplicateTopic(topic), client.countHopsForTopic(topic, source),
                new TreeSet<>(client.allSources(topic)), client.isRemoteTopic(topic),
                task.renameTopicPartition(new TopicPartition(topic, 1)).toString()));
        }
        return Map.of("topics", answers, "heartbeats", policy.heartbeatsTopic(),
            "syncs", policy.offsetSyncsTopic(source), "checkpoints", policy.checkpointsTopic(source));
    }

    private static Object filter(JsonNode question) {
        DefaultTopicFilter topics = new DefaultTopicFilter();
        DefaultGroupFilter groups = new DefaultGroupFilter();
        DefaultConfigPropertyFilter configs = new DefaultConfigPropertyFilter();
        topics.configure(properties(question));
        groups.configure(properties(question));
        configs.configure(properties(question));
        List<Object> answers = new ArrayList<>();
        for (JsonNode each : question.get("names")) {
            String name = each.textValue();
            answers.add(List.of(topics.shouldReplicateTopic(name), groups.shouldReplicateGroup(name),
                configs.shouldReplicateConfigProperty(name), configs.shouldReplicateSourceDefault(name)));
        }
        return answers;
    }

    /** Reads a record from its bytes; answers with its text and with the bytes that Java writes for it. */
    private static Object record(JsonNode question) {
        ConsumerRecord<byte[], byte[]> record = new ConsumerRecord<>("any", 0, 0,
            HEX.parseHex(question.get("key").textValue()), HEX.parseHex(question.get("value").textValue()));
        switch (question.get("kind").textValue()) {
            case "Heartbeat":
                Heartbeat heartbeat = Heartbeat.deserializeRecord(record);
                return bytes(heartbeat, heartbeat.recordKey(), heartbeat.recordValue());
            case "Checkpoint":
                Checkpoint checkpoint = Checkpoint.deserializeRecord(record);
                return bytes(checkpoint, checkpoint.recordKey(), checkpoint.recordValue());
            default:
                OffsetSync sync = OffsetSync.deserializeRecord(record);
                return bytes(sync, sync.recordKey(), sync.recordValue());
        }
    }

    private static Object bytes(Object record, byte[] key, byte[] value) {
        return List.of(record.toString(), HEX.formatHex(key), HEX.formatHex(value));
    }

    /** Writes the key and the value of a position as Connect's offset writer does. */
    private static Object position(JsonNode question) {
        JsonConverter converter = new JsonConverter();
        converter.configure(Map.of("schemas.enable", "false", "converter.type", "key"), true);
        String topic = question.get("topic").textValue();
        int partition = question.get("partition").intValue();
        String name = question.get("name").textValue();
        TopicPartition topicPartition = new TopicPartition(topic, partition);
        List<Map<String, ?>> maps = List.of(
            MirrorUtils.wrapPartition(topicPartition, name),
            new Checkpoint(name, topicPartition, 0, 0, "").connectPartition(),
            new Heartbeat(name, topic, 0).connectPartition());
        List<String> answers = new ArrayList<>();
        for (Map<String, ?> map : maps) {
            byte[] key = converter.fromConnectData("any", null, Arrays.asList(name, map));
            answers.add(HEX.formatHex(key));
        }
        Map<String, Object> offset = new HashMap<>(MirrorUtils.wrapOffset(question.get("offset").longValue()));
        answers.add(HEX.formatHex(converter.fromConnectData("any", null, offset)));
        return answers;
    }

    private static Object partition(JsonNode question) {
        List<Integer> answers = new ArrayList<>();
        for (JsonNode key : question.get("keys")) {
            int hash = Utils.murmur2(HEX.parseHex(key.textValue()));
            answers.add(Utils.toPositive(hash) % question.get("count").intValue());
        }
        return answers;
    }

    private static Object due(JsonNode question) {
        OffsetSyncWriter.PartitionState state = new OffsetSyncWriter.PartitionState(question.get("lag").longValue());
        List<Boolean> answers = new ArrayList<>();
        for (JsonNode each : question.get("records")) {
            boolean due = state.update(each.get(0).longValue(), each.get(1).longValue());
            answers.add(due);
            if (due) {
                state.reset();
            }
        }
        return answers;
    }

    /** Feeds a store: first the backlog, then the rest; answers with the slots' numbers and the translations. */
    private static Object store(JsonNode question) {
        TopicPartition partition = new TopicPartition("t", 0);
        JsonNode backlog = question.get("backlog");
        OffsetSyncStore store = new OffsetSyncStore() {
            @Override
            void backingStoreStart() {
                backlog.forEach(sync -> handleRecord(record(partition, sync)));
            }
        };
        store.start(question.get("mustReadToEnd").booleanValue());
        question.get("syncs").forEach(sync -> store.handleRecord(record(partition, sync)));
        List<List<Long>> slots = new ArrayList<>();
        if (!backlog.isEmpty() || !question.get("syncs").isEmpty()) {
            for (int slot = 0; slot < OffsetSyncStore.SYNCS_PER_PARTITION; slot++) {
                OffsetSync sync = store.syncFor(partition, slot);
                slots.add(List.of(sync.upstreamOffset(), sync.downstreamOffset()));
            }
        }
        List<Long> translations = new ArrayList<>();
        for (JsonNode offset : question.get("offsets")) {
            OptionalLong found = store.translateDownstream("group", partition, offset.longValue());
            translations.add(found.isPresent() ? found.getAsLong() : null);
        }
        return Map.of("slots", slots, "translations", translations);
    }

    private static ConsumerRecord<byte[], byte[]> record(TopicPartition partition, JsonNode sync) {
        OffsetSync found = new OffsetSync(partition, sync.get(0).longValue(), sync.get(1).longValue());
        return new ConsumerRecord<>("any", 0, 0, found.recordKey(), found.recordValue());
    }

    private static Map<String, String> properties(JsonNode question) {
        Map<String, String> properties = new HashMap<>();
        question.get("properties").fields().forEachRemaining(e -> properties.put(e.getKey(), e.getValue().textValue()));
        return properties;
    }
}
