<?php

declare(strict_types=1);

namespace Hookferry;

/** A response to the service. A handler can return one instead of "handled"; the event then counts as not handled. */
final class Response
{
    /** @param array<string, string> $headers */
    public function __construct(
        public readonly int $status,
        public readonly array $headers = [],
        public readonly string $body = '',
    ) {
    }

    /** Gives this event up: the service makes no further attempt. */
    public static function abort(): self
    {
        return new self(422, ['webhook-delivery' => 'abort']);
    }

    /** Disables the webhook. This event and later ones are held until somebody enables it. */
    public static function disable(): self
    {
        return new self(503, ['webhook-delivery' => 'disable']);
    }

    /**
     * Has the event sent again, after at least this time. The service waits for 24 hours at most.
     *
     * @param int $seconds from 1
     */
    public static function retryAfter(int $seconds): self
    {
        if ($seconds < 1) {
            throw new \InvalidArgumentException("retryAfter takes a whole number of seconds from 1, not $seconds.");
        }
        return new self(503, ['retry-after' => (string) $seconds]);
    }

    /** Sends it by PHP's own functions. */
    public function send(): void
    {
        http_response_code($this->status);
        $type = $this->body === '' ? [] : ['content-type' => 'text/plain; charset=utf-8'];
        foreach ([...$type, ...$this->headers] as $name => $value) {
            header("$name: $value");
        }
        echo $this->body;
    }
}
