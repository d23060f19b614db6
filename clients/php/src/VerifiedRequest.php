<?php

declare(strict_types=1);

namespace Hookferry;

/** The content of a verified request. */
final class VerifiedRequest
{
    /**
     * @param list<Event> $events in the order in which the service accepted them
     * @param bool $isBatch whether the request is a list, also of one event; a 2xx then accepts all its events, and with the
     *   body {"failed": [ids]} all others
     */
    public function __construct(public readonly array $events, public readonly bool $isBatch)
    {
    }
}
