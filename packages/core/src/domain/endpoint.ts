import { hash } from 'node:crypto';
import { z } from 'zod';
import { AppError } from '../platform/app-error';
import { type AccountId, accountIdSchema } from './account';
import { receiverAuthSchema } from './receiver-auth';
import { endpointUidSchema, storedSettings } from './setting-schemas';
import { verificationSchema } from './verification';

/** A signing secret of an endpoint. Times in milliseconds since the Unix epoch. */
const endpointSecretSchema = z.object({
  secret: z.string(),
  createdAt: z.number(),
  /** From then on it signs no more. The newest has none. */
  expiresAt: z.number().optional(),
  /** Tells the rotation that made it from any other. */
  rotation: z.string().optional(),
});
export type EndpointSecret = Readonly<z.infer<typeof endpointSecretSchema>>;

interface WithSecrets {
  /** Newest first. */
  readonly secrets: readonly EndpointSecret[];
}

/** The secrets that sign at this time, newest first. */
export function liveSecrets({ secrets }: WithSecrets, now: number): readonly EndpointSecret[] {
  return secrets.filter(({ expiresAt }) => expiresAt === undefined || expiresAt > now);
}

export function newestSecret({ secrets: [newest] }: WithSecrets): EndpointSecret {
  if (!newest) throw new TypeError('An endpoint without a secret.');
  return newest;
}

export const ENDPOINT_ID_PREFIX = 'wh';

export const endpointIdSchema = z
  .string()
  .regex(/^wh_[0-9a-z]{22}$/, 'must be the id of a webhook: wh_ and 22 of 0-9 a-z')
  .brand<'EndpointId'>();
export type EndpointId = z.infer<typeof endpointIdSchema>;

/** A client's reference to an endpoint: its id or its uid. */
export const endpointRefSchema = z
  .union([endpointIdSchema, endpointUidSchema])
  .meta({ id: 'WebhookRef', description: 'A webhook: its id or its `uid`.' });
export type EndpointRef = z.infer<typeof endpointRefSchema>;

export function isEndpointId(ref: EndpointRef): ref is EndpointId {
  return endpointIdSchema.safeParse(ref).success;
}

const MAX_AIMED_AT = 100;

/** Which endpoints an event is aimed at, as clients and producers name them. */
export const endpointRefsSchema = z.array(endpointRefSchema).min(1).max(MAX_AIMED_AT).readonly();

/**
 * Why an endpoint is disabled: by its owner, by its receiver's 410 or wish, because it failed for too long, of a listener
 * because nobody is connected, or because the operator has paused its account.
 */
export const disabledReasons = ['client', 'gone', 'receiver', 'failing', 'disconnected', 'operator'] as const;
export type DisabledReason = (typeof disabledReasons)[number];

export const endpointStatusSchema = z.enum(['enabled', 'disabled']);

/** An endpoint without a reachable URL: a client connects and takes its deliveries. */
const listenerSchema = z.object({
  /** The connection that takes them; absent while there is none. */
  stream: z.string().optional(),
  /** Since when there is none. Milliseconds since the Unix epoch. */
  lostAt: z.number().optional(),
  /** From when on it may lack deliveries, which a replay is still to bring. Milliseconds since the Unix epoch. */
  missedSince: z.number().optional(),
  /** The last replay that brought such deliveries. */
  replay: z.string().optional(),
});
export type Listener = Readonly<z.infer<typeof listenerSchema>>;

/** Where an account wants its events delivered to. The API calls it a webhook. */
export const endpointSchema = z.object({
  id: endpointIdSchema,
  accountId: accountIdSchema,
  url: z.string(),
  /** Event type names, prefixes such as `order.*`, or `*`. */
  events: z.array(z.string()).readonly(),
  /** Which of those it gets, by their data: JSON as a text, so that whatever its members are called, they stay what they are. */
  filter: z.string().optional(),
  /** A disabled endpoint gets nothing; its deliveries are held until it is enabled, unless they are discarded. */
  status: endpointStatusSchema.default('enabled'),
  disabledReason: z.enum(disabledReasons).optional(),
  /** When it was created, or enabled for the last time; old records lack it. Milliseconds since the Unix epoch. */
  enabledAt: z.number().optional(),
  /**
   * A client has discarded what was held at this time, in milliseconds since the Unix epoch. `isDone`: nothing of that is held
   * any more.
   */
  heldDiscard: z.object({ at: z.number(), isDone: z.boolean() }).optional(),
  ...storedSettings,
  /** The client's own notes. */
  metadata: z.record(z.string(), z.string()).optional(),
  /** Sent with each delivery beside our own. Names are in lower case. */
  headers: z.record(z.string(), z.string()).optional(),
  /** The secrets that sign its requests, newest first. */
  secrets: z.array(endpointSecretSchema).readonly(),
  /** PEM texts: authorities to trust instead of the usual ones, and what we show when a receiver asks who calls. */
  tls: z
    .object({
      ca: z.string().optional(),
      certificate: z.string().optional(),
      key: z.string().optional(),
    })
    .optional(),
  auth: receiverAuthSchema.optional(),
  /** The code that makes the request body from its events. */
  transformation: z.object({ version: z.int(), isEnabled: z.boolean() }).optional(),
  /** A connected client takes its deliveries. Nothing is sent to its URL. */
  listener: listenerSchema.optional(),
  /** Absent: its receiver was never asked to prove anything. */
  verification: verificationSchema.optional(),
  /** Milliseconds since the Unix epoch. */
  createdAt: z.number(),
  updatedAt: z.number(),
});
export type Endpoint = Readonly<z.infer<typeof endpointSchema>>;

