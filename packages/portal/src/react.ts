import { type CSSProperties, createElement, type ReactElement, useEffect, useRef } from 'react';
import type { HookferryPortalElement, HookferryPortalEvents, PortalMode, SessionSource } from './index.ts';
import './portal-element.ts';

export interface HookferryPortalProps {
  /** The address of the service, such as `https://hooks.example.com`. */
  readonly baseUrl: string;
  /** Where new links come from. It may be another function at each rendering. */
  readonly session: SessionSource;
  /** The page that is shown first, such as `/webhooks`; a change leads there. Default: `/`. */
  readonly page?: string;
  /** Without the portal's header. Default: `false`. */
  readonly hideNavigation?: boolean;
  /** Light or dark, as your page is now. Default: the mode in the session's theme. */
  readonly mode?: PortalMode;
  /** The language of your page, such as `en`. Default: the choice of the viewer, or the browser's. */
  readonly language?: string;
  /** In CSS pixels; higher content is scrolled within. Default: 3,000. */
  readonly maxHeight?: number;
  /** What screen readers call the frame. Default: "Webhooks". */
  readonly label?: string;
  readonly onReady?: (detail: HookferryPortalEvents['ready']) => void;
  readonly onNavigated?: (detail: HookferryPortalEvents['navigated']) => void;
  readonly onCreated?: (detail: HookferryPortalEvents['created']) => void;
  readonly onFailed?: (detail: HookferryPortalEvents['failed']) => void;
  readonly className?: string;
  readonly style?: CSSProperties;
}

/** `<hookferry-portal>` for React: the portal in a frame that is as high as its content. */
export function HookferryPortal(props: HookferryPortalProps): ReactElement {
  const { baseUrl, session, page = '/', hideNavigation = false, mode, maxHeight, label = 'Webhooks' } = props;
  const { language, className, style } = props;
  const ref = useRef<HookferryPortalElement>(null);
  const latest = useRef(props);
  useEffect(() => {
    latest.current = props;
  });

  useEffect(() => {
    const element = ref.current;
    if (!element) return undefined;
    const end = new AbortController();
    const options = { signal: end.signal };
    element.addEventListener('ready', ({ detail }) => latest.current.onReady?.(detail), options);
    element.addEventListener('navigated', ({ detail }) => latest.current.onNavigated?.(detail), options);
    element.addEventListener('created', ({ detail }) => latest.current.onCreated?.(detail), options);
    element.addEventListener('failed', ({ detail }) => latest.current.onFailed?.(detail), options);
    return () => end.abort();
  }, []);

  useEffect(() => {
    if (ref.current) Object.assign(ref.current, { page, hideNavigation, mode, language });
  }, [page, hideNavigation, mode, language]);
  useEffect(() => {
    if (ref.current && maxHeight !== undefined) ref.current.maxHeight = maxHeight;
  }, [maxHeight]);
  // Last: with both it begins.
  useEffect(() => {
    if (ref.current) Object.assign(ref.current, { session, baseUrl });
  }, [session, baseUrl]);

  // React 18 gives such an element the attribute `class` by this name alone.
  return createElement('hookferry-portal', { ref, class: className, style, label });
}
