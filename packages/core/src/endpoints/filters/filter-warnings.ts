import { jsonPointer, nearestTo, shorten } from '@hookferry/producer/fault-words';
import type { EventTypes, EventTypeView } from '../../accounts/event-types/event-types';
import type { Endpoint } from '../../domain/endpoint';
import { matchesType } from './event-filters';
import { type Condition, type FilterNode, parsePayloadFilter } from './parse-payload-filter';
import { bestOf, type Fit, fitOf, type Misfit } from './schema-fit';

export const filterWarningCodes = ['never_matches', 'unlikely_to_match'] as const;

/** That a filter will hardly do what was meant. It is in force all the same. */
export interface FilterWarning {
  /** `never_matches`: by the schemas of its types, as they are at present, no event can pass. */
  readonly code: (typeof filterWarningCodes)[number];
  /** Of the condition, where it stands at the top. */
  readonly pointer: string;
  readonly detail: string;
}

// With as many types, one of them has mostly what the filter wants. Their schemas may be long.
const MOST_TYPES = 50;
const MOST_NAMED = 3;

/** What is to be said of the filter of an endpoint, if it has one: by the schemas of the types that it gets at present. */
export async function findFilterWarnings(
  eventTypes: EventTypes,
  { events, filter }: Pick<Endpoint, 'events' | 'filter'>,
): Promise<readonly FilterWarning[]> {
  if (filter === undefined) return [];
  const types = (await eventTypes.list()).filter(({ name }) =>
    events.some((each) => matchesType(each, name)),
  );
  return types.length > MOST_TYPES ? [] : warningsFor(filter, types);
}

type TypeSchema = Pick<EventTypeView, 'name' | 'schema'>;

/** @param filter as it is stored. */
export function warningsFor(filter: string, types: readonly TypeSchema[]): readonly FilterWarning[] {
  const value = JSON.parse(filter) as object;
  const parsed = parsePayloadFilter(value);
  if (parsed.validationErrors || types.length === 0) return [];
  const { node } = parsed;
  const warnings = conjunctsOf(node).flatMap((part) => {
    const fits = types.map(({ schema }) => fitOf(part, schema));
    const { verdict } = bestOf(fits);
    if (verdict !== 'never' && verdict !== 'unlikely') return [];
    return [warningOf(part, value, verdict, fits, types)];
  });
  if (warnings.length > 0) return warnings;
  const isNever = types.every(({ schema }) => fitOf(node, schema).verdict === 'never');
  return isNever ? [{ code: 'never_matches', pointer: '/filter', detail: ofSeveral(types) }] : [];
}

/** The parts that must all hold. */
function conjunctsOf(node: FilterNode): readonly FilterNode[] {
  return node.kind === 'all' ? node.of.flatMap(conjunctsOf) : [node];
}

function warningOf(
  part: FilterNode,
  filter: object,
  verdict: 'never' | 'unlikely',
  fits: readonly Fit[],
  types: readonly TypeSchema[],
): FilterWarning {
  const code = verdict === 'never' ? 'never_matches' : 'unlikely_to_match';
  const named = namesOf(types);
  if (part.kind !== 'condition') {
    const within = Object.hasOwn(filter, '$any') ? ['filter', '$any'] : ['filter'];
    const detail = `none of these filters fits the schema of ${named}. ${CONSEQUENCE[verdict]}`;
    return { code, pointer: jsonPointer(within), detail };
  }
  const pointer = jsonPointer(Object.hasOwn(filter, part.path) ? ['filter', part.path] : ['filter']);
  const misfit = fits.find((fit) => fit.verdict === verdict)?.misfit ?? { kind: 'values' };
  return { code, pointer, detail: `${describe(part, misfit, named)} ${CONSEQUENCE[verdict]}` };
}

const CONSEQUENCE = {
  never: 'At present no event can pass this filter.',
  unlikely: 'The schema allows other members, so an event may pass all the same.',
};

function describe({ path, names, operator, expected }: Condition, misfit: Misfit, named: string): string {
  const quoted = `"${shorten(path)}"`;
  const compared = `"${operator}": ${shorten(JSON.stringify(expected))}`;
  switch (misfit.kind) {
    case 'no_member':
      return `${quoted} is not in the schema of ${named}${hintFor(names, misfit)}`;
    case 'type':
      return `${quoted} is of the type ${misfit.types.join(' or ')} in ${named}, which ${compared} does not fit.`;
    case 'values':
      return `${quoted} has no value in ${named} for which ${compared} holds.`;
  }
}

type MissingMember = Extract<Misfit, { readonly kind: 'no_member' }>;

/** Paths begin within `data`: somebody may have written it before them. */
function hintFor([first, ...rest]: readonly string[], { name, known }: MissingMember): string {
  if (first === 'data' && name === first && known.includes(rest[0] ?? '')) {
    return `; paths begin within "data": write "${shorten(rest.join('.'))}".`;
  }
  const meant = nearestTo(name, known);
  return meant === undefined ? '.' : `; did you mean "${meant}"?`;
}

function namesOf(types: readonly TypeSchema[]): string {
  const named = types.slice(0, MOST_NAMED).map(({ name }) => name);
  const others = types.length - named.length;
  return others > 0 ? `${named.join(', ')} and ${others} more` : named.join(', ');
}

function ofSeveral(types: readonly TypeSchema[]): string {
  return `the schemas of ${namesOf(types)} each forbid one of the conditions. ${CONSEQUENCE.never}`;
}
