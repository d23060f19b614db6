import { createHash, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { z } from 'zod';
import type { AccountStore } from '../../accounts/redis-account-store';
import { type AccountId, accountNotFound, isThere } from '../../domain/account';
import type { Act } from '../../domain/audit';
import type { Emit } from '../../domain/signal';
import {
  type PublishedKey,
  publishedKeys,
  type SigningKey,
  type SigningKeys as StoredKeys,
  signingKeyAt,
} from '../../domain/signing-key';
import { AppError } from '../../platform/app-error';
import { type Clock, formatTime } from '../../platform/clock';
import type { SigningKeyStore } from './redis-signing-key-store';

export const KEY_ROTATION_ID_PREFIX = 'rot';

// Each is sent to every receiver that asks, and a rotation takes a day.
const MAX_KEYS = 10;

/** The input of a rotation. */
export const keyRotationSchema = z
  .strictObject({
    immediate: z
      .boolean()
      .default(false)
      .describe(
        'For after a leak. `true`: the new key signs at once, and all former keys are withdrawn. Default: `false`, the new key is published a day before it signs.',
      ),
  })
  .meta({ id: 'SigningKeyRotation' });
export type KeyRotation = z.output<typeof keyRotationSchema>;

/** What a signature needs. */
export interface SignerParts {
  readonly signingKeyStore: SigningKeyStore;
  readonly clock: Clock;
}

/** A private key that is ready to sign. */
export interface Signer {
  readonly kid: string;
  readonly privateKey: KeyObject;
}

/** The key that signs the account's deliveries now. @throws AppError `secret_unreadable`. */
export async function findSigner(parts: SignerParts, accountId: AccountId): Promise<Signer> {
  const { signingKeyStore, clock } = parts;
  const key = signingKeyAt(await ensureKeys(parts, accountId), clock());
  return { kid: key.kid, privateKey: signingKeyStore.open(accountId, key) };
}

/** The account's keys. It gets its first one now if it has none, which signs at once: nobody verifies yet. */
async function ensureKeys(
  { signingKeyStore, clock }: SignerParts,
  accountId: AccountId,
): Promise<StoredKeys> {
  const known = await signingKeyStore.find(accountId);
  if (known) return known;
  const now = clock();
  const first = newKey(signingKeyStore, accountId, { createdAt: now, signsFrom: now });
  return await signingKeyStore.update(accountId, (before) => before ?? { keys: [first] });
}

export interface SigningKeysParts {
  readonly signingKeyStore: SigningKeyStore;
  readonly accountStore: AccountStore;
  /** How long a new key is published before it signs. */
  readonly keyLeadMs: number;
  readonly clock: Clock;
  readonly emit: Emit;
}

/** The Ed25519 keys by which accounts sign their deliveries. */
export class SigningKeys {
  constructor(private readonly parts: SigningKeysParts) {}

  /** Give the account its first key, which signs at once, if it has none. */
  async ensure(accountId: AccountId): Promise<StoredKeys> {
    return await ensureKeys(this.parts, accountId);
  }

  /** The one that signs now; `undefined` until an endpoint has asked for one. */
  async readCurrent(accountId: AccountId): Promise<SigningKey | undefined> {
    const { signingKeyStore, clock } = this.parts;
    const known = await signingKeyStore.find(accountId);
    return known && signingKeyAt(known, clock());
  }

  /** All that are published, newest first; none until an endpoint has asked for one. */
  async list(accountId: AccountId): Promise<readonly PublishedKey[]> {
    const { signingKeyStore, clock } = this.parts;
    const known = await signingKeyStore.find(accountId);
    return known ? publishedKeys(known, clock()) : [];
  }

  /**
   * Give the account a new key, and all that are published then. The new one signs after the lead, and the
   * former ones stay published for a while. While one waits for its turn, there is no further one. After a leak
   * (`immediate`) the new key is alone at once. Repeating a rotation changes nothing.
   *
   * @throws AppError `conflict` when too many are published, `not_found` when the account is gone.
   */
  async rotate(
    accountId: AccountId,
    { immediate }: KeyRotation,
    rotation: string,
    act?: Act,
  ): Promise<readonly PublishedKey[]> {
    const { signingKeyStore, accountStore, keyLeadMs, clock, emit } = this.parts;
    const now = clock();
    let made: SigningKey | undefined;
    const rotateKeys = (before: StoredKeys | undefined): StoredKeys => {
      const published = before ? publishedKeys(before, now) : [];
      made = undefined;
      if (before && (isRepeated(published, rotation) || (!immediate && hasNext(published)))) return before;
      const isAlone = immediate || !before;
      if (!isAlone && published.length >= MAX_KEYS) throw tooMany(published);
      const signsFrom = isAlone ? now : now + keyLeadMs;
      made = newKey(signingKeyStore, accountId, { createdAt: now, signsFrom, rotation });
      const others = isAlone ? [] : published.map(({ key }) => signingKeyStore.reseal(accountId, key));
      return { keys: [made, ...others] };
    };
    const signingKeys = await signingKeyStore.update(accountId, rotateKeys, act);
    // As with a new webhook: an erasure first marks the account and then removes its keys.
    if (!isThere(await accountStore.find(accountId))) {
      await signingKeyStore.remove(accountId);
      throw accountNotFound(accountId);
    }
    if (made) emit({ name: 'signing_key.rotated', accountId, kid: made.kid, immediate });
    return publishedKeys(signingKeys, now);
  }

  async remove(accountId: AccountId): Promise<void> {
    await this.parts.signingKeyStore.remove(accountId);
  }
}

function isRepeated(published: readonly PublishedKey[], rotation: string): boolean {
  return published.some(({ key }) => key.rotation === rotation);
}

function hasNext(published: readonly PublishedKey[]): boolean {
  return published.some(({ status }) => status === 'next');
}

function tooMany(published: readonly PublishedKey[]): AppError {
  const ends = published.map(({ publishedUntil }) => publishedUntil ?? Number.POSITIVE_INFINITY);
  return new AppError(
    'conflict',
    `${MAX_KEYS} keys are published. The first of them is withdrawn at ${formatTime(Math.min(...ends))}: rotate after ` +
      'that, or with "immediate": true, which withdraws all of them now.',
  );
}

function newKey(
  signingKeyStore: SigningKeyStore,
  accountId: AccountId,
  facts: Omit<SigningKey, 'kid' | 'publicKey' | 'privateKey'>,
): SigningKey {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const { x = '' } = publicKey.export({ format: 'jwk' });
  const kid = thumbprintOf(x);
  const pkcs8 = privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64');
  return { kid, publicKey: x, privateKey: signingKeyStore.seal(accountId, kid, pkcs8), ...facts };
}

/** RFC 7638 over the members that RFC 8037 requires, in the order of their names. */
function thumbprintOf(x: string): string {
  return createHash('sha256')
    .update(JSON.stringify({ crv: 'Ed25519', kty: 'OKP', x }))
    .digest('base64url');
}

/** A set of public keys (RFC 7517, RFC 8037). Without keys it is empty, whatever the reason. */
export function toJwks(published: readonly PublishedKey[]) {
  return {
    keys: published.map(({ key: { kid, publicKey: x } }) => ({
      kty: 'OKP' as const,
      crv: 'Ed25519' as const,
      x,
      kid,
      use: 'sig' as const,
      alg: 'EdDSA' as const,
    })),
  };
}