/** How many events a request to an endpoint may have. */
export interface BatchLimits {
  readonly maxEvents: number;
  /** How long an event waits for others. Milliseconds. */
  readonly maxWaitMs: number;
  /** Of the body of a request that has several. */
  readonly maxBytes: number;
}

const MOST_EVENTS = 100;
const MOST_BYTES = 1024 * 1024;

/** `undefined`: each event has a request of its own, which is no list. */
export function batchLimitsOf({
  batch,
  format,
  coalesce,
}: Pick<Endpoint, 'batch' | 'format' | 'coalesce'>): BatchLimits | undefined {
  if (batch === undefined) {
    // An old record may have both: the newest of a group goes alone.
    const isList = format === 'cloudevents_batch' && coalesce === undefined;
    return isList ? { maxEvents: 1, maxWaitMs: 0, maxBytes: MOST_BYTES } : undefined;
  }
  const { max_events = MOST_EVENTS, max_wait_ms = 0, max_bytes = MOST_BYTES } = batch;
  return { maxEvents: max_events, maxWaitMs: max_wait_ms, maxBytes: max_bytes };
}

/** Whether its deliveries end unsent as they come due. An operator who pauses an account loses none of them. */
export function discardsWhatIsDue({
  status,
  disabledReason,
  whileDisabled,
}: Pick<Endpoint, 'status' | 'disabledReason' | 'whileDisabled'>): boolean {
  return whileDisabled === 'discard' && status === 'disabled' && disabledReason !== 'operator';
}

/**
 * Whether its deliveries wait as entries of lanes, each with one job that sends the first of them: those in strict order, those of
 * a group, and those that go in batches. What is discarded as it comes due must not wait behind others for that: it has a job of its
 * own.
 */
export function usesLane(
  endpoint: Pick<
    Endpoint,
    'ordering' | 'batch' | 'format' | 'coalesce' | 'whileDisabled' | 'status' | 'disabledReason'
  >,
): boolean {
  const { ordering } = endpoint;
  if (discardsWhatIsDue(endpoint)) return false;
  return ordering !== 'none' || (batchLimitsOf(endpoint)?.maxEvents ?? 1) > 1;
}

/** The name of a lane: that of a whole endpoint is its id, that of a group of events is `line.id`. */
export type LaneName = string & { readonly [laneName]: 'LaneName' };
declare const laneName: unique symbol;

/** @param line absent: it is for the whole endpoint. */
export function laneNameOf(endpointId: EndpointId, line?: string): LaneName {
  return (line === undefined ? endpointId : `${line}.${endpointId}`) as LaneName;
}

/** The line that a lane is of. `undefined`: it is of a whole endpoint. */
export function lineOfLane(endpointId: EndpointId, lane: LaneName): string | undefined {
  return lane === laneNameOf(endpointId) ? undefined : lane.slice(0, -endpointId.length - 1);
}

/** The line of an event at an endpoint whose deliveries use lanes. `undefined`: it is in none. */
export function lineOf(
  { ordering }: Pick<Endpoint, 'ordering'>,
  group: string | undefined,
): string | undefined {
  return ordering === 'group' && group !== undefined ? hashOf(group) : undefined;
}

/** The lane in which a delivery waits for others. `undefined`: it waits for none, or by its job. */
export function findLane(
  endpoint: Parameters<typeof usesLane>[0] & Pick<Endpoint, 'id'>,
  group: string | undefined,
): LaneName | undefined {
  if (!usesLane(endpoint)) return undefined;
  const line = lineOf(endpoint, group);
  if (endpoint.ordering === 'group' && line === undefined) return undefined;
  return laneNameOf(endpoint.id, line);
}

function hashOf(group: string): string {
  return hash('sha256', group, 'base64url').slice(0, LANE_CHARACTERS);
}

/** Where a delivery waits for others: in an order of a whole endpoint, or of a line. `undefined`: it waits for none. */
export function placeInOrder(
  endpoint: Pick<Endpoint, 'ordering'>,
  group: string | undefined,
): { readonly line: string | undefined } | undefined {
  const line = lineOf(endpoint, group);
  return endpoint.ordering === 'strict' || line !== undefined ? { line } : undefined;
}

// 132 bits: no two groups share a lane.
const LANE_CHARACTERS = 22;

/** Whether it was without a connection for so long that it gets no events any more, until somebody connects again. */
export function isAsleep({ listener, events }: Pick<Endpoint, 'listener' | 'events'>): boolean {
  return listener !== undefined && events.length === 0;
}

export function endpointNotFound(): AppError {
  return new AppError('not_found', 'There is no webhook with this id.');
}

/** An endpoint, with whose it is. */
export interface EndpointAddress {
  readonly accountId: AccountId;
  readonly endpointId: EndpointId;
}

const SEPARATOR = '/';

const addressSchema = z
  .string()
  .transform((text) => text.split(SEPARATOR))
  .pipe(z.tuple([accountIdSchema, endpointIdSchema]))
  .transform(([accountId, endpointId]): EndpointAddress => ({ accountId, endpointId }));

/** An endpoint with whose it is, as it stands in indexes of all accounts together. */
export function encodeAddress({ accountId, endpointId }: EndpointAddress): string {
  return accountId + SEPARATOR + endpointId;
}

/** Parse a record that this product wrote. @throws ZodError for anything else. */
export function decodeAddress(text: string): EndpointAddress {
  return addressSchema.parse(text);
}
