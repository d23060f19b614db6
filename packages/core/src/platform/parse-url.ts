/**
 * `undefined`: the text is no absolute URL. Not by `URL.canParse`: in Node.js 20, once it has been called often, it refuses
 * each text with a letter such as `ü`.
 */
export function parseUrl(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}
