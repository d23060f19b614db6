import { AppError } from '../kernel/app-error';
import type { Clock } from '../kernel/clock';
import type { Mark } from '../kernel/redis-timeline';
import { accountNotFound, isThere } from '../model/account';
import { hashKey } from '../model/api-key';
import type { AccountId } from '../model/event';
import { idOfCode, type PortalPage, type PortalSession } from '../model/portal-session';
import type { Principal } from '../model/principal';
import { PORTAL_SESSION_BYTES } from '../model/usage';
import type { ActFor } from './act-for';
import type { NewPortalSession } from './portal-session-input';
import type { AccountStore } from './redis-account-store';
import type { PortalSessionPage, PortalSessionStore } from './redis-portal-session-store';
import { requireOperator } from './require-operator';

export interface ManagePortalSessionsDeps {
  readonly portalSessionStore: PortalSessionStore;
  readonly accountStore: Pick<AccountStore, 'find'>;
  readonly actFor: ActFor;
  /** Whether the account may store more. @throws AppError `quota_exceeded`. */
  readonly requireRoom: (accountId: AccountId) => Promise<void>;
  readonly clock: Clock;
}

/** What a new session is made of. From the same again the same session comes, once. */
export interface NewSession {
  readonly principal: Principal;
  readonly input: NewPortalSession;
  readonly code: string;
  /** Milliseconds since the Unix epoch. */
  readonly createdAt: number;
}

// Each may have a logo of 32 KiB. A busy account has ten of them at a time.
const MAX_LIVE_SESSIONS = 1_000;
// A link is followed at once, and may lie in a history or a chat for ever.
const CODE_MS = 10 * 60_000;

/** What an account can do with its portal sessions. Every change is in force once its promise has resolved. */
export function createManagePortalSessions(deps: ManagePortalSessionsDeps) {
  const { portalSessionStore, accountStore, actFor, requireRoom, clock } = deps;

  return {
    /**
     * @throws AppError `operator_only` for another account or the capability `operate`, `not_found` when the account is gone
     *   or being erased, `limit_reached`, `quota_exceeded` for the account that it is for.
     */
    async create({ principal, input, code, createdAt }: NewSession): Promise<PortalSession> {
      const { accountId } = await actFor(principal, input.account);
      if (input.capabilities.includes('operate')) requireOperator(principal);
      if (accountId !== principal.accountId) await requireRoom(accountId);
      const page = pageOf(input);
      const session = sessionOf({ principal, input, code, createdAt }, accountId, page);
      if (!(await portalSessionStore.save(session, page, MAX_LIVE_SESSIONS, clock()))) throw tooMany();
      // Only now: whoever erases the account first marks it and then ends its sessions, so one of both sees this one.
      if (!isThere(await accountStore.find(accountId))) {
        await portalSessionStore.remove(session);
        throw accountNotFound();
      }
      return session;
    },

    list(accountId: AccountId, limit: number, after?: Mark): Promise<PortalSessionPage> {
      return portalSessionStore.list(accountId, clock(), limit, after);
    },

    /** One of the account, or one that this very key has made for another. @throws AppError `not_found`. */
    async revoke(principal: Principal, id: string): Promise<void> {
      const session = await portalSessionStore.find(id);
      if (!isOf(session, principal) || !(await portalSessionStore.remove(session))) {
        throw new AppError('not_found', 'There is no portal session with this id.');
      }
    },
  };
}

export type ManagePortalSessions = ReturnType<typeof createManagePortalSessions>;

function isOf(session: PortalSession | undefined, { accountId, id }: Principal): session is PortalSession {
  return session?.accountId === accountId || session?.apiKeyId === id;
}

function sessionOf(
  { principal, input, code, createdAt }: NewSession,
  accountId: AccountId,
  page: PortalPage,
): PortalSession {
  const id = idOfCode(code);
  if (id === undefined)
    throw new AppError('internal_error', 'The code of a new session has not the form of one.');
  const expiresAt = createdAt + input.expires_in * 1_000;
  return {
    id,
    accountId,
    apiKeyId: principal.id,
    capabilities: input.capabilities,
    codeSha256: hashKey(code),
    createdAt,
    codeExpiresAt: Math.min(createdAt + CODE_MS, expiresAt),
    expiresAt,
    bytes: PORTAL_SESSION_BYTES + Buffer.byteLength(JSON.stringify(page)),
  };
}

function pageOf({ return_url: returnUrl, theme }: NewPortalSession): PortalPage {
  return { ...(returnUrl === undefined ? {} : { returnUrl }), ...(theme === undefined ? {} : { theme }) };
}

function tooMany(): AppError {
  return new AppError(
    'limit_reached',
    `The account has ${MAX_LIVE_SESSIONS} live portal sessions. Revoke some, or let new ones end sooner ("expires_in").`,
  );
}
