// @ts-check
/** @typedef {import('playwright-core').Page} Page */

const TIMES = 10_000_000;
// All but those that are no count: the page reads them.
const COUNTS = /"(?!(?:status|response_status|interval_seconds)")(\w+)":(\d+(?:\.\d+)?)(?=[,}\s])/g;
const TEXTS = /"(description|name|label|uid|target|error|detail)":"([^"\\]+)"/g;
const URLS = /"url":"(https?:[^"\\]+)"/g;
// Members of schemas are called `type` too.
const TYPES = /"type":"([a-z_]+(?:\.[a-z_]+)+)"/g;
const LONGEST_TYPE = 100;
const LONG_TEXT = 200;

/**
 * What the API says has numbers of eight digits and more, and long texts in which nothing can be broken, on its way to
 * the page.
 * @param {Page} page
 */
export const enlarge = async (page) =>
  await rewrite(page, (text) =>
    text
      .replaceAll(COUNTS, (_all, name, count) => `"${name}":${Math.ceil((Number(count) || 1) * TIMES)}`)
      .replaceAll(TEXTS, (_all, name, value) => `"${name}":"${longer(value, LONG_TEXT)}"`)
      .replaceAll(URLS, (_all, url) => `"url":"${url}/${longer('path', LONG_TEXT)}"`)
      .replaceAll(TYPES, (_all, type) => `"type":"${longer(type, LONGEST_TYPE)}"`),
  );

/**
 * All that the API counts is zero.
 * @param {Page} page
 */
export const zero = async (page) =>
  await rewrite(page, (text) => text.replaceAll(COUNTS, (_all, name) => `"${name}":0`));

/**
 * @param {string} text
 * @param {number} length
 */
const longer = (text, length) => text.replaceAll(' ', '_').padEnd(length, '_and_so_on');

/**
 * @param {Page} page
 * @param {(text: string) => string} change
 */
async function rewrite(page, change) {
  await page.route(/\/v1\/(?!stream|portal)/, async (route) => {
    if (route.request().method() !== 'GET') return await route.continue();
    const response = await route.fetch();
    await route.fulfill({ response, body: change(await response.text()) });
  });
}
