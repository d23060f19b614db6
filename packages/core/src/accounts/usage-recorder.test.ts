import type { AccountId } from '../model/event';
import { lapseOf, type UsageChange } from '../model/usage';
import { recordSignals } from '../testing/record-signals';
import { uniqueAccountId } from '../testing/unique-ids';
import { UsageRecorder } from './usage-recorder';

const KEPT_MS = 3_200;

function build() {
  const counted: { accountId: AccountId; changes: readonly UsageChange[] }[] = [];
  const signals = recordSignals();
  let isAway = false;
  const recorder = new UsageRecorder({
    usageStore: {
      async count(accountId, changes) {
        if (isAway) throw new Error('no Redis');
        counted.push({ accountId, changes });
      },
    },
    clock: () => 0,
    emit: signals.listen,
  });
  return { recorder, counted, signals, setAway: (to: boolean) => void (isAway = to) };
}

it('writes all that an account has stored with one command', async () => {
  const { recorder, counted } = build();
  const [one, other] = [uniqueAccountId(), uniqueAccountId()];
  for (let i = 0; i < 100; i += 1) recorder.note(one, 'deliveries', 10, 1_000, KEPT_MS);
  recorder.note(one, 'answers', 7, 1_000, KEPT_MS);
  recorder.note(other, 'deliveries', -5, 1_000, KEPT_MS);
  await recorder.stop();
  const lapsesAt = lapseOf(1_000, KEPT_MS);
  expect(counted).toEqual([
    {
      accountId: one,
      changes: [
        { kind: 'deliveries', bytes: 1_000, lapsesAt },
        { kind: 'answers', bytes: 7, lapsesAt },
      ],
    },
    { accountId: other, changes: [{ kind: 'deliveries', bytes: -5, lapsesAt }] },
  ]);
});

it('keeps what can not be written for the next time', async () => {
  const { recorder, counted, signals, setAway } = build();
  const accountId = uniqueAccountId();
  setAway(true);
  recorder.note(accountId, 'events', 3, 0, KEPT_MS);
  await recorder.flush();
  expect(signals.named('task.failed')).toMatchObject([{ task: 'count usage' }]);
  setAway(false);
  recorder.note(accountId, 'events', 4, 0, KEPT_MS);
  await recorder.stop();
  expect(counted).toMatchObject([{ accountId, changes: [{ kind: 'events', bytes: 7 }] }]);
});
