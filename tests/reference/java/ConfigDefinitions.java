package org.apache.kafka.connect.mirror;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.reflect.Method;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.runtime.distributed.DistributedConfig;

/** Prints every key that the definitions of Java's MirrorMaker know, as JSON. */
public final class ConfigDefinitions {
    private static final ObjectMapper JSON = new ObjectMapper();

    private ConfigDefinitions() {
    }

    /** Runs without arguments. */
    public static void main(String[] args) throws Exception {
        ObjectNode all = JSON.createObjectNode();
        Method top = MirrorMakerConfig.class.getDeclaredMethod("config");
        top.setAccessible(true);
        all.set("maker", keys((ConfigDef) top.invoke(null)));
        all.set("source", keys(MirrorSourceConfig.CONNECTOR_CONFIG_DEF));
        all.set("checkpoint", keys(MirrorCheckpointConfig.CONNECTOR_CONFIG_DEF));
        all.set("heartbeat", keys(MirrorHeartbeatConfig.CONNECTOR_CONFIG_DEF));
        all.set("client", keys(MirrorClientConfig.CLIENT_CONFIG_DEF));
        Class<?> crypto = Class.forName("org.apache.kafka.connect.runtime.distributed.Crypto");
        Method definition = DistributedConfig.class.getDeclaredMethod("config", crypto);
        definition.setAccessible(true);
        Object system = crypto.getField("SYSTEM").get(null);
        all.set("worker", keys((ConfigDef) definition.invoke(null, system)));
        all.set("producer", keys(ProducerConfig.configDef()));
        all.set("consumer", keys(ConsumerConfig.configDef()));
        all.set("admin", keys(AdminClientConfig.configDef()));
        System.out.println(JSON.writeValueAsString(all));
    }

    private static ObjectNode keys(ConfigDef definition) {
        ObjectNode keys = JSON.createObjectNode();
        for (String name : new TreeSet<>(definition.names())) {
            keys.set(name, describe(new TreeMap<>(definition.configKeys()).get(name)));
        }
        return keys;
    }

    private static ObjectNode describe(ConfigDef.ConfigKey key) {
        ObjectNode node = JSON.createObjectNode();
        node.put("type", key.type.name());
        node.put("required", !key.hasDefault());
        Object value = key.hasDefault() ? key.defaultValue : null;
        node.put("default", value == null ? null : ConfigDef.convertToString(value, key.type));
        node.put("importance", key.importance.name());
        node.put("validator", key.validator == null ? null : key.validator.getClass().getName() + " " + key.validator);
        return node;
    }
}
