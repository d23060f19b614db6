import type { HookferryPortalEvents, PortalMode } from './messages.ts';
import { LEAST_HEIGHT, RunningFrame } from './running-frame.ts';
import { newSessionLink, type SessionSource } from './session-link.ts';

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

/** A list reads on when its end comes into view, so a frame without a bound would read all of it. */
const MOST_HEIGHT = 3_000;
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

if (typeof customElements !== 'undefined' && customElements.get(NAME) === undefined) {
  customElements.define(NAME, HookferryPortalElement);
}
