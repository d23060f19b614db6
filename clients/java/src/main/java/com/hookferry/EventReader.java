package com.hookferry;

import static com.hookferry.VerificationException.invalidPayload;
import static java.nio.charset.StandardCharsets.UTF_8;

import java.net.URLDecoder;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.regex.Pattern;

/** Reads the events of a request whose signature is valid. */
final class EventReader {
    // In the order of the specification. Names of extensions can't be found in all kinds of headers.
    private static final List<String> ATTRIBUTES =
        List.of("specversion", "id", "source", "type", "time", "subject", "dataschema", "partitionkey");
    private static final Pattern JSON_TYPE = Pattern.compile("^[^;]*[/+]json\\b", Pattern.CASE_INSENSITIVE);

    private final Headers headers;
    private final Signed signed;
    private final boolean takesBinary;

    EventReader(Headers headers, Signed signed, boolean takesBinary) {
        this.headers = headers;
        this.signed = signed;
        this.takesBinary = takesBinary;
    }

    /** The body says which format it has, and no header does: no signature covers headers. */
    VerifiedRequest read(byte[] body) {
        String text = textOf(body);
        if (headers.read("ce-specversion") != null) return one(binaryEvent(text));
        Json.Node payload = parse(text);
        if (payload.items() != null) return several(payload.items(), this::cloudEvent);
        Map<String, Json.Node> members = payload.members();
        if (members == null) throw invalidPayload("is not an object");
        if (members.containsKey("specversion")) return one(cloudEvent(payload));
        String type = textIn(members, "type");
        Json.Node data = members.get("data");
        if (type == null || data == null) throw invalidPayload("has no \"type\" and \"data\"");
        // No event has this type: each has a dot.
        if (type.equals("batch") && data.items() != null) return several(data.items(), this::batchItem);
        return one(event(signed.id(), type, data, null, null));
    }

    private static VerifiedRequest one(WebhookEvent event) {
        return new VerifiedRequest(List.of(event), false);
    }

    private static VerifiedRequest several(List<Json.Node> items, Function<Json.Node, WebhookEvent> read) {
        return new VerifiedRequest(items.stream().map(read).toList(), true);
    }

    private WebhookEvent batchItem(Json.Node item) {
        Map<String, Json.Node> members = item.members();
        if (members == null) throw invalidPayload("has an item that is not an object");
        String id = textIn(members, "id");
        String type = textIn(members, "type");
        String acceptedAt = textIn(members, "timestamp");
        if (id == null || type == null || acceptedAt == null) {
            throw invalidPayload("has an item without \"id\", \"type\" or \"timestamp\"");
        }
        return event(id, type, members.get("data"), acceptedAt, null);
    }

    /** One that is a JSON object. Its id is in the body, which is signed. */
    private WebhookEvent cloudEvent(Json.Node item) {
        if (item.members() == null) throw invalidPayload("has an item that is not a CloudEvent");
        Map<String, Object> attributes = new LinkedHashMap<>();
        item.members().forEach((name, value) -> attributes.put(name, value.plain()));
        attributes.remove("data");
        return eventOf(attributes, requiredText(attributes, "id"), item.members().get("data"));
    }

    /** One whose attributes are headers. Its id is that of the request, which is signed. */
    private WebhookEvent binaryEvent(String text) {
        if (!takesBinary) throw invalidPayload("comes with attributes as headers, and binaryCloudEvents is not set");
        String given = headers.read("content-type");
        String contentType = given == null ? "application/json" : given;
        Json.Node data = JSON_TYPE.matcher(contentType).find() ? parse(text) : new Json.Node(text, Json.quote(text));
        Map<String, Object> attributes = new LinkedHashMap<>();
        attributes.put("datacontenttype", contentType);
        for (String name : ATTRIBUTES) {
            String value = headers.read("ce-" + name);
            if (value != null) attributes.put(name, percentDecoded(value));
        }
        if (signed.id() != null && !signed.id().equals(attributes.get("id"))) {
            throw invalidPayload("comes with a \"ce-id\" that is not the id that was signed");
        }
        return eventOf(attributes, signed.id(), data);
    }

    private WebhookEvent eventOf(Map<String, Object> attributes, String id, Json.Node data) {
        requiredText(attributes, "id");
        requiredText(attributes, "source");
        String type = requiredText(attributes, "type");
        if (!"1.0".equals(attributes.get("specversion"))) throw invalidPayload("is not a CloudEvent 1.0");
        String acceptedAt = attributes.get("time") instanceof String time ? time : null;
        return event(id, type, data, acceptedAt, attributes);
    }

    private static String requiredText(Map<String, Object> attributes, String name) {
        if (attributes.get(name) instanceof String text && !text.isEmpty()) return text;
        throw invalidPayload("is not a CloudEvent 1.0");
    }

    private WebhookEvent event(String id, String type, Json.Node data, String acceptedAt, Map<String, Object> cloudEvent) {
        Object plain = data == null ? null : data.plain();
        String json = data == null ? null : data.text();
        return new WebhookEvent(id, signed.timestamp(), type, plain, json, acceptedAt, cloudEvent);
    }

    private static String textIn(Map<String, Json.Node> members, String name) {
        return members.containsKey(name) && members.get(name).value() instanceof String text ? text : null;
    }

    // As the HTTP binding of CloudEvents says. A text that is not percent-encoded UTF-8 is taken as it is.
    private static String percentDecoded(String value) {
        try {
            String decoded = URLDecoder.decode(value.replace("+", "%2B"), UTF_8);
            return decoded.contains("\uFFFD") ? value : decoded;
        } catch (IllegalArgumentException e) {
            return value;
        }
    }

    private static String textOf(byte[] body) {
        try {
            String text = UTF_8.newDecoder().decode(ByteBuffer.wrap(body)).toString();
            return text.startsWith("\uFEFF") ? text.substring(1) : text;
        } catch (CharacterCodingException e) {
            throw invalidPayload("is not UTF-8");
        }
    }

    private static Json.Node parse(String text) {
        try {
            return Json.parse(text);
        } catch (IllegalArgumentException e) {
            throw invalidPayload("is not JSON");
        }
    }
}
