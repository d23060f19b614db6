import { PORTAL_LANGUAGES, type PortalLanguage } from '@hookferry/core/domain/portal-languages';
import { t } from '@lingui/core/macro';
import { chooseLanguage, isLanguageGiven, language } from '../language/language';
import { useSessionStore } from './session-context';

const offered = Object.entries(PORTAL_LANGUAGES);

/** Nothing, where the page around has the choice. */
export function LanguageSwitch() {
  const session = useSessionStore();
  if (isLanguageGiven || offered.length === 1) return null;
  return (
    <select
      aria-label={t`Language`}
      value={language}
      onChange={({ target }) => {
        session.outliveReload();
        chooseLanguage(target.value as PortalLanguage);
      }}
    >
      {offered.map(([tag, name]) => (
        <option key={tag} value={tag} lang={tag}>
          {name}
        </option>
      ))}
    </select>
  );
}
