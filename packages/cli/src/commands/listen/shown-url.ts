/** Of the URL that deliveries are forwarded to, what others may see: its user, password and query can be secrets. */
export function shownUrl({ origin, pathname }: URL): string {
  return `${origin}${pathname}`;
}
