import { AppError } from '../errors/app-error';
import { createNewId } from '../runtime/ids';
import { recordSignals } from '../testing/record-signals';
import { uniqueAccountId } from '../testing/unique-ids';
import { createAcceptEvent } from './accept-event';
import { keywordQuickWin } from './catalogue/keyword-quick-win';
import type { AcceptedEvent } from './event';

const NOW = 1_700_000_000_000;
const { name: type, example: data } = keywordQuickWin;

function build(add: (event: AcceptedEvent) => Promise<void> = async () => {}) {
  const added: AcceptedEvent[] = [];
  const signals = recordSignals();
  const acceptEvent = createAcceptEvent({
    eventQueue: {
      async add(event) {
        await add(event);
        added.push(event);
      },
    },
    newId: createNewId(() => NOW),
    clock: () => NOW,
    emit: signals.listen,
    maxBytes: 1_024,
  });
  return { acceptEvent, added, signals };
}

const input = { accountId: uniqueAccountId(), requestId: 'req_1', type, data };

describe('acceptEvent', () => {
  it('queues the event with its body sealed, and gives the same event', async () => {
    const { acceptEvent, added } = build();
    const event = await acceptEvent(input);
    expect(event).toEqual({
      id: expect.stringMatching(/^evt_[0-9a-z]{22}$/),
      accountId: input.accountId,
      type,
      body: JSON.stringify({ type, data }),
      acceptedAt: NOW,
    });
    expect(added).toEqual([event]);
  });

  it('announces it, without its payload', async () => {
    const { acceptEvent, signals } = build();
    const { id, body } = await acceptEvent(input);
    expect(signals.named('event.accepted')).toEqual([
      {
        name: 'event.accepted',
        source: 'http',
        accountId: input.accountId,
        eventId: id,
        type,
        bytes: body.length,
        requestId: 'req_1',
      },
    ]);
  });

  it('queues and announces nothing that is not valid', async () => {
    const { acceptEvent, added, signals } = build();
    await expect(acceptEvent({ ...input, data: {} })).rejects.toMatchObject({ code: 'invalid_request' });
    expect(added).toEqual([]);
    expect(signals.named('event.accepted')).toEqual([]);
  });

  it('announces nothing that the queue did not take', async () => {
    const unavailable = new AppError('storage_unavailable', 'not reachable');
    const { acceptEvent, signals } = build(() => Promise.reject(unavailable));
    await expect(acceptEvent(input)).rejects.toBe(unavailable);
    expect(signals.named('event.accepted')).toEqual([]);
  });
});
