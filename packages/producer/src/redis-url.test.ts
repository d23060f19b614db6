import { inspect } from 'node:util';
import { caughtFrom } from '@hookferry/core/testing/caught-from';
import { parseRedisUrl } from './redis-url';

describe('parseRedisUrl', () => {
  it.each([
    ['redis://cache', { node: { host: 'cache', port: 6379 }, db: 0, tls: false, auth: {} }],
    ['redis://10.0.0.5:6390/7', { node: { host: '10.0.0.5', port: 6390 }, db: 7 }],
    ['redis://cache/', { db: 0 }],
    ['redis://[::1]:6390', { node: { host: '::1', port: 6390 } }],
    ['rediss://cache', { tls: true }],
    ['redis://:secret@cache', { auth: { password: 'secret' }, node: { host: 'cache', port: 6379 } }],
    ['redis://ada:secret@cache', { auth: { username: 'ada', password: 'secret' } }],
    ['redis://ada:p%40ss%2F%3A@cache', { auth: { username: 'ada', password: 'p@ss/:' } }],
    ['redis://ada:with:colon@cache', { auth: { username: 'ada', password: 'with:colon' } }],
    ['redis://@cache', { auth: {} }],
  ])('reads %s as one server', (url, expected) => {
    expect(parseRedisUrl(url)).toMatchObject({ kind: 'single', ...expected });
  });

  it('reads Sentinels, with the name of their master and a database', () => {
    expect(parseRedisUrl('rediss+sentinel://:secret@one:26380,two/hooks/3')).toEqual({
      kind: 'sentinel',
      tls: true,
      auth: { password: 'secret' },
      sentinels: [
        { host: 'one', port: 26380 },
        { host: 'two', port: 26379 },
      ],
      sentinelAuth: {},
      master: 'hooks',
      db: 3,
    });
  });

  it.each([
    ['?sentinelPassword=s3%26cret+', { sentinelPassword: 's3&cret+' }],
    ['?sentinelUsername=ada&sentinelPassword=s', { sentinelUsername: 'ada', sentinelPassword: 's' }],
  ])('reads who asks the Sentinels: %s', (query, sentinelAuth) => {
    expect(parseRedisUrl(`redis+sentinel://:secret@one/hooks/3${query}`)).toMatchObject({
      auth: { password: 'secret' },
      sentinelAuth,
      master: 'hooks',
      db: 3,
    });
  });

  it.each(['redis+sentinel://one', 'redis+sentinel://one/'])(
    'assumes the master "mymaster" and database 0 for %s',
    (url) => {
      expect(parseRedisUrl(url)).toMatchObject({ kind: 'sentinel', master: 'mymaster', db: 0 });
    },
  );

  it('reads the nodes of a Cluster', () => {
    expect(parseRedisUrl('redis+cluster://ada:secret@one,two:7000,[::1]:7001')).toEqual({
      kind: 'cluster',
      tls: false,
      auth: { username: 'ada', password: 'secret' },
      nodes: [
        { host: 'one', port: 6379 },
        { host: 'two', port: 7000 },
        { host: '::1', port: 7001 },
      ],
    });
  });

  it.each([
    'http://:s3cr3t@cache',
    'redis+raft://:s3cr3t@cache',
    'redis:s3cr3t@cache',
    'redis://:s3cr3t@',
    'redis://:s3cr3t@cache:notaport',
    'redis://:s3cr3t@cache:99999',
    'redis://:s3cr3t@cache/notadb',
    'redis://:s3cr3t@cache/-1',
    'redis://:s3cr3t@cache/1/2',
    'redis://:s3cr3t@cache?db=1',
    'redis://:s3cr3t%zz@cache',
    // A password that is not percent-encoded would otherwise be taken apart.
    'redis://:s3/cr3t@cache',
    'redis://:s3@cr3t@cache',
    'redis+sentinel://:s3cr3t@one/hooks/notadb',
    'redis+sentinel://:s3cr3t@one/hooks/0/more',
    'redis+sentinel://one/hooks?password=s3cr3t',
    'redis+sentinel://one/hooks?sentinelPassword=',
    'redis+sentinel://one/hooks?sentinelPassword=s3cr3t%zz',
    'redis+cluster://one,two?sentinelPassword=s3cr3t',
    'redis+cluster://:s3cr3t@one,,two',
    'redis+cluster://:s3cr3t@one,two/3',
  ])('refuses %s, and does not repeat the password', (url) => {
    const error = caughtFrom(() => parseRedisUrl(url));
    expect(error).toMatchObject({ message: expect.stringContaining('redis+cluster://') });
    expect(inspect(error)).not.toMatch(/s3|cr3t/);
  });
});
