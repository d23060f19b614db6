package com.hookferry;

/**
 * Handles an event. When it returns null, the event is handled. When it throws, the service sends the event again. It can
 * return a response to tell the service something else.
 */
@FunctionalInterface
public interface Handler {
    WebhookResponse handle(WebhookEvent event) throws Exception;
}
