import { nearestTo, shorten } from '@hookferry/producer/fault-words';
import {
  type Holds,
  isOperator,
  isScalar,
  type OperandError,
  type OperatorName,
  operatorNames,
  operators,
  scalarErrors,
} from './payload-filter-operators';

/** One comparison. */
export interface Condition {
  readonly kind: 'condition';
  /** As the client wrote it. */
  readonly path: string;
  readonly names: readonly string[];
  readonly operator: OperatorName;
  /** The operand. */
  readonly expected: unknown;
  readonly holds: Holds;
}

/** A filter, ready to be evaluated. It is at most as deep as `FILTER_BOUNDS.levels`. */
export type FilterNode =
  | Condition
  | { readonly kind: 'all' | 'any'; readonly of: readonly FilterNode[] }
  | { readonly kind: 'not'; readonly of: FilterNode };

export interface FilterError {
  /** Within the filter. */
  readonly path: readonly (string | number)[];
  readonly detail: string;
}

export type ParsedFilter =
  | { readonly node: FilterNode; readonly validationErrors?: undefined }
  | { readonly validationErrors: readonly FilterError[] };

/** The bounds of a filter. `searches`: conditions by `contains`, the only ones that scan a text or a list. */
export const FILTER_BOUNDS = { levels: 5, conditions: 50, searches: 10, bytes: 4_096 };

const COMBINATIONS = ['$any', '$all', '$not'];
const MEMBER_WITH_DOLLAR = String.raw`a member whose name begins with $ is written "\\$…"`;

/** Read a filter from JSON. The time is bounded for any input. */
export function parsePayloadFilter(value: unknown): ParsedFilter {
  const reader = new FilterReader();
  const node = reader.readFilter(value, [], 1);
  const validationErrors =
    reader.validationErrors.length > 0 ? reader.validationErrors : boundFaults(reader, value);
  return validationErrors.length > 0 ? { validationErrors } : { node };
}

function boundFaults({ searches }: FilterReader, value: unknown): readonly FilterError[] {
  if (searches > FILTER_BOUNDS.searches) {
    return [{ path: [], detail: `must have at most ${FILTER_BOUNDS.searches} conditions with "contains"` }];
  }
  const bytes = new TextEncoder().encode(JSON.stringify(value)).length;
  if (bytes <= FILTER_BOUNDS.bytes) return [];
  return [{ path: [], detail: `must have at most ${FILTER_BOUNDS.bytes} bytes, as JSON; this has ${bytes}` }];
}

type Path = readonly (string | number)[];

class FilterReader {
  readonly validationErrors: FilterError[] = [];
  searches = 0;
  #conditions = 0;

