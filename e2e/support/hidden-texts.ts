/** Texts that must be found nowhere, each known by a name that a failing test may print. */
export class HiddenTexts {
  readonly #forms = new Map<string, readonly string[]>();

  add(name: string, text: string): void {
    this.#forms.set(name, formsOf(text));
  }

  /** A PEM by its lines: whoever writes it may break or join them in another way. */
  addPem(name: string, pem: string): void {
    const lines = pem.split('\n').filter((line) => line !== '' && !line.startsWith('-----'));
    for (const [i, line] of lines.entries()) this.add(`${name}, line ${i + 1}`, line);
  }

  /** @returns the names of those that stand there in any form */
  foundIn(place: string): string[] {
    return [...this.#forms]
      .filter(([, forms]) => forms.some((form) => place.includes(form)))
      .map(([name]) => name);
  }
}

const SIGNING_SECRET = 'whsec_';

/**
 * As it is, encoded in the usual ways, and for a signing secret the bytes that it stands for. Each of them also
 * backwards, and with each two characters exchanged, as it comes out where bytes or nibbles are in another order.
 */
function formsOf(text: string): string[] {
  const isSigningSecret = text.startsWith(SIGNING_SECRET);
  const plain = isSigningSecret ? text.slice(SIGNING_SECRET.length) : text;
  const bytes = isSigningSecret ? [Buffer.from(plain, 'base64')] : [];
  const encoded = [Buffer.from(plain), Buffer.from(text), ...bytes].flatMap((buffer) => [
    buffer.toString('base64'),
    buffer.toString('base64url'),
    buffer.toString('hex'),
  ]);
  const forms = [plain, encodeURIComponent(plain), JSON.stringify(plain).slice(1, -1), ...encoded];
  return forms.flatMap((form) => [
    form,
    encodeURIComponent(form),
    backwards(form),
    inPairs(form).toReversed().join(''),
    inPairs(form).map(backwards).join(''),
  ]);
}

function backwards(text: string): string {
  return text.split('').toReversed().join('');
}

function inPairs(text: string): string[] {
  return text.match(/.{1,2}/gs) ?? [];
}
