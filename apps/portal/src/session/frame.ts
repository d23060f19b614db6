import type { PageMessage, PortalMessage } from '@hookferry/portal';
import { codeOf } from './sign-in';

/** How the page around wants the portal to be shown. */
export interface FrameView {
  readonly hidesNavigation: boolean;
  readonly mode?: 'light' | 'dark' | 'system' | undefined;
}

const USUAL_VIEW: FrameView = { hidesNavigation: false };

type Listener = () => void;

/** How the portal takes what the page around sends. */
interface Taken {
  code(code: string): void;
  path(path: string): void;
  language(tag: string): void;
}

/**
 * The page around this one, if its origin may frame it. Nothing is told to, and nothing taken from, any other origin. Messages
 * choose among fixed values: no text of them becomes part of the page or of a style.
 */
export class Frame {
  readonly #isFramed = window.parent !== window;
  readonly #listeners = new Set<Listener>();
  /** Undefined until the service's settings are read: nobody can be told anything before. */
  #origins: readonly string[] | undefined;
  #view = USUAL_VIEW;
  #waiting: PortalMessage[] = [];
  #height = 0;

  /**
   * Begins to listen, and to tell the height of the content.
   *
   * @param origins those of pages that may show this one in a frame, from the service's settings
   */
  connect(origins: readonly string[], take: Taken): void {
    if (!this.#isFramed) return;
    // Browsers complain of each message to an origin that is not there, so the one that is known to be there is taken.
    const parent = window.location.ancestorOrigins?.[0];
    const known = parent === undefined ? origins : origins.filter((origin) => origin === parent);
    this.#origins = known;
    window.addEventListener('message', ({ data, origin, source }: MessageEvent<unknown>) => {
      if (source !== window.parent || !known.includes(origin)) return;
      const message = messageIn(data);
      if (message?.type === 'hookferry:session') {
        const code = message.code ?? codeOf(message.url ?? '');
        if (code !== undefined) take.code(code);
      } else if (message?.type === 'hookferry:view') {
        this.#show(message);
        if (message.path !== undefined && isPath(message.path)) take.path(message.path);
        if (message.language !== undefined) take.language(message.language);
      }
    });
    for (const message of this.#waiting.splice(0)) this.tell(message);
    this.#watchHeight();
  }

  /** Tells the page around. Only an origin of the list can read it. */
  tell(message: PortalMessage): void {
    if (!this.#isFramed) return;
    if (!this.#origins) this.#waiting.push(message);
    for (const origin of this.#origins ?? []) window.parent.postMessage(message, origin);
  }

  readonly subscribe = (listener: Listener): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly readView = (): FrameView => this.#view;

  #show({ navigation, mode, visible }: Extract<PageMessage, { type: 'hookferry:view' }>): void {
    if (visible) showVisible(visible.top, visible.height);
    if (navigation === undefined && mode === undefined) return;
    this.#view = {
      hidesNavigation: navigation === undefined ? this.#view.hidesNavigation : navigation === 'hidden',
      mode: mode === undefined ? this.#view.mode : mode,
    };
    for (const listener of this.#listeners) listener();
  }

  // The content's, which does not grow with the frame: so no answer of the page around asks for another one.
  #watchHeight(): void {
    const content = document.getElementById('root');
    if (!content) return;
    new ResizeObserver(() => {
      const height = Math.ceil(content.getBoundingClientRect().height);
      if (height === this.#height) return;
      this.#height = height;
      this.tell({ type: 'hookferry:height', height });
      // The box that is measured: padding counts.
    }).observe(content, { box: 'border-box' });
  }
}

/** Dialogs and notes go to the part that is seen: the frame may be higher than the window around it. */
function showVisible(top: number, height: number): void {
  const { style } = document.documentElement;
  style.setProperty('--visible-top', `${top}px`);
  style.setProperty('--visible-height', `${height}px`);
}

const MODES = ['light', 'dark', 'system'] as const;
// More than any frame has.
const MOST_PIXELS = 100_000;

/** The message in what came from the page around; a member that is not valid counts as absent. */
function messageIn(data: unknown): PageMessage | undefined {
  if (typeof data !== 'object' || data === null) return undefined;
  const { type, code, url, navigation, mode, path, language, visible } = data as Readonly<
    Record<string, unknown>
  >;
  if (type === 'hookferry:session') {
    if (typeof code === 'string') return { type, code };
    return typeof url === 'string' ? { type, url } : undefined;
  }
  if (type !== 'hookferry:view') return undefined;
  const seen = visibleIn(visible);
  const known = MODES.find((one) => one === mode);
  return {
    type,
    ...((navigation === 'hidden' || navigation === 'shown') && { navigation }),
    ...(known && { mode: known }),
    ...(typeof path === 'string' && { path }),
    ...(typeof language === 'string' && { language }),
    ...(seen && { visible: seen }),
  };
}

function visibleIn(visible: unknown) {
  if (typeof visible !== 'object' || visible === null) return undefined;
  const { top, height } = visible as Readonly<Record<string, unknown>>;
  return isPixels(top) && isPixels(height) ? { top, height } : undefined;
}

function isPixels(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= MOST_PIXELS;
}

/** One within the portal: two slashes would lead to another host. */
function isPath(path: string): boolean {
  return /^\/(?![/\\])/.test(path);
}
