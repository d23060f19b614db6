import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { eventIdSchema } from '../domain/event';
import type { DeliveryRequest } from '../domain/transport';
import { validateEvent } from '../publish/validate-event';
import { buildEndpoint } from '../testing/build-endpoint';
import { buildEvent } from '../testing/build-event';
import { buildTransportOptions } from '../testing/build-transport-options';
import { createClosables } from '../testing/closables';
import { fakePublishingParts } from '../testing/fake-publishing-parts';
import { startHttpServer } from '../testing/local-server';
import { contentOf } from './cloudevents';
import { GotTransport } from './got-transport';
import { prepareRequest } from './prepare-request';

interface Case {
  readonly name: string;
  readonly settings: {
    readonly user_agent: string;
    readonly signature_header: string;
    readonly signature_prefix: string;
  };
  readonly webhook: {
    readonly url: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly secrets: readonly { readonly secret: string; readonly expires_at?: number }[];
  };
  readonly event: { readonly id: string; readonly type: string; readonly data_text: string };
  readonly attempt: number;
  readonly is_test: boolean;
  /** In seconds. */
  readonly now: number;
  readonly request: WireRequest;
}

interface WireRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body_base64: string;
}

const corpus = join(__dirname, '../../../../conformance/requests.json');
const { cases } = JSON.parse(readFileSync(corpus, 'utf8')) as { readonly cases: readonly Case[] };

// The one type of the corpus that is not built in: its data may be anything.
const { eventTypeStore, maxEventBytes } = fakePublishingParts({
  eventTypes: [{ name: 'invoice.paid', schema: true }],
});

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

async function prepare({ settings, webhook, event, ...rest }: Case): Promise<DeliveryRequest> {
  const { id, type, data_text: dataText } = event;
  const body = await validateEvent(eventTypeStore, maxEventBytes, {
    type,
    data: JSON.parse(dataText),
    dataText,
  });
  const secrets = webhook.secrets.map(({ secret, expires_at: expiresAt }) => ({
    secret,
    createdAt: 0,
    ...(expiresAt === undefined ? {} : { expiresAt: expiresAt * 1_000 }),
  }));
  const { url, headers } = webhook;
  const endpoint = buildEndpoint({ url, secrets, ...(headers === undefined ? {} : { headers }) });
  const accepted = buildEvent({ id: eventIdSchema.parse(id), type, body });
  return prepareRequest(
    {
      endpoint,
      event: accepted,
      content: contentOf({ event: accepted, endpoint }),
      attempt: rest.attempt,
      isTest: rest.is_test,
      now: rest.now * 1_000,
    },
    {
      userAgent: settings.user_agent,
      signatureHeader: { name: settings.signature_header, prefix: settings.signature_prefix },
    },
  );
}

/**
 * What comes over the wire, but for what every request over HTTP/1.1 has to have: `host` and `connection`.
 */
async function sendForReal(request: DeliveryRequest): Promise<WireRequest> {
  let received: WireRequest | undefined;
  const receive = async (incoming: IncomingMessage, response: ServerResponse) => {
    const { method = '', url: path = '', rawHeaders } = incoming;
    const body = await buffer(incoming);
    received = { method, path, headers: ownHeaders(rawHeaders), body_base64: body.toString('base64') };
    response.writeHead(204).end();
  };
  const server = await startHttpServer((incoming, response) => void receive(incoming, response));
  const { port } = willClose(server);
  const { pathname, search } = new URL(request.url);
  const transport = willClose(new GotTransport(buildTransportOptions()));
  const url = `http://127.0.0.1:${port}${pathname}${search}`;
  await transport.send({ ...request, url }, new AbortController().signal);
  if (received === undefined) throw new Error('Nothing came.');
  return received;
}

function ownHeaders(raw: readonly string[]): Record<string, string> {
  const names = raw.filter((_text, index) => index % 2 === 0).map((name) => name.toLowerCase());
  expect(new Set(names).size).toBe(names.length);
  const pairs = names.map((name, index) => [name, raw[2 * index + 1] ?? ''] as const);
  return Object.fromEntries(pairs.filter(([name]) => name !== 'host' && name !== 'connection'));
}

describe('the requests that all languages agree on', () => {
  it('are there', () => expect(cases.length).toBeGreaterThan(15));

  it.each(cases)('are what is sent: $name', async (each) => {
    const request = await prepare(each);
    expect(request.url).toBe(each.webhook.url);
    expect(await sendForReal(request)).toEqual(each.request);
  });
});
