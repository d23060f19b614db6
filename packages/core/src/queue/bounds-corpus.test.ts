import { toEventJob } from '../../../producer/src/event';
import { PublishError } from '../../../producer/src/index';
import { AppError } from '../platform/app-error';
import { readEventJob } from '../publish/read-event-job';
import { type BoundsCase, readBoundsCorpus } from '../testing/bounds-corpus';
import { fakePublishingParts } from '../testing/fake-publishing-parts';

const { settings, cases } = readBoundsCorpus();
const parts = fakePublishingParts({ maxEventBytes: Number(settings.MAX_EVENT_BYTES) });

// What can be published over HTTP can be pushed, and what is refused there is a dead letter.
const events = cases.filter(({ request }) => request.path === '/v1/events' && request.headers === undefined);

// As far as it looks: the rest is for the worker to say.
const isKnownToTheProducer = ({ expected: { pointers = [] } }: BoundsCase) =>
  pointers.includes('/id') || pointers.includes('/webhook_ids');

interface Body {
  readonly type: string;
  readonly data: unknown;
  readonly id?: string;
  readonly webhook_ids?: readonly string[];
}

async function endingOf(body: Body) {
  const job = {
    id: '17',
    name: body.type,
    timestamp: 1_700_000_000_000,
    data: { account_id: 'default', ...body },
  };
  const fault: unknown = await readEventJob(parts, job).then(
    () => undefined,
    (error: unknown) => error,
  );
  if (fault === undefined) return {};
  if (!(fault instanceof AppError)) throw fault;
  const pointers = fault.validationErrors.map(({ pointer }) => pointer);
  return { code: fault.code, ...(pointers.length === 0 ? {} : { pointers }) };
}

/** Whether the publisher of `@hookferry/producer` refuses it before it is sent. */
function isRefusedByProducer({ webhook_ids: webhookIds, ...event }: Body): boolean {
  try {
    toEventJob({ ...event, ...(webhookIds === undefined ? {} : { webhookIds }) });
    return false;
  } catch (error) {
    if (error instanceof PublishError && error.code === 'invalid_event') return true;
    throw error;
  }
}

describe('the bounds that all languages agree on', () => {
  it('are there', () => expect(events.length).toBeGreaterThan(25));

  it.each(events)('hold on the queue, $title', async ({ request, expected }) => {
    const { status: _status, ...rest } = expected;
    expect(await endingOf(request.body as Body)).toEqual(rest);
  });

  it.each(events.filter(({ expected }) => expected.code === undefined))(
    'are not narrower in the producer, $title',
    ({ request }) => expect(isRefusedByProducer(request.body as Body)).toBe(false),
  );

  it.each(events.filter(isKnownToTheProducer))('are noticed by the producer, $title', ({ request }) =>
    expect(isRefusedByProducer(request.body as Body)).toBe(true),
  );
});
