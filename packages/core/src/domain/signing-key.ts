import { z } from 'zod';

/** A key pair that signs the deliveries of an account with Ed25519. Times in milliseconds since the Unix epoch. */
const signingKeySchema = z.object({
  /** The thumbprint of its public key (RFC 7638): no two keys of any accounts share it. */
  kid: z.string(),
  /** 32 bytes in base64url: the `x` of its JWK. */
  publicKey: z.string(),
  /** PKCS#8 in base64, sealed. */
  privateKey: z.string(),
  createdAt: z.number(),
  /** From then on it signs, until a newer one does. */
  signsFrom: z.number(),
  /** Tells the rotation that made it from any other. */
  rotation: z.string().optional(),
});
export type SigningKey = Readonly<z.infer<typeof signingKeySchema>>;

/** All keys of an account, newest first. One record, so that each change is one step. */
export const signingKeysSchema = z.object({ keys: z.array(signingKeySchema).min(1).readonly() });
export type SigningKeys = Readonly<z.infer<typeof signingKeysSchema>>;

/**
 * How long a key stays published after the last attempt that it signed. An attempt takes a minute at most,
 * and receivers accept it for five; those that verify later, from a queue of their own, have the rest of the
 * day.
 */
export const FORMER_KEY_MS = 24 * 3_600_000;

export const signingKeyStatuses = ['next', 'signing', 'former'] as const;

/** A key that is published. */
export interface PublishedKey {
  readonly key: SigningKey;
  readonly status: (typeof signingKeyStatuses)[number];
  /** When the next key begins to sign; `undefined`: there is none. */
  readonly signsUntil: number | undefined;
  /** When it leaves the set; `undefined`: not as long as it signs. */
  readonly publishedUntil: number | undefined;
}

/** The key that signs at this time. */
export function signingKeyAt({ keys }: SigningKeys, now: number): SigningKey {
  // The clock that set the times may be ahead of this one: then the oldest key is the one that receivers have.
  const key = keys.find(({ signsFrom }) => signsFrom <= now) ?? keys.at(-1);
  if (!key) throw new TypeError('An account without a signing key.');
  return key;
}

/** The keys by which receivers verify at this time, newest first. */
export function publishedKeys(signingKeys: SigningKeys, now: number): readonly PublishedKey[] {
  const { kid } = signingKeyAt(signingKeys, now);
  const position = signingKeys.keys.findIndex((key) => key.kid === kid);
  return signingKeys.keys
    .map((key, index): PublishedKey => {
      const signsUntil = signingKeys.keys[index - 1]?.signsFrom;
      return {
        key,
        status: index < position ? 'next' : index === position ? 'signing' : 'former',
        signsUntil,
        publishedUntil: signsUntil === undefined ? undefined : signsUntil + FORMER_KEY_MS,
      };
    })
    .filter(({ publishedUntil }) => publishedUntil === undefined || publishedUntil > now);
}

/** A public key as Standard Webhooks writes it: `whpk_` and the base64 of its 32 bytes. */
export function formatPublicKey({ publicKey }: Pick<SigningKey, 'publicKey'>): string {
  return `whpk_${Buffer.from(publicKey, 'base64url').toString('base64')}`;
}
