export interface Params {
  readonly path?: Readonly<Record<string, unknown>>;
  readonly query?: Readonly<Record<string, unknown>>;
}

/**
 * Checks that no parameter changes the path: an empty value leads to another route, and so do dots, which every URL parser
 * resolves.
 *
 * @param route method and path, such as `GET /v1/webhooks/{id}`
 * @throws TypeError naming the parameter
 */
export function checkPathParams(route: string, given: Params['path'] = {}): void {
  for (const [, name = ''] of route.matchAll(/\{(\w+)\}/g)) {
    const value = given[name];
    // Of a version, for example.
    if (Number.isSafeInteger(value)) continue;
    if (typeof value !== 'string' || value === '' || value === '.' || value === '..') {
      throw new TypeError(`${route}: params.path.${name} must be an id, not ${JSON.stringify(value)}.`);
    }
  }
}
