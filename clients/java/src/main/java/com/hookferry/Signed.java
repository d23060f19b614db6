package com.hookferry;

import java.time.Instant;

/** The signed facts besides the body. X-Service-Signature covers neither of them: then both are null. */
public record Signed(String id, Instant timestamp) {
}
