// Event data are no deeper than five times as much.
const MOST_NAMES = 20;

/** The names that a path such as `customer.tier` leads along; a dot that is part of a name is written `\.`. */
export function namesOf(path: string): readonly string[] {
  if (!path.includes('\\')) return path.split('.');
  const names = [''];
  for (let at = 0; at < path.length; at += 1) {
    if (path[at] === '.') names.push('');
    else {
      if (path[at] === '\\') at += 1;
      names[names.length - 1] += path[at] ?? '';
    }
  }
  return names;
}

/** What is wrong with a path, if anything is. */
export function faultOfPath(path: string): string | undefined {
  // Whoever copies such a member without care sets the copy's prototype, so no body has one: see `prototypeFaults`.
  if (path === '__proto__') return String.raw`is written "\\__proto__"`;
  const names = namesOf(path);
  if (names.length > MOST_NAMES) return `must have at most ${MOST_NAMES} names; this has ${names.length}`;
  if (names.includes('')) {
    return String.raw`must have a name before and after each dot; a dot within a name is written "\\."`;
  }
  return undefined;
}

const INDEX = /^(?:0|[1-9][0-9]{0,9})$/;

/** What is there in data that were parsed from JSON; `undefined`: nothing. Only own members are, whatever their names. */
export function lookUp(data: unknown, names: readonly string[]): unknown {
  let found = data;
  for (const name of names) {
    if (typeof found !== 'object' || found === null || !hasMember(found, name)) return undefined;
    found = found[name];
  }
  return found;
}

function hasMember(value: object, name: string): value is Readonly<Record<string, unknown>> {
  return (!Array.isArray(value) || INDEX.test(name)) && Object.hasOwn(value, name);
}
