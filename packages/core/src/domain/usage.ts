import type { AccountId } from './account';

/** The kinds of data that count towards an account's usage. */
const usageKinds = ['events', 'deliveries', 'answers', 'replays', 'sessions'] as const;
export type UsageKind = (typeof usageKinds)[number];

/**
 * The space in Redis for an event beside its body: its key, its entry in the account's list, the list of its
 * webhooks, the claim of an id that a client chose.
 */
export const EVENT_BYTES = 600;
/**
 * For a delivery that was accepted at once, or waits to be sent: its entry in the webhook's list, and its
 * log.
 */
export const DELIVERY_BYTES = 500;
/** This many of a log's bytes are counted with its delivery. */
export const COUNTED_LOG_BYTES = 200;
/**
 * For an attempt that failed, beside the receiver's response. Also for a request to send a delivery again.
 */
export const ATTEMPT_BYTES = 300;
/** For a request with an `Idempotency-Key`, beside its response. */
export const ANSWER_BYTES = 400;
export const REPLAY_BYTES = 800;
/** For each event that a replay has sent. */
export const REPLAYED_BYTES = 100;
/** With headers, metadata and secrets, webhooks mostly take between one and four times as much. */
export const WEBHOOK_BYTES = 2_048;
/** Stands beside the ids of webhooks, of which none is as short: the code of all of them is counted. */
export const ALL_CODE_COUNTED = 'all';
export const API_KEY_BYTES = 512;
/** For a portal session, beside its page's settings. */
export const PORTAL_SESSION_BYTES = 1_024;

/** A change of an account's usage. */
export interface UsageChange {
  readonly kind: UsageKind;
  /** Below 0 for data that is removed before its time. */
  readonly bytes: number;
  /** When Redis lets go of it by itself. Milliseconds since the Unix epoch. */
  readonly lapsesAt: number;
}

/** Count newly stored data of an account, for as long as its history is kept. */
export type NoteUsage = (accountId: AccountId, kind: UsageKind, bytes: number) => void;

/** An account's usage and its quota. */
export interface AccountUsage {
  readonly usedBytes: number;
  /** `undefined`: unlimited. */
  readonly quotaBytes: number | undefined;
  readonly bytes: Readonly<Record<UsageKind, number>>;
  /** In the account's list: the newest ones, see `RETENTION_COUNT`. */
  readonly events: number;
  readonly webhooks: number;
  readonly apiKeys: number;
}

/**
 * An account's usage is kept in this many parts for each retention time: a thirtieth of it lapses at once.
 */
const PARTS = 32;

/** When data that is stored at `at` and kept for `keptMs` stops counting: a little after it is gone. */
export function lapseOf(at: number, keptMs: number): number {
  const part = Math.max(Math.ceil(keptMs / PARTS), 1);
  return Math.ceil((at + keptMs) / part) * part;
}

// Clients choose when sessions end. Rounding to parts of this length counts an account's sessions in a few
// hundred parts, not in one for each.
const SESSION_PART_MS = 5 * 60_000;

/** When a portal session that ends at `expiresAt` stops counting: a little after it is gone. */
export function lapseOfSession(expiresAt: number): number {
  return Math.ceil(expiresAt / SESSION_PART_MS) * SESSION_PART_MS;
}

/** The ways that an event can come in by. */
export const doors = ['http', 'queue'] as const;
export type Door = (typeof doors)[number];

/** The usage of the accounts that this process has served. */
export interface QuotaStandings {
  readonly usedBytes: number;
  readonly near: number;
  readonly over: number;
}
