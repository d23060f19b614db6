import { type Client, WebhooksApiError } from '@hookferry/client';
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
  const [nearest] = names.toSorted((a, b) => alike(b, name) - alike(a, name));
  const hint = nearest !== undefined && alike(nearest, name) > 0.5 ? `Did you mean ${nearest}? ` : '';
  return new UsageError(`There is no event type "${name}".`, `${hint}To list all: hookferry types list`);
}

/** The share of the pairs of neighbouring characters that both have. */
function alike(a: string, b: string): number {
  const [ofA, ofB] = [pairsOf(a), pairsOf(b)];
  const common = [...ofA].filter((pair) => ofB.has(pair)).length;
  return (2 * common) / Math.max(ofA.size + ofB.size, 1);
}

function pairsOf(text: string): ReadonlySet<string> {
  return new Set(Array.from({ length: text.length - 1 }, (_, i) => text.slice(i, i + 2)));
}
