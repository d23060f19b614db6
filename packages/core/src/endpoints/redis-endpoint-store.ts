import { makeChange } from '../accounts/audit/redis-recorded-change';
import { removeCopied, replaceCopied } from '../accounts/redis-record-copies';
import { parseStanding, type Standing } from '../accounts/redis-usage-store';
import type { AccountId } from '../domain/account';
import type { Act, FieldChange } from '../domain/audit';
import { type Endpoint, type EndpointId, type EndpointRef, isEndpointId } from '../domain/endpoint';
import { keys } from '../domain/keys';
import { AppError } from '../platform/app-error';
import { ParsedCache } from '../platform/caches';
import { mapReply } from '../platform/redis-atomic';
import type { RedisClient } from '../platform/redis-connect';
import type { Step } from '../platform/redis-script';
import { pagesNewestFirst, readNewestFirst } from '../platform/redis-timeline';
import { changedFields, createdFields } from './endpoint-changes';
import {
  findEndpoint,
  findEndpointIds,
  removeAllEndpoints,
  removeEndpoint,
  saveEndpoint,
} from './redis-endpoint-store.script';
import { DisabledEndpoints } from './redis-stopped-endpoints';
import {
  type Subscriber,
  type SubscriberPage,
  SubscriptionStore,
  subscriptionOf,
} from './redis-subscriptions';
import {
  decodeEndpoint,
  encodeEndpoint,
  resealEndpoint,
  SEALED_PIECE,
  type SealedValue,
  type Sealer,
  secretUnreadable,
} from './seal';

export interface EndpointPage {
  readonly endpoints: readonly Endpoint[];
  readonly nextCursor: EndpointId | undefined;
}

// 50,000 usual ones of 600 characters, or 500 of the largest.
const CACHED_BYTES = 128 * 1024 * 1024;

/**
 * Endpoints, found only by account and id: another account's endpoint does not exist here. Secrets are sealed
 * when written and opened when read. A record whose secrets can't be opened is `secret_unreadable`.
 */
export class EndpointStore {
  readonly #cache = new ParsedCache((raw) => this.#decode(raw), { bytes: CACHED_BYTES });
  readonly #subscriptions: SubscriptionStore;
  readonly #disabledEndpoints: DisabledEndpoints;

  constructor(
    private readonly redis: RedisClient,
    private readonly sealer: Sealer,
    /**
     * Called with the usage of an account whenever its endpoints' version is read: the same command reads
     * both.
     */
    private readonly noteStanding: (accountId: AccountId, standing: Standing) => void = () => {},
  ) {
    this.#subscriptions = new SubscriptionStore(redis);
    this.#disabledEndpoints = new DisabledEndpoints(redis);
  }

  /**
   * Always read from Redis, so that a change is in force for whatever starts after it. Parsed once per
   * change.
   */
  async find(accountId: AccountId, id: EndpointId): Promise<Endpoint | undefined> {
    return this.decode(accountId, id, await this.redis.hget(keys.endpoints(accountId), id));
  }

  /** The same as a step. Gives the same object as before if nothing about it has changed. */
  stepToFind(accountId: AccountId, id: EndpointId): Step<Endpoint | undefined> {
    const step = findEndpoint({ account: accountId, id });
    return mapReply(step, (text) => this.decode(accountId, id, text ?? null));
  }

  /** The same from the stored text. */
  decode(accountId: AccountId, id: EndpointId, text: string | null): Endpoint | undefined {
    return text === null ? undefined : ownedBy(accountId, this.#cache.get(id, text));
  }

  /**
   * Create an endpoint and give whether it is new: an existing one stays as it is.
   *
   * @param most the most endpoints of the account.
   * @param act absent: it is on no record.
   * @throws AppError `conflict` when another endpoint has its uid, `limit_reached`.
   */
  async create(endpoint: Endpoint, most = Number.MAX_SAFE_INTEGER, act?: Act): Promise<boolean> {
    const { uid = '' } = endpoint;
    if (endpoint.status === 'disabled') await this.#disabledEndpoints.enter(endpoint);
    const saved = await this.#save(
      endpoint,
      { record: undefined, uid: undefined, act, changes: createdFields(endpoint) },
      most,
    );
    if (saved === 'uid_taken') throw uidTaken(uid);
    if (saved === 'too_many') throw tooMany(most);
    return saved === 'saved';
  }

