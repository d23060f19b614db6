<?php

declare(strict_types=1);

use Hookferry\Claim;
use Hookferry\DedupeStore;
use Hookferry\Event;
use Hookferry\MemoryStore;
use Hookferry\PdoStore;
use Hookferry\Receiver;
use Hookferry\Response;

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const ORDER = '{"type":"order.created","data":{"id":"ord_1"}}';
const TWO = '{"type":"batch","data":[{"id":"evt_1","type":"order.created","timestamp":"2026-01-02T03:04:05.678Z","data":{}},'
    . '{"id":"evt_2","type":"order.created","timestamp":"2026-01-02T03:04:05.678Z","data":{}}]}';

function signed_headers(string $id, string $body, bool $isService = false): array
{
    if ($isService) {
        return ['X-Service-Signature' => 'sha256=' . hash_hmac('sha256', $body, SECRET)];
    }
    $time = (string) time();
    $key = base64_decode(substr(SECRET, strlen('whsec_')));
    $signature = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$time.$body", $key, true));
    return ['Webhook-Id' => $id, 'Webhook-Timestamp' => $time, 'Webhook-Signature' => $signature];
}

function receive(string $body, callable $handle, mixed ...$options): Response
{
    $receiver = new Receiver(SECRET, ...$options, onError: fn () => null);
    return $receiver->receive($body, signed_headers('evt_0', $body), $handle);
}

function expect_response(string $what, Response $found, int $status, string $body = '', array $headers = []): void
{
    same([$status, $headers], [$found->status, $found->headers], $what);
    same(true, $body === '' ? $found->body === '' : str_starts_with($found->body, $body), "$what: the body {$found->body}");
}

function test_responses(): void
{
    $json = ['content-type' => 'application/json'];
    $fail = fn () => throw new RuntimeException('database is down');
    $failing = fn (callable $result, string ...$ids): callable
        => fn (Event $event): mixed => in_array($event->id, $ids, true) ? $result() : null;
    $later = fn () => Response::retryAfter(60);
    $problem = 'The webhook could not';
    expect_response('handled', receive(ORDER, fn () => null), 204);
    expect_response('failed', receive(ORDER, $fail), 500, $problem);
    expect_response('aborted', receive(ORDER, Response::abort(...)), 422, '', ['webhook-delivery' => 'abort']);
    expect_response('disabled', receive(ORDER, Response::disable(...)), 503, '', ['webhook-delivery' => 'disable']);
    expect_response('later', receive(ORDER, $later), 503, '', ['retry-after' => '60']);
    $challenge = '{"type":"webhook.verification","data":{"challenge":"abc"}}';
    expect_response('a challenge', receive($challenge, $fail), 200, '{"challenge":"abc"}', $json);
    expect_response('several, handled', receive(TWO, fn () => null), 204);
    expect_response('one failed', receive(TWO, $failing($fail, 'evt_2')), 200, '{"failed":["evt_2"]}', $json);
    $wishes = ['retry-after' => '60'] + $json;
    expect_response('one later', receive(TWO, $failing($later, 'evt_1')), 200, '{"failed":["evt_1"]}', $wishes);
    expect_response('all failed', receive(TWO, $fail), 500, $problem);
    expect_response('all aborted', receive(TWO, Response::abort(...)), 422, '', ['webhook-delivery' => 'abort']);
    $mixed = fn (Event $event): Response => $event->id === 'evt_1' ? Response::abort() : Response::retryAfter(5);
    expect_response('none the same', receive(TWO, $mixed), 500, '', ['retry-after' => '5']);
}

function test_refuses_what_is_not_genuine(): void
{
    $never = fn () => throw new LogicException('it was handled');
    $receiver = new Receiver(SECRET, maxBytes: 100, onError: fn () => null);
    $forged = $receiver->receive(ORDER, ['Webhook-Id' => 'evt_2'] + signed_headers('evt_1', ORDER), $never);
    expect_response('forged', $forged, 401, 'no_match: No signature in webhook-signature is valid.');
    expect_response('too long', $receiver->receive(str_repeat(' ', 101), [], $never), 413, 'The body has more than 100 bytes');
    same('missing_secret', ending(fn () => new Receiver()));
    same('missing_secret', ending(fn () => new Receiver(getenv('NOT_SET') ?: null)));
}

function test_leaves_the_rest_of_a_batch_in_order(): void
{
    $calls = 0;
    receive(TWO, function () use (&$calls) {
        $calls++;
        throw new RuntimeException('no');
    }, inOrder: true);
    same(1, $calls);
}

function test_handles_an_event_once(): void
{
    $calls = 0;
    $store = new MemoryStore();
    $handle = function () use (&$calls): void {
        if (++$calls === 1) {
            throw new RuntimeException('no');
        }
    };
    foreach ([500, 204, 204] as $status) {
        same($status, receive(ORDER, $handle, dedupe: $store)->status);
    }
    same(2, $calls);
}

function check_store(DedupeStore $store, int &$now): void
{
    $expect = fn (Claim $claim) => same($claim->name, $store->claim('a', 10)->name);
    $expect(Claim::Claimed);
    $expect(Claim::Busy);
    $store->release('a');
    $expect(Claim::Claimed);
    $now += 10;
    $expect(Claim::Claimed); // Its lease has ended.
    $store->commit('a');
    $store->release('a');
    $expect(Claim::Done);
    $now += 100;
    $expect(Claim::Claimed); // Its time has ended.
    $store->release('a');
    $store->commit('a'); // Its lease ended while it was handled.
    $expect(Claim::Done);
}

function test_memory_store(): void
{
    $now = 0;
    $clock = function () use (&$now): int {
        return $now;
    };
    check_store(new MemoryStore(2, 100, $clock), $now);
    $store = new MemoryStore(2, 100, $clock);
    array_map($store->commit(...), ['a', 'b', 'c']);
    same('Claimed', $store->claim('a', 10)->name, 'the oldest of more than two');
    same('Done', $store->claim('b', 10)->name);
}

function test_pdo_store(): ?string
{
    if (!in_array('sqlite', class_exists('PDO') ? PDO::getAvailableDrivers() : [], true)) {
        return 'this PHP has no SQLite';
    }
    $now = 0;
    $connection = new PDO('sqlite::memory:');
    $connection->exec(PdoStore::SCHEMA);
    $store = new PdoStore($connection, 100, function () use (&$now): int {
        return $now;
    });
    check_store($store, $now);
    $now += 100;
    $store->removeOld();
    same(0, (int) $connection->query('SELECT COUNT(*) FROM hookferry_events')->fetchColumn());
    return null;
}
