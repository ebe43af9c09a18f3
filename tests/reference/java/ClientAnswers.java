import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Pattern;

import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.connect.mirror.MirrorClient;
import org.apache.kafka.connect.mirror.RemoteClusterUtils;

/**
 * Asks Java's own client library everything that it knows of a cluster.
 *
 * Usage: ClientAnswers ALIAS GROUP PATTERN KEY=VALUE...
 */
public class ClientAnswers {

    private static final Duration TIMEOUT = Duration.ofSeconds(20);

    public static void main(String[] args) throws Exception {
        String alias = args[0];
        Map<String, Object> properties = new HashMap<>();
        for (int i = 3; i < args.length; i++) {
            String[] pair = args[i].split("=", 2);
            properties.put(pair[0], pair[1]);
        }
        try (MirrorClient client = new MirrorClient(properties)) {
            say("hops", client.replicationHops(alias));
            say("unknown hops", client.replicationHops("nobody"));
            say("heartbeats", new TreeSet<>(client.heartbeatTopics()));
            say("checkpoints", new TreeSet<>(client.checkpointTopics()));
            say("upstream", new TreeSet<>(client.upstreamClusters()));
            say("remote", new TreeSet<>(client.remoteTopics()));
            say("remote of one", new TreeSet<>(client.remoteTopics(alias)));
            say("group", text(client.remoteConsumerOffsets(args[1], alias, TIMEOUT)));
            Map<String, Object> groups = new TreeMap<>();
            client.remoteConsumerOffsets(Pattern.compile(args[2]), alias, TIMEOUT)
                .forEach((group, offsets) -> groups.put(group, text(offsets)));
            say("groups", groups);
        }
        say("translated", text(RemoteClusterUtils.translateOffsets(properties, alias, args[1], TIMEOUT)));
    }

    private static void say(String what, Object answer) {
        System.out.println(what + "\t" + answer);
    }

    private static Map<String, String> text(Map<TopicPartition, OffsetAndMetadata> offsets) {
        Map<String, String> sorted = new TreeMap<>();
        offsets.forEach((partition, offset) ->
            sorted.put(partition.toString(), offset.offset() + " " + offset.metadata()));
        return sorted;
    }
}
