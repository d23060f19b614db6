import { handleEach } from './handle-each';
import { ReceiverResponse, responses } from './responses';

const DONE = new ReceiverResponse(204);
const BROKEN = new ReceiverResponse(500, {}, 'broken');

/** Each response in turn, as that of an event with its position as id. */
async function respondTo(own: readonly ReceiverResponse[], inOrder = false) {
  const handled: string[] = [];
  const events = own.map((_, index) => ({ id: String(index), type: 'a.b', data: null }));
  const response = await handleEach(
    events,
    async ({ id = '' }) => {
      handled.push(id);
      return own[Number(id)] ?? DONE;
    },
    { inOrder },
  );
  return { response, handled };
}

const failed = (...ids: string[]) => JSON.stringify({ failed: ids });

it('takes all with 204', async () => {
  expect(await respondTo([DONE, DONE])).toEqual({ response: DONE, handled: ['0', '1'] });
});

it('names those that were not handled, and handles the others after them', async () => {
  const { response, handled } = await respondTo([BROKEN, DONE, BROKEN, DONE]);
  expect(response).toMatchObject({ status: 200, headers: { 'content-type': 'application/json' } });
  expect(response.text).toBe(failed('0', '2'));
  expect(handled).toEqual(['0', '1', '2', '3']);
});

it('in order: handles none after one that was not, and says so of them all', async () => {
  const { response, handled } = await respondTo([DONE, BROKEN, DONE, DONE], true);
  expect(response.text).toBe(failed('1', '2', '3'));
  expect(handled).toEqual(['0', '1']);
});

it('refuses the request where no event was handled', async () => {
  expect((await respondTo([BROKEN, BROKEN])).response).toMatchObject({ status: 500, text: 'broken' });
  const [abort, retry] = [responses.abort(), responses.retryAfter(60)];
  expect((await respondTo([abort, abort])).response).toMatchObject(abort);
  expect((await respondTo([retry, responses.retryAfter(90)])).response).toMatchObject({
    status: 503,
    headers: { 'retry-after': '90' },
  });
});

it('gives up no event whose handler did not ask for it', async () => {
  const { response } = await respondTo([responses.abort(), BROKEN]);
  expect(response).toMatchObject({ status: 500, headers: {} });
  expect(response.headers).not.toHaveProperty('webhook-delivery');
  const { response: partly } = await respondTo([responses.abort(), DONE]);
  expect([partly.text, partly.headers['webhook-delivery']]).toEqual([failed('0'), undefined]);
});

it('passes on what some ask for that concerns the whole webhook', async () => {
  const { response } = await respondTo([
    DONE,
    responses.disable(),
    responses.retryAfter(5),
    responses.retryAfter(9),
  ]);
  expect(response).toMatchObject({
    status: 200,
    headers: { 'webhook-delivery': 'disable', 'retry-after': '9' },
  });
  expect((await respondTo([responses.disable(), BROKEN])).response.headers).toMatchObject({
    'webhook-delivery': 'disable',
  });
});
