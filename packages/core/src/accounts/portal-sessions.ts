import { z } from 'zod';
import {
  type AccountId,
  accountIdSchema,
  accountNotFound,
  type Capability,
  capabilities,
  capabilitySchema,
  DEFAULT_ACCOUNT,
  displayNameSchema,
  hashKey,
  hasScope,
  idOfCode,
  isSameKey,
  isThere,
  type PortalPage,
  type PortalSession,
  type Principal,
  type Scope,
} from '../domain/account';
import type { Act, AuditActor } from '../domain/audit';
import { portalLanguages } from '../domain/portal-languages';
import { PORTAL_SESSION_BYTES } from '../domain/usage';
import { AppError } from '../platform/app-error';
import type { Clock } from '../platform/clock';
import type { Mark } from '../platform/redis-timeline';
import type { AccountQuota } from './account-quota';
import { newPortalToken } from './api-keys';
import type { AuthFailures } from './auth-failures';
import { type Authentication, isOperator, operatorOnly, unauthenticated } from './authentication';
import type { AccountStore } from './redis-account-store';
import type { FoundSession, PortalSessionPage, PortalSessionStore } from './redis-portal-session-store';

/** The input of a new session. The same input gives the same session, once. */
export interface NewSession {
  readonly principal: Principal;
  readonly input: NewPortalSession;
  readonly code: string;
  /** Absent: it is not recorded. */
  readonly act?: Act;
  /** Milliseconds since the Unix epoch. */
  readonly createdAt: number;
}

// Each may have a logo of 32 KiB. A busy account has ten of them at a time.
const MAX_LIVE_SESSIONS = 1_000;
// A link is followed at once, and may lie in a history or a chat for ever.
const CODE_MS = 10 * 60_000;

export interface PortalSessionsParts {
  readonly portalSessionStore: PortalSessionStore;
  readonly accountStore: AccountStore;
  readonly authentication: Authentication;
  /** Absent: failed exchanges are not limited. */
  readonly authFailures?: AuthFailures | undefined;
  readonly quota: AccountQuota;
  readonly clock: Clock;
}

export interface OpenedSession {
  /** The page sends it from now on. It is not stored: this is the only time that it can be shown. */
  readonly token: string;
  readonly session: PortalSession;
  readonly page: PortalPage;
}

/** Links that open the portal for an account, and the sessions that they begin. */
export class PortalSessions {
  constructor(private readonly parts: PortalSessionsParts) {}

  /**
   * Create a portal session. It is in force once the promise has resolved.
   *
   * @throws AppError `operator_only` for another account or the capability `operate`, `insufficient_scope` for
   *   the capabilities `publish` and `transform`, `not_found` when the account is gone or being erased,
   *   `limit_reached`, `quota_exceeded` for the account that it is for.
   */
  async create({ principal, input, code, createdAt, act }: NewSession): Promise<PortalSession> {
    const { portalSessionStore, accountStore, authentication, quota, clock } = this.parts;
    const { accountId } = await authentication.resolveAccount(principal, input.account_id);
    requireGiver(principal, input.capabilities);
    if (accountId !== principal.accountId) await quota.requireRoom(accountId, 'http');
    const page = pageOf(input);
    const session = sessionOf({ principal, input, code, createdAt }, accountId, page);
    if (!(await portalSessionStore.save(session, page, MAX_LIVE_SESSIONS, clock(), act))) throw tooMany();
    // Check only now: the erasure first marks the account and then ends its sessions, so one of the two sees
    // this session.
    if (!isThere(await accountStore.find(accountId))) {
      await portalSessionStore.remove(session);
      throw accountNotFound(accountId);
    }
    return session;
  }

  /** Those that have not ended. The one that ends last comes first. */
  async list(accountId: AccountId, limit: number, after?: Mark): Promise<PortalSessionPage> {
    const { portalSessionStore, clock } = this.parts;
    return await portalSessionStore.list(accountId, clock(), limit, after);
  }

  /**
   * Revoke a session of the account, or one that this very key has made for another. @throws AppError
   * `not_found`.
   */
  async revoke(principal: Principal, id: string, act?: Act): Promise<void> {
    const { portalSessionStore } = this.parts;
    const session = await portalSessionStore.find(id);
    if (!isOf(session, principal) || !(await portalSessionStore.remove(session, act))) {
      throw new AppError('not_found', 'There is no portal session with this id.');
    }
  }

  /**
   * Exchange the code in a link for the token of its session, once: of several at the same time, one succeeds.
   * If the response is lost, so is the token, and another link is needed: a code that could be used again could
   * be stolen. A client that had no valid key or code too often recently is refused before anything is looked
   * up.
   *
   * @throws AppError `rate_limited`; `unauthenticated`: its detail tells a client that has the whole code why
   *   it is no longer valid.
   */
  async exchange(code: string, clientAddress: string | undefined, act?: Act): Promise<OpenedSession> {
    const { authFailures } = this.parts;
    authFailures?.refuseBlocked(clientAddress);
    try {
      return await this.#exchange(await this.#findByCode(code), act);
    } catch (error) {
      authFailures?.noteError(error, clientAddress);
      throw error;
    }
  }

