import type { Page, Request, Response } from 'playwright-core';
import { until } from '../../support/until';

/** What a browser says itself of a response that `response` has told already. */
const SAID_TWICE = /^Failed to load resource: the server responded with a status of/;

/** Everything that a page must not do: it is told of here, and a test fails if it is not what the test expected. */
export class PageFaults {
  #faults: string[] = [];
  readonly #expected: RegExp[] = [];

  private constructor(private readonly origin: string) {}

  /** @param origin the only one that the page may ask. */
  static async watch(page: Page, origin: string): Promise<PageFaults> {
    const faults = new PageFaults(origin);
    page.on('console', (message) => {
      if (message.type() === 'error' && !SAID_TWICE.test(message.text()))
        faults.#add(`console: ${message.text()}`);
    });
    page.on('pageerror', (error) => faults.#add(`uncaught: ${error.stack ?? error.message}`));
    page.on('request', (request) => faults.#checkRequest(request));
    page.on('response', (response) => faults.#checkResponse(response));
    page.on('requestfailed', (request) => faults.#checkFailure(request));
    await page.exposeFunction('tellViolation', (violation: string) =>
      faults.#add(`content security policy: ${violation}`),
    );
    await page.addInitScript(tellViolations);
    return faults;
  }

  /** From now on, a fault like this is none; that it never came is one. */
  expect(pattern: RegExp): void {
    this.#expected.push(pattern);
  }

  /** Waits for a fault like this, and takes it as what the test wanted to see. */
  async waitFor(pattern: RegExp): Promise<string> {
    return await until(async () => {
      const found = this.#faults.find((fault) => pattern.test(fault));
      if (found !== undefined) this.#faults = this.#faults.filter((fault) => fault !== found);
      return found;
    });
  }

  /** Throws if there were faults that nobody expected, or those that were expected did not come. */
  check(): void {
    const isLike = (fault: string) => (pattern: RegExp) => pattern.test(fault);
    const unexpected = this.#faults.filter((fault) => !this.#expected.some(isLike(fault)));
    const missing = this.#expected.filter((pattern) => !this.#faults.some((fault) => pattern.test(fault)));
    const lines = [...unexpected, ...missing.map((pattern) => `expected, but did not come: ${pattern}`)];
    if (lines.length > 0) throw new Error(`The page has faults:\n${lines.join('\n')}`);
  }

  #checkRequest(request: Request): void {
    const { protocol, origin } = new URL(request.url());
    if (protocol === 'data:' || protocol === 'blob:' || origin === this.origin) return;
    this.#add(`asked another host: ${request.method()} ${request.url()}`);
  }

  #checkResponse(response: Response): void {
    if (response.status() < 400) return;
    this.#add(`responded with ${response.status()}: ${response.request().method()} ${response.url()}`);
  }

  #checkFailure(request: Request): void {
    const reason = request.failure()?.errorText ?? '';
    // The page itself gave it up: a stream that is not looked at any more, a list that another one took the place of.
    if (reason === 'net::ERR_ABORTED') return;
    this.#add(`failed: ${request.method()} ${request.url()}: ${reason}`);
  }

  #add(fault: string): void {
    this.#faults.push(fault);
  }
}

/** Runs in the page. */
function tellViolations(): void {
  const page = globalThis as unknown as {
    addEventListener(
      name: 'securitypolicyviolation',
      listener: (event: { violatedDirective: string; blockedURI: string }) => void,
    ): void;
    tellViolation(violation: string): void;
  };
  page.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) =>
    page.tellViolation(`${violatedDirective} refused ${blockedURI}`),
  );
}
