package com.hookferry;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Reads JSON (RFC 8259), because the standard library of Java does not. It keeps the text of each value. */
final class Json {
    // As deep as other parsers go, and no deeper than the stack.
    private static final int MAX_DEPTH = 512;

    /** A value and its text. An object is a map of nodes, and a list a list of nodes. */
    record Node(Object value, String text) {
        /** With maps and lists of plain values. */
        Object plain() {
            if (value instanceof List<?> items) {
                List<Object> list = new ArrayList<>();
                for (Object item : items) list.add(((Node) item).plain());
                return list;
            }
            if (value instanceof Map<?, ?> members) {
                Map<String, Object> map = new LinkedHashMap<>();
                members.forEach((name, member) -> map.put((String) name, ((Node) member).plain()));
                return map;
            }
            return value;
        }

        /** Null if it is not an object. */
        @SuppressWarnings("unchecked")
        Map<String, Node> members() {
            return value instanceof Map<?, ?> ? (Map<String, Node>) value : null;
        }

        /** Null if it is not a list. */
        @SuppressWarnings("unchecked")
        List<Node> items() {
            return value instanceof List<?> ? (List<Node>) value : null;
        }
    }

    private final String text;
    private int at;
    private int depth;

    private Json(String text) {
        this.text = text;
    }

    /** @throws IllegalArgumentException if it is not JSON */
    static Node parse(String text) {
        Json json = new Json(text);
        Node node = json.readValue();
        json.skipSpace();
        if (json.at < text.length()) throw json.unexpected();
        return node;
    }

    /** A text as JSON. */
    static String quote(String text) {
        StringBuilder quoted = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\') quoted.append('\\').append(c);
            else if (c < 0x20 || Character.isSurrogate(c)) quoted.append(String.format("\\u%04x", (int) c));
            else quoted.append(c);
        }
        return quoted.append('"').toString();
    }

    private Node readValue() {
        skipSpace();
        int start = at;
        Object value = switch (peek()) {
            case '{' -> readObject();
            case '[' -> readList();
            case '"' -> readString();
            case 't' -> readWord("true", Boolean.TRUE);
            case 'f' -> readWord("false", Boolean.FALSE);
            case 'n' -> readWord("null", null);
            default -> readNumber();
        };
        return new Node(value, text.substring(start, at));
    }

    private Map<String, Node> readObject() {
        enter();
        Map<String, Node> members = new LinkedHashMap<>();
        skipSpace();
        if (peek() != '}') {
            do {
                skipSpace();
                String name = readString();
                skipSpace();
                expect(':');
                members.put(name, readValue());
                skipSpace();
            } while (takes(','));
        }
        leave('}');
        return members;
    }

    private List<Node> readList() {
        enter();
        List<Node> items = new ArrayList<>();
        skipSpace();
        if (peek() != ']') {
            do {
                items.add(readValue());
                skipSpace();
            } while (takes(','));
        }
        leave(']');
        return items;
    }

    private void enter() {
        at++;
        if (++depth > MAX_DEPTH) throw new IllegalArgumentException("JSON with more than " + MAX_DEPTH + " levels");
    }

    private void leave(char end) {
        expect(end);
        depth--;
    }

    private String readString() {
        expect('"');
        StringBuilder result = new StringBuilder();
        while (peek() != '"') {
            char c = text.charAt(at++);
            if (c < 0x20) throw unexpected();
            result.append(c == '\\' ? readEscape() : c);
        }
        at++;
        return result.toString();
    }

    private char readEscape() {
        char c = peek();
        at++;
        return switch (c) {
            case '"', '\\', '/' -> c;
            case 'b' -> '\b';
            case 'f' -> '\f';
            case 'n' -> '\n';
            case 'r' -> '\r';
            case 't' -> '\t';
            case 'u' -> readHex();
            default -> throw unexpected();
        };
    }

    private char readHex() {
        String digits = text.substring(at, Math.min(at + 4, text.length()));
        if (!digits.matches("[0-9a-fA-F]{4}")) throw unexpected();
        at += 4;
        return (char) Integer.parseInt(digits, 16);
    }

    private Object readWord(String word, Object value) {
        if (!text.startsWith(word, at)) throw unexpected();
        at += word.length();
        return value;
    }

    private Object readNumber() {
        int start = at;
        takes('-');
        if (!takes('0')) readDigits();
        boolean isWhole = true;
        if (takes('.')) {
            isWhole = false;
            readDigits();
        }
        if (takes('e') || takes('E')) {
            isWhole = false;
            if (!takes('+')) takes('-');
            readDigits();
        }
        String number = text.substring(start, at);
        try {
            return isWhole && number.length() < 19 ? (Object) Long.valueOf(number) : new BigDecimal(number);
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException("a number with too great an exponent");
        }
    }

    private void readDigits() {
        int start = at;
        while (at < text.length() && text.charAt(at) >= '0' && text.charAt(at) <= '9') at++;
        if (at == start) throw unexpected();
    }

    private void skipSpace() {
        while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) at++;
    }

    private char peek() {
        if (at >= text.length()) throw unexpected();
        return text.charAt(at);
    }

    private boolean takes(char c) {
        boolean isNext = at < text.length() && text.charAt(at) == c;
        if (isNext) at++;
        return isNext;
    }

    private void expect(char c) {
        if (!takes(c)) throw unexpected();
    }

    private IllegalArgumentException unexpected() {
        return new IllegalArgumentException("no JSON at the character " + at);
    }
}
