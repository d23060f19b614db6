import type { EndpointId } from '../../domain/endpoint';
import { buildFailedAttempt } from '../../testing/build-attempt';
import { fake } from '../../testing/fake';
import { recordSignals } from '../../testing/record-signals';
import { uniqueEndpointId } from '../../testing/unique-ids';
import { type AttemptTally, countDuration, hourOf } from './attempt-tally';
import { HealthRecorder } from './health-recorder';
import type { AddedTally, HealthStore } from './redis-health-store';

const NOW = 1_700_000_000_000;

/** A recorder over a store that remembers, and answers as it is told to. */
function arrange() {
  const signals = recordSignals();
  const written: [EndpointId, AttemptTally][] = [];
  const limits = new Map<EndpointId, number>();
  const said: (number | undefined)[] = [];
  const calls: number[] = [];
  let answer: (added: AddedTally) => Promise<void> = async () => {};
  const recorder = new HealthRecorder({
    healthStore: fake<HealthStore>({
      async addAll(some) {
        calls.push(some.length);
        const notAdded = await Promise.all(
          some.map(async (added) => {
            try {
              await answer(added);
            } catch (error) {
              return [{ added, error }];
            }
            written.push([added.endpointId, added.tally]);
            said.push(added.limit);
            return [];
          }),
        );
        return notAdded.flat();
      },
    }),
    workerId: 'f00d42',
    limitOf: (id) => limits.get(id),
    clock: () => NOW,
    emit: signals.listen,
  });
  return {
    recorder,
    written,
    limits,
    said,
    calls,
    signals,
    answerWith(next: (added: AddedTally) => Promise<void>) {
      answer = next;
    },
  };
}

const DURATION_MS = 40;
const delivered = { at: NOW, durationMs: DURATION_MS };
const failed = { ...delivered, failed: buildFailedAttempt() };

function durationsOf(count: number) {
  return countDuration(DURATION_MS).map((one) => one * count);
}

function tally(successes: number, failures: number) {
  return {
    hours: [{ hour: hourOf(NOW), successes, failures, durations: durationsOf(successes + failures) }],
    lastSuccessAt: successes === 0 ? undefined : NOW,
    lastFailure: failures === 0 ? undefined : { at: NOW, attempt: failed.failed },
  };
}

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

describe('HealthRecorder', () => {
  it('writes what has added up within a second, once for each endpoint, and many of them together', async () => {
    const { recorder, written, calls } = arrange();
    const [id, other] = [uniqueEndpointId(), uniqueEndpointId()];
    for (let i = 0; i < 100; i += 1) recorder.record(id, i % 4 === 0 ? failed : delivered);
    recorder.record(other, failed);
    expect(written).toEqual([]);
    await jest.advanceTimersByTimeAsync(1_000);
    expect(written).toEqual([
      [other, tally(0, 1)],
      [id, tally(75, 25)],
    ]);
    expect(calls).toEqual([2]);
  });

  it('writes only those again that could not be written', async () => {
    const { recorder, written, signals, answerWith } = arrange();
    const [good, bad] = [uniqueEndpointId(), uniqueEndpointId()];
    answerWith(async ({ endpointId }) => {
      if (endpointId === bad) throw new Error('no luck');
    });
    for (const id of [good, bad]) recorder.record(id, delivered);
    await jest.advanceTimersByTimeAsync(1_000);
    expect(written).toEqual([[good, tally(1, 0)]]);
    expect(signals.named('task.failed')).toHaveLength(1);
    answerWith(async () => {});
    await jest.advanceTimersByTimeAsync(1_000);
    expect(written).toEqual([
      [good, tally(1, 0)],
      [bad, tally(1, 0)],
    ]);
  });

  it('says the limit of each endpoint as it is when it writes, where that is known', async () => {
    const { recorder, limits, said } = arrange();
    const id = uniqueEndpointId();
    recorder.record(id, delivered);
    limits.set(id, 4);
    recorder.record(id, delivered);
    limits.set(id, 8);
    await recorder.flush();
    recorder.record(uniqueEndpointId(), delivered);
    await recorder.flush();
    expect(said).toEqual([8, undefined]);
    await recorder.stop();
  });

  it('does nothing as long as nothing happens', async () => {
    const { recorder, written } = arrange();
    recorder.record(uniqueEndpointId(), delivered);
    await jest.advanceTimersByTimeAsync(1_000);
    expect(written).toHaveLength(1);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('keeps what could not be written, says so, and writes it with what came since', async () => {
    const { recorder, written, signals, answerWith } = arrange();
    const id = uniqueEndpointId();
    answerWith(async () => {
      throw new Error('no luck');
    });
    recorder.record(id, delivered);
    await jest.advanceTimersByTimeAsync(1_000);
    expect(written).toEqual([]);
    expect(signals.named('task.failed')).toMatchObject([{ task: 'store the health of webhooks' }]);

    answerWith(async () => {});
    recorder.record(id, failed);
    await jest.advanceTimersByTimeAsync(1_000);
    expect(written).toEqual([[id, tally(1, 1)]]);
  });

  it('adds up while an answer is outstanding, and asks nothing more before it came', async () => {
    const { recorder, written, answerWith } = arrange();
    const id = uniqueEndpointId();
    const asked = jest.fn();
    let answerNow = () => {};
    answerWith(() => {
      asked();
      return new Promise((resolve) => {
        answerNow = resolve;
      });
    });
    recorder.record(id, delivered);
    await jest.advanceTimersByTimeAsync(1_000);
    recorder.record(id, failed);
    recorder.record(id, failed);
    await jest.advanceTimersByTimeAsync(60_000);
    expect(asked).toHaveBeenCalledTimes(1);

    answerWith(async () => {});
    answerNow();
    await jest.advanceTimersByTimeAsync(1_000);
    expect(written).toEqual([
      [id, tally(1, 0)],
      [id, tally(0, 2)],
    ]);
  });

  it('writes what it has when it is stopped, and leaves no timer behind', async () => {
    const { recorder, written } = arrange();
    recorder.record(uniqueEndpointId(), delivered);
    await recorder.stop();
    expect(written).toHaveLength(1);
    expect(jest.getTimerCount()).toBe(0);
    await recorder.stop();
  });

  it('holds up no stop for a store that does not answer', async () => {
    const { recorder, answerWith } = arrange();
    answerWith(() => new Promise(() => {}));
    recorder.record(uniqueEndpointId(), delivered);
    const stopped = recorder.stop();
    await jest.advanceTimersByTimeAsync(2_000);
    await stopped;
    expect(jest.getTimerCount()).toBe(0);
  });
});
