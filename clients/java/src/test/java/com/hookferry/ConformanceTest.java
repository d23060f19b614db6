package com.hookferry;

import static com.hookferry.Tests.ORDER;
import static com.hookferry.Tests.SECRET;
import static com.hookferry.Tests.ending;
import static com.hookferry.Tests.same;
import static com.hookferry.Tests.signed;
import static java.nio.charset.StandardCharsets.UTF_8;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Every case of conformance/: what receivers in all languages check and read alike. Runs in the folder of the package. */
final class ConformanceTest {
    private static final String STRANGE = "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

    static void signatures() throws Exception {
        for (var each : cases("signatures.json", 50)) checkSignature(each);
    }

    static void publicKeys() throws Exception {
        // This package takes keys, and fetches no sets of them.
        var cases = cases("asymmetric.json", 50).stream().filter(each -> !each.containsKey("jwks")).toList();
        same(true, cases.size() >= 30, "the number of cases with keys");
        for (var each : cases) checkSignature(each);
    }

    private static void checkSignature(Map<?, ?> each) {
        byte[] body = Base64.getDecoder().decode((String) each.get("body_base64"));
        var headers = headersOf(each.get("headers"));
        List<Object> found = new ArrayList<>();
        try {
            receiverOf(each).verifySignature(body, headers);
            found.add("ok");
            found.add(null);
            found.add(null);
        } catch (VerificationException e) {
            found.add(e.code().toString());
            found.add(e.header());
            found.add(e.skewSeconds());
        }
        List<Object> expected = new ArrayList<>();
        for (String name : List.of("expect", "header", "skew")) expected.add(each.get(name));
        same(expected, found, (String) each.get("name"));
        if (!found.get(0).equals("ok")) return;
        // The corpus is about signatures, so some bodies in it are no events.
        Object payload = each.get("payload");
        if (payload == null) payload = new String(body, UTF_8).startsWith("{\"type\":") ? "ok" : "invalid_payload";
        same(payload, ending(() -> receiverOf(each).verify(body, headers)), each.get("name") + ", the payload");
    }

    private static Receiver receiverOf(Map<?, ?> each) {
        long tolerance = each.get("tolerance") instanceof Long seconds ? seconds : 300;
        return Receiver.builder().secrets(texts(each.get("secrets"))).publicKeys(texts(each.get("public_keys")))
            .tolerance(Duration.ofSeconds(tolerance)).clock(at((Long) each.get("now"))).build();
    }

    static void events() throws Exception {
        for (var each : cases("events.json", 30)) {
            String body = (String) each.get("body");
            String name = (String) each.get("name");
            var headers = headersOf(each.get("headers"));
            headers.putAll(signed((String) each.get("id"), body, (Boolean) each.get("service")));
            var receiver = Receiver.builder().secrets(SECRET).binaryCloudEvents((Boolean) each.get("binary")).build();
            if ("invalid_payload".equals(each.get("expect"))) {
                same("invalid_payload", ending(() -> receiver.verifyEvents(body.getBytes(UTF_8), headers)), name);
                continue;
            }
            VerifiedRequest request = receiver.verifyEvents(body.getBytes(UTF_8), headers);
            List<Object> events = new ArrayList<>();
            for (WebhookEvent event : request.events()) events.add(presented(event));
            same(each.get("expect"), Map.of("is_batch", request.isBatch(), "events", events), name);
            // One event is what verify() gives, and no list.
            String alone = ending(() -> same(request.events().get(0), receiver.verify(body.getBytes(UTF_8), headers), name));
            same(request.isBatch() ? "invalid_payload" : "ok", alone, name);
        }
    }

    private static Map<String, Object> presented(WebhookEvent event) {
        Map<String, Object> shown = new HashMap<>();
        shown.put("id", event.id());
        shown.put("accepted_at", event.acceptedAt());
        shown.put("cloudevent", event.cloudEvent());
        shown.values().removeIf(value -> value == null);
        shown.put("type", event.type());
        shown.put("data", event.data());
        same(event.data(), event.dataJson() == null ? null : Json.parse(event.dataJson()).plain(), "the text of data");
        return shown;
    }

