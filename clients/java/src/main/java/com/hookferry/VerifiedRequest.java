package com.hookferry;

import java.util.List;

/**
 * The content of a verified request.
 *
 * @param events in the order in which the service accepted them
 * @param isBatch whether the request is a list, also of one event. A 2xx then accepts all its events. With the body
 *     {@code {"failed": [ids]}} it accepts all others.
 */
public record VerifiedRequest(List<WebhookEvent> events, boolean isBatch) {
}
