import { uniqueAccountId, uniqueEndpointId } from '../testing/unique-ids';
import { type EndpointRef, endpointUidSchema } from './endpoint';
import { createResolveEndpoints } from './resolve-endpoints';

const [first, second] = [uniqueEndpointId(), uniqueEndpointId()];
const uid = endpointUidSchema.parse('main');
const byRef = new Map<EndpointRef, typeof first>([
  [first, first],
  [second, second],
  [uid, first],
]);
const resolveEndpoints = createResolveEndpoints({
  findIds: async (_accountId, refs) => refs.map((ref) => byRef.get(ref)),
});

it('gives the id of each endpoint that is named, by its id or its uid, once', async () => {
  expect(await resolveEndpoints(uniqueAccountId(), [second, uid, first, second])).toEqual([second, first]);
});

it('names each one that is not there', async () => {
  const missing = uniqueEndpointId();
  const other = endpointUidSchema.parse('other');
  await expect(resolveEndpoints(uniqueAccountId(), [missing, first, other])).rejects.toMatchObject({
    code: 'invalid_request',
    faults: [
      { pointer: '/webhook_ids/0', detail: `there is no webhook ${missing}` },
      { pointer: '/webhook_ids/2', detail: 'there is no webhook other' },
    ],
  });
});
