import { micros } from '../traffic/events';
import { ACCOUNT, DAY_MS, type HistoryStage, say, yesterday } from './stage';

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
  const webhookId = await service.register(ACCOUNT, receiver.urlOf('ok', STREAM));
  const since = yesterday();
  const until = new Date(since + Math.floor((wished / ofDay) * DAY_MS)).toISOString();
  const order = { since: new Date(since).toISOString(), until, mode: 'all', rate: RATE };
  const askedAt = micros();
  await service.ask(ACCOUNT, 'POST', `/v1/webhooks/${webhookId}/replays`, order);
  // The last one or two may be of the next millisecond.
  await receiver.waitForAll(STREAM, wished - 2, LIMIT_MS);
  const { at } = await receiver.ask('list', STREAM);
  const [first = 0, last = 0] = [at[0], at.at(-1)];
  say(`a replay of ${at.length} is over`);
  return { beginsAfterMs: (first - askedAt) / 1_000, perSecond: (at.length * 1_000_000) / (last - first) };
}
