import { t } from '@lingui/core/macro';
import { useState } from 'react';
import { Button } from '../components/button';
import { TextField } from '../components/field';
import { Problem, type ProblemWords } from '../components/problem';
import { LanguageSwitch } from '../session/language-switch';
import { entryUrl } from './portal-settings';
import { useSessionStore } from './session-context';
import type { SignIn } from './sign-in';
import styles from './sign-in-page.module.css';

export interface SignInPageProps {
  readonly signIn: SignIn;
  /** Why the link that was used gave no session. */
  readonly error: Error | undefined;
}

const LINK_WORDS: ProblemWords = { unauthenticated: [t`This link does not work any more`] };
/** People with a key see the API's own words. */
const KEY_WORDS: ProblemWords = {};

export function SignInPage({ signIn, error }: SignInPageProps) {
  const isFramed = window.parent !== window;
  const { settings } = useSessionStore();
  const entry = isFramed ? undefined : entryUrl(settings);
  const { operatorName } = settings;
  return (
    <main className={styles['page']} id="content">
      <h1>{operatorName === undefined ? t`Webhooks` : t`Webhooks of ${operatorName}`}</h1>
      {error && <Problem error={error} words={LINK_WORDS} />}
      <p>
        {isFramed
          ? t`This part of the page needs a new session. Reload the page if it does not appear by itself.`
          : t`This page is opened by a link that works once. Go back to where you found it, and open it again. A session ends with its tab: a new tab, or a page that is loaded again, has none.`}
      </p>
      {entry !== undefined && (
        <p>
          <a href={entry}>
            {operatorName === undefined ? t`Open it again` : t`Open it again at ${operatorName}`}
          </a>
        </p>
      )}
      {!isFramed && <KeyForm signIn={signIn} />}
      <LanguageSwitch />
    </main>
  );
}

function KeyForm({ signIn }: Pick<SignInPageProps, 'signIn'>) {
  const store = useSessionStore();
  const [key, setKey] = useState('');
  const [error, setError] = useState<Error>();
  const [isBusy, setIsBusy] = useState(false);

  const submit = async () => {
    setIsBusy(true);
    setError(undefined);
    try {
      store.begin(await signIn.byKey(key));
    } catch (failure) {
      setError(failure instanceof Error ? failure : new Error(String(failure)));
      setIsBusy(false);
    }
    setKey('');
  };

  return (
    <form
      className={styles['form']}
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <h2>{t`For operators`}</h2>
      <TextField
        label={t`API key`}
        type="password"
        autoComplete="off"
        required
        hint={t`It is used once, to open a session, and is not stored. It needs the scope portal:write.`}
        value={key}
        onChange={(event) => setKey(event.target.value)}
      />
      {error && <Problem error={error} words={KEY_WORDS} />}
      <Button type="submit" kind="primary" isBusy={isBusy}>
        {t`Sign in`}
      </Button>
    </form>
  );
}
