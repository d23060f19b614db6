import mark from '@docs/images/mark.svg';
import { t } from '@lingui/core/macro';
import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { Link, useLocation } from 'wouter';
import { Button } from '../components/button';
import { useIsNarrow } from '../components/use-is-narrow';
import { LiveIndicator } from '../live/live-indicator';
import { OutageNotice } from '../live/outage-notice';
import { AccountSwitcher } from '../session/account-switcher';
import { useFrame, useFrameView } from '../session/frame-context';
import { LanguageSwitch } from '../session/language-switch';
import type { SessionTheme } from '../session/session';
import { SessionBanner } from '../session/session-banner';
import { useCan, useSession } from '../session/session-context';
import { ErrorBoundary } from './error-boundary';
import { Find } from './find';
import { customerEntries, type NavigationEntry, operatorEntries } from './navigation';
import { PausedBanner } from './paused-banner';
import styles from './shell.module.css';
import { useTheme } from './theme';
import { ThemeSwitch } from './theme-switch';

/** Header, navigation and search around every page. */
export function Shell({ children }: { readonly children: ReactNode }) {
  const { theme } = useSession();
  const [mode, setMode] = useTheme(theme);
  const isOperator = useCan('operate');
  const [location] = useLocation();
  const queries = useQueryClient();
  const main = useFocusOnChange(location);
  const frame = useFrame();
  const { hidesNavigation } = useFrameView();
  useTellPlace(location);
  const isNarrow = useIsNarrow();
  const entries = (
    <>
      <Entries entries={customerEntries} location={location} />
      {isOperator && <span className={styles['divider']} aria-hidden="true" />}
      {isOperator && <Entries entries={operatorEntries} location={location} />}
    </>
  );
  const settings = (
    <>
      {isOperator && <AccountSwitcher />}
      {setMode && <ThemeSwitch mode={mode} onChange={setMode} />}
      <LanguageSwitch />
    </>
  );
  return (
    <>
      <a className={styles['skip']} href="#content" onClick={() => main.current?.focus()}>
        {t`Skip to the content`}
      </a>
      <SessionBanner />
      {isOperator && <PausedBanner />}
      <OutageNotice />
      {!hidesNavigation && (
        <header className={`${styles['header']} ${isOperator ? styles['operator'] : ''}`}>
          <p className={styles['brand']}>
            <Brand theme={theme} />
          </p>
          {isNarrow ? (
            <Menu location={location}>
              {entries}
              {settings}
            </Menu>
          ) : (
            <nav className={styles['navigation']} aria-label={t`Pages`}>
              {entries}
            </nav>
          )}
          <div className={styles['tools']}>
            <Find />
            {!isNarrow && settings}
            <LiveIndicator />
          </div>
        </header>
      )}
      <main id="content" ref={main} tabIndex={-1} className={styles['main']}>
        {/* The data that broke the page may be in the cache: they are asked for again. */}
        <ErrorBoundary
          place={location}
          onRetry={() => queries.removeQueries({ type: 'inactive' })}
          onError={({ message }) =>
            frame.tell({ type: 'hookferry:failed', code: 'page_broken', detail: message })
          }
        >
          {children}
        </ErrorBoundary>
      </main>
    </>
  );
}

/** The customer's own name and logo, where the session has them. */
function Brand({ theme }: { readonly theme: SessionTheme }) {
  const logo = theme.logo ?? (theme.name === undefined ? mark : undefined);
  return (
    <>
      {/* Nothing may move when the mark comes, which is a file; a customer's logo comes with the session. */}
      {logo && <img className={styles['logo']} src={logo} alt="" {...(logo === mark && { width: 24 })} />}
      {/* untranslated: a name */ theme.name ?? 'Hookferry'}
    </>
  );
}

interface MenuProps {
  readonly location: string;
  readonly children: ReactNode;
}

/** On phones: the pages, and what is set for all of them, behind a button. Escape, and going somewhere, close it. */
function Menu({ location, children }: MenuProps) {
  const button = useRef<HTMLButtonElement>(null);
  // On another page it is closed.
  const [openedAt, setOpenedAt] = useState<string>();
  const isOpen = openedAt === location;
  const close = () => setOpenedAt(undefined);
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- it hears what bubbles up from what is in it
    <nav
      className={styles['phone']}
      aria-label={t`Pages`}
      onBlur={({ currentTarget, relatedTarget }) => {
        if (relatedTarget && !currentTarget.contains(relatedTarget)) close();
      }}
      onClick={({ target }) => {
        if (target instanceof Element && target.closest('a')) close();
      }}
      onKeyDown={({ key }) => {
        if (key !== 'Escape' || !isOpen) return;
        close();
        button.current?.focus();
      }}
    >
      <Button
        ref={button}
        aria-expanded={isOpen}
        aria-controls="menu"
        onClick={() => (isOpen ? close() : setOpenedAt(location))}
      >
        {t`Menu`}
      </Button>
      <div id="menu" className={styles['menu']} hidden={!isOpen}>
        {children}
      </div>
    </nav>
  );
}

interface EntriesProps {
  readonly entries: readonly NavigationEntry[];
  readonly location: string;
}

function Entries({ entries, location }: EntriesProps) {
  const { capabilities } = useSession();
  const allowed = entries.filter(({ needs }) => needs === undefined || capabilities.includes(needs));
  return allowed.map(({ path, label }) => {
    const isCurrent = location === path || location.startsWith(`${path}/`);
    return (
      <Link
        key={path}
        href={path}
        className={styles['entry']}
        aria-current={isCurrent ? 'page' : undefined}
        data-label={label}
      >
        {label}
      </Link>
    );
  });
}

/** The page around gets to know which page is shown. */
function useTellPlace(path: string): void {
  const frame = useFrame();
  const wasReady = useRef(false);
  useEffect(() => {
    frame.tell({ type: wasReady.current ? 'hookferry:navigated' : 'hookferry:ready', path });
    wasReady.current = true;
  }, [frame, path]);
}

/** On another page the focus goes to its beginning, as it would if the page had been loaded. */
function useFocusOnChange(location: string) {
  const element = useRef<HTMLElement>(null);
  const former = useRef(location);
  useEffect(() => {
    if (former.current === location) return;
    former.current = location;
    window.scrollTo(0, 0);
    element.current?.focus({ preventScroll: true });
  }, [location]);
  return element;
}
