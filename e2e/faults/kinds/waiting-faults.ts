import { setTimeout as wait } from 'node:timers/promises';
import { until } from '../../support/until';
import { askPatiently } from '../ask-patiently';
import { type Finding, toFindings } from '../checks/finding';
import type { FaultScene } from '../fault-scene';
import { readEnded, readRecorded } from '../read-recorded';
import { WaitingReceiver } from '../waiting-receiver';
import { during, type FaultKind, type Strike } from './fault-kind';

// As the docs promise.
const BEGINS_WITHIN_MS = 500;
// For the way of a request on a busy machine.
const UNDER_WAY_MS = 500;
// What begins then would be late beyond doubt.
const HELD_ON_MS = 2_500;
const LONG_TOKEN_S = 3_600;
const SHORT_TOKEN_S = 6;
const SLOW_EVENTS = 40;
const SLOW_MS = 4_000;
const PAUSED_WEBHOOKS = 8;
const TAMPERED_WITHIN_MS = 500;
const ENDS_WITHIN_MS = 60_000;

/** Deliveries that wait for access tokens while something happens. */
export const waitingFaults: readonly FaultKind[] = [
  {
    name: 'erase-while-waiting',
    what: 'payloads are erased, webhooks are deleted, disabled and get another URL, and an account is deleted, while deliveries wait for access tokens: nothing is sent any more',
    mayRepeat: false,
    usualCount: 6,
    inject: eraseWhileWaiting,
  },
  {
    name: 'token-slow',
    what: `access tokens that live ${SHORT_TOKEN_S} s come after up to ${SLOW_MS / 1_000} s: none is used after its end, and nothing is sent twice`,
    mayRepeat: false,
    usualCount: 4,
    inject: tokenSlow,
  },
  {
    name: 'vm-pause',
    what: 'a worker stands still, and its clocks with it, until others have sent what waited for access tokens there: it does not send that again',
    mayRepeat: true,
    usualCount: 4,
    isLong: true,
    inject: pauseMachine,
  },
];

/** An account of its own, with webhooks at one receiver. */
async function openAccount(
  { service: { client }, random }: FaultScene,
  receiver: WaitingReceiver,
  names: readonly string[],
) {
  const id = `waiting-${random.between(1, 1_000_000_000)}`;
  const asAccount = { 'x-account-id': id };
  await askPatiently(client, 201, 'POST', '/v1/accounts', { id });
  const webhookIds = new Map<string, string>();
  for (const name of names) {
    const body = receiver.webhook(name);
    const { body: webhook } = await askPatiently<{ id: string }>(
      client,
      201,
      'POST',
      '/v1/webhooks',
      body,
      asAccount,
    );
    webhookIds.set(name, webhook.id);
  }
  return {
    id,
    webhookId: (name: string) => webhookIds.get(name) ?? '',
    async publish(eventId: string): Promise<void> {
      const event = {
        id: eventId,
        type: 'keyword.quick_win',
        data: { keyword: id, position: 3, volume: 10 },
      };
      await askPatiently(client, 202, 'POST', '/v1/events', event, asAccount);
    },
    ask: async (status: number, method: 'POST' | 'PATCH' | 'DELETE', path: string, body?: unknown) =>
      void (await askPatiently(client, status, method, path, body, asAccount)),
    /** Gives up after a while. */
    async untilEnded(): Promise<void> {
      const read = async () =>
        await Promise.all(
          [...webhookIds].map(([name, webhookId]) => readRecorded(client, name, webhookId, asAccount)),
        );
      await readEnded(async () => (await read()).flat(), ENDS_WITHIN_MS);
    },
    close: async () => void (await askPatiently(client, 202, 'DELETE', `/v1/accounts/${id}`)),
  };
}

type Account = Awaited<ReturnType<typeof openAccount>>;

/** The names of webhooks, and what is confirmed while a delivery to each waits. */
const STOPS: Readonly<Record<string, (account: Account) => Promise<void>>> = {
  disabled: ({ ask, webhookId }) => ask(200, 'POST', `/v1/webhooks/${webhookId('disabled')}/disable`),
  deleted: ({ ask, webhookId }) => ask(204, 'DELETE', `/v1/webhooks/${webhookId('deleted')}`),
  moved: ({ ask, webhookId }) =>
    ask(200, 'PATCH', `/v1/webhooks/${webhookId('moved')}`, { url: 'http://127.0.0.1:65535/elsewhere' }),
  erased: ({ ask, id }) => ask(204, 'DELETE', `/v1/events/${id}/payload`),
  ended: ({ close: end }) => end(),
};

