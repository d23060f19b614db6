/** @jest-config-loader esbuild-register */
import { existsSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { Config } from 'jest';

const module = { type: 'commonjs' };
const parser = { syntax: 'typescript' };
const ts = { module, jsc: { target: 'es2022', parser } };
const tsx = {
  module,
  jsc: { ...ts.jsc, parser: { ...parser, tsx: true }, transform: { react: { runtime: 'automatic' } } },
};
/** Its texts come from macros. */
const PORTAL = '<rootDir>/tools/test/portal-transformer.mjs';

const common: Config = {
  testEnvironment: '<rootDir>/tools/test/timed-environment.mjs',
  rootDir: __dirname,
  transform: {
    // Components of the portal, rendered to text: these tests need no browser.
    '/apps/portal/src/.+\\.tsx$': [PORTAL, tsx],
    '/apps/portal/src/.+\\.ts$': [PORTAL, ts],
    '\\.tsx$': ['@swc/jest', tsx],
    '\\.(ts|m?js)$': ['@swc/jest', ts],
  },
  // Packages that are ES modules (got is one) go through swc; all others are loaded as they are.
  transformIgnorePatterns: [
    `/node_modules/(?!(?:${findModulePackages().join('|')})/)(?!.*/node_modules/).*\\.js$`,
  ],
  moduleNameMapper: {
    '\\.css$': '<rootDir>/apps/portal/src/testing/no-styles.ts',
    '^@hookferry/core/(.*)$': '<rootDir>/packages/core/src/$1',
    // This one has an `import` export only; jest resolves for `require`.
    '^@octokit/webhooks-methods$': '<rootDir>/node_modules/@octokit/webhooks-methods/dist-node/index.js',
    '^@hookferry/(producer|receiver|client|outbox)$': '<rootDir>/packages/$1/src/index',
    '^@hookferry/(producer|receiver)/(.*)$': '<rootDir>/packages/$1/src/$2',
  },
};

/** Unit tests of `test:all`: more than about four seconds for a file, under faults, while history moves, or with many inputs. */
const LONG = '\\.long\\.test\\.ts$';

/** The flows that any change may break. The others show a subject of their own, whose parts have unit tests: `test:all`. */
const DAILY_FLOWS = [
  'dead-letters',
  'delivery',
  'filters',
  'producers',
  'publishing',
  'rate-limit',
  'redelivery',
  'replays',
  'retries',
  'searching',
  'subscriptions',
  'transformations',
];

const flows: Config = {
  ...common,
  globalSetup: '<rootDir>/e2e/support/start-shared-stack.ts',
  globalTeardown: '<rootDir>/e2e/support/stop-shared-stack.ts',
};

const config: Config = {
  projects: [
    {
      ...common,
      displayName: 'unit',
      testMatch: [
        '<rootDir>/packages/*/src/**/*.test.ts',
        '<rootDir>/packages/core/build/*.test.ts',
        '<rootDir>/apps/*/src/**/*.test.{ts,tsx}',
        '<rootDir>/spec/*.test.ts',
      ],
      testPathIgnorePatterns: [LONG],
    },
    {
      ...common,
      displayName: 'long',
      testMatch: ['<rootDir>/{packages,apps,spec}/**/*.long.test.ts'],
      testPathIgnorePatterns: ['/node_modules/', '/dist/'],
    },
    {
      ...flows,
      displayName: 'flows',
      testMatch: [
        `<rootDir>/e2e/flows/(${DAILY_FLOWS.join('|')}).test.ts`,
        '<rootDir>/e2e/flows/pages/*.test.ts',
      ],
    },
    {
      ...flows,
      displayName: 'more-flows',
      testMatch: ['<rootDir>/e2e/flows/*.test.ts'],
      testPathIgnorePatterns: [`<rootDir>/e2e/flows/(${DAILY_FLOWS.join('|')})\\.test\\.ts$`],
    },
    {
      ...common,
      displayName: 'slow',
      testMatch: ['<rootDir>/e2e/**/*.test.ts'],
      testPathIgnorePatterns: ['<rootDir>/e2e/flows/'],
    },
  ],
  testSequencer: '<rootDir>/tools/test/longest-first.mjs',
  reporters: ['default', '<rootDir>/tools/test/progress.mjs'],
  // It ends what hangs, and nothing that a slow machine merely takes long for.
  testTimeout: 180_000,
  // Nothing here watches.
  watchman: false,
  coverageProvider: 'v8',
  coverageDirectory: 'coverage',
  coverageReporters: ['text-summary', 'html'],
  collectCoverageFrom: ['{packages,apps}/*/src/**/*.ts', '!**/*.test.ts', '!**/testing/**'],
  // Much of the time a test waits, for other processes and for a time to come: three at once keep two cores at work.
  maxWorkers: Math.ceil(availableParallelism() * 1.5),
};

/** The names of the installed packages whose own package.json says that their files are ES modules. */
function findModulePackages(): readonly string[] {
  const { packages } = JSON.parse(readFileSync(join(__dirname, 'package-lock.json'), 'utf8'));
  const folders = Object.keys(packages).filter((path) => path.includes('node_modules/'));
  return folders.filter(isModulePackage).map((path) => path.slice(path.lastIndexOf('node_modules/') + 13));
}

/** @param folder of a package that the lock file names; it is not there if it is for another platform. */
function isModulePackage(folder: string): boolean {
  const file = join(__dirname, folder, 'package.json');
  return existsSync(file) && JSON.parse(readFileSync(file, 'utf8')).type === 'module';
}

export default config;
