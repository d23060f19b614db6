import { EVENT_TYPE, micros } from '../traffic/events';
import { DAY_MS, yesterday } from './move-all';
import { ACCOUNT, type HistoryStage, say } from './stage';

export interface ReplayFigures {
  /** From the request to the first delivery, in milliseconds. */
  readonly beginsAfterMs: number;
  /** Deliveries a second, from the first to the last one. */
  readonly perSecond: number;
}

const STREAM = 'replayed';
// The most that may be asked for.
const RATE = 1_000;
const LIMIT_MS = 1_200_000;

/**
 * Send events of yesterday to a new webhook.
 *
 * @param ofDay how many there are on that day.
 * @param wished how many of them are sent: those that were accepted first.
 */
export async function measureReplay(
  { service, receiver }: HistoryStage,
  ofDay: number,
  wished: number,
): Promise<ReplayFigures> {
  const webhookId = await service.register(ACCOUNT, receiver.urlOf('ok', STREAM), EVENT_TYPE);
  const since = yesterday();
  const until = new Date(since + Math.floor((wished / ofDay) * DAY_MS)).toISOString();
  const order = { since: new Date(since).toISOString(), until, mode: 'all', rate: RATE };
  const askedAt = micros();
  await service.ask(ACCOUNT, 'POST', `/v1/webhooks/${webhookId}/replays`, order);
  // The last one or two may be of the next millisecond.
  const expected = wished - 2;
  if (!(await receiver.waitFor(STREAM, expected, LIMIT_MS)))
    throw new Error(`Of a replay of ${wished} events only ${await receiver.count(STREAM)} came.`);
  const { at } = await receiver.list(STREAM);
  const [first = 0, last = 0] = [at[0], at.at(-1)];
  say(`a replay of ${at.length} is over`);
  return { beginsAfterMs: (first - askedAt) / 1_000, perSecond: (at.length * 1_000_000) / (last - first) };
}
