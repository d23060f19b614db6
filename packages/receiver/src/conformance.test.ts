import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DEFAULT_REMEMBERED_MS } from './dedupe-store';
import { DEFAULT_LEASE_MS, handleOnce } from './handle-once';
import { type VerifyInput, verify, verifyEvents, verifySignature, type WebhookEvent } from './index';
import { DEFAULT_MAX_BYTES } from './receive';
import { SECRET, serviceDigits, signStandard } from './testing/sign-webhook';

interface Case {
  readonly name: string;
  readonly expect: string;
  readonly secrets: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  readonly body_base64: string;
  readonly now: number;
  readonly tolerance?: number;
  readonly skew?: number;
  readonly header?: string;
  /** What becomes of the event in a body that is well signed; without it, it is one if it looks like one. */
  readonly payload?: 'ok' | 'invalid_payload';
}

const corpus = join(__dirname, '../../../conformance/signatures.json');
const { cases } = JSON.parse(readFileSync(corpus, 'utf8')) as { readonly cases: readonly Case[] };

function inputOf({ secrets, headers, body_base64: body, now, tolerance }: Case): VerifyInput {
  return {
    secrets,
    headers,
    body: Buffer.from(body, 'base64'),
    now,
    ...(tolerance === undefined ? {} : { toleranceSeconds: tolerance }),
  };
}

const endingOf = (verdict: Promise<unknown>) =>
  verdict.then(
    () => ({ code: 'ok' }),
    (error: unknown) => error,
  );

describe('the signatures that all languages agree on', () => {
  it('are there', () => expect(cases.length).toBeGreaterThan(30));

  it.each(cases)('$name: $expect', async (one) => {
    const { expect: code, skew, header } = one;
    const expected = {
      code,
      ...(skew === undefined ? {} : { skewSeconds: skew }),
      ...(header === undefined ? {} : { header }),
    };
    expect(await endingOf(verifySignature(inputOf(one)))).toMatchObject(expected);
    // The corpus is about signatures, so some bodies in it are no events.
    const body = Buffer.from(one.body_base64, 'base64').toString();
    const { payload = body.startsWith('{"type":') ? 'ok' : 'invalid_payload' } = one;
    const whole = code === 'ok' ? { code: payload } : expected;
    expect(await endingOf(verify(inputOf(one)))).toMatchObject(whole);
  });
});

interface EventsCase {
  readonly name: string;
  readonly id: string;
  /** Whether it has the signature that covers the body alone. */
  readonly service: boolean;
  readonly binary: boolean;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly expect: 'invalid_payload' | { readonly is_batch: boolean; readonly events: readonly object[] };
}

const eventsFile = join(__dirname, '../../../conformance/events.json');
const formats = JSON.parse(readFileSync(eventsFile, 'utf8')) as { readonly cases: readonly EventsCase[] };

const presented = ({ id, type, data, acceptedAt, cloudEvent }: WebhookEvent) => ({
  ...(id === undefined ? {} : { id }),
  type,
  data,
  ...(acceptedAt === undefined ? {} : { accepted_at: acceptedAt }),
  ...(cloudEvent === undefined ? {} : { cloudevent: cloudEvent }),
});

function eventsInputOf({ id, service, binary, headers, body }: EventsCase): VerifyInput {
  const signature = service
    ? { 'x-service-signature': `sha256=${serviceDigits({ body })}` }
    : signStandard({ id, body });
  return { secret: SECRET, headers: { ...headers, ...signature }, body, binaryCloudEvents: binary };
}

it.each(formats.cases)('all languages agree on what is in a request: $name', async (one) => {
  const ending = await verifyEvents(eventsInputOf(one)).then(
    ({ events, isBatch }) => ({ is_batch: isBatch, events: events.map(presented) }),
    ({ code }) => code,
  );
  expect(ending).toEqual(one.expect);
  const [event] = typeof one.expect === 'object' && !one.expect.is_batch ? one.expect.events : [];
  // One event is what `verify` gives, and no list.
  const alone = await verify(eventsInputOf(one)).then(presented, ({ code }) => code);
  expect(alone).toEqual(event ?? 'invalid_payload');
});

it('has the limits of all receivers', async () => {
  const file = join(__dirname, '../../../conformance/receivers.json');
  const limits = JSON.parse(readFileSync(file, 'utf8'));
  const refuse = () => Promise.reject(new Error('not for who is busy'));
  const dedupe = { claim: async () => 'busy' as const, commit: refuse, release: refuse };
  const busy = await handleOnce({ id: 'evt_1' }, refuse, { dedupe, onError: () => {} });
  expect({
    max_body_bytes: DEFAULT_MAX_BYTES,
    lease_seconds: DEFAULT_LEASE_MS / 1_000,
    remembered_seconds: DEFAULT_REMEMBERED_MS / 1_000,
    busy: { status: busy.status, retry_after_seconds: Number(busy.headers['retry-after']) },
  }).toEqual(limits);
});
