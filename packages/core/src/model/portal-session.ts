import { z } from 'zod';
import { apiKeyIdSchema, type Scope } from './api-key';
import { accountIdSchema } from './event';

/** What a session may be used for. `read` always belongs to it. */
export const capabilities = ['read', 'endpoints', 'resend', 'secrets', 'operate'] as const;
export const capabilitySchema = z
  .enum(capabilities, `must be one of ${capabilities.join(', ')}`)
  .meta({ id: 'Capability' });
export type Capability = z.infer<typeof capabilitySchema>;

const SCOPES: Readonly<Record<Capability, readonly Scope[]>> = {
  read: ['webhooks:read', 'deliveries:read'],
  endpoints: ['webhooks:write'],
  resend: ['deliveries:write'],
  // Beside a scope: see `maySeeSecrets`.
  secrets: [],
  operate: ['admin'],
};

export function scopesOf(ofSession: readonly Capability[]): readonly Scope[] {
  return ofSession.flatMap((capability) => SCOPES[capability]);
}

/** The middle part of its code and of its token, which names it without giving it away. */
export const portalSessionIdSchema = apiKeyIdSchema;

/** A session as it is stored. Neither its code nor its token is: only the SHA-256 of the whole of each. */
export const portalSessionSchema = z.object({
  id: z.string(),
  accountId: accountIdSchema,
  /** The API key that it was made with. It counts for as long as that does. */
  apiKeyId: z.string(),
  capabilities: z.array(capabilitySchema).readonly(),
  /** Hex. */
  codeSha256: z.string(),
  /** Milliseconds since the Unix epoch. */
  createdAt: z.number(),
  /** The first moment at which its code no longer counts. */
  codeExpiresAt: z.number(),
  /** The first moment at which it no longer counts. */
  expiresAt: z.number(),
  /** What it counts as of what its account stores. Older ones lack it, and count as nothing. */
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

/** How the page is to look for whoever has the session, and where it leads back to. */
export const portalPageSchema = z.object({
  returnUrl: z.string().optional(),
  theme: z
    .object({
      name: z.string().optional(),
      logo: z.string().optional(),
      color: z.string().optional(),
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