  async #findByCode(code: string): Promise<FoundSession> {
    const id = idOfCode(code);
    const session = id === undefined ? undefined : await this.parts.portalSessionStore.find(id);
    if (isSameKey(session && { sha256: session.codeSha256 }, code) && session) return session;
    throw unauthenticated('The link is not valid, or its session has ended. Ask for a new one.');
  }

  async #exchange(session: FoundSession, act: Act | undefined): Promise<OpenedSession> {
    const { portalSessionStore, authentication, clock } = this.parts;
    if (session.exchange) throw usedUp();
    if (session.codeExpiresAt <= clock())
      throw unauthenticated('The link was not used in time. Ask for a new one.');
    await authentication.requireLiveSession(session);
    // Reads that could fail come before the one step that can't be repeated.
    const page = await portalSessionStore.readPage(session.id);
    const token = newPortalToken(session.id);
    const exchange = { tokenSha256: hashKey(token), exchangedAt: clock() };
    const login = act && { ...act, actor: actorOf(session), actorAccountId: session.accountId };
    if (!(await portalSessionStore.exchange(session, exchange, login))) throw usedUp();
    return { token, session, page };
  }
}

// Receivers trust what is signed: nobody lets others make it who may not do it.
const GIVER_SCOPES: Readonly<Partial<Record<Capability, Scope>>> = {
  publish: 'events:write',
  transform: 'webhooks:write',
  // What is on record of an operator's account, not everybody may see who opens its portal.
  audit: 'audit:read',
};

/** What a session may be used for that a key makes for its own account. None: it may make no session. */
export function capabilitiesToGive(principal: Principal): readonly Capability[] {
  if (!hasScope(principal, 'portal:write')) return [];
  return capabilities.filter((capability) => refusalToGive(principal, capability) === undefined);
}

function requireGiver(principal: Principal, given: readonly Capability[]): void {
  for (const capability of given) {
    const refusal = refusalToGive(principal, capability);
    if (refusal !== undefined) throw refusal;
  }
}

function refusalToGive(principal: Principal, capability: Capability): AppError | undefined {
  if (capability === 'operate' && !isOperator(principal)) return operatorOnly();
  const makesEvents = capability === 'publish' || capability === 'schedule';
  if (makesEvents && principal.eventTypes !== undefined) {
    return new AppError(
      'insufficient_scope',
      `A key with "event_types" can't give the capability "${capability}".`,
    );
  }
  const scope = GIVER_SCOPES[capability];
  if (scope === undefined || hasScope(principal, scope)) return undefined;
  return new AppError(
    'insufficient_scope',
    `Only a key with the scope "${scope}" may give the capability "${capability}".`,
  );
}

function isOf(session: PortalSession | undefined, { accountId, id }: Principal): session is PortalSession {
  return session?.accountId === accountId || session?.apiKeyId === id;
}

function sessionOf(
  { principal, input, code, createdAt }: NewSession,
  accountId: AccountId,
  page: PortalPage,
): PortalSession {
  const id = idOfCode(code);
  if (id === undefined) throw new AppError('internal_error', 'The code of the new session is malformed.');
  const expiresAt = createdAt + input.expires_in_seconds * 1_000;
  return {
    id,
    accountId,
    apiKeyId: principal.id,
    capabilities: input.capabilities,
    ...(input.label === undefined ? {} : { label: input.label }),
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
    `The account has ${MAX_LIVE_SESSIONS} portal sessions, as many as it may. End some, or let new ones end sooner ("expires_in_seconds").`,
  );
}

// The holder of the code is the session's user from now on.
function actorOf({ id, label }: PortalSession): AuditActor {
  return { type: 'portal_session', id, ...(label === undefined ? {} : { label }) };
}

function usedUp(): AppError {
  return unauthenticated('The link was used already. Each link works once: ask for a new one.');
}

const MIN_SECONDS = 60;
const MAX_SECONDS = 86_400;
const DEFAULT_SECONDS = 3_600;
const DEFAULT_CAPABILITIES: readonly Capability[] = ['read', 'webhooks', 'redeliver'];

// Part of each stored session, and of the response to each exchange.
const MAX_LOGO_CHARACTERS = 32 * 1024;
// No SVG, which may contain programs. No address, which would tell another host who views the page.
const LOGO = /^data:image\/(?:png|jpeg|webp);base64,[A-Za-z0-9+/]+={0,2}$/;
const MAX_URL_CHARACTERS = 2_048;
const MAX_FONT_CHARACTERS = 200;
// Names alone: nothing that a style sheet would read as anything else.
const FONT = /^[A-Za-z][A-Za-z0-9 -]*(?:, ?[A-Za-z][A-Za-z0-9 -]*)*$/;
const MAX_RADIUS = 16;

