import { type Client, WebhooksApiError } from '@hookferry/client';
import { nearestTo } from '@hookferry/producer/fault-words';
import { UsageError } from '../failures/usage-error';
import type { Data } from '../input/read-data';

/** The data that the catalogue shows for the type. @throws UsageError if there is no such type. */
export async function readExample(name: string, client: Client): Promise<Data> {
  const { example } = await client
    .GET('/v1/event-types/{name}', { params: { path: { name } } })
    .catch(async (error: unknown) => {
      throw isNotFound(error) ? await unknownType(name, client) : error;
    });
  return { text: JSON.stringify(example), value: example };
}

function isNotFound(error: unknown): boolean {
  return error instanceof WebhooksApiError && error.code === 'not_found';
}

async function unknownType(name: string, client: Client): Promise<UsageError> {
  const { data } = await client.GET('/v1/event-types');
  const names = data.filter(({ origin }) => origin !== 'operational').map((type) => type.name);
  const nearest = nearestTo(name, names);
  const hint = nearest === undefined ? '' : `Did you mean ${nearest}? `;
  return new UsageError(`There is no event type "${name}".`, `${hint}To list all: hookferry types list`);
}
