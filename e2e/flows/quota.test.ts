import { Queue } from 'bullmq';
import { QUICK_WIN } from '../support/samples';
import { Stack } from '../support/stack';
import { until } from '../support/until';

let stack: Stack;
let events: Queue;
beforeAll(async () => {
  // Less than an API key takes up.
  stack = await Stack.start({ environment: { ACCOUNT_QUOTA_BYTES: '2000' } });
  events = new Queue('events', { connection: stack.redis.client });
});
afterAll(async () => {
  await events.close();
  await stack.stop();
});

it('what is pushed for an account that stores as much as it may becomes a dead letter that says so', async () => {
  const { type, data } = QUICK_WIN;
  const letters = async () =>
    (await stack.client.expect<{ data: { reason: string }[] }>(200, 'GET', '/v1/dead-letters')).body.data;
  const [letter] = await until(async () => {
    await events.add(type, { account_id: 'default', type, data });
    const found = await letters();
    return found.length > 0 ? found : undefined;
  });
  expect(letter?.reason).toMatch(/^The account stores \d+ bytes, and its quota is 2000/);
});

describe('portal sessions with the largest logos', () => {
  const QUOTA_BYTES = 300_000;
  const LOGO_BYTES = 32 * 1024;
  const PREFIX = 'data:image/png;base64,';
  const theme = { logo: PREFIX + 'A'.repeat(LOGO_BYTES - PREFIX.length - 2) };

  // The other tests have filled the operator's own account, which is the one to make sessions for others.
  beforeAll(() => stack.client.expect(200, 'PATCH', '/v1/accounts/default', { quota_bytes: 0 }));

  /** As many as it is let have, of at most thirty. */
  async function makeSessions(account: string) {
    await stack.client.expect(201, 'POST', '/v1/accounts', {
      id: account,
      name: account,
      quota_bytes: QUOTA_BYTES,
    });
    const ids: string[] = [];
    for (let i = 0; i < 30; i += 1) {
      const wish = { account_id: account, theme, expires_in_seconds: 600 };
      const { status, body } = await stack.client.request<{ id: string; code: string }>(
        'POST',
        '/v1/portal-sessions',
        wish,
      );
      if (status !== 201) return { ids, refused: body.code };
      ids.push(body.id);
    }
    return { ids, refused: undefined };
  }

  const readUsage = async (account: string) =>
    (
      await stack.client.expect<Usage>(200, 'GET', '/v1/account/usage', undefined, {
        'x-account-id': account,
      })
    ).body;

  interface Usage {
    readonly used_bytes: number;
    readonly bytes: { readonly portal_sessions: number };
  }

  it('count as what they take up, until the account stores as much as it may', async () => {
    const { ids, refused } = await makeSessions('logos');
    expect(refused).toBe('quota_exceeded');
    const taken = await Promise.all(
      ids.map((id) => stack.redis.client.memory('USAGE', `portal-session:{${id}}`)),
    );
    const takenBytes = taken.reduce<number>((sum, bytes) => sum + Number(bytes), 0);
    const { used_bytes: used, bytes } = await readUsage('logos');
    expect(used).toBeGreaterThanOrEqual(QUOTA_BYTES);
    expect(bytes.portal_sessions).toBe(used);
    // As exact as the rest of what counts.
    expect(used).toBeGreaterThan(takenBytes * 0.7);
    expect(used).toBeLessThan(takenBytes * 1.3);
  });

  it('are given back when they are revoked, and leave nothing when the account is erased', async () => {
    const { ids } = await makeSessions('erased');
    const asAccount = { 'x-account-id': 'erased' };
    for (const id of ids.slice(1)) {
      await stack.client.expect(204, 'DELETE', `/v1/portal-sessions/${id}`, undefined, asAccount);
    }
    const { used_bytes: used } = await readUsage('erased');
    expect([used > LOGO_BYTES, used < 2 * LOGO_BYTES]).toEqual([true, true]);
    await stack.client.expect(202, 'DELETE', '/v1/accounts/erased');
    await stack.workers[0]?.waitForLine(
      ({ message, account_id }) => message === 'account.erased' && account_id === 'erased',
    );
    const left = await stack.redis.client.keys('*{erased}*');
    expect(left).toEqual([]);
    expect(await stack.redis.client.exists(...ids.map((id) => `portal-session:{${id}}`))).toBe(0);
  });
});
