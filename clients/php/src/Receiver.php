<?php

declare(strict_types=1);

namespace Hookferry;

/** Verifies requests, and has their events handled. */
final class Receiver
{
    /** The longest event is 256 KiB unless the operator of the service allows more. */
    public const MAX_BYTES = 1_310_720;
    /** Longer than the longest attempt (60 s): by then the service has given up waiting for the response. */
    public const LEASE_SECONDS = 120;
    // The service tries again soon, and most handlers have finished by then.
    private const BUSY_RETRY_SECONDS = '10';

    private readonly Signatures $signatures;
    private readonly \Closure $onError;
    private readonly \Closure $now;

    /**
     * @param null|string|list<?string> $secrets the webhook's secret as it was issued (whsec_…), or several during a
     *   rotation: a signature by any of them is valid
     * @param list<?string> $publicKeys of the webhook (whpk_…), for signing "ed25519" or "both"; without secrets only v1a
     *   signatures count
     * @param int $toleranceSeconds the greatest difference of webhook-timestamp from now, in both directions
     * @param string $serviceHeader the operator's SIGNATURE_HEADER
     * @param string $servicePrefix the operator's SIGNATURE_PREFIX
     * @param bool $binaryCloudEvents accepts CloudEvents whose attributes are headers, which no signature covers
     * @param ?DedupeStore $dedupe stores the ids of handled events, so that an event that arrives twice is handled once
     * @param int $leaseSeconds the longest time that a handler takes
     * @param bool $inOrder leaves the events of a batch after one that failed unhandled, for "ordering": "strict"
     * @param int $maxBytes the longest accepted body
     * @param ?callable(\Throwable): void $onError gets the cause of each webhook that was not handled; default: error_log()
     * @param ?callable(): int $now the clock, in seconds since the Unix epoch
     * @throws VerificationError missing_secret, not_a_secret or not_a_key
     */
    public function __construct(
        null|string|array $secrets = [],
        array $publicKeys = [],
        int $toleranceSeconds = 300,
        string $serviceHeader = 'X-Service-Signature',
        string $servicePrefix = 'sha256=',
        private readonly bool $binaryCloudEvents = false,
        private readonly ?DedupeStore $dedupe = null,
        private readonly int $leaseSeconds = self::LEASE_SECONDS,
        private readonly bool $inOrder = false,
        private readonly int $maxBytes = self::MAX_BYTES,
        ?callable $onError = null,
        ?callable $now = null,
    ) {
        $list = is_array($secrets) ? $secrets : [$secrets];
        $this->signatures = new Signatures($list, $publicKeys, $toleranceSeconds, $serviceHeader, $servicePrefix);
        $this->onError = \Closure::fromCallable($onError ?? self::log(...));
        $this->now = \Closure::fromCallable($now ?? 'time');
    }

    /**
     * Verifies a request, and returns its event. If there is a webhook-signature, it is verified by Standard Webhooks.
     * Otherwise X-Service-Signature is verified.
     *
     * @param string $body as it arrived: file_get_contents('php://input')
     * @param array<string, string|list<string>> $headers all of them: getallheaders()
     * @throws VerificationError respond with 401; invalid_payload also for a request with several events
     */
    public function verify(string $body, array $headers): Event
    {
        $request = $this->verifyEvents($body, $headers);
        if ($request->isBatch) {
            throw VerificationError::invalidPayload('is a list: read it by verifyEvents()');
        }
        return $request->events[0];
    }

    /**
     * Like verify(), for a webhook with "batch": returns all events of a request.
     *
     * @param array<string, string|list<string>> $headers
     * @throws VerificationError
     */
    public function verifyEvents(string $body, array $headers): VerifiedRequest
    {
        $signed = $this->verifySignature($body, $headers);
        return (new EventReader(new Headers($headers), $signed, $this->binaryCloudEvents))->read($body);
    }

    /**
     * Like verify(), but does not read the body.
     *
     * @param array<string, string|list<string>> $headers
     * @return array{id: ?string, timestamp: ?int} the signed facts; X-Service-Signature covers neither
     * @throws VerificationError with any reason but invalid_payload
     */
    public function verifySignature(string $body, array $headers): array
    {
        return $this->signatures->verify($body, new Headers($headers), ($this->now)());
    }

    /**
     * Verifies a request, answers the service's challenge or calls the handler for each event, and never throws.
     *
     * @param array<string, string|list<string>> $headers
     * @param callable(Event): mixed $handle when it returns, the event is handled; when it throws, the service sends the
     *   event again; it can return a Response to tell the service something else
     */
    public function receive(string $body, array $headers, callable $handle): Response
    {
        if (strlen($body) > $this->maxBytes) {
            return new Response(413, [], "The body has more than {$this->maxBytes} bytes.\n");
        }
        try {
            $request = $this->verifyEvents($body, $headers);
        } catch (VerificationError $error) {
            ($this->onError)($error);
            return new Response(401, [], "{$error->reason}: {$error->getMessage()}\n");
        }
        if ($request->isBatch) {
            return $this->handleEach($request->events, $handle);
        }
        [$event] = $request->events;
        $challenge = is_array($event->data) ? $event->data['challenge'] ?? null : null;
        if ($event->type === 'webhook.verification' && is_string($challenge)) {
            // The service wants it before it sends events. Its signature was verified before.
            return self::json(['challenge' => $challenge]);
        }
        return $this->handleOnce($event, $handle);
    }

