import { createPrivateKey, type KeyObject } from 'node:crypto';
import { makeChange } from '../../accounts/audit/redis-recorded-change';
import { replaceCopied } from '../../accounts/redis-record-copies';
import type { AccountId } from '../../domain/account';
import type { Act } from '../../domain/audit';
import { keys } from '../../domain/keys';
import { type SigningKey, type SigningKeys, signingKeysSchema } from '../../domain/signing-key';
import { createLru, ParsedCache } from '../../platform/caches';
import type { RedisClient } from '../../platform/redis-connect';
import { resealRecord, type SealedValue, type Sealer } from '../seal';
import { replaceSigningKeys } from './redis-signing-key-store.script';

const CACHED_ACCOUNTS = 10_000;

/**
 * The signing keys of accounts: one record each, always read from Redis, so that all processes agree on which
 * key signs. Private keys are sealed when written, and opened by the processes that sign.
 */
export class SigningKeyStore {
  readonly #records = new ParsedCache(parse, { entries: CACHED_ACCOUNTS });
  readonly #opened = createLru<string, OpenedKey>(CACHED_ACCOUNTS);

  constructor(
    private readonly redis: RedisClient,
    private readonly sealer: Sealer,
  ) {}

  /** `undefined`: no webhook of the account has asked for one yet. */
  async find(accountId: AccountId): Promise<SigningKeys | undefined> {
    const raw = await this.redis.get(keys.signingKeys(accountId));
    return raw === null ? undefined : this.#records.get(accountId, raw);
  }

  /**
   * Replace the account's keys by the result of `change`, in one step. A concurrent change is never
   * overwritten: `change` is called again with the newer keys. If it gives the same ones, nothing is written,
   * and nothing is recorded.
   */
  async update(
    accountId: AccountId,
    change: (signingKeys: SigningKeys | undefined) => SigningKeys,
    act?: Act,
  ): Promise<SigningKeys> {
    for (;;) {
      const raw = await this.redis.get(keys.signingKeys(accountId));
      const before = raw === null ? undefined : this.#records.get(accountId, raw);
      const changed = change(before);
      if (changed === before) return changed;
      const texts = { before: raw ?? undefined, after: JSON.stringify(changed) };
      const recorded = act && { act, accountId, targetId: changed.keys[0]?.kid };
      const replaced = replaceSigningKeys({ account: accountId, ...texts });
      const record = { key: keys.signingKeys(accountId), accountId };
      const isDone = () => makeChange(this.redis, replaced, recorded);
      if (await replaceCopied(this.redis, record, isDone)) return changed;
    }
  }

  async remove(accountId: AccountId): Promise<void> {
    await this.redis.unlink(keys.signingKeys(accountId));
  }

  /** A private key in the form in which it is stored: it opens for its own account and its own `kid` alone. */
  seal(accountId: AccountId, kid: string, pkcs8: string): string {
    return this.sealer.seal(pkcs8, ownerOf(accountId, kid));
  }

  /** The same key under the sealing key of now. @throws AppError `secret_unreadable`. */
  reseal(accountId: AccountId, key: SigningKey): SigningKey {
    return { ...key, privateKey: this.sealer.reseal(key.privateKey, ownerOf(accountId, key.kid)) };
  }

  async *sealedValues(accountId: AccountId): AsyncGenerator<readonly SealedValue[]> {
    const key = keys.signingKeys(accountId);
    const value = await this.redis.get(key);
    const resealAll = (stored: SigningKeys) => ({
      ...stored,
      keys: stored.keys.map((each) => this.reseal(accountId, each)),
    });
    const reseal = (raw: string) => resealRecord(raw, signingKeysSchema, resealAll);
    if (value !== null) yield [{ key, value, reseal }];
  }

  /** @throws AppError `secret_unreadable`. */
  open(accountId: AccountId, { kid, privateKey: sealed }: SigningKey): KeyObject {
    const owner = ownerOf(accountId, kid);
    const known = this.#opened.get(owner);
    if (known?.sealed === sealed) return known.key;
    const der = Buffer.from(this.sealer.open(sealed, owner), 'base64');
    const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
    this.#opened.set(owner, { sealed, key });
    return key;
  }
}

interface OpenedKey {
  readonly sealed: string;
  readonly key: KeyObject;
}

function parse(raw: string): SigningKeys {
  return signingKeysSchema.parse(JSON.parse(raw));
}

function ownerOf(accountId: AccountId, kid: string): string {
  return `${accountId}/signing-keys/${kid}`;
}
