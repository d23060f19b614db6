import { WebhookVerificationError } from './verification-error';

/** Verifies signatures with public keys. Made by `publicKeys` or `jwks` of `@hookferry/receiver/public-keys`. */
export interface SignatureVerifier {
  verify(signed: SignedMessage): Promise<boolean>;
}

export interface SignedMessage {
  /** The signatures of all schemes, as they arrived. */
  readonly signatures: readonly string[];
  readonly message: Uint8Array;
  /** The key that the request names. */
  readonly kid: string | undefined;
}

/**
 * The webhook's secret as issued (`whsec_…`), or several during a rotation, or the public keys of its account. A signature
 * by any of them is valid. Signatures of other kinds are never accepted.
 */
export type Secrets =
  | { readonly secret: string | undefined; readonly secrets?: undefined; readonly keys?: SignatureVerifier }
  | {
      readonly secrets: readonly (string | undefined)[];
      readonly secret?: undefined;
      readonly keys?: SignatureVerifier;
    }
  | { readonly keys: SignatureVerifier; readonly secret?: undefined; readonly secrets?: undefined };

/** The two keys of a secret. */
export interface SecretKeys {
  /** Of `X-Service-Signature`: the secret as it was issued, in UTF-8. */
  readonly issued: Uint8Array;
  /** Of Standard Webhooks: what follows `whsec_`, decoded from base64. */
  readonly decoded: Uint8Array;
}

/**
 * White space around a secret is ignored: files often end with a line break.
 *
 * @throws WebhookVerificationError `missing_secret` or `not_a_secret`.
 */
export function keysOf({ secret, secrets = [secret], keys }: Secrets): readonly SecretKeys[] {
  // Only `v1a` is asked for.
  if (keys && secrets.length === 1 && secrets[0] === undefined) return [];
  if (!Array.isArray(secrets) || secrets.length === 0)
    throw missingSecret('"secrets" must be a list of one or more');
  return secrets.map(keysOfOne);
}

function keysOfOne(secret: unknown): SecretKeys {
  // With an empty key, anybody could make a valid HMAC.
  if (secret === undefined || secret === null) throw missingSecret('the secret is not set');
  if (typeof secret !== 'string') throw notASecret(`it is of type ${typeof secret}`);
  const issued = secret.trim();
  const encoded = issued.replace(/^whsec_/, '');
  if (encoded === '') throw missingSecret('the secret is empty');
  if (issued.startsWith('whk_')) throw notASecret('it is an API key');
  if (/\s/.test(encoded)) throw notASecret('it has white space in it');
  return { issued: new TextEncoder().encode(issued), decoded: decodeBase64(encoded) };
}

function decodeBase64(text: string): Uint8Array {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    throw notASecret('it is not base64');
  }
}

function missingSecret(what: string): WebhookVerificationError {
  return new WebhookVerificationError(
    'missing_secret',
    `There is no secret to verify with: ${what}. Set its variable, such as WEBHOOK_SECRET=whsec_….`,
  );
}

function notASecret(why: string): WebhookVerificationError {
  return new WebhookVerificationError(
    'not_a_secret',
    `This is not a signing secret: ${why}. Pass the webhook's "secret" as it was issued (whsec_…).`,
  );
}
