// @ts-check
/**
 * `npm run graphs` draws what a Prometheus shows of the service while a receiver fails and recovers, by the expressions of
 * the Grafana dashboard: docs/images/prometheus.png. It takes two minutes.
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { launchBrowser } from './browser/launch-browser.mjs';
import { createApiClient } from './demo/api-client.mjs';
import { demoEvents } from './demo/demo-events.mjs';
import { demoSurroundings } from './demo/demo-surroundings.mjs';
import { startWebhookReceiver } from './demo/webhook-receiver.mjs';
import { describeError } from './problem.mjs';
import { ProcessGroup } from './processes/process-group.mjs';
import { listenForStopSignals } from './processes/stop-signals.mjs';
import { projectFolder } from './project-folders.mjs';
import { drawGraphs } from './prometheus/draw-graphs.mjs';
import { startPrometheus } from './prometheus/start-prometheus.mjs';
import { say } from './say.mjs';
import { startStack } from './start/start-stack.mjs';

const PICTURE = join(projectFolder, 'docs/images/prometheus.png');
const PUBLISH_EVERY_MS = 50;
/** How long it goes well, then fails, then goes well again. Seconds. */
const PARTS = [35, 25, 45];

const stop = listenForStopSignals();
const group = new ProcessGroup();
const signal = AbortSignal.any([stop.requested, group.failure]);

try {
  await run();
} catch (error) {
  if (!stop.requested.aborted) {
    say('graphs', describeError(group.failure.aborted ? group.failure.reason : error));
    process.exitCode = 1;
  }
} finally {
  await group.stop(stop.insisted);
}

async function run() {
  const { environment, dataFolder } = await demoSurroundings(group);
  const stack = await startStack({ environment, dataFolder, group, signal });
  const prometheusUrl = await startPrometheus({ stack, dataFolder, group, signal });
  const seconds = await makeTraffic(stack);
  await mkdir(join(PICTURE, '..'), { recursive: true });
  const browser = await launchBrowser();
  try {
    await drawGraphs(await browser.newPage(), { prometheusUrl, seconds, file: PICTURE });
  } finally {
    await browser.close();
  }
  say('graphs', `drawn: ${PICTURE}`);
}

/**
 * Publishes to a receiver that is well, one that fails for a while, and one that is slow.
 * @param {import('./start/start-stack.mjs').Stack} stack
 * @returns {Promise<number>} how long that took, in seconds
 */
async function makeTraffic(stack) {
  // A signal of its own: each request leaves a listener behind.
  const api = createApiClient({ ...stack, signal: new AbortController().signal });
  let isFailing = false;
  const answers = [async () => 204, async () => (isFailing ? 500 : 204), async () => await wait(200, 204)];
  const receivers = await Promise.all(answers.map((answer) => startWebhookReceiver({ port: 0, answer })));
  for (const { url } of receivers) await api.registerEndpoint(url);
  for (const [i, seconds] of PARTS.entries()) {
    isFailing = i === 1;
    say('graphs', `${seconds} s of traffic, ${isFailing ? 'one receiver fails' : 'all is well'}`);
    const until = Date.now() + seconds * 1_000;
    for (let n = 0; Date.now() < until; n += 1) {
      const event = demoEvents[n % demoEvents.length];
      if (event) await api.publishEvent(event);
      await wait(PUBLISH_EVERY_MS, undefined, { signal });
    }
  }
  for (const receiver of receivers) receiver.close();
  return PARTS.reduce((sum, seconds) => sum + seconds, 0);
}
