import { MovingScene } from '../../testing/moving-scene';
import { BATCH, Mover } from './mover';

let scene: MovingScene;
let mover: Mover;
beforeEach(async () => {
  scene = await MovingScene.open();
  mover = new Mover({ ...scene.parts, moveAfterMs: 0 });
});
afterEach(async () => {
  await mover.stop();
  await scene.close();
});

const untilMoved = async (count: number) => {
  let moved = 0;
  for (let seen = 1; moved < count; seen += 1) {
    const signals = await scene.signals.atLeast(seen, 'history.moved');
    moved = signals.reduce((sum, signal) => sum + signal.count, 0);
  }
};

it('moves what has ended as it comes', async () => {
  mover.start();
  await scene.arrange();
  await untilMoved(1);
  await scene.arrange();
  await scene.arrange([]);
  await untilMoved(3);
  expect(await scene.keysLeft()).toEqual([]);
});

it('moves more than a batch at once', async () => {
  const { event } = await scene.arrange([]);
  for (let i = 0; i < BATCH; i += 1) await scene.arrange([], { accountId: event.accountId });
  mover.start();
  await untilMoved(BATCH + 1);
  expect(await scene.endedList.count()).toBe(0);
});

it('says that the history is away, and goes on when it is back', async () => {
  let isAway = true;
  scene.history.onWrite = () => {
    if (isAway) throw new Error('ECONNREFUSED');
  };
  await scene.arrange();
  mover.start();
  expect(await scene.signals.first('history.failed')).toMatchObject({ error: new Error('ECONNREFUSED') });
  isAway = false;
  await untilMoved(1);
});

it('reads nothing while the history is away, once it knows', async () => {
  const away = () => {
    throw new Error('ECONNREFUSED');
  };
  scene.history.onWrite = away;
  scene.history.onPing = away;
  await scene.arrange();
  mover.start();
  await scene.signals.atLeast(3, 'history.failed');
  expect(scene.history.writes).toBe(1);
  scene.history.onWrite = () => {};
  scene.history.onPing = () => {};
  await untilMoved(1);
});

it('stops, and may be stopped again', async () => {
  mover.start();
  await mover.stop();
  await mover.stop();
  await scene.arrange();
  expect(await scene.endedList.count()).toBe(1);
});
