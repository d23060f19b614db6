import type { AccountId } from '../domain/account';
import type { EndpointAddress, EndpointId } from '../domain/endpoint';
import { keys } from '../domain/keys';
import type { RedisClient } from '../platform/redis-connect';
import { letGo, renew } from './redis-listener-store.script';

/** Where a listener's deliveries are handed over. */
export interface Holder {
  /** The process that has the connection. */
  readonly process: string;
  readonly stream: string;
}

/** A process that gives no sign of life for this long has lost its listeners. */
export const HOLD_MS = 15_000;

/** The process that each listener is connected to, and when each is checked next. */
export class ListenerStore {
  constructor(private readonly redis: RedisClient) {}

  /** Connect the listener by this stream, and by no other. */
  async hold(endpointId: EndpointId, holder: Holder): Promise<void> {
    await this.redis.set(keys.listener(endpointId), encode(holder), 'PX', HOLD_MS);
  }

  /** Give whether it still is. */
  async renew(endpointId: EndpointId, holder: Holder): Promise<boolean> {
    return await renew({ endpoint: endpointId, holder: encode(holder), holdMs: HOLD_MS })(this.redis);
  }

  async letGo(endpointId: EndpointId, holder: Holder): Promise<void> {
    await letGo({ endpoint: endpointId, holder: encode(holder) })(this.redis);
  }

  async findHolder(endpointId: EndpointId): Promise<Holder | undefined> {
    const [process, stream] = (await this.redis.get(keys.listener(endpointId)))?.split('/') ?? [];
    return process !== undefined && stream !== undefined ? { process, stream } : undefined;
  }

  /** Check it at that time, instead of any earlier one. */
  async watch({ accountId, endpointId }: EndpointAddress, at: number): Promise<void> {
    await this.redis.zadd(keys.listeners, at, `${accountId}/${endpointId}`);
  }

  /** The listeners that are due, the earliest first. */
  async listDue(now: number, limit: number): Promise<readonly EndpointAddress[]> {
    const members = await this.redis.zrange(
      keys.listeners,
      '-inf',
      String(now),
      'BYSCORE',
      'LIMIT',
      '0',
      String(limit),
    );
    return members.map(parseMember);
  }

  async forget({ accountId, endpointId }: EndpointAddress): Promise<void> {
    await this.redis.zrem(keys.listeners, `${accountId}/${endpointId}`);
  }
}

function encode({ process, stream }: Holder): string {
  return `${process}/${stream}`;
}

// No account's id has a slash in it.
function parseMember(member: string): EndpointAddress {
  const [accountId, endpointId] = member.split('/');
  return { accountId: accountId as AccountId, endpointId: endpointId as EndpointId };
}
