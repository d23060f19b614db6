import { UsageError } from '../failures/usage-error';
import { chooseConnection } from './choose-connection';

const profiles = {
  current: 'default',
  byName: {
    default: { url: 'https://a.example', key: 'whk_a' },
    ci: { url: 'https://b.example', key: 'whk_b' },
  },
};

const choose = (environment: Record<string, string>, flag?: string) =>
  chooseConnection({ flag, environment, profiles });

it('takes the profile of the last login unless another one is named', () => {
  expect(choose({})).toEqual(profiles.byName.default);
  expect(choose({ HOOKFERRY_PROFILE: 'ci' })).toEqual(profiles.byName.ci);
  expect(choose({ HOOKFERRY_PROFILE: 'default' }, 'ci')).toEqual(profiles.byName.ci);
});

it('lets the environment win over the profile', () => {
  const both = { HOOKFERRY_URL: 'https://c.example/', HOOKFERRY_API_KEY: 'whk_c' };
  expect(choose(both, 'ci')).toEqual({ url: 'https://c.example', key: 'whk_c' });
  expect(choose({ HOOKFERRY_API_KEY: 'whk_c' }, 'ci')).toEqual({ url: 'https://b.example', key: 'whk_c' });
});

it("never sends a profile's key to the environment's URL", () => {
  expect(() => choose({ HOOKFERRY_URL: 'https://evil.example' })).toThrow(UsageError);
});

it.each([
  [{}, 'gone'],
  [{}, 'toString'],
  [{ HOOKFERRY_API_KEY: 'two words' }, undefined],
  [{ HOOKFERRY_URL: 'nowhere', HOOKFERRY_API_KEY: 'whk_c' }, undefined],
  [{ HOOKFERRY_URL: 'https://user:pass@c.example', HOOKFERRY_API_KEY: 'whk_c' }, undefined],
])('refuses %p with the profile %p', (environment, flag) => {
  expect(() => choose(environment, flag)).toThrow(UsageError);
});
