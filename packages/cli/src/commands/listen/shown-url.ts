/** The URL that deliveries are forwarded to, without its secret parts: user, password and query. */
export function shownUrl({ origin, pathname }: URL): string {
  return `${origin}${pathname}`;
}
