import { isDeepStrictEqual } from 'node:util';
import { DEFAULT_ACCOUNT } from '../../domain/account';
import type { Act, FieldChange } from '../../domain/audit';
import { keys } from '../../domain/keys';
import { AppError } from '../../platform/app-error';
import { ParsedCache } from '../../platform/caches';
import type { RedisClient } from '../../platform/redis-connect';
import { flagSchema } from '../../platform/settings';
import { changesBetween, plainFields } from '../audit/field-changes';
import { makeChange, type Recorded } from '../audit/redis-recorded-change';
import { removeCopied, replaceCopied } from '../redis-record-copies';
import { type EventType, operationalTypes, publishableTypes } from './built-in';
import { type CheckData, compileDataSchema } from './compile-data-schema';
import { type CustomEventType, customEventTypeSchema } from './custom-event-type';
import { removeEventType, replaceEventType } from './redis-event-type-store.script';

export interface CompiledEventType extends CustomEventType {
  readonly check: CheckData;
}

/** All are listed at once, and kept compiled in every process. */
const MAX_TYPES = 1_000;

export const eventTypeSettings = {
  BUILT_IN_EVENT_TYPES: flagSchema
    .default(true)
    .describe(
      'whether the three built-in [event types](event-types.md#built-in-types) can be published and subscribed to; `false` where you have types of your own',
    ),
};

/** The event types of all accounts: those that operators added, and which of the built-in ones are part of it. */
export class EventTypeStore {
  /** Those that this service raises itself are always part of it. */
  readonly publishable: readonly EventType[];
  /** Of all built-in ones that are part of it. */
  readonly builtInNames: readonly string[];
  readonly #cache = new ParsedCache(compile, { entries: MAX_TYPES });

  constructor(
    private readonly redis: RedisClient,
    { BUILT_IN_EVENT_TYPES: hasBuiltIn = true }: { readonly BUILT_IN_EVENT_TYPES?: boolean } = {},
  ) {
    this.publishable = hasBuiltIn ? publishableTypes : [];
    this.builtInNames = [...this.publishable, ...operationalTypes].map(({ name }) => name);
  }

  /**
   * Always read from Redis, so that a change is in force for whatever starts after it. Compiled once per
   * change.
   */
  async find(name: string): Promise<CompiledEventType | undefined> {
    const raw = await this.redis.hget(keys.eventTypes, name);
    return raw === null ? undefined : this.#cache.get(name, raw);
  }

  async names(): Promise<readonly string[]> {
    return await this.redis.hkeys(keys.eventTypes);
  }

  /** By name. */
  async list(): Promise<readonly CustomEventType[]> {
    const raws = await this.redis.hvals(keys.eventTypes);
    return raws.map(parse).sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /**
   * One that is the same as before stays as it is, with its version.
   *
   * @param act absent: it is on no record. Likewise below.
   * @throws AppError `limit_reached`.
   */
  async replace(eventType: Omit<CustomEventType, 'version'>, act?: Act): Promise<CustomEventType> {
    const { name, updatedAt: _now, ...input } = eventType;
    const before = await this.find(name);
    const fieldsBefore = before ? plainFields(inputOf(before)) : {};
    const recorded = recordedOf(act, name, changesBetween(fieldsBefore, plainFields(input)));
    const change = replaceEventType({ name, record: JSON.stringify(eventType), most: MAX_TYPES });
    const put = () => makeChange(this.redis, change, recorded);
    const isSame = before !== undefined && isDeepStrictEqual(inputOf(before), input);
    const keep = async () => (await this.redis.hget(keys.eventTypes, name)) ?? (await put());
    const record = await replaceCopied(this.redis, copiedOf(name), isSame ? keep : put);
    if (record === undefined) throw tooMany();
    return parse(record);
  }

  /** In force for events published after it. Removing an unknown type is no error. */
  async remove(name: string, act?: Act): Promise<void> {
    const removed = () => makeChange(this.redis, removeEventType({ name }), recordedOf(act, name));
    await removeCopied(this.redis, copiedOf(name), removed);
  }
}

const copiedOf = (field: string) => ({ key: keys.eventTypes, field, accountId: DEFAULT_ACCOUNT });

// The types are the operator's.
function recordedOf(
  act: Act | undefined,
  targetId: string,
  changes: readonly FieldChange[] = [],
): Recorded | undefined {
  return act && { act, accountId: DEFAULT_ACCOUNT, targetId, changes };
}

function inputOf({ description, schema, example, deprecated }: CustomEventType) {
  return { description, schema, example, deprecated };
}

function tooMany(): AppError {
  return new AppError(
    'limit_reached',
    `There are ${MAX_TYPES} event types, as many as there may be. Delete one that is not used.`,
  );
}

function parse(raw: string): CustomEventType {
  return customEventTypeSchema.parse(JSON.parse(raw));
}

function compile(raw: string): CompiledEventType {
  const eventType = parse(raw);
  return { ...eventType, check: compileDataSchema(eventType.schema) };
}
