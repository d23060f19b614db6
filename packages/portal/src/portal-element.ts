import type { CreatedKind, PageMessage, PortalMessage, PortalMode } from './messages.ts';
import { newSessionLink, PortalError, type SessionSource } from './session-link.ts';

/** The `detail` of each event. */
export interface HookferryPortalEvents {
  /** The first page is shown. `path` is within the portal, such as `/webhooks`. */
  readonly ready: { readonly path: string };
  readonly navigated: { readonly path: string };
  readonly created: { readonly kind: CreatedKind; readonly id: string };
  /** `code` is of the API, of `PortalError`, or `page_broken`. */
  readonly failed: { readonly code: string; readonly detail: string };
}

declare global {
  interface HTMLElementTagNameMap {
    'hookferry-portal': HookferryPortalElement;
  }
}

const NAME = 'hookferry-portal';
const ATTRIBUTES = [
  'base-url',
  'session-url',
  'page',
  'hide-navigation',
  'mode',
  'language',
  'max-height',
  'label',
] as const;

const LEAST_HEIGHT = 320;
/** A list reads on when its end comes into view, so a frame without a bound would read all of it. */
const MOST_HEIGHT = 3_000;
/** A portal that may not be framed here is silent. */
const SILENCE_MS = 15_000;
/** Sessions that end at once are no reason to ask for others without end. */
const SESSIONS = { most: 5, withinMs: 60_000 };
/** Dialogs need some room: with less of the frame in view they stay where they are. */
const LEAST_VISIBLE = 200;

// On a server there are no elements: there the class can be imported, and is not used.
const Base = globalThis.HTMLElement ?? (Object as unknown as typeof HTMLElement);

/**
 * `<hookferry-portal base-url session-url>`: the portal in a frame that is as high as its content. It begins once it is in the
 * page and has `baseUrl` and `session`. It hears the origin of `baseUrl` alone, and speaks to that one alone.
 */
export class HookferryPortalElement extends Base {
  static readonly observedAttributes = ATTRIBUTES;

  #baseUrl: string | undefined;
  #session: SessionSource | undefined;
  #page = '/';
  #hideNavigation = false;
  #mode: PortalMode | undefined;
  #language: string | undefined;
  #maxHeight = MOST_HEIGHT;
  #running: RunningFrame | undefined;
  #isStarting = false;

