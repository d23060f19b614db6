import type { FuncKeywordDefinition } from 'ajv/dist/types';
import type { WorkMeter } from './schema-work';

const CHARACTERS_A_UNIT = 4;

/**
 * JSON Schema's `uniqueItems` by one look at each item. ajv's own compares each with each: an array that is within the
 * limits of an event could keep a process busy for a minute.
 */
export function createUniqueItems({ spend }: Pick<WorkMeter, 'spend'>): FuncKeywordDefinition {
  return {
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    validate: (isWanted: boolean, items: readonly unknown[]) => {
      if (!isWanted) return true;
      spend(1 + JSON.stringify(items).length / CHARACTERS_A_UNIT);
      return areUnique(items);
    },
    error: { message: 'must not have items that are the same' },
  };
}

function areUnique(items: readonly unknown[]): boolean {
  return new Set(items.map((item) => JSON.stringify(inOrder(item)))).size === items.length;
}

// Objects with the same members are the same, in whichever order these are written.
function inOrder(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(inOrder);
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return { members: members.map(([name, member]) => [name, inOrder(member)]) };
}
