// @ts-check
/**
 * `npm run screenshots` writes pictures of the portal's main pages, light and dark, into docs/images/portal: of the real
 * service on a Redis of its own, with data that is made for it. Needs a browser: see browser/launch-browser.mjs.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { launchBrowser } from './browser/launch-browser.mjs';
import { demoSurroundings } from './demo/demo-surroundings.mjs';
import { describeError, Problem } from './problem.mjs';
import { ProcessGroup } from './processes/process-group.mjs';
import { listenForStopSignals } from './processes/stop-signals.mjs';
import { projectFolder } from './project-folders.mjs';
import { say } from './say.mjs';
import { photograph } from './screenshots/photograph.mjs';
import { prepareScene } from './screenshots/prepare-scene.mjs';
import { buildPortal } from './setup/build-portal.mjs';
import { buildPrograms } from './setup/build-programs.mjs';
import { startStack } from './start/start-stack.mjs';

const FOLDER = join(projectFolder, 'docs', 'images', 'portal');
// Everybody who clones the repository gets them.
const MOST_BYTES = 150_000;

const stop = listenForStopSignals();
const group = new ProcessGroup();
const signal = AbortSignal.any([stop.requested, group.failure]);

try {
  await buildPrograms({ signal });
  await buildPortal({ signal });
  const { environment, dataFolder } = await demoSurroundings(group);
  const stack = await startStack({ environment, dataFolder, group, signal });
  const scene = await prepareScene(stack, signal);
  const browser = await launchBrowser();
  try {
    await mkdir(FOLDER, { recursive: true });
    for await (const { name, png } of photograph(browser, scene)) {
      if (png.length > MOST_BYTES) throw new Problem(`${name}.png has ${png.length} bytes: show less on it.`);
      await writeFile(join(FOLDER, `${name}.png`), png);
      say('screenshots', `${name}.png, ${png.length} bytes`);
    }
  } finally {
    await browser.close();
    scene.close();
  }
} catch (error) {
  say('screenshots', describeError(group.failure.aborted ? group.failure.reason : error));
  process.exitCode = 1;
} finally {
  await group.stop(stop.insisted);
}
