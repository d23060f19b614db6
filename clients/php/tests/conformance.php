<?php

// Every case of conformance/: what receivers in all languages check and read alike.

declare(strict_types=1);

use Hookferry\Claim;
use Hookferry\DedupeStore;
use Hookferry\Event;
use Hookferry\Receiver;
use Hookferry\VerificationError;
use Hookferry\VerifiedRequest;

function read_cases(string $name, int $least): array
{
    $cases = json_decode(file_get_contents(__DIR__ . "/../../../conformance/$name"), true)['cases'];
    same(true, count($cases) >= $least, "the number of cases in $name");
    return $cases;
}

function check_signature(array $case): void
{
    $body = base64_decode($case['body_base64']);
    $receiver = fn () => new Receiver(
        $case['secrets'] ?? [],
        $case['public_keys'] ?? [],
        toleranceSeconds: $case['tolerance'] ?? 300,
        now: fn () => $case['now'],
    );
    try {
        $receiver()->verifySignature($body, $case['headers']);
        $found = ['ok', null, null];
    } catch (VerificationError $error) {
        $found = [$error->reason, $error->header, $error->skewSeconds];
    }
    same([$case['expect'], $case['header'] ?? null, $case['skew'] ?? null], $found, $case['name']);
    if ($found[0] !== 'ok') {
        return;
    }
    // The corpus is about signatures, so some bodies in it are no events.
    $expected = $case['payload'] ?? (str_starts_with($body, '{"type":') ? 'ok' : 'invalid_payload');
    same($expected, ending(fn () => $receiver()->verify($body, $case['headers'])), "{$case['name']}, the payload");
}

function test_signatures(): void
{
    array_map(check_signature(...), read_cases('signatures.json', 50));
}

function test_public_keys(): ?string
{
    if (!function_exists('sodium_crypto_sign_verify_detached')) {
        return 'this PHP has no sodium';
    }
    // This package takes keys, and fetches no sets of them.
    $cases = array_filter(read_cases('asymmetric.json', 50), fn (array $case): bool => !isset($case['jwks']));
    same(true, count($cases) >= 30, 'the number of cases with keys');
    array_map(check_signature(...), $cases);
    return null;
}

function presented(VerifiedRequest $request): array
{
    $events = array_map(fn (Event $event): array => array_filter([
        'id' => $event->id,
        'accepted_at' => $event->acceptedAt,
        'cloudevent' => $event->cloudEvent,
    ], fn (mixed $value): bool => $value !== null) + ['type' => $event->type, 'data' => $event->data], $request->events);
    return ['is_batch' => $request->isBatch, 'events' => array_map(sorted(...), $events)];
}

function sorted(mixed $value): mixed
{
    if (is_array($value)) {
        array_is_list($value) || ksort($value);
        return array_map(sorted(...), $value);
    }
    return $value;
}

function test_events(): void
{
    foreach (read_cases('events.json', 30) as $case) {
        $headers = $case['headers'] + signed_headers($case['id'], $case['body'], $case['service']);
        $receiver = new Receiver(SECRET, binaryCloudEvents: $case['binary']);
        if ($case['expect'] === 'invalid_payload') {
            same('invalid_payload', ending(fn () => $receiver->verifyEvents($case['body'], $headers)), $case['name']);
            continue;
        }
        $request = $receiver->verifyEvents($case['body'], $headers);
        same(sorted($case['expect']), sorted(presented($request)), $case['name']);
        // One event is what verify() gives, and no list.
        $alone = ending(fn () => $receiver->verify($case['body'], $headers));
        same($request->isBatch ? 'invalid_payload' : 'ok', $alone, $case['name']);
    }
}

function test_requests(): void
{
    array_map(check_request(...), read_cases('requests.json', 15));
}

function check_request(array $case): void
{
    ['event' => $event, 'now' => $now, 'settings' => $settings] = $case;
    $body = base64_decode($case['request']['body_base64']);
    $headers = $case['request']['headers'];
    $strange = 'whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=';
    $data = json_decode($event['data_text'], true);
    foreach ([...$case['webhook']['secrets'], ['secret' => $strange, 'expires_at' => $now]] as $secret) {
        $receiver = new Receiver($secret['secret'], now: fn () => $now);
        if (($secret['expires_at'] ?? $now + 1) <= $now) {
            same('no_match', ending(fn () => $receiver->verify($body, $headers)), $case['name']);
            continue;
        }
        $expected = new Event($event['type'], $data, $event['id'], $now);
        same((array) $expected, (array) $receiver->verify($body, $headers), $case['name']);
    }
    unset($headers['webhook-signature']);
    $names = ['serviceHeader' => $settings['signature_header'], 'servicePrefix' => $settings['signature_prefix']];
    $plain = new Receiver($case['webhook']['secrets'][0]['secret'], ...$names);
    same($data, $plain->verify($body, $headers)->data, $case['name']);
    same('no_match', ending(fn () => (new Receiver($strange, ...$names))->verify($body, $headers)), $case['name']);
}

final class BusyStore implements DedupeStore
{
    public function claim(string $id, int $leaseSeconds): Claim
    {
        return Claim::Busy;
    }

    public function commit(string $id): void
    {
        throw new LogicException('not for one who is busy');
    }

    public function release(string $id): void
    {
        throw new LogicException('not for one who is busy');
    }
}

function test_limits(): void
{
    $limits = json_decode(file_get_contents(__DIR__ . '/../../../conformance/receivers.json'), true);
    $receiver = new Receiver(SECRET, dedupe: new BusyStore());
    $busy = $receiver->receive(ORDER, signed_headers('evt_1', ORDER), fn () => null);
    same($limits, [
        'max_body_bytes' => Receiver::MAX_BYTES,
        'lease_seconds' => Receiver::LEASE_SECONDS,
        'remembered_seconds' => DedupeStore::REMEMBERED_SECONDS,
        'busy' => ['status' => $busy->status, 'retry_after_seconds' => (int) $busy->headers['retry-after']],
    ]);
}
