import type { PgDatabase } from './pg-database';

/** What was seen of Redis, and what it has lost: kept where it can't be lost together with it. */
export const WITNESS_SCHEMA = `
CREATE TABLE webhook_redis_epochs (
  epoch  text COLLATE "C" PRIMARY KEY,
  number bigint NOT NULL,
  server text NOT NULL
);
CREATE TABLE webhook_redis_losses (
  epoch      text COLLATE "C" NOT NULL,
  since      timestamptz NOT NULL,
  until      timestamptz NOT NULL,
  is_certain boolean NOT NULL,
  settled_at timestamptz,
  PRIMARY KEY (epoch, since)
);
`;

export interface SeenEpoch {
  readonly number: number;
  /** The name of the server that had it. Empty: unknown. */
  readonly server: string;
}

/** What Redis may have lost. Milliseconds since the Unix epoch. */
export interface RedisLoss {
  /** Which of the servers of a Cluster has lost it: the key of its epoch. */
  readonly epoch: string;
  /** Everything that was written until then is there. `undefined`: it has lost everything. */
  readonly since: number | undefined;
  /** When it was found. */
  readonly until: number;
  /** `false`: another process of Redis serves, and it may have lost what was written within a second. */
  readonly isCertain: boolean;
}

const SEE = `
  INSERT INTO webhook_redis_epochs VALUES ($1, $2, $3)
  ON CONFLICT (epoch) DO UPDATE SET number = greatest(webhook_redis_epochs.number, excluded.number), server = excluded.server`;

// The same time again: Redis was brought back from the same backup.
const ADD = `
  INSERT INTO webhook_redis_losses VALUES ($1, to_timestamp($2 / 1000.0), to_timestamp($3 / 1000.0), $4)
  ON CONFLICT (epoch, since) DO UPDATE SET
    until = excluded.until, is_certain = webhook_redis_losses.is_certain OR excluded.is_certain, settled_at = NULL`;

const OPEN = `
  SELECT epoch, extract(epoch FROM since) * 1000 AS since, extract(epoch FROM until) * 1000 AS until, is_certain
  FROM webhook_redis_losses WHERE settled_at IS NULL ORDER BY since`;

// One that was found again meanwhile stays.
const SETTLE = `
  UPDATE webhook_redis_losses SET settled_at = now()
  WHERE epoch = $1 AND since = to_timestamp($2 / 1000.0) AND until = to_timestamp($3 / 1000.0)`;

const FORGET = `DELETE FROM webhook_redis_losses WHERE settled_at < now() - interval '90 days'`;

/** PostgreSQL's memory of Redis' epochs. */
export class PgWitness {
  constructor(private readonly database: PgDatabase) {}

  async find(epoch: string): Promise<SeenEpoch | undefined> {
    const text = 'SELECT number, server FROM webhook_redis_epochs WHERE epoch = $1';
    const [row] = await this.database.query<{ number: string; server: string }>(text, [epoch]);
    return row && { number: Number(row.number), server: row.server };
  }

  /** A smaller number than it has is not written. */
  async see(epoch: string, { number, server }: SeenEpoch): Promise<void> {
    await this.database.query(SEE, [epoch, number, server]);
  }

  async addLoss({ epoch, since = 0, until, isCertain }: RedisLoss): Promise<void> {
    await this.database.query(ADD, [epoch, since, until, isCertain]);
    await this.database.query(FORGET);
  }

  /** Those that are not settled, the oldest first. */
  async openLosses(): Promise<readonly RedisLoss[]> {
    const rows = await this.database.query<LossRow>(OPEN);
    return rows.map(({ epoch, since, until, is_certain: isCertain }) => {
      const sinceMs = Math.round(Number(since));
      return {
        epoch,
        since: sinceMs === 0 ? undefined : sinceMs,
        until: Math.round(Number(until)),
        isCertain,
      };
    });
  }

  async settleLoss({ epoch, since = 0, until }: RedisLoss): Promise<void> {
    await this.database.query(SETTLE, [epoch, since, until]);
  }
}

interface LossRow {
  readonly epoch: string;
  readonly since: string;
  readonly until: string;
  readonly is_certain: boolean;
}
