import { recordSignals } from '../testing/record-signals';
import { type RedisProxy, startRedisProxy } from '../testing/redis-proxy';
import { openTestRedis, type TestRedis } from '../testing/test-redis';
import { RedisMailbox } from './redis-mailbox';

let redis: TestRedis;
let proxy: RedisProxy;
beforeAll(async () => {
  redis = await openTestRedis();
  proxy = await startRedisProxy(redis.url);
});
afterAll(async () => {
  await proxy.close();
  await redis.close();
});

const open: RedisMailbox[] = [];
afterEach(() => Promise.all(open.splice(0).map((mailbox) => mailbox.close())));

function openMailbox() {
  const emit = recordSignals().listen;
  const mailbox = new RedisMailbox({
    redis: redis.client,
    connection: { url: proxy.url, role: 'answering', name: 'test', silenceMs: 3_000, emit },
    emit,
  });
  open.push(mailbox);
  const received: string[] = [];
  let wake = () => {};
  mailbox.deliverTo((message) => {
    received.push(message);
    wake();
  });
  return {
    mailbox,
    async received(count: number) {
      while (received.length < count) await new Promise<void>((resolve) => (wake = resolve));
      return received;
    },
  };
}

it('gets what others write, in their order, also what came before it began to read', async () => {
  const [one, other] = [openMailbox(), openMailbox()];
  await other.mailbox.post(one.mailbox.address, 'early');
  one.mailbox.expect();
  for (const text of ['a', 'b', 'c']) await other.mailbox.post(one.mailbox.address, text);
  expect(await one.received(4)).toEqual(['early', 'a', 'b', 'c']);
});

it('goes on when Redis was silent for longer than it waits', async () => {
  const { mailbox, received } = openMailbox();
  mailbox.expect();
  await mailbox.post(mailbox.address, 'before');
  await received(1);
  proxy.freeze();
  await mailbox.post(mailbox.address, 'while away');
  proxy.thaw();
  expect(await received(2)).toEqual(['before', 'while away']);
});

it('leaves no message to a process that is gone behind for ever', async () => {
  const { mailbox } = openMailbox();
  await mailbox.post('nobody', 'hello');
  expect(await redis.client.pttl('mailbox:{nobody}')).toBeGreaterThan(0);
});
