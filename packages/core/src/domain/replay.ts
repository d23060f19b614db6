import { z } from 'zod';
import { accountIdSchema } from './account';
import { endpointIdSchema } from './endpoint';

export const REPLAY_ID_PREFIX = 'rpl';

export const replayIdSchema = z
  .string()
  .regex(/^rpl_[0-9a-z]{22}$/, 'must be the id of a replay: rpl_ and 22 of 0-9 a-z')
  .brand<'ReplayId'>();
export type ReplayId = z.infer<typeof replayIdSchema>;

/**
 * Which events of the time range a replay sends. `failed`: those whose delivery is exhausted or was aborted. `pending`:
 * those whose delivery waits for a retry, which comes now. `missing`: those that the endpoint subscribes to
 * but has no delivery of. `all`: every one that it subscribes to, including those it has accepted.
 */
export const replayModes = ['failed', 'pending', 'missing', 'all'] as const;
export type ReplayMode = (typeof replayModes)[number];

export const replayEndStatuses = ['done', 'cancelled', 'failed'] as const;
export type ReplayEndStatus = (typeof replayEndStatuses)[number];

export const replayStatuses = ['counting', 'running', ...replayEndStatuses] as const;

/** Deliveries a second. */
export const DEFAULT_RATE = 50;
export const MAX_RATE = 1_000;

/** The request. Times are in milliseconds since the Unix epoch; both ends of the range belong to it. */
export const replayOrderSchema = z.object({
  id: replayIdSchema,
  accountId: accountIdSchema,
  endpointId: endpointIdSchema,
  mode: z.enum(replayModes),
  since: z.number(),
  until: z.number(),
  rate: z.number(),
  isDryRun: z.boolean(),
  createdAt: z.number(),
});
export type ReplayOrder = Readonly<z.infer<typeof replayOrderSchema>>;

/** The last event that was looked at, in the present phase. */
const replayCursorSchema = z.object({ id: z.string(), at: z.number() });

/** The progress of a replay. */
export const replayProgressSchema = z.object({
  status: z.enum(replayStatuses),
  found: z.number(),
  enqueued: z.number(),
  /** Events that would be chosen too if their payload were not erased. Older replays have no count. */
  erased: z.number().default(0),
  cursor: replayCursorSchema.optional(),
  finishedAt: z.number().optional(),
  error: z.string().optional(),
});
export type ReplayProgress = Readonly<z.infer<typeof replayProgressSchema>>;

export type Replay = ReplayOrder & ReplayProgress;

export const NOT_BEGUN: ReplayProgress = { status: 'counting', found: 0, enqueued: 0, erased: 0 };

export function hasEnded({ status }: Pick<Replay, 'status'>): boolean {
  return status !== 'counting' && status !== 'running';
}
