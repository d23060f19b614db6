import type { Capability } from '@hookferry/core/domain/account';
import type { Browser, Page } from 'playwright-core';
import { launchBrowser } from '../../../tools/browser/launch-browser.mjs';
import type { ApiClient } from '../../support/api-client';
import { Stack, type StackOptions } from '../../support/stack';
import { PageFaults } from './page-faults';

export interface SessionWish {
  readonly capabilities?: readonly Capability[];
  /** Another account's, for which the stack's key is an operator. */
  readonly account_id?: string;
  readonly expires_in_seconds?: number;
  readonly label?: string;
  readonly return_url?: string;
  readonly theme?: Readonly<Record<string, string>>;
  /** Who asks for the session; default: the stack's operator. */
  readonly client?: ApiClient;
  /** Where in the portal to go first, such as `/webhooks`; default: the deliveries. */
  readonly path?: string;
  readonly width?: number;
  /** Where browsers reach the service, such as a proxy before it; default: the service itself. */
  readonly origin?: string;
  /** Where the viewer is, such as `Asia/Tokyo`. */
  readonly timezone?: string;
  /** By a finger, and not by a mouse. */
  readonly hasTouch?: boolean;
  /** In which language, such as `de-DE`. */
  readonly locale?: string;
  /** What is done with the page before it goes anywhere. */
  readonly prepare?: (page: Page) => Promise<unknown>;
}

interface BrowserWish {
  readonly timezone?: string | undefined;
  readonly hasTouch?: boolean | undefined;
  readonly locale?: string | undefined;
  readonly origin?: string;
}

const HEIGHT = 900;
const USUAL_WIDTH = 1280;

/** What goes wrong is to be seen before jest's own limit says only that something took long. */
const PATIENCE_MS = 60_000;

/** The real service and a real browser, for all tests of a file; each page is in a context of its own. */
export class Portal {
  readonly #faults = new Map<Page, PageFaults>();

  private constructor(
    readonly stack: Stack,
    readonly browser: Browser,
  ) {}

  static async start(options: StackOptions): Promise<Portal> {
    const [stack, browser] = await Promise.all([Stack.start(options), launchBrowser()]);
    return new Portal(stack, browser);
  }

  get client(): ApiClient {
    return this.stack.client;
  }

  /** A page of the portal, signed in by a link as a customer gets it. */
  async signIn({
    path = '/deliveries',
    width,
    timezone,
    hasTouch,
    locale,
    prepare,
    client = this.client,
    origin = this.client.baseUrl,
    ...wish
  }: SessionWish = {}): Promise<Page> {
    const { body } = await client.expect<{ url: string }>(201, 'POST', '/v1/portal-sessions', wish);
    const page = await this.openBlank(width, { timezone, hasTouch, locale, origin });
    await prepare?.(page);
    // Its origin is where browsers would reach the service, which need not be where a test does.
    const [, code = ''] = body.url.split('#');
    await page.goto(`${origin}/portal${path}#${code}`);
    await page.getByRole('navigation').first().waitFor();
    return page;
  }

  /** A page of the service that nobody is signed in to. */
  async open(path: string, width?: number): Promise<Page> {
    const page = await this.openBlank(width);
    await page.goto(this.client.baseUrl + path);
    return page;
  }

  /** A page that is nowhere yet. */
  async openBlank(
    width = USUAL_WIDTH,
    // Headless Chromium takes the system's, which may be none that browsers have.
    { timezone, hasTouch = false, locale = 'en-US', origin = this.client.baseUrl }: BrowserWish = {},
  ): Promise<Page> {
    const context = await this.browser.newContext({
      viewport: { width, height: HEIGHT },
      locale,
      hasTouch,
      ...(timezone !== undefined && { timezoneId: timezone }),
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    this.#faults.set(page, await PageFaults.watch(page, origin));
    return page;
  }

  /** What a page of ours has done that it must not. */
  faultsOf(page: Page): PageFaults {
    const faults = this.#faults.get(page);
    if (!faults) throw new Error('This page was not opened by the portal.');
    return faults;
  }

  /** Closes all pages; throws if one had faults. */
  async closePages(): Promise<void> {
    const all = [...this.#faults];
    this.#faults.clear();
    await Promise.all(all.map(([page]) => page.context().close()));
    for (const [, faults] of all) faults.check();
  }

  async stop(): Promise<void> {
    await this.browser.close();
    await this.stack.stop();
  }
}

/** Goes to a page as a link of the portal does: without a reload, which would end the session. */
export async function go(page: Page, path: string): Promise<void> {
  await page.evaluate(`history.pushState(null, '', '/portal${path}')`);
}

/** Starts the service and a browser before the tests of a file; after each test, its pages must have been without fault. */
export function usePortal(options: StackOptions = {}): () => Portal {
  let portal: Portal | undefined;
  beforeAll(async () => {
    portal = await Portal.start(options);
  });
  afterEach(async () => await portal?.closePages());
  afterAll(async () => await portal?.stop());
  return () => {
    if (!portal) throw new Error('The portal is there once the tests run.');
    return portal;
  };
}
