import { randomBytes } from 'node:crypto';
import { hashKey, type PortalSession } from '../domain/account';
import { uniqueAccountId } from './unique-ids';

export interface IssuedPortalSession {
  /** The code in its link. */
  readonly code: string;
  /** The stored record. */
  readonly record: PortalSession;
}

const HOUR_MS = 3_600_000;

/**
 * A session that was made just now, with the default capabilities, of an account of its own, unless `change`
 * says otherwise.
 */
export function buildPortalSession(change: Partial<PortalSession> = {}): IssuedPortalSession {
  const id = randomBytes(8).toString('hex');
  const code = `whc_${id}_${randomBytes(20).toString('hex')}`;
  const createdAt = change.createdAt ?? Date.now();
  const record = {
    id,
    accountId: uniqueAccountId(),
    apiKeyId: '0123456789abcdef',
    capabilities: ['read', 'webhooks', 'redeliver'],
    codeSha256: hashKey(code),
    createdAt,
    codeExpiresAt: createdAt + HOUR_MS / 6,
    expiresAt: createdAt + HOUR_MS,
    ...change,
  } satisfies PortalSession;
  return { code, record };
}
