import { Components, describeRoute } from '../openapi/operation';
import { readSourceAddresses } from '../routes/source-addresses';
import { startTestApi, type TestApi } from '../testing/start-test-api';
import { deprecationHeaders } from './deprecation';
import type { Route } from './route';

const DEPRECATED = {
  since: '2027-03-01',
  sunset: '2028-03-01',
  guide: 'https://example.com/docs/api#deprecated',
} as const;

const HEADERS = {
  deprecation: '@1803859200',
  sunset: 'Wed, 01 Mar 2028 00:00:00 GMT',
  link: '<https://example.com/docs/api#deprecated>; rel="deprecation"; type="text/html"',
};

describe('a deprecated route', () => {
  const route: { deprecated?: Route['deprecated'] } & Omit<Route, 'deprecated'> = readSourceAddresses;
  let api: TestApi;
  beforeAll(async () => {
    route.deprecated = DEPRECATED;
    api = await startTestApi();
  });
  afterAll(async () => {
    delete route.deprecated;
    await api.close();
  });

  const headersOf = async (path: string) => {
    const { status, headers } = await fetch(api.url + path);
    return [status, ...Object.keys(HEADERS).map((name) => headers.get(name))];
  };

  it('says so in each of its responses, also in those that refuse; other routes do not', async () => {
    const told = Object.values(HEADERS);
    expect(await headersOf('/v1/source-addresses')).toEqual([200, ...told]);
    expect(await headersOf('/v1/source-addresses?colour=red')).toEqual([422, ...told]);
    expect(await headersOf('/v1/status')).toEqual([200, null, null, null]);
  });

  it('is described as deprecated', () => {
    const described = describeRoute(readSourceAddresses, new Components());
    expect(described).toMatchObject({
      deprecated: true,
      description: expect.stringContaining(
        'Deprecated since 2027-03-01, and gone from 2028-03-01 on at the earliest.',
      ),
    });
  });
});

it.each([
  ['less than a year', '2027-03-01', '2028-02-28'],
  ['no date', '2027-03-01', 'soon'],
])('a route can not be deprecated for %s', (_name, since, sunset) => {
  expect(() => deprecationHeaders({ ...DEPRECATED, since, sunset })).toThrow('at least a year');
});
