package com.hookferry;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.regex.Pattern;

/** The headers of a request, with names in any case. */
final class Headers {
    // Proxies join the values of a header that came twice by ", ". No value of the service has a comma before white space.
    private static final Pattern JOINED = Pattern.compile(",\\s");

    private final Map<String, List<String>> headers;

    Headers(Map<String, List<String>> headers) {
        this.headers = headers;
    }

    /**
     * @return null where it is missing
     * @throws VerificationException if it came more than once, because either value may be the wrong one
     */
    String read(String name) {
        List<String> values = new ArrayList<>();
        headers.forEach((key, each) -> {
            if (name.equalsIgnoreCase(key)) values.addAll(each);
        });
        if (values.isEmpty()) return null;
        if (values.size() > 1 || JOINED.matcher(values.get(0)).find()) {
            throw VerificationException.missingHeader(name.toLowerCase(Locale.ROOT),
                "came more than once: check the proxy in front of this server");
        }
        return values.get(0);
    }

    /** @throws VerificationException also where it is missing */
    String require(String name) {
        String value = read(name);
        if (value != null && !value.isEmpty()) return value;
        throw VerificationException.missingHeader(name, "is missing: pass all headers, and check that no proxy removes it");
    }
}
