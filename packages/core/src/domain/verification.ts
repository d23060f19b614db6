import { z } from 'zod';
import { networkFailures } from './network-failures';

/**
 * How a receiver proves that it wants the requests: it answers a signed challenge, or grants permission as CloudEvents'
 * "HTTP 1.1 Web Hooks for Event Delivery" has it.
 */
export const verificationMethods = ['challenge', 'cloudevents'] as const;
export const verificationMethodSchema = z
  .enum(verificationMethods, `must be one of ${verificationMethods.join(', ')}`)
  .meta({ id: 'VerificationMethod' });
export type VerificationMethod = z.infer<typeof verificationMethodSchema>;

/**
 * - `unverified`: no try has ended yet.
 * - `pending`: at least one has failed, or somebody asked for another one, and one is to come.
 * - `failed`: none is to come by itself.
 */
export const verificationStatuses = ['unverified', 'pending', 'verified', 'failed'] as const;

/** Why a try failed: a closed set, without texts of the receiver. */
export const verificationErrors = [
  'challenge_mismatch',
  'not_allowed',
  'rate_too_low',
  'http_error',
  ...networkFailures,
  'token_error',
  'origin_unset',
] as const;
export const verificationErrorSchema = z.enum(verificationErrors).meta({ id: 'VerificationError' });
export type VerificationError = z.infer<typeof verificationErrorSchema>;

const FORMER_ERRORS: ReadonlyMap<unknown, VerificationError> = new Map([
  ['timeout', 'response_timeout'],
  ['address_refused', 'blocked_address'],
  ['connect_error', 'network_error'],
] as const);

// Records of earlier versions have words of their own for failures of the network.
function asNamedNow(error: unknown): unknown {
  return FORMER_ERRORS.get(error) ?? error;
}

/** The state of an endpoint's proof. An endpoint without one was never asked for it, and counts as verified. */
export const verificationSchema = z.object({
  method: z.enum(verificationMethods),
  status: z.enum(verificationStatuses),
  /** Whether a client named the method: it then gets nothing without a proof, whatever the operator requires. */
  isWished: z.literal(true).optional(),
  /** Grows whenever the URL, that of its access tokens, or the secret changes, so that an earlier proof no longer counts. */
  round: z.number(),
  /** How many tries of this round have ended. */
  tries: z.number(),
  /** When the next one is due; absent: none is. Milliseconds since the Unix epoch. */
  nextTryAt: z.number().optional(),
  /** Of the last try, if that failed. */
  error: z.preprocess(asNamedNow, z.enum(verificationErrors).optional()),
  /** Milliseconds since the Unix epoch. */
  verifiedAt: z.number().optional(),
  /** The requests a minute that its receiver permitted, at least 60; absent: as many as we like. */
  allowedRate: z.number().optional(),
});
export type Verification = Readonly<z.infer<typeof verificationSchema>>;

/** Whether an endpoint was asked for a proof that it has not given. */
export function lacksProof({ verification }: { readonly verification?: Verification | undefined }): boolean {
  return verification !== undefined && verification.status !== 'verified';
}

/** Whether new and changed endpoints have to be verified, in all accounts or in one. */
export const endpointVerificationSchema = z.enum(['off', 'required']);
export type EndpointVerification = z.infer<typeof endpointVerificationSchema>;
