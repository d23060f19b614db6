import { ApiServer, json, lines, problem, type Reply } from '../../../packages/client/src/testing/api-server';

const LINE = `${JSON.stringify({ cursor: 'c', attempt: { outcome: 'delivered' } })}\n`;
const PAGE = { data: [{ id: 'wh_1' }], next_cursor: null, has_more: false };

const reply: Reply = (response, request) => {
  if (request.method === 'DELETE') problem(404, 'not_found')(response, request);
  else if (request.url.includes('export')) lines(LINE)(response, request);
  else if (request.url === '/v1/webhooks') json(200, PAGE)(response, request);
  else json(200, { url: 'https://example.com/hook' })(response, request);
};

/** The API that `consumer.mts` and `consumer.cts` ask. */
export async function serveConsumer(): Promise<ApiServer> {
  return await ApiServer.start(reply);
}

/** What each of them prints, as JSON. */
export const PRINTED_BY_CONSUMER = {
  url: 'https://example.com/hook',
  ids: ['wh_1'],
  outcomes: ['delivered'],
  code: 'not_found',
};
