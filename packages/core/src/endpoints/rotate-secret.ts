import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { type Endpoint, type EndpointSecret, liveSecrets } from '../domain/endpoint';
import { AppError, invalidRequest } from '../platform/app-error';
import { formatTime } from '../platform/clock';
import { updateTime } from './disable';

const PREFIX = 'whsec_';
const NEW_SECRET_BYTES = 32;
// Standard Webhooks 1.0 requires keys of 24 to 64 bytes.
const MIN_BYTES = 24;
const MAX_BYTES = 64;
// The base64 of this many bytes, as an encoder writes it: the spare bits of the last character are 0.
const FORM =
  /^whsec_([A-Za-z0-9+/]{4}){8,20}([A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{4}[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$/;

/** A new signing secret: `whsec_` and the base64 of 32 random bytes. */
export function newSecret(): string {
  return PREFIX + randomBytes(NEW_SECRET_BYTES).toString('base64');
}

/** A secret that a client provides. */
export const secretSchema = z
  .string()
  .regex(FORM, `must be "${PREFIX}" and the base64 of ${MIN_BYTES} to ${MAX_BYTES} random bytes`)
  .meta({ example: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwHfIO5KOKWTs=' });

/** The same as a member of a request. */
export const newSecretSchema = secretSchema.describe(
  `The secret that signs: \`${PREFIX}\` and the base64 of ${MIN_BYTES} to ${MAX_BYTES} random bytes. Default: a new one of ${NEW_SECRET_BYTES} bytes.`,
);

export const ROTATION_ID_PREFIX = 'rot';

const DEFAULT_OVERLAP_SECONDS = 86_400;
const MAX_OVERLAP_SECONDS = 7 * 86_400;
// Each adds 48 characters to a header of every request.
const MAX_LIVE_SECRETS = 5;

/** The input of a rotation. */
export const secretRotationSchema = z
  .strictObject({
    overlap_seconds: z
      .int()
      .min(0)
      .max(MAX_OVERLAP_SECONDS)
      .default(DEFAULT_OVERLAP_SECONDS)
      .describe(
        'For how many seconds the former secrets sign in addition to the new one: 0 to 604,800 (7 days). Default: 86,400 (1 day).',
      ),
    secret: newSecretSchema.optional(),
  })
  .transform(({ overlap_seconds, secret }) => ({ overlapMs: overlap_seconds * 1_000, secret }))
  .meta({ id: 'SecretRotation' });
export type SecretRotation = z.output<typeof secretRotationSchema>;

/** The input of a rotation, complete. */
export interface RotationStep {
  readonly secret: string;
  readonly overlapMs: number;
  /** Tells the rotation from any other. */
  readonly rotation: string;
}

/**
 * Give the endpoint with a new secret in front of those that still sign. No older one signs beyond the
 * overlap; with an overlap of 0 the new one is alone at once. Repeating a rotation changes nothing.
 *
 * @throws AppError `invalid_request` for a secret that signs already, `conflict` when too many do.
 */
export function rotateSecret(
  endpoint: Endpoint,
  { secret, overlapMs, rotation }: RotationStep,
  now: number,
): Endpoint {
  const live = liveSecrets(endpoint, now);
  if (live.some((each) => each.rotation === rotation)) return endpoint;
  if (live.some((each) => each.secret === secret)) throw signsAlready();
  const until = now + overlapMs;
  const older = live.map((each) => ({ ...each, expiresAt: Math.min(each.expiresAt ?? until, until) }));
  const secrets = [{ secret, createdAt: now, rotation }, ...liveSecrets({ secrets: older }, now)];
  if (secrets.length > MAX_LIVE_SECRETS) throw tooMany(older);
  return { ...endpoint, secrets, updatedAt: updateTime(endpoint, now) };
}

function signsAlready(): AppError {
  return invalidRequest([
    { pointer: '/secret', detail: 'signs for this webhook already: give another secret' },
  ]);
}

function tooMany(older: readonly EndpointSecret[]): AppError {
  const firstEnd = Math.min(...older.map(({ expiresAt }) => expiresAt ?? Number.POSITIVE_INFINITY));
  return new AppError(
    'conflict',
    `${MAX_LIVE_SECRETS} secrets sign for this webhook. The first of them ends at ${formatTime(firstEnd)}: ` +
      'rotate after that, or with "overlap_seconds": 0, which ends all of them now.',
  );
}
