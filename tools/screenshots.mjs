// @ts-check
/**
 * `npm run screenshots` writes pictures of the portal's main pages, light and dark, and the moving picture of the README
 * into docs/images/portal: of the real service on a Redis of its own, with data that is made for it.
 * `npm run screenshots -- --look FOLDER` writes all pages and dialogs to be looked at, wide and narrow: as they are, of
 * an account with nothing, with the longest names and numbers, and with zeros; and says which scroll sideways. Needs a browser: see browser/launch-browser.mjs.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { launchBrowser } from './browser/launch-browser.mjs';
import { demoSurroundings } from './demo/demo-service.mjs';
import { describeError, Problem } from './problem.mjs';
import { listenForStopSignals, ProcessGroup } from './processes/process-group.mjs';
import { projectFolder } from './project-folders.mjs';
import { say } from './say.mjs';
import { animatePng } from './screenshots/animated-png.mjs';
import { enlarge, zero } from './screenshots/extremes.mjs';
import { allPagesOf, emptyPages, mainPagesOf, tourOf } from './screenshots/pages.mjs';
import { photograph } from './screenshots/photograph.mjs';
import { prepareScene } from './screenshots/scene.mjs';
import { completeScene, environmentOfAll } from './screenshots/whole-scene.mjs';
import { buildPortal, buildPrograms } from './setup/build.mjs';
import { startStack } from './start/start-stack.mjs';

const FOLDER = join(projectFolder, 'docs', 'images', 'portal');
// Everybody who clones the repository gets them.
const MOST_BYTES = 150_000;
const MOST_BYTES_OF_TOUR = 600_000;
const FRAME_MS = 2_200;
const SIZES = [360, 1280, 1920].map((width) => ({ width, height: 900 }));
const WALL = { width: 3840, height: 2160 };

const { look } = parseArgs({ options: { look: { type: 'string' } } }).values;
const stop = listenForStopSignals();
const group = new ProcessGroup();
const signal = AbortSignal.any([stop.requested, group.failure]);

try {
  await buildPrograms({ signal });
  await buildPortal({ signal });
  const { environment, dataFolder } = await demoSurroundings(group);
  const isAll = look !== undefined;
  const given = isAll ? { ...environment, ...environmentOfAll } : environment;
  const stack = await startStack({ environment: given, dataFolder, group, signal, hasHistory: isAll });
  const scene = await prepareScene(stack, signal);
  const browser = await launchBrowser();
  try {
    if (look === undefined) await takeForDocs(browser, scene);
    else await takeAll(browser, await completeScene(scene, stack), look);
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

/** @typedef {import('playwright-core').Browser} Browser */
/** @typedef {import('./screenshots/scene.mjs').Scene} Scene */

/**
 * @param {Browser} browser
 * @param {Scene} scene
 */
async function takeForDocs(browser, scene) {
  await mkdir(FOLDER, { recursive: true });
  const size = { width: 1280, height: 800 };
  for await (const { name, png } of photograph(browser, { scene, pages: mainPagesOf(scene), size })) {
    await keep(FOLDER, name, png, MOST_BYTES);
  }
  const frames = [];
  const small = { width: 1024, height: 640 };
  const tour = { scene, pages: tourOf(scene), size: small, themes: /** @type {const} */ (['light']) };
  for await (const { png } of photograph(browser, tour)) frames.push({ png, delayMs: FRAME_MS });
  await keep(FOLDER, 'tour', animatePng(frames), MOST_BYTES_OF_TOUR);
}

/**
 * @param {Browser} browser
 * @param {import('./screenshots/whole-scene.mjs').WholeScene} scene
 * @param {string} folder
 */
async function takeAll(browser, scene, folder) {
  await mkdir(folder, { recursive: true });
  const pages = allPagesOf(scene);
  const wishes = {
    usual: { pages },
    empty: { pages: emptyPages, openAccount: scene.openAccount },
    large: { pages, prepare: enlarge },
    zero: { pages, prepare: zero },
  };
  for (const size of SIZES) {
    for (const [prefix, wish] of Object.entries(wishes))
      await takeEach(`${prefix}-${size.width}`, { ...wish, size });
  }
  await takeEach('usual-3840', { pages: mainPagesOf(scene), size: WALL });

  /**
   * @param {string} prefix
   * @param {Omit<import('./screenshots/photograph.mjs').Wish, 'scene'>} wish
   */
  async function takeEach(prefix, wish) {
    for await (const { name, png, tooWide } of photograph(browser, { ...wish, scene, isWhole: true })) {
      await keep(folder, `${prefix}-${name}`, png);
      if (tooWide > 0) say('screenshots', `${prefix}-${name} scrolls sideways, by ${tooWide} px`);
    }
  }
}

/**
 * @param {string} folder
 * @param {string} name
 * @param {Buffer} png
 * @param {number} [mostBytes]
 */
async function keep(folder, name, png, mostBytes = Number.POSITIVE_INFINITY) {
  if (png.length > mostBytes) throw new Problem(`${name}.png has ${png.length} bytes: show less on it.`);
  await writeFile(join(folder, `${name}.png`), png);
  say('screenshots', `${name}.png, ${png.length} bytes`);
}
