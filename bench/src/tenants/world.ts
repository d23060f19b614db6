import { createClosables } from '@hookferry/core/testing/closables';
import { BuiltService } from '../processes/built-service';
import { startPostgres } from '../processes/measured-postgres';
import { RedisProcess } from '../processes/measured-process';
import { dataOf, EVENT_TYPE } from '../traffic/events';
import { type Behaviour, ReceiverProcess } from '../traffic/receiver';
import { AttackerProcess, type AttackPlan, type RequestTemplate } from './attacker';
import { VictimProcess, type VictimRead } from './victim';

/** A way in which one account may do its worst. */
export interface Attack {
  readonly name: string;
  /** What the other account has and does, if it is not the usual. */
  readonly victim?: VictimWish;
  /** There is a history in PostgreSQL. */
  readonly hasHistory?: true;
  /** Makes all ready in a new world. */
  prepare(world: World): AttackPlan | Promise<AttackPlan>;
}

export interface VictimWish {
  /** Of its webhook's transformation. */
  readonly code?: string;
  /** What it asks for beside; by default it reads its webhook. */
  readsOf?(webhookId: string): readonly VictimRead[];
}

export const ATTACKER = 'attacker';
export const LARGEST_BATCH = 500;
/** The receiver's stream that what the attacker is sent comes in. */
const STREAM = 'attacked';
const DELIVERED_WITHIN_MS = 60_000;

/** The service with its default limits and all that is around it, new for each attack, and what attacks make ready in it. */
export class World {
  constructor(
    readonly redis: RedisProcess,
    readonly service: BuiltService,
    readonly receiver: ReceiverProcess,
    readonly victim: VictimProcess,
    readonly attacker: AttackerProcess,
    /** Of the attacker's requests, with its key. */
    readonly headers: Readonly<Record<string, string>>,
  ) {}

  /** A request of the attacker. */
  request(method: RequestTemplate['method'], path: string, body?: string | object): RequestTemplate {
    const text = typeof body === 'object' ? JSON.stringify(body) : body;
    return { method, path, headers: this.headers, body: text };
  }

  urlOf(behaviour: Behaviour, query: number | string): string {
    return `${this.receiver.urlOf(behaviour, STREAM)}?${query}`;
  }

  /** Registers webhooks of the attacker. @returns their ids */
  async register(count: number, more: object = {}, behaviour: Behaviour = 'ok'): Promise<readonly string[]> {
    const webhooks = Array.from({ length: count }, (_, i) => ({
      url: this.urlOf(behaviour, i),
      events: [EVENT_TYPE],
      ...more,
    }));
    return await this.service.registerAll(ATTACKER, webhooks);
  }

  /** Publishes events of the attacker before it attacks. @returns the ids of the last batch */
  async publish(events: number): Promise<readonly string[]> {
    let ids: string[] = [];
    for (let first = 0; first < events; first += LARGEST_BATCH) {
      const body = { events: batchOf(Math.min(LARGEST_BATCH, events - first)) };
      const answer = await this.service.ask(ATTACKER, 'POST', '/v1/events/batch', body);
      ids = (answer.data as { readonly id?: string }[]).map(({ id }) => String(id));
    }
    return ids;
  }

  /** Waits until so many of them were delivered, for a minute at most. */
  async untilDelivered(deliveries: number): Promise<void> {
    await this.receiver.waitFor(STREAM, deliveries, DELIVERED_WITHIN_MS);
  }
}

export function batchOf(count: number) {
  return Array.from({ length: count }, (_, i) => ({ type: EVENT_TYPE, data: dataOf(i) }));
}

// The benchmark's clients are on one machine: they say where they come from, as a proxy would.
const SETTINGS = {
  RATE_LIMIT: '10000/1s',
  TRUST_PROXY: '1',
  // There are no contacts without it.
  PUBLIC_URL: 'https://hooks.example.com',
};

export async function inWorld<T>(
  build: string,
  { hasHistory }: Attack,
  work: (world: World) => Promise<T>,
): Promise<T> {
  const { willClose, closeAll } = createClosables();
  try {
    const postgres = hasHistory && willClose(await startPostgres());
    const environment = { ...SETTINGS, ...(postgres && { HISTORY_DATABASE_URL: postgres.url }) };
    const redis = willClose(await RedisProcess.start());
    const receiver = willClose(await ReceiverProcess.start());
    const victim = willClose(new VictimProcess());
    const service = willClose(await BuiltService.start({ build, redisUrl: redis.url, environment }));
    // It is the first to be closed, so that nothing of it keeps the service from its end.
    const attacker = willClose(new AttackerProcess());
    await service.createAccount(ATTACKER);
    const headers = await attackerHeaders(service);
    return await work(new World(redis, service, receiver, victim, attacker, headers));
  } finally {
    await closeAll();
  }
}

/** With a new key of the attacker. */
export async function attackerHeaders(service: BuiltService): Promise<Record<string, string>> {
  return { ...(await service.issueKey(ATTACKER)), 'x-forwarded-for': '198.51.100.1' };
}
