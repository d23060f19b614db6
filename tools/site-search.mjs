// @ts-check
/**
 * `npm run site:search`: asks the search of the built site (`npm run site`) what its readers ask, in a browser, and says what came
 * first. Exits with 1 if no page that answers is among the first two. Needs a browser: see browser/launch-browser.mjs.
 */
import { launchBrowser } from './browser/launch-browser.mjs';
import { describeError } from './problem.mjs';
import { say } from './say.mjs';
import { serveSite } from './site-server.mjs';

const FIRST = 2;

/** Who asks, what they type, and which pages answer. */
const QUESTIONS = /** @type {readonly (readonly [string, string, ...string[]])[]} */ ([
  ['chooser', 'why not just use svix', '/hookferry', '/migrating'],
  ['chooser', 'is it production ready', '/hookferry'],
  ['chooser', 'how many webhooks per second', '/performance', '/benchmarks'],
  ['chooser', 'can I lose events if the server crashes', '/reliability'],
  ['chooser', 'coming from svix', '/migrating'],
  ['chooser', 'what may be lost power cut', '/reliability'],
  ['receiver', 'signature does not match', '/verifying-signatures', '/receive'],
  ['receiver', 'I get the same webhook twice', '/receive', '/recipes/idempotent-receiver'],
  ['receiver', 'test webhooks on localhost', '/listening', '/receive'],
  ['receiver', 'how many seconds to respond before timeout', '/receive', '/deliveries'],
  ['receiver', 'verify signature python', '/verifying-signatures'],
  ['receiver', 'how long are retries', '/deliveries'],
  ['receiver', 'duplicate events', '/receive'],
  ['receiver', 'source ip addresses firewall', '/api', '/deploying'],
  ['receiver', 'local development listen', '/listening'],
  ['receiver', 'idempotent receiver database', '/recipes/idempotent-receiver'],
  ['publisher', 'publish batch', '/publishing'],
  ['publisher', 'idempotency key', '/publishing'],
  ['publisher', 'add event type schema', '/event-types'],
  ['publisher', 'scheduled event deliver_at', '/scheduled-events'],
  ['integrator', 'create api key scopes', '/api-keys'],
  ['integrator', 'portal iframe embed', '/portal'],
  ['integrator', 'search events by data', '/finding', '/history'],
  ['on call', 'customer not receiving webhooks', '/nothing-arrives'],
  ['on call', 'redis out of memory', '/runbook', '/redis'],
  ['on call', 'queue keeps growing', '/runbook'],
  ['on call', 'resend everything that failed last night', '/replays', '/nothing-arrives'],
  ['on call', 'nothing arrives', '/nothing-arrives'],
  ['on call', 'pause deliveries', '/runbook'],
  ['on call', 'dead letters retry', '/dead-letters'],
  ['deployer', 'docker compose in production', '/deploying'],
  ['deployer', 'systemd unit nginx', '/server'],
  ['deployer', 'how much memory does redis need', '/performance', '/redis'],
  ['deployer', 'can I use AWS ElastiCache', '/redis'],
  ['deployer', 'update without downtime', '/upgrading'],
  ['deployer', 'redis maxmemory-policy noeviction', '/redis'],
  ['deployer', 'postgresql roles', '/postgresql'],
  ['deployer', 'restore a backup', '/backup'],
  ['deployer', 'upgrade rolling restart', '/upgrading'],
  ['contributor', 'how do I run a single test', '/contributing'],
  ['contributor', 'add a new route to the api', '/inside/adding', '/architecture', '/contributing'],
  ['contributor', 'where does the retry code live', '/architecture', '/contributing'],
  ['contributor', 'found a security hole', '/reporting'],
  ['contributor', 'good first issues', '/good-first-issues'],
  ['chooser', 'what does it cost per event', '/hookferry', '/benchmarks', '/performance'],
  ['chooser', 'try it without installing anything', '/packages/server', '/getting-started'],
  ['chooser', 'is it really free licence', '/hookferry', '/'],
  [
    'receiver',
    'reject old requests replay attack',
    '/verifying-signatures',
    '/receive',
    '/packages/receiver',
  ],
  ['receiver', 'receive webhooks in PHP', '/packages/php', '/verifying-signatures'],
  ['receiver', 'stop sending to my endpoint 410', '/receive', '/deliveries'],
  ['publisher', 'send only orders over 100 euros', '/filters'],
  ['publisher', 'post to slack channel as message', '/transformations', '/notifications'],
  ['publisher', 'send events in the right order', '/ordering'],
  ['publisher', 'cancel an event before it is sent', '/scheduled-events', '/reference/events'],
  ['integrator', 'who changed this webhook', '/audit-log'],
  ['integrator', 'email me when a webhook fails', '/notifications'],
  ['integrator', 'oauth token for the receiver', '/receiver-auth'],
  ['integrator', 'white label colours and logo of the portal', '/portal'],
  ['integrator', 'export to a data warehouse', '/export'],
  ['deployer', 'delete personal data GDPR', '/erasure'],
  ['deployer', 'keep deliveries for a year', '/history'],
  ['deployer', 'block requests to internal network SSRF', '/security', '/threat-model'],
  ['deployer', 'helm chart values autoscaling', '/kubernetes'],
  ['on call', 'one customer slows down all others', '/runbook', '/benchmarks', '/performance', '/hookferry'],
]);

if (process.argv[1] === import.meta.filename) {
  try {
    await askAll();
  } catch (error) {
    say('search', describeError(error));
    process.exitCode = 1;
  }
}

async function askAll() {
  const { url, close } = await serveSite();
  const browser = await launchBrowser();
  try {
    const page = await browser.newPage();
    await page.goto(`${url}/`);
    for (const [reader, question, ...answers] of QUESTIONS) {
      const found = await ask(page, question);
      const place = found.findIndex((each) => answers.includes(each.page));
      const first = found[0] === undefined ? 'nothing' : `${found[0].page} › ${found[0].title}`;
      const isFound = place !== -1 && place < FIRST;
      const where = place === -1 ? 'not found' : `number ${place + 1}`;
      say(
        'search',
        `${isFound ? 'ok ' : 'NO '} ${reader}: "${question}" → ${first}${place === 0 ? '' : ` (${answers.join(', ')}: ${where})`}`,
      );
      if (!isFound) process.exitCode = 1;
    }
  } finally {
    await browser.close();
    close();
  }
}

/**
 * Types it as a reader would, on a page that is loaded again, and reads what is listed: each page once, with the title of its
 * first section that was found.
 * @param {import('playwright-core').Page} page
 * @param {string} question
 */
async function ask(page, question) {
  // Or the box would begin with the question before, and its results.
  await page.evaluate('sessionStorage.clear()');
  await page.reload();
  await page.locator('#local-search button').click();
  await page.locator('.search-input').fill(question);
  await page.locator('.result, .no-results').first().waitFor();
  const results = await page.locator('a.result').evaluateAll((links) =>
    links.map((link) => ({
      page: (link.getAttribute('href') ?? '').replace(/(\.html)?(#.*)?$/, ''),
      title: (link.querySelector('.titles')?.textContent ?? '').replace(/\s+/g, ' ').trim(),
    })),
  );
  return results.filter((each, index) => results.findIndex((other) => other.page === each.page) === index);
}
