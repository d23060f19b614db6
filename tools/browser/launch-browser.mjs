// @ts-check
import { chromium } from 'playwright-core';
import { findOnPath } from '../setup/find-on-path.mjs';
import { unpackChromium } from './unpack-chromium.mjs';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];

// It asks nobody for anything but the pages that it is sent to.
const QUIET = [
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-quic',
];

/**
 * Starts a browser without a window: the one that CHROMIUM_PATH names, else one on the PATH, else the one of the
 * package `@sparticuz/chromium`.
 */
export async function launchBrowser() {
  const { executablePath, env } = await findBrowser();
  return await chromium.launch({ executablePath, args: QUIET, env: { ...givenVariables(), ...env } });
}

/** @returns {Promise<{ executablePath: string, env?: Record<string, string> }>} */
async function findBrowser() {
  const executablePath = process.env['CHROMIUM_PATH'] || NAMES.map(findOnPath).find(Boolean);
  return executablePath ? { executablePath } : await unpackChromium();
}

/** Those of our own environment that are set. */
function givenVariables() {
  const given = Object.entries(process.env).filter(([, value]) => value !== undefined);
  return /** @type {Record<string, string>} */ (Object.fromEntries(given));
}
