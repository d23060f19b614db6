import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { verify } from './index';

interface Case {
  readonly name: string;
  readonly settings: { readonly signature_header: string; readonly signature_prefix: string };
  readonly webhook: {
    readonly secrets: readonly { readonly secret: string; readonly expires_at?: number }[];
  };
  readonly event: { readonly id: string; readonly type: string; readonly data_text: string };
  readonly now: number;
  readonly request: { readonly headers: Readonly<Record<string, string>>; readonly body_base64: string };
}

const corpus = join(__dirname, '../../../conformance/requests.json');
const { cases } = JSON.parse(readFileSync(corpus, 'utf8')) as { readonly cases: readonly Case[] };

const STRANGE = 'whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=';

function requestIn({ request, now }: Case) {
  return { headers: request.headers, body: Buffer.from(request.body_base64, 'base64'), now };
}

/** Those that sign at the time of the request, and those that do not. */
function secretsOf({ webhook, now }: Case) {
  const isLive = ({ expires_at = Number.POSITIVE_INFINITY }: { expires_at?: number }) => expires_at > now;
  const live = webhook.secrets.filter(isLive).map(({ secret }) => secret);
  const others = webhook.secrets.filter((each) => !isLive(each)).map(({ secret }) => secret);
  return { live, others: [...others, STRANGE] };
}

describe('the requests that all languages agree on', () => {
  it('are there', () => expect(cases.length).toBeGreaterThan(15));

  it.each(cases)('are genuine by each secret that signs, and give their event: $name', async (each) => {
    const { id, type, data_text: text } = each.event;
    const event = { id, timestamp: each.now, type, data: JSON.parse(text) as unknown };
    const { live, others } = secretsOf(each);
    for (const secret of live) expect(await verify({ secret, ...requestIn(each) })).toEqual(event);
    for (const secret of others) {
      await expect(verify({ secret, ...requestIn(each) })).rejects.toMatchObject({ code: 'no_match' });
    }
  });

  it.each(cases)('are genuine by the signature of the body alone: $name', async (each) => {
    const { signature_header: name, signature_prefix: prefix } = each.settings;
    const { 'webhook-signature': _others, ...headers } = each.request.headers;
    const [newest] = secretsOf(each).live;
    const input = { ...requestIn(each), headers, serviceHeader: { name, prefix } };
    const { type, data_text: text } = each.event;
    expect(await verify({ secret: newest, ...input })).toEqual({ type, data: JSON.parse(text) });
    await expect(verify({ secret: STRANGE, ...input })).rejects.toMatchObject({ code: 'no_match' });
  });
});