async function eraseWhileWaiting(scene: FaultScene): Promise<Strike> {
  const receiver = await WaitingReceiver.start(LONG_TOKEN_S);
  const stops = await Promise.all(
    // In an account of its own, so that each stops one alone.
    Object.entries(STOPS).map(async ([name, stop]) => {
      const account = await openAccount(scene, receiver, [name]);
      return { name, account, stop: () => stop(account), confirmedAt: 0 };
    }),
  );
  receiver.hold();
  await Promise.all(stops.map(({ account }) => account.publish(account.id)));
  await until(async () => (receiver.waiting >= stops.length ? true : undefined));
  const strike = await during('deliveries that wait', async () => {
    await Promise.all(
      stops.map(async (each) => {
        await each.stop();
        each.confirmedAt = Date.now();
      }),
    );
    await wait(HELD_ON_MS);
    receiver.release();
  });
  scene.checkLater(async () => {
    await Promise.all(stops.filter(({ name }) => name !== 'ended').map(({ account }) => account.close()));
    await receiver.close();
    const late = stops.flatMap(({ name, confirmedAt }) =>
      receiver.arrivals
        .filter((arrival) => arrival.name === name)
        .map(({ arrivedAt }) => ({ name, lateMs: arrivedAt - confirmedAt }))
        .filter(({ lateMs }) => lateMs > BEGINS_WITHIN_MS + UNDER_WAY_MS),
    );
    return toFindings(
      'sent after it was confirmed that nothing will be',
      late.map(({ name, lateMs }) => `${name}: ${lateMs} ms later`),
    );
  });
  return strike;
}

async function tokenSlow(scene: FaultScene): Promise<Strike> {
  const { random } = scene;
  const receiver = await WaitingReceiver.start(SHORT_TOKEN_S, () => random.between(0, SLOW_MS));
  const account = await openAccount(scene, receiver, ['slow']);
  const ids = Array.from({ length: SLOW_EVENTS }, (_, i) => `${account.id}-${i}`);
  const strike = await during('the token URL', async () => {
    for (const id of ids) {
      await account.publish(id);
      await wait(random.between(0, 500));
    }
    // What has not ended when the next fault hits it may be sent again.
    await account.untilEnded();
  });
  scene.checkLater(async () => {
    const findings = [
      ...(await sentOnce(
        receiver,
        ids.map((id) => `slow ${id}`),
      )),
      ...toFindings(
        'an access token was used after its end',
        receiver.arrivals
          .filter(({ expiredForMs }) => expiredForMs > UNDER_WAY_MS)
          .map(({ eventId, expiredForMs }) => `${eventId}: ${expiredForMs} ms later`),
      ),
    ];
    await close(receiver, account);
    return findings;
  });
  return strike;
}

async function pauseMachine(scene: FaultScene): Promise<Strike> {
  const { service, random, checkLater } = scene;
  const victim = random.pick(service.workers);
  const receiver = await WaitingReceiver.start(LONG_TOKEN_S);
  const names = Array.from({ length: PAUSED_WEBHOOKS }, (_, i) => `paused-${i}`);
  const account = await openAccount(scene, receiver, names);
  const pairs = names.map((name) => `${name} ${account.id}`);
  await victim.tamper({ stopsClocks: true });
  await wait(TAMPERED_WITHIN_MS);
  receiver.hold();
  await account.publish(account.id);
  await until(async () => (receiver.waiting >= PAUSED_WEBHOOKS ? true : undefined));
  const strike = await during(victim.name, async () => {
    victim.freeze();
    receiver.release();
    await untilArrived(receiver, pairs);
    victim.thaw();
  });
  await account.untilEnded();
  await wait(TAMPERED_WITHIN_MS);
  await victim.tamper({ stopsClocks: false, clockMs: 0 });
  checkLater(async () => {
    const findings = await sentOnce(receiver, pairs);
    await close(receiver, account);
    return findings;
  });
  return strike;
}

async function close(receiver: WaitingReceiver, account: Account): Promise<void> {
  await account.close();
  await receiver.close();
}

const pairsOf = ({ arrivals }: WaitingReceiver) => arrivals.map(({ name, eventId }) => `${name} ${eventId}`);

/** Gives up after a while: what is missing then is a finding of the check. */
async function untilArrived(receiver: WaitingReceiver, pairs: readonly string[]): Promise<void> {
  const giveUpAt = Date.now() + ENDS_WITHIN_MS;
  await until(async () => {
    const arrived = new Set(pairsOf(receiver));
    return pairs.every((pair) => arrived.has(pair)) || Date.now() > giveUpAt ? true : undefined;
  });
}

async function sentOnce(receiver: WaitingReceiver, pairs: readonly string[]): Promise<readonly Finding[]> {
  await untilArrived(receiver, pairs);
  const arrived = pairsOf(receiver);
  const times = (pair: string) => arrived.filter((each) => each === pair).length;
  return [
    ...toFindings(
      'acknowledged and lost',
      pairs.filter((pair) => times(pair) === 0),
    ),
    ...toFindings(
      'sent again after it had waited',
      pairs.filter((pair) => times(pair) > 1),
    ),
  ];
}
