package com.hookferry;

import java.time.Instant;
import java.util.Map;

/**
 * A verified event, whichever format its request had.
 *
 * @param id the same on every attempt; null only with X-Service-Signature alone, which covers no header
 * @param timestamp when its request was signed; null if that was not signed
 * @param data maps, lists, strings, Long, BigDecimal, Boolean and null
 * @param dataJson the same as the JSON that was published, for the JSON library of your choice
 * @param acceptedAt when the service accepted it (RFC 3339); null in the format "native"
 * @param cloudEvent all attributes if it came as a CloudEvent, or null
 */
public record WebhookEvent(String id, Instant timestamp, String type, Object data, String dataJson, String acceptedAt,
                           Map<String, Object> cloudEvent) {
}
