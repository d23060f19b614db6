import { faultsOf } from '../kernel/faults';
import { newApiKeySchema } from './api-key-input';

const NOW = Date.parse('2027-01-01T00:00:00Z');
const schema = newApiKeySchema(() => NOW);
const VALID = { name: 'ci', scopes: ['events:write', 'webhooks:read'] };

function pointersOf(input: unknown): string[] {
  const { error } = schema.safeParse(input);
  return error === undefined ? [] : faultsOf(error).map(({ pointer }) => pointer);
}

describe('newApiKeySchema', () => {
  it('takes a name and scopes', () => {
    expect(schema.parse(VALID)).toEqual(VALID);
    expect(schema.parse({ ...VALID, expires_at: null })).toEqual(VALID);
    expect(schema.parse({ ...VALID, name: ' ci ' })).toEqual(VALID);
  });

  it.each(['2027-01-01T00:00:00.001Z', '2027-01-01T01:00:00.001+01:00'])('takes %s as its end', (time) => {
    expect(schema.parse({ ...VALID, expires_at: time })).toEqual({ ...VALID, expiresAt: NOW + 1 });
  });

  it.each([
    ['a time that has come', '2027-01-01T00:00:00Z'],
    ['a time without a zone', '2028-01-01T00:00:00'],
    ['a day', '2028-01-01'],
    ['a day that there is not', '2028-02-30T00:00:00Z'],
    ['a number', 1_900_000_000],
    ['a duration', '90d'],
  ])('refuses %s as its end', (_what, time) => {
    expect(pointersOf({ ...VALID, expires_at: time })).toEqual(['/expires_at']);
  });

  it.each<[string, object, string]>([
    ['no scope', { scopes: [] }, '/scopes'],
    ['a scope that there is not', { scopes: ['admin', 'root'] }, '/scopes/1'],
    ['a scope twice', { scopes: ['admin', 'admin'] }, '/scopes'],
    ['no name', { name: ' ' }, '/name'],
    ['a long name', { name: 'n'.repeat(101) }, '/name'],
    ['a name that a terminal would obey', { name: 'a\u001b[2Jb' }, '/name'],
    ['an account', { account_id: 'other' }, '/account_id'],
  ])('refuses %s', (_what, change, pointer) => {
    expect(pointersOf({ ...VALID, ...change })).toEqual([pointer]);
  });
});
