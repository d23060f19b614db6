import type { ApiClient, Webhook } from '../support/api-client';
import { Stack } from '../support/stack';

// A long run has more: KILLS=20.
const KILLS = Number(process.env.KILLS ?? 3);
const CHANGED = 3;
const FEWEST_ANSWERS = 15;

interface Entry {
  readonly action: string;
  readonly target: { readonly id: string };
  readonly outcome: string;
  readonly changes: readonly { readonly field: string; readonly from?: number; readonly to?: number }[];
}

let stack: Stack;
beforeAll(async () => {
  stack = await Stack.start({ workers: 0, hasHistory: false });
});
afterAll(async () => await stack.stop());

it('has each change once, and none that was not made, when the API is killed between and within changes', async () => {
  const { client } = stack;
  const changed = await Promise.all(
    Array.from({ length: CHANGED }, (_, i) => client.register(`https://receiver.example.com/changed/${i}`)),
  );
  const made = new Set(changed.map(({ id }) => id));
  const deleted = new Set<string>();
  const acknowledged = new Map(changed.map(({ id }) => [id, new Set<number>()]));
  let limit = 0;

  const change = async (victim: ApiClient, id: string) => {
    const to = (limit += 1);
    await victim.expect(200, 'PATCH', `/v1/webhooks/${id}`, { rate_limit: to });
    acknowledged.get(id)?.add(to);
  };
  const makeAndDelete = async (victim: ApiClient) => {
    const { id } = await victim.register('https://receiver.example.com/made');
    made.add(id);
    await victim.expect(204, 'DELETE', `/v1/webhooks/${id}`);
    deleted.add(id);
  };
  for (let kill = 0; kill < KILLS; kill += 1) {
    await killAfter(FEWEST_ANSWERS + kill, (victim) => [
      ...changed.map(
        ({ id }) =>
          () =>
            change(victim, id),
      ),
      () => makeAndDelete(victim),
    ]);
  }

  for (const { id } of changed) {
    const values = (await entriesOf('webhook.update', id)).flatMap(({ changes }) => changes);
    const { body } = await client.expect<{ rate_limit: number }>(200, 'GET', `/v1/webhooks/${id}`);
    // Each entry begins where the one before ended, and the last one is what the webhook has now.
    expect(values.map(({ from }) => from)).toEqual([undefined, ...values.slice(0, -1).map(({ to }) => to)]);
    expect(values.at(-1)?.to).toBe(body.rate_limit);
    expect(values.map(({ to }) => to)).toEqual(expect.arrayContaining([...(acknowledged.get(id) ?? [])]));
  }
  const created = (await entriesOf('webhook.create')).map(({ target }) => target.id);
  const gone = (await entriesOf('webhook.delete')).map(({ target }) => target.id);
  const { body } = await client.expect<{ data: readonly Webhook[] }>(200, 'GET', '/v1/webhooks?limit=200');
  expect(new Set(created).size).toBe(created.length);
  expect(new Set(gone).size).toBe(gone.length);
  expect(created).toEqual(expect.arrayContaining([...made]));
  expect(gone).toEqual(expect.arrayContaining([...deleted]));
  expect(created.filter((id) => !gone.includes(id)).toSorted()).toEqual(
    body.data.map(({ id }) => id).toSorted(),
  );
});

/** Does all of it at once, each one over and over, with an API that is killed once so many have their responses. */
async function killAfter(
  responses: number,
  actsOf: (victim: ApiClient) => readonly (() => Promise<void>)[],
): Promise<void> {
  const { api, client } = await stack.startApi();
  let received = 0;
  await Promise.all(
    actsOf(client).map(async (act) => {
      while (await hasResponse(act)) {
        received += 1;
        if (received === responses) void api.end('SIGKILL');
      }
    }),
  );
  expect(received).toBeGreaterThanOrEqual(responses);
}

/** False: the connection broke off. */
async function hasResponse(act: () => Promise<void>): Promise<boolean> {
  try {
    await act();
    return true;
  } catch (error) {
    // Fetch alone throws one with the fault of its connection.
    if (typeof error === 'object' && error !== null && 'cause' in error) return false;
    throw error;
  }
}

/** All that was done, the oldest first. */
async function entriesOf(action: string, target?: string): Promise<readonly Entry[]> {
  const of = target === undefined ? '' : `&target=${target}`;
  const path = `/v1/audit-log/export?action=${action}${of}`;
  const lines = (await (await stack.client.fetch(path)).text()).trim().split('\n');
  const entries = lines.map((line) => JSON.parse(line) as Entry);
  return entries.filter(({ outcome }) => outcome === 'ok').toReversed();
}
