import type { HookferryPortalEvents, PageMessage, PortalMessage } from './messages.ts';
import { PortalError } from './session-link.ts';

export const LEAST_HEIGHT = 320;
/** A portal that may not be framed here is silent. */
const SILENCE_MS = 15_000;
/** Sessions that end at once are no reason to ask for others without end. */
const SESSIONS = { most: 5, withinMs: 60_000 };
/** Dialogs need some room: with less of the frame in view they stay where they are. */
const LEAST_VISIBLE = 200;

type View = Omit<Extract<PageMessage, { type: 'hookferry:view' }>, 'type'>;

interface FrameParts {
  readonly baseUrl: string;
  readonly root: ShadowRoot;
  readonly page: string;
  readonly language: string | undefined;
  readonly label: string;
  readonly maxHeight: number;
  /** As it is wanted now. */
  view(): View;
  newLink(): Promise<URL>;
  emit<Name extends keyof HookferryPortalEvents>(name: Name, detail: HookferryPortalEvents[Name]): void;
  onNavigated(): void;
}

/** One frame, from its start to its end. */
export class RunningFrame {
  readonly #frame = document.createElement('iframe');
  readonly #origin: string;
  readonly #end = new AbortController();
  readonly #silence: ReturnType<typeof setTimeout>;
  #height = LEAST_HEIGHT;
  #maxHeight: number;
  /** Asked for while the portal is loaded. */
  #firstLink: Promise<URL> | undefined;
  #sessionTimes: readonly number[] = [];
  #visible = '';
  /** Before its first message there is nobody in the frame to speak to. */
  #isHeard = false;
  #isPlanned = false;

  constructor(private readonly parts: FrameParts) {
    const { baseUrl, root, page, language, label, maxHeight } = parts;
    const { signal } = this.#end;
    this.#origin = new URL(baseUrl).origin;
    this.#maxHeight = maxHeight;
    this.#firstLink = parts.newLink();
    // It is awaited when the portal asks for it.
    this.#firstLink.catch(() => undefined);
    window.addEventListener('message', (event) => this.#hear(event), { signal });
    // Also that of elements within the page.
    window.addEventListener('scroll', this.#tellVisibleSoon, { signal, capture: true, passive: true });
    window.addEventListener('resize', this.#tellVisibleSoon, { signal });
    this.#silence = setTimeout(() => this.#fail(noAnswer(this.#origin)), SILENCE_MS);
    const { style } = this.#frame;
    style.display = 'block';
    style.width = '100%';
    style.border = '0';
    style.colorScheme = 'normal';
    this.#frame.allow = 'clipboard-write';
    this.#frame.referrerPolicy = 'no-referrer';
    this.#frame.title = label;
    this.#setHeight();
    const first = new URL(`${baseUrl.replace(/\/+$/, '')}/portal${page.startsWith('/') ? page : `/${page}`}`);
    if (language !== undefined) first.searchParams.set('language', language);
    this.#frame.src = first.href;
    root.replaceChildren(this.#frame);
  }

  stop(): void {
    clearTimeout(this.#silence);
    this.#end.abort();
    this.#frame.remove();
  }

  show(view: View): void {
    this.#send({ type: 'hookferry:view', ...view });
  }

  label(text: string): void {
    this.#frame.title = text;
  }

  limitHeight(maxHeight: number): void {
    this.#maxHeight = maxHeight;
    this.#setHeight();
  }

  #send(message: PageMessage): void {
    if (this.#isHeard) this.#frame.contentWindow?.postMessage(message, this.#origin);
  }

  #hear({ origin, source, data }: MessageEvent<unknown>): void {
    if (origin !== this.#origin || source !== this.#frame.contentWindow || !isPortalMessage(data)) return;
    clearTimeout(this.#silence);
    this.#isHeard = true;
    switch (data.type) {
      case 'hookferry:session-needed':
        // It may have been loaded again, and then knows nothing.
        this.#visible = '';
        this.show(this.parts.view());
        void this.#giveSession();
        break;
      case 'hookferry:height':
        this.#height = data.height;
        this.#setHeight();
        break;
      case 'hookferry:ready':
        this.#tellVisibleSoon();
        this.parts.emit('ready', { path: data.path });
        break;
      case 'hookferry:navigated':
        this.parts.emit('navigated', { path: data.path });
        this.parts.onNavigated();
        break;
      case 'hookferry:created':
        this.parts.emit('created', { kind: data.kind, id: data.id });
        break;
      case 'hookferry:failed':
        this.parts.emit('failed', { code: data.code, detail: data.detail });
        break;
    }
  }

  async #giveSession(): Promise<void> {
    const now = performance.now();
    this.#sessionTimes = [...this.#sessionTimes.filter((at) => at > now - SESSIONS.withinMs), now];
    if (this.#sessionTimes.length > SESSIONS.most) return this.#fail(tooManySessions());
    try {
      const link = await (this.#firstLink ?? this.parts.newLink());
      if (!this.#end.signal.aborted) this.#send({ type: 'hookferry:session', url: link.href });
    } catch (error) {
      this.#fail(error as PortalError);
    } finally {
      this.#firstLink = undefined;
    }
  }

  #fail({ code, message }: PortalError): void {
    if (!this.#end.signal.aborted) this.parts.emit('failed', { code, detail: message });
  }

  #setHeight(): void {
    const height = Math.min(Math.max(this.#height, LEAST_HEIGHT), this.#maxHeight);
    this.#frame.style.height = `${height}px`;
    this.#tellVisibleSoon();
  }

  // At most once for each picture that is drawn.
  readonly #tellVisibleSoon = (): void => {
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    requestAnimationFrame(() => {
      this.#isPlanned = false;
      if (this.#isHeard && !this.#end.signal.aborted) this.#tellVisible();
    });
  };

  #tellVisible(): void {
    const { top: frameTop, height: frameHeight } = this.#frame.getBoundingClientRect();
    const top = Math.round(Math.max(0, -frameTop));
    const height = Math.round(Math.min(frameHeight, window.innerHeight - frameTop) - top);
    const text = `${top} ${height}`;
    if (height < LEAST_VISIBLE || text === this.#visible) return;
    this.#visible = text;
    this.show({ visible: { top, height } });
  }
}

function noAnswer(origin: string): PortalError {
  return new PortalError(
    'no_answer',
    `The portal at ${origin} did not answer within ${SILENCE_MS / 1_000} seconds. Is ${location.origin} in PORTAL_FRAME_ANCESTORS?`,
  );
}

function tooManySessions(): PortalError {
  return new PortalError(
    'too_many_sessions',
    `The portal has needed more than ${SESSIONS.most} sessions within a minute. Reload the page to try again.`,
  );
}

const MEMBERS: Readonly<Record<PortalMessage['type'], Readonly<Record<string, 'string' | 'number'>>>> = {
  'hookferry:session-needed': {},
  'hookferry:ready': { path: 'string' },
  'hookferry:navigated': { path: 'string' },
  'hookferry:created': { kind: 'string', id: 'string' },
  'hookferry:failed': { code: 'string', detail: 'string' },
  'hookferry:height': { height: 'number' },
};

function isPortalMessage(data: unknown): data is PortalMessage {
  if (typeof data !== 'object' || data === null) return false;
  const members = data as Readonly<Record<string, unknown>>;
  const wanted =
    Object.hasOwn(MEMBERS, String(members['type'])) && MEMBERS[members['type'] as PortalMessage['type']];
  return wanted !== false && Object.entries(wanted).every(([name, type]) => typeof members[name] === type);
}
