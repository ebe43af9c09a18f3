package org.apache.kafka.connect.mirror;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.header.ConnectHeaders;
import org.apache.kafka.connect.header.Header;
import org.apache.kafka.connect.json.JsonConverter;
import org.apache.kafka.connect.source.SourceRecord;
import org.apache.kafka.connect.storage.SimpleHeaderConverter;
import org.apache.kafka.connect.transforms.Transformation;
import org.apache.kafka.connect.transforms.predicates.Predicate;

/** Applies Connect's transforms and predicates to records of bytes, or of JSON without schemas. */
final class TransformAnswers {
    private static final HexFormat HEX = HexFormat.of();
    private static final String PACKAGE = "org.apache.kafka.connect.transforms.";

    private TransformAnswers() {
    }

    /** The record after a transform; null if it was dropped. */
    static Object transform(JsonNode question) throws Exception {
        boolean json = question.get("json").booleanValue();
        SourceRecord before = record(question, json);
        try (Transformation<SourceRecord> transform = made(question)) {
            transform.configure(options(question));
            SourceRecord after = transform.apply(before);
            return after == null ? Map.of("dropped", true) : shown(after, json);
        }
    }

    /** Whether a record meets a predicate. */
    static Object predicate(JsonNode question) throws Exception {
        Class<?> type = Class.forName(PACKAGE + "predicates." + question.get("type").textValue());
        @SuppressWarnings("unchecked")
        Predicate<SourceRecord> predicate = (Predicate<SourceRecord>) type.getDeclaredConstructor().newInstance();
        predicate.configure(options(question));
        return predicate.test(record(question, false));
    }

    @SuppressWarnings("unchecked")
    private static Transformation<SourceRecord> made(JsonNode question) throws Exception {
        Class<?> type = Class.forName(PACKAGE + question.get("type").textValue());
        return (Transformation<SourceRecord>) type.getDeclaredConstructor().newInstance();
    }

    private static Map<String, String> options(JsonNode question) {
        Map<String, String> found = new HashMap<>();
        question.get("options").fields().forEachRemaining(each -> found.put(each.getKey(), each.getValue().textValue()));
        return found;
    }

    private static SourceRecord record(JsonNode question, boolean json) {
        ConnectHeaders headers = new ConnectHeaders();
        for (JsonNode each : question.get("headers")) {
            headers.addBytes(each.get(0).textValue(), bytes(each.get(1)));
        }
        Schema schema = json ? null : Schema.OPTIONAL_BYTES_SCHEMA;
        return new SourceRecord(Map.of(), Map.of(), question.get("topic").textValue(), question.get("partition").intValue(),
            schema, read(question.get("key"), json), schema, read(question.get("value"), json),
            question.get("timestamp").longValue(), headers);
    }

    private static Object read(JsonNode hex, boolean json) {
        byte[] bytes = bytes(hex);
        return json ? converter().toConnectData("any", bytes).value() : bytes;
    }

    private static Object shown(SourceRecord record, boolean json) {
        List<Object> headers = new ArrayList<>();
        for (Header each : record.headers()) {
            byte[] value = each.schema() != null && each.schema().type() == Schema.Type.BYTES && each.schema().name() == null
                ? (byte[]) each.value()
                : new SimpleHeaderConverter().fromConnectHeader("any", each.key(), each.schema(), each.value());
            headers.add(Arrays.asList(each.key(), hex(value)));
        }
        return Arrays.asList(record.topic(), record.kafkaPartition(), record.timestamp(),
            written(record.keySchema(), record.key(), json), written(record.valueSchema(), record.value(), json), headers);
    }

    private static String written(Schema schema, Object value, boolean json) {
        return hex(json ? converter().fromConnectData("any", schema, value) : (byte[]) value);
    }

    private static JsonConverter converter() {
        JsonConverter converter = new JsonConverter();
        converter.configure(Map.of("schemas.enable", "false", "converter.type", "value"), false);
        return converter;
    }

    private static byte[] bytes(JsonNode hex) {
        return hex.isNull() ? null : HEX.parseHex(hex.textValue());
    }

    private static String hex(byte[] bytes) {
        return bytes == null ? null : HEX.formatHex(bytes);
    }
}
