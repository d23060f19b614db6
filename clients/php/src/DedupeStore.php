<?php

declare(strict_types=1);

namespace Hookferry;

/**
 * Stores the ids of handled events. An id is claimed, and then committed or released. A claim that is neither ends with its
 * lease.
 */
interface DedupeStore
{
    /** How long stores keep the id of a handled event: 14 days, the service's default RETENTION. */
    public const REMEMBERED_SECONDS = 1_209_600;

    /** Atomic: of concurrent claims, one gets Claimed. */
    public function claim(string $id, int $leaseSeconds): Claim;

    /** The event was handled. */
    public function commit(string $id): void;

    /** The event was not handled, and may be claimed again. A committed id stays committed. */
    public function release(string $id): void;
}
