/** @jest-config-loader esbuild-register */
import { availableParallelism } from 'node:os';
import type { Config } from 'jest';

const common: Config = {
  testEnvironment: 'node',
  rootDir: __dirname,
  // got and a few of its dependencies are ES modules only, so everything goes through swc: a list of
  // packages to transform would break at the next version of any of them.
  transform: {
    '^.+\\.(ts|m?js)$': [
      '@swc/jest',
      { module: { type: 'commonjs' }, jsc: { target: 'es2022', parser: { syntax: 'typescript' } } },
    ],
  },
  transformIgnorePatterns: [],
  moduleNameMapper: {
    '^@hookferry/core/(.*)$': '<rootDir>/packages/core/src/$1',
    // This one has an `import` export only; jest resolves for `require`.
    '^@octokit/webhooks-methods$': '<rootDir>/node_modules/@octokit/webhooks-methods/dist-node/index.js',
    '^@hookferry/(producer|receiver|client)$': '<rootDir>/packages/$1/src/index',
    '^@hookferry/(producer|receiver)/(.*)$': '<rootDir>/packages/$1/src/$2',
  },
};

const config: Config = {
  projects: [
    {
      ...common,
      displayName: 'unit',
      testMatch: [
        '<rootDir>/packages/*/src/**/*.test.ts',
        '<rootDir>/apps/*/src/**/*.test.ts',
        '<rootDir>/spec/*.test.ts',
      ],
    },
    { ...common, displayName: 'e2e', testMatch: ['<rootDir>/e2e/**/*.test.ts'] },
  ],
  testTimeout: 60_000,
  coverageProvider: 'v8',
  coverageDirectory: 'coverage',
  coverageReporters: ['text-summary', 'html'],
  collectCoverageFrom: ['{packages,apps}/*/src/**/*.ts', '!**/*.test.ts', '!**/testing/**'],
  // Much of the time a test waits, for other processes and for a time to come: three at once keep two cores at work.
  maxWorkers: Math.ceil(availableParallelism() * 1.5),
};

export default config;
