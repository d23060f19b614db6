package com.hookferry;

/** Says why a request could not be verified. The message says what to do, and has no secret. */
public final class VerificationException extends RuntimeException {
    /** Does not change between versions. The first three are mistakes of the receiver's configuration. */
    public enum Code {
        MISSING_SECRET, NOT_A_SECRET, NOT_A_KEY, MISSING_HEADER, TIMESTAMP_SKEW, NO_MATCH, INVALID_PAYLOAD;

        /** As the other packages and the deliveries of the service show it, such as {@code no_match}. */
        @Override
        public String toString() {
            return name().toLowerCase(java.util.Locale.ROOT);
        }
    }

    private static final long serialVersionUID = 1;
    private final Code code;
    private final String header;
    private final Long skewSeconds;

    private VerificationException(Code code, String message, String header, Long skewSeconds) {
        super(message);
        this.code = code;
        this.header = header;
        this.skewSeconds = skewSeconds;
    }

    public Code code() {
        return code;
    }

    /** Its name with {@code MISSING_HEADER}, or null. */
    public String header() {
        return header;
    }

    /** The request's time minus this clock's with {@code TIMESTAMP_SKEW}, or null. Negative: the request is too old. */
    public Long skewSeconds() {
        return skewSeconds;
    }

    /** Whether the receiver's configuration is wrong, so that no request can be verified. */
    public boolean isConfigurationError() {
        return code.compareTo(Code.NOT_A_KEY) <= 0;
    }

    static VerificationException missingHeader(String name, String what) {
        return new VerificationException(Code.MISSING_HEADER, "The header " + name + " " + what + ".", name, null);
    }

    static VerificationException invalidPayload(String what) {
        return new VerificationException(Code.INVALID_PAYLOAD, "The signature is valid, but the body " + what
            + ". If the service sent it, read the body yourself after verifySignature().", null, null);
    }

    static VerificationException missingSecret(String what) {
        return new VerificationException(Code.MISSING_SECRET, "There is no secret to verify with: " + what
            + ". Set its variable, such as WEBHOOK_SECRET=whsec_….", null, null);
    }

    static VerificationException notASecret(String why) {
        return new VerificationException(Code.NOT_A_SECRET, "This is not a signing secret: " + why
            + ". Pass the webhook's \"secret\" as it was issued (whsec_…).", null, null);
    }

    static VerificationException notAKey(String why) {
        return new VerificationException(Code.NOT_A_KEY, "This is not a public key: " + why
            + ". Pass \"public_key\" of the webhook as it is shown (whpk_…).", null, null);
    }

    static VerificationException noMatch(String header) {
        return new VerificationException(Code.NO_MATCH, "No signature in " + header + " is valid. Check that this is the "
            + "secret, or key, of this webhook, and that the body is exactly as it arrived.", null, null);
    }

    static VerificationException skew(long skew, long tolerance) {
        String where = skew < 0 ? "behind" : "ahead of";
        return new VerificationException(Code.TIMESTAMP_SKEW, "The request's time is " + Math.abs(skew) + " s " + where
            + " this clock, more than the " + tolerance + " s allowed: set the clock (NTP), unless this is an old request "
            + "sent again.", null, skew);
    }
}
