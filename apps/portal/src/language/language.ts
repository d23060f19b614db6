import { i18n, type Messages } from '@lingui/core';

/** Those that the portal speaks, each by its own name. */
export const LANGUAGES = {
  en: 'English', // untranslated: its own name
} as const;

export type Language = keyof typeof LANGUAGES;

type MessageFile = () => Promise<{ readonly messages: Messages }>;

/** English stands in the code. */
const files: Partial<Record<Language, MessageFile>> = {};

const RIGHT_TO_LEFT: ReadonlySet<string> = new Set(['ar']);
const STORED_AS = 'hookferry.language';

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
  const file = await files[language]?.().catch(() => undefined);
  if (file) i18n.loadAndActivate({ locale: language, locales: [locale], messages: file.messages });
}

/** Loads the page again in another language, which this browser remembers. */
export function changeLanguage(chosen: Language): void {
  try {
    localStorage.setItem(STORED_AS, chosen);
  } catch {
    // A browser that stores nothing does not remember it.
  }
  window.location.reload();
}

/** The viewer's own choice, then what the address asks for, then what the browser prefers. */
function findLanguage(): Language {
  // Tests of single functions run without a page.
  if (typeof window === 'undefined') return 'en';
  const asked = new URLSearchParams(window.location.search).get('language');
  const wanted = [storedLanguage(), asked, ...viewersLanguages()];
  return wanted.map((one) => languageOf(one ?? '')).find((one) => one !== undefined) ?? 'en';
}

function languageOf(tag: string): Language | undefined {
  const [base = ''] = tag.toLowerCase().split('-');
  return Object.hasOwn(LANGUAGES, base) ? (base as Language) : undefined;
}

function viewersLanguages(): readonly string[] {
  return typeof window === 'undefined' ? [] : navigator.languages;
}

function storedLanguage(): string | null {
  try {
    return localStorage.getItem(STORED_AS);
  } catch {
    return null;
  }
}
