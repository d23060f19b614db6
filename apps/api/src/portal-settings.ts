import { flagSchema } from '@hookferry/core/kernel/common-settings';
import { z } from 'zod';

const ORIGIN_FORM = 'must be an origin such as https://app.example.com, without a path';

const originSchema = z
  .string()
  .refine(isOrigin, ORIGIN_FORM)
  .transform((text) => new URL(text).origin);

const originListSchema = z
  .string()
  .transform((text) =>
    text
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== ''),
  )
  .pipe(z.array(originSchema));

/** Of the portal, which the API serves. */
export const portalSettings = {
  PORTAL: flagSchema
    .default(true)
    .describe('whether the portal, the web pages for customers and operators, is served at `/portal/`'),
  PORTAL_FRAME_ANCESTORS: originListSchema
    .prefault('')
    .describe('origins whose pages may show the portal in a frame, separated by commas; none: no page may'),
  PUBLIC_URL: originSchema
    .optional()
    .describe(
      'the origin by which browsers reach the API, such as `https://hooks.example.com`, for links to the portal; if not set, that of the request which makes the link',
    ),
};

// Not `null`, which a browser calls itself what has no origin, nor anything that a policy would read as more than one.
function isOrigin(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, origin, pathname, search, hash, username } = new URL(text);
  const isWhole = pathname === '/' && search === '' && hash === '' && username === '';
  return /^https?:$/.test(protocol) && isWhole && /^[a-z]+:\/\/[\w.:[\]-]+$/.test(origin);
}
