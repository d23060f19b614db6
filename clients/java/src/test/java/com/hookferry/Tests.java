package com.hookferry;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

/** Runs each method of the test classes, and says how many passed. Without a library, as the package itself. */
final class Tests {
    static final String SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    static final String ORDER = "{\"type\":\"order.created\",\"data\":{\"id\":\"ord_1\"}}";

    public static void main(String[] args) throws Exception {
        int passed = 0;
        int failed = 0;
        for (Class<?> each : List.of(ConformanceTest.class, ReceiverTest.class, MemoryStoreTest.class)) {
            for (Method test : each.getDeclaredMethods()) {
                if (Modifier.isPrivate(test.getModifiers()) || test.isSynthetic()) continue;
                try {
                    test.invoke(null);
                    passed++;
                } catch (InvocationTargetException e) {
                    failed++;
                    System.out.println("FAILED " + each.getSimpleName() + "." + test.getName());
                    e.getCause().printStackTrace(System.out);
                }
            }
        }
        System.out.println(passed + " passed, " + failed + " failed");
        System.exit(failed == 0 ? 0 : 1);
    }

    static void same(Object expected, Object found, String what) {
        if (!Objects.equals(expected, found)) throw new AssertionError(what + ": " + found + " instead of " + expected);
    }

    /** The code of the exception, or "ok". */
    static String ending(Runnable call) {
        try {
            call.run();
            return "ok";
        } catch (VerificationException e) {
            return e.code().toString();
        }
    }

    static Map<String, List<String>> signed(String id, String body, boolean isService) throws Exception {
        Map<String, List<String>> headers = new HashMap<>();
        if (isService) {
            byte[] hmac = hmac(SECRET.getBytes(UTF_8), body);
            headers.put("X-Service-Signature", List.of("sha256=" + java.util.HexFormat.of().formatHex(hmac)));
            return headers;
        }
        String time = String.valueOf(System.currentTimeMillis() / 1000);
        byte[] hmac = hmac(Base64.getDecoder().decode(SECRET.substring(6)), id + "." + time + "." + body);
        headers.put("Webhook-id", List.of(id));
        headers.put("Webhook-timestamp", List.of(time));
        headers.put("Webhook-signature", List.of("v1," + Base64.getEncoder().encodeToString(hmac)));
        return headers;
    }

    private static byte[] hmac(byte[] key, String text) throws Exception {
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(key, "HmacSHA256"));
        return mac.doFinal(text.getBytes(UTF_8));
    }
}
