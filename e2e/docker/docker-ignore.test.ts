import { readDockerIgnore } from './docker-ignore';

const isIgnored = readDockerIgnore(`
# everything but what is named
*
!packages
!package.json
**/node_modules
**/*.test.ts
**/src/testing
`);

describe('.dockerignore', () => {
  it.each(['.env', 'tools/start.mjs', '.git/config', 'docs/operations.md'])('leaves out %s', (path) => {
    expect(isIgnored(path)).toBe(true);
  });

  it.each(['package.json', 'packages/core/package.json', 'packages/core/src/a.ts'])('takes %s', (path) => {
    expect(isIgnored(path)).toBe(false);
  });

  it.each([
    'packages/core/node_modules/lru-cache/index.js',
    'packages/core/src/deep/a.test.ts',
    'packages/core/src/testing/test-redis.ts',
  ])('leaves out %s although its folder is taken', (path) => {
    expect(isIgnored(path)).toBe(true);
  });
});
