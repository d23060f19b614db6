import { PORTAL_LANGUAGES, type PortalLanguage } from '@hookferry/core/domain/portal-languages';
import { i18n, type Messages } from '@lingui/core';

type MessageFile = () => Promise<{ readonly messages: Messages }>;

/** English stands in the code. */
const files: Readonly<Record<Exclude<PortalLanguage, 'en'>, MessageFile>> = {
  ar: async () => await import('./messages/ar.po'),
  de: async () => await import('./messages/de.po'),
  es: async () => await import('./messages/es.po'),
  fr: async () => await import('./messages/fr.po'),
  ja: async () => await import('./messages/ja.po'),
};

const RIGHT_TO_LEFT: ReadonlySet<string> = new Set(['ar']);
const STORED_AS = 'hookferry.language';
const PARAMETER = 'language';
// What may stand in the tag of a language.
const TAG = /^[a-z0-9-]*/i;

const asked = takeAsked();

/** The page around this one has a language, so that its viewer can't choose another one here. */
export const isLanguageGiven = asked !== undefined && window.parent !== window;

/** It stays as it is until the page is loaded again: texts may be constants. */
export const language = findLanguage();

export const direction = RIGHT_TO_LEFT.has(language) ? 'rtl' : 'ltr';

// Digits and days as in ids, URLs and UTC times, which stand beside them.
const WITH_LATIN_DIGITS = { numberingSystem: 'latn', calendar: 'gregory' };

/** How numbers and times are written: as the viewer's own region does, where it has this language. */
export const locale = new Intl.Locale(
  viewersLanguages().find((one) => languageOf(one) === language) ?? language,
  direction === 'rtl' ? WITH_LATIN_DIGITS : {},
).toString();

// Those with values come compiled: what is a text is one as it stands.
i18n.setMessagesCompiler((text) => [text]);
i18n.loadAndActivate({ locale: language, locales: [locale], messages: {} });

export { i18n };

/** Without its message file the portal speaks English. */
export async function loadLanguage(): Promise<void> {
  document.documentElement.lang = language;
  document.documentElement.dir = direction;
  const file = language === 'en' ? undefined : await files[language]().catch(() => undefined);
  if (file) i18n.loadAndActivate({ locale: language, locales: [locale], messages: file.messages });
}

/** Loads the page again in the language that its viewer has chosen, which this browser remembers. */
export function chooseLanguage(chosen: PortalLanguage): void {
  write('localStorage', chosen);
  window.location.reload();
}

/** Loads the page again in the language of the page around it. One that the portal does not speak changes nothing. */
export function giveLanguage(tag: string): void {
  const given = languageOf(tag);
  if (given === undefined || given === language) return;
  const address = new URL(window.location.href);
  // A frame may have no storage to remember it in.
  address.searchParams.set(PARAMETER, given);
  window.location.replace(address);
}

/**
 * The viewer's own choice, then what the address asks for, then what the browser prefers. In a frame the page around it, which
 * knows its reader's choice, comes first.
 */
function findLanguage(): PortalLanguage {
  const chosen = languageOf(read('localStorage'));
  const wanted = isLanguageGiven ? asked : (chosen ?? asked);
  return (
    wanted ??
    viewersLanguages()
      .map(languageOf)
      .find((one) => one !== undefined) ??
    'en'
  );
}

/** What the address asks for, which holds for its tab: the pages have addresses without it. */
function takeAsked(): PortalLanguage | undefined {
  // Tests of single functions run without a page.
  if (typeof window === 'undefined') return undefined;
  const address = new URL(window.location.href);
  const tag = address.searchParams.get(PARAMETER);
  if (tag === null) return languageOf(read('sessionStorage'));
  address.searchParams.delete(PARAMETER);
  window.history.replaceState(window.history.state, '', address);
  const found = languageOf(tag);
  if (found) write('sessionStorage', found);
  return found;
}

function languageOf(tag: string | null): PortalLanguage | undefined {
  const [base = ''] = (tag ?? '').toLowerCase().split('-');
  return Object.hasOwn(PORTAL_LANGUAGES, base) ? (base as PortalLanguage) : undefined;
}

/** Without what some browsers take over from their system, such as `@posix`: Intl throws on it, and there would be no page. */
function viewersLanguages(): readonly string[] {
  return typeof window === 'undefined' ? [] : navigator.languages.map((one) => TAG.exec(one)?.[0] ?? '');
}

function read(storage: 'localStorage' | 'sessionStorage'): string | null {
  try {
    return globalThis[storage].getItem(STORED_AS);
  } catch {
    return null;
  }
}

function write(storage: 'localStorage' | 'sessionStorage', chosen: PortalLanguage): void {
  try {
    globalThis[storage].setItem(STORED_AS, chosen);
  } catch {
    // A browser that stores nothing does not remember it.
  }
}
