import { codeOf } from './sign-in';

const NEEDED = 'hookferry:session-needed';
const GIVEN = 'hookferry:session';

/** The page around this one, when it is one of those that may frame it. */
export class Frame {
  readonly #origins: readonly string[];

  /** @param origins that may ask and be asked for a session, from the service's settings */
  constructor(origins: readonly string[]) {
    this.#origins = origins;
  }

  get isThere(): boolean {
    return window.parent !== window && this.#origins.length > 0;
  }

  /** Tells the page around that a session is needed. Only an origin of the list can read it. */
  askForSession(): void {
    if (!this.isThere) return;
    for (const origin of this.#likelyOrigins()) window.parent.postMessage({ type: NEEDED }, origin);
  }

  /** Calls back with each code that the page around gives. Returns what ends that. */
  onCode(take: (code: string) => void): () => void {
    const listen = ({ data, origin, source }: MessageEvent<unknown>) => {
      if (source !== window.parent || window.parent === window || !this.#origins.includes(origin)) return;
      const code = codeIn(data);
      if (code !== undefined) take(code);
    };
    window.addEventListener('message', listen);
    return () => window.removeEventListener('message', listen);
  }

  /** Browsers complain of each message to an origin that is not there, so the one that is known to be there is taken. */
  #likelyOrigins(): readonly string[] {
    const parent = window.location.ancestorOrigins?.[0];
    return parent === undefined ? this.#origins : this.#origins.filter((origin) => origin === parent);
  }
}

function codeIn(message: unknown): string | undefined {
  if (typeof message !== 'object' || message === null) return undefined;
  const { type, code, url } = message as Readonly<Record<string, unknown>>;
  if (type !== GIVEN) return undefined;
  if (typeof code === 'string') return code;
  return typeof url === 'string' ? codeOf(url) : undefined;
}
