import type { Attempt } from '../../api/delivery-queries';
import { signBody, signMessage } from './signatures';

export interface CurlInput {
  readonly url: string;
  readonly body: string;
  readonly eventId: string;
  /** Of the last attempt: which headers it had, some of them masked. */
  readonly headers: Attempt['request_headers'];
  /** Of the webhook: a key pair's private half is with the service alone. */
  readonly signing: 'hmac' | 'ed25519' | 'both';
  /** The signing secret; undefined: the session may not see it, or the browser can't sign. */
  readonly secret: string | undefined;
  readonly now: Date;
}

const MASK = '***';
const BODY_SIGNATURE = 'x-service-signature';

/** A command that sends the delivery as the service would, signed as of now. */
export async function curlOf({
  url,
  body,
  eventId,
  headers,
  signing,
  secret,
  now,
}: CurlInput): Promise<string> {
  const timestamp = String(Math.floor(now.getTime() / 1_000));
  const signed: Readonly<Record<string, string>> =
    signing === 'ed25519'
      ? { 'webhook-signature': 'v1a,SIGNATURE' }
      : secret === undefined
        ? { 'webhook-signature': 'v1,SIGNATURE', [BODY_SIGNATURE]: 'sha256=SIGNATURE' }
        : {
            'webhook-signature': `v1,${await signMessage(secret, `${eventId}.${timestamp}.${body}`)}`,
            [BODY_SIGNATURE]: `sha256=${await signBody(secret, body)}`,
          };
  const sent = {
    'content-type': 'application/json',
    ...headers,
    'webhook-id': eventId,
    'webhook-timestamp': timestamp,
    ...signed,
  };
  const lines = Object.entries(sent).map(
    ([name, value]) => `  -H ${quote(`${name}: ${value === MASK ? 'VALUE' : value}`)}`,
  );
  // untranslated: a command
  return [`curl -i -X POST ${quote(url)}`, ...lines, `  --data-raw ${quote(body)}`].join(' \\\n');
}

/** For a POSIX shell. */
const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
