const SCHEME = /^(?:https?|ftp):\/\//i;

/**
 * The format `url`: an absolute URL of the web. ajv-formats' own takes time that grows with the square of the length of a
 * text, seconds for one within the limits of an event; it also refuses addresses of private networks, which this takes.
 */
export function isUrl(text: string): boolean {
  return SCHEME.test(text) && !/\s/.test(text) && URL.canParse(text);
}
