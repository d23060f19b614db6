import type { Client } from '@hookferry/client';
import type { Data } from '../input/read-data';

/** The data that the catalogue shows for the type. */
export async function readExample(name: string, client: Client): Promise<Data> {
  const { example } = await client.GET('/v1/event-types/{name}', { params: { path: { name } } });
  return { text: JSON.stringify(example), value: example };
}
