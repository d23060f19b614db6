package com.hookferry;

import java.util.Map;

/** A response to the service. A handler can return one instead of null; the event then counts as not handled. */
public record WebhookResponse(int status, Map<String, String> headers, String body) {
    /** Gives this event up: the service makes no further attempt. */
    public static WebhookResponse abort() {
        return of(422, Map.of("webhook-delivery", "abort"));
    }

    /** Disables the webhook. This event and later ones are held until somebody enables it. */
    public static WebhookResponse disable() {
        return of(503, Map.of("webhook-delivery", "disable"));
    }

    /**
     * Has the event sent again, after at least this time. The service waits for 24 hours at most.
     *
     * @param seconds from 1
     */
    public static WebhookResponse retryAfter(int seconds) {
        if (seconds < 1) throw new IllegalArgumentException("retryAfter takes seconds from 1, not " + seconds + ".");
        return of(503, Map.of("retry-after", String.valueOf(seconds)));
    }

    static WebhookResponse of(int status, Map<String, String> headers) {
        return new WebhookResponse(status, headers, "");
    }

    static WebhookResponse text(int status, String text) {
        return new WebhookResponse(status, Map.of("content-type", "text/plain; charset=utf-8"), text);
    }
}
