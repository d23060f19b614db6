<?php

declare(strict_types=1);

namespace Hookferry;

/** A verified event, whichever format its request had. */
final class Event
{
    /**
     * @param mixed $data as json_decode() gives it, with arrays for objects
     * @param ?string $id the same on every attempt; null only with X-Service-Signature alone, which covers no header
     * @param ?int $timestamp when its request was signed, in whole seconds since the Unix epoch
     * @param ?string $acceptedAt when the service accepted it (RFC 3339); the format "native" does not have it
     * @param ?array<string, mixed> $cloudEvent all attributes, if it came as a CloudEvent
     */
    public function __construct(
        public readonly string $type,
        public readonly mixed $data,
        public readonly ?string $id = null,
        public readonly ?int $timestamp = null,
        public readonly ?string $acceptedAt = null,
        public readonly ?array $cloudEvent = null,
    ) {
    }
}
