import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.sourcelab.kafka.connect.apiclient.Configuration;
import org.sourcelab.kafka.connect.apiclient.KafkaConnectClient;
import org.sourcelab.kafka.connect.apiclient.request.dto.ConnectorPluginConfigDefinition;
import org.sourcelab.kafka.connect.apiclient.request.dto.NewConnectorDefinition;

/** Obeys lines of JSON, [method, argument, ...], by calls of kafka-connect-client; a line of JSON answers each. */
public final class SteersConnect {
    private static final TypeReference<Map<String, String>> CONFIG = new TypeReference<>() {};

    private final ObjectMapper json = new ObjectMapper().disable(SerializationFeature.FAIL_ON_EMPTY_BEANS);
    private final KafkaConnectClient client;

    private SteersConnect(String url) {
        client = new KafkaConnectClient(new Configuration(url));
    }

    public static void main(String[] args) throws Exception {
        SteersConnect steers = new SteersConnect(args[0]);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            System.out.println(steers.answer(line));
        }
    }

    private String answer(String line) throws Exception {
        Map<String, Object> answer = new LinkedHashMap<>();
        try {
            answer.put("found", obey(json.readValue(line, List.class)));
        } catch (RuntimeException error) {
            answer.put("error", error.getClass().getSimpleName() + ": " + error.getMessage());
        }
        return json.writeValueAsString(answer);
    }

    private Object obey(List<?> words) {
        String name = words.size() > 1 ? words.get(1).toString() : null;
        Object last = words.get(words.size() - 1);
        return switch (words.get(0).toString()) {
            case "version" -> client.getConnectServerVersion();
            case "connectors" -> client.getConnectors();
            case "statuses" -> client.getConnectorsWithExpandedStatus().getAllStatuses();
            case "definitions" -> client.getConnectorsWithExpandedInfo().getAllDefinitions();
            case "all" -> client.getConnectorsWithAllExpandedMetadata();
            case "connector" -> client.getConnector(name);
            case "config" -> client.getConnectorConfig(name);
            case "status" -> client.getConnectorStatus(name);
            case "tasks" -> client.getConnectorTasks(name);
            case "task" -> client.getConnectorTaskStatus(name, (Integer) last);
            case "topics" -> client.getConnectorTopics(name);
            case "plugins" -> client.getConnectorPlugins();
            case "validate" -> client.validateConnectorPluginConfig(
                new ConnectorPluginConfigDefinition(name, json.convertValue(last, CONFIG)));
            case "add" -> client.addConnector(new NewConnectorDefinition(name, json.convertValue(last, CONFIG)));
            case "update" -> client.updateConnectorConfig(name, json.convertValue(last, CONFIG));
            case "pause" -> client.pauseConnector(name);
            case "resume" -> client.resumeConnector(name);
            case "stop" -> client.stopConnector(name);
            case "restart" -> client.restartConnector(name);
            case "restart-task" -> client.restartConnectorTask(name, (Integer) last);
            case "delete" -> client.deleteConnector(name);
            default -> throw new IllegalArgumentException("no such method: " + words.get(0));
        };
    }
}
