import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { compilePayloadFilter } from './payload-filter';
import { operatorNames } from './payload-filter-operators';

const PAGE = readFileSync(join(__dirname, '../../../../../docs/filters.md'), 'utf8');

interface Row {
  readonly operator: string;
  readonly filter: unknown;
  readonly passing: readonly unknown[];
  readonly refused: readonly unknown[];
}

const codesIn = (cell = '') => Array.from(cell.matchAll(/`([^`]+)`/g), ([, code = '']) => code);
const jsonIn = (cell?: string) => codesIn(cell).map((code): unknown => JSON.parse(code));

function toRow(line: string): Row {
  const [, operator, , filter, passing, refused] = line.split('|');
  return {
    operator: codesIn(operator).join(),
    filter: jsonIn(filter)[0],
    passing: jsonIn(passing),
    refused: jsonIn(refused),
  };
}

const rows = PAGE.split('\n')
  .filter((line) => /^\| `(?:\$?[a-z_]+)` +\|.*\{/.test(line))
  .map(toRow);

it('has a row for every operator and combination', () => {
  expect(rows.map(({ operator }) => operator)).toEqual([...operatorNames, '$any', '$all', '$not']);
});

it.each(rows)('shows of $operator what passes and what does not', ({ filter, passing, refused }) => {
  const { matches } = compilePayloadFilter(filter);
  expect([passing.length, refused.length]).not.toContain(0);
  expect(passing.map(matches)).not.toContain(false);
  expect(refused.map(matches)).not.toContain(true);
});