  /** The address of the service, such as `https://hooks.example.com`. Another one starts the portal again. */
  get baseUrl(): string | undefined {
    return this.#baseUrl;
  }
  set baseUrl(value: string | undefined) {
    if (value === this.#baseUrl) return;
    this.#baseUrl = value;
    this.#stop();
    this.#startSoon();
  }

  /** Where new links come from. It is asked at the start, and when the session has ended. */
  get session(): SessionSource | undefined {
    return this.#session;
  }
  set session(value: SessionSource | undefined) {
    this.#session = value;
    this.#startSoon();
  }

  /** The page that is shown first, such as `/webhooks`; a change leads there. Default: `/`. */
  get page(): string {
    return this.#page;
  }
  set page(value: string) {
    if (value === this.#page) return;
    this.#page = value;
    this.navigate(value);
  }

  /** True: without the portal's header, which has its name, pages and search. */
  get hideNavigation(): boolean {
    return this.#hideNavigation;
  }
  set hideNavigation(value: boolean) {
    this.#hideNavigation = value;
    this.#running?.show({ navigation: value ? 'hidden' : 'shown' });
  }

  /** Light or dark, as your page is now. Default: the mode in the session's theme. */
  get mode(): PortalMode | undefined {
    return this.#mode;
  }
  set mode(value: PortalMode | undefined) {
    this.#mode = value;
    if (value !== undefined) this.#running?.show({ mode: value });
  }

  /**
   * The language of your page, such as `en`: one that the portal has. A change loads the portal again, where it is. Default: the
   * choice of the viewer, or the browser's.
   */
  get language(): string | undefined {
    return this.#language;
  }
  set language(value: string | undefined) {
    this.#language = value;
    if (value !== undefined) this.#running?.show({ language: value });
  }

  /** In CSS pixels; higher content is scrolled within. Default: 3,000, at least 320. */
  get maxHeight(): number {
    return this.#maxHeight;
  }
  set maxHeight(value: number) {
    this.#maxHeight = value >= LEAST_HEIGHT ? value : MOST_HEIGHT;
    this.#running?.limitHeight(this.#maxHeight);
  }

  /** Leads to a page of the portal, such as `/deliveries?status=exhausted`. */
  navigate(path: string): void {
    this.#running?.show({ path });
  }

  /** Hears an event, whose `detail` has its type. */
  override addEventListener<Name extends keyof HookferryPortalEvents>(
    name: Name,
    listener: (event: CustomEvent<HookferryPortalEvents[Name]>) => void,
    options?: boolean | AddEventListenerOptions,
  ): void;
  override addEventListener(
    name: string,
    listener: EventListenerOrEventListenerObject,
    options?: boolean | AddEventListenerOptions,
  ): void;
  override addEventListener(
    name: string,
    listener: EventListenerOrEventListenerObject | ((event: never) => void),
    options?: boolean | AddEventListenerOptions,
  ): void {
    super.addEventListener(name, listener as EventListenerOrEventListenerObject, options);
  }

  connectedCallback(): void {
    this.style.display ||= 'block';
    this.#startSoon();
  }

  disconnectedCallback(): void {
    this.#stop();
  }

  attributeChangedCallback(
    name: (typeof ATTRIBUTES)[number],
    _former: string | null,
    value: string | null,
  ): void {
    switch (name) {
      case 'base-url':
        this.baseUrl = value ?? undefined;
        break;
      case 'session-url':
        this.session = value ?? undefined;
        break;
      case 'page':
        this.page = value ?? '/';
        break;
      case 'hide-navigation':
        this.hideNavigation = value !== null;
        break;
      case 'mode':
        this.mode = value === 'light' || value === 'dark' || value === 'system' ? value : undefined;
        break;
      case 'language':
        this.language = value ?? undefined;
        break;
      case 'max-height':
        this.maxHeight = Number(value ?? MOST_HEIGHT);
        break;
      case 'label':
        this.#running?.label(value ?? DEFAULT_LABEL);
        break;
    }
  }

  // Attributes and properties come one by one.
  #startSoon(): void {
    if (this.#isStarting) return;
    this.#isStarting = true;
    queueMicrotask(() => {
      this.#isStarting = false;
      this.#start();
    });
  }

  #start(): void {
    const baseUrl = this.#baseUrl;
    if (this.#running || !this.isConnected || baseUrl === undefined || this.#session === undefined) return;
    const root = this.shadowRoot ?? this.attachShadow({ mode: 'open' });
    this.#running = new RunningFrame({
      baseUrl,
      root,
      page: this.#page,
      language: this.#language,
      label: this.getAttribute('label') ?? DEFAULT_LABEL,
      maxHeight: this.#maxHeight,
      view: () => ({
        navigation: this.#hideNavigation ? 'hidden' : 'shown',
        ...(this.#mode !== undefined && { mode: this.#mode }),
        ...(this.#language !== undefined && { language: this.#language }),
      }),
      newLink: () => newSessionLink(this.#session ?? '', baseUrl),
      emit: (name, detail) => void this.dispatchEvent(new CustomEvent(name, { detail })),
      onNavigated: () => {
        // Its page begins at its top, which may be above the window.
        if (this.getBoundingClientRect().top < 0) this.scrollIntoView({ block: 'start' });
      },
    });
  }

  #stop(): void {
    this.#running?.stop();
    this.#running = undefined;
  }
}

const DEFAULT_LABEL = 'Webhooks';

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
class RunningFrame {
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

if (typeof customElements !== 'undefined' && customElements.get(NAME) === undefined) {
  customElements.define(NAME, HookferryPortalElement);
}
