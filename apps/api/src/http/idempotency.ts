import { createHash, hkdfSync } from 'node:crypto';
import { AppError, type ErrorCode } from '@hookferry/core/platform/app-error';
import type { Clock } from '@hookferry/core/platform/clock';
import { createSeededNewId, createSeededSecretBytes, type NewId } from '@hookferry/core/platform/ids';
import type { Atomic } from '@hookferry/core/platform/redis-atomic';
import { isUnavailable } from '@hookferry/core/platform/redis-errors';
import { decrypt, encrypt } from '@hookferry/core/platform/sealing-key';
import type { Assumption } from '@hookferry/core/publish/redis-assumption';
import type { Claim, IdempotencyStore, RequestKey } from '@hookferry/core/publish/redis-idempotency-store';
import type { Request, Response } from 'express';
import { presentedKeyOf } from './authenticate';
import { apiKeyOf, requestStateOf } from './request-state';
import type { RouteReply, RouteRequest } from './route';

export const IDEMPOTENCY_KEY = 'idempotency-key';
const REPLAYED = 'idempotent-replayed';
export const IDEMPOTENCY_KEY_FORM = /^[\x21-\x7e]{1,255}$/;

interface IdempotencyParts {
  readonly atomic: Atomic;
  readonly idempotencyStore: IdempotencyStore;
  readonly newId: NewId;
  readonly clock: Clock;
}

/** The source of the ids and the time of new objects. */
export type Origin = Pick<RouteRequest, 'newId' | 'secretBytes' | 'receivedAt' | 'answer' | 'requireClaim'>;

type Work = (origin: Origin) => Promise<RouteReply>;

interface KeyedRequest {
  readonly request: Request;
  readonly response: Response;
  /** The cached facts by which it was admitted, if nothing was read. */
  readonly assumption: Assumption | undefined;
  /** As the client sent it. */
  readonly bodyText: string;
}

interface Claimed {
  readonly requestKey: RequestKey;
  readonly seal: SealOptions;
  /** That this request has claimed it with. */
  readonly seed: string;
  /** Whether no other request had claimed it before. */
  readonly isFirst: boolean;
}

/**
 * A remembered response: a reply, the facts of a long one, or an error that the same request would meet
 * again.
 */
type Kept =
  | { readonly reply: RouteReply }
  | { readonly long: { readonly status: number; readonly bytes: number; readonly sha256: string } }
  | {
      readonly error: {
        readonly code: ErrorCode;
        readonly detail: string;
        readonly validationErrors: AppError['validationErrors'];
      };
    };

/**
 * Longer responses, such as those to batches of hundreds of events with long ids, are not kept for a day: a
 * short request can have a long one.
 */
const MAX_KEPT_BYTES = 64 * 1024;

/** Errors that the request itself causes. Any other may be gone at the next try. */
const LASTING: readonly ErrorCode[] = ['invalid_request', 'payload_too_large'];

/**
 * Run a request with an Idempotency-Key once: the same request again gets the first response, and a retry of
 * one that broke off goes on under the same ids. Passing errors are not remembered.
 *
 * @throws AppError `invalid_request` for an invalid key, `idempotency_key_reused` for another request's key,
 *   `request_in_progress` while the first is running, `response_not_kept` when the first response was too long,
 *   `conflict` when another API key was used the first time.
 */
export async function answerOnce(
  context: IdempotencyParts,
  { request, response, assumption, bodyText }: KeyedRequest,
  work: Work,
): Promise<RouteReply> {
  const { idempotencyStore, atomic, newId, clock } = context;
  const requestKey = requestKeyOf(request, response);
  const seal = { apiKey: presentedKeyOf(request), salt: requestKey.name };
  const seed = newId('seed');
  const fingerprint = digest(`${request.originalUrl}\n${bodyText}`);
  const [claim] = await (assumption ?? { atomic }).atomic([
    idempotencyStore.claim(requestKey, fingerprint, seed, clock()),
  ]);
  switch (claim.state) {
    case 'claimed':
      return await workOnce(context, { requestKey, seal, seed, isFirst: claim.seed === seed }, () =>
        work({
          ...originOf(claim, requestKey, seal.apiKey),
          requireClaim: idempotencyStore.requireHolder(requestKey, seed),
        }),
      );
    case 'answered':
      return replay(claim.answer, seal, response);
    case 'running':
      throw new AppError(
        'request_in_progress',
        'A request with this Idempotency-Key is being processed. Send it again in a moment.',
      );
    case 'other':
      throw reused();
  }
}

