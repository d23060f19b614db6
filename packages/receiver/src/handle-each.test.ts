import { Answer, answers } from './answers';
import { handleEach } from './handle-each';

const DONE = new Answer(204);
const BROKEN = new Answer(500, {}, 'broken');

/** Each answer in turn, as that of an event with its position as id. */
async function answerTo(own: readonly Answer[], inOrder = false) {
  const handled: string[] = [];
  const events = own.map((_, index) => ({ id: String(index), type: 'a.b', data: null }));
  const answer = await handleEach(
    events,
    async ({ id = '' }) => {
      handled.push(id);
      return own[Number(id)] ?? DONE;
    },
    { inOrder },
  );
  return { answer, handled };
}

const failed = (...ids: string[]) => JSON.stringify({ failed: ids });

it('takes all with 204', async () => {
  expect(await answerTo([DONE, DONE])).toEqual({ answer: DONE, handled: ['0', '1'] });
});

it('names those that were not handled, and handles the others after them', async () => {
  const { answer, handled } = await answerTo([BROKEN, DONE, BROKEN, DONE]);
  expect(answer).toMatchObject({ status: 200, headers: { 'content-type': 'application/json' } });
  expect(answer.text).toBe(failed('0', '2'));
  expect(handled).toEqual(['0', '1', '2', '3']);
});

it('in order: handles none after one that was not, and says so of them all', async () => {
  const { answer, handled } = await answerTo([DONE, BROKEN, DONE, DONE], true);
  expect(answer.text).toBe(failed('1', '2', '3'));
  expect(handled).toEqual(['0', '1']);
});

it('refuses the request where no event was handled', async () => {
  expect((await answerTo([BROKEN, BROKEN])).answer).toMatchObject({ status: 500, text: 'broken' });
  const [abort, retry] = [answers.abort(), answers.retryAfter(60)];
  expect((await answerTo([abort, abort])).answer).toMatchObject(abort);
  expect((await answerTo([retry, answers.retryAfter(90)])).answer).toMatchObject({
    status: 503,
    headers: { 'retry-after': '90' },
  });
});

it('gives up no event whose handler did not ask for it', async () => {
  const { answer } = await answerTo([answers.abort(), BROKEN]);
  expect(answer).toMatchObject({ status: 500, headers: {} });
  expect(answer.headers).not.toHaveProperty('webhook-delivery');
  const { answer: partly } = await answerTo([answers.abort(), DONE]);
  expect([partly.text, partly.headers['webhook-delivery']]).toEqual([failed('0'), undefined]);
});

it('passes on what some ask for that concerns the whole webhook', async () => {
  const { answer } = await answerTo([DONE, answers.disable(), answers.retryAfter(5), answers.retryAfter(9)]);
  expect(answer).toMatchObject({
    status: 200,
    headers: { 'webhook-delivery': 'disable', 'retry-after': '9' },
  });
  expect((await answerTo([answers.disable(), BROKEN])).answer.headers).toMatchObject({
    'webhook-delivery': 'disable',
  });
});
