/** The values that a member can be compared with. */
export type Scalar = string | number | boolean | null;

/** Whether the condition holds for a value; `undefined`: the member is absent. */
export type Holds = (found: unknown) => boolean;

/** The validation error, and below which item if the operand is a list. */
export interface OperandError {
  readonly index?: number;
  readonly detail: string;
}

interface Operator {
  readonly validationErrorsOf: (operand: unknown) => readonly OperandError[];
  /** Only for an operand without an error. */
  readonly build: (operand: never) => Holds;
}

const MOST_LISTED = 100;

// Bounds the cost of one filter to about that of a delivery, however long the data are: ten searches for a
// text with many near matches take half a millisecond.
const MOST_CHARACTERS_SEARCHED = 4_096;
const MOST_ITEMS_SEARCHED = 1_000;

/**
 * The operators. An absent member, or one of another type, holds only for `ne`, `not_in` and `exists: false`.
 */
export const operators = {
  eq: { validationErrorsOf: scalarErrors, build: (operand: Scalar) => (found) => found === operand },
  ne: { validationErrorsOf: scalarErrors, build: (operand: Scalar) => (found) => found !== operand },
  lt: ordering((difference) => difference < 0),
  lte: ordering((difference) => difference <= 0),
  gt: ordering((difference) => difference > 0),
  gte: ordering((difference) => difference >= 0),
  in: { validationErrorsOf: listErrors, build: (operand: readonly Scalar[]) => isIn(operand) },
  not_in: {
    validationErrorsOf: listErrors,
    build: (operand: readonly Scalar[]) => {
      const isListed = isIn(operand);
      return (found) => !isListed(found);
    },
  },
  exists: {
    validationErrorsOf: booleanFaults,
    build: (operand: boolean) => (found) => (found !== undefined) === operand,
  },
  starts_with: {
    validationErrorsOf: textErrors,
    build: (operand: string) => (found) => typeof found === 'string' && found.startsWith(operand),
  },
  ends_with: {
    validationErrorsOf: textErrors,
    build: (operand: string) => (found) => typeof found === 'string' && found.endsWith(operand),
  },
  contains: {
    validationErrorsOf: scalarErrors,
    build: (operand: Scalar) => (found) => contains(found, operand),
  },
} satisfies Readonly<Record<string, Operator>>;

export type OperatorName = keyof typeof operators;

export const operatorNames = Object.keys(operators) as readonly OperatorName[];

export function isOperator(name: string): name is OperatorName {
  return Object.hasOwn(operators, name);
}

export function isScalar(value: unknown): value is Scalar {
  return value === null || ['string', 'number', 'boolean'].includes(typeof value);
}

export function scalarErrors(operand: unknown): readonly OperandError[] {
  if (!isScalar(operand)) return [{ detail: 'must be a string, a number, true, false or null' }];
  return typeof operand === 'number' ? numberErrors(operand) : [];
}

// JSON.parse, which reads an event's data, may merge two whole numbers beyond this bound. Within it every
// number is exact.
function numberErrors(operand: number): readonly OperandError[] {
  if (Math.abs(operand) <= Number.MAX_SAFE_INTEGER) return [];
  const most = Number.MAX_SAFE_INTEGER;
  return [{ detail: `must be a number from -${most} to ${most}: larger numbers are not exact` }];
}

function orderFaults(operand: unknown): readonly OperandError[] {
  if (typeof operand === 'number') return numberErrors(operand);
  if (typeof operand !== 'string')
    return [{ detail: 'must be a number, or a string to compare strings with' }];
  // A number in quotes never equals any number, which nobody intends.
  const isNumber = operand.trim() !== '' && Number.isFinite(Number(operand));
  return isNumber ? [{ detail: `must be a number: ${Number(operand)}, without quotes` }] : [];
}

function booleanFaults(operand: unknown): readonly OperandError[] {
  return typeof operand === 'boolean' ? [] : [{ detail: 'must be true or false' }];
}

function textErrors(operand: unknown): readonly OperandError[] {
  return typeof operand === 'string' ? [] : [{ detail: 'must be a string' }];
}

function listErrors(operand: unknown): readonly OperandError[] {
  if (!Array.isArray(operand)) return [{ detail: 'must be a list' }];
  if (operand.length === 0 || operand.length > MOST_LISTED) {
    return [{ detail: `must have 1 to ${MOST_LISTED} entries; this has ${operand.length}` }];
  }
  return operand.flatMap((item, index) => scalarErrors(item).map(({ detail }) => ({ index, detail })));
}

function ordering(isRight: (difference: number) => boolean): Operator {
  return {
    validationErrorsOf: orderFaults,
    build: (operand: number | string): Holds =>
      typeof operand === 'number'
        ? (found) => typeof found === 'number' && isRight(differenceOf(found, operand))
        : (found) => typeof found === 'string' && isRight(compareTexts(found, operand)),
  };
}

// By comparison: the data may contain 1e400, which is Infinity, and Infinity minus Infinity is not a number.
function differenceOf(a: number, b: number): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** By code points. JavaScript's own comparison puts some code points beyond U+FFFF before smaller ones. */
function compareTexts(a: string, b: string): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at += 1) {
    const difference = rankOf(a.charCodeAt(at)) - rankOf(b.charCodeAt(at));
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

const SURROGATES = { from: 0xd800, to: 0xdfff };
const UNITS = 0x10000;

function rankOf(unit: number): number {
  return unit >= SURROGATES.from && unit <= SURROGATES.to ? unit + UNITS : unit;
}

function isIn(operand: readonly Scalar[]): Holds {
  const listed = new Set<unknown>(operand);
  return (found) => listed.has(found);
}

function contains(found: unknown, operand: Scalar): boolean {
  if (Array.isArray(found)) return found.slice(0, MOST_ITEMS_SEARCHED).includes(operand);
  if (typeof found !== 'string' || typeof operand !== 'string') return false;
  return found.slice(0, MOST_CHARACTERS_SEARCHED).includes(operand);
}