function colorSchema(description: string) {
  return z
    .string()
    .regex(/^#[0-9a-fA-F]{6}$/, 'must be a colour such as #1f6feb')
    .optional()
    .describe(description);
}

export const portalThemeSchema = z
  .strictObject({
    name: displayNameSchema.optional().describe('The name at the top of the page. Default: none.'),
    logo: z
      .string()
      .max(MAX_LOGO_CHARACTERS, `must have at most ${MAX_LOGO_CHARACTERS} characters`)
      .regex(LOGO, 'must be a data: URI with a PNG, JPEG or WebP image in base64')
      .optional()
      .describe('An image as a `data:` URI: PNG, JPEG or WebP, of at most 32,768 characters. Default: none.'),
    color: colorSchema('The colour of buttons and links: `#rrggbb`. Default: the one of the portal.'),
    color_dark: colorSchema('The same on a dark page: `#rrggbb`. Default: `color`.'),
    surface: colorSchema('The background of a light page: `#rrggbb`. Default: white.'),
    surface_dark: colorSchema('The background of a dark page: `#rrggbb`. Default: the one of the portal.'),
    font: z
      .string()
      .max(MAX_FONT_CHARACTERS, `must have at most ${MAX_FONT_CHARACTERS} characters`)
      .regex(FONT, 'must be names of fonts, such as Inter, Helvetica Neue, sans-serif')
      .optional()
      .describe(
        'Names of fonts, separated by commas, such as `Inter, sans-serif`: the first that the device of the user has. The page loads none. Default: the font of the system.',
      ),
    radius: z
      .int()
      .min(0, 'must be at least 0')
      .max(MAX_RADIUS, `must be at most ${MAX_RADIUS}`)
      .optional()
      .describe('The radius of corners in pixels: 0 to 16. Default: 6.'),
    mode: z
      .enum(['light', 'dark', 'system'], 'must be light, dark or system')
      .optional()
      .describe('Light or dark. `system`, the default: as the browser of the user is set.'),
  })
  .meta({ id: 'PortalTheme' });

const returnUrlSchema = z
  .url({ protocol: /^https?$/, error: 'must be a URL that begins with https:// or http://' })
  .max(MAX_URL_CHARACTERS, `must have at most ${MAX_URL_CHARACTERS} characters`);

const capabilitiesSchema = z
  .array(capabilitySchema)
  .max(capabilities.length, `must name at most ${capabilities.length}`)
  .refine(
    (list) => !list.includes('secrets') || list.includes('webhooks'),
    '"secrets" has an effect only together with "webhooks": name both',
  )
  .transform((list) => capabilities.filter((one) => one === 'read' || list.includes(one)))
  .readonly();

export const CAPABILITIES =
  'What the session may do. `read`, which every session has: see webhooks and deliveries. `webhooks`: create and change webhooks. `redeliver`: redeliver single deliveries, and replay many. `schedule`: reschedule and cancel events. `publish`: publish an event; only a key with the scope `events:write` may give it. `transform`: write, remove and restore the code of transformations, which makes what webhooks are sent; only a key with the scope `webhooks:write` may give it. `secrets`: see and rotate secrets. `audit`: see the audit log. `operate`: see the pages for operators.';
export const THEME = 'The look of the page.';

/** The input for a new portal session. */
export const newPortalSessionSchema = z
  .strictObject({
    account_id: accountIdSchema
      .optional()
      .describe(
        "The account whose webhooks the session shows. Only an operator's key, or one with `accounts:act`, may name another than its own.",
      ),
    expires_in_seconds: z
      .int()
      .min(MIN_SECONDS, `must be at least ${MIN_SECONDS}`)
      .max(MAX_SECONDS, `must be at most ${MAX_SECONDS}`)
      .default(DEFAULT_SECONDS)
      .describe('After how many seconds the session ends: 60 to 86,400. Default: 3,600 (1 hour).'),
    capabilities: capabilitiesSchema.prefault([...DEFAULT_CAPABILITIES]).describe(CAPABILITIES),
    label: displayNameSchema
      .optional()
      .describe('A name for the audit log, such as the user that the session is for. Default: none.'),
    return_url: returnUrlSchema
      .optional()
      .describe('The URL that the portal links back to, such as a page of your application. Default: none.'),
    theme: portalThemeSchema.optional().describe(THEME),
    language: z
      .enum(portalLanguages, `must be a language of the portal: ${portalLanguages.join(', ')}`)
      .optional()
      .describe(
        'The language of the pages, as long as their viewer chooses no other. Default: the one of the browser.',
      ),
  })
  .refine(isOfOperatorIfItOperates, {
    path: ['capabilities'],
    error: `"operate" is only for sessions of the account "${DEFAULT_ACCOUNT}": leave out "account_id"`,
  })
  .meta({ id: 'NewPortalSession' });
export type NewPortalSession = z.output<typeof newPortalSessionSchema>;

function isOfOperatorIfItOperates(input: {
  readonly account_id?: string | undefined;
  readonly capabilities: readonly Capability[];
}): boolean {
  return !input.capabilities.includes('operate') || (input.account_id ?? DEFAULT_ACCOUNT) === DEFAULT_ACCOUNT;
}
