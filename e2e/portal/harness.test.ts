import { checkAccessibility } from './support/check-accessibility';
import { usePortal } from './support/use-portal';

const portal = usePortal({ workers: 0 });

it('shows the description of the API without a fault', async () => {
  const page = await portal().open('/docs');
  await page.locator('h1').first().waitFor();
  expect(await page.title()).toBe('Hookferry API');
});

it('fails a test whose page asks another host, or breaks its policy, or throws', async () => {
  const page = await portal().open('/healthz');
  const faults = portal().faultsOf(page);
  await page.evaluate(`void fetch('http://127.0.0.2:9/').catch(() => undefined)`);
  await faults.waitFor(/^content security policy: connect-src refused http:\/\/127\.0\.0\.2:9/);
  await faults.waitFor(/^console: Connecting to .* violates/);
  await faults.waitFor(/^console: Fetch API cannot load/);
  await page.evaluate(`setTimeout(() => { throw new Error('thrown on purpose') })`);
  await faults.waitFor(/^uncaught: Error: thrown on purpose/);
  await page.goto(`${portal().client.baseUrl}/v1/webhooks`);
  expect(() => faults.check()).toThrow(/responded with 401: GET .*\/v1\/webhooks/);
  await faults.waitFor(/responded with 401/);
  faults.expect(/never/);
  expect(() => faults.check()).toThrow(/did not come: \/never\//);
  await page.evaluate(`console.error('never say never')`);
});

it('looks for what is not accessible once the page shows its heading', async () => {
  const page = await portal().open('/healthz');
  await page.evaluate(`document.title = document.documentElement.lang = 'en'`);
  await page.evaluate(`document.body.innerHTML = '<main><h1 hidden>Loaded</h1></main>'`);
  await page.evaluate(`setTimeout(() => { document.querySelector('h1').hidden = false }, 300)`);
  await checkAccessibility(page);
});

it('finds what is not accessible, in the theme that it is in', async () => {
  const page = await portal().open('/healthz');
  await page.evaluate(`document.title = document.documentElement.lang = 'en'`);
  await page.evaluate(`document.body.innerHTML = '<main><h1>Ordinary</h1></main>'`);
  await checkAccessibility(page);
  await page.evaluate(`matchMedia('(prefers-color-scheme: dark)').addEventListener('change', ({ matches }) => {
    if (matches) document.querySelector('main').innerHTML = '<h1>Dark</h1><input>';
  })`);
  await expect(checkAccessibility(page)).rejects.toThrow(/\(dark\):\nlabel/);
});