  readFilter(value: unknown, path: Path, level: number): FilterNode {
    if (level > FILTER_BOUNDS.levels) {
      return this.#fault(path, `is more than ${FILTER_BOUNDS.levels} levels deep`);
    }
    if (!isObject(value))
      return this.#fault(path, 'must be an object of conditions, such as {"order.country":"DE"}');
    const entries = Object.entries(value);
    if (entries.length === 0) return this.#fault(path, 'must have at least one condition');
    return all(entries.map(([key, each]) => this.#readMember(key, each, [...path, key], level)));
  }

  #readMember(key: string, value: unknown, path: Path, level: number): FilterNode {
    if (this.#isFull()) return NOTHING;
    switch (key) {
      case '$any':
        return { kind: 'any', of: this.#readFilters(value, path, level) };
      case '$all':
        return { kind: 'all', of: this.#readFilters(value, path, level) };
      case '$not':
        return { kind: 'not', of: this.readFilter(value, path, level + 1) };
      default:
        return key.startsWith('$')
          ? this.#fault(path, unknownCombination(key))
          : this.#readConditions(key, value, path);
    }
  }

  #readFilters(value: unknown, path: Path, level: number): readonly FilterNode[] {
    if (!Array.isArray(value) || value.length === 0) {
      return [this.#fault(path, 'must be a list of at least one filter')];
    }
    // Each has a condition, or a validation error.
    const some = value.slice(0, FILTER_BOUNDS.conditions + 1);
    return some.map((each, index) =>
      this.#isFull() ? NOTHING : this.readFilter(each, [...path, index], level + 1),
    );
  }

  #readConditions(member: string, value: unknown, path: Path): FilterNode {
    const fault = faultOfPath(member);
    if (fault !== undefined) return this.#fault(path, fault);
    if (isScalar(value)) return this.#condition(member, 'eq', value, path, scalarErrors(value));
    if (!isObject(value)) return this.#fault(path, notAnObject(value));
    const entries = Object.entries(value);
    if (entries.length === 0) return this.#fault(path, 'must have at least one operator');
    return all(entries.map(([name, operand]) => this.#readOperator(member, name, operand, [...path, name])));
  }

  #readOperator(member: string, name: string, operand: unknown, path: Path): FilterNode {
    if (this.#isFull()) return NOTHING;
    if (!isOperator(name)) return this.#fault(path, unknownOperator(member, name));
    if (name === 'contains') this.searches += 1;
    return this.#condition(member, name, operand, path, operators[name].validationErrorsOf(operand));
  }

  #condition(
    member: string,
    operator: OperatorName,
    expected: unknown,
    path: Path,
    validationErrors: readonly OperandError[],
  ): FilterNode {
    this.#conditions += 1;
    if (validationErrors.length > 0) {
      this.validationErrors.push(
        ...validationErrors.map(({ index, detail }) => ({
          path: index === undefined ? path : [...path, index],
          detail,
        })),
      );
      return NOTHING;
    }
    // The operand without an error is the input of `build`.
    const holds = operators[operator].build(expected as never);
    return { kind: 'condition', path: member, names: namesOf(member), operator, expected, holds };
  }

  // Errors count as well, or a body of nothing but errors would be read to its end.
  #isFull(): boolean {
    if (this.#conditions + this.validationErrors.length < FILTER_BOUNDS.conditions) return false;
    if (this.#conditions >= FILTER_BOUNDS.conditions && this.validationErrors.length === 0) {
      this.#fault([], `must have at most ${FILTER_BOUNDS.conditions} conditions`);
    }
    return true;
  }

  #fault(path: Path, detail: string): FilterNode {
    this.validationErrors.push({ path, detail });
    return NOTHING;
  }
}

// Stands for a part with an error: it is never evaluated.
const NOTHING: FilterNode = { kind: 'all', of: [] };

function all(of: readonly FilterNode[]): FilterNode {
  const [first, ...others] = of;
  return first !== undefined && others.length === 0 ? first : { kind: 'all', of };
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function notAnObject(value: unknown): string {
  const what = 'must be a value, or an object of operators';
  return Array.isArray(value) ? `${what}; for one of several values write {"in": […]}` : what;
}

function unknownCombination(key: string): string {
  const nearest = nearestTo(key, COMBINATIONS);
  const hint = nearest === undefined ? `there are ${COMBINATIONS.join(', ')}` : `did you mean "${nearest}"?`;
  return `is not a known combination; ${hint} (${MEMBER_WITH_DOLLAR})`;
}

function unknownOperator(member: string, name: string): string {
  const nearest = nearestTo(name.replace(/^\$/, ''), operatorNames);
  if (nearest !== undefined) return `is not a known operator; did you mean "${nearest}"?`;
  const path = shorten(`${member}.${name}`);
  return `is not a known operator; there are ${operatorNames.join(', ')}. A member within is written "${path}"`;
}

// Event data are at most five times as deep.
const MOST_NAMES = 20;

/** The names in a path such as `customer.tier`; a dot that is part of a name is written `\.`. */
function namesOf(path: string): readonly string[] {
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

/** The validation error of a path, if there is one. */
function faultOfPath(path: string): string | undefined {
  // A careless copy of such a member sets the copy's prototype, so no body has one: see `prototypeFaults`.
  if (path === '__proto__') return String.raw`is written "\\__proto__"`;
  const names = namesOf(path);
  if (names.length > MOST_NAMES) return `must have at most ${MOST_NAMES} names; this has ${names.length}`;
  if (names.includes('')) {
    return String.raw`must have a name before and after each dot; a dot within a name is written "\\."`;
  }
  return undefined;
}

const INDEX = /^(?:0|[1-9][0-9]{0,9})$/;

/**
 * The value in data that were parsed from JSON; `undefined`: absent. Only own members count, whatever their
 * names.
 */
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
