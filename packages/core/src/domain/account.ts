import { hash, timingSafeEqual } from 'node:crypto';
import { shorten } from '@hookferry/producer/fault-words';
import { z } from 'zod';
import { AppError } from '../platform/app-error';
import { textSchema } from '../platform/zod-words';
import { cloudEventsSourceSchema, sentSettings } from './setting-schemas';
import { endpointVerificationSchema } from './verification';

export const accountIdSchema = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1 to 64 of A-Z, a-z, 0-9, _ and -')
  .brand<'AccountId'>();
export type AccountId = z.infer<typeof accountIdSchema>;

/** The operator's own account. It always exists, and its admin keys may act for every other account. */
export const DEFAULT_ACCOUNT = 'default' as AccountId;

export const ACCOUNT_ID_PREFIX = 'acct';

export const accountWeightSchema = z.int().min(1).max(100);

/** In bytes; 0: as much as there is room for. */
export const accountQuotaSchema = z.int().min(0);

/** How the requests of an account's new webhooks are signed, unless they say it themselves. */
export const defaultSigningSchema = sentSettings.signing;
export type DefaultSigning = z.infer<typeof defaultSigningSchema>;

/** An account as it is stored. No other account can see what belongs to it. */
export const accountSchema = z.object({
  id: accountIdSchema,
  name: z.string().optional(),
  /** Its share of the capacity where accounts take turns; absent: 1. */
  weight: accountWeightSchema.optional(),
  /** How many bytes it may store; absent: the default quota. */
  quotaBytes: accountQuotaSchema.optional(),
  /** For how many days the history keeps what moves there; absent: as long as for any. */
  historyDays: z.int().min(1).optional(),
  /** Absent: `hmac`. */
  defaultSigning: defaultSigningSchema.optional(),
  /** The `source` of the CloudEvents that its webhooks send, unless they have their own. Absent: the deployment's. */
  cloudEventsSource: cloudEventsSourceSchema.optional(),
  /** Whether its webhooks have to be verified; absent: as the service has it. */
  endpointVerification: endpointVerificationSchema.optional(),
  /** Tells the request that created it from any other. Old accounts lack it. */
  creation: z.string().optional(),
  /** Milliseconds since the Unix epoch. */
  createdAt: z.number(),
  /** When its erasure was requested. From then on nobody can use it, and only its erasure is left to do. */
  erasingSince: z.number().optional(),
});
export type Account = Readonly<z.infer<typeof accountSchema>>;

/** An account that is being erased exists for its own erasure only. */
export function isThere(account: Account | undefined): account is Account {
  return account !== undefined && account.erasingSince === undefined;
}

// Anything but control characters, which a terminal would obey: in this form as most generators of code know no \p{Cc}.
// oxlint-disable-next-line no-control-regex -- it is to find them
const NO_CONTROL_CHARACTERS = /^[^\x00-\x1f\x7f-\x9f]*$/;

/** The name of an account or a key for people, without the white space around it. */
export const displayNameSchema = textSchema(100)
  .regex(NO_CONTROL_CHARACTERS, 'must not contain control characters')
  .regex(/\S/, 'must not be empty')
  .trim();

export function accountNotFound(id: string): AppError {
  return new AppError('not_found', `There is no account "${shorten(id)}".`);
}

export const scopes = [
  'webhooks:read',
  'webhooks:write',
  'events:write',
  'deliveries:read',
  'deliveries:write',
  'admin',
  'portal:write',
  'audit:read',
  'accounts:act',
] as const;
export const scopeSchema = z.enum(scopes, `must be one of ${scopes.join(', ')}`).meta({ id: 'Scope' });
export type Scope = z.infer<typeof scopeSchema>;

function isScope(name: string): name is Scope {
  return (scopes as readonly string[]).includes(name);
}

/** The middle part of a key, which names it without giving it away. */
export const apiKeyIdSchema = z.string().regex(/^[0-9a-z]{16}$/);

/** An API key as it is stored. The key itself is not: only the SHA-256 of the whole of it. */
export const apiKeySchema = z.object({
  id: z.string(),
  accountId: accountIdSchema,
  /** Hex. */
  sha256: z.string(),
  /** One of a later version is nothing that this one could allow. */
  scopes: z.array(z.string()).transform((all): readonly Scope[] => all.filter(isScope)),
  /** The only types of events that it may publish, in the form of a webhook's `events`. Absent: all. */
  eventTypes: z.array(z.string()).readonly().optional(),
  name: z.string(),
  /** Milliseconds since the Unix epoch. */
  createdAt: z.number(),
  /** The first moment at which it no longer counts. */
  expiresAt: z.number().optional(),
  /** The key that took its place: portal sessions that it made count for as long as that one does. */
  rotatedTo: z.string().optional(),
});
export type ApiKey = Readonly<z.infer<typeof apiKeySchema>>;

/** Whether a key no longer counts at a time, in milliseconds since the Unix epoch. */
export function isExpired({ expiresAt = Number.POSITIVE_INFINITY }: ApiKey, now: number): boolean {
  return expiresAt <= now;
}

// `whk_`, the id, `_`, the secret part: a form that secret scanners can find.
const KEY_FORM = /^whk_([0-9a-z]{16})_[0-9A-Za-z]{32,128}$/;

/** The id within a key; `undefined` when the text does not have the form of a key. */
export function idOfKey(key: string): string | undefined {
  return KEY_FORM.exec(key)?.[1];
}

export function hashKey(key: string): string {
  return hash('sha256', key);
}

// No key has this hash.
const UNKNOWN_KEY = { sha256: '0'.repeat(64) };

