// @ts-check
import PO from 'pofile';

/** @typedef {{ readonly message: string, readonly context: string, readonly places: readonly string[] }} Text one in the code */

/**
 * The message file with these texts and no others. Translations stay; a new text comes without one.
 *
 * @param {string} source the file as it is
 * @param {string} language
 * @param {readonly Text[]} texts
 */
export function fileOf(source, language, texts) {
  const translations = translationsIn(PO.parse(source));
  const file = new PO();
  file.headers = {
    Language: language,
    'MIME-Version': '1.0',
    'Content-Type': 'text/plain; charset=utf-8',
    'Content-Transfer-Encoding': '8bit',
  };
  file.items = texts.map(({ message, context, places }) => {
    const item = new PO.Item();
    item.msgid = message;
    if (context !== '') item.msgctxt = context;
    item.msgstr = [translations.get(`${context}\n${message}`) ?? ''];
    item.references = [...places];
    return item;
  });
  return file;
}

/** @param {PO} file */
function translationsIn({ items }) {
  return new Map(
    items.map(({ msgid, msgctxt, msgstr: [text = ''] }) => [`${msgctxt ?? ''}\n${msgid}`, text]),
  );
}

/** Texts without a translation, and translations that lost or gained a value or a tag. @param {string} source @param {string} language @param {readonly Text[]} texts @returns {readonly string[]} */
export function faultsOf(source, language, texts) {
  if (fileOf(source, language, texts).toString() !== source) return ['not up to date. Run: npm run generate'];
  return PO.parse(source).items.flatMap(({ msgid, msgstr: [translation = ''] }) => {
    if (translation === '') return [`no translation of: ${msgid}`];
    const [parts, translated] = [partsOf(msgid), partsOf(translation)];
    const lost = parts.filter((part) => !translated.includes(part));
    const added = translated.filter((part) => !parts.includes(part));
    return [...lost, ...added].map((part) => `${part} is in one only of “${msgid}” and “${translation}”`);
  });
}

/** Names of values, and tags. @param {string} message */
function partsOf(message) {
  const names = [...message.matchAll(/\{(\w+)\s*[,}]/g)].map(([, name]) => `{${name}}`);
  const tags = [...message.matchAll(/<\/?\w+\/?>/g)].map(([tag]) => tag);
  return [...new Set([...names, ...tags])];
}
