import { z } from 'zod';

const MAX_LENGTH = 2_048;

export interface TargetUrlRules {
  /** Whether `http:` is allowed beside `https:`: only for trying things out. */
  readonly allowHttp: boolean;
}

/** The URL of an endpoint, as a client may register it. Gives the URL in its normalised form. */
export function targetUrlSchema(rules: TargetUrlRules) {
  return z
    .string()
    .max(MAX_LENGTH, `must have at most ${MAX_LENGTH} characters`)
    .transform((text, context) => {
      const fault = faultOf(text, rules);
      if (fault === undefined) return new URL(text).href;
      context.addIssue({ code: 'custom', message: fault });
      return z.NEVER;
    });
}

function faultOf(text: string, { allowHttp }: TargetUrlRules): string | undefined {
  if (!URL.canParse(text)) return 'must be an absolute URL such as https://example.com/webhooks';
  const url = new URL(text);
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'must be an http(s) URL';
  if (url.protocol === 'http:' && !allowHttp) return 'must be an https URL (ALLOW_HTTP_URLS permits http)';
  if (url.username !== '' || url.password !== '') return 'must not hold a user name or password';
  // An empty fragment ("…#") leaves no trace in `hash`.
  if (url.hash !== '' || text.includes('#')) return 'must not have a fragment';
  if (url.href.length > MAX_LENGTH) return `must have at most ${MAX_LENGTH} characters once it is encoded`;
  return undefined;
}
