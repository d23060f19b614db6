import type { Endpoint } from '../domain/endpoint';
import { keys } from '../domain/keys';
import { AdmissionStore } from '../endpoints/admission/redis-admission-store';
import { EndpointStore } from '../endpoints/redis-endpoint-store';
import { DisabledEndpoints, OpenBreakers } from '../endpoints/redis-stopped-endpoints';
import { Sealer } from '../endpoints/seal';
import type { Mark } from '../platform/redis-timeline';
import { buildEndpoint } from '../testing/build-endpoint';
import { createClosables } from '../testing/closables';
import { fake } from '../testing/fake';
import { openTestRedis } from '../testing/test-redis';
import { testSealer } from '../testing/test-sealer';
import { Operations, type OperationsParts, type StoppedState } from './operations';

const NOW = 1_700_000_000_000;

const { willClose, closeAll } = createClosables();
afterEach(closeAll);

async function arrange() {
  const { client } = willClose(await openTestRedis());
  const endpointStore = new EndpointStore(client, testSealer);
  const openBreakers = new OpenBreakers(client);
  const parts = {
    endpointStore,
    openBreakers,
    disabledEndpoints: new DisabledEndpoints(client),
    admissionStore: new AdmissionStore(client),
    clock: () => NOW,
  };
  const open = (given: Partial<OperationsParts> = {}) =>
    new Operations(fake<OperationsParts>({ ...parts, ...given }));
  const operations = open();

  async function create(change: Partial<Endpoint> = {}): Promise<Endpoint> {
    const endpoint = buildEndpoint(change);
    await endpointStore.create(endpoint);
    return endpoint;
  }

  async function openBreaker({ accountId, id }: Endpoint, openForMs: number): Promise<void> {
    await openBreakers.enter({ accountId, endpointId: id }, NOW + openForMs, NOW);
    await client.set(keys.breaker(id), `12 ${NOW + openForMs} ${NOW - 5_000} 0`);
  }

  async function readAll(state: StoppedState, limit = 10) {
    const found = [];
    let before: Mark | undefined;
    do {
      const page = await operations.listStopped(state, limit, before);
      found.push(...page.found);
      before = page.nextCursor;
    } while (before !== undefined);
    return found;
  }

  return { client, open, endpointStore, create, openBreaker, readAll };
}

describe('disabled endpoints', () => {
  it('are listed with why and since when, those disabled last first, of all accounts', async () => {
    const { create, readAll } = await arrange();
    const disabled = { status: 'disabled', disabledReason: 'gone' } as const;
    const first = await create({ ...disabled, updatedAt: NOW });
    await create();
    const last = await create({ ...disabled, updatedAt: NOW + 1 });
    const found = await readAll('disabled', 1);
    expect(found).toMatchObject(
      [last, first].map(({ accountId, id, url, updatedAt }) => {
        return {
          accountId,
          endpointId: id,
          url,
          state: 'disabled',
          disabledReason: 'gone',
          since: updatedAt,
        };
      }),
    );
  });

  it('are left out where the index has one too many', async () => {
    const { client, create, readAll } = await arrange();
    const { accountId, id } = await create();
    await client.zadd(keys.disabledEndpoints, NOW, `${accountId}/${id}`);
    expect(await readAll('disabled')).toEqual([]);
  });

  it('are listed without their URL where nobody can read the record', async () => {
    const { open, create, client } = await arrange();
    const { id } = await create({ status: 'disabled' });
    const sealer = new Sealer([]);
    const unreadable = open({ endpointStore: new EndpointStore(client, sealer) });
    expect((await unreadable.listStopped('disabled', 10)).found).toMatchObject([
      { endpointId: id, url: undefined },
    ]);
  });
});

describe('endpoints whose breaker is open', () => {
  it('are listed with how many attempts failed in a row, and since when', async () => {
    const { create, openBreaker, readAll } = await arrange();
    const [one, other] = [await create(), await create()];
    await create();
    await openBreaker(one, 1_000);
    await openBreaker(other, 60_000);
    const found = await readAll('breaker_open', 1);
    expect(found.map(({ endpointId }) => endpointId)).toEqual([other.id, one.id]);
    expect(found[0]).toMatchObject({ state: 'breaker_open', failures: 12, since: NOW - 5_000 });
  });

  it('are left out once it has closed', async () => {
    const { client, create, openBreaker, readAll } = await arrange();
    const closed = await create();
    await openBreaker(closed, 1_000);
    await client.del(keys.breaker(closed.id));
    expect(await readAll('breaker_open')).toEqual([]);
  });
});
