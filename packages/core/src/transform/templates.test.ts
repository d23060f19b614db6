import { buildEndpoint } from '../testing/build-endpoint';
import { buildEvent } from '../testing/build-event';
import { testTransformLimits } from '../testing/test-transform-limits';
import { runTransformation } from './run-transformation';
import { transformationTemplates } from './templates';
import { TransformPool } from './transform-pool';

const transformPool = new TransformPool({ limits: testTransformLimits, emit: () => {} });
afterAll(() => transformPool.close());

const SMALL = { order: 4711, note: 'a <b> & "c"' };
const MEMBERS = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`m${i}`, i]));
// Longer than any receiver takes, and with characters that take two units.
const LARGE = { ...SMALL, text: '🚀'.repeat(20_000), ...MEMBERS };

async function send(name: string, data: unknown): Promise<string> {
  const code = transformationTemplates.find((each) => each.name === name)?.code ?? '';
  const endpoint = buildEndpoint({ metadata: { routing_key: 'r'.repeat(32) } });
  const event = buildEvent({ body: JSON.stringify({ type: 'order.created', data }) });
  const result = await runTransformation({ transformPool }, code, { event, endpoint, attempt: 1 });
  if (result.kind !== 'made') throw new Error(JSON.stringify(result));
  return result.body;
}

const parsed = async (name: string, data: unknown) => JSON.parse(await send(name, data));

describe.each([
  ['a small event', SMALL],
  ['an event that is longer than what the receiver takes', LARGE],
])('of %s', (_what, data) => {
  it('makes a message of Slack: 150 characters of a header, 3,000 of a section, 40,000 in all', async () => {
    const { text, blocks } = await parsed('slack', data);
    expect(text.length).toBeLessThanOrEqual(40_000);
    expect(blocks[0].text.text.length).toBeLessThanOrEqual(150);
    expect(blocks[1].text.text.length).toBeLessThanOrEqual(3_000);
    // The characters that Slack reads as its own.
    expect(blocks[1].text.text).not.toMatch(/[<>]/);
  });

  it('makes a message of Discord: 256 characters of a title, 4,096 of a description, 6,000 in all', async () => {
    const { embeds, allowed_mentions: mentions } = await parsed('discord', data);
    const [{ title, description, footer }] = embeds;
    expect(title.length).toBeLessThanOrEqual(256);
    expect(description.length).toBeLessThanOrEqual(4_096);
    expect((title + description + footer.text).length).toBeLessThanOrEqual(6_000);
    expect(mentions).toEqual({ parse: [] });
  });

  it('makes a card of Teams: 28 KB', async () => {
    const body = await send('teams', data);
    expect(Buffer.byteLength(body)).toBeLessThanOrEqual(28 * 1024);
    expect(JSON.parse(body).attachments[0].content.type).toBe('AdaptiveCard');
  });

  it('makes a message of Google Chat: 4,096 characters', async () => {
    const { text } = await parsed('google-chat', data);
    expect(text.length).toBeLessThanOrEqual(4_096);
  });

  it('makes an alert of PagerDuty: 1,024 characters of a summary, 255 of its key, 512 KB', async () => {
    const body = await send('pagerduty', data);
    const { payload, dedup_key: key, event_action: action, routing_key: routing } = JSON.parse(body);
    expect(Buffer.byteLength(body)).toBeLessThanOrEqual(512 * 1024);
    expect(payload.summary.length).toBeLessThanOrEqual(1_024);
    expect(key.length).toBeLessThanOrEqual(255);
    expect([action, payload.severity, routing]).toEqual(['trigger', 'info', 'r'.repeat(32)]);
  });

  it('makes one line of CSV', async () => {
    const line = await send('csv', data);
    expect(line.endsWith('\r\n')).toBe(true);
    // RFC 4180: a field with a quote in it is quoted, and the quote doubled.
    expect(line).toContain(`"a <b> & ""c"""`);
    expect(line.slice(0, -2)).not.toMatch(/[\r\n]/);
  });
});
