<?php

declare(strict_types=1);

namespace Hookferry;

/**
 * Stores ids in the memory of this process, for servers that keep one running (RoadRunner, Swoole, FrankenPHP). With
 * PHP-FPM each request begins with an empty one: use PdoStore there.
 */
final class MemoryStore implements DedupeStore
{
    /** @var array<string, int> when each claim ends */
    private array $leases = [];

    /** @var array<string, int> when each handled id may go, the oldest first */
    private array $handled = [];

    private readonly \Closure $now;

    /** @param ?callable(): int $now the clock, in seconds since the Unix epoch */
    public function __construct(
        private readonly int $maxIds = 10_000,
        private readonly int $rememberedSeconds = self::REMEMBERED_SECONDS,
        ?callable $now = null,
    ) {
        $this->now = \Closure::fromCallable($now ?? 'time');
    }

    public function claim(string $id, int $leaseSeconds): Claim
    {
        $now = ($this->now)();
        $isLeft = fn (int $endsAt): bool => $endsAt > $now;
        $this->leases = array_filter($this->leases, $isLeft);
        if (($this->handled[$id] ?? 0) > $now) {
            return Claim::Done;
        }
        if (isset($this->leases[$id])) {
            return Claim::Busy;
        }
        $this->leases[$id] = $now + $leaseSeconds;
        return Claim::Claimed;
    }

    public function commit(string $id): void
    {
        unset($this->leases[$id], $this->handled[$id]);
        $this->handled[$id] = ($this->now)() + $this->rememberedSeconds;
        while (count($this->handled) > $this->maxIds) {
            unset($this->handled[array_key_first($this->handled)]);
        }
    }

    public function release(string $id): void
    {
        unset($this->leases[$id]);
    }
}
