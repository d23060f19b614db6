package com.hookferry;

import java.lang.System.Logger.Level;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;

/** Verifies requests, and has their events handled. It does not change, so threads may share it. */
public final class Receiver {
    /** The longest event is 256 KiB unless the operator of the service allows more. */
    public static final int MAX_BYTES = 1_310_720;
    /** Longer than the longest attempt (60 s): by then the service has given up waiting for the response. */
    public static final Duration LEASE = Duration.ofSeconds(120);
    // The service tries again soon, and most handlers have finished by then.
    private static final String BUSY_RETRY_SECONDS = "10";
    private static final String DELIVERY = "webhook-delivery";
    private static final String RETRY_AFTER = "retry-after";

    private final Builder options;
    private final Signatures signatures;

    private Receiver(Builder options) {
        this.options = options;
        signatures = new Signatures(options.secrets, options.publicKeys, options.tolerance.toSeconds(),
            options.serviceHeader, options.servicePrefix);
    }

    /** It needs secrets or public keys. */
    public static Builder builder() {
        return new Builder();
    }

    /**
     * Verifies a request, and returns its event. If there is a webhook-signature, it is verified by Standard Webhooks.
     * Otherwise X-Service-Signature is verified.
     *
     * @param body as it arrived
     * @param headers all of them, with names in any case
     * @throws VerificationException respond with 401; INVALID_PAYLOAD also for a request with several events
     */
    public WebhookEvent verify(byte[] body, Map<String, List<String>> headers) {
        VerifiedRequest request = verifyEvents(body, headers);
        if (request.isBatch()) throw VerificationException.invalidPayload("is a list: read it by verifyEvents()");
        return request.events().get(0);
    }

    /**
     * Like {@link #verify}, for a webhook with "batch": returns all events of a request.
     *
     * @throws VerificationException as verify does, for the request as a whole
     */
    public VerifiedRequest verifyEvents(byte[] body, Map<String, List<String>> headers) {
        Signed signed = verifySignature(body, headers);
        return new EventReader(new Headers(headers), signed, options.binaryCloudEvents).read(body);
    }

    /**
     * Like {@link #verify}, but does not read the body.
     *
     * @throws VerificationException with any code but INVALID_PAYLOAD
     */
    public Signed verifySignature(byte[] body, Map<String, List<String>> headers) {
        return signatures.verify(body, new Headers(headers), options.clock.instant());
    }

    /**
     * Verifies a request, answers the service's challenge or calls the handler for each event, and throws no exception.
     * Read one byte more than {@link #MAX_BYTES} at most: a longer body gets 413.
     */
    public WebhookResponse receive(byte[] body, Map<String, List<String>> headers, Handler handler) {
        if (body.length > options.maxBytes) {
            return WebhookResponse.text(413, "The body has more than " + options.maxBytes + " bytes.\n");
        }
        VerifiedRequest request;
        try {
            request = verifyEvents(body, headers);
        } catch (VerificationException e) {
            options.onError.accept(e);
            return WebhookResponse.text(401, e.code() + ": " + e.getMessage() + "\n");
        }
        if (request.isBatch()) return handleEach(request.events(), handler);
        WebhookEvent event = request.events().get(0);
        // The service wants it before it sends events. Its signature was verified before.
        if (event.type().equals("webhook.verification") && event.data() instanceof Map<?, ?> data
            && data.get("challenge") instanceof String challenge) {
            return json("{\"challenge\":" + Json.quote(challenge) + "}", Map.of());
        }
        return handleOnce(event, handler);
    }

    private WebhookResponse handleOnce(WebhookEvent event, Handler handler) {
        try {
            DedupeStore store = options.dedupe;
            if (store == null || event.id() == null) return orHandled(handler.handle(event));
            Instant leaseEndsAt = options.clock.instant().plus(options.lease);
            return switch (store.claim(event.id(), options.lease)) {
                case DONE -> WebhookResponse.of(204, Map.of());
                case BUSY -> new WebhookResponse(409,
                    Map.of(RETRY_AFTER, BUSY_RETRY_SECONDS, "content-type", "text/plain; charset=utf-8"),
                    "This event is being handled right now.\n");
                case CLAIMED -> handleClaimed(event, handler, leaseEndsAt);
            };
        } catch (Exception e) {
            options.onError.accept(e);
            return WebhookResponse.text(500, "The webhook could not be handled: the log of the receiver says why.\n");
        }
    }

    private WebhookResponse handleClaimed(WebhookEvent event, Handler handler, Instant leaseEndsAt) throws Exception {
        boolean isHandled = false;
        try {
            WebhookResponse response = orHandled(handler.handle(event));
            isHandled = response.status() < 300;
            return response;
        } finally {
            settle(event.id(), isHandled, leaseEndsAt);
        }
    }

    /** A failure of the store does not change the result of the event: the lease ends by itself. */
    private void settle(String id, boolean isHandled, Instant leaseEndsAt) {
        try {
            // After the lease, the claim may belong to another process.
            if (isHandled) options.dedupe.commit(id);
            else if (options.clock.instant().isBefore(leaseEndsAt)) options.dedupe.release(id);
        } catch (Exception e) {
            options.onError.accept(e);
        }
    }

