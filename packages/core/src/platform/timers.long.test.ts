import { setTimeout as passed } from 'node:timers/promises';
import { createKeepFor, Repetition, stopInOrder, WakeUpTimer } from './timers';

describe('repeat until done', () => {
  beforeEach(() => jest.useFakeTimers({ now: 0 }));
  afterEach(() => jest.useRealTimers());

  /** An action that fails a number of times, and when it was tried. */
  function buildAction(failures: number) {
    const triedAt: number[] = [];
    return {
      triedAt,
      async action() {
        triedAt.push(Date.now());
        if (triedAt.length <= failures) throw new Error('not yet');
      },
    };
  }

  function start(action: () => Promise<void>): Repetition {
    const repetition = new Repetition(action);
    void repetition.start();
    return repetition;
  }

  describe('Repetition', () => {
    it('tries at once, and not again after it went well', async () => {
      const { action, triedAt } = buildAction(0);
      const repetition = start(action);
      await jest.advanceTimersByTimeAsync(60_000);
      expect(triedAt).toEqual([0]);
      expect(repetition.isDone).toBe(true);
    });

    it('is not done for as long as the action fails', async () => {
      const { action } = buildAction(1);
      const repetition = start(action);
      await jest.advanceTimersByTimeAsync(99);
      expect(repetition.isDone).toBe(false);
      await jest.advanceTimersByTimeAsync(1);
      expect(repetition.isDone).toBe(true);
    });

    it('tries again at intervals that double up to two seconds', async () => {
      const { action, triedAt } = buildAction(7);
      start(action);
      await jest.advanceTimersByTimeAsync(60_000);
      expect(triedAt).toEqual([0, 100, 300, 700, 1_500, 3_100, 5_100, 7_100]);
    });

    it('tries no more once it is stopped', async () => {
      const { action, triedAt } = buildAction(Number.POSITIVE_INFINITY);
      const repetition = start(action);
      await jest.advanceTimersByTimeAsync(100);
      void repetition.stop();
      await jest.advanceTimersByTimeAsync(60_000);
      expect(triedAt).toEqual([0, 100]);
    });

    it('tries no more when it is stopped in the middle of an attempt that then fails', async () => {
      const { action, triedAt } = buildAction(Number.POSITIVE_INFINITY);
      const repetition = start(action);
      void repetition.stop();
      await jest.advanceTimersByTimeAsync(60_000);
      expect(triedAt).toEqual([0]);
    });
  });
});

describe('keep for', () => {
  function arrange() {
    let now = 0;
    let reads = 0;
    let fault: Error | undefined;
    const read = async () => {
      reads += 1;
      if (fault) throw fault;
      return reads;
    };
    const current = createKeepFor(1_000, read, () => now);
    return {
      current,
      wait: (ms: number) => (now += ms),
      failWith: (error: Error | undefined) => {
        fault = error;
      },
    };
  }

  it('reads once for all callers while it is good, and again afterwards', async () => {
    const { current, wait } = arrange();
    expect(await Promise.all([current(), current()])).toEqual([1, 1]);
    wait(999);
    expect(await current()).toBe(1);
    wait(1);
    expect(await current()).toBe(2);
  });

  it('does not keep what could not be read', async () => {
    const { current, failWith } = arrange();
    failWith(new Error('no luck'));
    await expect(Promise.all([current(), current()])).rejects.toThrow('no luck');
    failWith(undefined);
    expect(await current()).toBe(2);
  });
});

describe('shutdown', () => {
  describe('stopInOrder', () => {
    it('stops one after the other, and goes on after one that fails', async () => {
      const told: string[] = [];
      const part = (name: string, stop: () => Promise<void>) => ({
        name,
        async stop() {
          told.push(`${name} told`);
          await stop();
          told.push(`${name} stopped`);
        },
      });
      const failure = new Error('in use');
      const failures: [string, unknown][] = [];

      await stopInOrder(
        [
          part('server', async () => {}),
          part('queue', () => Promise.reject(failure)),
          part('connection', async () => {}),
        ],
        (name, error) => failures.push([name, error]),
      );

      expect(told).toEqual([
        'server told',
        'server stopped',
        'queue told',
        'connection told',
        'connection stopped',
      ]);
      expect(failures).toEqual([['queue', failure]]);
    });
  });
});

