import { blocksOf, readPage } from './read-page';
import { Reader } from './reader';

describe('the page of CloudEvents', () => {
  let reader: Reader;
  beforeAll(async () => {
    reader = await Reader.start();
  });
  afterAll(() => reader.stop());

  it('shows an example that can be pasted, both ways', async () => {
    const page = await readPage('cloudevents.md');
    const [receive, register, publish, ...others] = blocksOf(page, 'sh').map((block) => reader.adapt(block));
    expect(others).toEqual([]);
    const { terminal } = reader;
    await terminal.paste(receive ?? '');
    await terminal.waitFor(/waiting for CloudEvents/);
    expect(await terminal.paste(register ?? '')).toContain('"format":"cloudevents_structured"');
    await terminal.waitFor(/got application\/cloudevents\+json .*"data":\{ "id": "ord_1"/);
    const [shown = ''] = blocksOf(page, 'text');
    await terminal.waitFor(patternOf(shown));
    const [first, second, ...more] =
      (await terminal.paste(publish ?? '')).match(/"ce_[\w-]{43}","type":"order.created","created_at"/g) ??
      [];
    expect([first, more]).toEqual([second, []]);
    await terminal.waitFor(/"subject":"ord_2"/);
  });
});

/** What the page shows, with anything in place of what differs from one run to the next. */
function patternOf(shown: string): RegExp {
  return new RegExp(shown.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll('…', '[^"]*'));
}
