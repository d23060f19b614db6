/** Those that the portal speaks, each by its own name. */
export const PORTAL_LANGUAGES = {
  en: 'English',
  ar: 'العربية',
  de: 'Deutsch',
  es: 'Español',
  fr: 'Français',
  ja: '日本語',
} as const;

export type PortalLanguage = keyof typeof PORTAL_LANGUAGES;

export const portalLanguages = Object.keys(PORTAL_LANGUAGES) as PortalLanguage[];