describe('WakeUpTimer', () => {
  beforeEach(() => jest.useFakeTimers({ now: 0 }));
  afterEach(() => jest.useRealTimers());

  function arrange() {
    const runs: number[] = [];
    const ends: (() => void)[] = [];
    const timer = new WakeUpTimer(async () => {
      runs.push(Date.now());
      await new Promise<void>((resolve) => ends.push(resolve));
    });
    return { timer, runs, end: () => ends.shift()?.() };
  }

  it('runs the work at the earliest wake-up, once', async () => {
    const { timer, runs, end } = arrange();
    timer.wakeUpIn(300);
    timer.wakeUpIn(100);
    timer.wakeUpIn(200);
    await jest.advanceTimersByTimeAsync(100);
    end();
    await jest.advanceTimersByTimeAsync(1_000);
    expect(runs).toEqual([100]);
  });

  it('never runs the work twice at the same time: those who ask during a run share the next one', async () => {
    const { timer, runs, end } = arrange();
    const first = timer.runNow();
    const second = timer.runNow();
    timer.wakeUpIn(10);
    await jest.advanceTimersByTimeAsync(50);
    expect(runs).toEqual([0]);
    end();
    await first;
    await jest.advanceTimersByTimeAsync(0);
    expect(runs).toEqual([0, 50]);
    end();
    await second;
    await jest.advanceTimersByTimeAsync(50);
    expect(runs).toEqual([0, 50]);
    expect(timer.isIdle).toBe(true);
  });

  it('is idle only while no run is under way, and none is to come', async () => {
    const { timer, end } = arrange();
    expect(timer.isIdle).toBe(true);
    timer.wakeUpIn(10);
    expect(timer.isIdle).toBe(false);
    await jest.advanceTimersByTimeAsync(10);
    expect(timer.isIdle).toBe(false);
    end();
    await jest.advanceTimersByTimeAsync(0);
    expect(timer.isIdle).toBe(true);
  });

  it('runs what is left after it was stopped, when it is told to', async () => {
    const { timer, runs, end } = arrange();
    await timer.stop();
    const last = timer.runNow();
    end();
    await last;
    expect(runs).toEqual([0]);
  });

  it('stops when the run under way has ended, and takes no wake-up after that', async () => {
    const { timer, runs, end } = arrange();
    void timer.runNow();
    timer.wakeUpIn(5);
    let hasStopped = false;
    const stopping = timer.stop().then(() => (hasStopped = true));
    await jest.advanceTimersByTimeAsync(50);
    expect(hasStopped).toBe(false);
    end();
    await stopping;
    timer.wakeUpIn(1);
    await jest.advanceTimersByTimeAsync(50);
    expect(runs).toEqual([0]);
  });

  it('runs in about so many seconds, at the same moment as other timers of the process', async () => {
    const [first, second] = [arrange(), arrange()];
    first.timer.wakeUpInAbout(1);
    await jest.advanceTimersByTimeAsync(400);
    second.timer.wakeUpInAbout(2);
    await jest.advanceTimersByTimeAsync(600);
    first.end();
    first.timer.wakeUpInAbout(1);
    await jest.advanceTimersByTimeAsync(1_000);
    expect(first.runs).toEqual([1_000, 2_000]);
    expect(second.runs).toEqual([2_000]);
  });

  it('runs within a time that has no whole second in it by a timer of its own, otherwise together with others', async () => {
    const [first, second] = [arrange(), arrange()];
    first.timer.wakeUpWithin(999);
    second.timer.wakeUpWithin(2_999);
    await jest.advanceTimersByTimeAsync(3_000);
    expect([first.runs, second.runs]).toEqual([[999], [2_000]]);
  });

  it('runs sooner than in about a second when asked to, and then not again', async () => {
    const { timer, runs, end } = arrange();
    timer.wakeUpInAbout(1);
    timer.wakeUpIn(50);
    await jest.advanceTimersByTimeAsync(50);
    end();
    await jest.advanceTimersByTimeAsync(5_000);
    expect(runs).toEqual([50]);
  });

  it('does not run once it was stopped', async () => {
    const { timer, runs } = arrange();
    timer.wakeUpInAbout(1);
    await timer.stop();
    await jest.advanceTimersByTimeAsync(5_000);
    expect(runs).toEqual([]);
    expect(jest.getTimerCount()).toBe(0);
  });
});

it('runs with the first beat after the process stood still, whatever part of the time is left', async () => {
  const order: string[] = [];
  const timer = new WakeUpTimer(async () => void order.push('the work'));
  timer.wakeUpInAbout(4);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3_200);
  await passed(1_500);
  expect(order).toEqual(['the work']);
  await timer.stop();
});
