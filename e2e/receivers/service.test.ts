import { CertificateAuthority, hasOpenssl } from '@hookferry/core/testing/certificate-authority';
import { createClosables } from '@hookferry/core/testing/closables';
import { Receiver } from '../support/receiver';
import { BRIEF, QUICK_WIN } from '../support/samples';
import { Stack } from '../support/stack';
import { until } from '../support/until';
import { receiverKinds } from './catalogue';
import type { Authorities, ReceiverKind } from './receiver-kind';

const EVENTS = 20;

const { willClose, closeAll } = createClosables();
let authorities: Authorities | undefined;
let stack: Stack;
let healthy: Receiver;

beforeAll(async () => {
  if (hasOpenssl) authorities = { trusted: new CertificateAuthority(), unknown: new CertificateAuthority() };
  stack = await Stack.start({
    environment: {
      RETRY_SCHEDULE: '100ms,1h',
      DELIVERY_TIMEOUT: '60s',
      ...(authorities && { NODE_EXTRA_CA_CERTS: authorities.trusted.certFile }),
    },
  });
  healthy = await Receiver.start();
  await stack.client.register(healthy.url, [BRIEF.type]);
});
afterAll(async () => {
  await stack.stop();
  await healthy.stop();
  await closeAll();
  authorities?.trusted.remove();
  authorities?.unknown.remove();
});

it('delivers to a healthy endpoint what it is owed beside receivers of each kind', async () => {
  const kindOf = await registerEachKind();
  for (let i = 0; i < EVENTS; i += 1) await stack.client.publish(BRIEF.type, BRIEF.data);
  await healthy.waitFor(EVENTS);
  expect(healthy.requests).toHaveLength(EVENTS);

  for (const [webhookId, kind] of kindOf) {
    // The others are at it until their deadline.
    if (kind.endedBy === 'deadline') continue;
    const outcome = await until(() => readFirstOutcome(webhookId));
    // On a busy machine the service hears of the closed connection so late that something may have read the request: then it is an attempt.
    const mayBe = kind.connection === 'stale' ? [kind.outcome, 'connection_reset'] : [kind.outcome];
    expect({ kind: kind.name, mayBe }).toEqual({ kind: kind.name, mayBe: expect.arrayContaining([outcome]) });
  }
  // Not even tried, where a receiver redirects.
  expect(stack.workers[0]?.output).not.toContain('delivery.blocked');
}, 300_000);

it('sends nothing more to a receiver that asks for three seconds until they have passed', async () => {
  const receiver = await Receiver.start((_request, count) =>
    count === 1 ? { status: 429, headers: { 'retry-after': '3' } } : 204,
  );
  await stack.client.register(receiver.url, [QUICK_WIN.type]);
  await stack.client.publish(QUICK_WIN.type, QUICK_WIN.data);
  const [first, second] = await receiver.waitFor(2);
  expect((second?.receivedAt ?? 0) - (first?.receivedAt ?? 0)).toBeGreaterThanOrEqual(3_000);
  await receiver.stop();
});

async function registerEachKind(): Promise<ReadonlyMap<string, ReceiverKind>> {
  const kindOf = new Map<string, ReceiverKind>();
  for (const kind of receiverKinds.filter(({ needsTls }) => hasOpenssl || !needsTls)) {
    const { url } = willClose(await kind.start(authorities));
    kindOf.set((await stack.client.register(url, [BRIEF.type])).id, kind);
  }
  return kindOf;
}

async function readFirstOutcome(webhookId: string): Promise<string | undefined> {
  const tried = (await stack.client.listDeliveries(webhookId)).find(({ attempt_count }) => attempt_count > 0);
  return tried && (await stack.client.readDelivery(tried.id)).attempts[0]?.outcome;
}
