import { DEFAULT_ACCOUNT } from '@hookferry/core/domain/account';
import { type BoundsCase, readBoundsCorpus } from '@hookferry/core/testing/bounds-corpus';
import { readProblem } from '../testing/read-problem';
import { startTestApi, type TestApi } from '../testing/start-test-api';

const { settings, cases } = readBoundsCorpus();

let api: TestApi;
let authorization: string;
beforeAll(async () => {
  api = await startTestApi(settings);
  authorization = `Bearer ${(await api.issueKey({ accountId: DEFAULT_ACCOUNT })).key}`;
});
afterAll(() => api.close());

async function send({ method, path, headers, body }: BoundsCase['request']) {
  const content = body === undefined ? {} : { 'content-type': 'application/json' };
  const response = await fetch(api.url + path, {
    method,
    headers: { authorization, ...content, ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return {
    status: response.status,
    headers: Object.fromEntries(response.headers),
    body: await response.json(),
  };
}

async function newWebhook(): Promise<string> {
  const body = { url: 'https://receiver.example.com/', events: ['*'] };
  const created = await send({ method: 'POST', path: '/v1/webhooks', body });
  return (created.body as { id: string }).id;
}

describe('the bounds that all languages agree on', () => {
  it('are there', () => expect(cases.length).toBeGreaterThan(130));

  it.each(cases)('hold in the API, $title', async ({ request, expected }) => {
    const needsWebhook = request.path.includes('{webhook}');
    const path = needsWebhook ? request.path.replace('{webhook}', await newWebhook()) : request.path;
    const answer = await send({ ...request, path });
    const found = expected.code === undefined ? { status: answer.status } : readProblem(answer);
    expect(found).toEqual(expected);
  });
});
