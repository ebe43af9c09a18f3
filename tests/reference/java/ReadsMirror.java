import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.MessageFormatter;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.connect.mirror.RemoteClusterUtils;

/**
 * Reads what a mirror wrote with Java's own consumer, client library and formatters.
 *
 * Usage: ReadsMirror BOOTSTRAP records TOPIC COUNT
 *        ReadsMirror BOOTSTRAP format FORMATTER TOPIC
 *        ReadsMirror BOOTSTRAP translate ALIAS GROUP
 *        ReadsMirror BOOTSTRAP topology ALIAS
 */
public class ReadsMirror {

    public static void main(String[] args) throws Exception {
        switch (args[1]) {
            case "records" -> records(args[0], args[2], Integer.parseInt(args[3]));
            case "format" -> format(args[0], args[2], args[3]);
            case "translate" -> translate(args[0], args[2], args[3]);
            case "topology" -> topology(args[0], args[2]);
            default -> throw new IllegalArgumentException(args[1]);
        }
    }

    private static KafkaConsumer<byte[], byte[]> consumer(String bootstrap, String topic) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", bootstrap);
        KafkaConsumer<byte[], byte[]> consumer =
            new KafkaConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        List<TopicPartition> partitions = new ArrayList<>();
        for (PartitionInfo info : consumer.partitionsFor(topic)) {
            partitions.add(new TopicPartition(topic, info.partition()));
        }
        consumer.assign(partitions);
        consumer.seekToBeginning(partitions);
        return consumer;
    }

    private static String hex(byte[] bytes) {
        return bytes == null ? "null" : "x" + HexFormat.of().formatHex(bytes);
    }

    private static void records(String bootstrap, String topic, int count) {
        try (KafkaConsumer<byte[], byte[]> consumer = consumer(bootstrap, topic)) {
            int seen = 0;
            while (seen < count) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofSeconds(1))) {
                    StringBuilder line = new StringBuilder();
                    line.append(record.partition()).append(' ').append(record.timestamp());
                    line.append(' ').append(hex(record.key())).append(' ').append(hex(record.value()));
                    for (Header header : record.headers()) {
                        line.append(' ').append(header.key()).append('=').append(hex(header.value()));
                    }
                    System.out.println(line);
                    seen++;
                }
            }
        }
    }

    private static void format(String bootstrap, String formatter, String topic) throws Exception {
        MessageFormatter printer =
            (MessageFormatter) Class.forName(formatter).getDeclaredConstructor().newInstance();
        try (KafkaConsumer<byte[], byte[]> consumer = consumer(bootstrap, topic)) {
            Map<TopicPartition, Long> ends = consumer.endOffsets(consumer.assignment());
            while (ends.entrySet().stream().anyMatch(e -> consumer.position(e.getKey()) < e.getValue())) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofSeconds(1))) {
                    printer.writeTo(record, System.out);
                }
            }
        }
        System.out.flush();
    }

    private static Map<String, Object> client(String bootstrap) {
        Map<String, Object> properties = new HashMap<>();
        properties.put("bootstrap.servers", bootstrap);
        return properties;
    }

    private static void translate(String bootstrap, String alias, String group) throws Exception {
        Map<TopicPartition, OffsetAndMetadata> offsets =
            RemoteClusterUtils.translateOffsets(client(bootstrap), alias, group, Duration.ofSeconds(20));
        Map<String, Long> sorted = new TreeMap<>();
        offsets.forEach((partition, offset) -> sorted.put(partition.toString(), offset.offset()));
        sorted.forEach((partition, offset) -> System.out.println(partition + " " + offset));
    }

    private static void topology(String bootstrap, String alias) throws Exception {
        System.out.println("hops " + RemoteClusterUtils.replicationHops(client(bootstrap), alias));
        System.out.println("heartbeats " + RemoteClusterUtils.heartbeatTopics(client(bootstrap)));
        System.out.println("checkpoints " + RemoteClusterUtils.checkpointTopics(client(bootstrap)));
        System.out.println("upstream " + RemoteClusterUtils.upstreamClusters(client(bootstrap)));
    }
}
