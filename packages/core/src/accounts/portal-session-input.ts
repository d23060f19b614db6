import { z } from 'zod';
import { DEFAULT_ACCOUNT, displayNameSchema } from '../model/account';
import { accountIdSchema } from '../model/event';
import { type Capability, capabilities, capabilitySchema } from '../model/portal-session';

const MIN_SECONDS = 60;
const MAX_SECONDS = 86_400;
const DEFAULT_SECONDS = 3_600;
const DEFAULT_CAPABILITIES: readonly Capability[] = ['read', 'endpoints', 'resend'];

// Part of each session that is stored, and of the answer to each exchange.
const MAX_LOGO_CHARACTERS = 32 * 1024;
// No SVG, which may hold programs, and no address, which would tell another host who looks at the page.
const LOGO = /^data:image\/(?:png|jpeg|webp);base64,[A-Za-z0-9+/]+={0,2}$/;
const MAX_URL_CHARACTERS = 2_048;

export const portalThemeSchema = z
  .strictObject({
    name: displayNameSchema.optional(),
    logo: z
      .string()
      .max(MAX_LOGO_CHARACTERS, `must have at most ${MAX_LOGO_CHARACTERS} characters`)
      .regex(LOGO, 'must be data:image/png, image/jpeg or image/webp, followed by ;base64, and the image')
      .optional(),
    color: z
      .string()
      .regex(/^#[0-9a-fA-F]{6}$/, 'must be a colour such as #1f6feb')
      .optional(),
    mode: z.enum(['light', 'dark', 'system'], 'must be light, dark or system').optional(),
  })
  .meta({ id: 'PortalTheme' });

const returnUrlSchema = z
  .url({ protocol: /^https?$/, error: 'must be an http(s) URL' })
  .max(MAX_URL_CHARACTERS, `must have at most ${MAX_URL_CHARACTERS} characters`);

const capabilitiesSchema = z
  .array(capabilitySchema)
  .max(capabilities.length, `must name at most ${capabilities.length}`)
  .refine(
    (list) => !list.includes('secrets') || list.includes('endpoints'),
    '"secrets" is good for something together with "endpoints" only; name both',
  )
  .transform((list) => capabilities.filter((one) => one === 'read' || list.includes(one)))
  .readonly();

/** What may be said of a new portal session. */
export const newPortalSessionSchema = z
  .strictObject({
    account: accountIdSchema.optional(),
    expires_in: z
      .int()
      .min(MIN_SECONDS, `must be at least ${MIN_SECONDS}`)
      .max(MAX_SECONDS, `must be at most ${MAX_SECONDS}`)
      .default(DEFAULT_SECONDS),
    capabilities: capabilitiesSchema.prefault([...DEFAULT_CAPABILITIES]),
    return_url: returnUrlSchema.optional(),
    theme: portalThemeSchema.optional(),
  })
  .refine(isOfOperatorIfItOperates, {
    path: ['capabilities'],
    error: `"operate" is only for sessions of the account "${DEFAULT_ACCOUNT}": leave out "account"`,
  })
  .meta({ id: 'NewPortalSession' });
export type NewPortalSession = z.output<typeof newPortalSessionSchema>;

function isOfOperatorIfItOperates(input: {
  readonly account?: string | undefined;
  readonly capabilities: readonly Capability[];
}): boolean {
  return !input.capabilities.includes('operate') || (input.account ?? DEFAULT_ACCOUNT) === DEFAULT_ACCOUNT;
}
