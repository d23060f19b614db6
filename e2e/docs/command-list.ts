/** Pages whose commands a test of their own pastes, because it waits for what each of them shows. */
export const PASTED_BY: Readonly<Record<string, string>> = {
  'README.md': 'e2e/docs/readme.test.ts',
  'docs/api.md': 'e2e/docs/api-page.test.ts',
  'docs/cloudevents.md': 'e2e/docs/cloudevents-page.test.ts',
  'docs/getting-started.md': 'e2e/docs/getting-started.test.ts',
  'docs/guides/debugging.md': 'e2e/docs/guides.test.ts',
  'docs/guides/integrating.md': 'e2e/docs/guides.test.ts',
  'docs/guides/operating.md': 'e2e/docs/guides.test.ts',
  'docs/guides/publishing.md': 'e2e/docs/guides.test.ts',
  'docs/guides/receiving.md': 'e2e/docs/guides.test.ts',
  'docs/nothing-arrives.md': 'e2e/docs/runbook.test.ts',
  'docs/recipes/idempotent-receiver.md': 'e2e/docs/recipes.test.ts',
  'docs/recipes/queue-behind-receiver.md': 'e2e/docs/recipes.test.ts',
  'docs/recipes/receiver-in-ci.md': 'e2e/docs/recipes.test.ts',
  'docs/runbook.md': 'e2e/docs/runbook.test.ts',
  'docs/server.md': 'e2e/docs/server.test.ts',
  'examples/saas/README.md': 'e2e/packages/saas-example.test.ts',
  'packages/server/README.md': 'e2e/packages/server-package.test.ts',
};

/** Commands that no test pastes, and why. What they name is checked instead, where that is said. */
export const NOT_PASTED: readonly { readonly command: RegExp; readonly why: string }[] = [
  {
    command: /^docker /,
    why: 'there is no container engine here; e2e/docker follows the steps of the images',
  },
  { command: /^(kubectl|helm) /, why: 'there is no cluster here; e2e/helm renders and checks the chart' },
  { command: /^git clone /, why: 'the project is here already' },
  { command: /^npm ci$/, why: 'everything is installed already' },
  { command: /^npm start/, why: 'the tests of tools/start run it' },
  { command: /^npm (run|test)\b/, why: 'takes minutes: that the script and its flags exist is checked' },
  { command: /^npm install /, why: 'e2e/packages installs each package from its tarball' },
  { command: /^pip install /, why: 'e2e/packages/python.test.ts builds the wheel and installs it' },
  { command: /^python examples\//, why: 'e2e/packages/python.test.ts runs it' },
  { command: /^WEBHOOK_SECRET=\S+ python receiver/, why: 'e2e/packages/python.test.ts runs it' },
  { command: /^redis-cli -h .* --rdb /, why: 'e2e/docs/server.test.ts takes such a copy' },
  { command: /^cp \/data\/dump\.rdb /, why: 'npm run drill restores from such a copy' },
  { command: /^hookferry login --url /, why: 'asks at a terminal; e2e/packages/cli.test.ts answers it' },
];

/** Programs on the pages: which test runs or compiles those of a page and a language. */
export const PROGRAMS: Readonly<Record<string, string>> = {
  'clients/python/README.md python': 'e2e/packages/python.test.ts',
  'docs/batches.md js': 'e2e/docs/programs.test.ts',
  'docs/endpoint-verification.md js': 'e2e/docs/programs.test.ts',
  'docs/finding.md ts': 'e2e/docs/programs.test.ts',
  'docs/history.md sql': 'e2e/docs/history-page.test.ts',
  'docs/migrating.md js': 'e2e/docs/programs.test.ts',
  'docs/portal.md html': 'e2e/portal/framing.test.ts',
  'docs/portal.md js': 'e2e/portal/framing.test.ts',
  'docs/postgresql.md sql': 'e2e/docs/postgresql-page.test.ts',
  'docs/publishing.md ts': 'e2e/docs/programs.test.ts',
  'docs/recipes/idempotent-receiver.md js': 'e2e/docs/recipes.test.ts',
  'docs/recipes/idempotent-receiver.md sql': 'e2e/docs/recipes.test.ts',
  'docs/recipes/queue-behind-receiver.md js': 'e2e/docs/recipes.test.ts',
  'docs/security.md toml': 'e2e/flows/api-keys.test.ts',
  'docs/server.md conf': 'e2e/docs/server.test.ts',
  'docs/server.md ini': 'e2e/docs/server.test.ts',
  'docs/stream.md js': 'e2e/docs/programs.test.ts',
  'docs/stream.md ts': 'e2e/docs/programs.test.ts',
  'docs/transformations.md js': 'e2e/docs/programs.test.ts',
  'docs/verifying-signatures.md go': 'e2e/docs/signature-snippets.test.ts',
  'docs/verifying-signatures.md java': 'e2e/docs/signature-snippets.test.ts',
  'docs/verifying-signatures.md js': 'e2e/docs/signature-snippets.test.ts',
  'docs/verifying-signatures.md php': 'e2e/docs/signature-snippets.test.ts',
  'docs/verifying-signatures.md python': 'e2e/docs/signature-snippets.test.ts',
  'docs/verifying-signatures.md ruby': 'e2e/docs/signature-snippets.test.ts',
  'packages/client/README.md ts': 'e2e/packages/client-package.test.ts',
  'packages/producer/README.md ts': 'e2e/packages/producer.test.ts',
  'packages/receiver/README.md ts': 'e2e/packages/receiver.test.ts',
};

/** Blocks that are nothing to run: responses, requests, settings, drawings, and what a terminal showed. */
export const NO_PROGRAMS = ['sh', 'bash', 'json', 'http', 'text', 'yaml', 'mermaid', 'console', ''];
