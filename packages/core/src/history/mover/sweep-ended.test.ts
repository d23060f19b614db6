import { AccountStore } from '../../accounts/redis-account-store';
import type { AccountId } from '../../domain/account';
import { keys } from '../../domain/keys';
import { DELIVERED, EXHAUSTED, FAILED, MovingScene } from '../../testing/moving-scene';
import { uniqueAccountId } from '../../testing/unique-ids';
import { EndedSweep } from './sweep-ended';

let scene: MovingScene;
let accountStore: AccountStore;
let accountId: AccountId;
beforeEach(async () => {
  scene = await MovingScene.open();
  accountStore = new AccountStore(scene.redis.client);
  accountId = await createAccount();
});
afterEach(() => scene.close());

async function createAccount(): Promise<AccountId> {
  const id = uniqueAccountId();
  await accountStore.create({ id, createdAt: scene.now });
  return id;
}

const build = (workerId = 'a') =>
  new EndedSweep({
    ...scene.parts,
    accountStore,
    eventStore: scene.eventStore,
    endedList: scene.endedList,
    workerId,
  });

/** As from before there was a history. */
const forget = () => scene.redis.client.del(keys.ended);

async function readEnded() {
  const { entries } = await scene.endedList.claim(
    Number.POSITIVE_INFINITY,
    1_000,
    scene.now + 30_000,
  )(scene.redis.client);
  return entries.map(({ eventId, endpointId }) => `${eventId}.${endpointId ?? ''}`).toSorted();
}

it('finds what has ended in all accounts, and nothing else', async () => {
  const one = await scene.arrange([[DELIVERED], [EXHAUSTED], [FAILED], []], { accountId });
  const other = await scene.arrange([[DELIVERED]], { accountId: await createAccount() });
  const empty = await scene.arrange([], { accountId });
  await forget();
  expect(await build().runOnce()).toBe(4);
  expect(await readEnded()).toEqual(
    [
      `${one.event.id}.${one.endpointIds[0]}`,
      `${one.event.id}.${one.endpointIds[1]}`,
      `${other.event.id}.${other.endpointIds[0]}`,
      `${empty.event.id}.`,
    ].toSorted(),
  );
});

it('goes through more than a page of events and of receivers', async () => {
  const many = await scene.arrange(
    Array.from({ length: 260 }, () => [DELIVERED]),
    { accountId },
  );
  for (let i = 0; i < 120; i += 1) await scene.arrange([], { accountId });
  await forget();
  expect(await build().runOnce()).toBe(many.endpointIds.length + 120);
});

it('changes nothing of what is in the list', async () => {
  await scene.arrange([[DELIVERED]], { accountId });
  const before = await scene.endedList.oldest();
  scene.now += 1_000;
  await build().runOnce();
  expect([await scene.endedList.count(), await scene.endedList.oldest()]).toEqual([1, before]);
});

it('leaves accounts alone that are erased', async () => {
  await scene.arrange([[DELIVERED]], { accountId });
  await accountStore.markErasing(accountId, scene.now);
  await forget();
  expect(await build().runOnce()).toBe(0);
});

it('is the work of one worker at a time, until that is silent', async () => {
  await scene.arrange([[DELIVERED]], { accountId });
  await forget();
  await scene.endedList.leaseSweep('b', 60_000);
  expect(await build('a').runOnce()).toBe(0);
  await scene.redis.client.del(keys.historySweep);
  expect(await build('a').runOnce()).toBe(1);
});

it('begins by itself, and stops', async () => {
  await scene.arrange([[DELIVERED]], { accountId });
  await forget();
  const sweep = build();
  sweep.start();
  while ((await scene.endedList.count()) === 0);
  await sweep.stop();
  await expect(sweep.stop()).resolves.toBeUndefined();
});
