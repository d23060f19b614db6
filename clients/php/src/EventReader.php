<?php

declare(strict_types=1);

namespace Hookferry;

/** @internal Reads the events of a request whose signature is valid. */
final class EventReader
{
    // In the order of the specification. Names of extensions can't be found in all kinds of headers.
    private const ATTRIBUTES = ['specversion', 'id', 'source', 'type', 'time', 'subject', 'dataschema', 'partitionkey'];

    /** @param array{id: ?string, timestamp: ?int} $signed */
    public function __construct(
        private readonly Headers $headers,
        private readonly array $signed,
        private readonly bool $takesBinary,
    ) {
    }

    /**
     * The body says which format it has, and no header does: no signature covers headers.
     *
     * @throws VerificationError invalid_payload
     */
    public function read(string $body): VerifiedRequest
    {
        if (preg_match('//u', $body) !== 1) {
            throw VerificationError::invalidPayload('is not UTF-8');
        }
        $text = str_starts_with($body, "\xEF\xBB\xBF") ? substr($body, 3) : $body;
        if ($this->headers->read('ce-specversion') !== null) {
            if (!$this->takesBinary) {
                throw VerificationError::invalidPayload('comes with attributes as headers, and "binaryCloudEvents" is not set');
            }
            return self::one($this->binaryEvent($text));
        }
        $payload = self::parse($text);
        // Decoded, an empty list and an empty object are the same.
        if (str_starts_with(ltrim($text), '[') && is_array($payload)) {
            return self::several($this->cloudEvent(...), $payload);
        }
        if (!is_array($payload)) {
            throw VerificationError::invalidPayload('is not an object');
        }
        if (array_key_exists('specversion', $payload)) {
            return self::one($this->cloudEvent($payload));
        }
        if (!is_string($payload['type'] ?? null) || !array_key_exists('data', $payload)) {
            throw VerificationError::invalidPayload('has no "type" and "data"');
        }
        ['type' => $type, 'data' => $data] = $payload;
        // No event has this type: each has a dot.
        if ($type === 'batch' && is_array($data) && array_is_list($data)) {
            return self::several($this->batchItem(...), $data);
        }
        return self::one(new Event($type, $data, $this->signed['id'], $this->signed['timestamp']));
    }

    private static function one(Event $event): VerifiedRequest
    {
        return new VerifiedRequest([$event], false);
    }

    /** @param array<mixed> $items */
    private static function several(callable $read, array $items): VerifiedRequest
    {
        return new VerifiedRequest(array_map($read, array_values($items)), true);
    }

    private function batchItem(mixed $item): Event
    {
        if (!is_array($item)) {
            throw VerificationError::invalidPayload('has an item that is not an object');
        }
        [$id, $type, $acceptedAt] = [$item['id'] ?? null, $item['type'] ?? null, $item['timestamp'] ?? null];
        if (!is_string($id) || !is_string($type) || !is_string($acceptedAt)) {
            throw VerificationError::invalidPayload('has an item without "id", "type" or "timestamp"');
        }
        return new Event($type, $item['data'] ?? null, $id, $this->signed['timestamp'], $acceptedAt);
    }

    /** One that is a JSON object. Its id is in the body, which is signed. */
    private function cloudEvent(mixed $item): Event
    {
        if (!is_array($item)) {
            throw VerificationError::invalidPayload('has an item that is not a CloudEvent');
        }
        $data = $item['data'] ?? null;
        unset($item['data']);
        return $this->eventOf($item, $item['id'] ?? null, $data);
    }

    /** One whose attributes are headers. Its id is that of the request, which is signed. */
    private function binaryEvent(string $text): Event
    {
        $contentType = $this->headers->read('content-type') ?? 'application/json';
        $data = preg_match('~^[^;]*[/+]json\b~i', $contentType) === 1 ? self::parse($text) : $text;
        $attributes = ['datacontenttype' => $contentType];
        foreach (self::ATTRIBUTES as $name) {
            $value = $this->headers->read("ce-$name");
            if ($value !== null) {
                $attributes[$name] = self::percentDecoded($value);
            }
        }
        ['id' => $id] = $this->signed;
        if ($id !== null && ($attributes['id'] ?? null) !== $id) {
            throw VerificationError::invalidPayload('comes with a "ce-id" that is not the id that was signed');
        }
        return $this->eventOf($attributes, $id, $data);
    }

    /** @param array<string, mixed> $attributes */
    private function eventOf(array $attributes, mixed $id, mixed $data): Event
    {
        foreach (['id', 'source', 'type'] as $name) {
            if (!is_string($attributes[$name] ?? null) || $attributes[$name] === '') {
                throw VerificationError::invalidPayload('is not a CloudEvent 1.0');
            }
        }
        if (($attributes['specversion'] ?? null) !== '1.0') {
            throw VerificationError::invalidPayload('is not a CloudEvent 1.0');
        }
        $time = $attributes['time'] ?? null;
        $acceptedAt = is_string($time) ? $time : null;
        return new Event($attributes['type'], $data, $id, $this->signed['timestamp'], $acceptedAt, $attributes);
    }

    // As the HTTP binding of CloudEvents says. A text that is not percent-encoded UTF-8 is taken as it is.
    private static function percentDecoded(string $value): string
    {
        $decoded = preg_match('/%(?![0-9a-f]{2})/i', $value) === 1 ? $value : rawurldecode($value);
        return preg_match('//u', $decoded) === 1 ? $decoded : $value;
    }

    private static function parse(string $text): mixed
    {
        try {
            return json_decode($text, true, 512, JSON_THROW_ON_ERROR);
        } catch (\JsonException) {
            throw VerificationError::invalidPayload('is not JSON');
        }
    }
}
