import { loadLanguage } from './language';

// Each module that has texts imports this one, by its macros: so its constants are in the viewer's language, too.
await loadLanguage();

export { i18n } from './language';
