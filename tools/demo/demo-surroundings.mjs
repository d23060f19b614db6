// @ts-check
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { withDefaults } from '../start/given-environment.mjs';

/**
 * Where the demo takes place: a folder that is removed afterwards, and never the user's own Redis or data,
 * where an event of the demo would go out to real endpoints.
 * @param {import('../processes/process-group.mjs').ProcessGroup} group
 */
export async function demoSurroundings(group) {
  const dataFolder = await mkdtemp(join(tmpdir(), 'webhooks-demo-'));
  group.onStopped(() => rm(dataFolder, { recursive: true, force: true }));
  const { REDIS_URL: _url, REDIS_URL_FILE: _urlFile, ...rest } = process.env;
  const environment = withDefaults(rest, {
    RETRY_SCHEDULE: '1s,5s,30s,5m', // A first retry that comes soon enough to be watched.
    LOG_LEVEL: 'warn', // The demo and its receiver tell the story.
  });
  return { dataFolder, environment };
}
