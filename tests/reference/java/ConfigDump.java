package org.apache.kafka.connect.mirror;

import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.common.utils.Utils;
import org.apache.kafka.connect.connector.policy.AllConnectorClientConfigOverridePolicy;
import org.apache.kafka.connect.connector.policy.ConnectorClientConfigOverridePolicy;
import org.apache.kafka.connect.runtime.ConnectorConfig;
import org.apache.kafka.connect.runtime.Worker;
import org.apache.kafka.connect.runtime.WorkerConfig;
import org.apache.kafka.connect.runtime.distributed.DistributedConfig;
import org.apache.kafka.connect.runtime.isolation.Plugins;

/**
 * Answers, for each properties file on standard input, with a line of JSON on standard output.
 *
 * <p>A request is one byte that says what is asked, four bytes of length, and the bytes of the file: 'p' for its keys
 * and values, 'd' for what MirrorMakerConfig computes of it, 'c' for the clients of a connector with these keys, 'w' for
 * the worker's producer of the flow A->B, 'v' for what the checkpoint connector's own validation says.
 */
public final class ConfigDump {
    private static final ObjectMapper JSON = JsonMapper.builder()
        .enable(JsonWriteFeature.ESCAPE_NON_ASCII)
        .enable(SerializationFeature.ORDER_MAP_ENTRIES_BY_KEYS)
        .build();

    private ConfigDump() {
    }

    /** Runs until the input ends. */
    public static void main(String[] args) throws Exception {
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.US_ASCII);
        System.setOut(System.err);
        DataInputStream requests = new DataInputStream(System.in);
        while (true) {
            int kind;
            byte[] file;
            try {
                kind = requests.readByte();
                file = new byte[requests.readInt()];
                requests.readFully(file);
            } catch (EOFException end) {
                return;
            }
            answers.println(JSON.writeValueAsString(answer((char) kind, file)));
        }
    }

    private static Object answer(char kind, byte[] file) {
        try {
            Properties properties = new Properties();
            properties.load(new ByteArrayInputStream(file));
            Map<String, String> map = Utils.propsToStringMap(properties);
            switch (kind) {
                case 'p':
                    return map;
                case 'd':
                    return dump(map);
                case 'c':
                    return clients(map);
                case 'w':
                    return dataProducer(map);
                default:
                    return MirrorCheckpointConfig.validate(map);
            }
        } catch (Exception error) {
            return Map.of("error", String.valueOf(error.getMessage()));
        }
    }

    private static Map<String, Object> dump(Map<String, String> file) {
        // Service loading finds the same plug-ins as the default, a hundred times sooner.
        Map<String, String> map = new HashMap<>(file);
        map.putIfAbsent("plugin.discovery", "service_load");
        MirrorMakerConfig config = new MirrorMakerConfig(map);
        TreeSet<String> flows = new TreeSet<>();
        Map<String, Object> workers = new TreeMap<>();
        Map<String, Object> connectors = new TreeMap<>();
        for (SourceAndTarget flow : config.clusterPairs()) {
            flows.add(flow.toString());
            workers.put(flow.toString(), config.workerConfig(flow));
            Map<String, Object> ofFlow = new TreeMap<>();
            for (Class<?> type : List.of(
                    MirrorSourceConnector.class, MirrorCheckpointConnector.class, MirrorHeartbeatConnector.class)) {
                ofFlow.put(type.getSimpleName(), config.connectorBaseConfig(flow, type));
            }
            connectors.put(flow.toString(), ofFlow);
        }
        return Map.of("flows", flows, "workers", workers, "connectors", connectors);
    }

    private static Map<String, Object> clients(Map<String, String> map) {
        MirrorSourceConfig source = new MirrorSourceConfig(map);
        MirrorCheckpointConfig checkpoint = new MirrorCheckpointConfig(map);
        Map<String, Object> clients = new TreeMap<>();
        clients.put("source_consumer", source.sourceConsumerConfig("r"));
        clients.put("source_producer", source.sourceProducerConfig("r"));
        clients.put("source_admin", source.sourceAdminConfig("r"));
        clients.put("target_consumer", source.targetConsumerConfig("r"));
        clients.put("target_producer", source.targetProducerConfig("r"));
        clients.put("target_admin", source.targetAdminConfig(null));
        clients.put("offset_syncs_producer", source.offsetSyncsTopicProducerConfig());
        clients.put("offset_syncs_admin", source.offsetSyncsTopicAdminConfig());
        clients.put("offset_syncs_consumer", checkpoint.offsetSyncsTopicConsumerConfig());
        return clients;
    }

    private static Map<String, Object> dataProducer(Map<String, String> file) throws Exception {
        Map<String, String> map = new HashMap<>(file);
        map.putIfAbsent("plugin.discovery", "service_load");
        MirrorMakerConfig config = new MirrorMakerConfig(map);
        SourceAndTarget flow = new SourceAndTarget("A", "B");
        Map<String, String> worker = config.workerConfig(flow);
        Plugins plugins = new Plugins(Map.of("plugin.discovery", "service_load"));
        String name = "MirrorSourceConnector";
        Method method = Worker.class.getDeclaredMethod(
            "baseProducerConfigs", String.class, String.class, WorkerConfig.class, ConnectorConfig.class, Class.class,
            ConnectorClientConfigOverridePolicy.class, String.class);
        method.setAccessible(true);
        @SuppressWarnings("unchecked")
        Map<String, Object> composed = (Map<String, Object>) method.invoke(
            null, name, "connector-producer-" + name + "-0", new DistributedConfig(worker),
            new ConnectorConfig(plugins, config.connectorBaseConfig(flow, MirrorSourceConnector.class)),
            MirrorSourceConnector.class, new AllConnectorClientConfigOverridePolicy(), "cluster");
        composed.keySet().removeIf(key -> key.startsWith("metrics.context."));
        return composed;
    }
}
