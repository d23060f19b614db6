<?php

declare(strict_types=1);

namespace Hookferry;

/**
 * Stores ids in a table of a database, for all processes that use it. Its connection must be in no transaction. Make the
 * table once, by SCHEMA.
 */
final class PdoStore implements DedupeStore
{
    public const SCHEMA = 'CREATE TABLE hookferry_events
        (id VARCHAR(255) PRIMARY KEY, ends_at BIGINT NOT NULL, is_done SMALLINT NOT NULL)';

    private readonly \Closure $now;

    /** @param ?callable(): int $now the clock, in seconds since the Unix epoch */
    public function __construct(
        private readonly \PDO $connection,
        private readonly int $rememberedSeconds = self::REMEMBERED_SECONDS,
        ?callable $now = null,
    ) {
        $connection->setAttribute(\PDO::ATTR_ERRMODE, \PDO::ERRMODE_EXCEPTION);
        $this->now = \Closure::fromCallable($now ?? 'time');
    }

    public function claim(string $id, int $leaseSeconds): Claim
    {
        $now = ($this->now)();
        // Also the claim of a process that died.
        $this->run('DELETE FROM hookferry_events WHERE id = ? AND ends_at <= ?', $id, $now);
        try {
            $this->run('INSERT INTO hookferry_events (id, ends_at, is_done) VALUES (?, ?, 0)', $id, $now + $leaseSeconds);
            return Claim::Claimed;
        } catch (\PDOException $error) {
            // 23…: there is one.
            if (!str_starts_with((string) $error->getCode(), '23')) {
                throw $error;
            }
        }
        $isDone = $this->run('SELECT is_done FROM hookferry_events WHERE id = ?', $id)->fetchColumn();
        return (int) $isDone === 1 ? Claim::Done : Claim::Busy;
    }

    public function commit(string $id): void
    {
        $endsAt = ($this->now)() + $this->rememberedSeconds;
        $changed = $this->run('UPDATE hookferry_events SET is_done = 1, ends_at = ? WHERE id = ?', $endsAt, $id);
        if ($changed->rowCount() === 0) {
            $this->run('INSERT INTO hookferry_events (id, ends_at, is_done) VALUES (?, ?, 1)', $id, $endsAt);
        }
    }

    public function release(string $id): void
    {
        $this->run('DELETE FROM hookferry_events WHERE id = ? AND is_done = 0', $id);
    }

    /** Removes the ids that have been stored long enough. Call it from time to time, such as once a day. */
    public function removeOld(): void
    {
        $this->run('DELETE FROM hookferry_events WHERE ends_at <= ?', ($this->now)());
    }

    private function run(string $sql, string|int ...$values): \PDOStatement
    {
        $statement = $this->connection->prepare($sql);
        $statement->execute($values);
        return $statement;
    }
}