  /**
   * Replace the endpoint by the result of `change`; `undefined` if it does not exist. A concurrent change is
   * never overwritten: `change` is called again with the newer endpoint.
   *
   * @param act absent: it is on no record.
   * @throws AppError `conflict` when another endpoint has its new uid.
   */
  async update(
    accountId: AccountId,
    id: EndpointId,
    change: (endpoint: Endpoint) => Endpoint,
    act?: Act,
  ): Promise<Endpoint | undefined> {
    for (;;) {
      const raw = await this.redis.hget(keys.endpoints(accountId), id);
      if (raw === null) return undefined;
      const before = ownedBy(accountId, this.#decode(raw));
      const changed = change(before);
      const saved = await this.#replace(before, raw, changed, act);
      if (saved === 'saved') return changed;
      if (saved === 'uid_taken') throw uidTaken(changed.uid ?? '');
    }
  }

  /** Remove one that should be gone. Nothing of it is on record. */
  async removeAgain(accountId: AccountId, id: EndpointId): Promise<void> {
    await makeChange(this.redis, removeEndpoint({ account: accountId, id }), undefined);
    await this.#disabledEndpoints.leave(accountId, id, Number.MAX_SAFE_INTEGER);
  }

  /**
   * Bring a record back as it was stored, in place of what there is. Nothing of it is on record.
   *
   * @throws AppError `conflict` when another endpoint has its uid; `secret_unreadable`.
   */
  async bringBack(accountId: AccountId, id: EndpointId, record: string): Promise<Endpoint> {
    const present = await this.redis.hget(keys.endpoints(accountId), id);
    const endpoint = ownedBy(accountId, this.#decode(record));
    if (endpoint.status === 'disabled') await this.#disabledEndpoints.enter(endpoint);
    const saved = saveEndpoint({
      account: accountId,
      id,
      before: present ?? undefined,
      after: record,
      uidBefore: present === null ? undefined : this.#decode(present).uid,
      uid: endpoint.uid,
      most: Number.MAX_SAFE_INTEGER,
      subscription: subscriptionOf(endpoint),
    });
    if ((await makeChange(this.redis, saved, undefined)) === 'uid_taken') throw uidTaken(endpoint.uid ?? '');
    return endpoint;
  }

  /** Give whether it existed. Its history is removed with it. */
  async remove(accountId: AccountId, id: EndpointId, act?: Act): Promise<boolean> {
    const recorded = act && { act, accountId, targetId: id };
    const removed = removeEndpoint({ account: accountId, id });
    const wasThere = await removeCopied(this.redis, copiedOf(accountId, id), () =>
      makeChange(this.redis, removed, recorded),
    );
    await this.#disabledEndpoints.leave(accountId, id, Number.MAX_SAFE_INTEGER);
    return wasThere;
  }

  /**
   * Remove an endpoint that was created when its account was gone already, and the data that its creation
   * left for the account.
   */
  async takeBack(accountId: AccountId, id: EndpointId): Promise<void> {
    await removeCopied(this.redis, copiedOf(accountId, id), () =>
      makeChange(this.redis, removeEndpoint({ account: accountId, id }), undefined),
    );
    await this.redis.unlink(keys.endpointsVersion(accountId), keys.subscriptions(accountId));
  }

  /**
   * Remove all endpoints of an account at once. The account's erasure finds their other data by their ids.
   */
  async removeAll(accountId: AccountId): Promise<void> {
    await removeAllEndpoints({ account: accountId })(this.redis);
  }

  /** The id of the endpoint that a client names. A text in the form of an id is not checked for existence. */
  async idOf(accountId: AccountId, ref: EndpointRef): Promise<EndpointId | undefined> {
    if (isEndpointId(ref)) return ref;
    const id = await this.redis.hget(keys.endpointUids(accountId), ref);
    return id === null ? undefined : (id as EndpointId);
  }

  /** Newest first; `before` is the last id of the page before. */
  async list(accountId: AccountId, limit: number, before?: EndpointId): Promise<EndpointPage> {
    const page = await readNewestFirst(this.redis, keys.endpointIds(accountId), limit, before);
    return {
      endpoints: await this.findAll(accountId, page.members),
      nextCursor: page.nextCursor as EndpointId | undefined,
    };
  }

  /** The ids of the latest endpoints. */
  async listIds(accountId: AccountId, limit: number): Promise<readonly EndpointId[]> {
    const { members } = await readNewestFirst(this.redis, keys.endpointIds(accountId), limit);
    return members as readonly EndpointId[];
  }

  /** The account's endpoints among these. */
  async findAll(accountId: AccountId, ids: readonly string[]): Promise<readonly Endpoint[]> {
    const raws = ids.length === 0 ? [] : await this.redis.hmget(keys.endpoints(accountId), ...ids);
    return raws.flatMap((raw) => (raw === null ? [] : [ownedBy(accountId, this.#decode(raw))]));
  }

  async *sealedValues(accountId: AccountId): AsyncGenerator<readonly SealedValue[]> {
    const key = keys.endpoints(accountId);
    for await (const ids of pagesNewestFirst(this.redis, keys.endpointIds(accountId), SEALED_PIECE)) {
      const raws = await this.redis.hmget(key, ...ids);
      const reseal = (raw: string) => resealEndpoint(raw, this.sealer);
      yield ids.flatMap((field, i) => {
        const value = raws[i];
        return value == null ? [] : [{ key, field, value, reseal }];
      });
    }
  }

  /**
   * The ids of the endpoints that a client names, in their order; `undefined` for endpoints that the account
   * does not have.
   */
  async findIds(accountId: AccountId, refs: readonly EndpointRef[]): Promise<(EndpointId | undefined)[]> {
    const ids = await findEndpointIds({ account: accountId, refs })(this.redis);
    return ids.map((id) => (id === '' ? undefined : (id as EndpointId)));
  }

  /** Grows with each change to the account's endpoints. */
  async version(accountId: AccountId): Promise<string> {
    const together = [keys.endpointsVersion, keys.usedBytes, keys.quota].map((keyOf) => keyOf(accountId));
    const [version, used, quota] = await this.redis.mget(together);
    this.noteStanding(accountId, parseStanding(used, quota));
    return version ?? '0';
  }

  /** All endpoints, without the members that only a delivery needs. */
  async listSubscribers(accountId: AccountId): Promise<readonly Subscriber[]> {
    return await this.#subscriptions.list(accountId);
  }

  /** The same by pages, newest first. */
  async listSubscribersByPage(
    accountId: AccountId,
    limit: number,
    before?: EndpointId,
  ): Promise<SubscriberPage> {
    return await this.#subscriptions.page(accountId, limit, before);
  }

  #decode(raw: string): Endpoint {
    return decodeEndpoint(raw, this.sealer);
  }

  async #save(
    endpoint: Endpoint,
    { record, uid: uidBefore, act, changes }: Before,
    most = 0,
  ): Promise<unknown> {
    const { accountId, id, uid } = endpoint;
    const saved = saveEndpoint({
      account: accountId,
      id,
      before: record,
      after: encodeEndpoint(endpoint, this.sealer),
      uidBefore,
      uid,
      most,
      subscription: subscriptionOf(endpoint),
    });
    const recorded = act && { act, accountId, targetId: id, changes };
    return await replaceCopied(this.redis, copiedOf(accountId, id), () =>
      makeChange(this.redis, saved, recorded),
    );
  }

  /** As `#save`, and updates the count of disabled endpoints. */
  async #replace(
    before: Endpoint,
    record: string,
    changed: Endpoint,
    act: Act | undefined,
  ): Promise<unknown> {
    const isSame = changed.status === before.status;
    if (!isSame && changed.status === 'disabled') await this.#disabledEndpoints.enter(changed);
    const changes = act ? changedFields(before, changed) : [];
    const saved = await this.#save(changed, { record, uid: before.uid, act, changes });
    if (!isSame && changed.status === 'enabled' && saved === 'saved') {
      await this.#disabledEndpoints.leave(before.accountId, before.id, before.updatedAt);
    }
    return saved;
  }
}

function copiedOf(accountId: AccountId, field: EndpointId) {
  return { key: keys.endpoints(accountId), field, accountId };
}

/** What a record replaces. */
interface Before {
  /** `undefined`: there is none. */
  readonly record: string | undefined;
  readonly uid: string | undefined;
  readonly act: Act | undefined;
  readonly changes: readonly FieldChange[];
}

function uidTaken(uid: string): AppError {
  return new AppError('conflict', `Another webhook of this account has the uid "${uid}".`);
}

function tooMany(most: number): AppError {
  return new AppError('limit_reached', `An account may have ${most} webhooks. Delete one to make room.`);
}

// A record that was copied to another account would show its secrets to that one.
function ownedBy(accountId: AccountId, endpoint: Endpoint): Endpoint {
  if (endpoint.accountId !== accountId) throw secretUnreadable();
  return endpoint;
}
