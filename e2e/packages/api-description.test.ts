import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Stack } from '../support/stack';
import { makeKnownIds } from './api-description/known-ids';
import { provideSchemathesis } from './api-description/provide-schemathesis';
import { runSchemathesis } from './api-description/run-schemathesis';

// DESCRIPTION_EXAMPLES=100 for a longer run, which also goes from one operation to the next. A run is repeated by its seed:
// DESCRIPTION_SEED=….
const FEW_EXAMPLES = 10;
const EXAMPLES = Number(process.env.DESCRIPTION_EXAMPLES ?? FEW_EXAMPLES);
const SEED = Number(process.env.DESCRIPTION_SEED ?? 20_261_123);
const TIMEOUT_MS = 300_000 + EXAMPLES * 30_000;

// There is no worker: URLs are made up, and nothing must be sent there.
const SETTINGS = { RATE_LIMIT: 'off', AUTH_FAILURE_LIMIT: 'off', MAX_WEBHOOKS: '100000' };

const schemathesis = provideSchemathesis();
if ('missing' in schemathesis) {
  console.warn(
    `SKIPPED: the API beside its description, because there is no Schemathesis: ${schemathesis.missing}`,
  );
}
const describeWith = 'program' in schemathesis ? describe : describe.skip;

describeWith('the API', () => {
  let stack: Stack;

  beforeAll(async () => {
    stack = await Stack.start({ workers: 0, environment: SETTINGS });
  });
  afterAll(async () => {
    await stack.stop();
  });

  it(
    'takes what its description allows, refuses what it forbids, and fails at nothing',
    async () => {
      if (!('program' in schemathesis)) throw new Error(schemathesis.missing);
      console.info(`DESCRIPTION_SEED=${SEED} DESCRIPTION_EXAMPLES=${EXAMPLES}`);
      const { code, said } = await runSchemathesis({
        program: schemathesis.program,
        baseUrl: stack.client.baseUrl,
        apiKey: stack.bootstrapKey,
        knownIds: await makeKnownIds(stack.client),
        seed: SEED,
        examples: EXAMPLES,
        isStateful: EXAMPLES > FEW_EXAMPLES,
      });
      if (code !== 0) throw new Error(`Schemathesis ended with ${code}:\n${said}`);
      expect(said).toContain(`Tested: ${await countOperations()}\n`);
    },
    TIMEOUT_MS,
  );
});

async function countOperations(): Promise<number> {
  const text = await readFile(join(__dirname, '../../docs/openapi.json'), 'utf8');
  const { paths } = JSON.parse(text) as { readonly paths: Record<string, object> };
  return Object.values(paths).flatMap(Object.keys).length;
}