/** Compares in constant time. It takes as long where nothing is stored as where the secret part is wrong. */
export function isSameKey<Stored extends Pick<ApiKey, 'sha256'>>(
  stored: Stored | undefined,
  key: string,
): stored is Stored {
  const { sha256 } = stored ?? UNKNOWN_KEY;
  const isSame = timingSafeEqual(Buffer.from(sha256, 'hex'), hash('sha256', key, 'buffer'));
  return isSame && stored !== undefined;
}

/** What a session may be used for. `read` always belongs to it. */
export const capabilities = [
  'read',
  'webhooks',
  'redeliver',
  'schedule',
  'publish',
  'transform',
  'secrets',
  'audit',
  'operate',
] as const;
export const capabilitySchema = z
  .enum(capabilities, `must be one of ${capabilities.join(', ')}`)
  .meta({ id: 'Capability' });
export type Capability = z.infer<typeof capabilitySchema>;

const SCOPES: Readonly<Record<Capability, readonly Scope[]>> = {
  read: ['webhooks:read', 'deliveries:read'],
  webhooks: ['webhooks:write'],
  redeliver: ['deliveries:write'],
  // In place of a scope, at the routes that name them: who may move an event may not publish one, and who may publish
  // one may not erase payloads.
  schedule: [],
  publish: [],
  // Code makes what the service signs: who may say where events go need not say what is in them.
  transform: [],
  // Beside a scope: see `maySeeSecrets`.
  secrets: [],
  audit: ['audit:read'],
  operate: ['admin'],
};

export function scopesOf(ofSession: readonly Capability[]): readonly Scope[] {
  return ofSession.flatMap((capability) => SCOPES[capability]);
}

/** The middle part of its code and of its token, which names it without giving it away. */
export const portalSessionIdSchema = apiKeyIdSchema;

const FORMER_NAMES: Readonly<Record<string, Capability>> = { endpoints: 'webhooks', resend: 'redeliver' };

function presentName(name: unknown): unknown {
  return typeof name === 'string' && Object.hasOwn(FORMER_NAMES, name) ? FORMER_NAMES[name] : name;
}

/** A session as it is stored. Neither its code nor its token is: only the SHA-256 of the whole of each. */
export const portalSessionSchema = z.object({
  id: z.string(),
  accountId: accountIdSchema,
  /** The API key that it was made with. It counts for as long as that does. */
  apiKeyId: z.string(),
  // A session lasts a day at most. One made before an upgrade may have a capability under its former name. Once no version
  // that wrote them can be the one before, the former names may go.
  capabilities: z.array(z.preprocess(presentName, capabilitySchema)).readonly(),
  /** A name for its user, chosen by its creator. The audit log shows it beside its id. */
  label: z.string().optional(),
  /** Hex. */
  codeSha256: z.string(),
  /** Milliseconds since the Unix epoch. */
  createdAt: z.number(),
  /** The first moment at which its code no longer counts. */
  codeExpiresAt: z.number(),
  /** The first moment at which it no longer counts. */
  expiresAt: z.number(),
  /** Its share of the account's usage. Older sessions lack it, and count 0. */
  bytes: z.number().optional(),
});
export type PortalSession = Readonly<z.infer<typeof portalSessionSchema>>;

/** That its code was exchanged for its token. */
export const exchangeSchema = z.object({
  /** Hex. */
  tokenSha256: z.string(),
  /** Milliseconds since the Unix epoch. */
  exchangedAt: z.number(),
});
export type Exchange = Readonly<z.infer<typeof exchangeSchema>>;

/** How the portal page looks for the session's user, and where it leads back to. */
export const portalPageSchema = z.object({
  returnUrl: z.string().optional(),
  theme: z
    .object({
      name: z.string().optional(),
      logo: z.string().optional(),
      color: z.string().optional(),
      color_dark: z.string().optional(),
      surface: z.string().optional(),
      surface_dark: z.string().optional(),
      font: z.string().optional(),
      radius: z.number().optional(),
      mode: z.enum(['light', 'dark', 'system']).optional(),
    })
    .optional(),
});
export type PortalPage = Readonly<z.infer<typeof portalPageSchema>>;

// In the form of API keys: one that secret scanners can find.
const CODE_FORM = /^whc_([0-9a-z]{16})_[0-9A-Za-z]{32,128}$/;
const TOKEN_FORM = /^whp_([0-9a-z]{16})_[0-9A-Za-z]{32,128}$/;

/** The session's id within a code; `undefined` when the text does not have the form of one. */
export function idOfCode(code: string): string | undefined {
  return CODE_FORM.exec(code)?.[1];
}

/** The session's id within a token; `undefined` when the text does not have the form of one. */
export function idOfToken(token: string): string | undefined {
  return TOKEN_FORM.exec(token)?.[1];
}

/** Who sent a request: the holder of an API key, or of the token of a portal session. */
export interface Principal extends Pick<ApiKey, 'id' | 'accountId' | 'scopes' | 'sha256' | 'eventTypes'> {
  /** The key's own account. Absent: it is `accountId`, for which the principal acts. */
  readonly ownAccountId?: AccountId;
  /** What a portal session may be used for; absent: the principal is an API key. */
  readonly capabilities?: readonly Capability[];
  /** Of a portal session: what its maker called it. */
  readonly label?: string;
  /** Of an API key, for people. */
  readonly name?: string;
}

/** Whoever may issue keys for the operator's account may act for every account. */
export function hasScope({ scopes: has }: Pick<Principal, 'scopes'>, scope: Scope): boolean {
  return has.includes(scope) || (scope === 'accounts:act' && has.includes('admin'));
}

/** API keys with the right scope may see secrets: a client that sets a webhook's secret has it anyway. */
export function maySeeSecrets(principal: Principal): boolean {
  return principal.capabilities?.includes('secrets') ?? true;
}