    /** One response for all events, which names those that failed. */
    private WebhookResponse handleEach(List<WebhookEvent> events, Handler handler) {
        List<WebhookResponse> refusals = new ArrayList<>();
        List<String> failed = new ArrayList<>();
        for (WebhookEvent event : events) {
            boolean isLeft = options.inOrder && !refusals.isEmpty();
            WebhookResponse response = isLeft ? refusals.get(0) : handleOnce(event, handler);
            if (response.status() > 299) {
                refusals.add(response);
                failed.add(Json.quote(Objects.requireNonNullElse(event.id(), "")));
            }
        }
        if (refusals.isEmpty()) return WebhookResponse.of(204, Map.of());
        Map<String, String> wishes = wishesOf(refusals);
        if (refusals.size() == events.size()) return refuseAll(refusals, wishes);
        // A single event of a batch cannot be aborted: "abort" counts as a failure.
        return json("{\"failed\":[" + String.join(",", failed) + "]}", wishes);
    }

    /** No event was handled: respond with an error status, so that the service treats the receiver as failing. */
    private static WebhookResponse refuseAll(List<WebhookResponse> refusals, Map<String, String> wishes) {
        WebhookResponse first = refusals.get(0);
        boolean isSame = refusals.stream().allMatch(each -> each.status() == first.status()
            && Objects.equals(each.headers().get(DELIVERY), first.headers().get(DELIVERY)));
        if (!isSame) return WebhookResponse.of(500, wishes);
        Map<String, String> headers = new HashMap<>(first.headers());
        headers.putAll(wishes);
        return new WebhookResponse(first.status(), headers, first.body());
    }

    /** The wishes of single events that apply to the whole webhook: to disable it, and how long to wait. */
    private static Map<String, String> wishesOf(List<WebhookResponse> refusals) {
        Map<String, String> wishes = new HashMap<>();
        int longest = 0;
        for (WebhookResponse each : refusals) {
            if ("disable".equals(each.headers().get(DELIVERY))) wishes.put(DELIVERY, "disable");
            longest = Math.max(longest, Integer.parseInt(each.headers().getOrDefault(RETRY_AFTER, "0")));
        }
        if (longest > 0) wishes.put(RETRY_AFTER, String.valueOf(longest));
        return wishes;
    }

    private static WebhookResponse orHandled(WebhookResponse response) {
        return response == null ? WebhookResponse.of(204, Map.of()) : response;
    }

    private static WebhookResponse json(String text, Map<String, String> headers) {
        Map<String, String> all = new HashMap<>(headers);
        all.put("content-type", "application/json");
        return new WebhookResponse(200, all, text);
    }

    /** The options of a receiver. */
    public static final class Builder implements Cloneable {
        private List<String> secrets = List.of();
        private List<String> publicKeys = List.of();
        private Duration tolerance = Duration.ofSeconds(300);
        private String serviceHeader = "X-Service-Signature";
        private String servicePrefix = "sha256=";
        private boolean binaryCloudEvents;
        private DedupeStore dedupe;
        private Duration lease = LEASE;
        private boolean inOrder;
        private int maxBytes = MAX_BYTES;
        private Consumer<Exception> onError = Builder::log;
        private Clock clock = Clock.systemUTC();

        private Builder() {
        }

        /** The webhook's secret as issued (whsec_…), or several during a rotation: a signature by any of them is valid. */
        public Builder secrets(String... secrets) {
            this.secrets = Arrays.asList(secrets);
            return this;
        }

        /** Of the webhook (whpk_…), for signing "ed25519" or "both". Without secrets only v1a signatures count. */
        public Builder publicKeys(String... publicKeys) {
            this.publicKeys = Arrays.asList(publicKeys);
            return this;
        }

        /** The greatest difference of webhook-timestamp from now, in both directions. Default 300 s. */
        public Builder tolerance(Duration tolerance) {
            this.tolerance = tolerance;
            return this;
        }

        /** The operator's SIGNATURE_HEADER and SIGNATURE_PREFIX. */
        public Builder serviceHeader(String name, String prefix) {
            serviceHeader = name;
            servicePrefix = prefix;
            return this;
        }

        /** Accepts CloudEvents whose attributes are headers. <b>No signature covers those headers.</b> */
        public Builder binaryCloudEvents(boolean binaryCloudEvents) {
            this.binaryCloudEvents = binaryCloudEvents;
            return this;
        }

        /** Stores the ids of handled events, so that an event that arrives twice is handled once. Default: none. */
        public Builder dedupe(DedupeStore dedupe) {
            this.dedupe = dedupe;
            return this;
        }

        /** The longest time that a handler takes. Default 120 s. It has no effect without a store. */
        public Builder lease(Duration lease) {
            this.lease = lease;
            return this;
        }

        /** Leaves the events of a batch after one that failed unhandled, for "ordering": "strict". */
        public Builder inOrder(boolean inOrder) {
            this.inOrder = inOrder;
            return this;
        }

        /** The longest accepted body. Default 1.25 MiB. */
        public Builder maxBytes(int maxBytes) {
            this.maxBytes = maxBytes;
            return this;
        }

        /** Gets the cause of each webhook that was not handled. Default: it is logged. */
        public Builder onError(Consumer<Exception> onError) {
            this.onError = onError;
            return this;
        }

        public Builder clock(Clock clock) {
            this.clock = clock;
            return this;
        }

        /** @throws VerificationException MISSING_SECRET, NOT_A_SECRET or NOT_A_KEY */
        public Receiver build() {
            try {
                // A copy: the builder may be used again, and the receiver does not change.
                return new Receiver((Builder) clone());
            } catch (CloneNotSupportedException e) {
                throw new IllegalStateException(e);
            }
        }

        private static void log(Exception error) {
            System.Logger logger = System.getLogger("com.hookferry");
            // Anybody can send requests that can't be verified, so they get one line in the log.
            if (error instanceof VerificationException e) {
                logger.log(Level.WARNING, "Webhook not handled: " + e.code() + ": " + e.getMessage());
            } else {
                logger.log(Level.ERROR, "Webhook not handled", error);
            }
        }
    }
}
