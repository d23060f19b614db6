package com.hookferry;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.MessageDigest;
import java.security.PublicKey;
import java.security.Signature;
import java.security.spec.X509EncodedKeySpec;
import java.time.Instant;
import java.util.Arrays;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** Checks the signatures of requests. */
final class Signatures {
    // The head of an Ed25519 key in DER (RFC 8410).
    private static final byte[] DER_HEAD = HexFormat.of().parseHex("302a300506032b6570032100");

    /**
     * @param issued the key of X-Service-Signature: the secret as it was issued
     * @param decoded the key of Standard Webhooks: the text after whsec_, decoded from base64
     */
    private record Secret(byte[] issued, byte[] decoded) {
    }

    private final List<Secret> secrets;
    private final List<PublicKey> keys;
    private final long toleranceSeconds;
    private final String serviceHeader;
    private final String servicePrefix;

    Signatures(List<String> secrets, List<String> publicKeys, long toleranceSeconds, String serviceHeader, String servicePrefix) {
        if (secrets.isEmpty() && publicKeys.isEmpty()) {
            throw VerificationException.missingSecret("secrets must have one or more");
        }
        this.secrets = secrets.stream().map(Signatures::parseSecret).toList();
        this.keys = publicKeys.stream().map(Signatures::parseKey).toList();
        this.toleranceSeconds = toleranceSeconds;
        this.serviceHeader = serviceHeader;
        this.servicePrefix = servicePrefix;
    }

    Signed verify(byte[] body, Headers headers, Instant now) {
        String signatures = headers.read("webhook-signature");
        if (signatures != null) return verifyStandard(body, List.of(signatures.split(" ")), headers, now);
        if (secrets.isEmpty()) {
            throw VerificationException.missingHeader("webhook-signature", "is missing: check that no proxy removes it");
        }
        verifyService(body, headers);
        return new Signed(null, null);
    }

    private Signed verifyStandard(byte[] body, List<String> given, Headers headers, Instant now) {
        String id = headers.require("webhook-id");
        String time = headers.require("webhook-timestamp");
        if (!time.matches("[0-9]{1,12}")) {
            throw VerificationException.missingHeader("webhook-timestamp", "is not a time in whole seconds");
        }
        Instant timestamp = Instant.ofEpochSecond(Long.parseLong(time));
        long skew = timestamp.getEpochSecond() - now.getEpochSecond();
        if (Math.abs(skew) > toleranceSeconds) throw VerificationException.skew(skew, toleranceSeconds);
        byte[] start = (id + "." + time + ".").getBytes(UTF_8);
        for (Secret secret : secrets) {
            String expected = "v1," + Base64.getEncoder().encodeToString(hmac(secret.decoded, start, body));
            if (given.stream().anyMatch(signature -> isEqual(signature, expected))) return new Signed(id, timestamp);
        }
        for (String signature : given) {
            if (signature.startsWith("v1a,") && isSignedByKey(decodeBase64(signature.substring(4)), start, body)) {
                return new Signed(id, timestamp);
            }
        }
        throw VerificationException.noMatch("webhook-signature");
    }

    private boolean isSignedByKey(byte[] signature, byte[]... parts) {
        return signature != null && signature.length == 64 && keys.stream().anyMatch(key -> {
            try {
                Signature verifier = Signature.getInstance("Ed25519");
                verifier.initVerify(key);
                for (byte[] part : parts) verifier.update(part);
                return verifier.verify(signature);
            } catch (GeneralSecurityException e) {
                return false;
            }
        });
    }

    private void verifyService(byte[] body, Headers headers) {
        String given = headers.read(serviceHeader);
        if (given == null) {
            throw VerificationException.missingHeader("webhook-signature", "is missing, and so is " + serviceHeader
                + ": pass all headers, and check that no proxy removes them");
        }
        for (Secret secret : secrets) {
            if (isEqual(given, servicePrefix + HexFormat.of().formatHex(hmac(secret.issued, body)))) return;
        }
        throw VerificationException.noMatch(serviceHeader);
    }

    // White space around a secret is ignored: files often end with a line break.
    private static Secret parseSecret(String secret) {
        if (secret == null) throw VerificationException.missingSecret("the secret is not set");
        String issued = secret.strip();
        String encoded = issued.startsWith("whsec_") ? issued.substring(6) : issued;
        // With an empty key, anybody could make a valid HMAC.
        if (encoded.isEmpty()) throw VerificationException.missingSecret("the secret is empty");
        if (issued.startsWith("whk_")) throw VerificationException.notASecret("it is an API key");
        if (encoded.chars().anyMatch(Character::isWhitespace)) {
            throw VerificationException.notASecret("it has white space in it");
        }
        byte[] decoded = decodeBase64(encoded);
        if (decoded == null) throw VerificationException.notASecret("it is not base64");
        return new Secret(issued.getBytes(UTF_8), decoded);
    }

    private static PublicKey parseKey(String key) {
        String text = key == null ? "" : key.strip();
        if (text.isEmpty()) throw VerificationException.notAKey("it is not set");
        if (!text.startsWith("whpk_")) throw VerificationException.notAKey("it does not begin with whpk_");
        byte[] bytes = decodeBase64(text.substring(5));
        if (bytes == null || bytes.length != 32) throw VerificationException.notAKey("it is not the base64 of 32 bytes");
        byte[] der = Arrays.copyOf(DER_HEAD, DER_HEAD.length + bytes.length);
        System.arraycopy(bytes, 0, der, DER_HEAD.length, bytes.length);
        try {
            return KeyFactory.getInstance("Ed25519").generatePublic(new X509EncodedKeySpec(der));
        } catch (GeneralSecurityException e) {
            throw VerificationException.notAKey(e.getMessage());
        }
    }

    /** With or without its padding. Null if it is not base64. */
    private static byte[] decodeBase64(String text) {
        try {
            return Base64.getDecoder().decode(text.replaceFirst("=+$", ""));
        } catch (IllegalArgumentException e) {
            return null;
        }
    }

    private static byte[] hmac(byte[] key, byte[]... parts) {
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(key, "HmacSHA256"));
            for (byte[] part : parts) mac.update(part);
            return mac.doFinal();
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(e);
        }
    }

    private static boolean isEqual(String given, String expected) {
        return MessageDigest.isEqual(given.getBytes(UTF_8), expected.getBytes(UTF_8));
    }
}
