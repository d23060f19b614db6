import type { EndpointRef } from '../domain/endpoint';
import { endpointUidSchema } from '../domain/setting-schemas';
import { caughtFrom } from '../testing/caught-from';
import { fake } from '../testing/fake';
import { uniqueAccountId, uniqueEndpointId } from '../testing/unique-ids';
import type { EndpointStore } from './redis-endpoint-store';
import { lookUpEndpoints } from './resolve-endpoints';

const [first, second] = [uniqueEndpointId(), uniqueEndpointId()];
const uid = endpointUidSchema.parse('main');
const byRef = new Map<EndpointRef, typeof first>([
  [first, first],
  [second, second],
  [uid, first],
]);

function build() {
  const asked: (readonly EndpointRef[])[] = [];
  const endpointStore = fake<EndpointStore>({
    async findIds(_accountId, refs) {
      asked.push(refs);
      return refs.map((ref) => byRef.get(ref));
    },
  });
  const lookUp = (refs: readonly EndpointRef[]) =>
    lookUpEndpoints({ endpointStore }, uniqueAccountId(), refs);
  return { lookUp, asked };
}

it('gives the id of each endpoint that is named, by its id or its uid, once', async () => {
  const refs = [second, uid, first, second];
  expect((await build().lookUp(refs))(refs)).toEqual([second, first]);
});

it('looks up all that a request names at once, each once, and nothing when it names none', async () => {
  const { lookUp, asked } = build();
  const resolve = await lookUp([first, uid, first, second, first]);
  await lookUp([]);
  expect(asked).toEqual([[first, uid, second]]);
  expect([resolve([first, uid]), resolve([second])]).toEqual([[first], [second]]);
});

it('names each one that is not there', async () => {
  const missing = uniqueEndpointId();
  const other = endpointUidSchema.parse('other');
  const refs = [missing, first, other];
  const resolve = await build().lookUp(refs);
  expect(caughtFrom(() => resolve(refs))).toMatchObject({
    code: 'invalid_request',
    validationErrors: [
      { pointer: '/webhook_ids/0', detail: `there is no webhook ${missing}` },
      { pointer: '/webhook_ids/2', detail: 'there is no webhook other' },
    ],
  });
  expect(resolve([first])).toEqual([first]);
});