async function workOnce(
  context: IdempotencyParts,
  { requestKey, seal, seed, isFirst }: Claimed,
  work: () => Promise<RouteReply>,
): Promise<RouteReply> {
  const { idempotencyStore } = context;
  try {
    const reply = await work();
    await keep(context, requestKey, seal, { reply });
    return reply;
  } catch (error) {
    if (error instanceof AppError && LASTING.includes(error.code)) {
      await keep(context, requestKey, seal, {
        error: { code: error.code, detail: error.message, validationErrors: error.validationErrors },
      });
    } else if (isFirst && error instanceof AppError && error.code === 'quota_exceeded') {
      // Nothing was made, and nothing more is to be stored.
      await unlessUnavailable(idempotencyStore.forget(requestKey, seed));
    } else {
      await unlessUnavailable(idempotencyStore.release(requestKey, seed));
    }
    throw error;
  }
}

async function keep(
  { idempotencyStore }: IdempotencyParts,
  requestKey: RequestKey,
  seal: SealOptions,
  kept: Kept,
): Promise<void> {
  await unlessUnavailable(idempotencyStore.answer(requestKey, sealAnswer(encodeKept(kept), seal)));
}

// The object exists: a retry will find it, once the claim's lease has run out.
async function unlessUnavailable(stored: Promise<void>): Promise<void> {
  try {
    await stored;
  } catch (error) {
    if (!isUnavailable(error)) throw error;
  }
}

// Redis has the seed, and no key: a reader of Redis still can't derive the secrets that are made of both.
function originOf({ seed, claimedAt }: Claim, { name }: RequestKey, apiKey: string): Origin {
  return {
    newId: createSeededNewId(claimedAt, seed),
    secretBytes: createSeededSecretBytes(apiKey, seed),
    receivedAt: claimedAt,
    answer: name,
  };
}

function replay(sealed: string, seal: SealOptions, response: Response): RouteReply {
  const opened = openAnswer(sealed, seal);
  if (opened === undefined) {
    throw new AppError(
      'conflict',
      'This Idempotency-Key was used with another API key, and only that key gets the first response again. Use a new Idempotency-Key.',
    );
  }
  // The seal proves that this service wrote it.
  const kept = JSON.parse(opened) as Kept;
  response.set(REPLAYED, 'true');
  if ('reply' in kept) return kept.reply;
  if ('long' in kept) throw notKept(kept.long);
  throw new AppError(kept.error.code, kept.error.detail, { validationErrors: kept.error.validationErrors });
}

function encodeKept(kept: Kept): string {
  const text = JSON.stringify(kept);
  const bytes = Buffer.byteLength(text);
  if (bytes <= MAX_KEPT_BYTES) return text;
  if ('error' in kept)
    return JSON.stringify({ error: { ...kept.error, validationErrors: [] } } satisfies Kept);
  if ('long' in kept) return text;
  const { status, body, bodyText = JSON.stringify(body) ?? '' } = kept.reply;
  const sha256 = createHash('sha256').update(bodyText).digest('hex');
  return JSON.stringify({ long: { status, bytes: Buffer.byteLength(bodyText), sha256 } } satisfies Kept);
}

function notKept({ status, bytes, sha256 }: Extract<Kept, { long: unknown }>['long']): AppError {
  return new AppError(
    'response_not_kept',
    `The request was carried out, with the status ${status}. Its response of ${bytes} bytes (SHA-256 ${sha256}) was too large to be kept.`,
  );
}

function requestKeyOf(request: Request, response: Response): RequestKey {
  const key = request.get(IDEMPOTENCY_KEY) ?? '';
  if (!IDEMPOTENCY_KEY_FORM.test(key)) {
    throw new AppError('invalid_request', 'The Idempotency-Key is not valid: see "errors".', {
      validationErrors: [{ pointer: 'Idempotency-Key', detail: 'must be 1 to 255 visible ASCII characters' }],
    });
  }
  const state = requestStateOf(response);
  const name = digest(`${request.method} ${state.route}\n${key}`);
  return { accountId: apiKeyOf(state).accountId, name };
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}

function reused(): AppError {
  return new AppError('idempotency_key_reused', 'This Idempotency-Key was used for another request.', {
    validationErrors: [
      { pointer: 'Idempotency-Key', detail: 'was used with another body or path: use a new one' },
    ],
  });
}

const KEY_BYTES = 32;
const PURPOSE = 'idempotent answer';

/**
 * The inputs of a seal: the API key as presented, of which the store has only a hash, and the response's
 * owner.
 */
export interface SealOptions {
  readonly apiKey: string;
  /** The position where it is kept: from another position it can't be opened. */
  readonly salt: string;
}

/** A response may show a secret, so only a client with the API key can read the stored one. */
export function sealAnswer(answer: string, options: SealOptions): string {
  return encrypt(answer, keyOf(options)).toString('base64');
}

/** `undefined` when it was sealed with another API key, for another position, or was changed. */
export function openAnswer(sealed: string, options: SealOptions): string | undefined {
  try {
    return decrypt(Buffer.from(sealed, 'base64'), keyOf(options));
  } catch {
    return undefined;
  }
}

function keyOf({ apiKey, salt }: SealOptions): Buffer {
  return Buffer.from(hkdfSync('sha256', apiKey, salt, PURPOSE, KEY_BYTES));
}