    static void requests() throws Exception {
        for (var each : cases("requests.json", 15)) {
            Map<?, ?> event = (Map<?, ?>) each.get("event");
            Map<?, ?> request = (Map<?, ?>) each.get("request");
            String name = (String) each.get("name");
            long now = (Long) each.get("now");
            byte[] body = Base64.getDecoder().decode((String) request.get("body_base64"));
            var headers = headersOf(request.get("headers"));
            List<?> secrets = (List<?>) ((Map<?, ?>) each.get("webhook")).get("secrets");
            for (Object one : secrets) {
                Map<?, ?> secret = (Map<?, ?>) one;
                var receiver = Receiver.builder().secrets((String) secret.get("secret")).clock(at(now)).build();
                if (secret.get("expires_at") instanceof Long endsAt && endsAt <= now) {
                    same("no_match", ending(() -> receiver.verify(body, headers)), name);
                    continue;
                }
                WebhookEvent read = receiver.verify(body, headers);
                same(List.of(event.get("id"), event.get("type"), now),
                    List.of(read.id(), read.type(), read.timestamp().getEpochSecond()), name);
                // Data are as they were published, byte for byte.
                same(((String) event.get("data_text")).strip(), read.dataJson(), name);
            }
            var strange = Receiver.builder().secrets(STRANGE).clock(at(now)).build();
            same("no_match", ending(() -> strange.verify(body, headers)), name);
            headers.remove("webhook-signature");
            Map<?, ?> settings = (Map<?, ?>) each.get("settings");
            var plain = Receiver.builder().secrets((String) ((Map<?, ?>) secrets.get(0)).get("secret"))
                .serviceHeader((String) settings.get("signature_header"), (String) settings.get("signature_prefix")).build();
            same(event.get("type"), plain.verify(body, headers).type(), name);
        }
    }

    static void limits() throws Exception {
        DedupeStore busyStore = new DedupeStore() {
            @Override
            public Claim claim(String id, Duration lease) {
                return Claim.BUSY;
            }

            @Override
            public void commit(String id) {
                throw new IllegalStateException("not for one who is busy");
            }

            @Override
            public void release(String id) {
                throw new IllegalStateException("not for one who is busy");
            }
        };
        var busy = Receiver.builder().secrets(SECRET).dedupe(busyStore).build()
            .receive(ORDER.getBytes(UTF_8), signed("evt_1", ORDER, false), event -> null);
        Object limits = Json.parse(Files.readString(Path.of("../../conformance/receivers.json"))).plain();
        same(limits, Map.of("max_body_bytes", (long) Receiver.MAX_BYTES, "lease_seconds", Receiver.LEASE.toSeconds(),
            "remembered_seconds", DedupeStore.REMEMBERED.toSeconds(), "busy", Map.of("status", (long) busy.status(),
                "retry_after_seconds", Long.parseLong(busy.headers().get("retry-after")))), "limits");
    }

    private static List<Map<?, ?>> cases(String name, int least) throws Exception {
        Map<?, ?> file = (Map<?, ?>) Json.parse(Files.readString(Path.of("../../conformance", name))).plain();
        List<Map<?, ?>> cases = new ArrayList<>();
        for (Object each : (List<?>) file.get("cases")) cases.add((Map<?, ?>) each);
        same(true, cases.size() >= least, "the number of cases in " + name);
        return cases;
    }

    private static Map<String, List<String>> headersOf(Object headers) {
        Map<String, List<String>> lists = new HashMap<>();
        ((Map<?, ?>) headers).forEach((name, value) -> lists.put((String) name, List.of((String) value)));
        return lists;
    }

    private static String[] texts(Object list) {
        return list == null ? new String[0] : ((List<?>) list).toArray(new String[0]);
    }

    private static Clock at(long seconds) {
        return Clock.fixed(Instant.ofEpochSecond(seconds), ZoneOffset.UTC);
    }
}
