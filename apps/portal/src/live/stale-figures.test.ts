import { QueryClient, QueryObserver } from '@tanstack/react-query';
import { queryKeys } from '../api/query-keys';
import { StaleFigures } from './stale-figures';

const PAUSE_MS = 1_000;

let queries: QueryClient;
let figures: StaleFigures;
let stopWatching: (() => void)[];

beforeEach(() => {
  jest.useFakeTimers();
  queries = new QueryClient({ defaultOptions: { queries: { staleTime: Number.POSITIVE_INFINITY } } });
  figures = new StaleFigures(queries);
  stopWatching = [];
});

afterEach(() => {
  figures.stop();
  for (const stop of stopWatching) stop();
  queries.clear();
  jest.useRealTimers();
});

/** A query that is on the page; counts how often it was read after that. */
function show(key: readonly unknown[], read: () => Promise<string> = async () => 'read') {
  queries.setQueryData(key, 'shown');
  const queryFn = jest.fn(read);
  stopWatching.push(new QueryObserver(queries, { queryKey: key, queryFn }).subscribe(() => undefined));
  return queryFn;
}

const note = (event: string, webhook: string) =>
  figures.note({ id: `${event}.${webhook}`, event_id: event, webhook_id: webhook });

describe('StaleFigures', () => {
  it('reads what a delivery counts for, and nothing else, and none that is not on the page', async () => {
    const shown = [
      queryKeys.listedWebhooks({ search: 'shop', order: 'newest', show: 'all' }),
      queryKeys.webhook('wh_1'),
      [...queryKeys.event('evt_1'), 'text'],
      queryKeys.webhook('wh_2'),
      queryKeys.event('evt_2'),
      queryKeys.eventTypes(),
    ].map((key) => show(key));
    queries.setQueryData(queryKeys.event('evt_1'), 'not shown');
    note('evt_1', 'wh_1');
    await jest.advanceTimersByTimeAsync(PAUSE_MS);
    expect(shown.map((read) => read.mock.calls.length)).toEqual([1, 1, 1, 0, 0, 0]);
    expect(queries.getQueryState(queryKeys.event('evt_1'))).toMatchObject({
      isInvalidated: true,
      fetchStatus: 'idle',
    });
  });

  it('reads once a second in a burst, and once more after the last change has settled', async () => {
    const times: number[] = [];
    show(queryKeys.webhook('wh_1'), async () => {
      times.push(Date.now());
      return 'read';
    });
    let lastChange = 0;
    for (let i = 0; i < 275; i += 1) {
      lastChange = Date.now();
      note(`evt_${i}`, 'wh_1');
      await jest.advanceTimersByTimeAsync(10);
    }
    await jest.advanceTimersByTimeAsync(10 * PAUSE_MS);
    const pauses = times.slice(1).map((time, index) => time - (times[index] ?? 0));
    expect(pauses).toEqual([PAUSE_MS, PAUSE_MS, PAUSE_MS]);
    expect((times.at(-2) ?? 0) - lastChange).toBeLessThanOrEqual(PAUSE_MS);
    expect((times.at(-1) ?? 0) - lastChange).toBeGreaterThanOrEqual(PAUSE_MS);
  });

  it('reads again what has changed while a slow response was on its way, and does not give that up', async () => {
    let respond: (text: string) => void = () => undefined;
    const read = show(
      queryKeys.webhook('wh_1'),
      async () =>
        await new Promise((resolve) => {
          respond = resolve;
        }),
    );
    note('evt_1', 'wh_1');
    await jest.advanceTimersByTimeAsync(PAUSE_MS);
    note('evt_2', 'wh_1');
    await jest.advanceTimersByTimeAsync(5 * PAUSE_MS);
    expect(read).toHaveBeenCalledTimes(1);
    respond('slow');
    await jest.advanceTimersByTimeAsync(PAUSE_MS);
    expect(queries.getQueryData(queryKeys.webhook('wh_1'))).toBe('slow');
    expect(read).toHaveBeenCalledTimes(2);
  });

  it('asks for nothing once it is stopped', async () => {
    const read = show(queryKeys.webhook('wh_1'));
    note('evt_1', 'wh_1');
    figures.stop();
    note('evt_2', 'wh_1');
    await jest.advanceTimersByTimeAsync(5 * PAUSE_MS);
    expect(read).not.toHaveBeenCalled();
  });
});
