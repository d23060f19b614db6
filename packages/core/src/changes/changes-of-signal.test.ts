import { signalSamples } from '../testing/signal-samples';
import { uniqueEndpointId } from '../testing/unique-ids';
import { changeSchema } from './change';
import { changesOf, isTold, MOST_OF_ONE_EVENT } from './changes-of-signal';

const NOW = 1_700_000_000_000;
const told = Object.values(signalSamples).filter(isTold);
const attempted = signalSamples['delivery.attempted'];
const fannedOut = signalSamples['event.fanned_out'];

it.each(told.map((signal) => [signal.name, signal] as const))(
  'tells of %s what can be read again',
  (_name, signal) => {
    const changes = changesOf(signal, NOW);
    expect(changes).toHaveLength(1);
    for (const change of changes)
      expect(changeSchema.parse(JSON.parse(JSON.stringify(change)))).toEqual(change);
  },
);

it('tells nothing of what is no change of what an account has', () => {
  expect(isTold(signalSamples['request.completed'])).toBe(false);
});

it('says of a failed attempt when the next one is due', () => {
  const failed = {
    ...attempted,
    outcome: 'http_5xx',
    responseStatus: 503,
    nextDelayMs: 5_000,
    attempt: 2,
  } as const;
  expect(changesOf(failed, NOW)).toMatchObject([
    {
      change: 'attempted',
      delivery: {
        status: 'pending',
        attemptCount: 2,
        lastOutcome: 'http_5xx',
        lastResponseStatus: 503,
        nextAttemptAt: NOW + 5_000,
      },
    },
  ]);
});

it('leaves it to what follows what became of the delivery otherwise', () => {
  expect(changesOf(attempted, NOW)).toMatchObject([{ delivery: { lastOutcome: 'delivered' } }]);
  expect(changesOf(attempted, NOW)).not.toMatchObject([{ delivery: { status: expect.anything() } }]);
});

it('tells of each delivery of an event, unless there are too many', () => {
  const receivers = Array.from({ length: MOST_OF_ONE_EVENT }, () => ({ id: uniqueEndpointId() }));
  expect(changesOf({ ...fannedOut, receivers }, NOW)).toHaveLength(MOST_OF_ONE_EVENT);
  const tooMany = [...receivers, { id: uniqueEndpointId() }];
  expect(changesOf({ ...fannedOut, receivers: tooMany }, NOW)).toBe('too_many');
});
