import type { AccountId } from './account';

/** What is counted of what an account stores. */
const usageKinds = ['events', 'deliveries', 'answers', 'replays', 'sessions'] as const;
export type UsageKind = (typeof usageKinds)[number];

/**
 * What Redis takes up for an event beside its body: its key, its place in its account's list, which webhooks it went to,
 * the claim of an id that a client chose.
 */
export const EVENT_BYTES = 600;
/** For a delivery that was accepted at once, or waits to be sent: its place in its webhook's list, and its log. */
export const DELIVERY_BYTES = 500;
/** For an attempt that failed, beside what the receiver answered; also for a request to send a delivery again. */
export const ATTEMPT_BYTES = 300;
/** For a request with an `Idempotency-Key`, beside its answer. */
export const ANSWER_BYTES = 400;
export const REPLAY_BYTES = 800;
/** With headers, metadata and secrets they are mostly between one and four times as much. */
export const WEBHOOK_BYTES = 2_048;
export const API_KEY_BYTES = 512;
/** For a portal session, beside what its page looks like. */
export const PORTAL_SESSION_BYTES = 1_024;

/** A change of what an account stores. */
export interface UsageChange {
  readonly kind: UsageKind;
  /** Below 0 for what is gone before its time. */
  readonly bytes: number;
  /** When Redis lets go of it by itself. Milliseconds since the Unix epoch. */
  readonly lapsesAt: number;
}

/** Counts what an account has just stored, for as long as its history is kept. */
export type NoteUsage = (accountId: AccountId, kind: UsageKind, bytes: number) => void;

/** What an account stores, and how much it may. */
export interface AccountUsage {
  readonly usedBytes: number;
  /** `undefined`: as much as there is room for. */
  readonly quotaBytes: number | undefined;
  readonly bytes: Readonly<Record<UsageKind, number>>;
  /** In the account's list: the newest ones, see `RETENTION_COUNT`. */
  readonly events: number;
  readonly webhooks: number;
  readonly apiKeys: number;
}

/** An account's usage is kept in so many parts for each time that things are kept: it lapses by a thirtieth at once. */
const PARTS = 32;

/** When that which is stored at `at` and kept for `keptMs` counts no more: a little later than it is gone. */
export function lapseOf(at: number, keptMs: number): number {
  const part = Math.max(Math.ceil(keptMs / PARTS), 1);
  return Math.ceil((at + keptMs) / part) * part;
}

// Sessions end at any time, as clients say: so an account's are counted in few hundred parts, not in one for each.
const SESSION_PART_MS = 5 * 60_000;

/** When a portal session that ends at `expiresAt` counts no more: a little later than it is gone. */
export function lapseOfSession(expiresAt: number): number {
  return Math.ceil(expiresAt / SESSION_PART_MS) * SESSION_PART_MS;
}

/** Which way something comes in by. */
export const doors = ['http', 'queue'] as const;
export type Door = (typeof doors)[number];
