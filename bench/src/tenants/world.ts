import { BuiltService } from '../processes/built-service';
import { RedisProcess } from '../processes/measured-process';
import { PostgresProcess } from '../processes/postgres-process';
import { EVENT_TYPE } from '../traffic/events';
import { ReceiverProcess } from '../traffic/receiver';
import { AttackerProcess, type AttackPlan } from './attacker';
import { VictimProcess, type VictimRead } from './victim';

/** A way in which one account may do its worst. */
export interface Attack {
  readonly name: string;
  /** What the other account has and does, if it is not the usual. */
  readonly victim?: VictimWish;
  /** There is a history in PostgreSQL, and the other account reads there. */
  readonly hasHistory?: true;
  /** Makes all ready in a new world. */
  prepare(world: World): Promise<AttackPlan>;
}

export interface VictimWish {
  /** Of its webhook's transformation. */
  readonly code?: string;
  /** What it asks for beside; by default it reads its webhook. */
  readsOf?(webhookId: string): readonly VictimRead[];
}

/** The service with its default limits and all that is around it, new for each attack. */
export interface World {
  readonly redis: RedisProcess;
  readonly service: BuiltService;
  readonly receiver: ReceiverProcess;
  readonly victim: VictimProcess;
  readonly attacker: AttackerProcess;
}

// The benchmark's clients are on one machine: they say where they come from, as a proxy would.
const SETTINGS = {
  RATE_LIMIT: '10000/1s',
  TRUST_PROXY: '1',
  // There are no contacts without it.
  PUBLIC_URL: 'https://hooks.example.com',
};

interface WorldOptions {
  readonly build: string;
  readonly hasHistory: boolean;
}

export async function inWorld<T>(
  { build, hasHistory }: WorldOptions,
  work: (world: World) => Promise<T>,
): Promise<T> {
  const postgres = hasHistory ? await PostgresProcess.start() : undefined;
  const environment = postgres ? { ...SETTINGS, HISTORY_DATABASE_URL: postgres.url } : SETTINGS;
  const redis = await RedisProcess.start();
  const receiver = await ReceiverProcess.start();
  const [victim, attacker] = [await VictimProcess.start(), await AttackerProcess.start()];
  try {
    const service = await BuiltService.start({ build, redisUrl: redis.url, environment });
    try {
      await service.createAccount(ATTACKER);
      return await work({ redis, service, receiver, victim, attacker });
    } finally {
      // First, so that nothing of it keeps the service from its end.
      attacker.stop();
      await service.stop();
    }
  } finally {
    for (const each of [victim, attacker, receiver]) each.stop();
    await redis.stop();
    await postgres?.stop();
  }
}

export const ATTACKER = 'attacker';

/** The headers of the attacker's requests with a key of its own. */
export async function attackerHeaders({ service }: World): Promise<Record<string, string>> {
  return { ...(await service.issueKey(ATTACKER)), 'x-forwarded-for': '198.51.100.1' };
}

interface WebhookToRegister {
  readonly url: string;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly status?: string;
}

/** Registers webhooks of the attacker, some at once. @returns their ids */
export async function registerMany(
  { service }: World,
  count: number,
  webhookOf: (i: number) => WebhookToRegister,
): Promise<string[]> {
  const ids: string[] = [];
  let next = 0;
  async function registerRest(): Promise<void> {
    while (next < count) {
      const i = next++;
      const body = { events: [EVENT_TYPE], ...webhookOf(i) };
      ids[i] = String((await service.ask(ATTACKER, 'POST', '/v1/webhooks', body)).id);
    }
  }
  await Promise.all(Array.from({ length: REGISTERED_AT_ONCE }, registerRest));
  return ids;
}

const REGISTERED_AT_ONCE = 8;

/** Publishes events of the attacker before it attacks. @returns the ids of the last batch */
export async function publishBefore({ service }: World, events: number): Promise<string[]> {
  let ids: string[] = [];
  for (let first = 0; first < events; first += LARGEST_BATCH) {
    const body = { events: batchOf(Math.min(LARGEST_BATCH, events - first)) };
    const answer = await service.ask(ATTACKER, 'POST', '/v1/events/batch', body);
    ids = (answer.data as { readonly id?: string }[]).map(({ id }) => String(id));
  }
  return ids;
}

export const LARGEST_BATCH = 500;

export function batchOf(count: number) {
  return Array.from({ length: count }, (_, i) => ({
    type: EVENT_TYPE,
    data: { keyword: `event ${i}`, position: 3, volume: 2400 },
  }));
}
