import type { ZodType } from 'zod';
import type { AccountId } from '../domain/account';
import { type Endpoint, endpointSchema } from '../domain/endpoint';
import { isAuthSecret, type ReceiverAuth } from '../domain/receiver-auth';
import type { Emit } from '../domain/signal';
import { AppError } from '../platform/app-error';
import { decrypt, encrypt, type SealingKey } from '../platform/sealing-key';

// sealed.v1.<key id>.<base64url of nonce, ciphertext, tag>
const PREFIX = 'sealed.v1.';
// A form of a later version. It is no plain text.
const OTHER_FORM = /^sealed\.v\d+\./;

/** Encrypts texts for the store, and decrypts them. Without a key, texts stay plain. */
export class Sealer {
  /** @param keys the first key seals; every key opens the texts that it has sealed. */
  constructor(private readonly keys: readonly SealingKey[]) {}

  /** `owner` names the owner and the kind of the text: it can be opened only for the same owner. */
  seal(text: string, owner: string): string {
    const [first] = this.keys;
    return first === undefined ? text : sealUnder(first, text, owner);
  }

  /** A text that was never sealed is returned unchanged. @throws AppError `secret_unreadable`. */
  open(text: string, owner: string): string {
    if (text.startsWith(PREFIX)) return openWithOneOf(this.keys, text, owner);
    if (OTHER_FORM.test(text)) throw secretUnreadable();
    return text;
  }

  /**
   * The text of a sealed one, sealed under the first key. One that is sealed under it already is returned unchanged, and is
   * not opened. @throws AppError `secret_unreadable`.
   */
  reseal(text: string, owner: string): string {
    const [first] = this.keys;
    const isCurrent = first !== undefined && text.startsWith(headOf(first));
    return isCurrent ? text : this.seal(this.open(text, owner), owner);
  }
}

/** A value in Redis that has sealed texts: a field of a hash, or the whole of a string. */
export interface SealedValue {
  readonly key: string;
  /** Absent: the value is a string. */
  readonly field?: string;
  readonly value: string;
  /** The same value with every text sealed under the first key. @throws AppError `secret_unreadable`. */
  readonly reseal: (value: string) => string;
}

/** A store that seals. */
export interface SealedStore {
  /** All values of an account, in pieces. */
  sealedValues(accountId: AccountId): AsyncIterable<readonly SealedValue[]>;
}

/** So many webhooks are read at once: a record has up to 256 KB. */
export const SEALED_PIECE = 20;

/** Not the client's fault, and the client can't change it. */
export function secretUnreadable(cause?: unknown): AppError {
  return new AppError(
    'secret_unreadable',
    'A stored secret cannot be read: its record was tampered with, or SECRETS_ENCRYPTION_KEY lacks the key that sealed it.',
    { cause },
  );
}

export function isUnreadableSecret(error: unknown): boolean {
  return error instanceof AppError && error.code === 'secret_unreadable';
}

function headOf({ id }: SealingKey): string {
  return `${PREFIX}${id}.`;
}

function sealUnder(sealingKey: SealingKey, text: string, owner: string): string {
  const head = headOf(sealingKey);
  return head + encrypt(text, sealingKey.key, head + owner).toString('base64url');
}

function openWithOneOf(keys: readonly SealingKey[], text: string, owner: string): string {
  const [id = '', body = ''] = text.slice(PREFIX.length).split('.');
  const found = keys.find((each) => each.id === id);
  if (!found) throw secretUnreadable();
  try {
    return decrypt(Buffer.from(body, 'base64url'), found.key, `${PREFIX}${id}.${owner}`);
  } catch (error) {
    throw secretUnreadable(error);
  }
}

/** Make the sealer of this process, with a warning if it has no key. */
export function provideSealer(keys: readonly SealingKey[], emit: Emit): Sealer {
  if (keys.length === 0) {
    emit({
      name: 'secrets.unprotected',
      detail:
        'INSECURE_UNENCRYPTED_SECRETS is set, and SECRETS_ENCRYPTION_KEY is not: secrets are stored as plain text.',
    });
  }
  return new Sealer(keys);
}

/** An endpoint's record in the store: JSON with all secrets sealed. */
export function encodeEndpoint(endpoint: Endpoint, sealer: Sealer): string {
  return JSON.stringify(mapSecrets(endpoint, (text, owner) => sealer.seal(text, owner)));
}

/** Read a record of `encodeEndpoint`. @throws AppError `secret_unreadable`. */
export function decodeEndpoint(raw: string, sealer: Sealer): Endpoint {
  return mapSecrets(endpointSchema.parse(JSON.parse(raw)), (text, owner) => sealer.open(text, owner));
}

/** The same record under the first key. @throws AppError `secret_unreadable`. */
export function resealEndpoint(raw: string, sealer: Sealer): string {
  return resealRecord(raw, endpointSchema, (endpoint) =>
    mapSecrets(endpoint, (text, owner) => sealer.reseal(text, owner)),
  );
}

/** The record with its texts sealed again by `reseal`. What a later version has added to it stays: it is checked, and not replaced. */
export function resealRecord<Stored>(
  raw: string,
  schema: ZodType<Stored>,
  reseal: (stored: Stored) => Stored,
): string {
  const stored = JSON.parse(raw);
  schema.parse(stored);
  return JSON.stringify(reseal(stored as Stored));
}

type MapText = (text: string, owner: string) => string;

// Each is bound to its account, its endpoint and its position, so that it opens nowhere else.
function mapSecrets(endpoint: Endpoint, map: MapText): Endpoint {
  const owner = `${endpoint.accountId}/${endpoint.id}`;
  const { secrets, headers, tls, auth } = endpoint;
  return {
    ...endpoint,
    secrets: secrets.map((each) => ({ ...each, secret: map(each.secret, `${owner}/secret`) })),
    ...(headers === undefined ? {} : { headers: mapHeaders(headers, map, owner) }),
    ...(tls === undefined ? {} : { tls: mapTls(tls, map, owner) }),
    ...(auth === undefined ? {} : { auth: mapAuth(auth, map, owner) }),
  };
}

function mapHeaders(headers: NonNullable<Endpoint['headers']>, map: MapText, owner: string) {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, map(value, `${owner}/headers.${name}`)]),
  );
}

function mapTls(tls: NonNullable<Endpoint['tls']>, map: MapText, owner: string) {
  const { ca, certificate, key } = tls;
  return {
    ...tls,
    ...(ca === undefined ? {} : { ca: map(ca, `${owner}/tls.ca`) }),
    ...(certificate === undefined ? {} : { certificate: map(certificate, `${owner}/tls.certificate`) }),
    ...(key === undefined ? {} : { key: map(key, `${owner}/tls.key`) }),
  };
}

function mapAuth(auth: ReceiverAuth, map: MapText, owner: string): ReceiverAuth {
  const mapped = Object.entries(auth).map(([name, value]) => [
    name,
    typeof value === 'string' && isAuthSecret(auth.type, name) ? map(value, `${owner}/auth.${name}`) : value,
  ]);
  return Object.fromEntries(mapped) as ReceiverAuth;
}
