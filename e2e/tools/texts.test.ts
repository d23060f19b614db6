import { faultsOf, fileOf } from '../../tools/texts/message-file.mjs';
import { findPlainTexts } from '../../tools/texts/plain-texts.mjs';

/** The texts that it finds, without their places. */
const found = (code: string) =>
  findPlainTexts(code, 'page.tsx').map((line) => /“(.*)”\. Write/.exec(line)?.[1]);

describe('the check for plain texts', () => {
  it.each([
    ['<p>Not here</p>', 'Not here'],
    ["<p>{isNew ? 'new' : <Time />}</p>", 'new'],
    ['<Field label="Name" />', 'Name'],
    ['<select aria-label="Theme"><option>dark</option></select>', 'Theme', 'dark'],
    ["const text = 'It is held';", 'It is held'],
    ['const text = `Delete ${name}`;', 'Delete {}'],
    ['const text = `${count} min`;', '{} min'],
    ["const facts = { Created: at, 'Last try': tried };", 'Created', 'Last try'],
    ["const cell = at === null ? 'never' : <Time />;", 'never'],
  ])('finds those of %s', (code, ...texts) => {
    expect(found(code)).toEqual(texts);
  });

  it.each([
    '<Trans>Not here</Trans>',
    '<p>{t`Not here`}</p>',
    "plural(count, { one: '# webhook', other: '# webhooks' })",
    '<code>Authorization: Bearer</code>',
    '<a href="/deliveries" className="link wide" />',
    "if (kind === 'Not here') throw new Error('It is not here.');",
    "import { Page } from 'some package';",
    "type Kind = 'Not here';",
    "const name = 'Hookferry'; // untranslated: a name",
    'const header = { authorization: `Basic` }; // untranslated: a header',
    'const keys = { Enter: open, Escape: close };',
    'const path = `M${x} ${y}`;',
  ])('leaves out those of %s', (code) => {
    expect(found(code)).toEqual([]);
  });

  it('says where a text is, and what to write', () => {
    expect(findPlainTexts('\n<p>Not here</p>', 'page.tsx')).toEqual([
      'page.tsx:2: plain text “Not here”. Write t`…` or <Trans>…</Trans>.',
    ]);
  });
});

describe('a message file', () => {
  const text = (message: string, context = '') => ({ message, context, places: ['page.tsx'] });
  const translated = (...pairs: readonly (readonly [message: string, translation: string])[]) => {
    const file = fileOf(
      '',
      'de',
      pairs.map(([message]) => text(message)),
    );
    for (const item of file.items) item.msgstr = [pairs.find(([one]) => one === item.msgid)?.[1] ?? ''];
    return file.toString();
  };

  it('gets new texts without a translation, loses those that are gone, and keeps the others', () => {
    const before = translated(['Name', 'Name'], ['Gone', 'Weg']);
    const { items } = fileOf(before, 'de', [text('Name'), text('New')]);
    expect(items.map(({ msgid, msgstr }) => [msgid, ...msgstr])).toEqual([
      ['Name', 'Name'],
      ['New', ''],
    ]);
  });

  it('tells two meanings of a text apart', () => {
    const { items } = fileOf(translated(['From', 'Von']), 'de', [text('From'), text('From', 'time')]);
    expect(items.map(({ msgctxt, msgstr }) => [msgctxt ?? '', ...msgstr])).toEqual([
      ['', 'Von'],
      ['time', ''],
    ]);
  });

  it('is refused when it is not up to date, or lacks a translation, a value or a tag', () => {
    const good = translated(['{count} of <0>{all}</0>', '<0>{all}</0>, davon {count}']);
    expect(faultsOf(good, 'de', [text('{count} of <0>{all}</0>')])).toEqual([]);
    expect(faultsOf(good, 'de', [text('New')])).toEqual(['not up to date. Run: npm run generate']);
    expect(faultsOf(translated(['Name', '']), 'de', [text('Name')])).toEqual(['no translation of: Name']);
    const lost = translated(['{count} of <0>all</0>', '{number} von allen']);
    expect(faultsOf(lost, 'de', [text('{count} of <0>all</0>')]).map((fault) => fault.split(' ')[0])).toEqual(
      ['{count}', '<0>', '</0>', '{number}'],
    );
  });
});