    private function handleOnce(Event $event, callable $handle): Response
    {
        try {
            if ($this->dedupe === null || $event->id === null) {
                return self::responseOf($handle($event));
            }
            $leaseEndsAt = ($this->now)() + $this->leaseSeconds;
            $claim = $this->dedupe->claim($event->id, $this->leaseSeconds);
            if ($claim === Claim::Done) {
                return new Response(204);
            }
            if ($claim === Claim::Busy) {
                $headers = ['retry-after' => self::BUSY_RETRY_SECONDS];
                return new Response(409, $headers, "This event is being handled right now.\n");
            }
            return $this->handleClaimed($event, $event->id, $handle, $leaseEndsAt);
        } catch (\Throwable $error) {
            ($this->onError)($error);
            return new Response(500, [], "The webhook could not be handled: the log of the receiver says why.\n");
        }
    }

    private function handleClaimed(Event $event, string $id, callable $handle, int $leaseEndsAt): Response
    {
        $isHandled = false;
        try {
            $response = self::responseOf($handle($event));
            $isHandled = $response->status < 300;
            return $response;
        } finally {
            try {
                if ($isHandled) {
                    $this->dedupe?->commit($id);
                } elseif (($this->now)() < $leaseEndsAt) { // After it, the claim may belong to another process.
                    $this->dedupe?->release($id);
                }
            } catch (\Throwable $error) {
                // The result of the event stays: the lease ends by itself.
                ($this->onError)($error);
            }
        }
    }

    /**
     * One response for all events, which names those that failed.
     *
     * @param list<Event> $events
     */
    private function handleEach(array $events, callable $handle): Response
    {
        $failed = [];
        $refusals = [];
        foreach ($events as $event) {
            $former = $this->inOrder ? $refusals[0] ?? null : null;
            $response = $former ?? $this->handleOnce($event, $handle);
            if ($response->status > 299) {
                $failed[] = $event->id;
                $refusals[] = $response;
            }
        }
        if ($refusals === []) {
            return new Response(204);
        }
        $wishes = self::wishesOf($refusals);
        // A single event of a batch cannot be aborted: "abort" counts as a failure.
        return count($refusals) < count($events)
            ? self::json(['failed' => $failed], $wishes)
            : self::refuseAll($refusals, $wishes);
    }

    /**
     * No event was handled: respond with an error status, so that the service treats the receiver as failing.
     *
     * @param non-empty-list<Response> $refusals
     * @param array<string, string> $wishes
     */
    private static function refuseAll(array $refusals, array $wishes): Response
    {
        [$first] = $refusals;
        $kindOf = fn (Response $each): array => [$each->status, $each->headers['webhook-delivery'] ?? null];
        foreach ($refusals as $each) {
            if ($kindOf($each) !== $kindOf($first)) {
                return new Response(500, $wishes);
            }
        }
        return new Response($first->status, [...$first->headers, ...$wishes], $first->body);
    }

    /**
     * The wishes of single events that apply to the whole webhook: to disable it, and how long to wait.
     *
     * @param list<Response> $refusals
     * @return array<string, string>
     */
    private static function wishesOf(array $refusals): array
    {
        $wishes = [];
        $longest = 0;
        foreach ($refusals as $each) {
            if (($each->headers['webhook-delivery'] ?? null) === 'disable') {
                $wishes['webhook-delivery'] = 'disable';
            }
            $longest = max($longest, (int) ($each->headers['retry-after'] ?? 0));
        }
        return $longest > 0 ? [...$wishes, 'retry-after' => (string) $longest] : $wishes;
    }

    private static function responseOf(mixed $result): Response
    {
        return $result instanceof Response ? $result : new Response(204);
    }

    /**
     * @param array<string, mixed> $content
     * @param array<string, string> $headers
     */
    private static function json(array $content, array $headers = []): Response
    {
        $flags = JSON_THROW_ON_ERROR | JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE;
        return new Response(200, [...$headers, 'content-type' => 'application/json'], json_encode($content, $flags));
    }

    private static function log(\Throwable $error): void
    {
        // Anybody can send requests that can't be verified, so they get one line in the log.
        $isRefused = $error instanceof VerificationError;
        error_log('Webhook not handled: ' . ($isRefused ? "{$error->reason}: {$error->getMessage()}" : (string) $error));
    }
}
