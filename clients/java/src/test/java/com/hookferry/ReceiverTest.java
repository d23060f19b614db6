package com.hookferry;

import static com.hookferry.Tests.ORDER;
import static com.hookferry.Tests.SECRET;
import static com.hookferry.Tests.ending;
import static com.hookferry.Tests.same;
import static com.hookferry.Tests.signed;
import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;

final class ReceiverTest {
    private static final String TWO = "{\"type\":\"batch\",\"data\":["
        + "{\"id\":\"evt_1\",\"type\":\"order.created\",\"timestamp\":\"2026-01-02T03:04:05.678Z\",\"data\":{}},"
        + "{\"id\":\"evt_2\",\"type\":\"order.created\",\"timestamp\":\"2026-01-02T03:04:05.678Z\",\"data\":{}}]}";
    private static final Handler FAIL = event -> {
        throw new IllegalStateException("database is down");
    };

    private static WebhookResponse receive(String body, Handler handler) throws Exception {
        Receiver receiver = Receiver.builder().secrets(SECRET).onError(e -> { }).build();
        return receiver.receive(body.getBytes(UTF_8), signed("evt_0", body, false), handler);
    }

    private static void expect(WebhookResponse found, int status, String body, Map<String, String> headers) {
        same(status, found.status(), "the status");
        headers.forEach((name, value) -> same(value, found.headers().get(name), name));
        same(true, body.isEmpty() ? found.body().isEmpty() : found.body().startsWith(body), found.body());
    }

    static void respondsToOneEvent() throws Exception {
        expect(receive(ORDER, event -> null), 204, "", Map.of());
        expect(receive(ORDER, FAIL), 500, "The webhook could not", Map.of());
        expect(receive(ORDER, event -> WebhookResponse.abort()), 422, "", Map.of("webhook-delivery", "abort"));
        expect(receive(ORDER, event -> WebhookResponse.disable()), 503, "", Map.of("webhook-delivery", "disable"));
        expect(receive(ORDER, event -> WebhookResponse.retryAfter(60)), 503, "", Map.of("retry-after", "60"));
        expect(receive("{\"type\":\"webhook.verification\",\"data\":{\"challenge\":\"a\\\"\"}}", FAIL), 200,
            "{\"challenge\":\"a\\\"\"}", Map.of("content-type", "application/json"));
    }

    static void respondsToSeveralEvents() throws Exception {
        expect(receive(TWO, event -> null), 204, "", Map.of());
        expect(receive(TWO, event -> event.id().equals("evt_2") ? FAIL.handle(event) : null), 200,
            "{\"failed\":[\"evt_2\"]}", Map.of("content-type", "application/json"));
        expect(receive(TWO, event -> event.id().equals("evt_1") ? WebhookResponse.retryAfter(60) : null), 200,
            "{\"failed\":[\"evt_1\"]}", Map.of("retry-after", "60"));
        expect(receive(TWO, FAIL), 500, "The webhook could not", Map.of());
        expect(receive(TWO, event -> WebhookResponse.abort()), 422, "", Map.of("webhook-delivery", "abort"));
        expect(receive(TWO, event -> event.id().equals("evt_1") ? WebhookResponse.abort() : WebhookResponse.retryAfter(5)),
            500, "", Map.of("retry-after", "5"));
    }

    static void leavesTheRestOfABatchInOrder() throws Exception {
        List<String> calls = new ArrayList<>();
        Receiver receiver = Receiver.builder().secrets(SECRET).inOrder(true).onError(e -> { }).build();
        receiver.receive(TWO.getBytes(UTF_8), signed("batch", TWO, false), event -> {
            calls.add(event.id());
            return FAIL.handle(event);
        });
        same(List.of("evt_1"), calls, "the calls");
    }

    static void refusesWhatIsNotGenuine() throws Exception {
        Receiver receiver = Receiver.builder().secrets(SECRET).maxBytes(100).onError(e -> { }).build();
        Map<String, List<String>> headers = signed("evt_1", ORDER, false);
        headers.put("Webhook-id", List.of("evt_2"));
        expect(receiver.receive(ORDER.getBytes(UTF_8), headers, FAIL), 401, "no_match: No signature in webhook-signature", Map.of());
        expect(receiver.receive(new byte[101], headers, FAIL), 413, "The body has more than 100 bytes", Map.of());
        same("missing_secret", ending(() -> Receiver.builder().build()), "no secret");
        same("missing_secret", ending(() -> Receiver.builder().secrets(System.getenv("NOT_SET")).build()), "an unset one");
    }

    static void handlesAnEventOnce() throws Exception {
        Receiver receiver = Receiver.builder().secrets(SECRET).dedupe(new MemoryStore()).onError(e -> { }).build();
        List<Integer> statuses = new ArrayList<>();
        List<String> calls = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            statuses.add(receiver.receive(ORDER.getBytes(UTF_8), signed("evt_1", ORDER, false), event -> {
                calls.add(event.id());
                return calls.size() == 1 ? FAIL.handle(event) : null;
            }).status());
        }
        same(List.of(500, 204, 204), statuses, "the statuses");
        same(2, calls.size(), "the calls");
    }

    static void aReceiverDoesNotChangeWithItsBuilder() throws Exception {
        Receiver.Builder builder = Receiver.builder().secrets(SECRET).onError(e -> { });
        Receiver receiver = builder.build();
        builder.maxBytes(1).build();
        same(204, receiver.receive(ORDER.getBytes(UTF_8), signed("evt_1", ORDER, false), event -> null).status(), "the status");
    }

    static void refusesWhatIsNoJson() {
        for (String text : List.of("", "{", "[1,]", "{\"a\":1,}", "01", "1.", "-", "+1", "'a'", "\"\t\"", "\"\\x\"", "\"\\u12\"", "nul",
            "1 2", "\"a", "[".repeat(600) + "]".repeat(600), "1e99999999999")) {
            try {
                Json.parse(text);
            } catch (IllegalArgumentException e) {
                continue;
            }
            throw new AssertionError(text + " is accepted");
        }
        same("[{\"a\":-1.50e2,\"b\":[true,null,\"é\\u00e9\\n\"]}]", Json.parse(" [{\"a\":-1.50e2,\"b\":[true,null,\"é\\u00e9\\n\"]}] ").text(), "the text");
    }
}
