import { HistoryWriter } from '@hookferry/core/history/database/pg-history-writer';
import { systemClock } from '@hookferry/core/platform/clock';
import { buildMovedEvent } from '@hookferry/core/testing/build-moved-event';
import { hasPostgres, NO_POSTGRES } from '@hookferry/core/testing/postgres-server';
import { openTestHistory, type TestHistory } from '@hookferry/core/testing/test-history';
import { blocksOf, readPage } from './read-page';

if (!hasPostgres) console.warn(`SKIPPED: the SQL of the page about the history, because ${NO_POSTGRES}.`);
const describePostgres = hasPostgres ? describe : describe.skip;

describePostgres("the history's page", () => {
  let history: TestHistory;
  beforeAll(async () => {
    history = await openTestHistory();
  });
  afterAll(() => history.close());

  it('shows queries that the tables serve, and how a day is split by account', async () => {
    const { server, database } = history;
    const [queries = '', search = '', splitting = ''] = blocksOf(await readPage('history.md'), 'sql');
    const each = queries.split(';').filter((query) => query.trim() !== '');
    expect(each).toHaveLength(5);
    for (const query of [...each, search]) await server.query(query);

    // Whoever runs it again changes nothing.
    for (let times = 0; times < 2; times += 1) await server.query(splitting);
    const event = buildMovedEvent({ createdAt: Date.UTC(2030, 11, 1, 12), keepDays: 90 });
    const writer = new HistoryWriter(database, systemClock);
    expect(await writer.write([event], Number.POSITIVE_INFINITY)).toEqual({ kind: 'written' });
    const parts = await server.query<{ name: string }>(
      'SELECT tableoid::regclass::text AS name FROM webhook_events',
    );
    expect(parts).toEqual([{ name: expect.stringMatching(/^webhook_events_k90_20301201_[0-3]$/) }]);
  });
});
