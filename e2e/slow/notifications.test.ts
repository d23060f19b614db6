import { type ReceivedMail, startSmtpServer, type TestSmtpServer } from '@hookferry/core/testing/smtp-server';
import { Receiver } from '../support/receiver';
import { RedisServer } from '../support/redis-server';
import { QUICK_WIN } from '../support/samples';
import { Stack } from '../support/stack';
import { until } from '../support/until';

const MARKED = 'marked-secret';
const PUBLIC_URL = 'https://hooks.example.com';

let smtp: TestSmtpServer;
let redis: RedisServer;
let stack: Stack;
let failing: Receiver;
let told: Receiver;

beforeAll(async () => {
  smtp = await startSmtpServer();
  redis = await RedisServer.start();
  failing = await Receiver.start(() => ({ status: 500, headers: { 'x-marked': MARKED }, body: MARKED }));
  told = await Receiver.start();
  stack = await Stack.start({
    redisUrl: redis.url,
    environment: {
      PUBLIC_URL,
      SMTP_URL: smtp.url,
      MAIL_FROM: 'Hooks <hooks@example.com>',
      NOTIFY_FAILING_AFTER: '1s',
      RETRY_SCHEDULE: Array.from({ length: 20 }, () => '1s').join(','),
    },
  });
});
afterAll(async () => {
  await Promise.all([failing.stop(), told.stop()]);
  await stack.stop();
  await redis.remove();
  await smtp.close();
});

const textOf = ({ raw }: ReceivedMail) => raw.replace(/=\r\n/g, '').replaceAll('=3D', '=');
const messageIdOf = ({ raw }: ReceivedMail) => /^Message-ID: (.*)$/im.exec(raw)?.[1];

async function mailsAbout(subject: string, count = 1): Promise<readonly ReceivedMail[]> {
  return await until(async () => {
    const found = smtp.mails.filter(({ raw }) => raw.includes(`Subject: ${subject}`));
    return found.length >= count ? found : undefined;
  });
}

/** Press the button behind a link of a message. */
async function follow(text: string, purpose: 'confirm' | 'unsubscribe'): Promise<void> {
  const path = new RegExp(`${PUBLIC_URL}(/contacts/[\\w-]+/${purpose})`).exec(text)?.[1];
  const response = await fetch(`${stack.client.baseUrl}${path}`, { method: 'POST' });
  expect([response.status, response.redirected]).toEqual([200, false]);
}

async function notificationsOf(query: string) {
  type Page = { data: readonly { id: string; status: string; error: string | null; topic: string }[] };
  const path = `/v1/notifications?limit=200&${query}`;
  return (await stack.client.expect<Page>(200, 'GET', path)).body.data;
}

it('tells of a webhook that fails, whatever is killed on the way, and nothing of what it was sent', async () => {
  const { client } = stack;
  await client.expect(201, 'POST', '/v1/contacts', { type: 'email', address: 'ops@example.com' });
  await client.expect(201, 'POST', '/v1/contacts', { type: 'webhook', url: `${told.url}?key=${MARKED}` });
  const [question] = await mailsAbout('Confirm');
  await follow(textOf(question as ReceivedMail), 'confirm');
  await told.waitFor(1);
  await follow(String(told.requests[0]?.body), 'unsubscribe');

  // The look that finds what is so already.
  await until(async () => ((await redisHas('begun')) ? true : undefined));
  const { body } = await client.expect<{ id: string }>(201, 'POST', '/v1/webhooks', {
    url: `${failing.url}/${MARKED}?key=${MARKED}`,
    events: ['*'],
    headers: { 'x-marked': MARKED },
    metadata: { marked: MARKED },
  });
  for (let each = 0; each < 12; each++) {
    await client.publish(QUICK_WIN.type, { ...QUICK_WIN.data, keyword: MARKED });
  }

  // The server has the mail, and the worker dies before it knows.
  smtp.answerAfter(new Promise(() => {}));
  const [first] = await mailsAbout('127.0.0.1');
  await stack.workers[0]?.end('SIGKILL');
  smtp.answerAfter(Promise.resolve());
  await redis.kill();
  await redis.start();
  await stack.startWorker();
  const [, second] = await mailsAbout('127.0.0.1', 2);
  expect(messageIdOf(second as ReceivedMail)).toBe(messageIdOf(first as ReceivedMail));
  expect(textOf(second as ReceivedMail)).toContain(`${PUBLIC_URL}/portal/webhooks/${body.id}`);
  await until(async () =>
    (await notificationsOf('topic=failing&status=sent')).length === 1 ? true : undefined,
  );

  await follow(textOf(second as ReceivedMail), 'unsubscribe');
  const { data } = (await client.expect<{ data: { status: string }[] }>(200, 'GET', '/v1/contacts')).body;
  expect(data.map(({ status }) => status)).toEqual(['unsubscribed', 'unsubscribed']);
  const messages = [...smtp.mails.map(textOf), ...told.requests.map((request) => String(request.body))];
  expect(messages.length).toBeGreaterThan(3);
  expect(JSON.stringify([messages, await notificationsOf('')])).not.toContain(MARKED);
  for (const worker of stack.workers) expect(worker.output).not.toContain(MARKED);
}, 300_000);

it('sends nothing to an address that deliveries may not go to, whenever that was decided', async () => {
  const before = told.requests.length;
  await stack.stopWorkers();
  await stack.client.expect(201, 'POST', '/v1/contacts', { type: 'webhook', url: told.url });
  await stack.startWorker({ DELIVERY_ALLOWED_CIDRS: '' });
  const refused = await until(async () => {
    const pending = await notificationsOf('topic=confirmation&status=pending');
    return pending.find(({ error }) => error !== null);
  });
  expect(refused.error).toBe('blocked_address');
  expect(told.requests).toHaveLength(before);
});

async function redisHas(field: string): Promise<boolean> {
  const [key = ''] = await stack.redis.client.keys('told:*');
  return (await stack.redis.client.hexists(key, field)) === 1;
}
